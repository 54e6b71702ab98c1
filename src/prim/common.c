/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of element and eval rules. */
#include "prim/common.h"

kn_lv kn_element_broadcast(kn_element *m, const kn_eqn *e, uint32_t operand, const kn_lv *ix)
{
    kiln_type x = kn_in_type(m->j, e, operand);
    kn_lv at[KN_MAX_RANK];
    for (uint32_t d = 0; d < x.rank; d++) at[d] = x.dims[d] == 1 ? m->integer(m, 0) : ix[d];
    return m->operand(m, e, operand, at);
}

kn_lv kn_element_sop(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix)
{
    kn_lv x[3] = {0};
    for (uint32_t i = 0; i < e->nin; i++) x[i] = kn_element_broadcast(m, e, i, ix);
    kiln_dtype to = kn_out_type(m->j, e, result).dtype;
    return m->op(m, (kn_sop)e->prim->scalar_op, kn_in_type(m->j, e, 0).dtype, to, x[0], x[1], x[2]);
}

kn_lv kn_element_identity(kn_element *m, const kn_eqn *e, uint32_t result, const kn_lv *ix)
{
    return m->operand(m, e, result, ix);
}

void kn_strides(kiln_type t, int64_t *stride)
{
    int64_t s = 1;
    for (uint32_t d = t.rank; d-- > 0;) stride[d] = s, s *= t.dims[d];
}

bool kn_next(kiln_type t, int64_t *ix)
{
    for (uint32_t d = t.rank; d-- > 0;) {
        if (++ix[d] < t.dims[d]) return true;
        ix[d] = 0;
    }
    return false;
}

/* Offset of an operand's element for index ix of the result it broadcasts to. */
static int64_t broadcast_offset(kiln_type x, const int64_t *ix)
{
    int64_t at = 0;
    for (uint32_t d = 0; d < x.rank; d++) at = at * x.dims[d] + (x.dims[d] == 1 ? 0 : ix[d]);
    return at;
}

enum { FEW = 8 };

kiln_status kn_eval_map(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array *out, kn_map_fn f)
{
    kn_scalar few[FEW], *x = few;
    if (e->nin > FEW) KILN_TRY_MEM(ev->ctx, x = kn_new(&ev->ctx->alloc, e->nin * sizeof *x));
    kiln_type type = out->type;
    int64_t ix[KN_MAX_RANK] = {0}, n = kiln_type_size(type);
    bool plain = true; /* every operand is a scalar or has the result's shape */
    for (uint32_t i = 0; i < e->nin; i++) plain = plain && (in[i]->type.rank == 0 || kiln_type_size(in[i]->type) == n);
    for (int64_t k = 0; k < n; k++) {
        for (uint32_t i = 0; i < e->nin; i++) {
            kiln_type t = in[i]->type;
            x[i] = kn_scalar_load(t.dtype, in[i]->data, t.rank == 0 ? 0 : plain ? k : broadcast_offset(t, ix));
        }
        kn_scalar_store(type.dtype, out->data, k, f(j, e, x));
        if (!plain) kn_next(type, ix);
    }
    if (x != few) kn_free(&ev->ctx->alloc, x, e->nin * sizeof *x);
    return KILN_OK;
}

static kn_scalar sop_map(const kn_jaxpr *j, const kn_eqn *e, const kn_scalar *x)
{
    kn_scalar none = {.u = 0};
    kiln_dtype d = kn_in_type(j, e, 0).dtype, to = kn_out_type(j, e, 0).dtype;
    return kn_sop_eval((kn_sop)e->prim->scalar_op, d, to, x[0], e->nin > 1 ? x[1] : none, e->nin > 2 ? x[2] : none);
}

kiln_status kn_eval_sop(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    return kn_eval_map(ev, j, e, in, out[0], sop_map);
}

kiln_status kn_eval_identity(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)ev, (void)j;
    for (uint32_t i = 0; i < e->nout; i++) kiln_array_release(out[i]), out[i] = kiln_array_retain(in[i]);
    return KILN_OK;
}

int64_t kn_index_value(const kiln_array *a)
{
    kn_scalar s = kn_scalar_load(a->type.dtype, a->data, 0);
    if (a->type.dtype == KILN_U64 && s.u > (uint64_t)INT64_MAX) return INT64_MAX;
    return s.i;
}
