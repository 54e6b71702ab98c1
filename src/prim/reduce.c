/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over dimensions and running reductions along one. */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/complex_rules.h"
#include "prim/derive.h"
#include "prim/sample.h"
#include "rt/reduce.h"

#include <math.h>

static const kn_param_spec reduce_params[] = {{"axes", KN_P_INTS, 0}};
static const kn_param_spec reduce_sharded[] = {{"axes", KN_P_INTS, 0}, {"out_sharding", KN_P_NONE, KN_PARAM_OPTIONAL}};

static kiln_status type_reduce(kn_typing *t, const char *kinds)
{
    const int64_t *axes;
    int64_t *dims;
    uint32_t n, k = 0;
    kiln_type x = t->in[0];
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_kinds(t, 0, kinds));
    KILN_TRY(kn_typing_axes(t, 0, x.rank, false, &axes, &n));
    KILN_TRY(kn_typing_shape(t, 0, x.dtype, x.rank - n, &dims));
    for (uint32_t d = 0; d < x.rank; d++) {
        bool gone = false;
        for (uint32_t i = 0; i < n; i++) gone = gone || axes[i] == (int64_t)d;
        if (!gone) dims[k++] = x.dims[d];
    }
    return KILN_OK;
}
static kiln_status type_number(kn_typing *t) { return type_reduce(t, "iufc"); }
static kiln_status type_fractions(kn_typing *t) { return type_reduce(t, "fc"); }
static kiln_status type_ordered(kn_typing *t) { return type_reduce(t, "biufc"); }
static kiln_status type_bits(kn_typing *t) { return type_reduce(t, "biu"); }

kn_scalar kn_reduction_first(const kn_prim *p, kiln_dtype d)
{
    kn_sop op = (kn_sop)p->scalar_op;
    bool ordered = op == KN_S_max || op == KN_S_min;
    if (ordered && kiln_dtype_kind(d) == 'c') return (kn_scalar){.c = {op == KN_S_max ? -(double)INFINITY : (double)INFINITY, 0}};
    return p->flags & KN_FROM_NOTHING ? kn_reduce_identity(op, d) : kn_reduce_init(op, d);
}

static kiln_status eval_reduce(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)ev, (void)j;
    kiln_type x = in[0]->type;
    kn_sop op = (kn_sop)e->prim->scalar_op;
    kn_reduce(op, x, in[0]->data, kn_ints(&e->params[0]), e->params[0].n, kn_reduction_first(e->prim, kn_accumulator(x.dtype)), out[0]->data);
    return KILN_OK;
}

/* ---- derivatives ---- */

#define jvp_reduce_sum kn_jvp_linear
#define jvp_reduce_add kn_jvp_linear
#define jvp_reduce_and NULL
#define jvp_reduce_or NULL
#define jvp_reduce_xor NULL
#define transpose_reduce_prod NULL
#define transpose_reduce_max NULL
#define transpose_reduce_min NULL
#define transpose_reduce_and NULL
#define transpose_reduce_or NULL
#define transpose_reduce_xor NULL

static bool is_reduced(const kn_eqn *e, uint32_t d)
{
    for (uint32_t i = 0; i < e->params[0].n; i++)
        if (kn_ints(&e->params[0])[i] == (int64_t)d) return true;
    return false;
}

/* A result repeated along the dimensions that were reduced. */
static kn_atom repeat(kn_low *l, const kn_eqn *e, kn_atom a, kiln_type t)
{
    int64_t kept[KN_MAX_RANK];
    uint32_t n = 0;
    for (uint32_t d = 0; d < t.rank; d++)
        if (!is_reduced(e, d)) kept[n++] = d;
    return kn_low_op(l, &kn_prim_broadcast_in_dim, (kn_param[]){KN_INTS(n, kept), KN_INTS(t.rank, t.dims), KN_NONE}, &a, 1);
}
static kiln_status transpose_reduce_sum(KN_TRANSPOSE_ARGS)
{
    (void)r, (void)x;
    kn_low l = {b, KILN_OK};
    ct_in[0] = repeat(&l, e, ct[0], kn_in_type(j, e, 0));
    return l.status;
}

/* The mean of the tangents of all entries that are the extremum. */
static kiln_status jvp_extremum(KN_JVP_ARGS)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_in_type(j, e, 0);
    kn_atom here = kn_low_convert(&l, kn_low2(&l, &kn_prim_eq, x[0], repeat(&l, e, y[0], t)), t.dtype);
    kn_atom count = kn_derive_sum(&l, here, e->params[0].n, kn_ints(&e->params[0]));
    kn_atom sum = kn_derive_sum(&l, kn_low2(&l, &kn_prim_mul, dx[0], here), e->params[0].n, kn_ints(&e->params[0]));
    dy[0] = kn_low2(&l, &kn_prim_div, sum, count);
    return l.status;
}
#define transpose_reduce_add transpose_reduce_sum
#define jvp_reduce_max jvp_extremum
#define jvp_reduce_min jvp_extremum

