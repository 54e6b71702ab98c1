/* SPDX-License-Identifier: Apache-2.0 */
/* Operations, regions, and the names of values. */
#include "hlo/mread.h"

#include <stdio.h>

kiln_status kn_mread_deeper(kn_mreader *r)
{
    if (++r->depth <= KN_DEEPEST) return KILN_OK;
    return kn_source_fail(r->lx.src, r->lx.tok.at, KILN_UNSUPPORTED, "unsupported", NULL, "the text is nested deeper than %d levels", KN_DEEPEST);
}

uint64_t kn_span_hash(kn_span s)
{
    uint64_t h = 0xcbf29ce484222325u ^ s.n;
    for (size_t i = 0; i < s.n; i++) h = (h ^ (unsigned char)s.s[i]) * 0x100000001b3u;
    return h ^ h >> 29;
}

/* ---- names of values ---- */

static kn_mbinding *look_up(const kn_mreader *r, kn_span name)
{
    if (!r->n_buckets) return NULL;
    for (uint32_t k = r->buckets[(uint32_t)kn_span_hash(name) & (r->n_buckets - 1)]; k; k = r->bindings.v[k - 1].next)
        if (kn_span_same(r->bindings.v[k - 1].name, name)) return &r->bindings.v[k - 1];
    return NULL;
}

kiln_status kn_mread_bind(kn_mreader *r, kn_span name, const char *at, uint32_t first, uint32_t count)
{
    kn_mbinding *old = look_up(r, name);
    if (old) {
        char where[64];
        uint32_t line = 1;
        for (const char *p = r->lx.src->text; p < old->name.s; p++) line += *p == '\n';
        snprintf(where, sizeof where, "it is defined in line %u already", line);
        return kn_source_fail(r->lx.src, at, KILN_INVALID, "name", NULL, "%%%.*s is defined twice; %s", KN_SPAN_ARG(name), where);
    }
    if (2 * (r->bindings.n + 1) > r->n_buckets) { /* the newest come last, so they stand first in their chains again */
        uint32_t n = r->n_buckets ? 2 * r->n_buckets : 256;
        uint32_t *buckets = KN_NEWN(r->arena, uint32_t, n);
        KILN_TRY_MEM(r->ctx, buckets);
        for (uint32_t i = 0; i < r->bindings.n; i++) {
            kn_mbinding *b = &r->bindings.v[i];
            b->next = buckets[b->bucket & (n - 1)];
            buckets[b->bucket & (n - 1)] = i + 1;
        }
        r->buckets = buckets;
        r->n_buckets = n;
    }
    uint32_t hash = (uint32_t)kn_span_hash(name), *head = &r->buckets[hash & (r->n_buckets - 1)];
    kn_mbinding b = {name, first, count, *head, hash};
    KILN_TRY_MEM(r->ctx, kn_push(r->arena, &r->bindings, b));
    *head = r->bindings.n;
    return KILN_OK;
}

uint32_t kn_mread_scope(const kn_mreader *r) { return r->bindings.n; }
void kn_mread_leave(kn_mreader *r, uint32_t scope)
{
    while (r->bindings.n > scope) {
        const kn_mbinding *b = &r->bindings.v[--r->bindings.n];
        r->buckets[b->bucket & (r->n_buckets - 1)] = b->next;
    }
}

kiln_status kn_mread_value(kn_mreader *r, const kn_mtype *type, kn_span name, const char *at, uint32_t *id)
{
    kn_mvalue v = {.type = type, .at = at, .name = name};
    *id = r->values.n;
    KILN_TRY_MEM(r->ctx, kn_push(r->arena, &r->values, v));
    return KILN_OK;
}

kiln_status kn_mread_operand(kn_mreader *r)
{
    kn_lexer *lx = &r->lx;
    if (lx->tok.kind != KN_T_VALUE) return kn_lex_expected(lx, "an operand, as %0,");
    const kn_mbinding *b = look_up(r, lx->tok.text);
    if (!b)
        return kn_source_fail(lx->src, lx->tok.at, KILN_INVALID, "name", "values defined above, in this function", "%%%.*s is not defined",
                              KN_SPAN_ARG(lx->tok.text));
    if (lx->tok.index >= b->count || (b->count > 1 && !lx->tok.indexed))
        return kn_source_fail(lx->src, lx->tok.at, KILN_INVALID, "name", NULL, "%%%.*s has %u results; one is named as %%%.*s#0",
                              KN_SPAN_ARG(lx->tok.text), b->count, KN_SPAN_ARG(lx->tok.text));
    KILN_TRY_MEM(r->ctx, kn_push(r->arena, &r->ids, b->first + lx->tok.index));
    kn_lex_next(lx);
    return KILN_OK;
}

kiln_status kn_mread_operands(kn_mreader *r)
{
    if (r->lx.tok.kind != KN_T_VALUE) return KILN_OK;
    do KILN_TRY(kn_mread_operand(r));
    while (kn_lex_take(&r->lx, ','));
    return KILN_OK;
}

