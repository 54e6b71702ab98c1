// SPDX-License-Identifier: Apache-2.0
// made with jax.export, n = jax.export.symbolic_shape("n")
module @jit__lambda {
  func.func public @main(%arg0: tensor<?x64xf32>, %arg1: tensor<64x32xf32>) -> (tensor<64x32xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x64xf32>) -> tensor<i32>
    %1 = stablehlo.compare GE, %0, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%1, %0) {api_version = 2 : i32, error_message = "n is at least 1", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %2 = call @_wrapped_jax_export_main(%0, %arg0, %arg1) : (tensor<i32>, tensor<?x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
    return %2 : tensor<64x32xf32>
  }
  func.func private @_wrapped_jax_export_main(%arg0: tensor<i32> {jax.global_constant = "n"}, %arg1: tensor<?x64xf32>, %arg2: tensor<64x32xf32>) -> (tensor<64x32xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<32> : tensor<1xi32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = stablehlo.dot_general %arg1, %arg2, contracting_dims = [1] x [0] : (tensor<?x64xf32>, tensor<64x32xf32>) -> tensor<?x32xf32>
    %1 = stablehlo.tanh %0 : tensor<?x32xf32>
    %2 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %3 = stablehlo.concatenate %2, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %4 = stablehlo.dynamic_broadcast_in_dim %cst_0, %3, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x32xf32>
    %5 = stablehlo.add %4, %1 : tensor<?x32xf32>
    %6 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %7 = stablehlo.concatenate %6, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %8 = stablehlo.dynamic_broadcast_in_dim %cst_0, %7, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x32xf32>
    %9 = stablehlo.subtract %8, %1 : tensor<?x32xf32>
    %10 = stablehlo.multiply %5, %9 : tensor<?x32xf32>
    %11 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %12 = stablehlo.concatenate %11, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %13 = stablehlo.dynamic_broadcast_in_dim %cst, %12, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x32xf32>
    %14 = stablehlo.multiply %13, %1 : tensor<?x32xf32>
    %15 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %16 = stablehlo.concatenate %15, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %17 = stablehlo.dynamic_broadcast_in_dim %cst_0, %16, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x32xf32>
    %18 = stablehlo.multiply %17, %14 : tensor<?x32xf32>
    %19 = stablehlo.multiply %18, %10 : tensor<?x32xf32>
    %20 = stablehlo.dot_general %19, %arg1, contracting_dims = [0] x [0] : (tensor<?x32xf32>, tensor<?x64xf32>) -> tensor<32x64xf32>
    %21 = stablehlo.transpose %20, dims = [1, 0] : (tensor<32x64xf32>) -> tensor<64x32xf32>
    return %21 : tensor<64x32xf32>
  }
}
