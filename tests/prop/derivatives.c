/* SPDX-License-Identifier: Apache-2.0 */
/* Derivatives of every primitive's samples, by the words linearize and vjp: <u, J v> is the slope of <u, f> along v, which central
 * differences measure, and <J' u, v>. */
#include "kiln/exec.h"
#include "kiln/transform.h"
#include "prim/derive.h"
#include "prim/sample.h"
#include "same.h"
#include "slopes.h"

enum { MOST = SLOPE_ARRAYS, N_LENGTHS = 3, SEEDS = 40 };

/* Only f64 and c128 among the floats: then the sums below are precise. */
static bool suits(const kiln_prog *p)
{
    bool any = false;
    for (uint32_t i = 0; i < kiln_prog_n_inputs(p); i++) {
        if (is_float(kiln_prog_input_type(p, i)) && !is_wide(kiln_prog_input_type(p, i))) return false;
        any = any || is_wide(kiln_prog_input_type(p, i));
    }
    bool gives = false;
    for (uint32_t i = 0; i < kiln_prog_n_outputs(p); i++) {
        if (is_float(kiln_prog_output_type(p, i)) && !is_wide(kiln_prog_output_type(p, i))) return false;
        gives = gives || is_wide(kiln_prog_output_type(p, i));
    }
    return any && gives && kiln_prog_n_inputs(p) + kiln_prog_n_outputs(p) <= MOST / 2;
}

typedef struct instance {
    kiln_prog *p, *forward, *back;
    kiln_array *x[MOST], *v[MOST], *u[MOST]; /* operands; tangents, cotangents of the floats */
    uint32_t n, nv, nu, first; /* tangents before `first` are zeros and not handed over */
} instance;

/* <u, J v> and <J' u, v>. */
static void check_transpose(kiln_ctx *ctx, instance *t, const char *name, uint64_t seed)
{
    kiln_array *in[MOST], *jv[MOST] = {NULL}, *ju[MOST] = {NULL};
    double left = 0, right = 0;
    memcpy(in, t->x, t->n * sizeof *in);
    memcpy(in + t->n, t->v + t->first, (t->nv - t->first) * sizeof *in);
    assert_ok(ctx, kiln_prog_eval(ctx, t->forward, in, jv));
    memcpy(in + t->n, t->u, t->nu * sizeof *in);
    assert_ok(ctx, kiln_prog_eval(ctx, t->back, in, ju));
    for (uint32_t i = 0; i < t->nu; i++) left += dot(t->u[i], jv[i]);
    for (uint32_t i = t->first; i < t->nv; i++) right += dot(t->v[i], ju[i - t->first]);
    if (!(fabs(left - right) <= 1e-9 * (1 + fabs(left))) && isfinite(left) && isfinite(right))
        fail_msg("%s, seed %llu: <u, J v> is %.17g, <J' u, v> is %.17g", name, (unsigned long long)seed, left, right);
    release_arrays(jv, t->nu);
    release_arrays(ju, t->nv - t->first);
}

/* true: there was a slope to compare with. */
static bool check_slope(kiln_ctx *ctx, instance *t, const char *name, uint64_t seed)
{
    kiln_array *in[MOST], *jv[MOST] = {NULL};
    double found = 0, slope;
    memcpy(in, t->x, t->n * sizeof *in);
    memcpy(in + t->n, t->v + t->first, (t->nv - t->first) * sizeof *in);
    assert_ok(ctx, kiln_prog_eval(ctx, t->forward, in, jv));
    for (uint32_t i = 0; i < t->nu; i++) found += dot(t->u[i], jv[i]);
    release_arrays(jv, t->nu);
    if (!isfinite(found) || !slope_along(ctx, t->p, t->x, t->n, t->v, t->u, &slope)) return false;
    if (fabs(found - slope) > 1e-5 * (1 + fabs(slope)))
        fail_msg("%s, seed %llu: <u, J v> is %.12g, the slope is %.12g", name, (unsigned long long)seed, found, slope);
    return true;
}

