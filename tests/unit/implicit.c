/* SPDX-License-Identifier: Apache-2.0 */
/* Roots, fixed points and linear solves of traces: their derivatives are those of the implicit function theorem, in every mode and order;
 * and calls with derivatives of their own. */
#include "kiln/exec.h"
#include "kiln/trace.h"
#include "kiln/transform.h"
#include "same.h"
#include "testing.h"

#include <math.h>

enum { MOST = 8, ROOM = 64 };

/* Results of a word, flat; interpreted and compiled to the same bits. */
static uint32_t run(kiln_ctx *ctx, kiln_prog *f, const char *word, const char *const *in, double *out)
{
    kiln_array *v[MOST], *got[MOST], *want[MOST];
    kiln_type types[MOST];
    kiln_exec *exec;
    kiln_prog *p;
    uint32_t n = 0, at = 0;
    for (; in[n]; n++) {
        assert_ok(ctx, kiln_array_parse(ctx, in[n], &v[n]));
        types[n] = kiln_array_type(v[n]);
    }
    if (word) assert_ok(ctx, kiln_prog_transform(ctx, f, word, types, n, &p));
    else p = kiln_prog_retain(f);
    assert_int_equal(kiln_prog_n_inputs(p), n);
    assert_ok(ctx, kiln_prog_eval(ctx, p, v, want));
    assert_ok(ctx, kiln_compile(ctx, p, NULL, &exec));
    assert_ok(ctx, kiln_exec_call(ctx, exec, v, got));
    for (uint32_t k = 0; k < kiln_prog_n_outputs(p); k++) {
        assert_true(same_array(got[k], want[k], NULL));
        for (int64_t i = 0; i < kiln_type_size(got[k]->type); i++) {
            kn_scalar s = kn_scalar_load(got[k]->type.dtype, got[k]->data, i);
            assert_true(at < ROOM);
            out[at++] = kiln_dtype_kind(got[k]->type.dtype) == 'f' ? s.f : (double)s.i;
        }
        kiln_array_release(got[k]);
        kiln_array_release(want[k]);
    }
    for (uint32_t i = 0; i < n; i++) kiln_array_release(v[i]);
    kiln_exec_release(exec);
    kiln_prog_release(p);
    return at;
}
static void check(kiln_ctx *ctx, kiln_prog *f, const char *word, const char *const *in, double tolerance, const double *want, uint32_t n, int line)
{
    double got[ROOM];
    uint32_t m = run(ctx, f, word, in, got);
    bool good = n == m;
    for (uint32_t i = 0; i < n && i < m; i++)
        if (!(fabs(got[i] - want[i]) <= tolerance * (1 + fabs(want[i])))) {
            print_error("%s: number %u is %.17g, wanted %.17g\n", word ? word : "value", i, got[i], want[i]);
            good = false;
        }
    if (m != n) print_error("%u numbers, wanted %u\n", m, n);
    if (!good) _fail(__FILE__, line);
}
#define IN(...) ((const char *const[]){__VA_ARGS__, NULL})
#define CHECK(word, in, tolerance, ...)                                                                               \
    check(ctx, f, (word), (in), (tolerance), (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double), __LINE__)

/* ---- a root of one unknown: x x x = a, by Newton's method in a loop of its own ---- */

