/* SPDX-License-Identifier: Apache-2.0 */
/* Sample rules of primitives without bodies. */
#include "prim/common.h"
#include "prim/ragged.h"
#include "prim/sample.h"

#include "prims.gen.h"

static bool is(const kn_sample *s, const char *name) { return strcmp(s->prim->name, name) == 0; }

static const char *kinds_of(const kn_sample *s)
{
    static const struct {
        const char *name, *kinds;
    } special[] = {{"round", "f"}, {"pow", "fc"}, {"square", "iufc"}, {"integer_pow", "iufc"}, {"clamp", "biuf"}, {"stop_gradient", "biufc"},
                   {"one_minus_square", "iufc"}, {"copy", "biufc"}, {"copy_p", "biufc"}, {"name", "biufc"}};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (is(s, special[i].name)) return special[i].kinds;
    if (!s->prim->scalar_op) return s->prim->lower_complex ? "fc" : "f"; /* the composites take floats */
    const char *kinds = kn_sops[s->prim->scalar_op].kinds;
    bool all = s->prim->lower_complex && strchr(kinds, 'f');
    return !all ? kinds : strchr(kinds, 'b') ? "biufc" : strchr(kinds, 'i') ? "iufc" : "fc";
}

/* Shape of an operand that broadcasts with the others: the shape, a scalar, or with dimensions 1. */
static kiln_type operand_shape(kn_sample *s, kiln_type t, bool ones, int64_t *dims)
{
    if (kn_sample_below(s, 4) == 0) return KILN_SCALAR(t.dtype);
    for (uint32_t d = 0; d < t.rank; d++) dims[d] = ones && kn_sample_below(s, 5) == 0 ? 1 : t.dims[d];
    return (kiln_type){t.dtype, t.rank, dims};
}

kiln_status kn_sample_elementwise(kn_sample *s)
{
    kiln_type t = {.rank = (uint32_t)kn_sample_below(s, 4)};
    int64_t dims[4], own[4];
    kn_atom x[3];
    KILN_TRY(kn_sample_dtype(s, kinds_of(s), &t.dtype));
    kn_sample_shape(s, t.rank, dims);
    t.dims = dims;
    bool clamp = is(s, "clamp"), same = s->prim->nin == 1 || is(s, "add_any");
    uint32_t full = (uint32_t)kn_sample_below(s, s->prim->nin); /* one operand has the whole shape */
    for (uint32_t i = 0; i < s->prim->nin; i++) {
        bool whole = same || i == full || (clamp && i == 1);
        kiln_type o = whole ? t : operand_shape(s, t, !clamp, own);
        if (i == 1 && is(s, "pow") && kn_sample_below(s, 3) == 0 && (s->dtypes >> KILN_I32 & 1)) o.dtype = KILN_I32;
        KILN_TRY(kn_sample_input(s, o, &x[i]));
    }
    kn_param params[4] = {KN_NONE, KN_NONE, KN_NONE, KN_NONE};
    if (is(s, "round")) params[0] = KN_INT(kn_sample_below(s, 2));
    if (is(s, "integer_pow")) params[0] = KN_INT(kn_sample_between(s, kiln_dtype_kind(t.dtype) == 'f' ? -5 : 0, 9));
    if (is(s, "name")) params[0] = KN_TEXT("sampled");
    return kn_sample_emit(s, params, x, s->prim->nin, 1);
}

kiln_status kn_sample_convert(kn_sample *s)
{
    kiln_dtype from, to;
    int64_t dims[4];
    kn_atom x;
    uint32_t rank = (uint32_t)kn_sample_below(s, 3);
    KILN_TRY(kn_sample_dtype(s, "biufc8", &from));
    KILN_TRY(kn_sample_dtype(s, "biufc8", &to));
    kn_sample_shape(s, rank, dims);
    KILN_TRY(kn_sample_input(s, (kiln_type){from, rank, dims}, &x));
    return kn_sample_emit(s, (kn_param[]){KN_DTYPE(to), KN_NONE, KN_BOOL(false)}, &x, 1, 1);
}

