/* SPDX-License-Identifier: Apache-2.0 */
/* dot_general: dimension_numbers is ((contracting left, contracting right), (batch left, batch right)); the result has the
 * batch dimensions, then the free ones of the left, then those of the right. */
#include "prim/batch.h"
#include "prim/dot.h"
#include "prim/common.h"
#include "prim/complex_rules.h"
#include "prim/derive.h"
#include "prim/sample.h"

enum { DOT_DIMENSIONS, DOT_OUT_SHARDING, DOT_PRECISION, DOT_PREFERRED };
static const kn_param_spec dot_params[] = {
    {"dimension_numbers", KN_P_TUPLE, 0},
    {"out_sharding", KN_P_NONE, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE},
    {"precision", KN_P_NONE, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE},
    {"preferred_element_type", KN_P_DTYPE, KN_PARAM_OPTIONAL | KN_PARAM_HIDE_NONE},
};

static kn_dot_dims read_dims(const kn_param *p)
{
    kn_dot_dims d = {.n_contract = p->items[0].items[0].n, .n_batch = p->items[1].items[0].n};
    for (int side = 0; side < 2; side++) {
        d.contract[side] = kn_ints(&p->items[0].items[side]);
        d.batch[side] = kn_ints(&p->items[1].items[side]);
    }
    return d;
}
kn_dot_dims kn_dot_dims_of(const kn_eqn *e) { return read_dims(&e->params[DOT_DIMENSIONS]); }

static bool is_list(const kn_param *p) { return p->kind == KN_P_INTS || (p->kind == KN_P_TUPLE && p->n == 0); }

static kiln_status check_dims(const kn_typing *t)
{
    const kn_param *p = &t->params[DOT_DIMENSIONS];
    bool good = p->kind == KN_P_TUPLE && p->n == 2;
    for (uint32_t i = 0; good && i < 2; i++) {
        const kn_param *pair = &p->items[i];
        good = pair->kind == KN_P_TUPLE && pair->n == 2 && is_list(&pair->items[0]) && is_list(&pair->items[1]) &&
               pair->items[0].n == pair->items[1].n;
    }
    if (!good)
        return kn_fail(t->ctx, KILN_INVALID,
                       "dot_general: dimension_numbers must be ((contracting, contracting), (batch, batch)), lists of equal length");
    kn_dot_dims d = read_dims(p);
    for (uint32_t side = 0; side < 2; side++) {
        uint32_t seen = 0, rank = t->in[side].rank, n = d.n_contract + d.n_batch;
        for (uint32_t i = 0; i < n; i++) {
            int64_t axis = i < d.n_contract ? d.contract[side][i] : d.batch[side][i - d.n_contract];
            if (axis < 0 || axis >= (int64_t)rank || rank > KN_MAX_RANK || (seen >> axis & 1))
                return kn_fail(t->ctx, KILN_SHAPE, "dot_general: dimension %lld is named twice or does not exist in %s", (long long)axis,
                               kn_type_show(t->in[side]).s);
            seen |= 1u << axis;
        }
    }
    for (uint32_t i = 0; i < d.n_contract + d.n_batch; i++) {
        bool contract = i < d.n_contract;
        uint32_t k = contract ? i : i - d.n_contract;
        int64_t a = t->in[0].dims[contract ? d.contract[0][k] : d.batch[0][k]];
        int64_t b = t->in[1].dims[contract ? d.contract[1][k] : d.batch[1][k]];
        if (a != b)
            return kn_fail(t->ctx, KILN_SHAPE, "dot_general: %s sizes %lld and %lld differ, in %s and %s",
                           contract ? "contracted" : "batch", (long long)a, (long long)b, kn_type_show(t->in[0]).s,
                           kn_type_show(t->in[1]).s);
    }
    return KILN_OK;
}

