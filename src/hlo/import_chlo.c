/* SPDX-License-Identifier: Apache-2.0 */
/* What of chlo is no single primitive: operations whose operands broadcast, tests for infinities, constants of another's shape; and random
 * numbers without a key. */
#include "hlo/import.h"

#include <math.h>

#include "prim/common.h"
#include "prim/lowering.h"

/* ---- operands that broadcast ---- */

enum { MOST = 3 };

/* Operands of the operation, all in the shape that they have together: dimensions are aligned at the end, those of the operand of lower rank as
 * broadcast_dimensions says. */
static kiln_status together(kn_himport *h, const kn_mop *o, kn_atom *x)
{
    int64_t dims[KN_MAX_RANK], at[MOST][KN_MAX_RANK];
    const int64_t *given;
    uint32_t rank = 0, n;
    if (o->nin > MOST || o->nout != 1) return kn_hbad(h, o, "found %u operands and %u results", o->nin, o->nout);
    KILN_TRY(kn_hints(h, o, "broadcast_dimensions", &given, &n));
    for (uint32_t i = 0; i < o->nin; i++) {
        KILN_TRY(kn_hin(h, o, i, &x[i]));
        if (kn_htype(h, x[i]).rank > rank) rank = kn_htype(h, x[i]).rank;
    }
    for (uint32_t d = 0; d < rank; d++) dims[d] = 1;
    for (uint32_t i = 0; i < o->nin; i++) {
        kiln_type t = kn_htype(h, x[i]);
        bool told = given && t.rank < rank && n == t.rank;
        for (uint32_t d = 0; d < t.rank; d++) {
            int64_t to = at[i][d] = told ? given[d] : (int64_t)(d + rank - t.rank);
            if (to < 0 || to >= rank || (d && to <= at[i][d - 1])) return kn_hbad(h, o, "broadcast_dimensions does not rise within %u dimensions", rank);
            if (t.dims[d] != 1 && dims[to] != 1 && dims[to] != t.dims[d]) return kn_hbad(h, o, "operand %u, %s, does not broadcast with the others", i, kn_type_show(t).s);
            if (t.dims[d] != 1) dims[to] = t.dims[d];
        }
    }
    for (uint32_t i = 0; i < o->nin; i++) {
        kiln_type t = kn_htype(h, x[i]), shape = {t.dtype, rank, dims};
        if (kiln_type_equal(t, shape)) continue;
        kn_param params[] = {KN_INTS(t.rank, at[i]), KN_INTS(rank, dims), KN_NONE};
        KILN_TRY(kn_heqn1(h, o, &kn_prim_broadcast_in_dim, params, &x[i], 1, &x[i]));
    }
    return KILN_OK;
}

static kiln_status broadcasting(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom x[MOST], y;
    const kn_prim *p = row->prim;
    if (o->nin != 2) return kn_hbad(h, o, "2 operands are needed, found %u", o->nin);
    KILN_TRY(together(h, o, x));
    char kind = kiln_dtype_kind(kn_htype(h, x[0]).dtype);
    if (kind == 'b' && p == &kn_prim_add) p = &kn_prim_or;
    if (kind == 'b' && p == &kn_prim_mul) p = &kn_prim_and;
    if ((kind == 'i' || kind == 'u') && p == &kn_prim_pow) p = &kn_prim_int_pow;
    KILN_TRY(kn_hbinary(h, o, p, x[0], x[1], &y));
    return kn_hset(h, o, 0, y);
}

static kiln_status broadcasting_compare(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    static const struct {
        const char *name;
        const kn_prim *prim;
    } directions[] = {{"EQ", &kn_prim_eq}, {"GE", &kn_prim_ge}, {"GT", &kn_prim_gt}, {"LE", &kn_prim_le}, {"LT", &kn_prim_lt}, {"NE", &kn_prim_ne}};
    kn_atom x[MOST], y;
    kn_span direction, type;
    (void)row;
    if (o->nin != 2) return kn_hbad(h, o, "2 operands are needed, found %u", o->nin);
    KILN_TRY(together(h, o, x));
    KILN_TRY(kn_henum(h, o, "comparison_direction", &direction));
    KILN_TRY(kn_henum(h, o, "compare_type", &type));
    if (kn_span_is(type, "TOTALORDER")) return kn_hrefuse(h, o, "stablehlo.compare of operands of one shape", "a comparison in the total order that broadcasts");
    for (size_t i = 0; i < sizeof directions / sizeof *directions; i++) {
        if (!kn_span_is(direction, directions[i].name)) continue;
        KILN_TRY(kn_hbinary(h, o, directions[i].prim, x[0], x[1], &y));
        return kn_hset(h, o, 0, y);
    }
    return kn_hbad(h, o, "the direction '%.*s' is none of EQ, NE, GE, GT, LE, LT", KN_SPAN_ARG(direction));
}

