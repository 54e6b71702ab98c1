// jax.lax.ragged_dot as it is lowered for a TPU: rows with the matrix of their group, sums of products of each group.
func.func @rows() {
  %x = stablehlo.constant dense<[[-4.0, 3.0, -1.0], [6.0, 2.0, -2.0], [5.0, 1.0, -3.0], [4.0, 0.0, -4.0], [3.0, -1.0, 6.0]]> : tensor<5x3xf32>
  %w = stablehlo.constant dense<[[[-2.0, 3.0], [1.0, -1.0], [4.0, 2.0]], [[0.0, -2.0], [3.0, 1.0], [-1.0, 4.0]]]> : tensor<2x3x2xf32>
  %g = stablehlo.constant dense<[1, 3]> : tensor<2xi32>
  %0 = "chlo.ragged_dot"(%x, %w, %g) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<5x3xf32>, tensor<2x3x2xf32>, tensor<2xi32>) -> tensor<5x2xf32>
  check.expect_eq_const %0, dense<[[7.0, -17.0], [8.0, -18.0], [6.0, -21.0], [4.0, -24.0], [0.0, 0.0]]> : tensor<5x2xf32>
  return
}
func.func @sums() {
  %x = stablehlo.constant dense<[[-4.0, 3.0, -1.0], [6.0, 2.0, -2.0], [5.0, 1.0, -3.0], [4.0, 0.0, -4.0], [3.0, -1.0, 6.0]]> : tensor<5x3xf32>
  %y = stablehlo.constant dense<[[-1.0, 2.0], [0.0, 3.0], [1.0, -1.0], [2.0, 0.0], [3.0, 1.0]]> : tensor<5x2xf32>
  %g = stablehlo.constant dense<[1, 3]> : tensor<2xi32>
  %0 = "chlo.ragged_dot"(%x, %y, %g) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [0]>}> : (tensor<5x3xf32>, tensor<5x2xf32>, tensor<2xi32>) -> tensor<2x3x2xf32>
  check.expect_eq_const %0, dense<[[[4.0, -8.0], [-3.0, 6.0], [1.0, -2.0]], [[13.0, 13.0], [1.0, 5.0], [-11.0, -3.0]]]> : tensor<2x3x2xf32>
  return
}
