/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs that can be differentiated: smooth functions of a few f64 values of order 1, moves, products and sums of small
 * arrays, with loops, branches, calls and checkpoints inside one another. Trips and branches are chosen by integers, so that no step
 * of a difference quotient leaves the path; a maximum or a sort now and then has a kink. */
#ifndef KN_RANDOM_SMOOTH_H
#define KN_RANDOM_SMOOTH_H

#include "random_program.h"

enum { SM_TYPES = 5, SM_CARRIES = 3, SM_DEPTH = 3 };

typedef struct sm {
    rp r;
    int left; /* equations until no more bodies are made */
} sm;

static const int64_t sm_dims[][2] = {{0}, {3}, {2, 3}, {3, 2}, {4}};
static const uint32_t sm_ranks[SM_TYPES] = {0, 1, 2, 2, 1};

static kiln_type sm_type(uint32_t k) { return (kiln_type){KILN_F64, sm_ranks[k], sm_dims[k]}; }
static kiln_type sm_some_type(sm *g) { return sm_type(rp_below(&g->r, SM_TYPES)); }
static kiln_type sm_count(void) { return KILN_SCALAR(KILN_I32); }
static double sm_number(rp *r) { return 0.25 + (double)(rp_bits(r) >> 12) * 0x1p-52; }

static kn_atom sm_sum(rp *r, rp_body *b, kn_atom a)
{
    static const int64_t axes[2] = {0, 1};
    uint32_t rank = rp_of(b, a).rank;
    return rank ? rp_eqn(r, b, "reduce_sum", (kn_param[]){KN_INTS(rank, axes), KN_NONE}, &a, 1) : a;
}

/* A value of this type: out of the pool, or made of another. */
static kn_atom sm_pick(sm *g, rp_body *b, kiln_type t)
{
    rp *r = &g->r;
    kn_atom found[RP_POOL];
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->n; i++)
        if (kiln_type_equal(rp_of(b, b->pool[i]), t)) found[n++] = b->pool[i];
    if (n && rp_below(r, 8)) return found[rp_below(r, 2) ? n - 1 - rp_below(r, n < 3 ? n : 3) : rp_below(r, n)];
    if (t.dtype == KILN_I32) return rp_literal(r, b, KILN_I32, (kn_scalar){.i = rp_below(r, 4)});
    for (int tries = 0; tries < 10 && b->n; tries++) {
        kn_atom a = b->pool[rp_below(r, b->n)];
        if (rp_of(b, a).dtype == KILN_F64) return rp_fill(r, b, sm_sum(r, b, a), t);
    }
    return rp_fill(r, b, rp_literal(r, b, KILN_F64, (kn_scalar){.f = sm_number(r)}), t);
}

static kn_atom sm_times(rp *r, rp_body *b, kn_atom a, double v)
{
    return rp_eqn(r, b, "mul", NULL, (kn_atom[]){a, rp_literal(r, b, KILN_F64, (kn_scalar){.f = v})}, 2);
}

/* ---- equations ---- */

static void sm_unary(sm *g, rp_body *b)
{
    static const char *const names[] = {"sin", "cos", "tanh", "logistic", "exp", "square", "atan", "erf", "expm1", "neg", "asinh"};
    rp *r = &g->r;
    kn_atom a = sm_times(r, b, sm_pick(g, b, sm_some_type(g)), 0.5 + sm_number(r) / 2);
    const char *name = names[rp_below(r, 11)];
    if (strcmp(name, "exp") == 0 || strcmp(name, "expm1") == 0) a = rp_eqn(r, b, "tanh", NULL, &a, 1);
    rp_eqn(r, b, name, NULL, &a, 1);
}

static void sm_binary(sm *g, rp_body *b)
{
    static const char *const names[] = {"add", "sub", "mul", "mul", "div", "max", "atan2", "add_any"};
    rp *r = &g->r;
    kiln_type t = sm_some_type(g);
    const char *name = names[rp_below(r, 8)];
    kn_atom x = sm_pick(g, b, t), y = sm_pick(g, b, strcmp(name, "add_any") == 0 || rp_below(r, 3) ? t : KILN_SCALAR(KILN_F64));
    if (strcmp(name, "div") == 0 || strcmp(name, "atan2") == 0) { /* away from 0 */
        y = rp_eqn(r, b, "tanh", NULL, &y, 1);
        y = rp_eqn(r, b, "add", NULL, (kn_atom[]){y, rp_literal(r, b, KILN_F64, (kn_scalar){.f = 2})}, 2);
    }
    x = rp_eqn(r, b, name, NULL, (kn_atom[]){x, y}, 2);
    if (rp_below(r, 3) == 0) rp_eqn(r, b, "sin", NULL, &x, 1);
}

