/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions: precedence, functions, names, errors with their place, folding, evaluation of arrays. */
#include "testing.h"

#include "kiln/expr.h"

#include <math.h>

enum { VAR_I, VAR_T };

static bool resolve(void *ud, const char *name, kiln_expr_name *out)
{
    (void)ud;
    if (strcmp(name, "k") == 0) *out = (kiln_expr_name){.value = 3};
    else if (strcmp(name, "i") == 0) *out = (kiln_expr_name){.is_var = true, .var = VAR_I};
    else if (strcmp(name, "t") == 0) *out = (kiln_expr_name){.is_var = true, .var = VAR_T};
    else {
        out->hint = name[0] == 'k' ? "k" : NULL;
        return false;
    }
    return true;
}

static void fill(void *ud, uint32_t var, size_t first, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++) out[i] = var == VAR_I ? (double)(first + i) : *(double *)ud;
}

static kiln_status compile(kiln_ctx *ctx, const char *text, bool refs, kn_arena *arena, kiln_expr **out)
{
    kiln_expr_text src = {
        .size = sizeof src, .text = text, .file = "here", .line = 7, .column = 11, .refs = refs, .arena = arena};
    KILN_TRY(kiln_expr_parse(ctx, &src, out));
    kiln_status s = kiln_expr_bind(ctx, *out, resolve, NULL);
    if (s != KILN_OK) kiln_expr_release(*out);
    return s;
}

static const struct {
    const char *text;
    double value;
} values[] = {
    {"1", 1},
    {"  1.5e+2 ", 150},
    {".5", 0.5},
    {"1.", 1},
    {"1 + 2*3", 7},
    {"(1 + 2)*3", 9},
    {"10 - 4 - 3", 3},
    {"64/4/2", 8},
    {"7 % 4 * 2", 6},
    {"-7 % 4", -3},
    {"-2^2", -4},
    {"2^-1", 0.5},
    {"2^3^2", 512},
    {"2**10", 1024},
    {"2^-1*4", 2},
    {"--3", 3},
    {"+3", 3},
    {"-k^2", -9},
    {"1 < 2", 1},
    {"1 + 1 == 2", 1},
    {"1 < 2 == 3 > 2", 1},
    {"not 0 == 1", 1},
    {"!1 + 1", 0},
    {"2 * not 0 == 0", 0},
    {"1 or 0 and 0", 1},
    {"(1 or 0) and 0", 0},
    {"2 && 3 || 0", 1},
    {"0.1 or nan", 1},
    {"not not 5", 1},
    {"1 <= 1 and 1 >= 1 and 1 != 2", 1},
    {"pi", 3.14159265358979323846},
    {"e", 2.71828182845904523536},
    {"true + true + false", 2},
    {"inf", HUGE_VAL},
    {"min(3, 1, 2)", 1},
    {"max(3, k + 1, 2)", 4},
    {"min(1, nan)", NAN},
    {"clamp(5, 0, 1)", 1},
    {"clamp(-5, 0, 1)", 0},
    {"if(2, 10, 20)", 10},
    {"if(0, 10, 20)", 20},
    {"if(k > 2, k, -k)", 3},
    {"step(0)", 1},
    {"step(-1e-300)", 0},
    {"round(2.5)", 2},
    {"round(3.5)", 4},
    {"sign(-3) + sign(0)*10 + sign(9)*100", 99},
    {"sign(nan)", NAN},
    {"hypot(3, 4)", 5},
    {"pow(2, 0.5)", 1.4142135623730951},
    {"fmod(7.5, 2)", 1.5},
    {"atan2(0, -1)", 3.14159265358979323846},
    {"abs(-2) + sqrt(9) + cbrt(27) + floor(2.7) + ceil(2.1)", 13},
    {"exp(0) + expm1(0) + log(e) + log1p(0) + log2(8) + log10(100)", 7},
    {"sin(0) + cos(0) + tan(0) + asin(0) + acos(1) + atan(0) + sinh(0) + cosh(0) + tanh(0)", 2},
    {"1/0", HUGE_VAL},
    {"0/0", NAN},
    {"0.2*(1/64)^2/0.1", 0.2 * (1.0 / 4096) / 0.1},
};

static void test_values(void **state)
{
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        kiln_expr *e;
        assert_ok(*state, compile(*state, values[i].text, false, NULL, &e));
        double v = 0;
        assert_true(kiln_expr_constant(e, &v));
        if (!(v == values[i].value || (isnan(v) && isnan(values[i].value))))
            fail_msg("%s = %.17g, wanted %.17g", values[i].text, v, values[i].value);
        kiln_expr_release(e);
    }
}

