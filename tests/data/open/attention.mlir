// SPDX-License-Identifier: Apache-2.0
// made with jax.export, n = jax.export.symbolic_shape("n")
module @jit__lambda {
  func.func public @main(%arg0: tensor<?x16xf32>, %arg1: tensor<7x16xf32>) -> (tensor<?x16xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x16xf32>) -> tensor<i32>
    %1 = stablehlo.compare GE, %0, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%1, %0) {api_version = 2 : i32, error_message = "n is at least 1", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %2 = call @_wrapped_jax_export_main(%0, %arg0, %arg1) : (tensor<i32>, tensor<?x16xf32>, tensor<7x16xf32>) -> tensor<?x16xf32>
    return %2 : tensor<?x16xf32>
  }
  func.func private @_wrapped_jax_export_main(%arg0: tensor<i32> {jax.global_constant = "n"}, %arg1: tensor<?x16xf32>, %arg2: tensor<7x16xf32>) -> (tensor<?x16xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<1> : tensor<1xi32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c_1 = stablehlo.constant dense<7> : tensor<1xi32>
    %cst_2 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %0 = stablehlo.transpose %arg2, dims = [1, 0] : (tensor<7x16xf32>) -> tensor<16x7xf32>
    %1 = stablehlo.dot_general %arg1, %0, contracting_dims = [1] x [0] : (tensor<?x16xf32>, tensor<16x7xf32>) -> tensor<?x7xf32>
    %2 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %3 = stablehlo.concatenate %2, %c_1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %4 = stablehlo.dynamic_broadcast_in_dim %cst_2, %3, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x7xf32>
    %5 = stablehlo.divide %1, %4 : tensor<?x7xf32>
    %6 = stablehlo.reduce(%5 init: %cst_0) applies stablehlo.maximum across dimensions = [1] : (tensor<?x7xf32>, tensor<f32>) -> tensor<?xf32>
    %7 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %8 = stablehlo.dynamic_broadcast_in_dim %cst_0, %7, dims = [] : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
    %9 = stablehlo.maximum %8, %6 : tensor<?xf32>
    %10 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %11 = stablehlo.concatenate %10, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %12 = stablehlo.dynamic_broadcast_in_dim %9, %11, dims = [0] : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x1xf32>
    %13 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %14 = stablehlo.concatenate %13, %c_1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %15 = stablehlo.dynamic_broadcast_in_dim %12, %14, dims = [0, 1] : (tensor<?x1xf32>, tensor<2xi32>) -> tensor<?x7xf32>
    %16 = stablehlo.subtract %5, %15 : tensor<?x7xf32>
    %17 = stablehlo.exponential %16 : tensor<?x7xf32>
    %18 = stablehlo.reduce(%17 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<?x7xf32>, tensor<f32>) -> tensor<?xf32>
    %19 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %20 = stablehlo.concatenate %19, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %21 = stablehlo.dynamic_broadcast_in_dim %18, %20, dims = [0] : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x1xf32>
    %22 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %23 = stablehlo.concatenate %22, %c_1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %24 = stablehlo.dynamic_broadcast_in_dim %21, %23, dims = [0, 1] : (tensor<?x1xf32>, tensor<2xi32>) -> tensor<?x7xf32>
    %25 = stablehlo.divide %17, %24 : tensor<?x7xf32>
    %26 = stablehlo.dot_general %25, %arg2, contracting_dims = [1] x [0] : (tensor<?x7xf32>, tensor<7x16xf32>) -> tensor<?x16xf32>
    return %26 : tensor<?x16xf32>
  }
}