static kiln_status broadcasting_select(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom x[MOST], y;
    (void)row;
    if (o->nin != 3) return kn_hbad(h, o, "3 operands are needed, found %u", o->nin);
    KILN_TRY(together(h, o, x));
    if (kn_htype(h, x[0]).dtype != KILN_BOOL) return kn_hbad(h, o, "the first operand must be of i1");
    KILN_TRY(kn_heqn1(h, o, &kn_prim_select_n, NULL, (kn_atom[]){x[0], x[2], x[1]}, 3, &y));
    return kn_hset(h, o, 0, y);
}

/* ---- one operand ---- */

static kiln_status conjugate(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom x, y;
    KILN_TRY(kn_hcount(h, o, 1, 1));
    KILN_TRY(kn_hin(h, o, 0, &x));
    if (kiln_dtype_kind(kn_htype(h, x).dtype) != 'c') return kn_hset(h, o, 0, x);
    KILN_TRY(kn_hunary(h, o, row->prim, x, &y));
    return kn_hset(h, o, 0, y);
}

/* extra: 1 +inf, -1 -inf, 0 either */
static kiln_status infinite(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom x, y;
    KILN_TRY(kn_hcount(h, o, 1, 1));
    KILN_TRY(kn_hin(h, o, 0, &x));
    kiln_type t = kn_htype(h, x);
    if (kiln_dtype_kind(t.dtype) != 'f') return kn_hbad(h, o, "%s has no infinities; floats are needed", kn_type_show(t).s);
    if (row->extra == 0) KILN_TRY(kn_hunary(h, o, &kn_prim_abs, x, &x));
    kn_low l = {h->b, KILN_OK};
    kn_atom infinity = kn_low_fill(&l, t, (kn_scalar){.f = row->extra < 0 ? -(double)INFINITY : (double)INFINITY});
    KILN_TRY(l.status);
    KILN_TRY(kn_hbinary(h, o, &kn_prim_eq, x, infinity, &y));
    return kn_hset(h, o, 0, y);
}

static kiln_status constant_like(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    const kn_mattr *a = kn_mop_attr(o, "value");
    kn_atom x, y;
    kiln_type t;
    kn_scalar v = {.c = {0, 0}};
    (void)row;
    KILN_TRY(kn_hcount(h, o, 1, 1));
    KILN_TRY(kn_hin(h, o, 0, &x));
    KILN_TRY(kn_hresult(h, o, 0, &t));
    char kind = kiln_dtype_kind(t.dtype);
    double number = a && a->kind == KN_MA_FLOAT ? a->f : a && a->kind == KN_MA_INT ? (double)a->i : 0;
    if (!a || (a->kind != KN_MA_FLOAT && a->kind != KN_MA_INT && a->kind != KN_MA_BOOL)) return kn_hbad(h, o, "value must be a number");
    if (kind == 'b') v.b = a->kind == KN_MA_BOOL ? a->b : number != 0;
    else if (kind == 'i' || kind == 'u') v.i = a->kind == KN_MA_INT ? a->i : (int64_t)number;
    else v.c[0] = number;
    kn_low l = {h->b, KILN_OK};
    y = kn_low_fill(&l, (kiln_type){t.dtype, kn_htype(h, x).rank, kn_htype(h, x).dims}, v);
    KILN_TRY(l.status);
    return kn_hset(h, o, 0, y);
}

/* ---- random numbers without a key ---- */

static kiln_status uniform(kn_himport *h, const kn_mop *o, kiln_type t, kn_atom lo, kn_atom hi, kn_atom *y)
{
    return kn_heqn1(h, o, &kn_prim_rng_uniform, (kn_param[]){KN_NONE, KN_INTS(t.rank, t.dims)}, (kn_atom[]){lo, hi}, 2, y);
}

