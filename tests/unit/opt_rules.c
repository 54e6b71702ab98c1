/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule of the passes on the smallest program that it changes, and the near misses that must stay as they are. A row is a
 * program and what the whole pipeline makes of it; NULL: nothing changes. */
#include "kiln/prog.h"
#include "lower/lower.h"
#include "opt/opt.h"
#include "testing.h"

typedef struct rule_case {
    const char *before, *after;
} rule_case;

#define F64(args, body, outs) "{ lambda ; " args ". let " body " in (" outs ",) }"

static const rule_case arithmetic[] = {
    {F64("a:f64[3]", "b:f64[3] = add a -0.0:f64[]", "b"), F64("a:f64[3]", "", "a")},
    {F64("a:f64[3]", "b:f64[3] = add -0.0:f64[] a", "b"), F64("a:f64[3]", "", "a")},
    {F64("a:f64[3]", "b:f64[3] = add a 0.0:f64[]", "b"), NULL},
    {F64("a:i32[3]", "b:i32[3] = add a 0:i32[]", "b"), F64("a:i32[3]", "", "a")},
    {F64("a:f64[] b:f64[]", "c:f64[] = neg b; d:f64[] = add a c", "d"), F64("a:f64[] b:f64[]", "c:f64[] = sub a b", "c")},
    {F64("a:f64[] b:f64[]", "c:f64[] = neg a; d:f64[] = add c b", "d"), F64("a:f64[] b:f64[]", "c:f64[] = sub b a", "c")},
    {F64("a:f64[] b:f64[]", "c:f64[] = neg b; d:f64[] = sub a c", "d"), F64("a:f64[] b:f64[]", "c:f64[] = add a b", "c")},
    {F64("a:f32[2]", "b:f32[2] = sub a 0.0:f32[]", "b"), F64("a:f32[2]", "", "a")},
    {F64("a:f32[2]", "b:f32[2] = sub a -0.0:f32[]", "b"), NULL},
    {F64("a:f32[2]", "b:f32[2] = sub 0.0:f32[] a", "b"), NULL},
    {F64("a:i64[2]", "b:i64[2] = sub a 0:i64[]", "b"), F64("a:i64[2]", "", "a")},
    {F64("a:i64[2]", "b:i64[2] = sub a a", "b"), F64("a:i64[2]", "b:i64[2] = broadcast_in_dim 0:i64[]", "b")},
    {F64("a:f64[2]", "b:f64[2] = sub a a", "b"), NULL},
    {F64("a:f64[3]", "b:f64[3] = mul a 1.0:f64[]", "b"), F64("a:f64[3]", "", "a")},
    {F64("a:f64[]", "b:f64[3] = broadcast_in_dim 1.0:f64[]; c:f64[3] = mul a b", "c"), F64("a:f64[]", "b:f64[3] = broadcast_in_dim a", "b")},
    {F64("a:f64[3]", "b:f64[3] = mul a 0.0:f64[]", "b"), NULL},
    {F64("a:i32[3]", "b:i32[3] = mul 0:i32[] a", "b"), F64("a:i32[3]", "b:i32[3] = broadcast_in_dim 0:i32[]", "b")},
    {F64("a:f64[3]", "b:f64[3] = mul a -1.0:f64[]", "b"), F64("a:f64[3]", "b:f64[3] = neg a", "b")},
    {F64("a:f64[] b:f64[]", "c:f64[] = neg a; d:f64[] = neg b; e:f64[] = mul c d", "e"), F64("a:f64[] b:f64[]", "c:f64[] = mul a b", "c")},
    {F64("a:f64[] b:f64[]", "c:f64[] = neg a; d:f64[] = neg b; e:f64[] = div c d", "e"), F64("a:f64[] b:f64[]", "c:f64[] = div a b", "c")},
    {F64("a:i32[] b:i32[]", "c:i32[] = neg a; d:i32[] = neg b; e:i32[] = div c d", "e"), NULL},
    {F64("a:i32[3]", "b:i32[3] = div a 1:i32[]", "b"), F64("a:i32[3]", "", "a")},
    {F64("a:f64[3]", "b:f64[3] = div a -1.0:f64[]", "b"), F64("a:f64[3]", "b:f64[3] = neg a", "b")},
    {F64("a:f64[3]", "b:f64[3] = div a -8.0:f64[]", "b"), F64("a:f64[3]", "b:f64[3] = mul a -0.125:f64[]", "b")},
    {F64("a:f64[3]", "b:f64[3] = div a 3.0:f64[]", "b"), NULL},
    {F64("a:f64[3]", "b:f64[3] = div a 0.0:f64[]", "b"), NULL},
    {F64("a:f32[3]", "b:f32[3] = div a 1.7014118346046923e+38:f32[]", "b"), NULL}, /* 2^127: the reciprocal is subnormal */
    {F64("a:i32[3]", "b:i32[3] = div a 2:i32[]", "b"), NULL},
    {F64("a:i32[3]", "b:i32[3] = rem a 1:i32[]", "b"), F64("a:i32[3]", "b:i32[3] = broadcast_in_dim 0:i32[]", "b")},
    {F64("a:f32[3]", "b:f32[3] = min a a", "b"), F64("a:f32[3]", "", "a")},
    {F64("a:f32[3]", "b:f32[3] = max a a", "b"), F64("a:f32[3]", "", "a")},
    {F64("a:i32[3]", "b:i32[3] = and a a", "b"), F64("a:i32[3]", "", "a")},
    {F64("a:i32[3]", "b:i32[3] = and a -1:i32[]", "b"), F64("a:i32[3]", "", "a")},
    {F64("a:bool[3]", "b:bool[3] = and a True:bool[]", "b"), F64("a:bool[3]", "", "a")},
    {F64("a:bool[]", "b:bool[] = and False:bool[] a", "b"), F64("a:bool[]", "", "False:bool[]")},
    {F64("a:bool[3]", "b:bool[3] = or a a", "b"), F64("a:bool[3]", "", "a")},
    {F64("a:bool[3]", "b:bool[3] = or a False:bool[]", "b"), F64("a:bool[3]", "", "a")},
    {F64("a:bool[]", "b:bool[] = or a True:bool[]", "b"), F64("a:bool[]", "", "True:bool[]")},
    {F64("a:i32[3]", "b:i32[3] = xor a 0:i32[]", "b"), F64("a:i32[3]", "", "a")},
    {F64("a:i32[]", "b:i32[] = xor a a", "b"), F64("a:i32[]", "", "0:i32[]")},
    {F64("a:bool[3]", "b:bool[3] = xor a True:bool[]", "b"), F64("a:bool[3]", "b:bool[3] = not a", "b")},
    {F64("a:i32[3]", "b:i32[3] = shift_left a 0:i32[]", "b"), F64("a:i32[3]", "", "a")},
    {F64("a:i32[3]", "b:i32[3] = shift_right_logical a 0:i32[]", "b"), F64("a:i32[3]", "", "a")},
    {F64("a:i32[3]", "b:i32[3] = shift_right_arithmetic a 0:i32[]", "b"), F64("a:i32[3]", "", "a")},
    {F64("a:bool[3]", "b:bool[3] = eq a True:bool[]", "b"), F64("a:bool[3]", "", "a")},
    {F64("a:bool[3]", "b:bool[3] = ne False:bool[] a", "b"), F64("a:bool[3]", "", "a")},
    {F64("a:i32[]", "b:bool[] = eq a a; c:bool[] = le a a; d:bool[] = ge a a", "b, c, d"), F64("a:i32[]", "", "True:bool[], True:bool[], True:bool[]")},
    {F64("a:i32[]", "b:bool[] = ne a a; c:bool[] = lt a a; d:bool[] = gt a a", "b, c, d"), F64("a:i32[]", "", "False:bool[], False:bool[], False:bool[]")},
    {F64("a:f64[]", "b:bool[] = eq a a", "b"), NULL},
    {F64("a:f64[]", "b:bool[] = lt a a", "b"), F64("a:f64[]", "", "False:bool[]")},
    {F64("a:i32[] b:i32[]", "c:i32[] = sub a b; d:i32[] = neg c", "d"), F64("a:i32[] b:i32[]", "c:i32[] = sub b a", "c")},
    {F64("a:f64[] b:f64[]", "c:f64[] = sub a b; d:f64[] = neg c", "d"), NULL},
    {F64("a:f64[3]", "b:f64[3] = add_any a a", "b"), F64("a:f64[3]", "b:f64[3] = add a a", "b")},
    {F64("a:f64[]", "b:f64[] = pow a 2.0:f64[]", "b"), NULL},
};