static kiln_status type_dot(kn_typing *t)
{
    KILN_TRY(kn_typing_out(t, 1));
    KILN_TRY(kn_typing_kinds(t, 0, "biufc"));
    KILN_TRY(kn_typing_same_dtype(t, 0, 1));
    KILN_TRY(check_dims(t));
    kiln_dtype result = t->in[0].dtype;
    if (!kn_is_none(&t->params[DOT_PREFERRED])) KILN_TRY(kn_typing_dtype(t, DOT_PREFERRED, &result));
    if (!kn_product_kinds(kiln_dtype_kind(t->in[0].dtype), kiln_dtype_kind(result)))
        return kn_fail(t->ctx, KILN_DTYPE, "dot_general: preferred_element_type %s does not fit %s", kiln_dtype_name(result),
                       kn_type_show(t->in[0]).s);
    kn_dot_dims d = read_dims(&t->params[DOT_DIMENSIONS]);
    uint32_t used = d.n_batch + d.n_contract, k = 0;
    int64_t *dims;
    KILN_TRY(kn_typing_shape(t, 0, result, d.n_batch + (t->in[0].rank - used) + (t->in[1].rank - used), &dims));
    for (uint32_t i = 0; i < d.n_batch; i++) dims[k++] = t->in[0].dims[d.batch[0][i]];
    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t x = 0; x < t->in[side].rank; x++) {
            bool taken = false;
            for (uint32_t i = 0; i < d.n_batch; i++) taken = taken || d.batch[side][i] == (int64_t)x;
            for (uint32_t i = 0; i < d.n_contract; i++) taken = taken || d.contract[side][i] == (int64_t)x;
            if (!taken) dims[k++] = t->in[side].dims[x];
        }
    return KILN_OK;
}

bool kn_product_kinds(char operands, char result)
{
    return operands == result || (strchr("biu", operands) && strchr("iuf", result));
}

kiln_status kn_lower_mixed_product(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    enum { MOST = 16 };
    kn_param params[MOST];
    kn_atom in[2];
    kn_low l = {b, KILN_OK};
    kiln_dtype result = kn_out_type(j, e, 0).dtype, sums = result == KILN_BOOL ? KILN_I32 : result == KILN_F16 || result == KILN_BF16 ? KILN_F32 : result;
    (void)r;
    for (uint32_t i = 0; i < e->prim->nparams && i < MOST; i++)
        params[i] = strcmp(e->prim->params[i].name, "preferred_element_type") == 0 ? KN_DTYPE(sums) : e->params[i];
    for (int s = 0; s < 2; s++) in[s] = kn_low_convert(&l, x[s], sums);
    y[0] = kn_low_op(&l, e->prim, params, in, 2);
    y[0] = kn_low_convert(&l, y[0], result); /* to bool: not 0 */
    return l.status;
}

static kiln_status eval_dot(kn_eval *ev, const kn_jaxpr *j, const kn_eqn *e, kiln_array *const *in, kiln_array **out)
{
    (void)ev, (void)j;
    kn_dot_dims d = kn_dot_dims_of(e);
    kn_dot(in[0]->type, in[0]->data, in[1]->type, in[1]->data, &d, out[0]->type, out[0]->data);
    return KILN_OK;
}

/* The dimensions of one side that are neither batch nor contracted, in order. */
static uint32_t free_dims(const kn_dot_dims *d, uint32_t side, uint32_t rank, int64_t *out)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < rank; k++) {
        bool taken = false;
        for (uint32_t i = 0; i < d->n_batch; i++) taken = taken || d->batch[side][i] == (int64_t)k;
        for (uint32_t i = 0; i < d->n_contract; i++) taken = taken || d->contract[side][i] == (int64_t)k;
        if (!taken) out[n++] = k;
    }
    return n;
}

/* The cotangent times the other operand, contracted over that one's free dimensions: batch, own free, contracted dimensions, the
 * last ones in the order in which they stand in the other operand; then turned into the operand's own order. */
