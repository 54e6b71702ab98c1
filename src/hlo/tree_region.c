/* SPDX-License-Identifier: Apache-2.0 */
/* Pretty forms that hold regions: reduce and while. */
#include "hlo/mread.h"

/* ---- reduce ---- */

/* (%x init: %z), (%y init: %w): operands in the order of the generic form, all arrays first */
static kiln_status reduce_operands(kn_mreader *r, uint32_t *n)
{
    kn_lexer *lx = &r->lx;
    KN_VEC(uint32_t) inits = {0};
    do {
        KILN_TRY(kn_lex_want(lx, '('));
        KILN_TRY(kn_mread_operand(r));
        KILN_TRY(kn_lex_want_word(lx, "init"));
        KILN_TRY(kn_lex_want(lx, ':'));
        KILN_TRY(kn_mread_operand(r));
        KILN_TRY_MEM(r->ctx, kn_push(r->arena, &inits, r->ids.v[--r->ids.n]));
        KILN_TRY(kn_lex_want(lx, ')'));
    } while (kn_lex_take(lx, ','));
    for (uint32_t i = 0; i < inits.n; i++) KILN_TRY_MEM(r->ctx, kn_push(r->arena, &r->ids, inits.v[i]));
    *n = inits.n;
    return KILN_OK;
}

static kiln_status new_op(kn_mreader *r, kn_span name, const char *at, uint32_t line, kn_mop **out)
{
    KILN_TRY_MEM(r->ctx, *out = KN_NEW(r->arena, kn_mop));
    (*out)->name = name;
    (*out)->at = at;
    (*out)->line = line;
    return KILN_OK;
}

/* `applies name`: the region that applies one operation to its two arguments */
static kiln_status short_region(kn_mreader *r, kn_token name, const kn_mtype *type, kn_mregion *out)
{
    kn_mop *op, *end;
    uint32_t args[2], result;
    kn_span none = {name.at, 0};
    *out = (kn_mregion){.args = r->values.n, .nargs = 2, .first = r->values.n, .nops = 2, .at = name.at};
    for (int i = 0; i < 2; i++) KILN_TRY(kn_mread_value(r, type, none, name.at, &args[i]));
    KILN_TRY(kn_mread_value(r, type, none, name.at, &result));
    KILN_TRY(new_op(r, name.text, name.at, name.line, &op));
    KILN_TRY(new_op(r, (kn_span){"stablehlo.return", 16}, name.at, name.line, &end));
    op->next = end;
    op->nin = 2;
    op->out = result;
    op->nout = end->nin = 1;
    KILN_TRY_MEM(r->ctx, (op->in = kn_arena_copy(r->arena, args, sizeof args)) && (end->in = kn_arena_copy(r->arena, &result, sizeof result)));
    out->ops = op;
    out->end = r->values.n;
    return KILN_OK;
}

typedef struct block_arg {
    kn_token name;
    const kn_mtype *type;
    const kn_mloc *loc;
} block_arg;

static kiln_status define(kn_mreader *r, const block_arg *a)
{
    uint32_t id;
    KILN_TRY(kn_mread_value(r, a->type, a->name.text, a->name.at, &id));
    r->values.v[id].loc = a->loc;
    return kn_mread_bind(r, a->name.text, a->name.at, id, 1);
}

/* A region without a block header, whose arguments are given. */
static kiln_status region_with(kn_mreader *r, const block_arg *args, uint32_t n, kn_mregion *out)
{
    *out = (kn_mregion){.args = r->values.n, .nargs = n, .first = r->values.n, .at = r->lx.tok.at};
    uint32_t scope = kn_mread_scope(r);
    KILN_TRY(kn_mread_deeper(r));
    for (uint32_t i = 0; i < n; i++) KILN_TRY(define(r, &args[i]));
    KILN_TRY(kn_lex_want(&r->lx, '{'));
    KILN_TRY(kn_mread_ops(r, out));
    KILN_TRY(kn_lex_want(&r->lx, '}'));
    out->end = r->values.n;
    kn_mread_leave(r, scope);
    r->depth--;
    return KILN_OK;
}

