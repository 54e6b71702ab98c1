/* SPDX-License-Identifier: Apache-2.0 */
/* Locations: loc("f.py":3:4), loc("name"(..)), loc(callsite(.. at ..)), loc(fused[..]), loc(#loc7), loc(unknown). */
#include "hlo/mread.h"

static uint32_t place_of(const kn_mreader *r, kn_span name)
{
    uint32_t k = (uint32_t)kn_span_hash(name) & (r->n_locs - 1);
    while (r->locs[k] && !kn_span_same(r->module->locs.v[r->locs[k] - 1]->text, name)) k = (k + 1) & (r->n_locs - 1);
    return k;
}

/* The alias of this name, which may be defined later. */
kiln_status kn_mread_loc_alias(kn_mreader *r, kn_span name, kn_mloc **out)
{
    if (2 * (r->module->locs.n + 1) > r->n_locs) {
        r->n_locs = r->n_locs ? 2 * r->n_locs : 64;
        KILN_TRY_MEM(r->ctx, r->locs = KN_NEWN(r->arena, uint32_t, r->n_locs));
        for (uint32_t i = 0; i < r->module->locs.n; i++) r->locs[place_of(r, r->module->locs.v[i]->text)] = i + 1;
    }
    uint32_t k = place_of(r, name);
    if (!r->locs[k]) {
        kn_mloc *l = KN_NEW(r->arena, kn_mloc);
        KILN_TRY_MEM(r->ctx, l && kn_push(r->arena, &r->module->locs, l));
        *l = (kn_mloc){.kind = KN_ML_ALIAS, .text = name};
        r->locs[k] = r->module->locs.n;
    }
    *out = r->module->locs.v[r->locs[k] - 1];
    return KILN_OK;
}

static kiln_status position(kn_mreader *r, uint32_t *v)
{
    uint64_t bits;
    bool negative, hex;
    if (r->lx.tok.kind != KN_T_INT) return kn_lex_expected(&r->lx, "a line or column");
    if (!kn_lex_integer(r->lx.tok.text, &bits, &negative, &hex) || negative) bits = 0;
    *v = bits > INT32_MAX ? INT32_MAX : (uint32_t)bits;
    kn_lex_next(&r->lx);
    return KILN_OK;
}

/* Behind the file's name: :line:column, and a range `to line:column` or `to :column`. */
static kiln_status file_place(kn_mreader *r, kn_mloc *l)
{
    uint32_t ignored;
    l->kind = KN_ML_FILE;
    KILN_TRY(kn_lex_want(&r->lx, ':'));
    KILN_TRY(position(r, &l->line));
    if (kn_lex_take(&r->lx, ':')) KILN_TRY(position(r, &l->column));
    if (!kn_lex_take_word(&r->lx, "to")) return KILN_OK;
    if (!kn_lex_is(&r->lx, ':')) KILN_TRY(position(r, &ignored));
    return kn_lex_take(&r->lx, ':') ? position(r, &ignored) : KILN_OK;
}

static kiln_status inner(kn_mreader *r, const kn_mloc **out);

static kiln_status named(kn_mreader *r, kn_mloc *l)
{
    const char *text;
    KILN_TRY(kn_mattr_text(r->module, r->lx.tok.text, &text));
    l->text = (kn_span){text, strlen(text)};
    kn_lex_next(&r->lx);
    if (kn_lex_is(&r->lx, ':')) return file_place(r, l);
    l->kind = KN_ML_NAME;
    if (!kn_lex_take(&r->lx, '(')) return KILN_OK;
    KILN_TRY(inner(r, &l->child));
    return kn_lex_want(&r->lx, ')');
}

static kiln_status callsite(kn_mreader *r, kn_mloc *l)
{
    const kn_mloc *caller;
    l->kind = KN_ML_GROUP;
    KILN_TRY(kn_lex_want(&r->lx, '('));
    KILN_TRY(inner(r, &l->child));
    KILN_TRY(kn_lex_want_word(&r->lx, "at"));
    KILN_TRY(inner(r, &caller));
    return kn_lex_want(&r->lx, ')');
}

static kiln_status fused(kn_mreader *r, kn_mloc *l)
{
    kn_span ignored;
    const kn_mloc *one;
    l->kind = KN_ML_GROUP;
    if (kn_lex_is(&r->lx, '<')) KILN_TRY(kn_lex_balanced(&r->lx, &ignored));
    KILN_TRY(kn_lex_want(&r->lx, '['));
    do {
        KILN_TRY(inner(r, &one));
        if (!l->child) l->child = one;
    } while (kn_lex_take(&r->lx, ','));
    return kn_lex_want(&r->lx, ']');
}

/* What stands between the parentheses. */
static kiln_status inner(kn_mreader *r, const kn_mloc **out)
{
    kn_lexer *lx = &r->lx;
    if (lx->tok.kind == KN_T_HASH) {
        kn_mloc *alias;
        KILN_TRY(kn_mread_loc_alias(r, lx->tok.text, &alias));
        *out = alias;
        kn_lex_next(lx);
        return KILN_OK;
    }
    kn_mloc *l = KN_NEW(r->arena, kn_mloc);
    KILN_TRY_MEM(r->ctx, l);
    *out = l;
    KILN_TRY(kn_mread_deeper(r));
    if (lx->tok.kind == KN_T_STRING) KILN_TRY(named(r, l));
    else if (kn_lex_take_word(lx, "callsite")) KILN_TRY(callsite(r, l));
    else if (kn_lex_take_word(lx, "fused")) KILN_TRY(fused(r, l));
    else if (kn_lex_take_word(lx, "loc")) {
        KILN_TRY(kn_lex_want(lx, '('));
        KILN_TRY(inner(r, out));
        KILN_TRY(kn_lex_want(lx, ')'));
    } else KILN_TRY(kn_lex_want_word(lx, "unknown"));
    r->depth--;
    return KILN_OK;
}

kiln_status kn_mread_loc(kn_mreader *r, const kn_mloc **out)
{
    *out = NULL;
    if (!kn_lex_word(&r->lx, "loc")) return KILN_OK;
    kn_lex_next(&r->lx);
    KILN_TRY(kn_lex_want(&r->lx, '('));
    KILN_TRY(inner(r, out));
    return kn_lex_want(&r->lx, ')');
}
