/* SPDX-License-Identifier: Apache-2.0 */
/* Batch normalisation, written out as the specification defines it: every operation over the whole array, statistics per index of
 * the feature dimension over all the others. */
#include "hlo/import.h"

#include "prim/lowering.h"

typedef struct norm {
    kn_himport *h;
    const kn_mop *o;
    kiln_type whole;    /* the operand's */
    int64_t feature;    /* dimension */
    int64_t *others;    /* the other dimensions */
    double per_feature; /* elements */
    kn_low l;
} norm;

static kn_atom add(norm *n, kn_atom a, kn_atom b) { return kn_low2(&n->l, &kn_prim_add, a, b); }
static kn_atom sub(norm *n, kn_atom a, kn_atom b) { return kn_low2(&n->l, &kn_prim_sub, a, b); }
static kn_atom mul(norm *n, kn_atom a, kn_atom b) { return kn_low2(&n->l, &kn_prim_mul, a, b); }
static kn_atom quotient(norm *n, kn_atom a, kn_atom b) { return kn_low2(&n->l, &kn_prim_div, a, b); }

static kn_atom number(norm *n, kn_atom like, double v)
{
    return kn_low_widen(&n->l, kn_low_num(&n->l, n->whole.dtype, v), kn_htype(n->h, like));
}

/* One value a feature to the whole shape. */
static kn_atom spread(norm *n, kn_atom a)
{
    return kn_low_op(&n->l, &kn_prim_broadcast_in_dim, (kn_param[]){KN_INTS(1, &n->feature), KN_INTS(n->whole.rank, n->whole.dims), KN_NONE}, &a, 1);
}

static kn_atom sum(norm *n, kn_atom a)
{
    return kn_low_op(&n->l, &kn_prim_reduce_sum, (kn_param[]){KN_INTS(n->whole.rank - 1, n->others), KN_NONE}, &a, 1);
}

static kn_atom mean_of(norm *n, kn_atom a)
{
    kn_atom s = sum(n, a);
    return quotient(n, s, number(n, s, n->per_feature));
}

static kiln_status operands(norm *n, kn_atom *in, double *epsilon)
{
    kn_himport *h = n->h;
    const kn_mop *o = n->o;
    for (uint32_t i = 0; i < o->nin; i++) KILN_TRY(kn_hin(h, o, i, &in[i]));
    n->whole = kn_htype(h, in[0]);
    KILN_TRY(kn_hint(h, o, "feature_index", 0, &n->feature));
    if (n->feature < 0 || n->feature >= n->whole.rank)
        return kn_hbad(h, o, "feature_index is %lld, accepted: a dimension of %s", (long long)n->feature, kn_type_show(n->whole).s);
    const kn_mattr *a = kn_mop_attr(o, "epsilon");
    if (!a || (a->kind != KN_MA_FLOAT && a->kind != KN_MA_INT)) return kn_hbad(h, o, "the attribute epsilon is needed, a number");
    *epsilon = a->kind == KN_MA_FLOAT ? (double)(float)a->f : (double)a->i; /* f32, whatever the operand is */
    KILN_TRY_MEM(h->ctx, n->others = KN_NEWN(h->arena, int64_t, n->whole.rank));
    for (uint32_t d = 0, k = 0; d < n->whole.rank; d++)
        if (d != n->feature) n->others[k++] = d;
    int64_t features = n->whole.dims[n->feature];
    n->per_feature = features ? (double)(kiln_type_size(n->whole) / features) : 0;
    for (uint32_t i = 1; i < o->nin; i++) {
        kiln_type t = kn_htype(h, in[i]), want = KILN_VECTOR(n->whole.dtype, features);
        if (i == 4 && o->nout == 3) want = n->whole; /* grad_output */
        if (!kiln_type_equal(t, want)) return kn_hbad(h, o, "operand %u is %s, accepted: %s", i, kn_type_show(t).s, kn_type_show(want).s);
    }
    return KILN_OK;
}

static kn_atom normalised(norm *n, kn_atom x, kn_atom scale, kn_atom offset, kn_atom mean, kn_atom variance, double epsilon)
{
    kn_atom centred = sub(n, x, spread(n, mean)), spread_out = spread(n, variance);
    kn_atom deviation = kn_low1(&n->l, &kn_prim_sqrt, add(n, spread_out, number(n, x, epsilon)));
    return add(n, mul(n, spread(n, scale), quotient(n, centred, deviation)), spread(n, offset));
}

/* in: operand, scale, mean, variance, gradient of the output. */
static void gradient(norm *n, const kn_atom in[5], double epsilon, kn_atom out[3])
{
    kn_atom g = in[4], centred = sub(n, in[0], spread(n, in[2])), shifted = add(n, spread(n, in[3]), number(n, g, epsilon));
    kn_atom deviation = kn_low1(&n->l, &kn_prim_sqrt, shifted), count = number(n, g, n->per_feature);
    kn_atom total = sum(n, g), along = mul(n, spread(n, sum(n, mul(n, g, centred))), centred);
    kn_atom inner = sub(n, sub(n, mul(n, g, count), spread(n, total)), quotient(n, along, shifted));
    out[0] = mul(n, quotient(n, quotient(n, spread(n, in[1]), deviation), count), inner);
    out[1] = sum(n, mul(n, g, quotient(n, centred, deviation)));
    out[2] = total;
}

kiln_status kn_hbatch_norm(kn_himport *h, const kn_mop *o, const kn_himporter *row)
{
    static const uint32_t nin[] = {[KN_HNORM_INFERENCE] = 5, [KN_HNORM_TRAINING] = 3, [KN_HNORM_GRAD] = 5};
    static const uint32_t nout[] = {[KN_HNORM_INFERENCE] = 1, [KN_HNORM_TRAINING] = 3, [KN_HNORM_GRAD] = 3};
    norm n = {.h = h, .o = o, .l = {h->b, KILN_OK}};
    kn_atom in[5], out[3] = {0};
    double epsilon = 0;
    KILN_TRY(kn_hcount(h, o, nin[row->extra], nout[row->extra]));
    KILN_TRY(operands(&n, in, &epsilon));
    h->ctx->error.line = 0; /* so that a new error is told from an old one */
    if (row->extra == KN_HNORM_GRAD) {
        gradient(&n, in, epsilon, out);
    } else if (row->extra == KN_HNORM_INFERENCE) {
        out[0] = normalised(&n, in[0], in[1], in[2], in[3], in[4], epsilon);
    } else {
        out[1] = mean_of(&n, in[0]);
        kn_atom centred = sub(&n, in[0], spread(&n, out[1]));
        out[2] = mean_of(&n, mul(&n, centred, centred));
        out[0] = normalised(&n, in[0], in[1], in[2], out[1], out[2], epsilon);
    }
    KILN_TRY(kn_hplaced(h, o, n.l.status));
    for (uint32_t k = 0; k < o->nout; k++) KILN_TRY(kn_hset(h, o, k, out[k]));
    return KILN_OK;
}
