/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are no multiple of a vector: walked through as one where they stand one after the other, and left alone where a row reads what an
 * earlier one wrote. The interpreter's bits. */
#include "beside.h"

#define SLICE "dynamic_slice[slice_sizes=(1, 5, 10)]"

static void rows(void **state)
{
    static const char *const programs[] = {
        /* margins and a repeated row */
        "{ lambda ; x:f32[7,10]. let y:f32[12,10] = pad[padding_config=((2, 3, 0), (0, 0, 0))] x 1.5:f32[] in (y,) }",
        "{ lambda ; x:f32[10]. let y:f32[33,10] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(33, 10) sharding=None] x z:f32[33,10] = mul y y in (z,) }",
        "{ lambda ; x:f32[33]. let y:f32[33,10] = broadcast_in_dim[broadcast_dimensions=(0,) shape=(33, 10) sharding=None] x z:f32[33,10] = mul y y in (z,) }",
        "{ lambda ; x:f64[13,3] y:f64[3]. let z:f64[13,3] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(13, 3) sharding=None] y "
        "w:f64[13,3] = sub x z in (w,) }",
        "{ lambda ; x:i32[13,11]. let y:i32[11,13] = transpose[permutation=(1, 0)] x z:i32[11,13] = mul y y in (z,) }",
        /* a part of each row, and all of some rows */
        "{ lambda ; x:f32[9,20]. let y:f32[9,10] = slice[limit_indices=(9, 15) start_indices=(0, 5) strides=None] x z:f32[9,10] = neg y in (z,) }",
        "{ lambda ; x:f32[9,10]. let y:f32[4,10] = slice[limit_indices=(7, 10) start_indices=(3, 0) strides=None] x z:f32[4,10] = neg y in (z,) }",
        /* a window of small rows moves through an array in place: each step reads what the one before wrote */
        "{ lambda ; x:f32[40,5,10]. let _:i32[] y:f32[40,5,10] = while[cond_nconsts=0 cond_jaxpr={ lambda ; k:i32[] a:f32[40,5,10]. let "
        "p:bool[] = lt k 39:i32[] in (p,) } body_nconsts=0 body_jaxpr={ lambda ; k:i32[] a:f32[40,5,10]. let n:i32[] = add k 1:i32[] "
        "u:f32[1,5,10] = " SLICE " a k 0:i32[] 0:i32[] v:f32[1,5,10] = " SLICE " a n 0:i32[] 0:i32[] w:f32[1,5,10] = add u v "
        "b:f32[40,5,10] = dynamic_update_slice a w n 0:i32[] 0:i32[] in (n, b) }] 0:i32[] x in (y,) }",
        /* sums of rows that name the same place */
        "{ lambda ; x:f32[60,6]. let i:i32[60] = iota[dimension=0 dtype=int32 shape=(60,) sharding=None] k:i32[60] = rem i 7:i32[] "
        "d:i32[60,1] = broadcast_in_dim[broadcast_dimensions=(0,) shape=(60, 1) sharding=None] k "
        "c:f32[8,6] = broadcast_in_dim[broadcast_dimensions=() shape=(8, 6) sharding=None] 0.0:f32[] e:f32[8,6] = scatter-add["
        "dimension_numbers=ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=()) "
        "indices_are_sorted=False mode=GatherScatterMode.FILL_OR_DROP unique_indices=False] c d x in (e,) }",
    };
    /* one loop over what was rows, or the loop over a row that stays where something else depends on the row */
    static const char *const loops[] = {"0 .. 20 width 16", "0 .. 10 width 16", "0 .. 10 width 16", "0 .. 3 width 4", "0 .. 13 width 16", "0 .. 10 width 16",
                                        "0 .. 40 width 16", "0 .. 50 width 16", "0 .. 48 width 16"};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        check_beside(*state, programs[i], 997);
        char *made = stage_beside(*state, programs[i], "loops");
        if (!strstr(made, loops[i])) fail_msg("no loop %s:\n%s", loops[i], made);
        free(made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
