/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs in the shape of simulations: loops over arrays of one size that iterate inside loops, exchange, keep, copy and
 * overwrite their state, choose by branches and write rows of records. Here everything that a compiler does to update state in
 * place is near to everything that forbids it. */
#ifndef KN_RANDOM_LOOPS_H
#define KN_RANDOM_LOOPS_H

#include "random_program.h"

enum { LP_CARRIES = 6, LP_ROWS = 3 };

typedef struct lp {
    rp r;
    int64_t n[2];        /* elements of the two sizes of arrays */
    kiln_dtype dtype;
    int64_t row_dims[2]; /* of a record of arrays of the first size */
    int left;            /* equations until no more bodies are made */
} lp;

static kiln_type lp_array(lp *g, int k) { return (kiln_type){g->dtype, 1, &g->n[k]}; }
static kiln_type lp_record(lp *g) { return (kiln_type){g->dtype, 2, g->row_dims}; }
static kiln_type lp_scalar(lp *g) { return KILN_SCALAR(g->dtype); }
static kiln_type lp_count(void) { return KILN_SCALAR(KILN_I32); }

/* A value of this type: late ones more often; a constant where there is none. */
static kn_atom lp_pick(lp *g, rp_body *b, kiln_type t)
{
    kn_atom found[RP_POOL];
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->n; i++)
        if (kiln_type_equal(rp_of(b, b->pool[i]), t)) found[n++] = b->pool[i];
    if (n) return found[rp_below(&g->r, 2) ? n - 1 - rp_below(&g->r, n < 3 ? n : 3) : rp_below(&g->r, n)];
    double v = (double)rp_below(&g->r, 1000) / 700 - 0.7;
    kn_scalar s = t.dtype == KILN_I32 ? (kn_scalar){.i = rp_below(&g->r, 4)} : (kn_scalar){.f = v};
    return rp_fill(&g->r, b, rp_literal(&g->r, b, t.dtype, s), t);
}

static kn_atom lp_scaled(lp *g, rp_body *b, kn_atom x, double by)
{
    return rp_eqn(&g->r, b, "mul", NULL, (kn_atom[]){x, rp_literal(&g->r, b, g->dtype, (kn_scalar){.f = by})}, 2);
}

static void lp_arithmetic(lp *g, rp_body *b, kiln_type t)
{
    static const char *const ops[] = {"add", "sub", "max", "min"};
    kn_atom x = lp_pick(g, b, t), y = rp_below(&g->r, 4) ? lp_pick(g, b, t) : lp_pick(g, b, lp_scalar(g));
    rp_eqn(&g->r, b, ops[rp_below(&g->r, 4)], NULL, (kn_atom[]){lp_scaled(g, b, x, 0.625), lp_scaled(g, b, y, 0.3125)}, 2);
}

static kn_atom lp_cut(lp *g, rp_body *b, kn_atom x, int64_t lo, int64_t hi)
{
    return rp_eqn(&g->r, b, "slice", (kn_param[]){KN_INTS(1, &hi), KN_INTS(1, &lo), KN_NONE}, &x, 1);
}

/* Neighbours at other indices: nothing that is read there may be overwritten before. */
static void lp_neighbours(lp *g, rp_body *b, kiln_type t)
{
    int64_t n = t.dims[0];
    kn_atom x = lp_pick(g, b, t), y = lp_pick(g, b, t);
    switch (rp_below(&g->r, 4)) {
    case 0: rp_eqn(&g->r, b, "rev", (kn_param[]){KN_INTS(1, (int64_t[]){0})}, &x, 1); break;
    case 1: {
        kn_atom in[2] = {lp_cut(g, b, x, 1, n), lp_cut(g, b, y, 0, 1)};
        rp_eqn(&g->r, b, "concatenate", (kn_param[]){KN_INT(0)}, in, 2);
        break;
    }
    case 2: {
        int64_t config[3] = {1, -1, 0};
        kn_param item = KN_INTS(3, config), p = KN_TUPLE(1, &item);
        rp_eqn(&g->r, b, "pad", &p, (kn_atom[]){x, lp_pick(g, b, lp_scalar(g))}, 2);
        break;
    }
    default: {
        kn_atom mid = lp_cut(g, b, x, 1, n - 1);
        kn_atom sum = rp_eqn(&g->r, b, "add", NULL, (kn_atom[]){lp_cut(g, b, x, 0, n - 2), lp_cut(g, b, y, 2, n)}, 2);
        kn_atom v = rp_eqn(&g->r, b, "add", NULL, (kn_atom[]){lp_scaled(g, b, mid, 0.5), lp_scaled(g, b, sum, 0.25)}, 2);
        kn_atom in[3] = {lp_cut(g, b, y, 0, 1), v, lp_cut(g, b, x, n - 1, n)};
        rp_eqn(&g->r, b, "concatenate", (kn_param[]){KN_INT(0)}, in, 3);
    }
    }
}