static const struct {
    const char *text, *kind;
    int offset; /* characters */
    bool refs;
} errors[] = {
    {"", "expression-syntax", 0, false},
    {"   ", "expression-syntax", 0, false},
    {"1 +", "expression-syntax", 3, false},
    {"1 2", "expression-syntax", 2, false},
    {"(1 + 2", "expression-syntax", 6, false},
    {"1 + 2)", "expression-syntax", 5, false},
    {"(1, 2)", "expression-syntax", 2, false},
    {"1, 2", "expression-syntax", 1, false},
    {"* 2", "expression-syntax", 0, false},
    {"k(", "unknown-function", 0, false},
    {"sin", "unknown-name", 0, false},
    {"sin()", "expression-syntax", 4, false},
    {"sin(1, 2)", "expression-syntax", 0, false},
    {"1 + hypot(1)", "expression-syntax", 4, false},
    {"min(1)", "expression-syntax", 0, false},
    {"if(1, 2)", "expression-syntax", 0, false},
    {"sin(1", "expression-syntax", 5, false},
    {"1 & 2", "expression-syntax", 2, false},
    {"1 = 2", "expression-syntax", 2, false},
    {"a + $", "expression-syntax", 4, false},
    {"é", "expression-syntax", 0, false},
    {"kk + 1e", "expression-syntax", 6, false},
    {"1 or or 2", "expression-syntax", 5, false},
    {"2*k + kk", "unknown-name", 6, false},
    {"kk + jj", "unknown-name", 0, false},
    {"1 + cosine(kk)", "unknown-function", 4, false},
    {"1 + a.b", "unknown-name", 4, false},
    {"a.b[x]", "expression-syntax", 4, true},
    {"a.b[1.5]", "expression-syntax", 4, true},
    {"a.b[1", "expression-syntax", 5, true},
    {"a.b[0]]", "expression-syntax", 6, true},
    {"a.b[99999999999999999999]", "expression-syntax", 4, true},
};

static void test_errors(void **state)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        kiln_expr *e;
        const kiln_diag *d = kiln_ctx_error(*state);
        assert_int_not_equal(compile(*state, errors[i].text, errors[i].refs, NULL, &e), KILN_OK);
        if (strcmp(d->kind, errors[i].kind) != 0 || d->line != 7 || d->column != 11 + errors[i].offset)
            fail_msg("'%s': %s at %d, wanted %s at %d", errors[i].text, d->kind, d->column - 11, errors[i].kind,
                     errors[i].offset);
    }
    kiln_expr *e;
    assert_int_equal(compile(*state, "1 + kk", false, NULL, &e), KILN_NOTFOUND);
    assert_says(*state, "did you mean 'k'?");
    assert_int_equal(compile(*state, "sinn(1)", false, NULL, &e), KILN_NOTFOUND);
    assert_says(*state, "did you mean 'sin'?");
}

static void test_arrays(void **state)
{
    enum { N = 1000 };
    kiln_expr *e;
    double t = 0.25, *v = malloc(N * sizeof *v);
    assert_non_null(v);
    assert_ok(*state,
              compile(*state, "if(i < 10, -1, sin(i*t)^2 + min(i, 500, k*t)) + 0*clamp(i, 1, 2)", false, NULL, &e));
    assert_false(kiln_expr_constant(e, NULL));
    assert_int_equal(kiln_expr_vars(e), 1u << VAR_I | 1u << VAR_T);
    assert_ok(*state, kiln_expr_eval(*state, e, N, fill, &t, NULL, v));
    for (int i = 0; i < N; i++) {
        double s = sin(i * t), want = i < 10 ? -1 : s * s + fmin(fmin(i, 500), 3 * t);
        assert_true(v[i] == want);
    }
    kiln_expr_release(e);
    assert_ok(*state, compile(*state, "t", false, NULL, &e));
    assert_ok(*state, kiln_expr_eval(*state, e, 1, fill, &t, NULL, v));
    assert_true(v[0] == 0.25);
    kiln_expr_release(e);
    assert_ok(*state, compile(*state, "2*k", false, NULL, &e));
    assert_ok(*state, kiln_expr_eval(*state, e, N, NULL, NULL, NULL, v));
    assert_true(v[0] == 6 && v[N - 1] == 6);
    kiln_expr_release(e);
    free(v);
}

