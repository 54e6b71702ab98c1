/* SPDX-License-Identifier: Apache-2.0 */
/* Folds and running folds along a dimension whose step is no scalar operation: loops over its slices, by scan. */
#include "prim/derive.h"
#include "prim/formula.h"
#include "prim/sample.h"

#include <math.h>

#define PI 3.14159265358979323846

static kn_atom move_axis(kn_low *l, kn_atom x, uint32_t rank, uint32_t from, uint32_t to)
{
    int64_t p[KN_MAX_RANK];
    uint32_t n = 0;
    if (from == to) return x;
    for (uint32_t d = 0; d < rank; d++) {
        if (d == to) p[d] = from;
        else n += n == from, p[d] = n++;
    }
    return kn_low_op(l, &kn_prim_transpose, &KN_INTS(rank, p), &x, 1);
}

/* Rows lo..hi-1 of an array. */
static kn_atom rows(kn_low *l, kn_atom x, int64_t lo, int64_t hi)
{
    int64_t start[KN_MAX_RANK] = {lo}, limit[KN_MAX_RANK];
    if (l->status != KILN_OK) return 0;
    kiln_type t = kn_build_type(l->b, x);
    for (uint32_t d = 0; d < t.rank; d++) limit[d] = d ? t.dims[d] : hi;
    return kn_low_op(l, &kn_prim_slice, (kn_param[]){KN_INTS(t.rank, limit), KN_INTS(t.rank, start), KN_NONE}, &x, 1);
}

/* (carry, row) -> (next, next), or, without stacked results, (next). */
static const kn_jaxpr *body_of(kn_low *l, kiln_type row, kn_combine combine, bool stacked)
{
    kn_build b;
    kn_build_init(&b, l->b->ctx, l->b->prog);
    b.scope = l->b->scope;
    b.loc = l->b->loc;
    kn_low inner = {&b, l->status};
    kn_atom in[2] = {0}, out[2];
    for (int i = 0; i < 2 && inner.status == KILN_OK; i++) inner.status = kn_build_input(&b, row, &in[i]);
    out[0] = out[1] = combine(&inner, in[0], in[1]);
    const kn_jaxpr *j = NULL;
    if (inner.status == KILN_OK) inner.status = kn_build_finish(&b, out, stacked ? 2 : 1, &j);
    l->status = inner.status;
    return j;
}

static void scan(kn_low *l, kiln_type row, kn_combine combine, kn_atom first, kn_atom xs, int64_t length, bool reverse, kn_atom *out, uint32_t nout)
{
    const kn_jaxpr *body = body_of(l, row, combine, nout == 2);
    kn_param params[] = {KN_NONE, KN_NONE, KN_NONE, KN_JAXPR(body), KN_INT(length), KN_NONE, KN_INT(1), KN_INT(0), KN_BOOL(reverse), KN_INT(1)};
    if (l->status == KILN_OK) l->status = kn_build_eqn(l->b, &kn_prim_scan, params, (kn_atom[]){first, xs}, 2, out, nout);
}

kn_atom kn_low_running(kn_low *l, kn_atom x, uint32_t axis, bool reverse, kn_combine combine)
{
    if (l->status != KILN_OK) return 0;
    kiln_type t = kn_build_type(l->b, x);
    int64_t n = t.dims[axis];
    if (n < 2) return x;
    kn_atom front = move_axis(l, x, t.rank, axis, 0), out[2] = {0};
    kn_atom end = reverse ? rows(l, front, n - 1, n) : rows(l, front, 0, 1), rest = reverse ? rows(l, front, 0, n - 1) : rows(l, front, 1, n);
    if (l->status != KILN_OK) return 0;
    kiln_type row = kn_build_type(l->b, front);
    row.rank--;
    row.dims = row.rank ? row.dims + 1 : NULL;
    kn_atom first = kn_low_reshape(l, end, row.rank, row.dims);
    scan(l, row, combine, first, rest, n - 1, reverse, out, 2);
    kn_atom parts[2] = {reverse ? out[1] : end, reverse ? end : out[1]};
    return move_axis(l, kn_low_op(l, &kn_prim_concatenate, &KN_INT(0), parts, 2), t.rank, 0, axis);
}

kn_atom kn_low_fold(kn_low *l, kn_atom x, kn_atom init, kn_combine combine)
{
    kn_atom r = init;
    if (l->status != KILN_OK) return 0;
    kiln_type t = kn_build_type(l->b, x), row = kn_build_type(l->b, init);
    if (t.dims[0] > 0) scan(l, row, combine, init, x, t.dims[0], false, &r, 1);
    return r;
}

/* ---- cumlogsumexp ---- */

enum { CUM_AXIS, CUM_REVERSE };
static const kn_param_spec cumulative_params[] = {{"axis", KN_P_INT, 0}, {"reverse", KN_P_BOOL, 0}};

