/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs for property tests: a few dozen equations over a pool of values of small shapes, with the constants that rewrite
 * rules look for, repeated equations, dead code, loops and branches with constants, unused and idle carries. The same seed gives
 * the same program and inputs. */
#ifndef KN_RANDOM_PROGRAM_H
#define KN_RANDOM_PROGRAM_H

#include "ir/prim.h"
#include "prim/control.h"

#include <math.h>
#include <stdlib.h>

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-function"
#endif

enum { RP_INPUTS = 12, RP_OUTPUTS = 60, RP_POOL = 400 };

typedef struct rp rp;
typedef struct rp_body {
    kn_build b;
    kn_atom pool[RP_POOL];
    uint32_t n;
} rp_body;
/* What a richer generator puts in place of parts of this one (random_mix.h). */
typedef struct rp_style {
    void (*equation)(rp *r, rp_body *b); /* two in three */
    kn_atom (*fresh)(rp *r, rp_body *b, kiln_type t); /* a value that the pool does not have */
    kiln_type (*input)(rp *r, int64_t *dims);
    uint32_t (*outputs)(rp *r, rp_body *b, kn_atom *out);
} rp_style;
struct rp {
    kiln_ctx *ctx;
    uint64_t state;
    uint32_t depth; /* of bodies */
    const rp_style *style; /* or NULL; with one, infinities and NaNs are few, so that differences get through */
    kiln_status status;
};

static const int64_t rp_dims[][3] = {{0}, {1}, {3}, {8}, {2, 3}, {1, 3}, {3, 2}, {0}, {17}, {2, 3, 2}};
static const uint32_t rp_ranks[] = {0, 1, 1, 1, 2, 2, 2, 1, 1, 3};
enum { RP_SHAPES = 10 };

