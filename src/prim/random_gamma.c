/* SPDX-License-Identifier: Apache-2.0 */
/* Gamma variates from keys by the rejections of Marsaglia and Tsang (2000, ACM TOMS 26, 363), with the draws in the order in which JAX makes
 * them: a cubed normal variate v = (1 + c x)^3 for a >= 1, and below that the variate of a + 1 times u^(1/a). Each element has a key of
 * its own, so that the elements are a loop over scalars. */
#include "prim/control.h"
#include "prim/derive.h"
#include "prim/formula.h"
#include "prim/sample.h"

#include <math.h>

enum { LOG_SPACE };
static const kn_param_spec params[] = {{"log_space", KN_P_BOOL, 0}};

static kiln_status type_random_gamma(kn_typing *t)
{
    bool log_space;
    kiln_type key = t->in[0], a = t->in[1];
    if (key.dtype != KILN_KEY) return kn_fail(t->ctx, KILN_DTYPE, "random_gamma needs a key, %s given", kn_type_show(key).s);
    KILN_TRY(kn_typing_bool(t, LOG_SPACE, &log_space));
    KILN_TRY(kn_typing_kinds(t, 1, "f"));
    bool fits = key.rank <= a.rank;
    for (uint32_t d = 0; fits && d < key.rank; d++) fits = key.dims[d] == a.dims[d];
    if (!fits)
        return kn_fail(t->ctx, KILN_SHAPE, "random_gamma: the keys' dimensions must be the first of the array's; %s with %s", kn_type_show(key).s, kn_type_show(a).s);
    KILN_TRY(kn_typing_out(t, 1));
    return kn_typing_like(t, 0, a.dtype, a);
}

/* ---- draws ---- */

static int mantissa_of(kiln_dtype d) { return d == KILN_F64 ? 52 : d == KILN_F32 ? 23 : d == KILN_F16 ? 10 : 7; }

/* `n` keys of one. */
static void split(formula *f, kn_atom key, int64_t n, kn_atom *out)
{
    kn_atom keys = kn_low_op(&f->l, &kn_prim_random_split, &KN_INTS(1, &n), &key, 1);
    for (int64_t i = 0; i < n; i++) {
        int64_t start = i, limit = i + 1;
        kn_atom row = kn_low_op(&f->l, &kn_prim_slice, (kn_param[]){KN_INTS(1, &limit), KN_INTS(1, &start), KN_NONE}, &keys, 1);
        out[i] = kn_low_reshape(&f->l, row, 0, NULL);
    }
}

/* Uniform on [0, 1): random bits as the mantissa of a number in [1, 2), less 1. */
static kn_atom uniform(formula *f, kn_atom key)
{
    int width = (int)kn_dtype_width(f->d), mantissa = mantissa_of(f->d), drawn = mantissa < 8 ? 8 : width;
    kiln_dtype words = width == 64 ? KILN_U64 : width == 32 ? KILN_U32 : KILN_U16;
    uint64_t unit = 0;
    kn_scalar_store(f->d, &unit, 0, (kn_scalar){.f = 1});
    kn_atom bits = kn_low_op(&f->l, &kn_prim_random_bits, (kn_param[]){KN_INT(drawn), KN_INTS(0, NULL)}, &key, 1);
    bits = two(f, &kn_prim_shift_right_logical, kn_low_convert(&f->l, bits, words), kn_low_num(&f->l, words, drawn - mantissa));
    bits = two(f, &kn_prim_or, bits, kn_low_fill(&f->l, KILN_SCALAR(words), (kn_scalar){.u = unit}));
    return plus(f, kn_low_op(&f->l, &kn_prim_bitcast_convert_type, &KN_DTYPE(f->d), &bits, 1), -1);
}

static kn_atom normal(formula *f, kn_atom key)
{
    double low = ldexp(1, -mantissa_of(f->d) - 1) - 1; /* next to -1 */
    kn_atom u = plus(f, times(f, uniform(f, key), 2), low);
    return times(f, one(f, &kn_prim_erf_inv, two(f, &kn_prim_max, u, num(f, low))), sqrt(2));
}

/* ---- loops over draws: a constant, then the carries, of which the first is a key ---- */

enum { MOST_CARRIES = 4 };
typedef kn_atom (*step_fn)(formula *f, kn_atom constant, const kn_atom *carry, kn_atom *next);

