/* SPDX-License-Identifier: Apache-2.0 */
/* Products together with what reads them: the interpreter's bits, at every width, split over threads and not, whether one block of k or several,
 * and the result over one of its operands. */
#include "beside.h"

#define DOT(dims) "dot_general[dimension_numbers=" dims " out_sharding=None precision=None preferred_element_type=None]"
#define ROWS DOT("(([1], [0]), ([], []))")
#define BATCHES DOT("(([2], [1]), ([0], [0]))")

/* a product of the sizes with an epilogue of each kind */
static void sizes(void **state)
{
    static const int table[][3] = {{8, 8, 32}, {17, 5, 33}, {33, 300, 41}, {64, 256, 64}, {7, 520, 100}, {40, 2, 130}, {1, 300, 50}, {29, 257, 1}};
    static const char *const types[] = {"f32", "f64", "i32", "bf16"};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (size_t d = 0; d < 4; d++) {
            const char *t = types[d];
            char text[1024];
            int m = table[i][0], k = table[i][1], n = table[i][2];
            snprintf(text, sizeof text,
                     "{ lambda ; x:%s[%d,%d] w:%s[%d,%d] b:%s[%d] r:%s[%d,%d]. let y:%s[%d,%d] = " ROWS " x w "
                     "c:%s[%d,%d] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(%d, %d) sharding=None] b s:%s[%d,%d] = add y c u:%s[%d,%d] = max s r "
                     "v:%s[%d,%d] = mul u y in (v,) }",
                     t, m, k, t, k, n, t, n, t, m, n, t, m, n, t, m, n, m, n, t, m, n, t, m, n, t, m, n);
            check_beside(*state, text, 997);
        }
}

static void kinds(void **state)
{
    static const char *const programs[] = {
        /* two dimensions of rows, a bias, a function, another type */
        "{ lambda ; x:f32[3,11,300] w:f32[300,40] b:f32[40]. let y:f32[3,11,40] = " DOT("(([2], [0]), ([], []))") " x w "
        "c:f32[3,11,40] = broadcast_in_dim[broadcast_dimensions=(2,) shape=(3, 11, 40) sharding=None] b s:f32[3,11,40] = add y c "
        "z:f32[3,11,40] = tanh s q:f64[3,11,40] = convert_element_type[new_dtype=float64 weak_type=False] z in (q,) }",
        /* what varies along either dimension of the rows */
        "{ lambda ; x:f32[3,11,20] w:f32[20,40] b:f32[3] a:f32[11]. let y:f32[3,11,40] = " DOT("(([2], [0]), ([], []))") " x w "
        "c:f32[3,11,40] = broadcast_in_dim[broadcast_dimensions=(0,) shape=(3, 11, 40) sharding=None] b "
        "e:f32[3,11,40] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(3, 11, 40) sharding=None] a s:f32[3,11,40] = mul y c z:f32[3,11,40] = sub s e in (z,) }",
        /* two dimensions of the panel */
        "{ lambda ; x:f32[9,2] w:f32[2,30,40] b:f32[30,40]. let y:f32[9,30,40] = " DOT("(([1], [0]), ([], []))") " x w "
        "c:f32[9,30,40] = broadcast_in_dim[broadcast_dimensions=(1, 2) shape=(9, 30, 40) sharding=None] b s:f32[9,30,40] = mul y c z:f32[9,30,40] = add s y in (z,) }",
        /* batches, a choice by a mask */
        "{ lambda ; x:f32[2,20,24] w:f32[2,24,36] k:bool[20,36]. let y:f32[2,20,36] = " BATCHES " x w "
        "c:bool[2,20,36] = broadcast_in_dim[broadcast_dimensions=(1, 2) shape=(2, 20, 36) sharding=None] k z:f32[2,20,36] = mul y 0.25:f32[] "
        "o:f32[2,20,36] = broadcast_in_dim[broadcast_dimensions=() shape=(2, 20, 36) sharding=None] -1.0:f32[] q:f32[2,20,36] = select_n c o z in (q,) }",
        /* added to an operand, which the result could overwrite: in a loop, one block and two */
        "{ lambda ; x:f32[40,40] w:f32[40,40]. let y:f32[40,40] = scan[_split_transpose=False jaxpr={ lambda ; w:f32[40,40] x:f32[40,40]. let "
        "y:f32[40,40] = " ROWS " x w s:f32[40,40] = mul y 0.01:f32[] z:f32[40,40] = add x s in (z,) } length=3 linear=(False, False) num_carry=1 num_consts=1 "
        "reverse=False unroll=1] w x in (y,) }",
        "{ lambda ; x:f32[20,300] v:f32[20,300] w:f32[300,300]. let _:f32[20,300] y:f32[20,300] = scan[_split_transpose=False jaxpr={ lambda ; w:f32[300,300] x:f32[20,300] v:f32[20,300]. let "
        "y:f32[20,300] = " ROWS " x w s:f32[20,300] = mul y 0.01:f32[] z:f32[20,300] = add v s t:f32[20,300] = tanh z in (t, z) } length=3 linear=(False, False, False) num_carry=2 "
        "num_consts=1 reverse=False unroll=1] w x v in (y,) }",
        /* a chain of layers */
        "{ lambda ; x:f32[30,50] w:f32[50,60] v:f32[60,70]. let y:f32[30,60] = " ROWS " x w z:f32[30,60] = max y 0.0:f32[] u:f32[30,70] = " ROWS " z v "
        "q:f32[30,70] = tanh u in (q,) }",
        /* a sum of two products: one of them with an epilogue */
        "{ lambda ; x:f32[30,50] w:f32[50,60] v:f32[50,60]. let y:f32[30,60] = " ROWS " x w u:f32[30,60] = " ROWS " x v z:f32[30,60] = add y u in (z,) }",
        /* read twice, and as it is: no epilogue */
        "{ lambda ; x:f32[30,50] w:f32[50,60]. let y:f32[30,60] = " ROWS " x w z:f32[30,60] = max y 0.0:f32[] u:f32[30] = reduce_sum[axes=(1,) out_sharding=None] y in (z, u) }",
        "{ lambda ; x:f32[30,50] w:f32[50,60]. let y:f32[30,60] = " ROWS " x w z:f32[30,60] = max y 0.0:f32[] in (z, y) }",
    };
    static const unsigned epilogues[] = {1, 1, 1, 1, 0, 1, 2, 1, 0, 0};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        unsigned n = 0;
        check_beside(*state, programs[i], 997);
        char *loops = stage_beside(*state, programs[i], "loops");
        const char *line = strstr(loops, "\nepilogues ");
        if (line) sscanf(line, "\nepilogues %u", &n);
        if (n != epilogues[i]) fail_msg("%u epilogues of\n%s", n, programs[i]);
        free(loops);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes), cmocka_unit_test(kinds)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