static bool is_among(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

/* Derivatives that are no slopes, as in JAX: none on purpose, none of bits, of clamp none in the upper bound where the bounds
 * cross, and of variates that of a fixed probability, whatever the draws do. */
static bool has_other_slope(const char *name)
{
    static const char *const names[] = {"bitcast_convert_type", "clamp", "random_gamma", "stop_gradient"};
    return is_among(name, names, sizeof names / sizeof *names);
}

/* LAPACK turns complex eigenvectors and singular vectors by phases of its own: their slopes say nothing, those of the values do. */
static void blind(instance *t, const char *name)
{
    static const char *const names[] = {"eigh", "svd"};
    for (uint32_t i = 0; i < t->nu && is_among(name, names, 2); i++)
        if (t->u[i]->type.dtype == KILN_C128) memset(t->u[i]->data, 0, (size_t)parts(t->u[i]) * sizeof(double));
}

static uint32_t last_float(const instance *t)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < t->n; i++)
        if (is_wide(t->x[i]->type)) k = i;
    return k;
}

/* A function with no derivative in its order has one in its argument, the last operand. */
static kiln_status last_alone(kiln_ctx *ctx, instance *t)
{
    uint32_t k = last_float(t);
    if (t->nv < 2) return KILN_UNSUPPORTED;
    t->first = t->nv - 1;
    for (uint32_t i = 0; i < t->first; i++) memset(t->v[i]->data, 0, (size_t)parts(t->v[i]) * sizeof(double));
    return kiln_prog_linearize(ctx, t->p, &k, 1, NULL, &t->forward);
}

/* Both derivatives compile, to the interpreter's bits. */
static void check_compiled(kiln_ctx *ctx, instance *t, const char *name, uint64_t seed)
{
    kiln_array *in[MOST], *want[MOST] = {NULL}, *got[MOST] = {NULL};
    memcpy(in, t->x, t->n * sizeof *in);
    for (int back = 0; back < 2; back++) {
        const kiln_prog *p = back ? t->back : t->forward;
        uint32_t n = kiln_prog_n_outputs(p);
        kiln_exec *f;
        if (back) memcpy(in + t->n, t->u, t->nu * sizeof *in);
        else memcpy(in + t->n, t->v + t->first, (t->nv - t->first) * sizeof *in);
        assert_ok(ctx, kiln_prog_eval(ctx, p, in, want));
        assert_ok(ctx, kiln_compile(ctx, p, NULL, &f));
        assert_ok(ctx, kiln_exec_call(ctx, f, in, got));
        for (uint32_t k = 0; k < n; k++)
            if (!same_array(got[k], want[k], NULL))
                fail_msg("%s, seed %llu, %s: compiled and interpreted differ", name, (unsigned long long)seed, back ? "vjp" : "linearize");
        release_arrays(want, n);
        release_arrays(got, n);
        kiln_exec_release(f);
    }
}

/* Takes over program and operands; floats get new numbers. true: there is no derivative in all operands. */
static bool examine(kiln_ctx *ctx, kiln_prog *p, kiln_array *const *in, uint32_t n, const char *name, uint64_t seed, unsigned *measured)
{
    instance t = {.p = p, .n = n};
    bool refused = false;
    uint64_t state = seed + 1;
    for (uint32_t i = 0; i < t.n; i++) t.x[i] = in[i];
    if (suits(t.p)) {
        for (uint32_t i = 0; i < t.n; i++) {
            if (!is_wide(in[i]->type)) continue;
            t.x[i] = random_like(ctx, in[i]->type, &state);
            t.v[t.nv++] = random_like(ctx, in[i]->type, &state);
            kiln_array_release(in[i]);
        }
        for (uint32_t i = 0; i < kiln_prog_n_outputs(t.p); i++)
            if (is_wide(kiln_prog_output_type(t.p, i))) t.u[t.nu++] = random_like(ctx, kiln_prog_output_type(t.p, i), &state);
        blind(&t, name);
        kiln_status forward = kiln_prog_linearize(ctx, t.p, NULL, 0, NULL, &t.forward);
        if (forward == KILN_UNSUPPORTED) {
            refused = true;
            forward = last_alone(ctx, &t);
        }
        uint32_t last = last_float(&t);
        if (forward != KILN_UNSUPPORTED) { /* what has a tangent has its transpose too */
            assert_ok(ctx, forward);
            assert_ok(ctx, kiln_prog_vjp(ctx, t.p, t.first ? &last : NULL, t.first ? 1 : 0, &t.back));
            check_transpose(ctx, &t, name, seed);
            *measured += !has_other_slope(name) && check_slope(ctx, &t, name, seed);
            if (seed % 13 == 0) check_compiled(ctx, &t, name, seed);
        }
    }
    release_arrays(t.x, t.n);
    release_arrays(t.v, t.nv);
    release_arrays(t.u, t.nu);
    kiln_prog_release(t.forward);
    kiln_prog_release(t.back);
    kiln_prog_release(t.p);
    return refused;
}