static const rule_case nested[] = {
    {F64("a:f64[]", "b:f64[] = neg a; c:f64[] = neg b", "c"), F64("a:f64[]", "", "a")},
    {F64("a:i32[]", "b:i32[] = not a; c:i32[] = not b", "c"), F64("a:i32[]", "", "a")},
    {F64("a:f64[] b:f64[]", "c:bool[] = eq a b; d:bool[] = not c", "d"), F64("a:f64[] b:f64[]", "c:bool[] = ne a b", "c")},
    {F64("a:i32[] b:i32[]", "c:bool[] = lt a b; d:bool[] = not c", "d"), F64("a:i32[] b:i32[]", "c:bool[] = ge a b", "c")},
    {F64("a:f64[] b:f64[]", "c:bool[] = lt a b; d:bool[] = not c", "d"), NULL},
    {F64("a:f64[]", "b:f64[] = abs a; c:f64[] = abs b", "c"), F64("a:f64[]", "b:f64[] = abs a", "b")},
    {F64("a:f64[]", "b:f64[] = neg a; c:f64[] = abs b", "c"), F64("a:f64[]", "b:f64[] = abs a", "b")},
    {F64("a:f64[]", "b:f64[] = sign a; c:f64[] = sign b", "c"), F64("a:f64[]", "b:f64[] = sign a", "b")},
    {F64("a:f64[]", "b:f64[] = floor a; c:f64[] = floor b; d:f64[] = ceil c", "d"), F64("a:f64[]", "b:f64[] = floor a", "b")},
    {F64("a:f64[]", "b:f64[] = ceil a; c:f64[] = ceil b; d:f64[] = floor c", "d"), F64("a:f64[]", "b:f64[] = ceil a", "b")},
    {F64("a:f64[]", "b:f64[] = copy a; c:f64[] = copy_p b; d:f64[] = stop_gradient c", "d"), F64("a:f64[]", "", "a")},
    {F64("a:f64[]", "b:f64[] = abs a; c:f64[] = neg b", "c"), NULL},
};

