/* SPDX-License-Identifier: Apache-2.0 */
/* Two rods of 64 cells iterated each step with Aitken's method: every pass evaluates both rods whole, as the graph says. The rods stand
 * in registers or in the first level of the cache; sums have the order of docs/numerics.md (32 lanes of doubles that combine by
 * halving), and sums of different things are interleaved so that their latencies hide each other. */
#include "limits.h"

#include "rods.h"

/* F: the hot rod sees the cold one of the iterate, the cold rod sees the hot one of this pass. */
WIDE_INLINE pair pass(const pair *t, const pair *x, vf c)
{
    pair y;
    y.hot = rod_conduct(&t->hot, c, rod_first(&t->hot), 2 * rod_first(&x->cold) - rod_last(&t->hot));
    y.cold = rod_conduct(&t->cold, c, 2 * rod_last(&y.hot) - rod_first(&t->cold), rod_last(&t->cold));
    return y;
}

WIDE_INLINE int32_t largest(const rod *y, const rod *x)
{
    vi m = vi_larger(vf_size(y->v[0]), vf_size(x->v[0]));
    for (int k = 1; k < PARTS; k++) m = vi_larger(m, vi_larger(vf_size(y->v[k]), vf_size(x->v[k])));
    return vi_largest(m);
}

WIDE_INLINE double residual(const pair *y, const pair *x)
{
    return rods_norm(rod_squares(&y->hot, &x->hot), rod_squares(&y->cold, &x->cold), largest(&y->hot, &x->hot),
                     largest(&y->cold, &x->cold));
}

WIDE_INLINE rod difference(const rod *y, const rod *x)
{
    rod r;
    for (int k = 0; k < PARTS; k++) r.v[k] = vf_sub(y->v[k], x->v[k]);
    return r;
}

/* r_was . d and d . d of one rod */
WIDE_INLINE void products(const rod *r_was, const rod *d, double *along, double *length)
{
    lanes a, l;
    for (int k = 0; k < LANES; k++) {
        vd d0 = rod_part(d, k), d1 = rod_part(d, k + LANES);
        a.v[k] = vd_add(vd_mul(rod_part(r_was, k), d0), vd_mul(rod_part(r_was, k + LANES), d1));
        l.v[k] = vd_add(vd_mul(d0, d0), vd_mul(d1, d1));
    }
    *along = lanes_sum(&a);
    *length = lanes_sum(&l);
}

WIDE_INLINE bool any_nonzero(const pair *r)
{
    bool any = false;
    for (int k = 0; k < PARTS; k++) any = any || vf_any_nonzero(r->hot.v[k]) || vf_any_nonzero(r->cold.v[k]);
    return any;
}

/* x + omega r in doubles, rounded once */
WIDE_INLINE vf advance(vf x, vd omega, vf r)
{
    vd low = vd_add(vd_low(x), vd_mul(omega, vd_low(r))), high = vd_add(vd_high(x), vd_mul(omega, vd_high(r)));
    return vd_pack(low, high);
}

/* The next iterate, the factor found from r and the r of the pass before */
WIDE_INLINE void accelerate(rods_aitken *a, pair *r_was, pair *x, const pair *y)
{
    pair r = {difference(&y->hot, &x->hot), difference(&y->cold, &x->cold)};
    if (a->nonzero) {
        double along[2], length[2];
        rod d_hot = difference(&r.hot, &r_was->hot), d_cold = difference(&r.cold, &r_was->cold);
        products(&r_was->hot, &d_hot, &along[0], &length[0]);
        products(&r_was->cold, &d_cold, &along[1], &length[1]);
        rods_factor(a, along[0] + along[1], length[0] + length[1]);
    }
    a->nonzero = any_nonzero(&r);
    vd omega = vd_all(a->omega);
    for (int k = 0; k < PARTS; k++) {
        x->hot.v[k] = advance(x->hot.v[k], omega, r.hot.v[k]);
        x->cold.v[k] = advance(x->cold.v[k], omega, r.cold.v[k]);
    }
    *r_was = r;
}

static pair step(const pair *t, vf c, const limit_rods_params *p, limit_rods *report)
{
    pair x = *t, y = pass(t, &x, c), r_was = {0};
    rods_aitken a = {.omega = 1};
    rods_trip trip = {.r = residual(&y, &x)};
    rods_first(&trip);
    x = y;
    while (p->max_iterations > 1) { /* else the one pass is the answer */
        y = pass(t, &x, c);
        if (rods_decide(&trip, residual(&y, &x), p)) break;
        accelerate(&a, &r_was, &x, &y);
    }
    rods_report(report, &trip, p);
    return x;
}

void limit_rods_run(limit_rods *s, const limit_rods_params *p, uint64_t steps)
{
    float dx = p->length / (float)LIMIT_CELLS;
    vf c = vf_all(p->alpha * p->dt / (dx * dx));
    pair t = {rod_load(s->hot), rod_load(s->cold)};
    for (uint64_t i = 0; i < steps; i++) t = step(&t, c, p, s);
    rod_store(s->hot, &t.hot);
    rod_store(s->cold, &t.cold);
}