static bool one(kiln_ctx *ctx, const kn_prim *prim, const kn_sample_opts *opts, unsigned *measured)
{
    kiln_prog *p;
    kiln_array *in[KN_SAMPLE_INPUTS];
    uint32_t n;
    kiln_status s = kn_sample_program(ctx, prim, opts, &p, in, &n);
    if (s == KILN_DTYPE) return false;
    assert_ok(ctx, s);
    return examine(ctx, p, in, n, prim->name, opts->seed, measured);
}

/* Its derivative rounds too, so that it is linear up to rounding only. */
static bool rounds(const kn_prim *p) { return strcmp(p->name, "reduce_precision") == 0; }

/* Primitives on floats without a derivative: a root of a function that is not given; parts of qr and of the eigenvalue problems, whose rules are above them, and what every
 * factorisation is made of; the
 * derivatives of incomplete gamma functions in their order, whose own have no closed form. */
static const char *const without[] = {"CustomRoot", "geqp3", "geqrf", "hessenberg", "householder_product", "igamma_grad_a", "lapack", "ormqr",
                                      "random_gamma_grad", "rng_uniform", "schur", "tridiagonal"};
/* Those whose rule refuses some operands or parameters: the order of a special function, and factors with more columns than the matrix
 * determines, or eigenvectors of a general one. */
static const char *const in_part[] = {"eig", "polygamma", "qr", "regularized_incomplete_beta", "svd", "zeta"};
enum { N_WITHOUT = sizeof without / sizeof *without, N_IN_PART = sizeof in_part / sizeof *in_part };
static bool listed(const kn_prim *p)
{
    return p->jvp ? is_among(p->name, in_part, N_IN_PART) : is_among(p->name, without, N_WITHOUT);
}

/* Rules of which no slope is measured: no float goes in or comes out, or the function is a step. */
static bool has_no_slope(const kn_prim *p)
{
    static const char *const names[] = {"argmax", "argmin", "custom_lin", "eq", "eq_to", "ge", "gt", "is_finite", "le", "le_to",
                                        "lt", "lt_to", "ne", "reduce_precision", "SearchSorted"};
    return is_among(p->name, names, sizeof names / sizeof *names) || has_other_slope(p->name);
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
            for (uint64_t seed = 0; seed < SEEDS; seed++) {
                uint32_t complex = seed % 4 == 3 ? 1u << KILN_C128 : 0, floats = 1u << KILN_F64 | 1u << KILN_I32 | 1u << KILN_BOOL;
                refused |= one(*state, prims[i], &(kn_sample_opts){.seed = seed, .length = lengths[l], .dtypes = floats | complex}, &measured);
            }
        if (prims[i]->jvp && (measured == 0) != has_no_slope(prims[i])) fail_msg("%s: %u slopes were measured", prims[i]->name, measured);
        if (refused != listed(prims[i])) fail_msg("%s %s", prims[i]->name, refused ? "has lost a derivative" : "has derivatives: it is listed as without");
        found += refused;
    }
    assert_int_equal(found, N_WITHOUT + N_IN_PART);
}