static const rule_case elements[] = {
    {F64("a:f64[]", "b:f64[] = exp 0.0:f64[]; c:f64[] = add b 2.0:f64[]; d:f64[] = mul a c", "d"), F64("a:f64[]", "b:f64[] = mul a 3.0:f64[]", "b")},
    {F64("a:i32[]", "b:i32[] = div a 0:i32[]; c:i32[] = div 7:i32[] 0:i32[]", "b, c"), F64("a:i32[]", "b:i32[] = div a 0:i32[]", "b, -1:i32[]")},
    {F64("a:f64[3] b:f64[3]", "c:f64[3] = select_n True:bool[] a b", "c"), F64("a:f64[3] b:f64[3]", "", "b")},
    {F64("a:f64[3] b:f64[3]", "c:bool[3] = broadcast_in_dim False:bool[]; d:f64[3] = select_n c a b", "d"), F64("a:f64[3] b:f64[3]", "", "a")},
    {F64("a:f64[] b:f64[] c:f64[]", "d:f64[] = select_n 7:i32[] a b c", "d"), F64("a:f64[] b:f64[] c:f64[]", "", "c")},
    {F64("a:bool[] b:f64[3]", "c:f64[3] = select_n a b b", "c"), F64("a:bool[] b:f64[3]", "", "b")},
    {F64("a:bool[3] b:f64[3] c:f64[3]", "d:bool[3] = not a; e:f64[3] = select_n d b c", "e"), F64("a:bool[3] b:f64[3] c:f64[3]", "d:f64[3] = select_n a c b", "d")},
    {F64("a:bool[]", "b:bool[] = select_n a False:bool[] True:bool[]", "b"), F64("a:bool[]", "", "a")},
    {F64("a:bool[]", "b:bool[] = select_n a True:bool[] False:bool[]", "b"), F64("a:bool[]", "b:bool[] = not a", "b")},
    {F64("a:bool[] b:f64[] c:f64[] d:f64[]", "e:f64[] = select_n a b c; f:f64[] = select_n a e d", "f"),
     F64("a:bool[] b:f64[] c:f64[] d:f64[]", "e:f64[] = select_n a b d", "e")},
    {F64("a:bool[] b:f64[3] c:f64[3]", "d:bool[3] = broadcast_in_dim a; e:f64[3] = select_n d b c", "e"),
     F64("a:bool[] b:f64[3] c:f64[3]", "d:f64[3] = select_n a b c", "d")},
    {F64("a:f64[]", "b:f64[] = convert_element_type[new_dtype=float64 weak_type=True] a", "b"), F64("a:f64[]", "", "a")},
    {F64("a:i32[]", "b:f64[] = convert_element_type[new_dtype=float64 weak_type=False] a; c:i32[] = convert_element_type[new_dtype=int32 weak_type=False] b", "c"),
     F64("a:i32[]", "", "a")},
    {F64("a:f32[]", "b:f64[] = convert_element_type[new_dtype=float64 weak_type=False] a; c:i32[] = convert_element_type[new_dtype=int32 weak_type=False] b", "c"),
     F64("a:f32[]", "b:i32[] = convert_element_type[new_dtype=int32 weak_type=False] a", "b")},
    {F64("a:f64[]", "b:f32[] = convert_element_type[new_dtype=float32 weak_type=False] a; c:f64[] = convert_element_type[new_dtype=float64 weak_type=False] b", "c"), NULL},
    {F64("a:i32[]", "b:f32[] = convert_element_type[new_dtype=float32 weak_type=False] a; c:i32[] = convert_element_type[new_dtype=int32 weak_type=False] b", "c"), NULL},
    {F64("a:i32[]", "b:f64[] = convert_element_type[new_dtype=float64 weak_type=False] a; c:i8[] = convert_element_type[new_dtype=int8 weak_type=False] b", "c"), NULL}, /* saturates; from i32 it would wrap */
    {F64("a:f64[] b:f64[]", "c:f64[3] = broadcast_in_dim a; d:f64[3] = broadcast_in_dim b; e:f64[3] = mul c d", "e"),
     F64("a:f64[] b:f64[]", "c:f64[] = mul a b; d:f64[3] = broadcast_in_dim c", "d")},
    {F64("a:f64[] b:f64[3]", "c:f64[3] = broadcast_in_dim a; d:f64[3] = sub c b", "d"), F64("a:f64[] b:f64[3]", "c:f64[3] = sub a b", "c")},
    {F64("a:f64[] b:f64[3]", "c:f64[3] = broadcast_in_dim a; d:f64[3] = clamp c b 9.0:f64[]", "d"), F64("a:f64[] b:f64[3]", "c:f64[3] = clamp a b 9.0:f64[]", "c")},
    {F64("a:f64[2] b:f64[3]", "c:f64[2,3] = broadcast_in_dim[broadcast_dimensions=(0,)] a; d:f64[2,3] = broadcast_in_dim[broadcast_dimensions=(1,)] b; e:f64[2,3] = mul c d", "e"), NULL},
};