static uint64_t rp_bits(rp *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
static uint32_t rp_below(rp *r, uint32_t n) { return (uint32_t)(rp_bits(r) % n); }
static kiln_dtype rp_dtype(rp *r)
{
    static const kiln_dtype d[] = {KILN_F64, KILN_F64, KILN_F32, KILN_I32, KILN_I64, KILN_BOOL, KILN_C128, KILN_C64};
    return d[rp_below(r, r->style ? 8 : 6)];
}
static kiln_type rp_type(rp *r, kiln_dtype d)
{
    uint32_t k = rp_below(r, RP_SHAPES + 3);
    if (k >= RP_SHAPES) k = 0;
    return (kiln_type){d, rp_ranks[k], rp_dims[k]};
}
static kn_scalar rp_value(rp *r, kiln_dtype d)
{
    static const double f[] = {0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -4.0, 3.0, 0.1, (double)INFINITY, -(double)INFINITY, (double)NAN, 1e300, 1e-310};
    static const int64_t n[] = {0, 1, -1, 2, 3, -7, INT32_MAX, INT32_MIN, 31, 32};
    if (kiln_dtype_kind(d) == 'f')
        return kn_scalar_round(d, (kn_scalar){.f = (r->style ? rp_below(r, 8) == 0 : rp_below(r, 3) != 0) ? f[rp_below(r, 14)] : ((double)rp_bits(r) * 0x1p-63 - 1) * 4});
    if (kiln_dtype_kind(d) == 'c') {
        double re = rp_value(r, kn_part_dtype(d)).f, im = rp_value(r, kn_part_dtype(d)).f;
        return (kn_scalar){.c = {re, im}};
    }
    if (d == KILN_BOOL) return (kn_scalar){.b = rp_below(r, 2)};
    return kn_scalar_round(d, (kn_scalar){.i = n[rp_below(r, 10)]});
}

static const kn_prim *rp_prim(const char *name) { return kn_prim_find(name, strlen(name)); }

/* Keys are no numbers: nothing converts them into what the next equation needs. */
static void rp_add(rp_body *b, kn_atom a)
{
    if (kiln_dtype_kind(kn_build_type(&b->b, a).dtype) == 'k') return;
    if (b->n < RP_POOL) b->pool[b->n++] = a;
}
static kn_atom rp_eqn(rp *r, rp_body *b, const char *name, const kn_param *params, const kn_atom *in, uint32_t nin)
{
    static const kn_param none[4];
    kn_atom out = 0;
    if (r->status == KILN_OK) r->status = kn_build_eqn(&b->b, rp_prim(name), params ? params : none, in, nin, &out, 1);
    if (r->status == KILN_OK) rp_add(b, out);
    return out;
}
static kn_atom rp_literal(rp *r, rp_body *b, kiln_dtype d, kn_scalar v)
{
    kn_atom a = 0;
    if (r->status == KILN_OK) r->status = kn_build_literal(&b->b, d, v, &a);
    return a;
}
static kiln_type rp_of(rp_body *b, kn_atom a) { return kn_build_type(&b->b, a); }

static kn_atom rp_fill(rp *r, rp_body *b, kn_atom scalar, kiln_type t)
{
    if (t.rank == 0) return scalar;
    kn_param p[] = {KN_INTS(0, NULL), KN_INTS(t.rank, t.dims), KN_NONE};
    return rp_eqn(r, b, "broadcast_in_dim", p, &scalar, 1);
}
/* Something of this type: out of the pool, or made of a constant. */
static kn_atom rp_some(rp *r, rp_body *b, kiln_type t)
{
    for (int tries = 0; tries < 20 && b->n && rp_below(r, 6); tries++) {
        kn_atom a = b->pool[b->n - 1 - rp_below(r, rp_below(r, 2) || b->n < 8 ? b->n : 8)];
        if (kiln_type_equal(rp_of(b, a), t)) return a;
    }
    return r->style && rp_below(r, 4) ? r->style->fresh(r, b, t) : rp_fill(r, b, rp_literal(r, b, t.dtype, rp_value(r, t.dtype)), t);
}
static kn_atom rp_any(rp *r, rp_body *b, const char *kinds)
{
    for (int tries = 0; tries < 20 && b->n; tries++) {
        kn_atom a = b->pool[b->n - 1 - rp_below(r, rp_below(r, 2) || b->n < 8 ? b->n : 8)];
        if (strchr(kinds, kiln_dtype_kind(rp_of(b, a).dtype))) return a;
    }
    kiln_dtype d = strchr(kinds, 'f') ? KILN_F64 : strchr(kinds, 'i') ? KILN_I32 : KILN_BOOL;
    return rp_fill(r, b, rp_literal(r, b, d, rp_value(r, d)), rp_type(r, d));
}
static kn_atom rp_scalar_int(rp *r, rp_body *b)
{
    if (rp_below(r, 2)) return rp_literal(r, b, KILN_I32, (kn_scalar){.i = (int64_t)rp_below(r, 6) - 1});
    return rp_some(r, b, KILN_SCALAR(rp_below(r, 2) ? KILN_I32 : KILN_I64));
}

/* ---- one equation of each family ---- */

static void rp_unary(rp *r, rp_body *b)
{
    static const char *const floats[] = {"neg", "abs", "sign", "floor", "ceil", "sqrt", "exp", "sin", "tanh", "logistic", "square", "copy", "log1p"};
    static const char *const ints[] = {"neg", "abs", "sign", "not", "copy", "square"};
    kn_atom a = rp_any(r, b, "iufb");
    char kind = kiln_dtype_kind(rp_of(b, a).dtype);
    const char *name = kind == 'f' ? floats[rp_below(r, 13)] : kind == 'b' ? "not" : ints[rp_below(r, 6)];
    a = rp_eqn(r, b, name, NULL, &a, 1);
    if (rp_below(r, 4) == 0) rp_eqn(r, b, name, NULL, &a, 1);
}
static void rp_binary(rp *r, rp_body *b)
{
    static const char *const floats[] = {"add", "sub", "mul", "div", "min", "max", "rem", "atan2", "add_any", "pow"};
    static const char *const ints[] = {"add", "sub", "mul", "div", "min", "max", "rem", "and", "or", "xor", "shift_left", "shift_right_arithmetic", "shift_right_logical"};
    static const char *const bools[] = {"and", "or", "xor", "min", "max"};
    static const char *const orders[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    static const char *const of_complex[] = {"add", "sub", "mul", "div", "add_any"};
    kn_atom in[2] = {rp_any(r, b, "iufbc")};
    kiln_type t = rp_of(b, in[0]);
    char kind = kiln_dtype_kind(t.dtype);
    const char *name = rp_below(r, 4) == 0 ? orders[rp_below(r, kind == 'c' ? 2 : 6)]
                       : kind == 'c'       ? of_complex[rp_below(r, 5)]
                       : kind == 'f'       ? floats[rp_below(r, 10)]
                       : kind == 'b'       ? bools[rp_below(r, 5)]
                                           : ints[rp_below(r, 13)];
    bool scalar = strcmp(name, "add_any") != 0 && rp_below(r, 2);
    in[1] = rp_below(r, 8) == 0 ? in[0] : rp_some(r, b, scalar ? KILN_SCALAR(t.dtype) : t);
    if (rp_below(r, 3) == 0) {
        kn_atom swap = in[0];
        in[0] = in[1], in[1] = swap;
    }
    rp_eqn(r, b, name, NULL, in, 2);
}
static void rp_choice(rp *r, rp_body *b)
{
    kn_atom x = rp_any(r, b, "iufb");
    kiln_type t = rp_of(b, x), w = t;
    w.dtype = KILN_BOOL;
    if (rp_below(r, 4) == 0 && kiln_dtype_kind(t.dtype) != 'b') {
        kn_atom in[3] = {rp_some(r, b, KILN_SCALAR(t.dtype)), x, rp_some(r, b, rp_below(r, 2) ? t : KILN_SCALAR(t.dtype))};
        rp_eqn(r, b, "clamp", NULL, in, 3);
        return;
    }
    kn_atom in[3] = {rp_some(r, b, rp_below(r, 2) ? w : KILN_SCALAR(KILN_BOOL)), x, rp_below(r, 5) ? rp_some(r, b, t) : x};
    rp_eqn(r, b, "select_n", NULL, in, 3);
}
static void rp_convert(rp *r, rp_body *b)
{
    static const kiln_dtype to[] = {KILN_F32, KILN_F64, KILN_I32, KILN_I64, KILN_BOOL, KILN_I16, KILN_U8, KILN_I8};
    kn_atom a = rp_any(r, b, "iufb");
    kiln_dtype home = rp_of(b, a).dtype;
    for (uint32_t n = 1 + rp_below(r, 3); n; n--) {
        kn_param p[] = {KN_DTYPE(n == 1 && rp_below(r, 2) ? home : to[rp_below(r, r->style ? 7 : 8)]), KN_NONE, KN_BOOL(false)};
        a = rp_eqn(r, b, "convert_element_type", p, &a, 1);
    }
}

static void rp_slice(rp *r, rp_body *b, kn_atom a)
{
    kiln_type t = rp_of(b, a);
    int64_t lo[4], hi[4], by[4];
    for (uint32_t d = 0; d < t.rank; d++) {
        uint32_t n = (uint32_t)t.dims[d];
        lo[d] = rp_below(r, 3) ? 0 : rp_below(r, n + 1);
        hi[d] = rp_below(r, 3) ? t.dims[d] : lo[d] + rp_below(r, n - (uint32_t)lo[d] + 1);
        by[d] = rp_below(r, 3) ? 1 : 1 + rp_below(r, 3);
        if (hi[d] < lo[d]) hi[d] = lo[d];
    }
    kn_param p[] = {KN_INTS(t.rank, hi), KN_INTS(t.rank, lo), KN_NONE};
    if (rp_below(r, 2)) p[2] = KN_INTS(t.rank, by);
    rp_eqn(r, b, "slice", p, &a, 1);
}
static void rp_pad(rp *r, rp_body *b, kn_atom a)
{
    kiln_type t = rp_of(b, a);
    int64_t v[4][3];
    kn_param item[4];
    for (uint32_t d = 0; d < t.rank; d++) {
        v[d][0] = rp_below(r, 3), v[d][1] = rp_below(r, 3), v[d][2] = rp_below(r, 4) == 0;
        item[d] = KN_INTS(3, v[d]);
    }
    kn_param p = KN_TUPLE(t.rank, item);
    rp_eqn(r, b, "pad", &p, (kn_atom[]){a, rp_some(r, b, KILN_SCALAR(t.dtype))}, 2);
}
static void rp_dynamic(rp *r, rp_body *b, kn_atom a)
{
    kiln_type t = rp_of(b, a);
    int64_t size[4];
    kn_atom in[8] = {a};
    for (uint32_t d = 0; d < t.rank; d++) {
        size[d] = rp_below(r, 3) ? rp_below(r, (uint32_t)t.dims[d] + 1) : t.dims[d];
        in[2 + d] = rp_scalar_int(r, b);
    }
    kiln_type w = {t.dtype, t.rank, size};
    if (rp_below(r, 2)) {
        in[1] = rp_some(r, b, w);
        a = rp_eqn(r, b, "dynamic_update_slice", NULL, in, 2 + t.rank);
        if (rp_below(r, 2)) return;
        in[1] = a;
    } else in[1] = a;
    kn_param p = KN_INTS(t.rank, size);
    rp_eqn(r, b, "dynamic_slice", &p, in + 1, 1 + t.rank);
}
static void rp_join(rp *r, rp_body *b, kn_atom a)
{
    kiln_type t = rp_of(b, a);
    kn_atom in[3] = {a};
    uint32_t n = 1 + rp_below(r, 3);
    for (uint32_t i = 1; i < n; i++) in[i] = rp_some(r, b, t);
    kn_param p = KN_INT(rp_below(r, t.rank));
    a = rp_eqn(r, b, "concatenate", &p, in, n);
    for (uint32_t i = rp_below(r, 3); i; i--) rp_slice(r, b, a);
}
static void rp_move(rp *r, rp_body *b)
{
    kn_atom a = rp_any(r, b, "iufb");
    kiln_type t = rp_of(b, a);
    int64_t v[8];
    if (t.rank > 4) return;
    if (t.rank == 0) {
        rp_fill(r, b, a, rp_type(r, t.dtype));
        return;
    }
    for (uint32_t d = 0, turn = rp_below(r, t.rank); d < t.rank; d++) v[d] = rp_below(r, 2) && t.rank < 3 ? t.rank - 1 - d : (d + turn) % t.rank;
    if (t.rank == 2) v[1] = 1 - v[0];
    switch (rp_below(r, 9)) {
    case 0: rp_slice(r, b, a); break;
    case 1: rp_pad(r, b, a); break;
    case 2: rp_dynamic(r, b, a); break;
    case 3: rp_join(r, b, a); break;
    case 4:
        a = rp_eqn(r, b, "transpose", (kn_param[]){KN_INTS(t.rank, v)}, &a, 1);
        if (rp_below(r, 2)) rp_eqn(r, b, "transpose", (kn_param[]){KN_INTS(t.rank, v)}, &a, 1);
        break;
    case 5: rp_eqn(r, b, "rev", (kn_param[]){KN_INTS(1, v)}, &a, 1); break;
    case 6: { /* another dimension in front, then away again or flat */
        int64_t dims[5] = {1}, at[4];
        for (uint32_t d = 0; d < t.rank; d++) dims[d + 1] = t.dims[d], at[d] = d + 1;
        if (rp_below(r, 2)) dims[0] = 2;
        kn_param p[] = {KN_INTS(t.rank, at), KN_INTS(t.rank + 1, dims), KN_NONE};
        kn_atom y = t.rank < 3 ? rp_eqn(r, b, "broadcast_in_dim", p, &a, 1) : a;
        if (t.rank < 3 && dims[0] == 1 && rp_below(r, 2)) rp_eqn(r, b, "squeeze", (kn_param[]){KN_INTS(1, (int64_t[]){0})}, &y, 1);
        break;
    }
    default: { /* flat, and back */
        int64_t n = kiln_type_size(t);
        kn_atom y = rp_eqn(r, b, "reshape", (kn_param[]){KN_NONE, KN_INTS(1, &n), KN_NONE}, &a, 1);
        if (rp_below(r, 2)) rp_eqn(r, b, "reshape", (kn_param[]){KN_NONE, KN_INTS(t.rank, t.dims), KN_NONE}, &y, 1);
    }
    }
}
static void rp_sum(rp *r, rp_body *b)
{
    static const char *const names[] = {"reduce_sum", "reduce_max", "reduce_min", "reduce_prod"};
    kn_atom a = rp_any(r, b, "f");
    kiln_type t = rp_of(b, a);
    int64_t axes[4] = {t.rank > 1 ? rp_below(r, 2) : 0};
    if (t.rank == 0) return;
    if (rp_below(r, 4) == 0) {
        rp_eqn(r, b, "cumsum", (kn_param[]){KN_INT(axes[0]), KN_BOOL(rp_below(r, 2))}, &a, 1);
        return;
    }
    kn_param p[] = {KN_INTS(1, axes), KN_NONE};
    rp_eqn(r, b, names[rp_below(r, 4)], p, &a, 1);
}
static void rp_iota(rp *r, rp_body *b)
{
    kiln_type t = rp_type(r, rp_below(r, 2) ? KILN_I32 : KILN_F64);
    if (t.rank) rp_eqn(r, b, "iota", (kn_param[]){KN_INT(rp_below(r, t.rank)), KN_DTYPE(t.dtype), KN_INTS(t.rank, t.dims), KN_NONE}, NULL, 0);
}
static void rp_again(rp *r, rp_body *b) /* an equation that stands there already */
{
    if (!b->b.eqns.n) return;
    kn_eqn e = b->b.eqns.v[rp_below(r, b->b.eqns.n)];
    if (e.nout != 1) return;
    rp_eqn(r, b, e.prim->name, e.params, e.in, e.nin);
}

/* ---- bodies ---- */

static void rp_fill_body(rp *r, rp_body *b, uint32_t n);

static const kn_jaxpr *rp_finish(rp *r, rp_body *b, const kn_atom *out, uint32_t n)
{
    const kn_jaxpr *j = NULL;
    if (r->status == KILN_OK) r->status = kn_build_finish(&b->b, out, n, &j);
    return j;
}
static kn_atom rp_input(rp *r, rp_body *b, kiln_type t)
{
    kn_atom a = 0;
    if (r->status == KILN_OK) r->status = kn_build_input(&b->b, t, &a);
    if (r->status == KILN_OK) rp_add(b, a);
    return a;
}

/* i < limit, and now and then a second condition. */
static const kn_jaxpr *rp_cond_body(rp *r, rp_body *outer, const kiln_type *t, uint32_t nconsts, uint32_t n)
{
    rp_body *b = calloc(1, sizeof *b);
    kn_build_init(&b->b, r->ctx, outer->b.prog);
    kn_atom first = 0;
    for (uint32_t i = 0; i < nconsts + n; i++) {
        kn_atom a = rp_input(r, b, t[i]);
        if (i == nconsts) first = a;
    }
    kn_atom limit = rp_literal(r, b, KILN_I32, (kn_scalar){.i = rp_below(r, 5)});
    kn_atom go = rp_eqn(r, b, "lt", NULL, (kn_atom[]){first, limit}, 2);
    if (rp_below(r, 3) == 0) {
        rp_fill_body(r, b, 3);
        go = rp_eqn(r, b, "and", NULL, (kn_atom[]){go, rp_some(r, b, KILN_SCALAR(KILN_BOOL))}, 2);
    }
    const kn_jaxpr *j = rp_finish(r, b, &go, 1);
    free(b);
    return j;
}
static const kn_jaxpr *rp_step_body(rp *r, rp_body *outer, const kiln_type *t, uint32_t nconsts, uint32_t n)
{
    rp_body *b = calloc(1, sizeof *b);
    kn_build_init(&b->b, r->ctx, outer->b.prog);
    kn_atom in[16], out[16];
    for (uint32_t i = 0; i < nconsts + n; i++) in[i] = rp_input(r, b, t[i]);
    rp_fill_body(r, b, 4 + rp_below(r, 10));
    kn_atom one = rp_literal(r, b, KILN_I32, (kn_scalar){.i = 1});
    out[0] = rp_eqn(r, b, "add", NULL, (kn_atom[]){in[nconsts], one}, 2);
    for (uint32_t i = 1; i < n; i++) {
        out[i] = rp_below(r, 4) ? rp_some(r, b, t[nconsts + i]) : in[nconsts + i];
        if (rp_below(r, 5) == 0 && kiln_type_equal(t[nconsts + i], KILN_SCALAR(KILN_I32)))
            out[i] = rp_eqn(r, b, "add", NULL, (kn_atom[]){in[nconsts + i], one}, 2);
    }
    const kn_jaxpr *j = rp_finish(r, b, out, n);
    free(b);
    return j;
}
static void rp_while(rp *r, rp_body *b)
{
    kiln_type t[16], ct[16];
    kn_atom in[16], out[8];
    uint32_t nc = rp_below(r, 3), nb = rp_below(r, 4), n = 1 + rp_below(r, 4), k = 0;
    for (uint32_t i = 0; i < nc + nb + n; i++) {
        t[i] = i == nc + nb || rp_below(r, 4) == 0 ? KILN_SCALAR(KILN_I32) : rp_type(r, rp_dtype(r));
        in[i] = rp_some(r, b, t[i]);
        if (i && i != nc && i < nc + nb && rp_below(r, 3) == 0) t[i] = t[i - 1], in[i] = in[i - 1]; /* a constant given twice */
    }
    kn_atom zero = rp_literal(r, b, KILN_I32, (kn_scalar){.i = 0});
    for (uint32_t i = 1; i < n; i++)
        if (kiln_type_equal(t[nc + nb + i], KILN_SCALAR(KILN_I32)) && rp_below(r, 2)) in[nc + nb + i] = zero;
    in[nc + nb] = zero;
    for (uint32_t i = 0; i < nc; i++) ct[k++] = t[i];
    for (uint32_t i = 0; i < n; i++) ct[k++] = t[nc + nb + i];
    r->depth++;
    const kn_jaxpr *cond = rp_cond_body(r, b, ct, nc, n), *body = rp_step_body(r, b, t + nc, nb, n);
    r->depth--;
    kn_param p[KN_WHILE_PARAMS] = {KN_JAXPR(body), KN_INT(nb), KN_JAXPR(cond), KN_INT(nc)};
    if (r->status == KILN_OK) r->status = kn_build_eqn(&b->b, rp_prim("while"), p, in, nc + nb + n, out, n);
    for (uint32_t i = 0; i < n && r->status == KILN_OK; i++) rp_add(b, out[i]);
}
static const kn_jaxpr *rp_branch(rp *r, rp_body *outer, const kiln_type *t, uint32_t nin, const kiln_type *to, uint32_t nout)
{
    rp_body *b = calloc(1, sizeof *b);
    kn_build_init(&b->b, r->ctx, outer->b.prog);
    kn_atom out[8];
    for (uint32_t i = 0; i < nin; i++) rp_input(r, b, t[i]);
    uint32_t seed = rp_below(r, 3);
    if (seed) rp_fill_body(r, b, rp_below(r, 8));
    for (uint32_t i = 0; i < nout; i++) out[i] = rp_some(r, b, to[i]);
    const kn_jaxpr *j = rp_finish(r, b, out, nout);
    free(b);
    return j;
}
static void rp_cond(rp *r, rp_body *b)
{
    kiln_type t[4], to[4];
    kn_atom in[5], out[4];
    uint32_t nin = rp_below(r, 4), nout = 1 + rp_below(r, 3), n = 1 + rp_below(r, 3);
    for (uint32_t i = 0; i < nin; i++) t[i] = rp_type(r, rp_dtype(r)), in[1 + i] = rp_some(r, b, t[i]);
    for (uint32_t i = 0; i < nout; i++) to[i] = nin && rp_below(r, 2) ? t[rp_below(r, nin)] : rp_type(r, rp_dtype(r));
    in[0] = rp_below(r, 3) ? rp_some(r, b, KILN_SCALAR(KILN_I32)) : rp_literal(r, b, KILN_I32, (kn_scalar){.i = (int64_t)rp_below(r, 4) - 1});
    kn_param branch[3];
    r->depth++;
    for (uint32_t i = 0; i < n; i++) branch[i] = i && rp_below(r, 4) == 0 ? branch[0] : KN_JAXPR(rp_branch(r, b, t, nin, to, nout));
    r->depth--;
    kn_param p[] = {KN_TUPLE(n, branch), KN_NONE, KN_NONE};
    if (r->status == KILN_OK) r->status = kn_build_eqn(&b->b, rp_prim("cond"), p, in, 1 + nin, out, nout);
    for (uint32_t i = 0; i < nout && r->status == KILN_OK; i++) rp_add(b, out[i]);
}

static void rp_fill_body(rp *r, rp_body *b, uint32_t n)
{
    for (uint32_t k = 0; k < n && r->status == KILN_OK; k++) {
        if (r->style && rp_below(r, 3)) {
            r->style->equation(r, b);
            continue;
        }
        uint32_t what = rp_below(r, 26);
        if (what < 5) rp_unary(r, b);
        else if (what < 13) rp_binary(r, b);
        else if (what < 15) rp_choice(r, b);
        else if (what < 16) rp_convert(r, b);
        else if (what < 20) rp_move(r, b);
        else if (what < 21) rp_sum(r, b);
        else if (what < 22) rp_iota(r, b);
        else if (what < 24) rp_again(r, b);
        else if (r->depth < 2 && what < 25) rp_while(r, b);
        else if (r->depth < 2) rp_cond(r, b);
    }
}

static kiln_status rp_random_input(rp *r, kiln_type t, kiln_array **out)
{
    KILN_TRY(kiln_array_create(r->ctx, t, out));
    for (int64_t k = 0; k < kiln_type_size(t); k++) kn_scalar_store(t.dtype, (*out)->data, k, rp_value(r, t.dtype));
    return KILN_OK;
}

/* A traced program of about `size` equations, and its inputs, which the caller releases. */
static kiln_status random_program_with(kiln_ctx *ctx, uint64_t seed, uint32_t size, const rp_style *style, kn_prog **out,
                                       kiln_array **in, uint32_t *nin)
{
    rp r = {.ctx = ctx, .state = seed * 0x2545f4914f6cdd1du + 1, .style = style};
    kn_prog *p;
    rp_body *b = calloc(1, sizeof *b);
    *nin = 0;
    if (!b) return KILN_NOMEM;
    r.status = kn_prog_new(ctx, NULL, &p);
    if (r.status == KILN_OK) {
        kn_build_init(&b->b, ctx, p);
        uint32_t n = 1 + rp_below(&r, RP_INPUTS - 1);
        for (uint32_t i = 0; i < n && r.status == KILN_OK; i++) {
            int64_t dims[8];
            kiln_type t = style ? style->input(&r, dims) : rp_type(&r, rp_dtype(&r));
            rp_input(&r, b, t);
            if (r.status == KILN_OK) r.status = rp_random_input(&r, t, &in[(*nin)++]);
        }
        for (uint32_t i = rp_below(&r, 3); i && r.status == KILN_OK; i--) { /* constants, now and then equal ones */
            kiln_array *a;
            kn_atom atom;
            uint64_t state = r.state;
            kiln_type t = rp_type(&r, rp_dtype(&r));
            r.status = rp_random_input(&r, t, &a);
            if (r.status == KILN_OK) r.status = kn_build_const(&b->b, a, &atom);
            if (r.status == KILN_OK) rp_add(b, atom), kiln_array_release(a);
            if (rp_below(&r, 3) == 0) r.state = state;
        }
        rp_fill_body(&r, b, size);
        kn_atom outs[RP_OUTPUTS];
        uint32_t m = 1 + rp_below(&r, 8);
        if (style) m = style->outputs(&r, b, outs);
        for (uint32_t i = 0; i < m && !style; i++) outs[i] = b->n ? b->pool[b->n - 1 - rp_below(&r, b->n < 20 ? b->n : 20)] : 0;
        if (r.status == KILN_OK) r.status = kn_build_finish(&b->b, outs, m, &p->main);
        if (r.status != KILN_OK) kiln_prog_release(p);
        *out = p;
    }
    free(b);
    return r.status;
}
static inline kiln_status random_program(kiln_ctx *ctx, uint64_t seed, uint32_t size, kn_prog **out, kiln_array **in, uint32_t *nin)
{
    return random_program_with(ctx, seed, size, NULL, out, in, nin);
}

#endif
