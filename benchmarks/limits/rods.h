/* SPDX-License-Identifier: Apache-2.0 */
/* What the two loops over coupled rods share: rods in vectors, and the criterion of the coupling iteration. */
#ifndef BENCH_LIMITS_RODS_H
#define BENCH_LIMITS_RODS_H

#include "limits.h"
#include "wide.h"

#include <float.h>
#include <math.h>

enum { PARTS = LIMIT_CELLS / W, DOUBLES = LIMIT_CELLS / (W / 2), LANES = DOUBLES / 2 };

typedef struct rod {
    vf v[PARTS];
} rod;

typedef struct pair {
    rod hot, cold;
} pair;

/* 32 sums of doubles: entry i belongs to sum i mod 32. */
typedef struct lanes {
    vd v[LANES];
} lanes;

WIDE_INLINE rod rod_load(const float *p)
{
    rod r;
    for (int k = 0; k < PARTS; k++) r.v[k] = vf_load(p + k * W);
    return r;
}

WIDE_INLINE void rod_store(float *p, const rod *r)
{
    for (int k = 0; k < PARTS; k++) vf_store(p + k * W, r->v[k]);
}

WIDE_INLINE float rod_first(const rod *r) { return r->v[0][0]; }
WIDE_INLINE float rod_last(const rod *r) { return r->v[PARTS - 1][W - 1]; }
WIDE_INLINE vd rod_part(const rod *r, int k) { return k % 2 ? vd_high(r->v[k / 2]) : vd_low(r->v[k / 2]); }

WIDE_INLINE double lanes_sum(const lanes *s)
{
    vd v[LANES];
    for (int k = 0; k < LANES; k++) v[k] = s->v[k];
    for (int w = LANES / 2; w >= 1; w /= 2)
        for (int k = 0; k < w; k++) v[k] = vd_add(v[k], v[k + w]);
    return vd_sum(v[0]);
}

/* The new temperatures from the old, the left ghost cell and the right one. */
WIDE_INLINE rod rod_conduct(const rod *t, vf c, float left_ghost, float right_ghost)
{
    rod y;
    for (int k = 0; k < PARTS; k++) {
        vf mid = t->v[k], left = vf_before(k > 0 ? t->v[k - 1] : vf_all(left_ghost), mid);
        vf right = vf_after(mid, k + 1 < PARTS ? t->v[k + 1] : vf_all(right_ghost));
        y.v[k] = vf_add(mid, vf_mul(c, vf_add(vf_sub(right, vf_mul(vf_all(2), mid)), left)));
    }
    return y;
}

/* Sum of (y - x)^2. */
WIDE_INLINE double rod_squares(const rod *y, const rod *x)
{
    lanes s;
    for (int k = 0; k < LANES; k++) {
        vd a = vd_sub(rod_part(y, k), rod_part(x, k)), b = vd_sub(rod_part(y, k + LANES), rod_part(x, k + LANES));
        s.v[k] = vd_add(vd_mul(a, a), vd_mul(b, b));
    }
    return lanes_sum(&s);
}

/* The norm of a pass from the sums of squares and the largest sizes (as bits) of both rods. */
WIDE_INLINE double rods_norm(double hot, double cold, int32_t hot_bits, int32_t cold_bits)
{
    union {
        int32_t bits[2];
        float v[2];
    } u = {{hot_bits, cold_bits}};
    double a = (double)u.v[0], b = (double)u.v[1], total = 0;
    bool active_a = a > 0, active_b = b > 0;
    double most = 1 / (double)FLT_MIN / 4;
    if (!(a <= most) || !(b <= most)) return (double)INFINITY; /* NaN and infinity too */
    hot = active_a ? hot / a / a : 0;
    cold = active_b ? cold / b / b : 0;
    total = hot + cold;
    return sqrt(total);
}

typedef struct rods_trip {
    int32_t b, iterations;
    double r, r1, r2, amplification, residual;
} rods_trip;

typedef struct rods_aitken {
    double omega;
    bool nonzero;
} rods_aitken;

/* After the pass before the loop: its residual stands for the two before the first. */
WIDE_INLINE void rods_first(rods_trip *t)
{
    t->b = 1;
    t->iterations = 1;
    t->r1 = t->r2 = t->residual = t->r;
    t->amplification = 0;
}

WIDE_INLINE double rods_estimate(double r, double amplification)
{
    return r * (amplification > 1 ? amplification : 1);
}

/* The criterion; true: the iterate that was measured is the answer. */
WIDE_INLINE bool rods_decide(rods_trip *t, double r, const limit_rods_params *p)
{
    double a = r / t->r1, b = sqrt(r / t->r2), rho = a > b ? a : b, amplification = 0;
    if (r < (double)INFINITY && t->r1 < (double)INFINITY && t->r2 < (double)INFINITY && t->r1 > 0 && t->r2 > 0 &&
        rho < 1)
        amplification = 1 / (1 - rho);
    bool met = t->r1 <= p->tolerance && rods_estimate(r, amplification) <= p->tolerance,
         at_cap = t->b >= p->max_iterations;
    t->iterations = at_cap ? p->max_iterations : t->b;
    t->residual = r;
    t->amplification = amplification;
    t->r2 = t->r1;
    t->r1 = r;
    t->b++;
    return met || at_cap;
}

/* Numbers that are no NaN: `along` and `length` are sums of products of finite floats, or the factor stays. */
WIDE_INLINE void rods_factor(rods_aitken *a, double along, double length)
{
    if (!(length > 0) || !(length < (double)INFINITY)) return;
    double omega = -a->omega * along / length;
    omega = omega > 0.01 ? omega : 0.01;
    a->omega = omega < 2 ? omega : 2;
}

WIDE_INLINE void rods_report(limit_rods *s, const rods_trip *t, const limit_rods_params *p)
{
    double estimate =
        t->residual < (double)INFINITY ? rods_estimate(t->residual, t->amplification) : (double)INFINITY;
    s->iterations = t->iterations;
    s->total_iterations += t->iterations;
    s->residual = t->residual;
    s->estimate = estimate;
    s->converged = estimate <= p->tolerance && t->residual < (double)INFINITY;
}

#endif