/* A window that starts where an integer says. */
static void sm_dynamic(sm *g, rp_body *b)
{
    rp *r = &g->r;
    kiln_type t = sm_type(1 + rp_below(r, SM_TYPES - 1));
    int64_t size[2];
    kn_atom in[4] = {sm_pick(g, b, t)};
    for (uint32_t d = 0; d < t.rank; d++) size[d] = 1 + rp_below(r, (uint32_t)t.dims[d]), in[2 + d] = sm_pick(g, b, sm_count());
    kiln_type w = {KILN_F64, t.rank, size};
    if (rp_below(r, 2)) {
        in[1] = sm_pick(g, b, w);
        in[1] = rp_eqn(r, b, "dynamic_update_slice", NULL, in, 2 + t.rank);
    } else in[1] = in[0];
    rp_eqn(r, b, "dynamic_slice", (kn_param[]){KN_INTS(t.rank, size)}, in + 1, 1 + t.rank);
}

static void sm_move(sm *g, rp_body *b)
{
    rp *r = &g->r;
    kiln_type t = sm_type(1 + rp_below(r, SM_TYPES - 1));
    kn_atom a = sm_pick(g, b, t);
    int64_t last = (int64_t)t.rank - 1, lo[2] = {0, 0}, hi[2], turn[2] = {last, 0}, flat = kiln_type_size(t);
    for (uint32_t d = 0; d < t.rank; d++) hi[d] = t.dims[d];
    switch (rp_below(r, 8)) {
    case 0: rp_eqn(r, b, "transpose", (kn_param[]){KN_INTS(t.rank, turn)}, &a, 1); break;
    case 1: rp_eqn(r, b, "rev", (kn_param[]){KN_INTS(1, &last)}, &a, 1); break;
    case 2: { /* shifted by one */
        int64_t config[2][3] = {{0}};
        kn_param item[2];
        config[last][0] = 1, config[last][1] = -1;
        for (uint32_t d = 0; d < t.rank; d++) item[d] = KN_INTS(3, config[d]);
        kn_param p = KN_TUPLE(t.rank, item);
        rp_eqn(r, b, "pad", &p, (kn_atom[]){a, sm_pick(g, b, KILN_SCALAR(KILN_F64))}, 2);
        break;
    }
    case 3: {
        kn_atom in[2] = {a, sm_pick(g, b, t)};
        a = rp_eqn(r, b, "concatenate", (kn_param[]){KN_INT(last)}, in, 2);
        lo[last] = 1, hi[last]++;
        rp_eqn(r, b, "slice", (kn_param[]){KN_INTS(t.rank, hi), KN_INTS(t.rank, lo), KN_NONE}, &a, 1);
        break;
    }
    case 4:
        a = rp_eqn(r, b, "reshape", (kn_param[]){KN_NONE, KN_INTS(1, &flat), KN_NONE}, &a, 1);
        lo[0] = 1, hi[0] = 4;
        if (flat > 4) rp_eqn(r, b, "slice", (kn_param[]){KN_INTS(1, hi), KN_INTS(1, lo), KN_NONE}, &a, 1);
        break;
    case 5: rp_eqn(r, b, "sort", (kn_param[]){KN_INT(last), KN_BOOL(true), KN_INT(1)}, &a, 1); break;
    default: sm_dynamic(g, b);
    }
}

static void sm_reduce(sm *g, rp_body *b)
{
    static const char *const names[] = {"reduce_sum", "reduce_max", "reduce_prod", "cumsum", "cumprod", "cumlogsumexp"};
    rp *r = &g->r;
    kiln_type t = sm_type(1 + rp_below(r, SM_TYPES - 1));
    uint32_t what = rp_below(r, 6);
    kn_atom a = sm_pick(g, b, t);
    int64_t axis = rp_below(r, t.rank);
    if (what >= 3) rp_eqn(r, b, names[what], (kn_param[]){KN_INT(axis), KN_BOOL(rp_below(r, 2))}, &a, 1);
    else rp_eqn(r, b, names[what], (kn_param[]){KN_INTS(1, &axis), KN_NONE}, &a, 1);
}