static const rule_case moves[] = {
    {F64("a:f64[3]", "b:f64[3] = broadcast_in_dim[broadcast_dimensions=(0,)] a", "b"), F64("a:f64[3]", "", "a")},
    {F64("a:f64[3]", "b:f64[3] = reshape[dimensions=None new_sizes=(3,) sharding=None] a", "b"), F64("a:f64[3]", "", "a")},
    {F64("a:f64[2,2]", "b:f64[2,2] = reshape[dimensions=(1, 0) new_sizes=(2, 2) sharding=None] a", "b"), NULL},
    {F64("a:f64[3]", "b:f64[3] = squeeze[dimensions=()] a", "b"), F64("a:f64[3]", "", "a")},
    {F64("a:f64[3]", "b:f64[3] = slice[limit_indices=(3,) start_indices=(0,) strides=None] a", "b"), F64("a:f64[3]", "", "a")},
    {F64("a:f64[3] b:i32[]", "c:f64[3] = dynamic_slice[slice_sizes=(3,)] a b", "c"), F64("a:f64[3] b:i32[]", "", "a")},
    {F64("a:f64[3,2]", "b:f64[3,2] = transpose[permutation=(0, 1)] a", "b"), F64("a:f64[3,2]", "", "a")},
    {F64("a:f64[2,2]", "b:f64[2,2] = transpose[permutation=(1, 0)] a", "b"), NULL},
    {F64("a:f64[3,1]", "b:f64[3,1] = rev[dimensions=(1,)] a", "b"), F64("a:f64[3,1]", "", "a")},
    {F64("a:f64[3]", "b:f64[3] = rev[dimensions=(0,)] a", "b"), NULL},
    {F64("a:f64[3] b:f64[]", "c:f64[3] = pad[padding_config=((0, 0, 0),)] a b", "c"), F64("a:f64[3] b:f64[]", "", "a")},
    {F64("a:f64[3] b:f64[]", "c:f64[3] = pad[padding_config=((1, -1, 0),)] a b", "c"), NULL},
    {F64("a:f64[3] b:f64[3] c:i32[]", "d:f64[3] = dynamic_update_slice a b c", "d"), F64("a:f64[3] b:f64[3] c:i32[]", "", "b")},
    {F64("a:f64[3] b:f64[0] c:i32[]", "d:f64[3] = dynamic_update_slice a b c", "d"), F64("a:f64[3] b:f64[0] c:i32[]", "", "a")},
    {F64("a:f64[3] b:f64[0]", "c:f64[3] = concatenate[dimension=0] b a b", "c"), F64("a:f64[3] b:f64[0]", "", "a")},
    {F64("a:f64[3] b:f64[0]", "c:f64[6] = concatenate[dimension=0] a b a", "c"), F64("a:f64[3] b:f64[0]", "c:f64[6] = concatenate[dimension=0] a a", "c")},
    {F64("a:f64[]", "b:f64[3] = broadcast_in_dim a; c:f64[2] = broadcast_in_dim a; d:f64[5] = concatenate[dimension=0] b c", "d"), F64("a:f64[]", "b:f64[5] = broadcast_in_dim a", "b")},
    {F64("a:f64[]", "b:f64[3] = broadcast_in_dim a; c:f64[5] = pad[padding_config=((1, 1, 0),)] b a", "c"), F64("a:f64[]", "b:f64[5] = broadcast_in_dim a", "b")},
    {F64("a:f64[]", "b:f64[3] = broadcast_in_dim a; c:f64[2,3] = broadcast_in_dim[broadcast_dimensions=(1,)] b", "c"), F64("a:f64[]", "b:f64[2,3] = broadcast_in_dim a", "b")},
    {F64("a:f64[]", "b:f64[6] = broadcast_in_dim a; c:f64[2,3] = reshape[dimensions=None new_sizes=(2, 3) sharding=None] b", "c"), F64("a:f64[]", "b:f64[2,3] = broadcast_in_dim a", "b")},
    {F64("a:f64[]", "b:f64[1,3] = broadcast_in_dim a; c:f64[3] = squeeze[dimensions=(0,)] b", "c"), F64("a:f64[]", "b:f64[3] = broadcast_in_dim a", "b")},
    {F64("a:f64[]", "b:f64[2,3] = broadcast_in_dim a; c:f64[3,2] = transpose[permutation=(1, 0)] b", "c"), F64("a:f64[]", "b:f64[3,2] = broadcast_in_dim a", "b")},
    {F64("a:f64[]", "b:f64[3] = broadcast_in_dim a; c:f64[3] = rev[dimensions=(0,)] b", "c"), F64("a:f64[]", "b:f64[3] = broadcast_in_dim a", "b")},
    {F64("a:f64[]", "b:f64[3] = broadcast_in_dim a; c:f64[1] = slice[limit_indices=(2,) start_indices=(1,) strides=None] b", "c"), F64("a:f64[]", "b:f64[1] = broadcast_in_dim a", "b")},
    {F64("a:f64[] b:i32[]", "c:f64[3] = broadcast_in_dim a; d:f64[1] = dynamic_slice[slice_sizes=(1,)] c b", "d"), F64("a:f64[] b:i32[]", "c:f64[1] = broadcast_in_dim a", "c")},
    {F64("a:f64[]", "b:f64[3] = broadcast_in_dim a; c:f64[] = reduce_max[axes=(0,) out_sharding=None] b; d:f64[] = reduce_min[axes=(0,) out_sharding=None] b", "c, d"), F64("a:f64[]", "", "a, a")},
    {F64("a:bool[]", "b:bool[3] = broadcast_in_dim a; c:bool[] = reduce_and[axes=(0,)] b; d:bool[] = reduce_or[axes=(0,)] b", "c, d"), F64("a:bool[]", "", "a, a")},
    {F64("a:f64[]", "b:f64[3] = broadcast_in_dim a; c:f64[] = reduce_sum[axes=(0,) out_sharding=None] b", "c"), NULL},
    {F64("a:f64[]", "b:f64[0] = broadcast_in_dim a; c:f64[] = reduce_max[axes=(0,) out_sharding=None] b", "c"), NULL},
    {F64("a:f64[3]", "b:f64[2,3] = broadcast_in_dim[broadcast_dimensions=(1,)] a; c:f64[2,4,3] = broadcast_in_dim[broadcast_dimensions=(0, 2)] b", "c"),
     F64("a:f64[3]", "b:f64[2,4,3] = broadcast_in_dim[broadcast_dimensions=(2,)] a", "b")},
    {F64("a:f64[2,3]", "b:f64[6] = reshape[dimensions=None new_sizes=(6,) sharding=None] a; c:f64[3,2] = reshape[dimensions=None new_sizes=(3, 2) sharding=None] b", "c"),
     F64("a:f64[2,3]", "b:f64[3,2] = reshape[dimensions=None new_sizes=(3, 2) sharding=None] a", "b")},
    {F64("a:f64[2,3]", "b:f64[6] = reshape[dimensions=None new_sizes=(6,) sharding=None] a; c:f64[2,3] = reshape[dimensions=None new_sizes=(2, 3) sharding=None] b", "c"), F64("a:f64[2,3]", "", "a")},
    {F64("a:f64[3]", "b:f64[1,3] = reshape[dimensions=None new_sizes=(1, 3) sharding=None] a; c:f64[3] = squeeze[dimensions=(0,)] b", "c"), F64("a:f64[3]", "", "a")},
    {F64("a:f64[3]", "b:f64[1,3] = broadcast_in_dim[broadcast_dimensions=(1,)] a; c:f64[3] = squeeze[dimensions=(0,)] b", "c"), F64("a:f64[3]", "", "a")},
    {F64("a:f64[2,3,4]", "b:f64[4,2,3] = transpose[permutation=(2, 0, 1)] a; c:f64[3,4,2] = transpose[permutation=(2, 0, 1)] b", "c"),
     F64("a:f64[2,3,4]", "b:f64[3,4,2] = transpose[permutation=(1, 2, 0)] a", "b")},
    {F64("a:f64[20]", "b:f64[6] = slice[limit_indices=(18,) start_indices=(1,) strides=(3,)] a; c:f64[2] = slice[limit_indices=(5,) start_indices=(1,) strides=(2,)] b", "c"),
     F64("a:f64[20]", "b:f64[2] = slice[limit_indices=(11,) start_indices=(4,) strides=(6,)] a", "b")},
    {F64("a:f64[4] b:f64[5]", "c:f64[9] = concatenate[dimension=0] a b; d:f64[2] = slice[limit_indices=(7,) start_indices=(5,) strides=None] c", "d"),
     F64("a:f64[4] b:f64[5]", "c:f64[2] = slice[limit_indices=(3,) start_indices=(1,) strides=None] b", "c")},
    {F64("a:f64[4] b:f64[5]", "c:f64[9] = concatenate[dimension=0] a b; d:f64[2] = slice[limit_indices=(5,) start_indices=(3,) strides=None] c", "d"), NULL},
    {F64("a:f64[4]", "b:f64[8] = pad[padding_config=((2, 2, 0),)] a 0.0:f64[]; c:f64[2] = slice[limit_indices=(5,) start_indices=(3,) strides=None] b", "c"),
     F64("a:f64[4]", "b:f64[2] = slice[limit_indices=(3,) start_indices=(1,) strides=None] a", "b")},
    {F64("a:f64[4]", "b:f64[8] = pad[padding_config=((2, 2, 0),)] a 5.0:f64[]; c:f64[2] = slice[limit_indices=(2,) start_indices=(0,) strides=None] b", "c"),
     F64("a:f64[4]", "b:f64[2] = broadcast_in_dim 5.0:f64[]", "b")},
    {F64("a:f64[4]", "b:f64[2] = dynamic_slice[slice_sizes=(2,)] a 9:i32[]", "b"), F64("a:f64[4]", "b:f64[2] = slice[limit_indices=(4,) start_indices=(2,) strides=None] a", "b")},
    {F64("a:f64[4] b:f64[2] c:i32[]", "d:f64[4] = dynamic_update_slice a b c; e:f64[2] = dynamic_slice[slice_sizes=(2,)] d c", "e"), F64("a:f64[4] b:f64[2] c:i32[]", "", "b")},
    {F64("a:f64[4] b:f64[2] c:i32[] d:f64[2]", "e:f64[4] = dynamic_update_slice a b c; f:f64[4] = dynamic_update_slice e d c", "f"),
     F64("a:f64[4] b:f64[2] c:i32[] d:f64[2]", "e:f64[4] = dynamic_update_slice a d c", "e")},
    {F64("a:i32[]", "b:i32[1] = iota[dimension=0 dtype=int32 shape=(1,) sharding=None] ", "b"), F64("a:i32[]", "b:i32[1] = broadcast_in_dim 0:i32[]", "b")},
};