kiln_status kn_mid_list(kn_mreader *r, uint32_t base, const uint32_t **out, uint32_t *n)
{
    *n = r->ids.n - base;
    KILN_TRY_MEM(r->ctx, *out = kn_arena_copy(r->arena, r->ids.v ? r->ids.v + base : NULL, *n * sizeof **out));
    r->ids.n = base;
    return KILN_OK;
}

kiln_status kn_mread_check_types(kn_mreader *r, const char *at, const uint32_t *in, uint32_t nin, const kn_mtype *const *types, uint32_t n)
{
    if (nin != n) return kn_source_fail(r->lx.src, at, KILN_INVALID, "type", NULL, "%u operands, but types of %u", nin, n);
    for (uint32_t i = 0; i < n; i++) {
        const kn_mvalue *v = &r->values.v[in[i]];
        if (v->type && !kn_mtype_same(v->type, types[i]))
            return kn_source_fail(r->lx.src, at, KILN_INVALID, "type", NULL, "operand %u, %%%.*s, is %.*s, but %.*s is written here", i,
                                  KN_SPAN_ARG(v->name), KN_SPAN_ARG(v->type->text), KN_SPAN_ARG(types[i]->text));
    }
    return KILN_OK;
}

/* ---- regions ---- */

kiln_status kn_mread_args(kn_mreader *r, uint32_t *n)
{
    kn_lexer *lx = &r->lx;
    *n = 0;
    while (!kn_lex_take(lx, ')')) {
        const kn_mtype *type;
        kn_token name = lx->tok;
        uint32_t id;
        if (*n) {
            KILN_TRY(kn_lex_want(lx, ','));
            name = lx->tok;
        }
        if (name.kind != KN_T_VALUE) return kn_lex_expected(lx, "an argument, as %arg0: type,");
        kn_lex_next(lx);
        KILN_TRY(kn_lex_want(lx, ':'));
        KILN_TRY(kn_mread_type(r, &type));
        KILN_TRY(kn_mread_value(r, type, name.text, name.at, &id));
        KILN_TRY(kn_mread_bind(r, name.text, name.at, id, 1));
        KILN_TRY(kn_mread_loc(r, &r->values.v[id].loc));
        ++*n;
    }
    return KILN_OK;
}

kiln_status kn_mread_region(kn_mreader *r, kn_mregion *out)
{
    kn_lexer *lx = &r->lx;
    *out = (kn_mregion){.args = r->values.n, .first = r->values.n, .at = lx->tok.at};
    uint32_t scope = kn_mread_scope(r);
    KILN_TRY(kn_mread_deeper(r));
    KILN_TRY(kn_lex_want(lx, '{'));
    if (lx->tok.kind == KN_T_BLOCK) {
        kn_lex_next(lx);
        if (kn_lex_take(lx, '(')) KILN_TRY(kn_mread_args(r, &out->nargs));
        KILN_TRY(kn_lex_want(lx, ':'));
    }
    KILN_TRY(kn_mread_ops(r, out));
    KILN_TRY(kn_lex_want(lx, '}'));
    out->end = r->values.n;
    kn_mread_leave(r, scope);
    r->depth--;
    return KILN_OK;
}

/* ---- operations ---- */

/* What stands before `=`: names and how many values each has. */
typedef struct result_names {
    kn_token name[64];
    uint32_t count[64], n, total;
} result_names;

static kiln_status read_results(kn_mreader *r, result_names *names)
{
    kn_lexer *lx = &r->lx;
    names->n = names->total = 0;
    if (lx->tok.kind != KN_T_VALUE) return KILN_OK;
    do {
        uint64_t count = 1;
        bool negative = false, hex;
        if (names->n == 64) return kn_source_fail(lx->src, lx->tok.at, KILN_UNSUPPORTED, "unsupported", "%0:65", "more than 64 names of results");
        if (lx->tok.kind != KN_T_VALUE) return kn_lex_expected(lx, "the name of a result");
        names->name[names->n] = lx->tok;
        kn_lex_next(lx);
        if (kn_lex_take(lx, ':')) {
            if (lx->tok.kind != KN_T_INT) return kn_lex_expected(lx, "a number of results");
            if (!kn_lex_integer(lx->tok.text, &count, &negative, &hex) || negative || count == 0 || count > 1000000)
                return kn_source_fail(lx->src, lx->tok.at, KILN_INVALID, "syntax", NULL, "%.*s is no number of results", KN_SPAN_ARG(lx->tok.text));
            kn_lex_next(lx);
        }
        names->count[names->n++] = (uint32_t)count;
        names->total += (uint32_t)count;
    } while (kn_lex_take(lx, ','));
    return kn_lex_want(lx, '=');
}