/* [2,3] times [3,2] or [3] */
static void sm_dot(sm *g, rp_body *b)
{
    rp *r = &g->r;
    static const int64_t one = 1, zero = 0;
    kn_atom in[2] = {sm_pick(g, b, sm_type(2)), sm_pick(g, b, sm_type(rp_below(r, 2) ? 3 : 1))};
    kn_param contract[2] = {KN_INTS(1, &one), KN_INTS(1, &zero)}, lanes[2] = {KN_INTS(0, NULL), KN_INTS(0, NULL)};
    kn_param pair[2] = {KN_TUPLE(2, contract), KN_TUPLE(2, lanes)}, p[4] = {KN_TUPLE(2, pair), KN_NONE, KN_NONE, KN_NONE};
    kn_atom a = rp_eqn(r, b, "dot_general", p, in, 2);
    rp_eqn(r, b, "tanh", NULL, &a, 1);
}

static void sm_choice(sm *g, rp_body *b)
{
    rp *r = &g->r;
    kiln_type t = sm_some_type(g);
    kn_atom flag = rp_eqn(r, b, "lt", NULL, (kn_atom[]){sm_pick(g, b, sm_count()), sm_pick(g, b, sm_count())}, 2);
    kn_atom in[3] = {flag, sm_pick(g, b, t), sm_pick(g, b, t)};
    rp_eqn(r, b, "select_n", NULL, in, 3);
}

/* ---- bodies ---- */

static void sm_body(sm *g, rp_body *b, uint32_t n);

static bool sm_unread(const rp_body *b, kn_atom a)
{
    for (uint32_t k = b->b.eqns.n; k-- > 0;)
        for (uint32_t i = 0; i < b->b.eqns.v[k].nin; i++)
            if (b->b.eqns.v[k].in[i] == a) return false;
    return true;
}

/* `a` and a little of all that nothing is made of: no equation is dead. */
static kn_atom sm_with_rest(rp *r, rp_body *b, kn_atom a)
{
    for (uint32_t i = 0, n = b->n; i < n; i++) {
        kn_atom v = b->pool[i];
        if (v == a || rp_of(b, v).dtype != KILN_F64 || !sm_unread(b, v)) continue;
        v = sm_times(r, b, sm_sum(r, b, v), 0.125);
        a = rp_eqn(r, b, "add", NULL, (kn_atom[]){a, v}, 2);
    }
    return a;
}

/* A body with these arguments; the results have the types `to`, by way of tanh where that keeps a carry of order 1. */
static const kn_jaxpr *sm_jaxpr(sm *g, rp_body *outer, const kiln_type *t, uint32_t nin, const kiln_type *to, uint32_t nout, uint32_t size, bool counts)
{
    rp *r = &g->r;
    rp_body *b = calloc(1, sizeof *b);
    kn_atom in[12], out[8];
    kn_build_init(&b->b, r->ctx, outer->b.prog);
    for (uint32_t i = 0; i < nin; i++) in[i] = rp_input(r, b, t[i]);
    r->depth++;
    sm_body(g, b, size);
    r->depth--;
    for (uint32_t i = 0; i < nout; i++) {
        out[i] = sm_pick(g, b, to[i]);
        if (i + 1 == nout && to[i].dtype == KILN_F64) out[i] = sm_with_rest(r, b, out[i]);
        if (to[i].dtype == KILN_F64) out[i] = rp_eqn(r, b, "tanh", NULL, &out[i], 1);
    }
    if (counts) out[0] = rp_eqn(r, b, "add", NULL, (kn_atom[]){in[nin - nout], rp_literal(r, b, KILN_I32, (kn_scalar){.i = 1})}, 2);
    const kn_jaxpr *j = rp_finish(r, b, out, nout);
    free(b);
    return j;
}

static void sm_emit(sm *g, rp_body *b, const char *name, const kn_param *p, const kn_atom *in, uint32_t nin, uint32_t nout)
{
    kn_atom out[8];
    if (g->r.status == KILN_OK) g->r.status = kn_build_eqn(&b->b, rp_prim(name), p, in, nin, out, nout);
    for (uint32_t i = 0; i < nout && g->r.status == KILN_OK; i++) rp_add(b, out[i]);
}