#define WHILE(cond_in, cond, body_in, body, body_out, nc, nb) \
    "while[body_jaxpr={ lambda ; " body_in ". let " body " in (" body_out ",) } body_nconsts=" #nb " cond_jaxpr={ lambda ; " cond_in \
    ". let " cond " in (z,) } cond_nconsts=" #nc "]"

static const rule_case control[] = {
    {F64("a:f64[]", "b:i32[] c:f64[] = " WHILE("e:i32[] f:f64[]", "z:bool[] = lt e 3:i32[]", "e:i32[] f:f64[]", "g:i32[] = add e 1:i32[]; h:f64[] = sin f", "g, h", 0, 0) " 3:i32[] a", "c"),
     F64("a:f64[]", "", "a")},
    {F64("a:f64[]", "b:i32[] c:f64[] = " WHILE("e:i32[] f:f64[]", "z:bool[] = lt e 3:i32[]", "e:i32[] f:f64[]", "g:i32[] = add e 1:i32[]; h:f64[] = sin f", "g, h", 0, 0) " 2:i32[] a", "b, c"),
     F64("a:f64[]", "b:f64[] = sin a", "3:i32[], b")},
    {F64("a:f64[] k:i32[]", "b:i32[] c:f64[] d:f64[] = " WHILE("e:i32[] f:f64[] g:f64[]", "z:bool[] = lt e 9:i32[]", "e:i32[] f:f64[] g:f64[]", "h:i32[] = add e 1:i32[]; i:f64[] = mul g f", "h, f, i", 0, 0) " k a a", "c, d"),
     F64("a:f64[] k:i32[]", "b:i32[] d:f64[] = " WHILE("e:i32[] g:f64[]", "z:bool[] = lt e 9:i32[]", "f:f64[] e:i32[] g:f64[]", "h:i32[] = add e 1:i32[]; i:f64[] = mul g f", "h, i", 0, 1) " a k a", "a, d")},
    {F64("a:f64[3] k:i32[] m:f64[]", "n:f64[3] = broadcast_in_dim m; b:i32[] c:f64[3] = " WHILE("y:i32[] e:i32[] f:f64[3]", "z:bool[] = lt e y", "p:i32[] q:f64[3] r:i32[] e:i32[] f:f64[3]", "h:i32[] = add e p; i:f64[3] = mul f q; j:i32[] = sub h r", "j, i", 1, 3) " 9:i32[] k n k 1:i32[] a", "c"),
     F64("a:f64[3] k:i32[] m:f64[]", "b:i32[] c:f64[3] = " WHILE("e:i32[] f:f64[3]", "z:bool[] = lt e 9:i32[]", "p:i32[] q:f64[] e:i32[] f:f64[3]", "h:i32[] = add e p; i:f64[3] = mul f q; j:i32[] = sub h p", "j, i", 0, 2) " k m 1:i32[] a", "c")},
    {F64("a:f64[]", "b:i32[] c:i32[] d:f64[] = " WHILE("e:i32[] f:i32[] g:f64[]", "z:bool[] = lt f 9:i32[]", "e:i32[] f:i32[] g:f64[]", "h:i32[] = add e 1:i32[]; i:i32[] = add f 1:i32[]; j:f64[] = convert_element_type[new_dtype=float64 weak_type=False] e; k:f64[] = add g j", "h, i, k", 0, 0) " 0:i32[] 0:i32[] a", "c, d"),
     F64("a:f64[]", "b:i32[] d:f64[] = " WHILE("e:i32[] g:f64[]", "z:bool[] = lt e 9:i32[]", "e:i32[] g:f64[]", "h:i32[] = add e 1:i32[]; j:f64[] = convert_element_type[new_dtype=float64 weak_type=False] e; k:f64[] = add g j", "h, k", 0, 0) " 0:i32[] a", "b, d")},
    {F64("a:f64[]", "b:f64[] = cond[branches=({ lambda ; c:f64[]. let d:f64[] = sin c in (d,) } { lambda ; c:f64[]. let d:f64[] = cos c in (d,) })] 5:i32[] a", "b"), F64("a:f64[]", "b:f64[] = cos a", "b")},
    {F64("k:i32[] a:f64[]", "b:f64[] = cond[branches=({ lambda ; c:f64[]. let d:f64[] = sin c in (d,) } { lambda ; c:f64[]. let e:f64[] = add c c; d:f64[] = sin c in (d,) })] k a", "b"),
     F64("k:i32[] a:f64[]", "b:f64[] = sin a", "b")},
    {F64("k:i32[] a:f64[]", "b:f64[] e:f64[] = cond[branches=({ lambda ; c:f64[]. let d:f64[] = sin c in (d, c) } { lambda ; c:f64[]. let d:f64[] = cos c in (d, c) })] k a", "b, e"),
     F64("k:i32[] a:f64[]", "b:f64[] = cond[branches=({ lambda ; c:f64[]. let d:f64[] = sin c in (d,) } { lambda ; c:f64[]. let d:f64[] = cos c in (d,) })] k a", "b, a")},
    {F64("k:i32[] a:f64[]", "b:f64[] = cond[branches=({ lambda ; c:f64[] e:f64[] f:f64[]. let d:f64[] = mul c e in (d,) } { lambda ; c:f64[] e:f64[] f:f64[]. let d:f64[] = sub c f in (d,) })] k a 2.0:f64[] a", "b"),
     F64("k:i32[] a:f64[]", "b:f64[] = cond[branches=({ lambda ; c:f64[]. let d:f64[] = mul c 2.0:f64[] in (d,) } { lambda ; c:f64[]. let d:f64[] = sub c c in (d,) })] k a", "b")},
    {F64("k:i32[] a:f64[] m:f64[]", "b:f64[] n:f64[] = cond[branches=({ lambda ; c:f64[] e:f64[]. let d:f64[] = sin c in (d, e) } { lambda ; c:f64[] e:f64[]. let d:f64[] = cos c in (d, c) })] k a m", "b"),
     F64("k:i32[] a:f64[] m:f64[]", "b:f64[] = cond[branches=({ lambda ; c:f64[]. let d:f64[] = sin c in (d,) } { lambda ; c:f64[]. let d:f64[] = cos c in (d,) })] k a", "b")},
};

