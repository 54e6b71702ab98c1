/* SPDX-License-Identifier: Apache-2.0 */
/* What type rules refuse: each line is an equation that must not be accepted, with words of its message. */
#include "ir/ir.h"
#include "testing.h"

typedef struct refused {
    const char *binders, *equation, *says;
} refused;

static const refused cases[] = {
    {"a:f32[] b:f64[]", "c:f32[] = add a b", "add needs equal element types, f32[] and f64[] given"},
    {"a:f32[3] b:f32[4]", "c:f32[3] = add a b", "shapes of operands 0 and 1 do not fit: f32[3] and f32[4]"},
    {"a:f32[3] b:f32[1,3]", "c:f32[1,3] = mul a b", "do not fit"},
    {"a:f32[3] b:f32[1]", "c:f32[3] = add_any a b", "add_any needs equal types"},
    {"a:bool[] b:bool[]", "c:bool[] = add a b", "operand 0 is bool[]; element types accepted: signed, unsigned, float, complex"},
    {"a:f32[] b:f32[]", "c:f32[] = and a b", "accepted: bool, signed, unsigned"},
    {"a:f32[] b:f32[]", "c:f32[] = shift_left a b", "accepted: signed, unsigned"},
    {"a:i32[]", "c:i32[] = sin a", "accepted: float, complex"},
    {"a:i32[]", "c:i32[] = floor a", "accepted: float"},
    {"a:f32[]", "c:f32[] = round[rounding_method=2] a", "accepted: 0 (away from zero), 1 (to even)"},
    {"a:i32[]", "c:i32[] = integer_pow[y=-1] a", "y is -1"},
    {"a:i32[] b:i32[]", "c:i32[] = pow a b", "accepted: float, complex"},
    {"a:f32[] b:f64[]", "c:f32[] = pow a b", "equal element types"},
    {"a:f32[2] b:f32[2] c:f32[2]", "d:f32[2] = select_n a b c", "accepted: bool, signed integers"},
    {"a:bool[2] b:f32[3] c:f32[3]", "d:f32[3] = select_n a b c", "its shape must be that of the cases"},
    {"a:bool[2] b:f32[2] c:f64[2]", "d:f32[2] = select_n a b c", "all cases must have one type"},
    {"a:bool[2] b:f32[2] c:f32[2]", "d:f32[2] = select_n a b c b", "a bool chooses between at most 2 cases"},
    {"a:f32[2] b:f32[3]", "d:f32[3] = clamp a b a", "a bound is f32[2]"},
    {"a:f32[2]", "b:f32[3,4] = broadcast_in_dim[broadcast_dimensions=(1,)] a", "cannot become dimension 1"},
    {"a:f32[2]", "b:f32[2,2] = broadcast_in_dim a", "names 0 dimensions"},
    {"a:f32[2,2]", "b:f32[2,2] = broadcast_in_dim[broadcast_dimensions=(1, 0)] a", "rising"},
    {"a:f32[2,3]", "b:f32[4,2] = reshape[dimensions=None new_sizes=(4, 2) sharding=None] a", "different numbers of elements"},
    {"a:f32[2,3]", "b:f32[3] = squeeze[dimensions=(0,)] a", "only 1 can be removed"},
    {"a:f32[2,3]", "b:f32[2,3] = squeeze[dimensions=(2,)] a", "there are 2 dimensions"},
    {"a:f32[2,3]", "b:f32[3,2] = transpose[permutation=(1, 1)] a", "different dimensions"},
    {"a:f32[2,3]", "b:f32[3,2] = transpose[permutation=(1,)] a", "names 1 dimensions"},
    {"a:f32[2,3]", "b:f32[2,3] = rev[dimensions=(-1,)] a", "dimensions holds -1"},
    {"", "b:f32[3] = iota[dimension=1 dtype=float32 shape=(3,) sharding=None]", "dimension is 1"},
    {"", "b:bool[3] = iota[dimension=0 dtype=bool shape=(3,) sharding=None]", "accepted: integers and floats"},
    {"a:f32[5]", "b:f32[2] = slice[limit_indices=(6,) start_indices=(4,) strides=None] a", "4 to 6 by 1 along dimension 0 of f32[5]"},
    {"a:f32[5]", "b:f32[2] = slice[limit_indices=(5,) start_indices=(3,) strides=(0,)] a", "stride >= 1"},
    {"a:f32[5]", "b:f32[2] = slice[limit_indices=(5, 1) start_indices=(3,) strides=None] a", "1 starts, 2 limits"},
    {"a:f32[5] i:f32[]", "b:f32[2] = dynamic_slice[slice_sizes=(2,)] a i", "accepted: signed, unsigned"},
    {"a:f32[5] i:i32[1]", "b:f32[2] = dynamic_slice[slice_sizes=(2,)] a i", "an integer scalar is needed"},
    {"a:f32[5] i:i32[]", "b:f32[6] = dynamic_slice[slice_sizes=(6,)] a i", "does not fit into f32[5]"},
    {"a:f32[5]", "b:f32[2] = dynamic_slice[slice_sizes=(2,)] a", "0 start indices given"},
    {"a:f32[5] u:f32[6] i:i32[]", "b:f32[5] = dynamic_update_slice a u i", "does not fit into f32[5]"},
    {"a:f32[5] u:f64[2] i:i32[]", "b:f32[5] = dynamic_update_slice a u i", "equal element types"},
    {"a:f32[5]", "b:f32[2] c:f32[2] = split[axis=0 sizes=(2, 2)] a", "must add up to dimension 0"},
    {"a:f32[2,3] b:f32[3,3]", "c:f32[5,4] = concatenate[dimension=1] a b", "must agree in all dimensions but 1"},
    {"a:f32[2] b:f32[3]", "c:f32[2,2] = stack[axis=0] a b", "stack needs equal types"},
    {"a:f32[2] b:f32[1]", "c:f32[3] = pad[padding_config=((1, 0, 0),)] a b", "a scalar is needed"},
    {"a:f32[2] b:f32[]", "c:f32[3] = pad[padding_config=((-2, -1, 0),)] a b", "no legal padding"},
    {"a:f32[2] b:f32[]", "c:f32[3] = pad[padding_config=((1, 0, 0), (1, 0, 0))] a b", "has 2 entries"},
    {"a:f32[2,3]", "b:f32[2] = reduce_sum[axes=(1, 1) out_sharding=None] a", "axes must hold different dimensions"},
    {"a:f32[2,3]", "b:f32[2] = reduce_sum[axes=(2,) out_sharding=None] a", "axes holds 2"},
    {"a:f32[2,3]", "b:f32[2] = reduce_or[axes=(1,)] a", "accepted: bool, signed, unsigned"},
    {"a:f32[0]", "b:i32[] = argmax[axes=(0,) index_dtype=int32] a", "there is no extremum"},
    {"a:f32[200]", "b:i8[] = argmax[axes=(0,) index_dtype=int8] a", "cannot hold the indices"},
    {"a:f32[2]", "b:f32[2] = cumsum[axis=1 reverse=False] a", "axis is 1"},
    {"a:f32[2,3] b:f32[4,2]", "c:f32[2,2] = dot_general[dimension_numbers=(([1], [0]), ([], []))] a b", "contracted sizes 3 and 4 differ"},
    {"a:f32[2,3] b:f32[3,2]", "c:f32[2] = dot_general[dimension_numbers=(([1], [0]), ([1], [1]))] a b", "named twice"},
    {"a:f32[2,3] b:f64[3,2]", "c:f32[2,2] = dot_general[dimension_numbers=(([1], [0]), ([], []))] a b", "equal element types"},
    {"a:f32[2] b:f32[2]", "c:i32[] = dot_general[dimension_numbers=(([0], [0]), ([], [])) preferred_element_type=int32] a b", "does not fit"},
    {"a:f32[]", "b:f32[] = jit[name=f jaxpr={ lambda ; c:f64[]. let  in (c,) }] a", "argument 0 of the body is f64[], operand 0 is f32[]"},
    {"a:f32[]", "b:f32[] = jit[name=f jaxpr={ lambda ; c:f32[] d:f32[]. let  in (c,) }] a", "takes 2 arguments, 1 are given"},
    {"i:i64[] a:f32[]", "b:f32[] = cond[branches=( { lambda ; c:f32[]. let  in (c,) } )] i a", "i32[] is needed"},
    {"i:i32[] a:f32[]", "b:f32[] = cond[branches=( { lambda ; c:f32[]. let  in (c,) } { lambda ; c:f32[]. let  in (1.0:f64[],) } )] i a", "result 0 of a branch is f64[]"},
    {"a:f32[]", "b:f32[] = while[body_jaxpr={ lambda ; c:f32[]. let  in (1.0:f64[],) } body_nconsts=0 cond_jaxpr={ lambda ; c:f32[]. let d:bool[] = lt c 1.0:f32[] in (d,) } cond_nconsts=0] a",
     "result 0 of body_jaxpr is f64[]"},
    {"a:f32[]", "b:f32[] = while[body_jaxpr={ lambda ; c:f32[]. let  in (c,) } body_nconsts=0 cond_jaxpr={ lambda ; c:f32[]. let  in (c,) } cond_nconsts=0] a",
     "result 0 of cond_jaxpr is f32[], but bool[] is needed"},
    {"a:f32[]", "b:f32[] = while[body_jaxpr={ lambda ; c:f32[]. let  in (c,) } body_nconsts=2 cond_jaxpr={ lambda ; c:f32[]. let  in (True:bool[],) } cond_nconsts=0] a",
     "do not fit 1 operands"},
    {"a:f32[] x:f32[4]", "b:f32[] = scan[ft_in=((), (None,), (None,)) ft_out=((None,), ()) jaxpr={ lambda ; c:f32[] d:f32[]. let  in (c,) } length=3 reverse=False unroll=1] a x",
     "its dimension 0 must be the length, 3"},
    {"a:f32[] x:f32[3]", "b:f64[] = scan[ft_in=((), (None,), (None,)) ft_out=((None,), ()) jaxpr={ lambda ; c:f32[] d:f32[]. let  in (1.0:f64[],) } length=3 reverse=False unroll=1] a x",
     "carry 0 enters the body as f32[] and leaves it as f64[]"},
    {"a:f32[]", "b:f32[] = scan[ft_in=((None,), (None,), ()) ft_out=((None,), ()) jaxpr={ lambda ; c:f32[]. let  in (c,) } length=3 reverse=False unroll=1] a",
     "do not fit 1 operands"},
    {"a:f32[]", "b:f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] = broadcast_in_dim a", "accepted: at most 32"},
};

static void test_refused(void **state)
{
    kiln_ctx *ctx = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2048];
        kiln_prog *p;
        snprintf(text, sizeof text, "{ lambda ; %s. let\n    %s\n  in () }\n", cases[i].binders, cases[i].equation);
        kiln_status s = kiln_prog_parse(ctx, text, strlen(text), "case", &p);
        if (s == KILN_OK) fail_msg("accepted: %s", cases[i].equation);
        if (!strstr(kiln_ctx_error(ctx)->message, cases[i].says))
            fail_msg("%s\nsays '%s',\nnot '%s'", cases[i].equation, kiln_ctx_error(ctx)->message, cases[i].says);
        assert_int_equal(kiln_ctx_error(ctx)->line, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
