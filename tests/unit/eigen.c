/* SPDX-License-Identifier: Apache-2.0 */
/* Factors are factors: what is multiplied together again is the matrix, and orthogonal changes keep sums of squares. Each program gives one
 * number that is zero up to rounding. */
#include "array/array.h"
#include "kiln/kiln.h"
#include "testing.h"

#define A "f64[4,4]"
#define MUL(out, x, y) "    " out ":" A " = dot_general[dimension_numbers=(([1], [0]), ([], [])) preferred_element_type=float64] " x " " y "\n"
#define APART(x, y, type) "    r0:" type " = sub " x " " y "\n    r1:f64[4,4] = abs r0\n    r2:f64[] = reduce_max[axes=(0, 1)] r1\n  in (r2,) }\n"
#define NEAR(x, y) "    r0:f64[] = sub " x " " y "\n    r1:f64[] = abs r0\n  in (r1,) }\n"
/* sum of x^2 where row <= column + by */
#define UPPER_SQUARES(out, x, by)                                                                                           \
    "    i" out ":i32[4,4] = iota[dimension=0 dtype=int32 shape=(4, 4)]\n    j" out ":i32[4,4] = iota[dimension=1 dtype=int32 shape=(4, 4)]\n" \
    "    k" out ":i32[4,4] = add j" out " " by ":i32[]\n    l" out ":bool[4,4] = le i" out " k" out "\n"                     \
    "    m" out ":f64[4,4] = broadcast_in_dim[broadcast_dimensions=() shape=(4, 4)] 0.0:f64[]\n    n" out ":f64[4,4] = select_n l" out " m" out " " x "\n" \
    "    o" out ":f64[4,4] = mul n" out " n" out "\n    " out ":f64[] = reduce_sum[axes=(0, 1)] o" out "\n"

static const char *const programs[] = {
    "{ lambda ; a:" A ". let\n    t:" A " z:" A " = schur[compute_schur_vectors=True select_callable=None sort_eig_vals=False] a\n"
    "    y:" A " = transpose[permutation=(1, 0)] z\n" MUL("b", "z", "t") MUL("c", "b", "y") APART("c", "a", A),

    "{ lambda ; a:" A ". let\n    w:c128[4] v:c128[4,4] = eig[compute_left_eigenvectors=False compute_right_eigenvectors=True implementation=None] a\n"
    "    c:c128[4,4] = convert_element_type[new_dtype=complex128 weak_type=False] a\n"
    "    d:c128[4,4] = dot_general[dimension_numbers=(([1], [0]), ([], [])) preferred_element_type=complex128] c v\n"
    "    e:c128[1,4] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(1, 4)] w\n    f:c128[4,4] = mul v e\n" APART("d", "f", "c128[4,4]"),

    "{ lambda ; a:" A ". let\n    q:" A " t:f64[4] = geqrf a\n    p:" A " = householder_product q t\n    u:" A " = transpose[permutation=(1, 0)] p\n"
    MUL("b", "u", "a") "    c:" A " = ormqr[left=True transpose=True] q t a\n" APART("b", "c", A),

    "{ lambda ; a:" A ". let\n    q:" A " t:f64[4] = geqrf a\n    p:" A " = householder_product q t\n" MUL("b", "a", "p")
    "    c:" A " = ormqr[left=False transpose=False] q t a\n" APART("b", "c", A),

    "{ lambda ; a:" A ". let\n    z:i32[4] = broadcast_in_dim[broadcast_dimensions=() shape=(4,)] 0:i32[]\n"
    "    q:" A " p:i32[4] t:f64[4] = geqp3[use_magma=None] a z\n" UPPER_SQUARES("x", "q", "0") UPPER_SQUARES("y", "a", "9") NEAR("x", "y"),

    "{ lambda ; a:" A ". let\n    q:" A " r:" A " p:i32[4] = qr[full_matrices=False pivoting=True use_magma=None] a\n" MUL("b", "q", "r")
    "    i:i32[4,1] = broadcast_in_dim[broadcast_dimensions=(0,) shape=(4, 1)] p\n"
    "    c:" A " = gather[dimension_numbers=GatherDimensionNumbers(offset_dims=(0,), collapsed_slice_dims=(1,), start_index_map=(1,), "
    "operand_batching_dims=(), start_indices_batching_dims=()) fill_value=None indices_are_sorted=False mode=GatherScatterMode.PROMISE_IN_BOUNDS "
    "slice_sizes=(4, 1) unique_indices=True] a i\n" APART("b", "c", A),

    "{ lambda ; a:" A ". let\n    h:" A " t:f64[3] = hessenberg a\n" UPPER_SQUARES("x", "h", "1") UPPER_SQUARES("y", "a", "9") NEAR("x", "y"),

    "{ lambda ; a:" A ". let\n    b:" A " = transpose[permutation=(1, 0)] a\n    s:" A " = add a b\n"
    "    t:" A " d:f64[4] e:f64[3] u:f64[3] = tridiagonal[lower=True] s\n    f:f64[4] = mul d d\n    g:f64[3] = mul e e\n"
    "    h:f64[] = reduce_sum[axes=(0,)] f\n    k:f64[] = reduce_sum[axes=(0,)] g\n    v:f64[] = add h k\n    x:f64[] = add v k\n"
    UPPER_SQUARES("y", "s", "9") NEAR("x", "y"),

    "{ lambda ; a:" A ". let\n    b:f64[8,12] = tile[reps=(2, 3)] a\n    c:" A " = slice[limit_indices=(8, 12) start_indices=(4, 8) strides=None] b\n"
    "    d:f64[4] e:f64[4] f:f64[4] g:f64[4] = unstack[axis=1] c\n    h:" A " = stack[axis=1] d e f g\n" APART("h", "a", A),
};

