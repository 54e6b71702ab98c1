/* SPDX-License-Identifier: Apache-2.0 */
/* Derivatives of every primitive's samples, by the words linearize and vjp: <u, J v> is the slope of <u, f> along v, which central
 * differences measure, and <J' u, v>. */
#include "array/array.h"
#include "kiln/transform.h"
#include "prim/sample.h"
#include "testing.h"

#include <math.h>

enum { MOST = 64, N_LENGTHS = 3, SEEDS = 40 };

static double between(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return 0.2 + 0.6 * (double)(*state >> 11) / 9007199254740992.0;
}

static bool is_f64(kiln_type t) { return t.dtype == KILN_F64; }
static bool is_float(kiln_type t) { return strchr("fc8", kiln_dtype_kind(t.dtype)) != NULL; }

/* Only f64 among the floats: then the sums below are precise. */
static bool suits(const kiln_prog *p)
{
    bool any = false;
    for (uint32_t i = 0; i < kiln_prog_n_inputs(p); i++) {
        if (is_float(kiln_prog_input_type(p, i)) && !is_f64(kiln_prog_input_type(p, i))) return false;
        any = any || is_f64(kiln_prog_input_type(p, i));
    }
    bool gives = false;
    for (uint32_t i = 0; i < kiln_prog_n_outputs(p); i++) {
        if (is_float(kiln_prog_output_type(p, i)) && !is_f64(kiln_prog_output_type(p, i))) return false;
        gives = gives || is_f64(kiln_prog_output_type(p, i));
    }
    return any && gives && kiln_prog_n_inputs(p) + kiln_prog_n_outputs(p) <= MOST / 2;
}

static kiln_array *random_like(kiln_ctx *ctx, kiln_type t, uint64_t *state)
{
    kiln_array *a;
    assert_ok(ctx, kiln_array_create(ctx, t, &a));
    for (int64_t k = 0; k < kiln_type_size(t); k++) ((double *)a->data)[k] = between(state);
    return a;
}

static double dot(const kiln_array *a, const kiln_array *b)
{
    double s = 0;
    for (int64_t k = 0; k < kiln_type_size(a->type); k++) s += ((double *)a->data)[k] * ((double *)b->data)[k];
    return s;
}

typedef struct instance {
    kiln_prog *p, *forward, *back;
    kiln_array *x[MOST], *v[MOST], *u[MOST]; /* operands; tangents, cotangents of the floats */
    uint32_t n, nv, nu;
} instance;

static void release(kiln_array **a, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) kiln_array_release(a[i]), a[i] = NULL;
}

/* <u, J v> and <J' u, v>. */
static void check_transpose(kiln_ctx *ctx, instance *t, const kn_prim *prim, uint64_t seed)
{
    kiln_array *in[MOST], *jv[MOST] = {NULL}, *ju[MOST] = {NULL};
    double left = 0, right = 0;
    memcpy(in, t->x, t->n * sizeof *in);
    memcpy(in + t->n, t->v, t->nv * sizeof *in);
    assert_ok(ctx, kiln_prog_eval(ctx, t->forward, in, jv));
    memcpy(in + t->n, t->u, t->nu * sizeof *in);
    assert_ok(ctx, kiln_prog_eval(ctx, t->back, in, ju));
    for (uint32_t i = 0; i < t->nu; i++) left += dot(t->u[i], jv[i]);
    for (uint32_t i = 0; i < t->nv; i++) right += dot(t->v[i], ju[i]);
    if (!(fabs(left - right) <= 1e-9 * (1 + fabs(left))) && isfinite(left) && isfinite(right))
        fail_msg("%s, seed %llu: <u, J v> is %.17g, <J' u, v> is %.17g", prim->name, (unsigned long long)seed, left, right);
    release(jv, t->nu);
    release(ju, t->nv);
}

/* <u, f(x + h v)> */
static double value_at(kiln_ctx *ctx, const instance *t, double h)
{
    kiln_array *in[MOST], *y[MOST] = {NULL};
    uint32_t nv = 0, nu = 0, nout = kiln_prog_n_outputs(t->p);
    double sum = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        in[i] = kiln_array_retain(t->x[i]);
        if (!is_f64(t->x[i]->type)) continue;
        kiln_array_release(in[i]);
        assert_ok(ctx, kiln_array_create(ctx, t->x[i]->type, &in[i]));
        for (int64_t k = 0; k < kiln_type_size(in[i]->type); k++) ((double *)in[i]->data)[k] = ((double *)t->x[i]->data)[k] + h * ((double *)t->v[nv]->data)[k];
        nv++;
    }
    assert_ok(ctx, kiln_prog_eval(ctx, t->p, in, y));
    for (uint32_t i = 0; i < nout; i++)
        if (is_f64(y[i]->type)) sum += dot(t->u[nu++], y[i]);
    release(in, t->n);
    release(y, nout);
    return sum;
}

/* The slope is trusted where two steps give the same: no kink or jump lies between, and it is not all rounding. */
static bool check_slope(kiln_ctx *ctx, instance *t, const kn_prim *prim, uint64_t seed)
{
    kiln_array *in[MOST], *jv[MOST] = {NULL};
    double found = 0, h = 1e-4, wide, slope;
    memcpy(in, t->x, t->n * sizeof *in);
    memcpy(in + t->n, t->v, t->nv * sizeof *in);
    assert_ok(ctx, kiln_prog_eval(ctx, t->forward, in, jv));
    for (uint32_t i = 0; i < t->nu; i++) found += dot(t->u[i], jv[i]);
    release(jv, t->nu);
    wide = (value_at(ctx, t, h) - value_at(ctx, t, -h)) / (2 * h);
    h /= 8;
    slope = (value_at(ctx, t, h) - value_at(ctx, t, -h)) / (2 * h);
    if (!isfinite(found) || !isfinite(slope) || !(fabs(wide - slope) <= 1e-5 * (1 + fabs(slope)))) return false;
    if (fabs(found - slope) > 1e-5 * (1 + fabs(slope)))
        fail_msg("%s, seed %llu: <u, J v> is %.12g, the slope is %.12g", prim->name, (unsigned long long)seed, found, slope);
    return true;
}