static kiln_status transpose_dot(KN_TRANSPOSE_ARGS)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kn_dot_dims d = kn_dot_dims_of(e);
    uint32_t side = x[0] == KN_LINEAR ? 0 : 1, other = 1 - side;
    if (x[other] == KN_LINEAR) return kn_not_linear(b, e, "both its operands together");
    kiln_type t = kn_in_type(j, e, side), o = kn_in_type(j, e, other);
    int64_t own[KN_MAX_RANK], rest[KN_MAX_RANK], of_ct[KN_MAX_RANK], batch_ct[KN_MAX_RANK], back[KN_MAX_RANK], at[KN_MAX_RANK];
    uint32_t n_own = free_dims(&d, side, t.rank, own), n_rest = free_dims(&d, other, o.rank, rest), n = 0;
    for (uint32_t i = 0; i < d.n_batch; i++) batch_ct[i] = i;
    for (uint32_t i = 0; i < n_rest; i++) of_ct[i] = (int64_t)(d.n_batch + (side ? 0 : n_own) + i);
    kn_param contract[2] = {KN_INTS(n_rest, of_ct), KN_INTS(n_rest, rest)}, batch[2] = {KN_INTS(d.n_batch, batch_ct), KN_INTS(d.n_batch, d.batch[other])};
    kn_param pair[2] = {KN_TUPLE(2, contract), KN_TUPLE(2, batch)};
    kn_param params[4] = {KN_TUPLE(2, pair), KN_NONE, e->params[DOT_PRECISION], e->params[DOT_PREFERRED].kind == KN_P_NONE ? KN_NONE : KN_DTYPE(t.dtype)};
    kn_atom with = kn_low_convert(&l, x[other], kn_out_type(j, e, 0).dtype);
    kn_atom made = kn_low_op(&l, e->prim, params, (kn_atom[]){ct[0], with}, 2);
    for (uint32_t i = 0; i < d.n_batch; i++) at[n++] = d.batch[side][i];
    for (uint32_t i = 0; i < n_own; i++) at[n++] = own[i];
    for (uint32_t k = 0; k < o.rank; k++) /* contracted dimensions as they stand in the other operand */
        for (uint32_t i = 0; i < d.n_contract; i++)
            if (d.contract[other][i] == (int64_t)k) at[n++] = d.contract[side][i];
    for (uint32_t k = 0; k < n; k++) back[at[k]] = k;
    ct_in[side] = kn_low_convert(&l, kn_derive_turn(&l, made, back), t.dtype);
    return l.status;
}

/* ---- lanes ---- */

/* The dimensions of one side, raised where it has lanes; `together`: the lanes are its first batch dimension. */
static void dims_with_lanes(kn_lanes *m, kn_dot_dims *d, int side, bool lanes, bool together)
{
    if (!lanes) return;
    d->contract[side] = kn_lanes_raised(m, d->contract[side], d->n_contract);
    d->batch[side] = together ? kn_lanes_behind(m, 0, d->batch[side], d->n_batch) : kn_lanes_raised(m, d->batch[side], d->n_batch);
}

static kn_atom dot_of(kn_lanes *m, const kn_dot_dims *d, kn_atom a, kn_atom b)
{
    kn_param *p = kn_lanes_params(m), lists[4], pairs[2];
    if (m->l.status != KILN_OK) return 0;
    for (int i = 0; i < 4; i++) {
        lists[i] = i < 2 ? KN_INTS(d->n_contract, d->contract[i]) : KN_INTS(d->n_batch, d->batch[i - 2]);
        lists[i].list = p[DOT_DIMENSIONS].items[i / 2].items[i % 2].list;
    }
    pairs[0] = KN_TUPLE(2, lists), pairs[1] = KN_TUPLE(2, lists + 2);
    p[DOT_DIMENSIONS] = KN_TUPLE(2, pairs);
    return kn_low_op(&m->l, m->e->prim, p, (kn_atom[]){a, b}, 2);
}