/* A random array of random type as the operand of a data movement. */
static kiln_status any_operand(kn_sample *s, uint32_t lo, uint32_t hi, int64_t dims[8], kiln_type *t, kn_atom *x)
{
    t->rank = (uint32_t)kn_sample_between(s, lo, hi);
    t->dims = dims;
    KILN_TRY(kn_sample_dtype(s, "biufc", &t->dtype));
    kn_sample_shape(s, t->rank, dims);
    return kn_sample_input(s, *t, x);
}

kiln_status kn_sample_select_n(kn_sample *s)
{
    kiln_type t = {.rank = (uint32_t)kn_sample_below(s, 3)};
    int64_t dims[4];
    kn_atom x[5];
    kiln_dtype of_index = kn_sample_below(s, 2) ? KILN_I32 : KILN_I64;
    bool index = (s->dtypes >> of_index & 1) && kn_sample_below(s, 3) == 0;
    uint32_t cases = (uint32_t)kn_sample_between(s, 1, index ? 4 : 2);
    KILN_TRY(kn_sample_dtype(s, "biufc", &t.dtype));
    kn_sample_shape(s, t.rank, dims);
    t.dims = dims;
    kiln_type which = kn_sample_below(s, 3) ? t : KILN_SCALAR(KILN_BOOL);
    which.dtype = index ? of_index : KILN_BOOL;
    KILN_TRY(kn_sample_input(s, which, &x[0]));
    if (index) /* mostly in range */
        for (int64_t k = 0, n = kiln_type_size(which); k < n; k++)
            if (kn_sample_below(s, 4)) kn_scalar_store(of_index, s->in[0]->data, k, (kn_scalar){.i = kn_sample_below(s, cases)});
    for (uint32_t i = 0; i < cases; i++) KILN_TRY(kn_sample_input(s, t, &x[1 + i]));
    return kn_sample_emit(s, NULL, x, 1 + cases, 1);
}

kiln_status kn_sample_broadcast_in_dim(kn_sample *s)
{
    int64_t dims[8], shape[8], at[8];
    kiln_type t = {.rank = (uint32_t)kn_sample_below(s, 4), .dims = dims};
    uint32_t rank = t.rank + (uint32_t)kn_sample_below(s, 3), k = 0;
    kn_atom x;
    KILN_TRY(kn_sample_dtype(s, "biufc", &t.dtype));
    kn_sample_shape(s, rank, shape);
    for (uint32_t d = 0; d < rank && k < t.rank; d++)
        if (rank - d == t.rank - k || kn_sample_below(s, 2)) at[k++] = d;
    for (uint32_t d = 0; d < t.rank; d++) dims[d] = kn_sample_below(s, 4) ? shape[at[d]] : 1;
    KILN_TRY(kn_sample_input(s, t, &x));
    return kn_sample_emit(s, (kn_param[]){KN_INTS(t.rank, at), KN_INTS(rank, shape), KN_NONE}, &x, 1, 1);
}

static void shuffle(kn_sample *s, int64_t *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) v[i] = i;
    for (uint32_t i = n; i > 1; i--) {
        uint32_t k = (uint32_t)kn_sample_below(s, i);
        int64_t t = v[i - 1];
        v[i - 1] = v[k], v[k] = t;
    }
}

kiln_status kn_sample_reshape(kn_sample *s)
{
    int64_t dims[8], sizes[24], order[8];
    kiln_type t;
    kn_atom x;
    uint32_t n = 0;
    KILN_TRY(any_operand(s, 0, 4, dims, &t, &x));
    int64_t left = kiln_type_size(t);
    while (left > 1 && n < 6 && kn_sample_below(s, 4)) { /* take a divisor out */
        int64_t f = kn_sample_between(s, 1, 6);
        if (left % f == 0) sizes[n++] = f, left /= f;
    }
    sizes[n++] = left;
    if (left == 1 && kn_sample_below(s, 2)) n--;
    if (kn_sample_below(s, 3) == 0) sizes[n++] = 1;
    shuffle(s, order, t.rank);
    kn_param dimensions = t.rank && kn_sample_below(s, 4) == 0 ? KN_INTS(t.rank, order) : KN_NONE;
    return kn_sample_emit(s, (kn_param[]){dimensions, KN_INTS(n, sizes), KN_NONE}, &x, 1, 1);
}