/* reducer(%p: t, %q: t) (%r: t, %s: t) {..}: a pair for each array; the region's arguments are all first ones, then all second */
static kiln_status long_region(kn_mreader *r, uint32_t n, kn_mregion *out)
{
    kn_lexer *lx = &r->lx;
    block_arg *args = KN_NEWN(r->arena, block_arg, 2 * n);
    KILN_TRY_MEM(r->ctx, args);
    for (uint32_t i = 0; i < n; i++) {
        KILN_TRY(kn_lex_want(lx, '('));
        for (uint32_t k = 0; k < 2; k++) {
            block_arg *a = &args[k * n + i];
            if (k) KILN_TRY(kn_lex_want(lx, ','));
            if (lx->tok.kind != KN_T_VALUE) return kn_lex_expected(lx, "an argument, as %arg0: type,");
            a->name = lx->tok;
            kn_lex_next(lx);
            KILN_TRY(kn_lex_want(lx, ':'));
            KILN_TRY(kn_mread_type(r, &a->type));
            KILN_TRY(kn_mread_loc(r, &a->loc));
        }
        KILN_TRY(kn_lex_want(lx, ')'));
    }
    return region_with(r, args, 2 * n, out);
}

kiln_status kn_mread_reduce(kn_mreader *r, kn_mopened *o)
{
    kn_lexer *lx = &r->lx;
    uint32_t n = 0;
    kn_token applied = {0};
    kn_mattr dims;
    kn_mregion *region = KN_NEW(r->arena, kn_mregion);
    KILN_TRY_MEM(r->ctx, region);
    KILN_TRY(reduce_operands(r, &n));
    if (kn_lex_take_word(lx, "applies")) {
        if (lx->tok.kind != KN_T_WORD) return kn_lex_expected(lx, "an operation, as stablehlo.add,");
        applied = lx->tok;
        kn_lex_next(lx);
    }
    KILN_TRY(kn_lex_want_word(lx, "across"));
    KILN_TRY(kn_lex_want_word(lx, "dimensions"));
    KILN_TRY(kn_lex_want(lx, '='));
    KILN_TRY(kn_mread_list(r, &dims));
    KILN_TRY(kn_mread_put(r, "dimensions", dims));
    if (kn_lex_is(lx, '{')) KILN_TRY(kn_mread_dict(r));
    KILN_TRY(kn_mread_signature(r, o));
    if (applied.at) {
        if (n != 1) return kn_source_fail(lx->src, applied.at, KILN_INVALID, "syntax", "reducer(..) {..}", "'applies' reduces one array, %u are given", n);
        KILN_TRY(short_region(r, applied, r->values.v[r->ids.v[o->ids + 1]].type, region));
    } else {
        KILN_TRY(kn_lex_want_word(lx, "reducer"));
        KILN_TRY(long_region(r, n, region));
    }
    o->op->regions = region;
    o->op->nregions = 1;
    return KILN_OK;
}

/* ---- while ---- */

kiln_status kn_mread_while(kn_mreader *r, kn_mopened *o)
{
    kn_lexer *lx = &r->lx;
    KN_VEC(block_arg) args = {0};
    kn_mregion *regions = KN_NEWN(r->arena, kn_mregion, 2);
    KILN_TRY_MEM(r->ctx, regions);
    KILN_TRY(kn_lex_want(lx, '('));
    while (!kn_lex_take(lx, ')')) {
        block_arg a = {0};
        if (args.n) KILN_TRY(kn_lex_want(lx, ','));
        if (lx->tok.kind != KN_T_VALUE) return kn_lex_expected(lx, "an argument, as %iterArg = %0,");
        a.name = lx->tok;
        kn_lex_next(lx);
        KILN_TRY(kn_lex_want(lx, '='));
        KILN_TRY(kn_mread_operand(r));
        KILN_TRY(kn_mread_loc(r, &a.loc));
        KILN_TRY_MEM(r->ctx, kn_push(r->arena, &args, a));
    }
    if (kn_lex_take(lx, ':')) {
        uint32_t base = r->type_list.n;
        KILN_TRY(kn_mread_types(r));
        KILN_TRY(kn_mtype_list(r, base, &o->results, &o->nresults));
    }
    KILN_TRY(kn_mread_check_types(r, o->op->at, r->ids.v + o->ids, r->ids.n - o->ids, o->results, o->nresults));
    for (uint32_t i = 0; i < args.n; i++) args.v[i].type = o->results[i];
    if (kn_lex_take_word(lx, "attributes")) KILN_TRY(kn_mread_dict(r));
    KILN_TRY(kn_lex_want_word(lx, "cond"));
    KILN_TRY(region_with(r, args.v, args.n, &regions[0]));
    KILN_TRY(kn_lex_want_word(lx, "do"));
    KILN_TRY(region_with(r, args.v, args.n, &regions[1]));
    o->op->regions = regions;
    o->op->nregions = 2;
    return KILN_OK;
}
