// SPDX-License-Identifier: Apache-2.0
// made with jax.export, n = jax.export.symbolic_shape("n")
module @jit__lambda {
  func.func public @main(%arg0: tensor<?x4xf32>) -> (tensor<?x4xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
    %1 = stablehlo.compare GE, %0, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%1, %0) {api_version = 2 : i32, error_message = "n is at least 1", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %2 = call @_wrapped_jax_export_main(%0, %arg0) : (tensor<i32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    return %2 : tensor<?x4xf32>
  }
  func.func private @_wrapped_jax_export_main(%arg0: tensor<i32> {jax.global_constant = "n"}, %arg1: tensor<?x4xf32>) -> (tensor<?x4xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<4> : tensor<1xi32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c_2 = stablehlo.constant dense<4> : tensor<i32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.convert %arg0 : tensor<i32>
    %1 = stablehlo.compare LT, %c_3, %c_3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %2 = stablehlo.add %c_3, %0 : tensor<i32>
    %3 = stablehlo.select %1, %2, %c_3 : tensor<i1>, tensor<i32>
    %4 = stablehlo.compare LT, %c_3, %c_3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %5 = stablehlo.add %c_3, %c_2 : tensor<i32>
    %6 = stablehlo.select %4, %5, %c_3 : tensor<i1>, tensor<i32>
    %7 = stablehlo.dynamic_slice %arg1, %3, %6, sizes = [1, 1] : (tensor<?x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x1xf32>
    %8 = stablehlo.reshape %7 : (tensor<1x1xf32>) -> tensor<f32>
    %9 = stablehlo.compare GT, %8, %cst_1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %10 = stablehlo.convert %9 : (tensor<i1>) -> tensor<i32>
    %11 = "stablehlo.case"(%10) ({
      %12 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
      %13 = stablehlo.concatenate %12, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
      %14 = stablehlo.dynamic_broadcast_in_dim %cst_0, %13, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x4xf32>
      %15 = stablehlo.multiply %arg1, %14 : tensor<?x4xf32>
      stablehlo.return %15 : tensor<?x4xf32>
    }, {
      %12 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
      %13 = stablehlo.concatenate %12, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
      %14 = stablehlo.dynamic_broadcast_in_dim %cst, %13, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x4xf32>
      %15 = stablehlo.add %arg1, %14 : tensor<?x4xf32>
      stablehlo.return %15 : tensor<?x4xf32>
    }) : (tensor<i32>) -> tensor<?x4xf32>
    return %11 : tensor<?x4xf32>
  }
}