kiln_status kn_sample_squeeze(kn_sample *s)
{
    int64_t dims[8], gone[8];
    kiln_type t = {.rank = (uint32_t)kn_sample_between(s, 1, 4), .dims = dims};
    kn_atom x;
    uint32_t n = 0;
    KILN_TRY(kn_sample_dtype(s, "biufc", &t.dtype));
    kn_sample_shape(s, t.rank, dims);
    for (uint32_t d = 0; d < t.rank; d++)
        if (dims[d] == 1 || kn_sample_below(s, 3) == 0) dims[d] = 1, gone[n++] = d;
    KILN_TRY(kn_sample_input(s, t, &x));
    return kn_sample_emit(s, &KN_INTS(n, gone), &x, 1, 1);
}

kiln_status kn_sample_transpose(kn_sample *s)
{
    int64_t dims[8], p[8];
    kiln_type t;
    kn_atom x;
    KILN_TRY(any_operand(s, 0, 4, dims, &t, &x));
    shuffle(s, p, t.rank);
    return kn_sample_emit(s, &KN_INTS(t.rank, p), &x, 1, 1);
}

static uint32_t some_axes(kn_sample *s, uint32_t rank, int64_t *axes)
{
    uint32_t n = 0;
    for (uint32_t d = 0; d < rank; d++)
        if (kn_sample_below(s, 2)) axes[n++] = d;
    return n;
}

kiln_status kn_sample_rev(kn_sample *s)
{
    int64_t dims[8], axes[8];
    kiln_type t;
    kn_atom x;
    KILN_TRY(any_operand(s, 0, 3, dims, &t, &x));
    uint32_t n = some_axes(s, t.rank, axes);
    return kn_sample_emit(s, &KN_INTS(n, axes), &x, 1, 1);
}

kiln_status kn_sample_iota(kn_sample *s)
{
    int64_t dims[8];
    kiln_dtype d;
    uint32_t rank = (uint32_t)kn_sample_between(s, 1, 3);
    KILN_TRY(kn_sample_dtype(s, "iuf", &d));
    kn_sample_shape(s, rank, dims);
    return kn_sample_emit(s, (kn_param[]){KN_INT(kn_sample_below(s, rank)), KN_DTYPE(d), KN_INTS(rank, dims), KN_NONE}, NULL, 0, 1);
}

kiln_status kn_sample_empty(kn_sample *s)
{
    int64_t dims[8];
    kiln_dtype d;
    uint32_t rank = (uint32_t)kn_sample_between(s, 0, 3);
    KILN_TRY(kn_sample_dtype(s, "biufc", &d));
    kn_sample_shape(s, rank, dims);
    bool scalar = strcmp(s->prim->name, "empty2") == 0;
    return kn_sample_emit(s, scalar ? (kn_param[]){KN_DTYPE(d), KN_NONE} : (kn_param[]){KN_DTYPE(d), KN_NONE, KN_INTS(rank, dims)}, NULL, 0, 1);
}

/* Tokens are made, not inputs: they are no numbers. */
kiln_status kn_sample_token(kn_sample *s)
{
    kn_atom x[3];
    uint32_t n = s->prim->nin == KN_VARIADIC ? (uint32_t)kn_sample_between(s, 0, 3) : s->prim->nin;
    for (uint32_t k = 0; k < n; k++) KILN_TRY(kn_build_eqn(&s->b, &kn_prim_create_token, NULL, NULL, 0, &x[k], 1));
    return kn_sample_emit(s, NULL, x, n, 1);
}