static void lp_update(lp *g, rp_body *b, kiln_type t)
{
    int64_t n = t.dims[0], m = 1 + rp_below(&g->r, (uint32_t)n), lo = rp_below(&g->r, (uint32_t)(n - m) + 1);
    kn_atom in[4] = {lp_pick(g, b, t), lp_cut(g, b, lp_pick(g, b, t), lo, lo + m), lp_pick(g, b, lp_count())};
    rp_eqn(&g->r, b, "dynamic_update_slice", NULL, in, 3);
}

/* A row of the record becomes an array, or the other way. */
static void lp_record_row(lp *g, rp_body *b)
{
    kn_atom record = lp_pick(g, b, lp_record(g)), at = lp_pick(g, b, lp_count()), zero = rp_literal(&g->r, b, KILN_I32, (kn_scalar){.i = 0});
    int64_t row[2] = {1, g->n[0]};
    if (rp_below(&g->r, 3)) {
        kn_atom x = lp_pick(g, b, lp_array(g, 0));
        x = rp_eqn(&g->r, b, "reshape", (kn_param[]){KN_NONE, KN_INTS(2, row), KN_NONE}, &x, 1);
        rp_eqn(&g->r, b, "dynamic_update_slice", NULL, (kn_atom[]){record, x, at, zero}, 4);
    } else {
        kn_atom x = rp_eqn(&g->r, b, "dynamic_slice", (kn_param[]){KN_INTS(2, row)}, (kn_atom[]){record, at, zero}, 3);
        rp_eqn(&g->r, b, "squeeze", (kn_param[]){KN_INTS(1, (int64_t[]){0})}, &x, 1);
    }
}

static kn_atom lp_flag(lp *g, rp_body *b)
{
    if (rp_below(&g->r, 2)) return rp_eqn(&g->r, b, "lt", NULL, (kn_atom[]){lp_pick(g, b, lp_count()), lp_pick(g, b, lp_count())}, 2);
    return rp_eqn(&g->r, b, "gt", NULL, (kn_atom[]){lp_pick(g, b, lp_scalar(g)), lp_pick(g, b, lp_scalar(g))}, 2);
}

static void lp_body(lp *g, rp_body *b, uint32_t n);

static kiln_type lp_some_type(lp *g)
{
    uint32_t k = rp_below(&g->r, 12);
    return k < 7 ? lp_array(g, 0) : k < 9 ? lp_array(g, 1) : k < 10 ? lp_record(g) : k < 11 ? lp_scalar(g) : lp_count();
}

/* What a carry becomes: something made in the trip, the state of another carry, itself. */
static kn_atom lp_next(lp *g, rp_body *b, kiln_type t, kn_atom old)
{
    return rp_below(&g->r, 6) == 0 ? old : lp_pick(g, b, t);
}

