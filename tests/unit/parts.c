/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of many parts: each part is stored in its place. The interpreter's bits, along every dimension and of all that parts can be. */
#define _DEFAULT_SOURCE /* guarded.h */
#include "beside.h"

#include "sized_run.h"

/* f32[a,b,c] arrays x and y, scaled anew for each of n parts and put together along dimension d. */
static void program(char *text, size_t size, unsigned n, unsigned d, const char *first, const char *type, const unsigned *dims)
{
    char whole[64];
    size_t at = (size_t)snprintf(text, size, "{ lambda ; x:%s y:%s. let ", type, type);
    for (unsigned k = 0; k < n; k++) at += (size_t)snprintf(text + at, size - at, "p%u:%s = mul %s %u.5:%.*s[] ", k, type, k % 2 ? "x" : "y", k, (int)strcspn(type, "["), type);
    snprintf(whole, sizeof whole, "%.*s[%s%u,%u,%u]", (int)strcspn(type, "["), type, first, d == 0 ? n * dims[0] : dims[0], d == 1 ? n * dims[1] : dims[1],
             d == 2 ? n * dims[2] : dims[2]);
    at += (size_t)snprintf(text + at, size - at, "z:%s = concatenate[dimension=%u]", whole, *first ? d + 1 : d);
    for (unsigned k = 0; k < n; k++) at += (size_t)snprintf(text + at, size - at, " p%u", k);
    snprintf(text + at, size - at, " in (z,) }");
}

static void dimensions(void **state)
{
    static const unsigned dims[][3] = {{1, 1, 20}, {2, 3, 5}, {3, 1, 17}, {1, 4, 1}}, parts[] = {8, 9, 40};
    static const char *const types[] = {"f32", "f64"};
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
        for (unsigned d = 0; d < 3; d++)
            for (size_t n = 0; n < 3; n++) {
                char text[8192], type[64];
                snprintf(type, sizeof type, "%s[%u,%u,%u]", types[i % 2], dims[i][0], dims[i][1], dims[i][2]);
                program(text, sizeof text, parts[n], d, "", type, dims[i]);
                check_beside(*state, text, 997);
            }
}

/* No element asks which part it is in, and it is one nest. */
static void straight(void **state)
{
    char text[8192], *loops;
    size_t n;
    kiln_prog *p;
    program(text, sizeof text, 40, 0, "", "f32[1,4,20]", (const unsigned[]){1, 4, 20});
    assert_ok(*state, kiln_prog_parse(*state, text, strlen(text), "parts", &p));
    assert_ok(*state, kn_compile_stage(*state, p, NULL, "loops", &loops, &n));
    if (strstr(loops, "select") || !strstr(loops, "\ncounts 1 0 0 0 ")) fail_msg("%s", loops);
    kiln_text_free(*state, loops, n);
    kiln_prog_release(p);
}

static void kinds(void **state)
{
    static const char *const programs[] = {
        /* operands, one of them several times, an empty one, a product, a number, and a reader of what they become */
        "{ lambda ; x:f32[3,20] w:f32[20,20] e:f32[0,20]. let p:f32[3,20] = dot_general[dimension_numbers=(([1], [0]), ([], [])) precision=None preferred_element_type=float32] x w "
        "o:f32[2,20] = broadcast_in_dim[broadcast_dimensions=() shape=(2, 20) sharding=None] 2.0:f32[] q:f32[3,20] = sin x "
        "z:f32[29,20] = concatenate[dimension=0] x p q x e o p q x p q y:f32[29,20] = exp z s:f32[29] = reduce_sum[axes=(1,) out_sharding=None] z in (z, y, s) }",
        /* read by a stencil alone */
        "{ lambda ; x:f32[40]. let a:f32[40] = sin x b:f32[40] = mul x x z:f32[400] = concatenate[dimension=0] a b a b a b a b a b "
        "l:f32[399] = slice[limit_indices=(399,) start_indices=(0,) strides=None] z r:f32[399] = slice[limit_indices=(400,) start_indices=(1,) strides=None] z "
        "d:f32[399] = sub r l in (d,) }",
        /* over the carry that is read in its parts, and as a row of a stack */
        "{ lambda ; x:f32[40]. let y:f32[40] s:f32[5,40] = scan[jaxpr={ lambda ; c:f32[40]. let "
        "a:f32[4] = slice[limit_indices=(4,) start_indices=(0,) strides=None] c b:f32[4] = slice[limit_indices=(40,) start_indices=(36,) strides=None] c "
        "n:f32[4] = neg b m:f32[4] = sin a z:f32[40] = concatenate[dimension=0] b n m a b n m a n a in (z, z) } length=5 num_carry=1 num_consts=0 reverse=False unroll=1] x in (y, s) }",
        /* numbers in registers */
        "{ lambda ; x:f32[] y:f32[]. let a:f32[1] = reshape[dimensions=None new_sizes=(1,) sharding=None] x b:f32[1] = reshape[dimensions=None new_sizes=(1,) sharding=None] y "
        "z:f32[20] = concatenate[dimension=0] a b a b a b b b a b a b a a a b a b a b in (z,) }",
        /* complex numbers */
        "{ lambda ; x:f32[30] y:f32[30]. let a:c64[30] = complex x y b:c64[30] = mul a a z:c64[300] = concatenate[dimension=0] a b b a b a a b a b "
        "r:f32[300] = real z i:f32[300] = imag z in (r, i) }",
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) check_beside(*state, programs[i], 997);
}

static void rows(void **state)
{
    char text[8192];
    kiln_prog *p;
    kiln_exec *f;
    program(text, sizeof text, 12, 1, "n,", "f32[n,2,3,5]", (const unsigned[]){2, 3, 5});
    assert_ok(*state, kiln_prog_parse(*state, text, strlen(text), "rows", &p));
    assert_ok(*state, kiln_compile(*state, p, NULL, &f));
    for (int64_t n = 0; n < 70; n = 3 * n + 1) assert_int_equal(sized_run(*state, p, f, n, "rows"), KILN_OK);
    kiln_exec_release(f);
    kiln_prog_release(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(dimensions), cmocka_unit_test(straight), cmocka_unit_test(kinds), cmocka_unit_test(rows)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