kiln_status kn_sample_uniform(kn_sample *s)
{
    int64_t dims[8];
    kiln_dtype d;
    kn_atom x[2];
    uint32_t rank = (uint32_t)kn_sample_between(s, 0, 3);
    KILN_TRY(kn_sample_dtype(s, "biuf", &d));
    kn_sample_shape(s, rank, dims);
    for (int k = 0; k < 2; k++) KILN_TRY(kn_sample_input(s, KILN_SCALAR(d), &x[k]));
    return kn_sample_emit(s, (kn_param[]){kn_sample_below(s, 2) ? KN_NONE : KN_INT(kn_sample_below(s, 100)), KN_INTS(rank, dims)}, x, 2, 1);
}

kiln_status kn_sample_scale(kn_sample *s)
{
    int64_t dims[8];
    kn_atom x[2];
    kiln_type t = {.rank = (uint32_t)kn_sample_between(s, 0, 2), .dims = dims}, n = t;
    KILN_TRY(kn_sample_dtype(s, "f", &t.dtype));
    kn_sample_shape(s, t.rank, dims);
    KILN_TRY(kn_sample_input(s, t, &x[0]));
    if (s->prim->nin == 1) return kn_sample_emit(s, (kn_param[]){KN_NONE}, x, 1, 2);
    KILN_TRY(kn_sample_dtype(s, "iu", &n.dtype));
    KILN_TRY(kn_sample_input(s, n, &x[1]));
    for (int64_t k = 0; k < kiln_type_size(n); k++)
        if (kn_sample_below(s, 2)) kn_scalar_store(n.dtype, s->in[1]->data, k, (kn_scalar){.i = kn_sample_below(s, 8)});
    return kn_sample_emit(s, (kn_param[]){KN_NONE, KN_NONE}, x, 2, 1);
}

/* The table is not sorted: the search is defined all the same. */
kiln_status kn_sample_search(kn_sample *s)
{
    static const char *const methods[] = {"scan", "scan_unrolled", "compare_all", "sort"};
    int64_t table[4], asked[4], batch = kn_sample_below(s, 2), own = kn_sample_between(s, 1, 2);
    uint32_t queries = (uint32_t)kn_sample_below(s, 3);
    kiln_dtype d;
    kn_atom x[2];
    KILN_TRY(kn_sample_dtype(s, "biufc", &d));
    kn_sample_shape(s, (uint32_t)(batch + own), table);
    kn_sample_shape(s, (uint32_t)batch + queries, asked);
    for (int64_t k = 0; k < batch; k++) asked[k] = table[k];
    KILN_TRY(kn_sample_input(s, (kiln_type){d, (uint32_t)(batch + own), table}, &x[0]));
    KILN_TRY(kn_sample_input(s, (kiln_type){d, (uint32_t)batch + queries, asked}, &x[1]));
    kn_param params[] = {KN_TEXT(kn_sample_below(s, 2) ? "left" : "right"), KN_INT(batch + kn_sample_below(s, own)), KN_INT(batch),
                         KN_TEXT(methods[kn_sample_below(s, 4)]), KN_DTYPE(kn_sample_below(s, 2) ? KILN_I32 : KILN_I64)};
    return kn_sample_emit(s, params, x, 2, 1);
}

kiln_status kn_sample_slice(kn_sample *s)
{
    int64_t dims[8], start[8], limit[8], stride[8];
    kiln_type t;
    kn_atom x;
    KILN_TRY(any_operand(s, 0, 4, dims, &t, &x));
    for (uint32_t d = 0; d < t.rank; d++) {
        start[d] = kn_sample_below(s, 2) ? 0 : kn_sample_between(s, 0, dims[d] < 3 ? dims[d] : 3);
        limit[d] = kn_sample_below(s, 2) ? dims[d] : kn_sample_between(s, start[d], dims[d]);
        stride[d] = kn_sample_between(s, 1, 3);
    }
    kn_param strides = kn_sample_below(s, 2) ? KN_INTS(t.rank, stride) : KN_NONE;
    return kn_sample_emit(s, (kn_param[]){KN_INTS(t.rank, limit), KN_INTS(t.rank, start), strides}, &x, 1, 1);
}