static kiln_status type_cumlogsumexp(kn_typing *t)
{
    int64_t axis;
    bool reverse;
    KILN_TRY(kn_typing_axis(t, CUM_AXIS, t->in[0].rank, &axis));
    KILN_TRY(kn_typing_bool(t, CUM_REVERSE, &reverse));
    return kn_type_same_fc(t);
}

/* log(exp(a) + exp(b)) = max + log1p(exp(-|a - b|)); equal infinities are their own sum. */
static kn_atom log_add(kn_low *l, kn_atom a, kn_atom b)
{
    kn_atom apart = kn_low2(l, &kn_prim_sub, a, b), decay = kn_low1(l, &kn_prim_exp, kn_low1(l, &kn_prim_neg, kn_low1(l, &kn_prim_abs, apart)));
    kn_atom sum = kn_low2(l, &kn_prim_add, kn_low2(l, &kn_prim_max, a, b), kn_low1(l, &kn_prim_log1p, decay));
    return kn_low_select(l, kn_low2(l, &kn_prim_ne, apart, apart), kn_low2(l, &kn_prim_add, a, b), sum);
}

/* The angle in [-pi, pi) that differs from that of z by full turns. */
static kn_atom principal(kn_low *l, kn_atom z)
{
    if (l->status != KILN_OK) return 0;
    kiln_dtype d = kn_build_type(l->b, z).dtype == KILN_C64 ? KILN_F32 : KILN_F64;
    kn_atom half = kn_low_num(l, d, PI), turn = kn_low_num(l, d, 2 * PI), zero = kn_low_num(l, d, 0);
    kn_atom rest = kn_low2(l, &kn_prim_rem, kn_low2(l, &kn_prim_add, kn_low1(l, &kn_prim_imag, z), half), turn);
    rest = kn_low_select(l, kn_low2(l, &kn_prim_lt, rest, zero), kn_low2(l, &kn_prim_add, rest, turn), rest);
    return kn_low2(l, &kn_prim_complex, kn_low1(l, &kn_prim_real, z), kn_low2(l, &kn_prim_sub, rest, half));
}

/* The same of complex numbers, with the one of the greater real part for max. */
static kn_atom complex_log_add(kn_low *l, kn_atom a, kn_atom b)
{
    kn_atom top = kn_low2(l, &kn_prim_max, a, b), apart = kn_low2(l, &kn_prim_sub, kn_low2(l, &kn_prim_add, a, b), kn_low2(l, &kn_prim_add, top, top));
    return principal(l, kn_low2(l, &kn_prim_add, top, kn_low1(l, &kn_prim_log1p, kn_low1(l, &kn_prim_exp, apart))));
}

static kiln_status lower_cumlogsumexp(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kiln_dtype d = kn_in_type(j, e, 0).dtype;
    bool complex = kiln_dtype_kind(d) == 'c';
    kn_atom wide = complex ? principal(&l, x[0]) : kn_low_convert(&l, x[0], d == KILN_F16 || d == KILN_BF16 ? KILN_F32 : d);
    y[0] = kn_low_convert(&l, kn_low_running(&l, wide, (uint32_t)e->params[CUM_AXIS].i, e->params[CUM_REVERSE].b, complex ? complex_log_add : log_add), d);
    return l.status;
}

/* The weights of what came before and of what enters: exp of their distance to the result. */
static kiln_status jvp_cumlogsumexp(KN_JVP_ARGS)
{
    (void)r, (void)j;
    kn_low l = {b, KILN_OK};
    uint32_t axis = (uint32_t)e->params[CUM_AXIS].i;
    bool reverse = e->params[CUM_REVERSE].b;
    kn_atom before = kn_derive_before(&l, y[0], axis, reverse, -(double)INFINITY);
    kn_atom keep = kn_low1(&l, &kn_prim_exp, kn_low2(&l, &kn_prim_sub, before, y[0]));
    kn_atom take = kn_low1(&l, &kn_prim_exp, kn_low2(&l, &kn_prim_sub, x[0], y[0]));
    dy[0] = kn_derive_recurrence(&l, keep, kn_low2(&l, &kn_prim_mul, dx[0], take), axis, reverse);
    return l.status;
}

KILN_PRIM(cumlogsumexp) = {
    .name = "cumlogsumexp",
    .nin = 1,
    .nout = 1,
    .flags = KN_LEVEL_TRACED,
    KN_PARAMS(cumulative_params),
    .type = type_cumlogsumexp,
    .jvp = jvp_cumlogsumexp,
    .lower = lower_cumlogsumexp,
    .batch = kn_batch_dimensions,
    .sample = kn_sample_cumulative,
    .doc = "Running log of the sum of exponentials along `axis`, from its end when `reverse`; 16-bit floats are summed in f32, "
           "angles of complex results are in [-pi, pi).",
};