typedef struct cube {
    kiln_val a;
    kiln_linear_solve_fn tangent;
} cube;
static void cube_less_a(kiln_trace *t, void *user, const kiln_val *x, kiln_val *out)
{
    const cube *c = user;
    out[0] = kiln_sub(t, kiln_mul(t, kiln_mul(t, x[0], x[0]), x[0]), c->a);
}
static kiln_val off(kiln_trace *t, void *user, const kiln_val *c)
{
    kiln_val f;
    cube_less_a(t, user, c, &f);
    return kiln_and(t, kiln_gt(t, kiln_abs(t, f), kiln_num(t, 1e-15)), kiln_lt(t, c[1], kiln_num(t, 100)));
}
static void newton(kiln_trace *t, void *user, const kiln_val *c, kiln_val *next)
{
    kiln_val f;
    cube_less_a(t, user, c, &f);
    next[0] = kiln_sub(t, c[0], kiln_div(t, f, kiln_mul(t, kiln_num(t, 3), kiln_mul(t, c[0], c[0]))));
    next[1] = kiln_add(t, c[1], kiln_num(t, 1));
}
static void solve_cube(kiln_trace *t, void *user, const kiln_val *guess, kiln_val *out)
{
    const kiln_val init[] = {guess[0], kiln_int(t, KILN_I32, 0)};
    kiln_while(t, off, newton, user, init, 2, out);
}
static void divide(kiln_trace *t, void *user, const kiln_linear *a, const kiln_val *b, kiln_val *x)
{
    kiln_val one = kiln_scalar(t, KILN_F64, 1), slope;
    assert_null(user);
    assert_int_equal(kiln_linear_n(a), 1);
    kiln_linear_apply(t, a, &one, &slope);
    x[0] = kiln_div(t, b[0], slope);
}
static kiln_prog *cube_root(kiln_ctx *ctx, kiln_linear_solve_fn tangent, bool aux)
{
    kiln_trace *t;
    kiln_prog *p;
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    cube c = {kiln_input(t, "a", KILN_SCALAR(KILN_F64)), NULL};
    kiln_val guess = kiln_input(t, "guess", KILN_SCALAR(KILN_F64)), x[2];
    const kiln_root root = {.f = cube_less_a, .f_user = &c, .solve = solve_cube, .solve_user = &c, .n_aux = 1, .tangent_solve = tangent};
    kiln_custom_root(t, &root, &guess, 1, x);
    kiln_output(t, "x", x[0]);
    if (aux) kiln_output(t, "trips", x[1]);
    assert_ok(ctx, kiln_trace_finish(t, &p));
    return p;
}

static void one_unknown(void **state)
{
    static const kiln_linear_solve_fn ways[] = {divide, NULL, kiln_solve_bicgstab};
    kiln_ctx *ctx = *state;
    for (size_t i = 0; i < 3; i++) {
        kiln_prog *f = cube_root(ctx, ways[i], false);
        const double d1 = 1.0 / 12, d2 = -2.0 / 9 * pow(8, -5.0 / 3), d3 = 10.0 / 27 * pow(8, -8.0 / 3), tol = 1e-12;
        CHECK(NULL, IN("f64[]:8", "f64[]:1"), tol, 2);
        CHECK("jvp", IN("f64[]:8", "f64[]:1", "f64[]:3", "f64[]:100"), tol, 2, 3 * d1);
        CHECK("vjp", IN("f64[]:8", "f64[]:1", "f64[]:3"), tol, 3 * d1, 0);
        CHECK("grad:0", IN("f64[]:8", "f64[]:1"), tol, d1);
        CHECK("hessian:0", IN("f64[]:8", "f64[]:1"), tol, d2);
        CHECK("grad:0(grad:0(grad:0))", IN("f64[]:8", "f64[]:1"), tol, d3);
        CHECK("jvp:0(grad:0)", IN("f64[]:8", "f64[]:1", "f64[]:1"), tol, d1, d2);
        CHECK("vmap:0,None", IN("f64[3]:8,27,1", "f64[]:1"), tol, 2, 3, 1);
        CHECK("vmap:0,0(grad:0)", IN("f64[3]:8,27,1", "f64[3]:1,2,5"), tol, d1, 1.0 / 27, 1.0 / 3);
        CHECK("grad:0(sum(vmap:0,None))", IN("f64[3]:8,27,1", "f64[]:1"), tol, d1, 1.0 / 27, 1.0 / 3);
        CHECK("vmap:0,None(hessian:0)", IN("f64[2]:8,8", "f64[]:1"), tol, d2, d2);
        CHECK("grad:0(checkpoint)", IN("f64[]:8", "f64[]:1"), tol, d1);
        kiln_prog_release(f);
    }
    kiln_prog *f = cube_root(ctx, NULL, true);
    double got[ROOM];
    assert_int_equal(run(ctx, f, NULL, IN("f64[]:8", "f64[]:1"), got), 2);
    assert_true(got[1] > 3 && got[1] < 20);
    assert_int_equal(run(ctx, f, "value_and_grad:0", IN("f64[]:8", "f64[]:1"), got), 3);
    assert_true(fabs(got[2] - 1.0 / 12) < 1e-13);
    kiln_prog_release(f);
}