/* Start indices, of one integer type, in range or not. */
static kiln_status some_starts(kn_sample *s, uint32_t rank, const int64_t *dims, kn_atom *at)
{
    kiln_dtype d;
    KILN_TRY(kn_sample_dtype(s, "iu", &d));
    for (uint32_t i = 0; i < rank; i++) KILN_TRY(kn_sample_index(s, d, kiln_dtype_kind(d) == 'u' ? 0 : -1, dims[i] < 100 ? dims[i] : 100, &at[i]));
    return KILN_OK;
}

kiln_status kn_sample_dynamic_slice(kn_sample *s)
{
    int64_t dims[8], sizes[8];
    kiln_type t;
    kn_atom x[8];
    KILN_TRY(any_operand(s, 0, 3, dims, &t, &x[0]));
    for (uint32_t d = 0; d < t.rank; d++) sizes[d] = kn_sample_below(s, 3) ? kn_sample_between(s, 0, dims[d]) : dims[d];
    KILN_TRY(some_starts(s, t.rank, dims, x + 1));
    return kn_sample_emit(s, &KN_INTS(t.rank, sizes), x, t.rank + 1, 1);
}

kiln_status kn_sample_dynamic_update_slice(kn_sample *s)
{
    int64_t dims[8], sizes[8];
    kiln_type t;
    kn_atom x[8];
    KILN_TRY(any_operand(s, 0, 3, dims, &t, &x[0]));
    for (uint32_t d = 0; d < t.rank; d++) sizes[d] = kn_sample_below(s, 3) ? kn_sample_between(s, 0, dims[d]) : dims[d];
    KILN_TRY(kn_sample_input(s, (kiln_type){t.dtype, t.rank, sizes}, &x[1]));
    KILN_TRY(some_starts(s, t.rank, dims, x + 2));
    return kn_sample_emit(s, NULL, x, t.rank + 2, 1);
}

kiln_status kn_sample_split(kn_sample *s)
{
    int64_t dims[8], sizes[8];
    kiln_type t;
    kn_atom x;
    KILN_TRY(any_operand(s, 1, 3, dims, &t, &x));
    int64_t axis = kn_sample_below(s, t.rank), left = dims[axis];
    uint32_t n = (uint32_t)kn_sample_between(s, 1, 4);
    for (uint32_t i = 0; i < n; i++) {
        sizes[i] = i + 1 == n ? left : kn_sample_between(s, 0, left);
        left -= sizes[i];
    }
    return kn_sample_emit(s, (kn_param[]){KN_INT(axis), KN_INTS(n, sizes)}, &x, 1, n);
}

kiln_status kn_sample_concatenate(kn_sample *s)
{
    int64_t dims[8];
    kiln_type t = {.rank = (uint32_t)kn_sample_between(s, 1, 3), .dims = dims};
    kn_atom x[5];
    KILN_TRY(kn_sample_dtype(s, "biufc", &t.dtype));
    kn_sample_shape(s, t.rank, dims);
    int64_t axis = kn_sample_below(s, t.rank), whole = dims[axis];
    uint32_t n = (uint32_t)kn_sample_between(s, 1, 5);
    for (uint32_t i = 0; i < n; i++) {
        dims[axis] = kn_sample_below(s, 2) ? kn_sample_below(s, 4) : whole;
        KILN_TRY(kn_sample_input(s, t, &x[i]));
    }
    return kn_sample_emit(s, &KN_INT(axis), x, n, 1);
}

kiln_status kn_sample_stack(kn_sample *s)
{
    int64_t dims[8];
    kiln_type t;
    kn_atom x[5];
    KILN_TRY(any_operand(s, 0, 3, dims, &t, &x[0]));
    uint32_t n = (uint32_t)kn_sample_between(s, 1, 5);
    for (uint32_t i = 1; i < n; i++) KILN_TRY(kn_sample_input(s, t, &x[i]));
    return kn_sample_emit(s, &KN_INT(kn_sample_below(s, t.rank + 1)), x, n, 1);
}

