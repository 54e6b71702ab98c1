/* SPDX-License-Identifier: Apache-2.0 */
#include "prim/formula.h"

#include "prim/control.h"

enum { MOST = 16 }; /* operands of a formula's branch; constants and carries of a loop */

static kiln_dtype computed_in(kiln_dtype d) { return d == KILN_F16 || d == KILN_BF16 ? KILN_F32 : d; }

/* An operand in the result's shape. */
static kn_atom spread(formula *f, kn_atom a, kiln_type own)
{
    int64_t dims[KN_MAX_RANK];
    if (own.rank == f->shape.rank && kiln_type_equal(own, f->shape)) return a;
    for (uint32_t d = 0; d < own.rank; d++) dims[d] = d;
    kn_param params[] = {KN_INTS(own.rank, dims), KN_INTS(f->shape.rank, f->shape.dims), KN_NONE};
    return kn_low_op(&f->l, &kn_prim_broadcast_in_dim, params, &a, 1);
}

kiln_status kn_lower_formula(kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y, formula_fn fn)
{
    kiln_type t = kn_out_type(j, e, 0);
    formula f = {{b, KILN_OK}, computed_in(t.dtype), t};
    f.shape.dtype = f.d;
    kn_atom in[3];
    for (uint32_t i = 0; i < e->nin; i++) {
        in[i] = kn_low_convert(&f.l, x[i], f.d);
        kiln_type own = kn_in_type(j, e, i);
        own.dtype = f.d;
        in[i] = spread(&f, in[i], own);
    }
    kn_atom r = fn(&f, in);
    y[0] = kn_low_convert(&f.l, r, t.dtype);
    return f.l.status;
}

kn_atom kn_formula_whole(formula *f, kn_atom a) { return two(f, &kn_prim_eq, a, one(f, &kn_prim_floor, a)); }

kn_atom kn_formula_fraction(formula *f, kn_atom a)
{
    return sub(f, a, kn_low_op(&f->l, &kn_prim_round, &KN_INT(1), &a, 1));
}

kn_atom kn_formula_series(formula *f, kn_series s, kn_atom x)
{
    const double *c = wide(f) ? s.wide : s.narrow;
    uint32_t k = wide(f) ? s.n_wide : s.n_narrow;
    kn_atom r = num(f, c[--k]);
    while (k-- > 0) r = plus(f, mul(f, r, x), c[k]);
    return r;
}

kn_atom kn_formula_slope(formula *f, kn_series s, kn_atom x)
{
    const double *c = wide(f) ? s.wide : s.narrow;
    uint32_t k = wide(f) ? s.n_wide : s.n_narrow;
    if (k < 2) return num(f, 0);
    kn_atom r = num(f, (k - 1) * c[k - 1]);
    while (--k > 1) r = plus(f, mul(f, r, x), (k - 1) * c[k - 1]);
    return r;
}

/* ---- bodies ---- */

/* A formula whose equations go into a body of its own. */
static formula inner(const formula *f, kn_build *b)
{
    kn_build_init(b, f->l.b->ctx, f->l.b->prog);
    b->scope = f->l.b->scope;
    b->loc = f->l.b->loc;
    return (formula){{b, f->l.status}, f->d, f->shape};
}

static void inputs(formula *f, const formula *outer, const kn_atom *like, uint32_t n, kn_atom *in)
{
    for (uint32_t i = 0; i < n && f->l.status == KILN_OK; i++) f->l.status = kn_build_input(f->l.b, kn_build_type(outer->l.b, like[i]), &in[i]);
}

static const kn_jaxpr *finish(formula *f, const kn_atom *out, uint32_t n)
{
    const kn_jaxpr *j = NULL;
    if (f->l.status == KILN_OK) f->l.status = kn_build_finish(f->l.b, out, n, &j);
    return j;
}

kn_atom kn_formula_branch(formula *f, kn_atom which, const kn_atom *x, uint32_t n, formula_fn yes, formula_fn no)
{
    kn_param branches[2];
    for (int k = 0; k < 2 && f->l.status == KILN_OK; k++) {
        kn_build b;
        formula g = inner(f, &b);
        kn_atom in[MOST], r;
        inputs(&g, f, x, n, in);
        if (g.l.status == KILN_OK) r = (k ? yes : no)(&g, in);
        branches[k] = KN_JAXPR(finish(&g, &r, 1));
        f->l.status = g.l.status;
    }
    kn_atom in[MOST + 1] = {kn_low_convert(&f->l, which, KILN_I32)}, out = 0;
    for (uint32_t i = 0; i < n; i++) in[1 + i] = x[i];
    kn_param params[] = {KN_TUPLE(2, branches), KN_NONE};
    if (f->l.status == KILN_OK) f->l.status = kn_build_eqn(f->l.b, &kn_prim_cond, params, in, n + 1, &out, 1);
    return out;
}

kn_atom kn_formula_any(formula *f, kn_atom mask)
{
    static const int64_t axes[KN_MAX_RANK] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                              16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
    uint32_t rank = f->shape.rank;
    return rank ? kn_low_op(&f->l, &kn_prim_reduce_or, &KN_INTS(rank, axes), &mask, 1) : mask;
}

/* Carries of the loop: the trips left, which elements are active, then the formula's own. */
void kn_formula_iterate(formula *f, int most, kn_atom active, const kn_atom *consts, uint32_t nconsts, kn_atom *carry, uint32_t n, formula_step step)
{
    enum { TRIPS, ACTIVE, OWN };
    if (f->l.status != KILN_OK) return;
    kn_atom init[2 * MOST], in[2 * MOST], next[2 * MOST];
    for (uint32_t i = 0; i < nconsts; i++) init[i] = consts[i];
    kn_atom *first = init + nconsts;
    first[TRIPS] = kn_low_num(&f->l, KILN_I32, most);
    first[ACTIVE] = active;
    for (uint32_t i = 0; i < n; i++) first[OWN + i] = carry[i];
    kn_build cond_build, body_build;
    formula cond = inner(f, &cond_build);
    inputs(&cond, f, first, OWN + n, in);
    kn_atom more = both(&cond, kn_low2(&cond.l, &kn_prim_gt, in[TRIPS], kn_low_num(&cond.l, KILN_I32, 0)), kn_formula_any(&cond, in[ACTIVE]));
    kn_param params[KN_WHILE_PARAMS] = {KN_NONE, KN_INT(nconsts), KN_JAXPR(finish(&cond, &more, 1)), KN_INT(0), KN_INT(0)};
    f->l.status = cond.l.status;
    formula body = inner(f, &body_build);
    inputs(&body, f, init, nconsts + OWN + n, in);
    const kn_atom *at = in + nconsts;
    next[TRIPS] = kn_low2(&body.l, &kn_prim_sub, at[TRIPS], kn_low_num(&body.l, KILN_I32, 1));
    next[ACTIVE] = both(&body, at[ACTIVE], step(&body, in, at + OWN, next + OWN));
    for (uint32_t i = 0; i < n; i++) next[OWN + i] = pick(&body, at[ACTIVE], next[OWN + i], at[OWN + i]);
    params[0] = KN_JAXPR(finish(&body, next, OWN + n));
    f->l.status = body.l.status;
    kn_atom out[MOST];
    if (f->l.status == KILN_OK) f->l.status = kn_build_eqn(f->l.b, &kn_prim_while, params, init, nconsts + OWN + n, out, OWN + n);
    for (uint32_t i = 0; i < n && f->l.status == KILN_OK; i++) carry[i] = out[OWN + i];
}