/* The steps of the solver are not differentiated: there is no while in the transposed half, whatever the solver does. */
static void no_loop_backwards(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_prog *f = cube_root(ctx, divide, false), *p;
    char *text;
    size_t n, loops = 0;
    assert_ok(ctx, kiln_prog_grad(ctx, f, (uint32_t[]){0}, 1, false, &p));
    assert_ok(ctx, kiln_prog_print(ctx, p, 0, &text, &n));
    for (const char *s = text; (s = strstr(s, "= while")); s++) loops++;
    assert_int_equal(loops, 1); /* that which finds the root */
    kiln_text_free(ctx, text, n);
    kiln_prog_release(p);
    kiln_prog_release(f);
}

/* ---- fixed points ---- */

/* x = cos(m x) + b, of 2 unknowns in one array; or y = sin(z)/2 + b, z = y z_/4 in two of different shapes. */
static void cosine(kiln_trace *t, void *user, const kiln_val *x, kiln_val *out)
{
    const kiln_val *p = user; /* m, b */
    kiln_val mx = kiln_dot(t, p[0], x[0], ((int64_t[]){1}), ((int64_t[]){0}), 1, NULL, NULL, 0);
    out[0] = kiln_add(t, kiln_cos(t, mx), p[1]);
}

static void fixed_points(void **state)
{
    static const kiln_linear_solve_fn ways[] = {NULL, kiln_solve_bicgstab};
    kiln_ctx *ctx = *state;
    for (size_t i = 0; i < 2; i++) {
        kiln_trace *t;
        kiln_prog *f;
        kiln_val p[2], x[2], zero;
        assert_ok(ctx, kiln_trace_begin(ctx, &t));
        p[0] = kiln_input(t, "m", (kiln_type){KILN_F64, 2, (int64_t[]){2, 2}});
        p[1] = kiln_input(t, "b", KILN_VECTOR(KILN_F64, 2));
        zero = kiln_broadcast(t, kiln_scalar(t, KILN_F64, 0), 1, ((int64_t[]){2}), NULL);
        kiln_fixed_point(t, cosine, p, (&(kiln_fixed_point_opts){.tangent_solve = ways[i]}), &zero, 1, x);
        kiln_output(t, "x", x[0]);
        assert_ok(ctx, kiln_trace_finish(t, &f));
        const char *m = "f64[2,2]:0.3,-0.2,0.1,0.25", *b = "f64[2]:0.5,-0.1";
        const double mm[2][2] = {{0.3, -0.2}, {0.1, 0.25}}, bb[2] = {0.5, -0.1};
        double y[2] = {0, 0}, s[2], a[2][2];
        for (int k = 0; k < 200; k++) {
            double u = cos(mm[0][0] * y[0] + mm[0][1] * y[1]) + bb[0], v = cos(mm[1][0] * y[0] + mm[1][1] * y[1]) + bb[1];
            y[0] = u, y[1] = v;
        }
        /* x = g(x) + b: dx = (1 - G)^-1 db, G = -diag(sin(m x)) m */
        for (int k = 0; k < 2; k++) s[k] = sin(mm[k][0] * y[0] + mm[k][1] * y[1]);
        for (int r = 0; r < 2; r++)
            for (int c = 0; c < 2; c++) a[r][c] = (r == c) + s[r] * mm[r][c];
        double det = a[0][0] * a[1][1] - a[0][1] * a[1][0];
        const double inv[4] = {a[1][1] / det, -a[0][1] / det, -a[1][0] / det, a[0][0] / det};
        CHECK(NULL, IN(m, b), 1e-12, y[0], y[1]);
        CHECK("jacfwd:1", IN(m, b), 1e-11, inv[0], inv[1], inv[2], inv[3]);
        CHECK("jacrev:1", IN(m, b), 1e-11, inv[0], inv[1], inv[2], inv[3]);
        /* d x_i / d m_jk = -inv_ij s_j x_k */
        double dm[8];
        for (int q = 0; q < 8; q++) dm[q] = -inv[q / 4 * 2 + q / 2 % 2] * s[q / 2 % 2] * y[q % 2];
        CHECK("jacrev:0", IN(m, b), 1e-11, dm[0], dm[1], dm[2], dm[3], dm[4], dm[5], dm[6], dm[7]);
        CHECK("jacfwd:0", IN(m, b), 1e-11, dm[0], dm[1], dm[2], dm[3], dm[4], dm[5], dm[6], dm[7]);
        CHECK("vmap:None,0(jacfwd:1)", IN(m, "f64[2,2]:0.5,-0.1,0.5,-0.1"), 1e-11, inv[0], inv[1], inv[2], inv[3], inv[0], inv[1], inv[2], inv[3]);
        kiln_prog_release(f);
    }
}