/* What does not depend on the phases of eigenvectors and singular vectors: A = U diag(s) V^H and products with other diagonals. */
static const char *const phaseless[] = {
    "{ lambda ; a:c128[3,3]. let\n"
    "    t:c128[3,3] = transpose[permutation=(1, 0)] a; u:c128[3,3] = conj[input_dtype=complex128] t; h:c128[3,3] = add a u\n"
    "    v:c128[3,3] w:f64[3] = eigh[algorithm=None lower=True sort_eigenvalues=True subset_by_index=None] h\n"
    "    e:f64[3] = exp w; f:c128[3] = convert_element_type[new_dtype=complex128 weak_type=False] e\n"
    "    g:c128[1,3] = broadcast_in_dim[broadcast_dimensions=(1,)] f; i:c128[3,3] = mul v g\n"
    "    j:c128[3,3] = transpose[permutation=(1, 0)] v; k:c128[3,3] = conj[input_dtype=complex128] j\n"
    "    l:c128[3,3] = dot_general[dimension_numbers=(([1], [0]), ([], [])) preferred_element_type=complex128] i k\n"
    "  in (l, w) }\n",
#define SVD(m, n, k)                                                                                                  \
    "{ lambda ; a:c128[" m "," n "]. let\n"                                                                           \
    "    s:f64[" k "] u:c128[" m "," k "] v:c128[" k "," n "] = svd[algorithm=None compute_uv=True full_matrices=False subset_by_index=None] a\n" \
    "    e:f64[" k "] = exp s; f:c128[" k "] = convert_element_type[new_dtype=complex128 weak_type=False] e\n"       \
    "    g:c128[1," k "] = broadcast_in_dim[broadcast_dimensions=(1,)] f; i:c128[" m "," k "] = mul u g\n"           \
    "    l:c128[" m "," n "] = dot_general[dimension_numbers=(([1], [0]), ([], [])) preferred_element_type=complex128] i v\n" \
    "  in (l, s) }\n"
    SVD("3", "3", "3"), SVD("4", "2", "2"), SVD("2", "5", "2"),
};

static void test_phaseless(void **state)
{
    kiln_ctx *ctx = *state;
    for (size_t i = 0; i < sizeof phaseless / sizeof *phaseless; i++) {
        unsigned measured = 0;
        for (uint64_t seed = 0; seed < 20; seed++) {
            kiln_prog *p;
            kiln_array *a;
            assert_ok(ctx, kiln_prog_parse(ctx, phaseless[i], strlen(phaseless[i]), "text", &p));
            assert_ok(ctx, kiln_array_create(ctx, kiln_prog_input_type(p, 0), &a));
            assert_false(examine(ctx, p, &a, 1, "phaseless", seed, &measured));
        }
        assert_true(measured > 10);
    }
}

/* What is not differentiated works on integers, bits or keys, or is listed above; what is linear in its tangents by the rule that repeats
 * the equation has the transpose of that; and everything with operands has its rule for lanes. */
static void test_rules(void **state)
{
    static const char *const of_bits[] = {
        "after_all", "and", "clz", "create_token", "dim_as_value", "empty", "empty2", "int_pow", "iota", "lu_pivots_to_permutation", "mulhi", "not", "or", "platform_index", "population_count", "random_bits", "random_clone", "random_fold_in",
        "random_seed", "random_split", "random_unwrap", "random_wrap", "reduce_and", "reduce_or", "reduce_xor", "rng_bit_generator", "shift_left",
        "shift_right_arithmetic", "shift_right_logical", "threefry2x32", "xor",
    };
    (void)state;
    uint32_t n, bad = 0;
    const kn_prim *const *prims = kn_prims(&n);
    for (uint32_t i = 0; i < n; i++) {
        const kn_prim *p = prims[i];
        bool excepted = is_among(p->name, of_bits, sizeof of_bits / sizeof *of_bits) || is_among(p->name, without, N_WITHOUT);
        bool linear = p->jvp == kn_jvp_linear || p->jvp == kn_jvp_bilinear;
        if (excepted != !p->jvp) print_error("%s %s\n", p->name, p->jvp ? "has a derivative: it is listed as without" : "lacks a derivative"), bad++;
        if (linear && !p->transpose) print_error("%s lacks a transpose\n", p->name), bad++;
        if (p->nin && !p->batch) print_error("%s lacks a rule for lanes\n", p->name), bad++;
    }
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rules), cmocka_unit_test(test_phaseless), cmocka_unit_test(test_transpose)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
