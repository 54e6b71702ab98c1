/* SPDX-License-Identifier: Apache-2.0 */
/* Keys in StableHLO and HLO text are arrays of words with one dimension more: what is written reads back to the same numbers and prints the same
 * again, wherever keys go: moves, loops, branches, calls, constants. */
#include "array/array.h"
#include "kiln/kiln.h"
#include "hlo/hlo.h"
#include "testing.h"

/* Operands: u32[3,2], i32[]. */
#define HEAD "{ lambda ; w:u32[3,2] i:i32[]. let\n    k:key<fry>[3] = random_wrap[impl=fry] w\n"
#define DRAW(in, shape) "    z:u32[" shape "5] = random_bits[bit_width=32 shape=(5,)] " in "\n  in (z,) }\n"

static const char *const programs[] = {
    HEAD "    a:key<fry>[3] = rev[dimensions=(0,)] k\n" DRAW("a", "3,"),
    HEAD "    a:key<fry>[1] = dynamic_slice[slice_sizes=(1,)] k i\n    b:key<fry>[] = squeeze[dimensions=(0,)] a\n" DRAW("b", ""),
    HEAD "    a:key<fry>[2] = slice[limit_indices=(3,) start_indices=(0,) strides=(2,)] k\n    b:key<fry>[3] = dynamic_update_slice k a i\n" DRAW("b", "3,"),
    HEAD "    a:key<fry>[3,4] = random_split[shape=(4,)] k\n    b:key<fry>[4,3] = transpose[permutation=(1, 0)] a\n    c:key<fry>[12] = reshape[dimensions=None new_sizes=(12,) sharding=None] b\n" DRAW("c", "12,"),
    HEAD "    a:key<fry>[3,4] = random_split[shape=(4,)] k\n    b:key<fry>[12] = reshape[dimensions=(1, 0) new_sizes=(12,) sharding=None] a\n" DRAW("b", "12,"),
    HEAD "    a:key<fry>[2,3] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(2, 3) sharding=None] k\n" DRAW("a", "2,3,"),
    HEAD "    a:key<fry>[3] = rev[dimensions=(0,)] k\n    b:key<fry>[6] = concatenate[dimension=0] k a\n    c:key<fry>[6,2] = random_split[shape=(2,)] b\n" DRAW("c", "6,2,"),
    HEAD "    a:key<fry>[3] = rev[dimensions=(0,)] k\n    b:bool[] = gt i 0:i32[]\n    c:key<fry>[3] = select_n b k a\n" DRAW("c", "3,"),
    HEAD "    a:key<fry>[3] = rev[dimensions=(0,)] k\n    b:i32[3] = iota[dimension=0 dtype=int32 shape=(3,) sharding=None]\n    c:bool[3] = gt b i\n    d:key<fry>[3] = select_n c k a\n" DRAW("d", "3,"),
    HEAD "    a:i32[2,1] = iota[dimension=0 dtype=int32 shape=(2, 1) sharding=None]\n    b:i32[2,1] = add a i\n"
         "    c:key<fry>[2] = gather[dimension_numbers=GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,), operand_batching_dims=(), start_indices_batching_dims=()) fill_value=None indices_are_sorted=False mode=GatherScatterMode.CLIP slice_sizes=(1,) unique_indices=False] k b\n" DRAW("c", "2,"),
    HEAD "    a:key<fry>[] b:key<fry>[] c:key<fry>[] = unstack[axis=0] k\n    d:key<fry>[2] = stack[axis=0] c a\n" DRAW("d", "2,"),
    HEAD "    a:key<fry>[2] b:key<fry>[1] = split[axis=0 sizes=(2, 1)] k\n" DRAW("b", "1,"),
    HEAD "    a:key<fry>[6] = tile[reps=(2,)] k\n" DRAW("a", "6,"),
    HEAD "    c:key<fry>[3] = while[body_jaxpr={ lambda ; k:key<fry>[3]. let l:u32[3] = random_bits[bit_width=32 shape=()] k; m:key<fry>[3] = random_fold_in k l in (m,) }\n"
         "      body_nconsts=0 cond_jaxpr={ lambda ; j:i32[] k:key<fry>[3]. let n:u32[3] = random_bits[bit_width=32 shape=()] k; o:u32[] = reduce_max[axes=(0,) out_sharding=None] n; p:bool[] = lt o 4000000000:u32[] in (p,) } cond_nconsts=1] i k\n" DRAW("c", "3,"),
    HEAD "    q:key<fry>[] = random_seed[impl=fry] i\n    c:key<fry>[] z:f32[3] = scan[_split_transpose=False jaxpr={ lambda ; c:key<fry>[] x:key<fry>[]. let b:u32[] = random_bits[bit_width=32 shape=()] x; d:key<fry>[] = random_fold_in c b; e:f32[] = convert_element_type[new_dtype=float32 weak_type=False] b in (d, e) }\n"
         "      length=3 linear=(False, False) num_carry=1 num_consts=0 reverse=False unroll=1] q k\n  in (c, z) }\n",
    HEAD "    a:key<fry>[3] = cond[branches=({ lambda ; a:key<fry>[3]. let in (a,) } { lambda ; a:key<fry>[3]. let b:key<fry>[3] = rev[dimensions=(0,)] a in (b,) })] i k\n" DRAW("a", "3,"),
    HEAD "    a:key<fry>[3] = jit[name=f jaxpr={ lambda ; a:key<fry>[3]. let b:key<fry>[3] = random_fold_in a 9:u32[] in (b,) }] k\n  in (a, k) }\n",
    ("{ lambda ; k:key<fry>[2,3] i:i64[]. let\n    a:key<fry>[] = random_seed[impl=fry] i\n    b:key<fry>[2,3] = broadcast_in_dim[broadcast_dimensions=() shape=(2, 3) sharding=None] a\n"
    "    c:bool[] = lt i 0:i64[]\n    d:key<fry>[2,3] = select_n c b k\n    e:u64[2,3,7] = random_bits[bit_width=64 shape=(7,)] d\n    f:u8[7] = random_bits[bit_width=8 shape=(7,)] a\n  in (e, d, f) }\n"),
};