static bool is_among(const kn_prim *p, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], p->name) == 0) return true;
    return false;
}

/* Derivatives that are no slopes, as in JAX: none on purpose, none of bits, and of clamp none in the upper bound where the bounds
 * cross. */
static bool has_other_slope(const kn_prim *p)
{
    static const char *const names[] = {"bitcast_convert_type", "clamp", "stop_gradient"};
    return is_among(p, names, sizeof names / sizeof *names);
}

/* true: the sample has no derivative. */
static bool one(kiln_ctx *ctx, const kn_prim *prim, const kn_sample_opts *opts, unsigned *measured)
{
    instance t = {.p = NULL};
    bool refused = false;
    kiln_array *in[KN_SAMPLE_INPUTS];
    kiln_status s = kn_sample_program(ctx, prim, opts, &t.p, in, &t.n);
    if (s == KILN_DTYPE) return false;
    assert_ok(ctx, s);
    uint64_t state = opts->seed + 1;
    for (uint32_t i = 0; i < t.n; i++) t.x[i] = in[i];
    bool good = suits(t.p);
    if (good) {
        for (uint32_t i = 0; i < t.n; i++) {
            if (!is_f64(in[i]->type)) continue;
            t.x[i] = random_like(ctx, in[i]->type, &state);
            kiln_array_release(in[i]);
            t.v[t.nv++] = random_like(ctx, t.x[i]->type, &state);
        }
        for (uint32_t i = 0; i < kiln_prog_n_outputs(t.p); i++)
            if (is_f64(kiln_prog_output_type(t.p, i))) t.u[t.nu++] = random_like(ctx, kiln_prog_output_type(t.p, i), &state);
        kiln_status forward = kiln_prog_transform(ctx, t.p, "linearize", NULL, 0, &t.forward);
        kiln_status back = forward == KILN_OK ? kiln_prog_transform(ctx, t.p, "vjp", NULL, 0, &t.back) : forward;
        if (forward == KILN_UNSUPPORTED) { /* what has a tangent has its transpose too */
            refused = true;
        } else {
            assert_ok(ctx, back);
            check_transpose(ctx, &t, prim, opts->seed);
            *measured += !has_other_slope(prim) && check_slope(ctx, &t, prim, opts->seed);
        }
    }
    release(t.x, t.n);
    release(t.v, t.nv);
    release(t.u, t.nu);
    kiln_prog_release(t.forward);
    kiln_prog_release(t.back);
    kiln_prog_release(t.p);
    return refused;
}

/* Its derivative rounds too, so that it is linear up to rounding only. */
static bool rounds(const kn_prim *p) { return strcmp(p->name, "reduce_precision") == 0; }

/* Primitives on floats without a derivative: parts of qr, whose rule is above them, and what every factorisation is made of; the
 * derivatives of incomplete gamma functions in their order, whose own have no closed form; the next number, a step everywhere. */
static const char *const without[] = {"geqrf", "householder_product", "igamma_grad_a", "lapack", "nextafter", "random_gamma_grad"};
/* Those whose rule refuses some operands or parameters: the order of a special function, and factors with more columns than the matrix
 * determines. */
static const char *const in_part[] = {"polygamma", "qr", "regularized_incomplete_beta", "svd", "zeta"};
enum { N_WITHOUT = sizeof without / sizeof *without, N_IN_PART = sizeof in_part / sizeof *in_part };
static bool listed(const kn_prim *p)
{
    return p->jvp ? is_among(p, in_part, N_IN_PART) : is_among(p, without, N_WITHOUT);
}

/* Rules of which no slope is measured: no f64 goes in or comes out, or the function is a step. */
static bool has_no_slope(const kn_prim *p)
{
    static const char *const names[] = {"argmax", "argmin", "complex", "conj", "custom_lin", "eq", "eq_to", "ge", "gt", "is_finite", "le", "le_to",
                                        "lt", "lt_to", "ne", "polygamma", "reduce_precision", "regularized_incomplete_beta", "zeta"};
    return is_among(p, names, sizeof names / sizeof *names) || has_other_slope(p);
}

static void test_transpose(void **state)
{
    static const int64_t lengths[N_LENGTHS] = {0, 1, 5};
    uint32_t n;
    int found = 0;
    const kn_prim *const *prims = kn_prims(&n);
    for (uint32_t i = 0; i < n; i++) {
        bool refused = false;
        unsigned measured = 0;
        for (int l = 0; l < N_LENGTHS && prims[i]->sample && !rounds(prims[i]); l++)
            for (uint64_t seed = 0; seed < SEEDS; seed++)
                refused |= one(*state, prims[i], &(kn_sample_opts){.seed = seed, .length = lengths[l], .dtypes = 1u << KILN_F64 | 1u << KILN_I32 | 1u << KILN_BOOL}, &measured);
        if (prims[i]->jvp && (measured == 0) != has_no_slope(prims[i])) fail_msg("%s: %u slopes were measured", prims[i]->name, measured);
        if (refused != listed(prims[i])) fail_msg("%s %s", prims[i]->name, refused ? "has lost a derivative" : "has derivatives: it is listed as without");
        found += refused;
    }
    assert_int_equal(found, N_WITHOUT + N_IN_PART);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_transpose)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