/* The sum over the entries of the tangent times the product of all others, which is that of those before and those behind: right
 * where entries are zero. */
static kiln_status jvp_reduce_prod(KN_JVP_ARGS)
{
    (void)r, (void)y;
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_in_type(j, e, 0);
    int64_t order[KN_MAX_RANK], dims[KN_MAX_RANK + 1], n = 1;
    uint32_t k = 0;
    for (uint32_t d = 0; d < t.rank; d++)
        if (!is_reduced(e, d)) dims[k] = t.dims[d], order[k++] = d;
    uint32_t kept = k;
    for (uint32_t d = 0; d < t.rank; d++)
        if (is_reduced(e, d)) order[k++] = d, n *= t.dims[d];
    if (n == 0 || e->params[0].n == 0) { /* the product of nothing is 1; without dimensions it is the operand */
        dy[0] = e->params[0].n ? dy[0] : dx[0];
        return KILN_OK;
    }
    dims[kept] = n;
    kn_atom flat = kn_low_reshape(&l, kn_derive_turn(&l, x[0], order), kept + 1, dims);
    kn_atom g = kn_low_reshape(&l, kn_derive_turn(&l, dx[0], order), kept + 1, dims);
    kn_atom others[2];
    for (int back = 0; back < 2; back++) {
        kn_atom moved = kn_derive_before(&l, flat, kept, back, 1);
        others[back] = kn_low_op(&l, &kn_prim_cumprod, (kn_param[]){KN_INT(kept), KN_BOOL(back)}, &moved, 1);
    }
    kn_atom sum = kn_low2(&l, &kn_prim_mul, g, kn_low2(&l, &kn_prim_mul, others[0], others[1]));
    dy[0] = kn_derive_sum(&l, sum, 1, &(int64_t){kept});
    return l.status;
}

/* scalar_op is what combines two elements */
#define REDUCE(id, sop, marks, spec, rule, text)                                                                      \
    {                                                                                                                  \
        .name = #id, .nin = 1, .nout = 1, .flags = (marks), KN_PARAMS(spec), .scalar_op = KN_S_##sop, .loop = KN_LOOP_REDUCE,            \
        .type = (rule), .eval = eval_reduce, .lower_complex = kn_lower_complex_reduce,                                    \
        .jvp = jvp_##id, .transpose = transpose_##id,                                                                  \
        .batch = kn_batch_dimensions,                                                                                 \
        .sample = kn_sample_reduce,                                                                                   \
        .doc = (text)                                                                                                  \
    }
KILN_PRIM(reduce_add) = REDUCE(reduce_add, add, KN_FROM_NOTHING, reduce_params, type_fractions,
                               "Sum of floats over the listed dimensions that has no first value: -0 where there is nothing, or only -0.");
KILN_PRIM(reduce_sum) = REDUCE(reduce_sum, add, 0, reduce_sharded, type_number, "Sum over the listed dimensions; 0 where there is nothing.");
KILN_PRIM(reduce_prod) = REDUCE(reduce_prod, mul, 0, reduce_params, type_number, "Product over the listed dimensions; 1 where there is nothing.");
KILN_PRIM(reduce_max) = REDUCE(reduce_max, max, 0, reduce_sharded, type_ordered,
                               "Maximum over the listed dimensions, NaN if any is; the least value where there is nothing.");
KILN_PRIM(reduce_min) = REDUCE(reduce_min, min, 0, reduce_sharded, type_ordered,
                               "Minimum over the listed dimensions, NaN if any is; the greatest value where there is nothing.");
KILN_PRIM(reduce_and) = REDUCE(reduce_and, and, 0, reduce_params, type_bits, "Conjunction over the listed dimensions.");
KILN_PRIM(reduce_or) = REDUCE(reduce_or, or, 0, reduce_params, type_bits, "Disjunction over the listed dimensions.");
KILN_PRIM(reduce_xor) = REDUCE(reduce_xor, xor, 0, reduce_params, type_bits, "Exclusive or over the listed dimensions.");

/* ---- running reductions: y[0] = x[0], y[i] = y[i-1] op x[i], from the other end when reversed ---- */

enum { CUM_AXIS, CUM_REVERSE };
static const kn_param_spec cumulative_params[] = {{"axis", KN_P_INT, 0}, {"reverse", KN_P_BOOL, 0}};

static kiln_status type_cumulative(kn_typing *t, const char *kinds)
{
    int64_t axis;
    bool reverse;
    KILN_TRY(kn_typing_kinds(t, 0, kinds));
    KILN_TRY(kn_typing_axis(t, CUM_AXIS, t->in[0].rank, &axis));
    KILN_TRY(kn_typing_bool(t, CUM_REVERSE, &reverse));
    return kn_type_same_any(t);
}
static kiln_status type_cumulative_number(kn_typing *t) { return type_cumulative(t, "iufc"); }
static kiln_status type_cumulative_real(kn_typing *t) { return type_cumulative(t, "iuf"); }