/* Constants are folded, a square is a product, what the root does not need is gone. */
static void test_folding(void **state)
{
    kiln_expr *e;
    size_t n;
    assert_ok(*state, compile(*state, "(1 + k)*i^2", false, NULL, &e));
    const kiln_expr_node *nodes = kiln_expr_nodes(e, &n);
    assert_int_equal(n, 4);
    assert_int_equal(nodes[0].op, KILN_EXPR_CONST);
    assert_true(nodes[0].value == 4);
    assert_int_equal(nodes[1].op, KILN_EXPR_VAR);
    assert_int_equal(nodes[2].op, KILN_EXPR_MUL);
    assert_int_equal(nodes[2].arg[0], 1);
    assert_int_equal(nodes[2].arg[1], 1);
    assert_int_equal(nodes[3].arg[0], 0);
    assert_int_equal(nodes[3].arg[1], 2);
    kiln_expr_release(e);
}

static void test_refs(void **state)
{
    kiln_expr *e;
    const kiln_expr_ref *ref;
    kn_arena arena;
    kn_arena_init(&arena, NULL);
    assert_ok(*state, compile(*state, "0.1 + 2*rod.temperature[ - 3 ]", true, &arena, &e));
    assert_int_equal(kiln_expr_refs(e, &ref), 1);
    assert_string_equal(ref->node, "rod");
    assert_string_equal(ref->field, "temperature");
    assert_true(ref->indexed);
    assert_int_equal(ref->index, -3);
    assert_int_equal(ref->offset, 8);
    assert_int_equal(ref->field_offset, 12);
    assert_int_equal(ref->index_offset, 23);
    double in[2] = {1, 2}, out[2];
    assert_ok(*state, kiln_expr_eval(*state, e, 2, NULL, NULL, in, out));
    assert_true(out[0] == 0.1 + 2 && out[1] == 0.1 + 4);
    assert_ok(*state, compile(*state, "a.x - b.y", true, &arena, &e));
    assert_int_equal(kiln_expr_refs(e, &ref), 2);
    assert_string_equal(ref->node, "a");
    assert_ok(*state, compile(*state, "1", true, &arena, &e));
    assert_int_equal(kiln_expr_refs(e, &ref), 0);
    assert_null(ref);
    kiln_expr_release(e); /* of an arena: nothing to do */
    kn_arena_fini(&arena);
}

/* Nesting costs memory, not call stack. */
static void test_depth(void **state)
{
    enum { DEEP = 200000 };
    char *s = malloc(3 * DEEP + 2);
    assert_non_null(s);
    memset(s, '(', DEEP);
    s[DEEP] = 'i';
    memset(s + DEEP + 1, ')', DEEP);
    s[2 * DEEP + 1] = 0;
    kiln_expr *e;
    assert_ok(*state, compile(*state, s, false, NULL, &e));
    kiln_expr_release(e);
    memset(s, '-', DEEP);
    s[DEEP + 1] = 0;
    assert_ok(*state, compile(*state, s, false, NULL, &e));
    double t = 0, v;
    assert_ok(*state, kiln_expr_eval(*state, e, 1, fill, &t, NULL, &v));
    assert_true(v == 0);
    kiln_expr_release(e);
    free(s);
}

static void test_reserved(void **state)
{
    (void)state;
    const char *const yes[] = {"pi", "e", "true", "sin", "clamp", "if", "step", "and", "not"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) assert_true(kiln_expr_reserved(yes[i]));
    assert_false(kiln_expr_reserved("k"));
    assert_false(kiln_expr_reserved("timestep"));
    assert_string_equal(kiln_status_name(KILN_OK), "OK");
}

static void test_no_memory(void **state)
{
    (void)state;
    bool failed = true;
    for (int n = 1; failed; n++) {
        kiln_ctx *ctx = test_ctx_failing(n);
        if (!ctx) continue;
        kiln_expr *e = NULL;
        double v[300], t = 1;
        kiln_status s = compile(
            ctx,
            "clamp(i, 1, 2) + min(k, t, 3) + 1e-10000000000000000000000000000000000000000000000000000000000000000",
            false, NULL, &e);
        if (s == KILN_OK) {
            s = kiln_expr_eval(ctx, e, 300, fill, &t, NULL, v);
            kiln_expr_release(e);
        }
        failed = test_ctx_failed(ctx);
        assert_int_equal(s, failed ? KILN_NOMEM : KILN_OK);
        test_ctx_release(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),   cmocka_unit_test(test_errors),    cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_folding),  cmocka_unit_test(test_refs),      cmocka_unit_test(test_depth),
        cmocka_unit_test(test_reserved), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("expr", tests, test_setup, test_teardown);
}