static void test_factors(void **state)
{
    kiln_ctx *ctx = *state;
    static const double values[16] = {0.5, -1.25, 2, 0.75, 1.5, 0.25, -0.5, 3, -2, 1, 0.125, -1, 0.375, 2.5, -0.875, 1.75};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        kiln_prog *p;
        kiln_array *a, *y;
        kiln_exec *f;
        assert_ok(ctx, kiln_prog_parse(ctx, programs[i], strlen(programs[i]), "text", &p));
        assert_ok(ctx, kiln_array_create(ctx, kiln_prog_input_type(p, 0), &a));
        memcpy(a->data, values, sizeof values);
        assert_ok(ctx, kiln_compile(ctx, p, NULL, &f));
        assert_ok(ctx, kiln_exec_call(ctx, f, &a, &y));
        double apart = *(const double *)y->data;
        if (!(apart < 1e-13)) fail_msg("program %zu is off by %g", i, apart);
        kiln_exec_release(f);
        kiln_array_release(a);
        kiln_array_release(y);
        kiln_prog_release(p);
    }
}

/* Each is refused, saying what would be accepted. */
static void test_refused(void **state)
{
    kiln_ctx *ctx = *state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"{ lambda ; a:" A ". let t:" A " = schur[compute_schur_vectors=False select_callable=None sort_eig_vals=True] a in (t,) }", "=False is"},
        {"{ lambda ; a:f64[4,3]. let t:f64[4,3] b:f64[2] = hessenberg a in (t, b) }", "needs square matrices"},
        {"{ lambda ; a:f64[0,3]. let t:f64[3] = unstack[axis=0] a in (t,) }", "one at least"},
        {"{ lambda ; a:" A ". let t:f64[8,4] = tile[reps=(2,)] a in (t,) }", "one for each dimension"},
        {"{ lambda ; a:" A " p:i64[4]. let t:" A " q:i64[4] u:f64[4] = geqp3[use_magma=None] a p in (t, q, u) }", "pivots are i32"},
        {"{ lambda ; a:" A " t:f64[4] c:f64[3,4]. let y:f64[3,4] = ormqr[left=True transpose=False] a t c in (y,) }", "as many rows"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kiln_prog *p = NULL;
        char found[2048];
        assert_int_not_equal(kiln_prog_parse(ctx, cases[i].text, strlen(cases[i].text), "text", &p), KILN_OK);
        kiln_diag_format(kiln_ctx_error(ctx), found, sizeof found);
        if (!strstr(found, cases[i].says)) fail_msg("'%s' is not in: %s", cases[i].says, found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_factors), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