static void lp_while(lp *g, rp_body *b)
{
    kiln_type t[LP_CARRIES + 8], cond[LP_CARRIES + 8];
    kn_atom in[LP_CARRIES + 8], out[LP_CARRIES], next[LP_CARRIES], arg[LP_CARRIES + 8];
    rp *r = &g->r;
    uint32_t nc = rp_below(r, 2), nb = rp_below(r, 4), n = 2 + rp_below(r, LP_CARRIES - 1), k = 0;
    for (uint32_t i = 0; i < nc + nb + n; i++) {
        t[i] = i == nc + nb ? lp_count() : lp_some_type(g);
        in[i] = i == nc + nb ? rp_literal(r, b, KILN_I32, (kn_scalar){.i = 0}) : lp_pick(g, b, t[i]);
    }
    for (uint32_t i = 0; i < nc; i++) cond[k++] = t[i];
    for (uint32_t i = 0; i < n; i++) cond[k++] = t[nc + nb + i];
    rp_body *c = calloc(1, sizeof *c), *w = calloc(1, sizeof *w);
    kn_build_init(&c->b, r->ctx, b->b.prog);
    for (uint32_t i = 0; i < k; i++) arg[i] = rp_input(r, c, cond[i]);
    kn_atom go = rp_eqn(r, c, "lt", NULL, (kn_atom[]){arg[nc], rp_literal(r, c, KILN_I32, (kn_scalar){.i = rp_below(r, 5)})}, 2);
    if (rp_below(r, 3) == 0) go = rp_eqn(r, c, "and", NULL, (kn_atom[]){go, lp_flag(g, c)}, 2);
    const kn_jaxpr *cond_body = rp_finish(r, c, &go, 1);
    free(c);
    kn_build_init(&w->b, r->ctx, b->b.prog);
    for (uint32_t i = 0; i < nb + n; i++) arg[i] = rp_input(r, w, t[nc + i]);
    r->depth++;
    lp_body(g, w, 2 + rp_below(r, 8));
    r->depth--;
    for (uint32_t i = 0; i < n; i++) next[i] = lp_next(g, w, t[nc + nb + i], arg[nb + i]);
    next[0] = rp_eqn(r, w, "add", NULL, (kn_atom[]){arg[nb], rp_literal(r, w, KILN_I32, (kn_scalar){.i = 1})}, 2);
    const kn_jaxpr *body = rp_finish(r, w, next, n);
    free(w);
    kn_param p[KN_WHILE_PARAMS] = {KN_JAXPR(body), KN_INT(nb), KN_JAXPR(cond_body), KN_INT(nc)};
    if (r->status == KILN_OK) r->status = kn_build_eqn(&b->b, rp_prim("while"), p, in, nc + nb + n, out, n);
    for (uint32_t i = 0; i < n && r->status == KILN_OK; i++) rp_add(b, out[i]);
}

static void lp_cond(lp *g, rp_body *b)
{
    rp *r = &g->r;
    kiln_type t[5], to[4];
    kn_atom in[6], out[4];
    kn_param branch[3];
    uint32_t nin = 1 + rp_below(r, 5), nout = 1 + rp_below(r, 4), n = 1 + rp_below(r, 3);
    for (uint32_t i = 0; i < nin; i++) t[i] = lp_some_type(g), in[1 + i] = lp_pick(g, b, t[i]);
    for (uint32_t i = 0; i < nout; i++) to[i] = rp_below(r, 3) ? t[rp_below(r, nin)] : lp_some_type(g);
    in[0] = lp_pick(g, b, lp_count());
    for (uint32_t k = 0; k < n; k++) {
        rp_body *w = calloc(1, sizeof *w);
        kn_atom y[4];
        kn_build_init(&w->b, r->ctx, b->b.prog);
        for (uint32_t i = 0; i < nin; i++) rp_input(r, w, t[i]);
        r->depth++;
        lp_body(g, w, rp_below(r, 5));
        r->depth--;
        for (uint32_t i = 0; i < nout; i++) y[i] = lp_pick(g, w, to[i]);
        branch[k] = KN_JAXPR(rp_finish(r, w, y, nout));
        free(w);
    }
    kn_param p[] = {KN_TUPLE(n, branch), KN_NONE, KN_NONE};
    if (r->status == KILN_OK) r->status = kn_build_eqn(&b->b, rp_prim("cond"), p, in, 1 + nin, out, nout);
    for (uint32_t i = 0; i < nout && r->status == KILN_OK; i++) rp_add(b, out[i]);
}