kiln_status kn_sample_unstack(kn_sample *s)
{
    int64_t dims[8];
    kiln_type t = {.rank = (uint32_t)kn_sample_between(s, 1, 4), .dims = dims};
    kn_atom x;
    KILN_TRY(kn_sample_dtype(s, "biufc", &t.dtype));
    kn_sample_shape(s, t.rank, dims);
    int64_t axis = kn_sample_below(s, t.rank);
    dims[axis] = kn_sample_between(s, 1, 5);
    KILN_TRY(kn_sample_input(s, t, &x));
    return kn_sample_emit(s, &KN_INT(axis), &x, 1, (uint32_t)dims[axis]);
}

kiln_status kn_sample_tile(kn_sample *s)
{
    int64_t dims[8], reps[8];
    kiln_type t;
    kn_atom x;
    KILN_TRY(any_operand(s, 0, 5, dims, &t, &x));
    for (uint32_t d = 0; d < t.rank; d++) reps[d] = kn_sample_below(s, 3) ? 1 : kn_sample_between(s, 0, 3);
    return kn_sample_emit(s, &KN_INTS(t.rank, reps), &x, 1, 1);
}

kiln_status kn_sample_pad(kn_sample *s)
{
    int64_t dims[8], v[8][3];
    kiln_type t;
    kn_atom x[2];
    kn_param rows[8];
    KILN_TRY(any_operand(s, 0, 3, dims, &t, &x[0]));
    KILN_TRY(kn_sample_input(s, KILN_SCALAR(t.dtype), &x[1]));
    for (uint32_t d = 0; d < t.rank; d++) {
        v[d][2] = kn_sample_below(s, 2) ? 0 : kn_sample_below(s, 3);
        int64_t whole = dims[d] + (dims[d] > 0 ? dims[d] - 1 : 0) * v[d][2];
        v[d][0] = kn_sample_between(s, whole < 2 ? -whole : -2, 4);
        int64_t left = whole + v[d][0];
        v[d][1] = kn_sample_between(s, left < 2 ? -left : -2, 4);
        rows[d] = KN_INTS(3, v[d]);
    }
    return kn_sample_emit(s, &KN_TUPLE(t.rank, rows), x, 2, 1);
}

kiln_status kn_sample_reduce(kn_sample *s)
{
    int64_t dims[8], axes[8];
    kiln_type t = {.rank = (uint32_t)kn_sample_below(s, 5), .dims = dims};
    kn_atom x;
    const char *op = kn_sops[s->prim->scalar_op].name;
    bool bits = strcmp(op, "and") == 0 || strcmp(op, "or") == 0 || strcmp(op, "xor") == 0;
    s->tame = kn_sample_below(s, 4) != 0;
    KILN_TRY(kn_sample_dtype(s, bits ? "biu" : s->prim->flags & KN_FROM_NOTHING ? "fc" : "iufc", &t.dtype));
    kn_sample_shape(s, t.rank, dims);
    KILN_TRY(kn_sample_input(s, t, &x));
    uint32_t n = t.rank == 1 ? 1 : some_axes(s, t.rank, axes);
    if (t.rank == 1) axes[0] = 0;
    return kn_sample_emit(s, (kn_param[]){KN_INTS(n, axes), KN_NONE}, &x, 1, 1);
}

kiln_status kn_sample_cumulative(kn_sample *s)
{
    int64_t dims[8];
    kiln_type t = {.rank = (uint32_t)kn_sample_between(s, 1, 3), .dims = dims};
    kn_atom x;
    s->tame = kn_sample_below(s, 4) != 0;
    KILN_TRY(kn_sample_dtype(s, s->prim->scalar_op ? "iufc" : "fc", &t.dtype));
    kn_sample_shape(s, t.rank, dims);
    KILN_TRY(kn_sample_input(s, t, &x));
    return kn_sample_emit(s, (kn_param[]){KN_INT(kn_sample_below(s, t.rank)), KN_BOOL(kn_sample_below(s, 2) != 0)}, &x, 1, 1);
}

