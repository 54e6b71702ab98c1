func.func @main(%a: tensor<5x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>, %s: tensor<i32>) -> (tensor<3x4xf32>, tensor<5x4xf32>, tensor<2x4xf32>, tensor<5x4xf32>) {
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<5x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  %1 = "stablehlo.scatter"(%a, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %t = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %t : tensor<f32>
  }) : (tensor<5x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %2 = stablehlo.dynamic_slice %a, %s, %c, sizes = [2, 4] : (tensor<5x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
  %3 = stablehlo.dynamic_update_slice %a, %2, %s, %c : (tensor<5x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<5x4xf32>
  return %0, %1, %2, %3 : tensor<3x4xf32>, tensor<5x4xf32>, tensor<2x4xf32>, tensor<5x4xf32>
}