static void two(kiln_trace *t, void *user, const kiln_val *x, kiln_val *out)
{
    const kiln_val *p = user; /* a scalar and a vector */
    out[0] = kiln_mul(t, kiln_num(t, 0.25), kiln_add(t, p[0], kiln_sum_all(t, x[1])));
    out[1] = kiln_mul(t, kiln_num(t, 0.5), kiln_sub(t, p[1], kiln_mul(t, x[0], x[1])));
}
/* Unknowns of different shapes: slopes by differences. */
static void two_unknowns(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_trace *t;
    kiln_prog *f;
    kiln_val p[2], x[3], guess[2];
    double up[ROOM], down[ROOM], got[ROOM];
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    p[0] = kiln_input(t, "a", KILN_SCALAR(KILN_F64));
    p[1] = kiln_input(t, "b", KILN_VECTOR(KILN_F64, 2));
    guess[0] = kiln_scalar(t, KILN_F64, 0);
    guess[1] = kiln_mul(t, p[1], kiln_num(t, 0));
    kiln_fixed_point(t, two, p, NULL, guess, 2, x);
    kiln_output(t, "x", x[0]);
    kiln_output(t, "y", x[1]);
    kiln_output(t, "trips", x[2]);
    assert_ok(ctx, kiln_trace_finish(t, &f));
    assert_int_equal(run(ctx, f, "jacrev:0", IN("f64[]:0.3", "f64[2]:1,0.5"), got), 3);
    assert_int_equal(run(ctx, f, NULL, IN("f64[]:0.30001", "f64[2]:1,0.5"), up), 4);
    run(ctx, f, NULL, IN("f64[]:0.29999", "f64[2]:1,0.5"), down);
    for (int i = 0; i < 3; i++) assert_true(fabs((up[i] - down[i]) / 2e-5 - got[i]) < 1e-7);
    assert_true(up[3] > 2 && up[3] < 100);
    double again[ROOM];
    run(ctx, f, "jacfwd:0", IN("f64[]:0.3", "f64[2]:1,0.5"), again);
    for (int i = 0; i < 3; i++) assert_true(fabs(again[i] - got[i]) < 1e-12);
    kiln_prog_release(f);
}

/* ---- linear solves ---- */

static void product(kiln_trace *t, void *user, const kiln_val *x, kiln_val *y)
{
    y[0] = kiln_dot(t, *(const kiln_val *)user, x[0], ((int64_t[]){1}), ((int64_t[]){0}), 1, NULL, NULL, 0);
}
static void linear(void **state)
{
    static const kiln_linear_solve_fn ways[] = {NULL, kiln_solve_dense, kiln_solve_bicgstab};
    kiln_ctx *ctx = *state;
    for (size_t i = 0; i < 3; i++) {
        kiln_trace *t;
        kiln_prog *f;
        kiln_val a, b, x;
        assert_ok(ctx, kiln_trace_begin(ctx, &t));
        a = kiln_input(t, "a", (kiln_type){KILN_F64, 2, (int64_t[]){2, 2}});
        b = kiln_input(t, "b", KILN_VECTOR(KILN_F64, 2));
        kiln_custom_linear_solve(t, product, &a, ways[i], NULL, false, &b, 1, &x);
        kiln_output(t, "x", x);
        assert_ok(ctx, kiln_trace_finish(t, &f));
        /* A = (2 1; 0 4): inverse (1/2 -1/8; 0 1/4); b = (3, 4): x = (1, 1) */
        CHECK(NULL, IN("f64[2,2]:2,1,0,4", "f64[2]:3,4"), 1e-13, 1, 1);
        CHECK("jacrev:1", IN("f64[2,2]:2,1,0,4", "f64[2]:3,4"), 1e-13, 0.5, -0.125, 0, 0.25);
        CHECK("jacfwd:1", IN("f64[2,2]:2,1,0,4", "f64[2]:3,4"), 1e-13, 0.5, -0.125, 0, 0.25);
        /* d x_i / d a_jk = -inv_ij x_k */
        CHECK("jacrev:0", IN("f64[2,2]:2,1,0,4", "f64[2]:3,4"), 1e-13, -0.5, -0.5, 0.125, 0.125, 0, 0, -0.25, -0.25);
        CHECK("jacfwd:0", IN("f64[2,2]:2,1,0,4", "f64[2]:3,4"), 1e-13, -0.5, -0.5, 0.125, 0.125, 0, 0, -0.25, -0.25);
        CHECK("vmap:None,0", IN("f64[2,2]:2,1,0,4", "f64[2,2]:3,4,2,0"), 1e-13, 1, 1, 1, 0);
        kiln_prog_release(f);
    }
}