kiln_status kn_sample_arg(kn_sample *s)
{
    int64_t dims[8], axis;
    kiln_type t = {.rank = (uint32_t)kn_sample_between(s, 1, 3), .dims = dims};
    kn_atom x;
    kiln_dtype d = s->dtypes >> KILN_I32 & 1 ? KILN_I32 : KILN_I64;
    KILN_TRY(kn_sample_dtype(s, "biuf", &t.dtype));
    kn_sample_shape(s, t.rank, dims);
    axis = kn_sample_below(s, t.rank);
    if (dims[axis] == 0) dims[axis] = 1;
    KILN_TRY(kn_sample_input(s, t, &x));
    return kn_sample_emit(s, (kn_param[]){KN_INTS(1, &axis), KN_DTYPE(d)}, &x, 1, 1);
}

kiln_status kn_sample_dot(kn_sample *s)
{
    /* names 0..: batch, then contracting, then each side's free dimensions; both sides put theirs in some order */
    int64_t size[8], dims[2][8], place[2][8], list[2][2][4];
    uint32_t nb = (uint32_t)kn_sample_below(s, 2), nc = (uint32_t)kn_sample_below(s, 3);
    kiln_dtype d;
    kn_atom x[2];
    s->tame = kn_sample_below(s, 4) != 0;
    KILN_TRY(kn_sample_dtype(s, "biufc", &d));
    for (uint32_t i = 0; i < 8; i++) size[i] = kn_sample_between(s, s->length == 0 ? 0 : 1, 3);
    uint32_t longest = (uint32_t)kn_sample_below(s, nb + nc + 1);
    size[longest] = s->length;
    for (uint32_t side = 0; side < 2; side++) {
        uint32_t nf = (uint32_t)kn_sample_below(s, 3), rank = nb + nc + nf;
        if (kn_sample_below(s, 2)) shuffle(s, place[side], rank); /* place of name i */
        else
            for (uint32_t i = 0; i < rank; i++) place[side][i] = (i + (side ? 0 : nf)) % (rank ? rank : 1);
        for (uint32_t i = 0; i < rank; i++) {
            bool shared = i < nb + nc;
            dims[side][place[side][i]] = shared ? size[i] : side == 0 && i == nb + nc ? size[i] : kn_sample_between(s, 1, 5);
            if (i < nb) list[1][side][i] = place[side][i];
            else if (shared) list[0][side][i - nb] = place[side][i];
        }
        KILN_TRY(kn_sample_input(s, (kiln_type){d, rank, dims[side]}, &x[side]));
    }
    kn_param pair[2][2], two[2];
    for (uint32_t i = 0; i < 2; i++) {
        for (uint32_t side = 0; side < 2; side++) pair[i][side] = KN_INTS(i ? nb : nc, list[i][side]), pair[i][side].list = true;
        two[i] = KN_TUPLE(2, pair[i]);
    }
    kn_param preferred = kn_sample_below(s, 2) ? KN_DTYPE(d) : KN_NONE;
    if (strchr("biu", kiln_dtype_kind(d)) && kn_sample_below(s, 3) == 0) preferred = KN_DTYPE(kn_sample_below(s, 2) ? KILN_F32 : KILN_F64);
    return kn_sample_emit(s, (kn_param[]){KN_TUPLE(2, two), KN_NONE, KN_NONE, preferred}, x, 2, 1);
}

