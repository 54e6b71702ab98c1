/* SPDX-License-Identifier: Apache-2.0 */
/* Programs whose leading dimension is given when they run, for tests/unit/sized.c: name, text, and the
 * smallest size where it is not 0. */
{"elementwise",
 "{ lambda ; a:f32[n,64] b:f32[64]. let\n"
 "    c:f32[1,64] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(1, 64) sharding=None] b\n"
 "    d:f32[n,64] = mul a c\n"
 "    e:f32[n,64] = sin d\n"
 "    f:f32[n,64] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(n, 64) sharding=None] b\n"
 "    g:f32[n,64] = add e f\n"
 "    h:bool[n,64] = gt g 0.5:f32[]\n"
 "  in (g, h, e) }", 0},
{"vector",
 "{ lambda ; a:f64[n] b:f64[]. let\n"
 "    c:f64[n] = mul a b\n"
 "    d:f64[n] = exp c\n"
 "    e:f32[n] = convert_element_type[new_dtype=float32 weak_type=False] d\n"
 "  in (d, e) }", 0},
{"rows",
 "{ lambda ; a:f32[n,64]. let\n"
 "    b:f32[n] = reduce_sum[axes=(1,) out_sharding=None] a\n"
 "    c:f32[n] = reduce_max[axes=(1,) out_sharding=None] a\n"
 "    d:f32[n] = sub b c\n"
 "  in (b, c, d) }", 0},
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
 "  in (d, e, f, g, h, i, j, k) }", 0},
{"whole",
 "{ lambda ; a:f32[n,64] b:f32[n] c:i32[n,3] d:f16[n]. let\n"
 "    e:f32[] = reduce_sum[axes=(0, 1) out_sharding=None] a\n"
 "    f:f32[] = reduce_sum[axes=(0,) out_sharding=None] b\n"
 "    g:f32[] = reduce_max[axes=(0,) out_sharding=None] b\n"
 "    h:i32[] = reduce_sum[axes=(0, 1) out_sharding=None] c\n"
 "    i:i32[] = reduce_min[axes=(0, 1) out_sharding=None] c\n"
 "    j:f16[] = reduce_sum[axes=(0,) out_sharding=None] d\n"
 "    k:f32[n] = div b f\n"
 "  in (e, f, g, h, i, j, k) }", 0},
{"softmax",
 "{ lambda ; a:f32[n,128]. let\n"
 "    b:f32[n] = reduce_max[axes=(1,) out_sharding=None] a\n"
 "    c:f32[n,1] = broadcast_in_dim[broadcast_dimensions=(0,) shape=(n, 1) sharding=None] b\n"
 "    d:f32[n,128] = sub a c\n"
 "    e:f32[n,128] = exp d\n"
 "    f:f32[n] = reduce_sum[axes=(1,) out_sharding=None] e\n"
 "    g:f32[n,1] = broadcast_in_dim[broadcast_dimensions=(0,) shape=(n, 1) sharding=None] f\n"
 "    h:f32[n,128] = div e g\n"
 "  in (h,) }", 0},
{"mean",
 "{ lambda ; a:f32[n]. let\n"
 "    b:f32[] = reduce_sum[axes=(0,) out_sharding=None] a\n"
 "    c:i32[] = dim_as_value[dim=n]\n"
 "    d:f32[] = convert_element_type[new_dtype=float32 weak_type=False] c\n"
 "    e:f32[] = div b d\n"
 "    f:f32[n] = sub a e\n"
 "    g:i64[] = dim_as_value[dim=2*n + 3]\n"
 "  in (f, e, g) }", 0},
{"iota",
 "{ lambda ; a:f32[n,5]. let\n"
 "    b:i32[n] = iota[dimension=0 dtype=int32 shape=(n,) sharding=None]\n"
 "    c:f32[n,5] = iota[dimension=0 dtype=float32 shape=(n, 5) sharding=None]\n"
 "    d:f32[n,5] = add a c\n"
 "    e:i32[n] = rem b 3:i32[]\n"
 "  in (d, e) }", 0},
{"scan",
 "{ lambda ; a:f32[n,8] b:f32[8]. let\n"
 "    c:f32[8] d:f32[n,8] = scan[\n"
 "      jaxpr={ lambda ; e:f32[8] f:f32[8]. let\n"
 "          g:f32[8] = mul e 0.5:f32[]\n"
 "          h:f32[8] = add g f\n"
 "        in (h, g) }\n"
 "      ft_in=((), (None,), (None,)) ft_out=((None,), (RightsOnly(Right(None)),)) length=n reverse=False unroll=1] b a\n"
 "  in (c, d) }", 0},
{"scan_back",
 "{ lambda ; a:f64[n] b:f64[]. let\n"
 "    c:f64[] d:f64[n] = scan[\n"
 "      jaxpr={ lambda ; e:f64[] f:f64[]. let\n"
 "          g:f64[] = mul e f\n"
 "          h:f64[] = add g 1.0:f64[]\n"
 "        in (h, g) }\n"
 "      ft_in=((), (None,), (None,)) ft_out=((None,), (RightsOnly(Right(None)),)) length=n reverse=True unroll=1] b a\n"
 "  in (c, d) }", 0},
{"map",
 "{ lambda ; a:f32[n,20]. let\n"
 "    d:f32[n] = scan[\n"
 "      jaxpr={ lambda ; f:f32[20]. let\n"
 "          g:f32[20] = sin f\n"
 "          h:f32[] = reduce_sum[axes=(0,) out_sharding=None] g\n"
 "        in (h,) }\n"
 "      ft_in=((), (), (None,)) ft_out=((), (RightsOnly(Right(None)),)) length=n reverse=False unroll=1] a\n"
 "  in (d,) }", 0},
{"steps",
 "{ lambda ; a:f32[n,3] b:i32[]. let\n"
 "    _:i32[] c:f32[n,3] = while[\n"
 "      body_jaxpr={ lambda ; d:i32[] e:f32[n,3]. let\n"
 "          f:i32[] = sub d 1:i32[]\n"
 "          g:f32[n,3] = mul e 0.99:f32[]\n"
 "          h:f32[3] = reduce_max[axes=(0,) out_sharding=None] g\n"
 "          i:f32[n,3] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(n, 3) sharding=None] h\n"
 "          j:f32[n,3] = add g i\n"
 "        in (f, j) }\n"
 "      body_nconsts=0\n"
 "      cond_jaxpr={ lambda ; k:i32[] l:f32[n,3]. let m:bool[] = gt k 0:i32[] in (m,) }\n"
 "      cond_nconsts=0] b a\n"
 "  in (c,) }", 0},
{"products",
 "{ lambda ; a:f32[n,40] b:f32[40,24] c:f32[24,40] d:f32[40] e:f32[n,7]. let\n"
 "    f:f32[n,24] = dot_general[dimension_numbers=(([1], [0]), ([], []))] a b\n"
 "    g:f32[n,24] = dot_general[dimension_numbers=(([1], [1]), ([], []))] a c\n"
 "    h:f32[n] = dot_general[dimension_numbers=(([1], [0]), ([], []))] a d\n"
 "    i:f32[40,7] = dot_general[dimension_numbers=(([0], [0]), ([], []))] a e\n"
 "    j:f32[7,40] = dot_general[dimension_numbers=(([0], [0]), ([], []))] e a\n"
 "    k:f32[n,24] = tanh f\n"
 "  in (k, g, h, i, j, f) }", 0},
{"batches",
 "{ lambda ; a:f64[n,4,5] b:f64[n,5,3] c:f64[n] d:f64[n]. let\n"
 "    e:f64[n,4,3] = dot_general[dimension_numbers=(([2], [1]), ([0], [0]))] a b\n"
 "    f:f64[] = dot_general[dimension_numbers=(([0], [0]), ([], []))] c d\n"
 "    g:f64[4,3] = dot_general[dimension_numbers=(([0, 2], [0, 1]), ([], []))] a b\n"
 "  in (e, f, g) }", 0},
{"layers",
 "{ lambda ; a:f32[n,300] b:f32[300,64] c:f32[64] d:f32[64,10]. let\n"
 "    e:f32[n,64] = dot_general[dimension_numbers=(([1], [0]), ([], []))] a b\n"
 "    f:f32[1,64] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(1, 64) sharding=None] c\n"
 "    g:f32[n,64] = add e f\n"
 "    h:f32[n,64] = max g 0.0:f32[]\n"
 "    i:f32[n,10] = dot_general[dimension_numbers=(([1], [0]), ([], []))] h d\n"
 "    j:f32[n] = reduce_max[axes=(1,) out_sharding=None] i\n"
 "    k:f32[n,1] = broadcast_in_dim[broadcast_dimensions=(0,) shape=(n, 1) sharding=None] j\n"
 "    l:f32[n,10] = sub i k\n"
 "  in (l,) }", 0},
{"halves",
 "{ lambda ; a:bf16[n,33] b:bf16[33,5] c:f16[n,5]. let\n"
 "    e:bf16[n,5] = dot_general[dimension_numbers=(([1], [0]), ([], []))] a b\n"
 "    f:bf16[33] = reduce_sum[axes=(0,) out_sharding=None] a\n"
 "    g:f16[n,5] = mul c c\n"
 "    h:bf16[5,33] = dot_general[dimension_numbers=(([0], [0]), ([], []))] e a\n"
 "  in (e, f, g, h) }", 0},
{"running",
 "{ lambda ; a:f32[n,6] b:f32[n]. let\n"
 "    c:f32[n,6] = cumsum[axis=0 reverse=False] a\n"
 "    d:f32[n,6] = cumsum[axis=1 reverse=True] a\n"
 "    e:f32[n] = cummax[axis=0 reverse=True] b\n"
 "  in (c, d, e) }", 0},
{"shapes",
 "{ lambda ; a:f32[n,6,2] b:f32[n,5]. let\n"
 "    c:f32[n,12] = reshape[dimensions=None new_sizes=(n, 12) sharding=None] a\n"
 "    d:f32[n,17] = concatenate[dimension=1] c b\n"
 "    e:f32[n,4] = slice[limit_indices=(n, 9) start_indices=(0, 1) strides=(1, 2)] d\n"
 "    f:f32[n,9] = pad[padding_config=((0, 0, 0), (2, 3, 0))] e 1.5:f32[]\n"
 "    g:f32[n,2,6] = transpose[permutation=(0, 2, 1)] a\n"
 "    h:f32[n,5] = rev[dimensions=(1,)] b\n"
 "    i:f32[12*n] = reshape[dimensions=None new_sizes=(12*n,) sharding=None] a\n"
 "    j:f32[n,1,5] = broadcast_in_dim[broadcast_dimensions=(0, 2) shape=(n, 1, 5) sharding=None] b\n"
 "    k:f32[n,5] = squeeze[dimensions=(1,)] j\n"
 "    l:f32[5,n] = transpose[permutation=(1, 0)] b\n"
 "    m:f32[5] = reduce_sum[axes=(1,) out_sharding=None] l\n"
 "    o:f32[2*n,5] = concatenate[dimension=0] b h\n"
 "    p:f32[n,5] = rev[dimensions=(0,)] b\n"
 "    q:f32[n + 3,5] = pad[padding_config=((1, 2, 0), (0, 0, 0))] b 0.0:f32[]\n"
 "  in (d, e, f, g, h, i, k, l, m, o, p, q) }", 1},
{"gathers",
 "{ lambda ; a:f32[50,8] b:i32[n,1] c:f32[n,8] d:i32[]. let\n"
 "    e:f32[n,8] = gather[dimension_numbers=GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,), operand_batching_dims=(), start_indices_batching_dims=())\n"
 "      fill_value=None indices_are_sorted=False mode=GatherScatterMode.CLIP slice_sizes=(1, 8) unique_indices=False] a b\n"
 "    f:f32[n,8] = gather[dimension_numbers=GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,), operand_batching_dims=(), start_indices_batching_dims=())\n"
 "      fill_value=None indices_are_sorted=False mode=GatherScatterMode.FILL_OR_DROP slice_sizes=(1, 8) unique_indices=False] a b\n"
 "    g:f32[n,8] = add e f\n"
 "    h:f32[n,3] = dynamic_slice[slice_sizes=(n, 3)] c 0:i32[] d\n"
 "    i:f32[n,8] = dynamic_update_slice c h 0:i32[] d\n"
 "  in (g, h, i) }", 0},
{"arg",
 "{ lambda ; a:f32[n,9]. let\n"
 "    b:i32[n] = argmax[axes=(1,) index_dtype=int32] a\n"
 "    c:i32[n] = argmin[axes=(1,) index_dtype=int32] a\n"
 "  in (b, c) }", 0},
{"choice",
 "{ lambda ; a:f32[n,9] b:bool[n,9] c:i32[]. let\n"
 "    d:f32[n,9] = neg a\n"
 "    e:f32[n,9] = select_n b a d\n"
 "    f:f32[n,9] = cond[branches=({ lambda ; g:f32[n,9]. let h:f32[n,9] = sqrt g in (h,) }\n"
 "      { lambda ; i:f32[n,9]. let j:f32[9] = reduce_sum[axes=(0,) out_sharding=None] i k:f32[n,9] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(n, 9) sharding=None] j in (k,) })] c e\n"
 "    l:f32[n,9] = clamp -1.0:f32[] f 1.0:f32[]\n"
 "    m:f32[n,9] = integer_pow[y=3] l\n"
 "  in (f, m) }", 0},
{"complex",
 "{ lambda ; a:c64[n,4] b:c64[4,3]. let\n"
 "    c:c64[n,4] = mul a a\n"
 "    d:c64[n,3] = dot_general[dimension_numbers=(([1], [0]), ([], []))] c b\n"
 "    e:f32[n,3] = abs d\n"
 "    f:c64[4] = reduce_sum[axes=(0,) out_sharding=None] c\n"
 "  in (d, e, f) }", 0},
{"rows_by_index",
 "{ lambda ; a:f32[n,8] b:i32[5,1] c:i64[5,1] d:i8[n,1] x:u64[5,1]. let\n"
 "    e:f32[5,8] = gather[dimension_numbers=GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,), operand_batching_dims=(), start_indices_batching_dims=())\n"
 "      fill_value=None indices_are_sorted=False mode=GatherScatterMode.CLIP slice_sizes=(1, 8) unique_indices=False] a b\n"
 "    f:f32[5,8] = gather[dimension_numbers=GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,), operand_batching_dims=(), start_indices_batching_dims=())\n"
 "      fill_value=None indices_are_sorted=False mode=GatherScatterMode.FILL_OR_DROP slice_sizes=(1, 8) unique_indices=False] a b\n"
 "    g:f32[5,8] = gather[dimension_numbers=GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,), operand_batching_dims=(), start_indices_batching_dims=())\n"
 "      fill_value=None indices_are_sorted=False mode=GatherScatterMode.FILL_OR_DROP slice_sizes=(1, 8) unique_indices=False] a c\n"
 "    h:f32[n,8] = gather[dimension_numbers=GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,), operand_batching_dims=(), start_indices_batching_dims=())\n"
 "      fill_value=None indices_are_sorted=False mode=GatherScatterMode.FILL_OR_DROP slice_sizes=(1, 8) unique_indices=False] a d\n"
 "    i:f32[5,8] = gather[dimension_numbers=GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,), operand_batching_dims=(), start_indices_batching_dims=())\n"
 "      fill_value=None indices_are_sorted=False mode=GatherScatterMode.CLIP slice_sizes=(1, 8) unique_indices=False] a x\n"
 "  in (e, f, g, h, i) }", 1},
{"into_rows",
 "{ lambda ; a:f32[n,8] b:i32[n,1] c:f32[n,8] d:i64[6,1] e:f32[6,8] x:f32[40,8] y:u64[6,1]. let\n"
 "    f:f32[n,8] = scatter-add[dimension_numbers=ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=())\n"
 "      indices_are_sorted=False mode=GatherScatterMode.FILL_OR_DROP unique_indices=False update_consts=() update_jaxpr=None] a b c\n"
 "    g:f32[n,8] = scatter[dimension_numbers=ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=())\n"
 "      indices_are_sorted=False mode=GatherScatterMode.CLIP unique_indices=False update_consts=() update_jaxpr=None] a d e\n"
 "    h:f32[40,8] = scatter-add[dimension_numbers=ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=())\n"
 "      indices_are_sorted=False mode=GatherScatterMode.FILL_OR_DROP unique_indices=False update_consts=() update_jaxpr=None] x b c\n"
 "    i:f32[n,8] = scatter-mul[dimension_numbers=ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=())\n"
 "      indices_are_sorted=False mode=GatherScatterMode.FILL_OR_DROP unique_indices=False update_consts=() update_jaxpr=None] a y e\n"
 "  in (f, g, h, i) }", 1},
{"first_rows",
 "{ lambda ; a:f32[n,4]. let\n"
 "    b:f32[2*n,2] = reshape[dimensions=None new_sizes=(2*n, 2) sharding=None] a\n"
 "    c:f32[200,2] = slice[limit_indices=(200, 2) start_indices=(0, 0) strides=None] b\n"
 "  in (c,) }", 100},
{"ragged_rows",
 "{ lambda ; a:f32[n,10] b:f32[n,3,5] c:f32[5] d:f32[10]. let\n"
 "    e:f32[n,10] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(n, 10) sharding=None] d\n"
 "    f:f32[n,10] = add a e\n"
 "    g:f32[10] = reduce_sum[axes=(0,) out_sharding=None] f\n"
 "    h:f32[n,10] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(n, 10) sharding=None] g\n"
 "    i:f32[n,3,5] = broadcast_in_dim[broadcast_dimensions=(2,) shape=(n, 3, 5) sharding=None] c\n"
 "    j:f32[n,3,5] = mul b i\n"
 "    k:f32[n,7] = broadcast_in_dim[broadcast_dimensions=() shape=(n, 7) sharding=None] 2.5:f32[]\n"
 "  in (f, h, j, k) }", 0},