static uint32_t sm_arguments(sm *g, rp_body *b, kiln_type *t, kn_atom *in, uint32_t most)
{
    uint32_t n = 1 + rp_below(&g->r, most);
    for (uint32_t i = 0; i < n; i++) {
        t[i] = rp_below(&g->r, 6) ? sm_some_type(g) : sm_count();
        in[i] = sm_pick(g, b, t[i]);
    }
    return n;
}

static void sm_call(sm *g, rp_body *b)
{
    rp *r = &g->r;
    kiln_type t[4], to[3];
    kn_atom in[4];
    uint32_t nin = sm_arguments(g, b, t, in, 4), nout = 1 + rp_below(r, 2);
    for (uint32_t i = 0; i < nout; i++) to[i] = sm_some_type(g);
    kn_param body = KN_JAXPR(sm_jaxpr(g, b, t, nin, to, nout, 2 + rp_below(r, 5), false));
    if (rp_below(r, 2)) {
        kn_param p[11] = {KN_TEXT("f")};
        p[7] = body;
        sm_emit(g, b, "jit", p, in, nin, nout);
    } else sm_emit(g, b, "remat2", (kn_param[]){KN_BOOL(false), body, KN_NONE, KN_BOOL(true)}, in, nin, nout);
}

static void sm_cond(sm *g, rp_body *b)
{
    rp *r = &g->r;
    kiln_type t[4], to[3];
    kn_atom in[5] = {sm_pick(g, b, sm_count())};
    uint32_t nin = sm_arguments(g, b, t, in + 1, 4), nout = 1 + rp_below(r, 2), n = 2 + rp_below(r, 2);
    kn_param branch[3];
    for (uint32_t i = 0; i < nout; i++) to[i] = sm_some_type(g);
    for (uint32_t k = 0; k < n; k++) branch[k] = KN_JAXPR(sm_jaxpr(g, b, t, nin, to, nout, rp_below(r, 6), false));
    sm_emit(g, b, "cond", (kn_param[]){KN_TUPLE(n, branch), KN_NONE, KN_NONE}, in, 1 + nin, nout);
}

static void sm_while(sm *g, rp_body *b)
{
    rp *r = &g->r;
    kiln_type t[4 + SM_CARRIES];
    kn_atom in[5 + SM_CARRIES], go;
    uint32_t nb = sm_arguments(g, b, t, in + 1, 3), n = 2 + rp_below(r, SM_CARRIES - 1);
    in[0] = sm_pick(g, b, sm_count());
    for (uint32_t i = 0; i < n; i++) {
        t[nb + i] = i ? sm_some_type(g) : sm_count();
        in[1 + nb + i] = i ? sm_pick(g, b, t[nb + i]) : rp_literal(r, b, KILN_I32, (kn_scalar){.i = 0});
    }
    rp_body *c = calloc(1, sizeof *c);
    kn_build_init(&c->b, r->ctx, b->b.prog);
    kn_atom limit = rp_input(r, c, sm_count()), first = 0;
    for (uint32_t i = 0; i < n; i++) {
        kn_atom a = rp_input(r, c, t[nb + i]);
        if (!i) first = a;
    }
    limit = rp_eqn(r, c, "min", NULL, (kn_atom[]){limit, rp_literal(r, c, KILN_I32, (kn_scalar){.i = 4})}, 2);
    go = rp_eqn(r, c, "lt", NULL, (kn_atom[]){first, limit}, 2);
    const kn_jaxpr *cond = rp_finish(r, c, &go, 1), *body = sm_jaxpr(g, b, t, nb + n, t + nb, n, 2 + rp_below(r, 5), true);
    free(c);
    static const char *const records[] = {"root", "log", "all"};
    kn_param p[KN_WHILE_PARAMS] = {KN_JAXPR(body), KN_INT(nb), KN_JAXPR(cond), KN_INT(1)};
    if (rp_below(r, 2)) p[KN_WHILE_MAX_TRIPS] = KN_INT(rp_below(r, 5)), p[KN_WHILE_RECORD] = KN_TEXT(records[rp_below(r, 3)]);
    sm_emit(g, b, "while", p, in, 1 + nb + n, n);
}