/* Dimensions by name, in any order on each side; sizes of groups that may leave rows over, or ask for more than there are. */
kiln_status kn_sample_ragged(kn_sample *s)
{
    enum { ROWS, INNER, LEFT, RIGHT, GROUPS, BATCH, NAMES };
    static const struct {
        uint32_t n[2], contract, batch, group; /* contract, batch: how many of the first names of a side, behind a batch */
        int names[2][4];
    } modes[] = {{{2, 3}, 1, 0, 1, {{INNER, ROWS}, {INNER, GROUPS, RIGHT}}},        /* free */
                 {{2, 2}, 1, 0, 0, {{ROWS, LEFT}, {ROWS, RIGHT}}},                  /* contracted */
                 {{3, 3}, 1, 1, 0, {{ROWS, INNER, LEFT}, {ROWS, INNER, RIGHT}}}}; /* a batch */
    uint32_t mode = (uint32_t)kn_sample_below(s, 3), nb = (uint32_t)kn_sample_below(s, 2);
    int64_t size[NAMES], dims[8], place[2][8], list[2][2][4], ragged[2] = {0, 0}, of_sizes[2];
    kiln_dtype d, index;
    kn_atom x[3];
    s->tame = kn_sample_below(s, 4) != 0;
    KILN_TRY(kn_sample_dtype(s, "iufc", &d));
    for (uint32_t i = 0; i < NAMES; i++) size[i] = kn_sample_between(s, s->length == 0 ? 0 : 1, 3);
    size[kn_sample_below(s, 3) ? ROWS : INNER] = s->length;
    for (uint32_t side = 0; side < 2; side++) {
        uint32_t rank = nb + modes[mode].n[side];
        shuffle(s, place[side], rank);
        for (uint32_t i = 0; i < rank; i++) {
            int name = i < nb ? BATCH : modes[mode].names[side][i - nb];
            int64_t at = place[side][i];
            dims[at] = size[name];
            if (name == ROWS && side == 0) ragged[0] = at;
            if (name == GROUPS) ragged[1] = at;
            if (i < nb + modes[mode].batch) list[1][side][i] = at;
            else if (i < nb + modes[mode].batch + modes[mode].contract) list[0][side][i - nb - modes[mode].batch] = at;
        }
        KILN_TRY(kn_sample_input(s, (kiln_type){d, rank, dims}, &x[side]));
    }
    index = kn_sample_below(s, 3) ? KILN_I32 : KILN_U8;
    bool each = nb && kn_sample_below(s, 2);
    of_sizes[0] = size[BATCH], of_sizes[each] = size[GROUPS];
    kiln_type sizes = {index, 1 + each, of_sizes};
    KILN_TRY(kn_sample_input(s, sizes, &x[2]));
    for (int64_t k = 0, n = kiln_type_size(sizes); k < n; k++)
        kn_scalar_store(index, s->in[s->nin - 1]->data, k, (kn_scalar){.i = kn_sample_between(s, index == KILN_U8 ? 0 : -1, size[ROWS] / 2 + 1)});
    kn_ragged_lists m;
    for (int side = 0; side < 2; side++) {
        m.list[KN_RAGGED_CONTRACT + side] = KN_INTS(modes[mode].contract, list[0][side]);
        m.list[KN_RAGGED_BATCH + side] = KN_INTS(nb + modes[mode].batch, list[1][side]);
        m.list[KN_RAGGED_ROWS + side] = KN_INTS(side ? modes[mode].group : 1, &ragged[side]);
    }
    kn_param preferred = kn_sample_below(s, 2) ? KN_DTYPE(d) : KN_NONE;
    return kn_sample_emit(s, (kn_param[]){KN_NONE, KN_NONE, KN_NONE, preferred, kn_ragged_numbers(&m)}, x, 3, 1);
}

kiln_status kn_sample_polynomial(kn_sample *s)
{
    enum { MOST = 10 };
    kiln_type t = {.rank = (uint32_t)kn_sample_below(s, 3)};
    int64_t dims[4], own[4];
    kn_atom x[1 + MOST];
    uint32_t n = 2 + (uint32_t)kn_sample_below(s, MOST);
    KILN_TRY(kn_sample_dtype(s, "iufc", &t.dtype));
    kn_sample_shape(s, t.rank, dims);
    t.dims = dims;
    for (uint32_t i = 0; i < n; i++) KILN_TRY(kn_sample_input(s, i ? operand_shape(s, t, true, own) : t, &x[i]));
    return kn_sample_emit(s, &KN_NONE, x, n, 1);
}

kiln_status kn_sample_platform(kn_sample *s)
{
    kn_param name = KN_TEXT(kn_sample_below(s, 2) ? "'mosaic'" : "'cpu'"), entries[] = {KN_TUPLE(1, &name), KN_NONE};
    return kn_sample_emit(s, &KN_TUPLE(2, entries), NULL, 0, 1);
}