static void diagonal(kiln_trace *t, void *user, const kiln_val *x, kiln_val *y)
{
    const kiln_val *d = user; /* a diagonal and what couples neighbours */
    int64_t n = kiln_val_type(t, x[0]).dims[0];
    kiln_val left = kiln_pad(t, x[0], kiln_scalar(t, KILN_F64, 0), ((int64_t[]){1}), ((int64_t[]){-1}), ((int64_t[]){0}));
    kiln_val right = kiln_pad(t, x[0], kiln_scalar(t, KILN_F64, 0), ((int64_t[]){-1}), ((int64_t[]){1}), ((int64_t[]){0}));
    assert_true(n == 200);
    y[0] = kiln_sub(t, kiln_mul(t, d[0], x[0]), kiln_add(t, left, right));
}
/* Many unknowns without a matrix. */
static void many_unknowns(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_trace *t;
    kiln_prog *f;
    kiln_val d, b, x;
    double up[ROOM], down[ROOM], got[ROOM];
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    d = kiln_input(t, "d", KILN_SCALAR(KILN_F64));
    b = kiln_input(t, "b", KILN_VECTOR(KILN_F64, 200));
    kiln_custom_linear_solve(t, diagonal, &d, NULL, NULL, true, &b, 1, &x);
    kiln_output(t, "x", kiln_sum_all(t, kiln_mul(t, x, x)));
    assert_ok(ctx, kiln_trace_finish(t, &f));
    run(ctx, f, "grad:0", IN("f64[]:3", "f64[200]:1"), got);
    run(ctx, f, NULL, IN("f64[]:3.0001", "f64[200]:1"), up);
    run(ctx, f, NULL, IN("f64[]:2.9999", "f64[200]:1"), down);
    assert_true(fabs((up[0] - down[0]) / 2e-4 - got[0]) < 1e-5 * fabs(got[0]));
    kiln_prog_release(f);
}

/* ---- calls with derivatives of their own ---- */

static void square(kiln_trace *t, void *user, const kiln_val *in, kiln_val *out)
{
    (void)user;
    out[0] = kiln_mul(t, in[0], in[0]);
}
static void thrice_jvp(kiln_trace *t, void *user, const kiln_val *in, kiln_val *out)
{
    square(t, user, in, out);
    out[1] = kiln_mul(t, in[1], kiln_num(t, 3));
}
static void square_fwd(kiln_trace *t, void *user, const kiln_val *in, kiln_val *out)
{
    square(t, user, in, out);
    out[1] = in[0];
}
static void seven_bwd(kiln_trace *t, void *user, const kiln_val *in, kiln_val *out)
{
    (void)user;
    out[0] = kiln_mul(t, kiln_mul(t, in[0], in[1]), kiln_num(t, 7));
}
static void twice_sin(kiln_trace *t, void *user, const kiln_val *in, kiln_val *out)
{
    kiln_val kept = kiln_name(t, kiln_sin(t, in[0]), "kept");
    out[0] = kiln_mul(t, kiln_exp(t, kept), *(const kiln_val *)user);
}
static void calls(void **state)
{
    kiln_ctx *ctx = *state;
    kiln_trace *t;
    kiln_prog *f;
    kiln_val x, y[4];
    const char *const kept[] = {"kept"};
    assert_ok(ctx, kiln_trace_begin(ctx, &t));
    x = kiln_input(t, "x", KILN_SCALAR(KILN_F64));
    kiln_custom_jvp(t, "thrice", square, thrice_jvp, NULL, &x, 1, &y[0], 1);
    kiln_custom_vjp(t, "seven", square, square_fwd, seven_bwd, NULL, &x, 1, 1, &y[1], 1);
    kiln_checkpoint(t, twice_sin, &x, &x, 1, kept, 1, &y[2], 1);
    y[3] = kiln_mul(t, x, kiln_stop_gradient(t, kiln_mul(t, x, x)));
    for (int i = 0; i < 4; i++) kiln_output(t, "", y[i]);
    assert_ok(ctx, kiln_trace_finish(t, &f));
    const double e = exp(sin(2));
    CHECK(NULL, IN("f64[]:2"), 1e-14, 4, 4, 2 * e, 8);
    CHECK("jacrev:0", IN("f64[]:2"), 1e-14, 3, 14, e + 2 * e * cos(2), 4);
    CHECK("vmap:0(jacrev:0)", IN("f64[2]:2,1"), 1e-14, 3, 3, 14, 7, e + 2 * e * cos(2), exp(sin(1)) * (1 + cos(1)), 4, 1);
    kiln_prog_release(f);
}

