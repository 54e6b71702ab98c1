/* SPDX-License-Identifier: Apache-2.0 */
/* Programs whose leading dimension is given when they run, for tests/unit/sized.c: name, text. */
{"elementwise",
 "{ lambda ; a:f32[n,64] b:f32[64]. let\n"
 "    c:f32[1,64] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(1, 64) sharding=None] b\n"
 "    d:f32[n,64] = mul a c\n"
 "    e:f32[n,64] = sin d\n"
 "    f:f32[n,64] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(n, 64) sharding=None] b\n"
 "    g:f32[n,64] = add e f\n"
 "    h:bool[n,64] = gt g 0.5:f32[]\n"
 "  in (g, h, e) }"},
{"vector",
 "{ lambda ; a:f64[n] b:f64[]. let\n"
 "    c:f64[n] = mul a b\n"
 "    d:f64[n] = exp c\n"
 "    e:f32[n] = convert_element_type[new_dtype=float32 weak_type=False] d\n"
 "  in (d, e) }"},
{"rows",
 "{ lambda ; a:f32[n,64]. let\n"
 "    b:f32[n] = reduce_sum[axes=(1,) out_sharding=None] a\n"
 "    c:f32[n] = reduce_max[axes=(1,) out_sharding=None] a\n"
 "    d:f32[n] = sub b c\n"
 "  in (b, c, d) }"},
{"columns",
 "{ lambda ; a:f32[n,64] b:f32[n,3] c:f64[n,7] x:f32[n,5,4]. let\n"
 "    d:f32[64] = reduce_sum[axes=(0,) out_sharding=None] a\n"
 "    e:f32[3] = reduce_sum[axes=(0,) out_sharding=None] b\n"
 "    f:f64[7] = reduce_max[axes=(0,) out_sharding=None] c\n"
 "    g:f64[7] = reduce_sum[axes=(0,) out_sharding=None] c\n"
 "    h:f64[7] = reduce_prod[axes=(0,)] c\n"
 "    i:f32[5] = reduce_sum[axes=(0, 2) out_sharding=None] x\n"
 "    j:f32[4] = reduce_sum[axes=(0, 1) out_sharding=None] x\n"
 "    k:f32[n,4] = reduce_min[axes=(1,) out_sharding=None] x\n"
 "  in (d, e, f, g, h, i, j, k) }"},
{"whole",
 "{ lambda ; a:f32[n,64] b:f32[n] c:i32[n,3] d:f16[n]. let\n"
 "    e:f32[] = reduce_sum[axes=(0, 1) out_sharding=None] a\n"
 "    f:f32[] = reduce_sum[axes=(0,) out_sharding=None] b\n"
 "    g:f32[] = reduce_max[axes=(0,) out_sharding=None] b\n"
 "    h:i32[] = reduce_sum[axes=(0, 1) out_sharding=None] c\n"
 "    i:i32[] = reduce_min[axes=(0, 1) out_sharding=None] c\n"
 "    j:f16[] = reduce_sum[axes=(0,) out_sharding=None] d\n"
 "    k:f32[n] = div b f\n"
 "  in (e, f, g, h, i, j, k) }"},
{"softmax",
 "{ lambda ; a:f32[n,128]. let\n"
 "    b:f32[n] = reduce_max[axes=(1,) out_sharding=None] a\n"
 "    c:f32[n,1] = broadcast_in_dim[broadcast_dimensions=(0,) shape=(n, 1) sharding=None] b\n"
 "    d:f32[n,128] = sub a c\n"
 "    e:f32[n,128] = exp d\n"
 "    f:f32[n] = reduce_sum[axes=(1,) out_sharding=None] e\n"
 "    g:f32[n,1] = broadcast_in_dim[broadcast_dimensions=(0,) shape=(n, 1) sharding=None] f\n"
 "    h:f32[n,128] = div e g\n"
 "  in (h,) }"},
{"mean",
 "{ lambda ; a:f32[n]. let\n"
 "    b:f32[] = reduce_sum[axes=(0,) out_sharding=None] a\n"
 "    c:i32[] = dim_as_value[dim=n]\n"
 "    d:f32[] = convert_element_type[new_dtype=float32 weak_type=False] c\n"
 "    e:f32[] = div b d\n"
 "    f:f32[n] = sub a e\n"
 "    g:i64[] = dim_as_value[dim=2*n + 3]\n"
 "  in (f, e, g) }"},
{"iota",
 "{ lambda ; a:f32[n,5]. let\n"
 "    b:i32[n] = iota[dimension=0 dtype=int32 shape=(n,) sharding=None]\n"
 "    c:f32[n,5] = iota[dimension=0 dtype=float32 shape=(n, 5) sharding=None]\n"
 "    d:f32[n,5] = add a c\n"
 "    e:i32[n] = rem b 3:i32[]\n"
 "  in (d, e) }"},
