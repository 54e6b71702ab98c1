/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over dimensions and running reductions along one. */
#include "prim/batch.h"
#include "prim/common.h"
#include "prim/complex_rules.h"
#include "prim/sample.h"
#include "rt/reduce.h"

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
static kiln_status type_ordered(kn_typing *t) { return type_reduce(t, "biuf"); }
static kiln_status type_bits(kn_typing *t) { return type_reduce(t, "biu"); }

static kiln_status eval_reduce(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)ev, (void)j;
    kiln_type x = in[0]->type;
    kn_sop op = (kn_sop)e->prim->scalar_op;
    kn_reduce(op, x, in[0]->data, kn_ints(&e->params[0]), e->params[0].n, kn_reduce_init(op, kn_accumulator(x.dtype)), out[0]->data);
    return KILN_OK;
}

/* scalar_op is what combines two elements */
#define REDUCE(id, sop, spec, rule, text)                                                                             \
    {                                                                                                                  \
        .name = #id, .nin = 1, .nout = 1, KN_PARAMS(spec), .scalar_op = KN_S_##sop, .loop = KN_LOOP_REDUCE,            \
        .type = (rule), .eval = eval_reduce, .lower_complex = kn_lower_complex_reduce,                                    \
        .batch = kn_batch_dimensions,                                                                                 \
        .sample = kn_sample_reduce,                                                                                   \
        .doc = (text)                                                                                                  \
    }
KILN_PRIM(reduce_sum) = REDUCE(reduce_sum, add, reduce_sharded, type_number, "Sum over the listed dimensions; 0 where there is nothing.");
KILN_PRIM(reduce_prod) = REDUCE(reduce_prod, mul, reduce_params, type_number, "Product over the listed dimensions; 1 where there is nothing.");
KILN_PRIM(reduce_max) = REDUCE(reduce_max, max, reduce_sharded, type_ordered,
                               "Maximum over the listed dimensions, NaN if any is; the least value where there is nothing.");
KILN_PRIM(reduce_min) = REDUCE(reduce_min, min, reduce_sharded, type_ordered,
                               "Minimum over the listed dimensions, NaN if any is; the greatest value where there is nothing.");
KILN_PRIM(reduce_and) = REDUCE(reduce_and, and, reduce_params, type_bits, "Conjunction over the listed dimensions.");
KILN_PRIM(reduce_or) = REDUCE(reduce_or, or, reduce_params, type_bits, "Disjunction over the listed dimensions.");
KILN_PRIM(reduce_xor) = REDUCE(reduce_xor, xor, reduce_params, type_bits, "Exclusive or over the listed dimensions.");

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
    kiln_dtype acc = x.dtype; /* every step is a result, and rounds */
    for (int64_t k = 0; k < major * minor; k++) {
        int64_t base = k / minor * n * minor + k % minor;
        kn_scalar sum = {.u = 0};
        for (int64_t i = 0; i < n; i++) {
            int64_t at = base + (e->params[CUM_REVERSE].b ? n - 1 - i : i) * minor;
            kn_scalar v = kn_scalar_load(x.dtype, in[0]->data, at);
            sum = i ? kn_sop_eval((kn_sop)e->prim->scalar_op, acc, acc, sum, v, v) : v;
            kn_scalar_store(x.dtype, out[0]->data, at, sum);
        }
    }
    return KILN_OK;
}

#define CUMULATIVE(id, sop, rule, text)                                                                               \
    {                                                                                                                  \
        .name = #id, .nin = 1, .nout = 1, KN_PARAMS(cumulative_params), .scalar_op = KN_S_##sop,                       \
        .loop = KN_LOOP_CUMULATE, .type = (rule), .eval = eval_cumulative,                                             \
        .lower_complex = kn_lower_complex_cumulative,                                                                 \
        .batch = kn_batch_dimensions,                                                                                 \
        .sample = kn_sample_cumulative,                                                                               \
        .doc = (text)                                                                                                  \
    }
KILN_PRIM(cumsum) = CUMULATIVE(cumsum, add, type_cumulative_number, "Running sum along `axis`, from its end when `reverse`.");
KILN_PRIM(cumprod) = CUMULATIVE(cumprod, mul, type_cumulative_number, "Running product along `axis`, from its end when `reverse`.");
KILN_PRIM(cummax) = CUMULATIVE(cummax, max, type_cumulative_real, "Running maximum along `axis`, from its end when `reverse`.");
KILN_PRIM(cummin) = CUMULATIVE(cummin, min, type_cumulative_real, "Running minimum along `axis`, from its end when `reverse`.");