static kiln_status eval_cumulative(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)ev, (void)j;
    kiln_type x = in[0]->type;
    uint32_t axis = (uint32_t)e->params[CUM_AXIS].i;
    int64_t n = x.dims[axis], minor = 1, major = 1;
    for (uint32_t d = 0; d < x.rank; d++) {
        if (d < axis) major *= x.dims[d];
        if (d > axis) minor *= x.dims[d];
    }
    kn_sop op = (kn_sop)e->prim->scalar_op;
    kiln_dtype acc = x.dtype; /* every step is a result, and rounds */
    bool neutral = op != KN_S_mul || kiln_dtype_kind(acc) != 'c'; /* nothing changes of a number that is combined with the identity */
    for (int64_t k = 0; k < major * minor; k++) {
        int64_t base = k / minor * n * minor + k % minor;
        kn_scalar sum = kn_reduce_identity(op, acc);
        for (int64_t i = 0; i < n; i++) {
            int64_t at = base + (e->params[CUM_REVERSE].b ? n - 1 - i : i) * minor;
            kn_scalar v = kn_scalar_load(x.dtype, in[0]->data, at);
            sum = i || neutral ? kn_sop_eval(op, acc, acc, sum, v, v) : v;
            kn_scalar_store(x.dtype, out[0]->data, at, sum);
        }
    }
    return KILN_OK;
}

/* ---- their derivatives: dy[i] = a[i] dy[i-1] + b[i] dx[i] ---- */

#define jvp_cumsum kn_jvp_linear
#define transpose_cumprod NULL
#define transpose_cummax NULL
#define transpose_cummin NULL

static kiln_status transpose_cumsum(KN_TRANSPOSE_ARGS)
{
    (void)r, (void)x, (void)j;
    kn_param params[2] = {e->params[CUM_AXIS], KN_BOOL(!e->params[CUM_REVERSE].b)};
    return kn_build_eqn(b, e->prim, params, ct, 1, ct_in, 1);
}

static kiln_status jvp_cumprod(KN_JVP_ARGS)
{
    (void)r, (void)j;
    kn_low l = {b, KILN_OK};
    bool reverse = e->params[CUM_REVERSE].b;
    uint32_t axis = (uint32_t)e->params[CUM_AXIS].i;
    kn_atom before = kn_derive_before(&l, y[0], axis, reverse, 1);
    dy[0] = kn_derive_recurrence(&l, x[0], kn_low2(&l, &kn_prim_mul, dx[0], before), axis, reverse);
    return l.status;
}

/* Where the running extremum meets its equal, each takes one half. */
static kiln_status jvp_running(KN_JVP_ARGS)
{
    (void)r, (void)j;
    kn_low l = {b, KILN_OK};
    bool reverse = e->params[CUM_REVERSE].b;
    uint32_t axis = (uint32_t)e->params[CUM_AXIS].i;
    kiln_dtype d = kn_in_type(j, e, 0).dtype;
    double none = e->prim->scalar_op == KN_S_max ? -(double)INFINITY : (double)INFINITY;
    kn_atom before = kn_derive_before(&l, y[0], axis, reverse, none), half = kn_low_num(&l, d, 0.5), one = kn_low_num(&l, d, 1), zero = kn_low_num(&l, d, 0);
    kn_atom old = kn_low2(&l, &kn_prim_eq, before, y[0]), new = kn_low2(&l, &kn_prim_eq, x[0], y[0]);
    kn_atom keep = kn_low_select(&l, old, kn_low_select(&l, new, half, one), zero);
    kn_atom take = kn_low_select(&l, new, kn_low_select(&l, old, half, one), zero);
    dy[0] = kn_derive_recurrence(&l, keep, kn_low2(&l, &kn_prim_mul, dx[0], take), axis, reverse);
    return l.status;
}
#define jvp_cummax jvp_running
#define jvp_cummin jvp_running

#define CUMULATIVE(id, sop, rule, text)                                                                               \
    {                                                                                                                  \
        .name = #id, .nin = 1, .nout = 1, KN_PARAMS(cumulative_params), .scalar_op = KN_S_##sop,                       \
        .loop = KN_LOOP_CUMULATE, .type = (rule), .eval = eval_cumulative,                                             \
        .lower_complex = kn_lower_complex_cumulative,                                                                 \
        .jvp = jvp_##id, .transpose = transpose_##id,                                                                  \
        .batch = kn_batch_dimensions,                                                                                 \
        .sample = kn_sample_cumulative,                                                                               \
        .doc = (text)                                                                                                  \
    }
KILN_PRIM(cumsum) = CUMULATIVE(cumsum, add, type_cumulative_number, "Running sum along `axis`, from its end when `reverse`.");
KILN_PRIM(cumprod) = CUMULATIVE(cumprod, mul, type_cumulative_number, "Running product along `axis`, from its end when `reverse`.");
KILN_PRIM(cummax) = CUMULATIVE(cummax, max, type_cumulative_real, "Running maximum along `axis`, from its end when `reverse`.");
KILN_PRIM(cummin) = CUMULATIVE(cummin, min, type_cumulative_real, "Running minimum along `axis`, from its end when `reverse`.");