static void lp_body(lp *g, rp_body *b, uint32_t n)
{
    rp *r = &g->r;
    g->left -= (int)n;
    while (n-- > 0 && r->status == KILN_OK) {
        kiln_type t = lp_array(g, rp_below(r, 4) == 0);
        uint32_t what = rp_below(r, 20);
        if (what < 6) lp_arithmetic(g, b, t);
        else if (what < 8) lp_neighbours(g, b, t);
        else if (what < 10) lp_update(g, b, t);
        else if (what < 12) lp_record_row(g, b);
        else if (what < 13) lp_arithmetic(g, b, lp_scalar(g));
        else if (what < 14) {
            kn_atom x = lp_pick(g, b, t);
            x = rp_eqn(r, b, rp_below(r, 2) ? "reduce_sum" : "reduce_max", (kn_param[]){KN_INTS(1, (int64_t[]){0}), KN_NONE}, &x, 1);
            lp_scaled(g, b, x, 0.015625);
        } else if (what < 15) {
            kn_atom in[3] = {lp_flag(g, b), lp_pick(g, b, t), lp_pick(g, b, t)};
            rp_eqn(r, b, "select_n", NULL, in, 3);
        } else if (r->depth >= 3 || g->left < 0) lp_neighbours(g, b, t);
        else if (what < 18) lp_while(g, b);
        else lp_cond(g, b);
    }
}

static kiln_status random_loops(kiln_ctx *ctx, uint64_t seed, uint32_t size, kn_prog **out, kiln_array **in, uint32_t *nin)
{
    static const int64_t sizes[] = {3, 17, 18, 20, 33, 64};
    lp g = {.r = {.ctx = ctx, .state = seed * 0x2545f4914f6cdd1du + 77}};
    rp *r = &g.r;
    rp_body *b = calloc(1, sizeof *b);
    kn_prog *p;
    *nin = 0;
    g.n[0] = sizes[rp_below(r, 6)], g.n[1] = sizes[rp_below(r, 6)];
    g.dtype = rp_below(r, 2) ? KILN_F32 : KILN_F64;
    g.left = (int)size;
    g.row_dims[0] = LP_ROWS, g.row_dims[1] = g.n[0];
    r->status = kn_prog_new(ctx, NULL, &p);
    if (r->status == KILN_OK) {
        kn_build_init(&b->b, ctx, p);
        uint32_t n = 4 + rp_below(r, RP_INPUTS - 4);
        for (uint32_t i = 0; i < n && r->status == KILN_OK; i++) {
            kiln_type t = i == 0 ? lp_count() : i < 3 ? lp_array(&g, 0) : lp_some_type(&g);
            rp_input(r, b, t);
            if (r->status == KILN_OK) r->status = kiln_array_create(ctx, t, &in[*nin]);
            if (r->status != KILN_OK) break;
            for (int64_t k = 0; k < kiln_type_size(t); k++) {
                kn_scalar v = t.dtype == KILN_I32 ? (kn_scalar){.i = rp_below(r, 4)} : (kn_scalar){.f = (double)rp_bits(r) * 0x1p-63 - 1};
                kn_scalar_store(t.dtype, in[*nin]->data, k, kn_scalar_round(t.dtype, v));
            }
            ++*nin;
        }
        lp_body(&g, b, 4 + rp_below(r, 8));
        kn_atom outs[RP_OUTPUTS];
        uint32_t m = 1 + rp_below(r, 10), have = 0;
        for (uint32_t i = 0; i < m; i++) outs[have++] = b->pool[b->n - 1 - rp_below(r, rp_below(r, 3) ? (b->n < 12 ? b->n : 12) : b->n)];
        if (r->status == KILN_OK) r->status = kn_build_finish(&b->b, outs, have, &p->main);
        if (r->status != KILN_OK) kiln_prog_release(p);
        *out = p;
    }
    free(b);
    return r->status;
}

#endif
