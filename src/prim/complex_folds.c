/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions and products of complex numbers. Sums are those of the parts. Products follow from the body of a product, in its
 * order. dot_general adds complex products, each rounded as a product of two numbers is, one after the other along k. */
#include "prim/common.h"
#include "prim/complex_rules.h"
#include "prim/dot.h"
#include "prim/window.h"

#include "prims.gen.h"

static kn_atom part(kn_low *l, kn_atom z, bool imaginary) { return kn_low1(l, imaginary ? &kn_prim_imag : &kn_prim_real, z); }

/* c, d -> c * d */
static kiln_status product_body(kn_build *outer, kiln_type t, const kn_jaxpr **out)
{
    kn_build b;
    kn_build_init(&b, outer->ctx, outer->prog);
    kn_atom in[2];
    for (int i = 0; i < 2; i++) KILN_TRY(kn_build_input(&b, t, &in[i]));
    kn_low l = {&b, KILN_OK};
    kn_atom y = kn_low2(&l, &kn_prim_mul, in[0], in[1]);
    KILN_TRY(l.status);
    return kn_build_finish(&b, &y, 1, out);
}

kiln_status kn_lower_complex_reduce(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_in_type(j, e, 0);
    if (e->prim->scalar_op == KN_S_add) {
        kn_param params[] = {e->params[0], KN_NONE};
        kn_atom sum[2];
        for (int i = 0; i < 2; i++) {
            kn_atom p = part(&l, x[0], i == 1);
            sum[i] = kn_low_op(&l, e->prim, params, &p, 1);
        }
        y[0] = kn_low2(&l, &kn_prim_complex, sum[0], sum[1]);
        return l.status;
    }
    if (e->prim->scalar_op != KN_S_mul)
        return kn_fail(b->ctx, KILN_UNSUPPORTED, "%s of complex numbers is not supported: %s", e->prim->name, kn_type_show(t).s);
    const kn_jaxpr *body;
    KILN_TRY(product_body(b, KILN_SCALAR(t.dtype), &body));
    kn_atom in[] = {x[0], kn_low_fill(&l, KILN_SCALAR(t.dtype), (kn_scalar){.c = {1, 0}})};
    y[0] = kn_low_op(&l, &kn_prim_reduce, (kn_param[]){KN_NONE, e->params[0], KN_JAXPR(body), KN_NONE}, in, 2);
    return l.status;
}

static kn_atom product(kn_low *l, kn_atom a, kn_atom b) { return kn_low2(l, &kn_prim_mul, a, b); }

kiln_status kn_lower_complex_cumulative(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    (void)j;
    if (e->prim->scalar_op == KN_S_mul) {
        y[0] = kn_low_running(&l, x[0], (uint32_t)e->params[0].i, e->params[1].b, product);
        return l.status;
    }
    kn_atom sum[2];
    for (int i = 0; i < 2; i++) {
        kn_atom p = part(&l, x[0], i == 1);
        sum[i] = kn_low_op(&l, e->prim, e->params, &p, 1);
    }
    y[0] = kn_low2(&l, &kn_prim_complex, sum[0], sum[1]);
    return l.status;
}

/* One operand with the dimensions batch, free, other side's free, k: those of the other side are repeated, k is flat. */
static kn_atom spread(kn_low *l, kn_atom x, const kn_dot_dims *dims, int side, const int64_t *shape, uint32_t rank, uint32_t free_left)
{
    kiln_type t = kn_build_type(l->b, x);
    int64_t order[KN_MAX_RANK], sizes[KN_MAX_RANK], at[KN_MAX_RANK], k = 1;
    uint32_t n = 0, kept;
    bool used[KN_MAX_RANK] = {false};
    for (uint32_t i = 0; i < dims->n_batch; i++) order[n++] = dims->batch[side][i], used[dims->batch[side][i]] = true;
    for (uint32_t i = 0; i < dims->n_contract; i++) used[dims->contract[side][i]] = true, k *= t.dims[dims->contract[side][i]];
    for (uint32_t d = 0; d < t.rank; d++)
        if (!used[d]) order[n++] = d;
    kept = n;
    for (uint32_t i = 0; i < dims->n_contract; i++) order[n++] = dims->contract[side][i];
    for (uint32_t i = 0; i < kept; i++) sizes[i] = t.dims[order[i]], at[i] = i < dims->n_batch || side == 0 ? i : i + free_left;
    sizes[kept] = k, at[kept] = rank - 1;
    x = kn_low_op(l, &kn_prim_transpose, &KN_INTS(t.rank, order), &x, 1);
    x = kn_low_reshape(l, x, kept + 1, sizes);
    return kn_low_op(l, &kn_prim_broadcast_in_dim, (kn_param[]){KN_INTS(kept + 1, at), KN_INTS(rank, shape), KN_NONE}, &x, 1);
}

static kiln_status add_step(kn_low *l, const kn_window_fold *f, kn_atom *acc, const kn_atom *slices)
{
    (void)f;
    acc[0] = kn_low2(l, &kn_prim_add, acc[0], slices[0]);
    return l->status;
}

kiln_status kn_lower_complex_dot(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kn_dot_dims dims = kn_dot_dims_of(e);
    kiln_type out = kn_out_type(j, e, 0);
    uint32_t rank = out.rank + 1, free_left = kn_in_type(j, e, 0).rank - dims.n_batch - dims.n_contract;
    if (rank > KN_MAX_RANK) return kn_fail(b->ctx, KILN_UNSUPPORTED, "dot_general: an array has too many dimensions");
    int64_t shape[KN_MAX_RANK], size[KN_MAX_RANK], ones[KN_MAX_RANK], k = 1;
    for (uint32_t i = 0; i < dims.n_contract; i++) k *= kn_in_type(j, e, 0).dims[dims.contract[0][i]];
    for (uint32_t d = 0; d < rank; d++) shape[d] = d < out.rank ? out.dims[d] : k, size[d] = d < out.rank ? 1 : k, ones[d] = 1;
    kn_atom in[2];
    for (int s = 0; s < 2; s++) in[s] = spread(&l, kn_low_convert(&l, x[s], out.dtype), &dims, s, shape, rank, free_left);
    kn_atom products = kn_low2(&l, &kn_prim_mul, in[0], in[1]);
    kn_window w = {.rank = rank, .size = size, .stride = ones};
    shape[rank - 1] = 1;
    kiln_type result = {out.dtype, rank, shape};
    y[0] = kn_low_fill(&l, result, (kn_scalar){.c = {0, 0}});
    kn_window_fold f = {.w = &w, .result = result, .n = 1, .nacc = 1, .padded = &products, .step = add_step};
    if (k > 0) KILN_TRY(kn_low_window_fold(&l, &f, y));
    y[0] = kn_low_reshape(&l, y[0], out.rank, out.dims);
    return l.status;
}