static void sm_scan(sm *g, rp_body *b)
{
    rp *r = &g->r;
    kiln_type t[8], to[SM_CARRIES + 1];
    kn_atom in[8];
    uint32_t nc = sm_arguments(g, b, t, in, 2), n = 1 + rp_below(r, SM_CARRIES - 1), xs = rp_below(r, 2), ys = rp_below(r, 2);
    for (uint32_t i = 0; i < n; i++) to[i] = t[nc + i] = sm_some_type(g), in[nc + i] = sm_pick(g, b, to[i]);
    if (xs) t[nc + n] = KILN_SCALAR(KILN_F64), in[nc + n] = sm_pick(g, b, sm_type(4));
    if (ys) to[n] = KILN_SCALAR(KILN_F64);
    const kn_jaxpr *body = sm_jaxpr(g, b, t, nc + n + xs, to, n + ys, 2 + rp_below(r, 5), false);
    kn_param p[] = {KN_NONE, KN_NONE, KN_NONE, KN_JAXPR(body), KN_INT(4), KN_NONE, KN_INT(n), KN_INT(nc), KN_BOOL(rp_below(r, 2)), KN_INT(1)};
    sm_emit(g, b, "scan", p, in, nc + n + xs, n + ys);
}

static void sm_body(sm *g, rp_body *b, uint32_t n)
{
    rp *r = &g->r;
    g->left -= (int)n;
    while (n-- > 0 && r->status == KILN_OK) {
        uint32_t what = rp_below(r, 20);
        if (what < 4) sm_unary(g, b);
        else if (what < 8) sm_binary(g, b);
        else if (what < 11) sm_move(g, b);
        else if (what < 12) sm_reduce(g, b);
        else if (what < 13) sm_dot(g, b);
        else if (what < 14) sm_choice(g, b);
        else if (r->depth >= SM_DEPTH || g->left < 0) sm_unary(g, b);
        else if (what < 15) sm_call(g, b);
        else if (what < 16) sm_cond(g, b);
        else if (what < 18) sm_while(g, b);
        else sm_scan(g, b);
    }
}

/* A program of about `size` equations at the top, and its inputs, which the caller releases. */
static kiln_status random_smooth(kiln_ctx *ctx, uint64_t seed, uint32_t size, kn_prog **out, kiln_array **in, uint32_t *nin)
{
    sm g = {.r = {.ctx = ctx, .state = seed * 0x2545f4914f6cdd1du + 4711}, .left = (int)(2 * size)};
    rp *r = &g.r;
    rp_body *b = calloc(1, sizeof *b);
    kn_prog *p;
    *nin = 0;
    r->status = kn_prog_new(ctx, NULL, &p);
    if (r->status == KILN_OK) {
        kn_build_init(&b->b, ctx, p);
        uint32_t n = 3 + rp_below(r, 3);
        for (uint32_t i = 0; i < n && r->status == KILN_OK; i++) {
            kiln_type t = i == 0 ? sm_count() : i == 1 ? sm_type(1 + rp_below(r, SM_TYPES - 1)) : sm_some_type(&g);
            rp_input(r, b, t);
            if (r->status == KILN_OK) r->status = kiln_array_create(ctx, t, &in[*nin]);
            for (int64_t k = 0; r->status == KILN_OK && k < kiln_type_size(t); k++) {
                double v = sm_number(r) - 0.5;
                kn_scalar_store(t.dtype, in[*nin]->data, k, t.dtype == KILN_I32 ? (kn_scalar){.i = rp_below(r, 4)} : (kn_scalar){.f = v});
            }
            *nin += r->status == KILN_OK;
        }
        sm_body(&g, b, size);
        kn_atom outs[4];
        uint32_t m = 0, want = 1 + rp_below(r, 3);
        for (uint32_t i = b->n; i-- > 0 && m < want;)
            if (rp_of(b, b->pool[i]).dtype == KILN_F64) outs[m++] = b->pool[i];
        if (m && r->status == KILN_OK) outs[m - 1] = sm_with_rest(r, b, outs[m - 1]);
        if (r->status == KILN_OK) r->status = kn_build_finish(&b->b, outs, m, &p->main);
        if (r->status != KILN_OK) kiln_prog_release(p);
        *out = p;
    }
    free(b);
    return r->status;
}

#endif