static void fill(kiln_array *a, uint32_t salt)
{
    if (a->type.rank == 0) {
        memset(a->data, 0, a->bytes);
        *(uint8_t *)a->data = (uint8_t)(salt % 3);
        return;
    }
    for (size_t i = 0; i < a->bytes / 4; i++) ((uint32_t *)a->data)[i] = (uint32_t)(i + 1) * 2654435761u + salt;
}

enum { MOST = 4 };
static void compare(kiln_ctx *ctx, const char *text, bool hlo)
{
    kiln_prog *p, *q;
    kiln_exec *f;
    kiln_array *x[MOST], *w[MOST], *y[3][MOST];
    kn_text first, again;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "text", &p));
    kn_text_init(&first, &ctx->alloc), kn_text_init(&again, &ctx->alloc);
    assert_ok(ctx, hlo ? kn_hlo_print_hlo(ctx, p, 0, &first) : kn_hlo_print_stablehlo(ctx, p, &first));
    kiln_status s = kiln_prog_parse(ctx, first.s, first.n, "written", &q);
    if (s != KILN_OK) print_error("%s", first.s);
    assert_ok(ctx, s);
    assert_ok(ctx, hlo ? kn_hlo_print_hlo(ctx, q, 0, &again) : kn_hlo_print_stablehlo(ctx, q, &again));
    assert_string_equal(first.s, again.s);
    assert_ok(ctx, kiln_compile(ctx, q, NULL, &f));
    uint32_t nin = kiln_prog_n_inputs(p), nout = kiln_prog_n_outputs(p);
    for (uint32_t salt = 0; salt < 3; salt++) {
        for (uint32_t i = 0; i < nin; i++) {
            kiln_type t = kiln_prog_input_type(p, i), u = kiln_prog_input_type(q, i);
            assert_int_equal(u.rank, t.rank + (t.dtype == KILN_KEY));
            assert_ok(ctx, kiln_array_create(ctx, t, &x[i]));
            assert_ok(ctx, kiln_array_create(ctx, u, &w[i]));
            fill(x[i], salt);
            assert_int_equal(x[i]->bytes, w[i]->bytes);
            memcpy(w[i]->data, x[i]->data, x[i]->bytes);
        }
        assert_ok(ctx, kiln_prog_eval(ctx, p, x, y[0]));
        assert_ok(ctx, kiln_prog_eval(ctx, q, w, y[1]));
        assert_ok(ctx, kiln_exec_call(ctx, f, w, y[2]));
        for (uint32_t i = 0; i < nout; i++) {
            assert_int_equal(y[1][i]->type.rank, y[0][i]->type.rank + (y[0][i]->type.dtype == KILN_KEY));
            for (int k = 1; k < 3; k++) {
                assert_int_equal(y[0][i]->bytes, y[k][i]->bytes);
                assert_memory_equal(y[0][i]->data, y[k][i]->data, y[0][i]->bytes);
            }
            for (int k = 0; k < 3; k++) kiln_array_release(y[k][i]);
        }
        for (uint32_t i = 0; i < nin; i++) kiln_array_release(x[i]), kiln_array_release(w[i]);
    }
    kn_text_fini(&first), kn_text_fini(&again);
    kiln_exec_release(f);
    kiln_prog_release(p), kiln_prog_release(q);
}

static void test_written(void **state)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        for (int hlo = 0; hlo < 2; hlo++) compare(*state, programs[i], hlo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_written)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