/* A body of the step's next carries, or of the atom that it gives. */
static const kn_jaxpr *body_of(formula *f, uint32_t n, step_fn fn, bool gives)
{
    kn_build b;
    kn_build_init(&b, f->l.b->ctx, f->l.b->prog);
    b.scope = f->l.b->scope, b.loc = f->l.b->loc;
    formula in = {{&b, f->l.status}, f->d, f->shape};
    kn_atom constant = 0, carry[MOST_CARRIES] = {0}, next[MOST_CARRIES] = {0};
    const kn_jaxpr *j = NULL;
    if (in.l.status == KILN_OK) in.l.status = kn_build_input(&b, KILN_SCALAR(f->d), &constant);
    for (uint32_t i = 0; i < n && in.l.status == KILN_OK; i++) in.l.status = kn_build_input(&b, KILN_SCALAR(i ? f->d : KILN_KEY), &carry[i]);
    kn_atom given = fn(&in, constant, carry, next);
    if (in.l.status == KILN_OK) in.l.status = kn_build_finish(&b, gives ? &given : next, gives ? 1 : n, &j);
    f->l.status = in.l.status;
    return j;
}

/* Repeats a step while a condition holds. */
static void repeat(formula *f, kn_atom cond_constant, step_fn cond, kn_atom constant, step_fn step, kn_atom *carry, uint32_t n)
{
    kn_param p[KN_WHILE_PARAMS];
    kn_atom in[2 + MOST_CARRIES] = {cond_constant, constant};
    for (uint32_t i = 0; i < n; i++) in[2 + i] = carry[i];
    kn_while_params(p, body_of(f, n, cond, true), 1, body_of(f, n, step, false), 1);
    if (f->l.status == KILN_OK) f->l.status = kn_build_eqn(f->l.b, &kn_prim_while, p, in, 2 + n, carry, n);
}

/* ---- one variate ---- */

enum { KEY, NORMAL, BASE };
static kn_atom not_positive(formula *f, kn_atom constant, const kn_atom *carry, kn_atom *next)
{
    (void)constant, (void)next;
    return two(f, &kn_prim_le, carry[BASE], num(f, 0));
}
static kn_atom next_normal(formula *f, kn_atom c, const kn_atom *carry, kn_atom *next)
{
    kn_atom keys[2];
    split(f, carry[KEY], 2, keys);
    next[KEY] = keys[0];
    next[NORMAL] = normal(f, keys[1]);
    return next[BASE] = plus(f, mul(f, next[NORMAL], c), 1);
}

enum { SQUARE = 1, CUBE, UNIFORM };
static kn_atom rejected(formula *f, kn_atom d, const kn_atom *carry, kn_atom *next)
{
    (void)next;
    kn_atom x = carry[SQUARE], v = carry[CUBE], u = carry[UNIFORM];
    kn_atom squeeze = two(f, &kn_prim_ge, u, sub(f, num(f, 1), times(f, mul(f, x, x), 0.0331)));
    kn_atom bound = add(f, times(f, x, 0.5), mul(f, d, add(f, sub(f, num(f, 1), v), one(f, &kn_prim_log, v))));
    return both(f, squeeze, two(f, &kn_prim_ge, one(f, &kn_prim_log, u), bound));
}
static kn_atom next_candidate(formula *f, kn_atom c, const kn_atom *carry, kn_atom *next)
{
    kn_atom keys[3], inner[3];
    split(f, carry[KEY], 3, keys);
    inner[KEY] = keys[1], inner[NORMAL] = num(f, 0), inner[BASE] = num(f, -1);
    repeat(f, c, not_positive, c, next_normal, inner, 3);
    kn_atom x = inner[NORMAL], v = inner[BASE];
    next[KEY] = keys[0];
    next[SQUARE] = mul(f, x, x);
    next[CUBE] = mul(f, mul(f, v, v), v);
    return next[UNIFORM] = uniform(f, keys[2]);
}

static kn_atom variate(formula *f, kn_atom key, kn_atom own, bool log_space)
{
    kn_atom large = two(f, &kn_prim_ge, own, num(f, 1)), a = pick(f, large, own, plus(f, own, 1));
    kn_atom d = plus(f, a, -1. / 3), c = quotient(f, num(f, 1. / 3), one(f, &kn_prim_sqrt, d)), keys[2];
    split(f, key, 2, keys);
    kn_atom carry[MOST_CARRIES] = {keys[0], num(f, 0), num(f, 1), num(f, 2)}; /* rejected, so that a candidate is made */
    repeat(f, d, rejected, c, next_candidate, carry, MOST_CARRIES);
    kn_atom u = uniform(f, keys[1]), v = carry[CUBE];
    if (log_space) {
        kn_atom log_u = one(f, &kn_prim_log1p, minus(f, u));
        kn_atom boost = pick_num(f, either(f, large, equals(f, log_u, 0)), 0, mul(f, log_u, inverse(f, own)));
        return add(f, add(f, one(f, &kn_prim_log, d), one(f, &kn_prim_log, v)), boost);
    }
    kn_atom boost = pick_num(f, large, 1, two(f, &kn_prim_pow, sub(f, num(f, 1), u), inverse(f, own)));
    return mul(f, mul(f, d, v), boost);
}

