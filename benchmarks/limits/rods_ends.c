/* SPDX-License-Identifier: Apache-2.0 */
/* As rods.c, but after the first pass of a step only what changes: the hot rod's last cell and the cold rod's first. All other cells of
 * every pass equal those of the first one, so that they add zeros to sums and nothing new to the largest values. A pass is then a chain
 * of about thirty dependent scalar operations. */
#include "limits.h"

#include "rods.h"

typedef struct ends {
    float hot, cold; /* cells 63 and 0 of one kind of value */
} ends;

/* The rest of a step's start that passes need. */
typedef struct fixed {
    float c, hot[2], cold[2];    /* cells 62 and 63; cells 0 and 1 */
    int32_t hot_bits, cold_bits; /* largest sizes of all other cells after the first pass */
} fixed;

WIDE_INLINE int32_t largest(const rod *y)
{
    vi m = vf_size(y->v[0]);
    for (int k = 1; k < PARTS; k++) m = vi_larger(m, vf_size(y->v[k]));
    return vi_largest(m);
}

WIDE_INLINE int32_t bits_of(float x)
{
    union {
        float v;
        int32_t bits;
    } u = {x};
    return u.bits & 0x7fffffff;
}

WIDE_INLINE int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

WIDE_INLINE ends pass(const fixed *f, ends x)
{
    ends y;
    y.hot = f->hot[1] + f->c * (((2 * x.cold - f->hot[1]) - 2 * f->hot[1]) + f->hot[0]);
    y.cold = f->cold[0] + f->c * ((f->cold[1] - 2 * f->cold[0]) + (2 * y.hot - f->cold[0]));
    return y;
}

WIDE_INLINE double residual(const fixed *f, ends y, ends x)
{
    double hot = (double)y.hot - (double)x.hot, cold = (double)y.cold - (double)x.cold;
    return rods_norm(hot * hot, cold * cold, larger(f->hot_bits, larger(bits_of(y.hot), bits_of(x.hot))),
                     larger(f->cold_bits, larger(bits_of(y.cold), bits_of(x.cold))));
}

WIDE_INLINE void accelerate(rods_aitken *a, ends *r_was, ends *x, ends y)
{
    ends r = {y.hot - x->hot, y.cold - x->cold};
    if (a->nonzero) {
        double hot = (double)(r.hot - r_was->hot), cold = (double)(r.cold - r_was->cold);
        rods_factor(a, (double)r_was->hot * hot + (double)r_was->cold * cold, hot * hot + cold * cold);
    }
    a->nonzero = r.hot != 0 || r.cold != 0;
    x->hot = (float)((double)x->hot + a->omega * (double)r.hot);
    x->cold = (float)((double)x->cold + a->omega * (double)r.cold);
    *r_was = r;
}

/* The first pass, whole: the new pair, what it measured, and what the others need. */
WIDE_INLINE pair first_pass(const pair *t, float c, fixed *f, ends *x, double *r)
{
    pair y;
    vf wide = vf_all(c);
    y.hot = rod_conduct(&t->hot, wide, rod_first(&t->hot), 2 * rod_first(&t->cold) - rod_last(&t->hot));
    y.cold = rod_conduct(&t->cold, wide, 2 * rod_last(&y.hot) - rod_first(&t->cold), rod_last(&t->cold));
    *x = (ends){rod_last(&y.hot), rod_first(&y.cold)};
    pair rest = y;
    rest.hot.v[PARTS - 1][W - 1] = 0;
    rest.cold.v[0][0] = 0;
    *f = (fixed){c,
                 {t->hot.v[PARTS - 1][W - 2], rod_last(&t->hot)},
                 {rod_first(&t->cold), t->cold.v[0][1]},
                 largest(&rest.hot),
                 largest(&rest.cold)};
    *r = rods_norm(rod_squares(&y.hot, &t->hot), rod_squares(&y.cold, &t->cold),
                   larger(larger(f->hot_bits, bits_of(x->hot)), largest(&t->hot)),
                   larger(larger(f->cold_bits, bits_of(x->cold)), largest(&t->cold)));
    return y;
}

static pair step(const pair *t, float c, const limit_rods_params *p, limit_rods *report)
{
    fixed f;
    ends x, y, r_was = {0, 0};
    rods_aitken a = {.omega = 1};
    rods_trip trip;
    pair next = first_pass(t, c, &f, &x, &trip.r);
    rods_first(&trip);
    while (p->max_iterations > 1) {
        y = pass(&f, x);
        if (rods_decide(&trip, residual(&f, y, x), p)) break;
        accelerate(&a, &r_was, &x, y);
    }
    rods_report(report, &trip, p);
    next.hot.v[PARTS - 1][W - 1] = x.hot;
    next.cold.v[0][0] = x.cold;
    return next;
}

void limit_rods_run_ends(limit_rods *s, const limit_rods_params *p, uint64_t steps)
{
    float dx = p->length / (float)LIMIT_CELLS, c = p->alpha * p->dt / (dx * dx);
    pair t = {rod_load(s->hot), rod_load(s->cold)};
    for (uint64_t i = 0; i < steps; i++) t = step(&t, c, p, s);
    rod_store(s->hot, &t.hot);
    rod_store(s->cold, &t.cold);
}