/* ---- refusals ---- */

static void two_results(kiln_trace *t, void *user, const kiln_val *in, kiln_val *out)
{
    (void)user;
    out[0] = kiln_broadcast(t, in[0], 1, ((int64_t[]){2}), NULL);
}
static void captures(kiln_trace *t, void *user, const kiln_val *in, kiln_val *out) { out[0] = kiln_mul(t, in[0], *(const kiln_val *)user); }
static void squares(kiln_trace *t, void *user, const kiln_val *in, kiln_val *out) { square(t, user, in, out); }

static void refused(void **state)
{
    kiln_ctx *ctx = *state;
    for (int k = 0; k < 7; k++) {
        kiln_trace *t;
        kiln_prog *p;
        kiln_val x, i, y[3];
        assert_ok(ctx, kiln_trace_begin(ctx, &t));
        x = kiln_input(t, "x", KILN_SCALAR(KILN_F64));
        i = kiln_input(t, "i", KILN_SCALAR(KILN_I32));
        const kiln_root bad = {.f = two_results, .solve = square}, good = {.f = square, .solve = two_results};
        const char *const names[] = {"a,b"};
        static const char *const says[] = {"result 0 is f64[2], the unknown is f64[]", "result 0 is f64[2], the unknown is f64[]", "unknown 0 is i32[]",
                                           "no transpose rule\0", "f64[] is used inside, and is no operand", "is no name", "result 1 of the derivative is"};
        switch (k) {
        case 0: kiln_custom_root(t, &bad, &x, 1, y); break;
        case 1: kiln_custom_root(t, &good, &x, 1, y); break;
        case 2: kiln_fixed_point(t, square, NULL, NULL, &i, 1, y); break;
        case 3: kiln_custom_linear_solve(t, squares, NULL, NULL, NULL, false, &x, 1, y); break;
        case 4: kiln_custom_jvp(t, "f", captures, captures, &x, &x, 1, y, 1); break;
        case 5: kiln_checkpoint(t, square, NULL, &x, 1, names, 1, y, 1); break;
        default: kiln_custom_jvp(t, "f", square, two_results, NULL, &x, 1, y, 1); break;
        }
        kiln_output(t, "y", y[0]);
        kiln_status s = kiln_trace_finish(t, &p);
        assert_int_not_equal(s, KILN_OK);
        if (k != 3 && k != 6) assert_says(ctx, says[k]);
    }
}

static void no_memory(void **state)
{
    (void)state;
    for (int n = 1, failed = 1; failed; n += n < 200 ? 1 : 7) {
        kiln_ctx *ctx = test_ctx_failing(n);
        if (!ctx) continue;
        kiln_trace *t;
        kiln_prog *p = NULL, *g = NULL;
        kiln_status s = kiln_trace_begin(ctx, &t);
        if (s == KILN_OK) {
            cube c = {kiln_input(t, "a", KILN_SCALAR(KILN_F64)), NULL};
            kiln_val guess = kiln_input(t, "guess", KILN_SCALAR(KILN_F64)), x[2];
            const kiln_root root = {.f = cube_less_a, .f_user = &c, .solve = solve_cube, .solve_user = &c, .n_aux = 1};
            kiln_custom_root(t, &root, &guess, 1, x);
            kiln_output(t, "x", x[0]);
            s = kiln_trace_finish(t, &p);
        }
        if (s == KILN_OK) s = kiln_prog_grad(ctx, p, (uint32_t[]){0}, 1, false, &g);
        failed = test_ctx_failed(ctx);
        assert_int_equal(s, failed ? KILN_NOMEM : KILN_OK);
        kiln_prog_release(p);
        kiln_prog_release(g);
        test_ctx_release(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_unknown), cmocka_unit_test(no_loop_backwards), cmocka_unit_test(fixed_points), cmocka_unit_test(two_unknowns),
        cmocka_unit_test(linear),      cmocka_unit_test(many_unknowns),     cmocka_unit_test(calls),        cmocka_unit_test(refused),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