static char *print(kiln_ctx *ctx, const kn_prog *p, size_t *n)
{
    char *text;
    assert_ok(ctx, kiln_prog_print(ctx, p, 0, &text, n));
    return text;
}

static kn_prog *lowered(kiln_ctx *ctx, const char *text)
{
    kn_prog *p, *low;
    assert_ok(ctx, kiln_prog_parse(ctx, text, strlen(text), "case", &p));
    assert_ok(ctx, kn_lower(ctx, p, &low));
    kiln_prog_release(p);
    return low;
}

static void run(kiln_ctx *ctx, const rule_case *cases, size_t n, uint32_t *fired)
{
    for (size_t i = 0; i < n; i++) {
        kn_prog *before = lowered(ctx, cases[i].before), *after = lowered(ctx, cases[i].after ? cases[i].after : cases[i].before), *got;
        kn_opt_stats stats = {.fired = fired};
        kn_opt_options o = {.stats = &stats};
        assert_ok(ctx, kn_optimise(ctx, before, &o, &got));
        assert_ok(ctx, kn_verify(ctx, got));
        size_t a, b;
        char *x = print(ctx, got, &a), *y = print(ctx, after, &b);
        if (strcmp(x, y) != 0) fail_msg("\n%s\nbecame\n%s\nwanted\n%s", cases[i].before, x, y);
        kiln_text_free(ctx, x, a);
        kiln_text_free(ctx, y, b);
        kiln_prog_release(before);
        kiln_prog_release(after);
        kiln_prog_release(got);
    }
}

#define RUN(table) run(ctx, table, sizeof table / sizeof *table, fired)

static void rules(void **state)
{
    kiln_ctx *ctx = *state;
    uint32_t n = kn_rule_count(), *fired = calloc(n, sizeof *fired), idle = 0;
    RUN(arithmetic);
    RUN(nested);
    RUN(elements);
    RUN(moves);
    RUN(control);
    for (uint32_t i = 0; i < n; i++) {
        assert_non_null(kn_rule_text(i));
        if (fired[i] || strcmp(kn_rule_pass(i), "simplify") != 0) continue;
        print_error("no case for: %s\n", kn_rule_text(i));
        idle++;
    }
    assert_int_equal(idle, 0);
    assert_null(kn_rule_text(n));
    free(fired);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rules)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