/* ---- all of them ---- */

static const kn_jaxpr *element_body(kn_low *l, kiln_dtype d, bool log_space)
{
    kn_build b;
    kn_build_init(&b, l->b->ctx, l->b->prog);
    b.scope = l->b->scope, b.loc = l->b->loc;
    formula f = {{&b, l->status}, d, KILN_SCALAR(d)};
    kn_atom in[2] = {0};
    const kn_jaxpr *j = NULL;
    for (int i = 0; i < 2 && f.l.status == KILN_OK; i++) f.l.status = kn_build_input(&b, KILN_SCALAR(i ? d : KILN_KEY), &in[i]);
    kn_atom y = variate(&f, in[0], in[1], log_space);
    if (f.l.status == KILN_OK) f.l.status = kn_build_finish(&b, &y, 1, &j);
    l->status = f.l.status;
    return j;
}

static kiln_status lower_random_gamma(const kn_rules *r, kn_build *b, const kn_jaxpr *j, const kn_eqn *e, const kn_atom *x, kn_atom *y)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kiln_type key = kn_in_type(j, e, 0), t = kn_out_type(j, e, 0);
    int64_t n = kiln_type_size(t);
    kn_atom keys = kn_low_op(&l, &kn_prim_random_split, &KN_INTS(t.rank - key.rank, t.dims + key.rank), x, 1);
    kn_atom in[2] = {kn_low_reshape(&l, keys, 1, &n), kn_low_reshape(&l, x[1], 1, &n)}, out;
    kn_param p[KN_SCAN_PARAMS];
    const kn_jaxpr *body = element_body(&l, t.dtype, e->params[LOG_SPACE].b);
    KILN_TRY(l.status);
    kn_scan_plain(n, false, p);
    KILN_TRY(kn_scan_params(b->ctx, &b->prog->arena, NULL, body, (uint32_t[]){0, 0, 2}, 1, p));
    KILN_TRY(kn_build_eqn(b, &kn_prim_scan, p, in, 2, &out, 1));
    y[0] = kn_low_reshape(&l, out, t.rank, t.dims);
    return l.status;
}

/* By implicit differentiation; of the logarithm, divided by the variate, which must not have become 0. */
static kiln_status jvp_random_gamma(KN_JVP_ARGS)
{
    (void)r;
    kn_low l = {b, KILN_OK};
    kiln_type t = kn_out_type(j, e, 0);
    kn_atom v = y[0];
    if (dx[1] == KN_SYMBOLIC_ZERO) return KILN_OK;
    bool log_space = e->params[LOG_SPACE].b;
    if (log_space) {
        kn_atom zero = kn_low_num(&l, t.dtype, 0), least = kn_low_num(&l, t.dtype, t.dtype == KILN_F64 ? 0x1p-1022 : t.dtype == KILN_F16 ? 0x1p-14 : 0x1p-126);
        v = kn_low1(&l, &kn_prim_exp, v);
        v = kn_low_select(&l, kn_low2(&l, &kn_prim_eq, v, zero), least, v);
    }
    kn_atom slope = kn_low2(&l, &kn_prim_random_gamma_grad, x[1], v);
    if (log_space) slope = kn_low2(&l, &kn_prim_div, slope, v);
    dy[0] = kn_low2(&l, &kn_prim_mul, dx[1], slope);
    return l.status;
}

KILN_PRIM(random_gamma) = {
    .name = "random_gamma",
    .nin = 2,
    .nout = 1,
    .flags = KN_LEVEL_TRACED | KN_EXPENSIVE,
    KN_PARAMS(params),
    .type = type_random_gamma,
    .jvp = jvp_random_gamma,
    .lower = lower_random_gamma,
    .batch = kn_batch_full,
    .sample = kn_sample_key,
    .doc = "Gamma variates from keys and shape parameters, or, when `log_space`, their logarithms; the keys' dimensions are the first of the array's. The "
           "draws are JAX's.",
};