static kiln_status define_results(kn_mreader *r, const result_names *names, kn_mop *op, const kn_mopened *o)
{
    op->nout = o->nresults;
    op->out = r->values.n;
    if (names->n && names->total != o->nresults)
        return kn_source_fail(r->lx.src, op->at, KILN_INVALID, "type", NULL, "%.*s has %u results, but %u are named", KN_SPAN_ARG(op->name),
                              o->nresults, names->total);
    if (!names->n) {
        for (uint32_t i = 0, id; i < o->nresults; i++) KILN_TRY(kn_mread_value(r, o->results[i], (kn_span){op->at, 0}, op->at, &id));
        return KILN_OK;
    }
    for (uint32_t i = 0, k = 0; i < names->n; i++) {
        uint32_t first = r->values.n, id;
        for (uint32_t c = 0; c < names->count[i]; c++) KILN_TRY(kn_mread_value(r, o->results[k++], names->name[i].text, names->name[i].at, &id));
        KILN_TRY(kn_mread_bind(r, names->name[i].text, names->name[i].at, first, names->count[i]));
    }
    return KILN_OK;
}

kiln_status kn_mread_refuse_branch(const kn_mreader *r)
{
    return kn_source_fail(r->lx.src, r->lx.tok.at, KILN_UNSUPPORTED, "unsupported", "regions of one block", "a branch to another block");
}

/* "stablehlo.add"(%a, %b) <{..}> ({..}, {..}) {..} : (types) -> types */
static kiln_status generic(kn_mreader *r, kn_mopened *o)
{
    kn_lexer *lx = &r->lx;
    kn_mop *op = o->op;
    KILN_TRY(kn_lex_want(lx, '('));
    KILN_TRY(kn_mread_operands(r));
    KILN_TRY(kn_lex_want(lx, ')'));
    if (kn_lex_is(lx, '[')) return kn_mread_refuse_branch(r);
    if (kn_lex_take(lx, '<')) {
        KILN_TRY(kn_mread_dict(r));
        KILN_TRY(kn_lex_want(lx, '>'));
    }
    if (kn_lex_take(lx, '(')) {
        KN_VEC(kn_mregion) regions = {0};
        do {
            kn_mregion region;
            KILN_TRY(kn_mread_region(r, &region));
            KILN_TRY_MEM(r->ctx, kn_push(r->arena, &regions, region));
        } while (kn_lex_take(lx, ','));
        KILN_TRY(kn_lex_want(lx, ')'));
        op->regions = regions.v;
        op->nregions = regions.n;
    }
    if (kn_lex_is(lx, '{')) KILN_TRY(kn_mread_dict(r));
    return kn_mread_signature(r, o);
}

/* Names without a dialect are those of functions. */
static kiln_status full_name(kn_mreader *r, kn_span name, kn_span *out)
{
    *out = name;
    if (memchr(name.s, '.', name.n)) return KILN_OK;
    char *s = kn_arena_printf(r->arena, "func.%.*s", (int)(name.n < 200 ? name.n : 200), name.s);
    KILN_TRY_MEM(r->ctx, s);
    *out = (kn_span){s, strlen(s)};
    return KILN_OK;
}

static kiln_status one_op(kn_mreader *r, kn_mop **out)
{
    kn_lexer *lx = &r->lx;
    kn_mop *op = KN_NEW(r->arena, kn_mop);
    KILN_TRY_MEM(r->ctx, op);
    result_names names;
    KILN_TRY(read_results(r, &names));
    op->at = lx->tok.at;
    op->line = lx->tok.line;
    kn_mopened o = {.op = op, .ids = r->ids.n, .fields = r->field_list.n};
    bool quoted = lx->tok.kind == KN_T_STRING;
    if (!quoted && lx->tok.kind != KN_T_WORD) return kn_lex_expected(lx, "an operation");
    KILN_TRY(full_name(r, lx->tok.text, &op->name));
    kn_lex_next(lx);
    if (quoted) KILN_TRY(generic(r, &o));
    else KILN_TRY(kn_mread_pretty(r, &o));
    KILN_TRY(kn_mid_list(r, o.ids, &op->in, &op->nin));
    KILN_TRY(kn_mfield_list(r, o.fields, &op->attrs, &op->nattrs));
    KILN_TRY(kn_mread_loc(r, &op->loc));
    KILN_TRY(define_results(r, &names, op, &o));
    *out = op;
    return KILN_OK;
}

kiln_status kn_mread_ops(kn_mreader *r, kn_mregion *region)
{
    kn_mop *last = NULL, *op;
    while (!kn_lex_is(&r->lx, '}')) {
        if (r->lx.tok.kind == KN_T_BLOCK)
            return kn_source_fail(r->lx.src, r->lx.tok.at, KILN_UNSUPPORTED, "unsupported", "regions of one block", "a second block in a region");
        if (r->lx.tok.kind == KN_T_END) return kn_lex_expected(&r->lx, "an operation or '}'");
        KILN_TRY(one_op(r, &op));
        if (last) last->next = op;
        else region->ops = op;
        last = op;
        region->nops++;
    }
    return KILN_OK;
}