/* The lanes of one side as one of its free dimensions, moved to the front of the result. Where the other side has no free dimension the
 * sides change places instead; a complex product has an order of its parts, and stays. */
static kiln_status lanes_free(kn_lanes *m, kn_dot_dims d, kn_atom *y)
{
    int side = kn_has_lanes(m, 0) ? 0 : 1;
    kiln_type right = kn_in_type(m->j, m->e, 1);
    uint32_t used = d.n_batch + d.n_contract, left_free = kn_in_type(m->j, m->e, 0).rank - used;
    dims_with_lanes(m, &d, side, true, false);
    if (side == 1 && d.n_batch == 0 && right.rank == used && kiln_dtype_kind(right.dtype) != 'c') {
        kn_dot_dims swapped = {{d.batch[1], d.batch[0]}, {d.contract[1], d.contract[0]}, d.n_batch, d.n_contract};
        y[0] = dot_of(m, &swapped, m->x[1], m->x[0]);
    } else {
        y[0] = kn_lanes_move(m, dot_of(m, &d, m->x[0], m->x[1]), d.n_batch + (side ? left_free : 0), 0);
    }
    return m->l.status;
}

/* Would the product be summed in another order if the lanes were a free dimension? A product with a vector has the order of a sum. One
 * lane is treated as many are. */
static bool order_changes(kn_lanes *m, kn_dot_dims d)
{
    kiln_type t[2] = {kn_in_type(m->j, m->e, 0), kn_in_type(m->j, m->e, 1)};
    kiln_dtype result = kn_out_type(m->j, m->e, 0).dtype;
    if (strchr("iu", kiln_dtype_kind(t[0].dtype))) return false;
    bool before = kn_dot_order_of(t[0], t[1], &d, result).lanes;
    int side = kn_has_lanes(m, 0) ? 0 : 1;
    dims_with_lanes(m, &d, side, true, false);
    if (m->l.status != KILN_OK) return false;
    t[side] = kn_build_type(m->l.b, m->x[side]);
    int64_t dims[KN_MAX_RANK];
    for (uint32_t k = 0; k < t[side].rank; k++) dims[k] = k || m->size > 1 ? t[side].dims[k] : 2;
    t[side].dims = dims;
    return kn_dot_order_of(t[0], t[1], &d, result).lanes != before;
}

/* Lanes on both sides are one more batch dimension. So they are, by repeating the shared side (which nothing writes out: the product
 * reads the side itself), where the order of the sums would change otherwise. */
static kiln_status batch_dot(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, const int *axis,
                             kn_atom *y, int *out_axis)
{
    (void)out_axis;
    kn_lanes m = kn_lanes_of(r, b, j, e, x, axis);
    kn_dot_dims d = kn_dot_dims_of(e);
    if (!kn_has_lanes(&m, 0) || !kn_has_lanes(&m, 1)) {
        bool changes = order_changes(&m, d);
        KILN_TRY(m.l.status);
        if (!changes) return lanes_free(&m, d, y);
    }
    for (int side = 0; side < 2; side++) dims_with_lanes(&m, &d, side, true, true);
    d.n_batch++;
    y[0] = dot_of(&m, &d, kn_lanes_full(&m, 0), kn_lanes_full(&m, 1));
    return m.l.status;
}

KILN_PRIM(dot_general) = {
    .name = "dot_general",
    .nin = 2,
    .nout = 1,
    KN_PARAMS(dot_params),
    .loop = KN_LOOP_DOT,
    .type = type_dot,
    .eval = eval_dot,
    .jvp = kn_jvp_bilinear,
    .transpose = transpose_dot,
    .lower_complex = kn_lower_complex_dot,
    .lower_mixed = kn_lower_mixed_product,
    .batch = batch_dot,
    .sample = kn_sample_dot,
    .doc = "Products of two arrays summed over the contracting dimensions, in the documented order; f16, bf16 and f32 accumulate in "
           "f32. Integers and bools are converted first where the result is of another kind; a bool result is the or of ands.",
};