/* Mean a and deviation b, by the inverse of the distribution. */
static kiln_status normal(kn_himport *h, const kn_mop *o, kiln_type t, kn_atom a, kn_atom b, kn_atom *y)
{
    uint64_t below = 0; /* the number next to -1: one unit less in the last place */
    kn_scalar_store(t.dtype, &below, 0, (kn_scalar){.f = -1});
    below--;
    kn_atom lo, hi, unit;
    KILN_TRY(kn_build_literal(h->b, t.dtype, kn_scalar_load(t.dtype, &below, 0), &lo));
    KILN_TRY(kn_build_literal(h->b, t.dtype, (kn_scalar){.f = 1}, &hi));
    KILN_TRY(uniform(h, o, t, lo, hi, &unit));
    kn_low l = {h->b, KILN_OK};
    *y = kn_low2(&l, &kn_prim_mul, kn_low_op(&l, &kn_prim_erf_inv, NULL, &unit, 1), kn_low_fill(&l, t, (kn_scalar){.f = 1.4142135623730951}));
    *y = kn_low2(&l, &kn_prim_add, kn_low2(&l, &kn_prim_mul, *y, kn_low_widen(&l, b, t)), kn_low_widen(&l, a, t));
    return l.status;
}

static kiln_status rng(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    kn_atom a, b, shape, y;
    kn_span word;
    kiln_type t;
    bool of_result = kn_mop_attr(o, "shape_of_result"); /* HLO has no third operand, the shape */
    (void)row;
    KILN_TRY(kn_hcount(h, o, of_result ? 2 : 3, 1));
    KILN_TRY(kn_hin(h, o, 0, &a));
    KILN_TRY(kn_hin(h, o, 1, &b));
    KILN_TRY(kn_hresult(h, o, 0, &t));
    KILN_TRY(kn_henum(h, o, "rng_distribution", &word));
    bool is_normal = kn_span_is(word, "NORMAL");
    if (!is_normal && !kn_span_is(word, "UNIFORM")) return kn_hbad(h, o, "the distribution '%.*s' is none of UNIFORM, NORMAL", KN_SPAN_ARG(word));
    if (kn_htype(h, a).rank || kn_htype(h, b).rank || kn_htype(h, a).dtype != t.dtype || kn_htype(h, b).dtype != t.dtype ||
        !strchr(is_normal ? "f" : "biuf", kiln_dtype_kind(t.dtype)))
        return kn_hbad(h, o, "two scalars of the result's element type are needed, %s%s and %s given", is_normal ? "floats, " : "", kn_type_show(kn_htype(h, a)).s,
                       kn_type_show(kn_htype(h, b)).s);
    if (is_normal) {
        KILN_TRY(normal(h, o, t, a, b, &y));
        return kn_hset(h, o, 0, y);
    }
    KILN_TRY(uniform(h, o, t, a, b, &y));
    if (!of_result) {
        KILN_TRY(kn_hin(h, o, 2, &shape));
        KILN_TRY(kn_hwrote_first(h, shape));
    }
    return kn_hset(h, o, 0, y);
}

#define B(text, id) {text, broadcasting, &kn_prim_##id, 0}
const kn_himporter kn_himport_chlo[] = {
    B("chlo.broadcast_add", add),
    B("chlo.broadcast_and", and),
    B("chlo.broadcast_atan2", atan2),
    {"chlo.broadcast_compare", broadcasting_compare, NULL, 0},
    B("chlo.broadcast_complex", complex),
    B("chlo.broadcast_divide", div),
    B("chlo.broadcast_maximum", max),
    B("chlo.broadcast_minimum", min),
    B("chlo.broadcast_multiply", mul),
    B("chlo.broadcast_next_after", nextafter),
    B("chlo.broadcast_or", or),
    B("chlo.broadcast_polygamma", polygamma),
    B("chlo.broadcast_power", pow),
    B("chlo.broadcast_remainder", rem),
    {"chlo.broadcast_select", broadcasting_select, NULL, 0},
    B("chlo.broadcast_shift_left", shift_left),
    B("chlo.broadcast_shift_right_arithmetic", shift_right_arithmetic),
    B("chlo.broadcast_shift_right_logical", shift_right_logical),
    B("chlo.broadcast_subtract", sub),
    B("chlo.broadcast_xor", xor),
    B("chlo.broadcast_zeta", zeta),
    {"chlo.conj", conjugate, &kn_prim_conj, 0},
    {"chlo.constant_like", constant_like, NULL, 0},
    {"chlo.is_inf", infinite, NULL, 0},
    {"chlo.is_neg_inf", infinite, NULL, -1},
    {"chlo.is_pos_inf", infinite, NULL, 1},
    {"stablehlo.rng", rng, NULL, 0},
};
const uint32_t kn_himport_n_chlo = sizeof kn_himport_chlo / sizeof *kn_himport_chlo;
