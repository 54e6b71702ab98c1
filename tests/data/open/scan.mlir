// SPDX-License-Identifier: Apache-2.0
// made with jax.export, n = jax.export.symbolic_shape("n")
module @jit__lambda {
  func.func public @main(%arg0: tensor<?x4xf32>) -> (tensor<4xf32> {jax.result_info = "result[0]"}, tensor<?x4xf32> {jax.result_info = "result[1]"}) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
    %1 = stablehlo.compare GE, %0, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%1, %0) {api_version = 2 : i32, error_message = "n is at least 1", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %2:2 = call @_wrapped_jax_export_main(%0, %arg0) : (tensor<i32>, tensor<?x4xf32>) -> (tensor<4xf32>, tensor<?x4xf32>)
    return %2#0, %2#1 : tensor<4xf32>, tensor<?x4xf32>
  }
  func.func private @_wrapped_jax_export_main(%arg0: tensor<i32> {jax.global_constant = "n"}, %arg1: tensor<?x4xf32>) -> (tensor<4xf32> {jax.result_info = "result[0]"}, tensor<?x4xf32> {jax.result_info = "result[1]"}) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<4> : tensor<1xi32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %1 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %2 = stablehlo.concatenate %1, %c_1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %3 = stablehlo.dynamic_broadcast_in_dim %cst_2, %2, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x4xf32>
    %4:4 = stablehlo.while(%iterArg = %arg1, %iterArg_3 = %c_0, %iterArg_4 = %0, %iterArg_5 = %3) : tensor<?x4xf32>, tensor<i32>, tensor<4xf32>, tensor<?x4xf32>
    cond {
      %5 = stablehlo.compare LT, %iterArg_3, %arg0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %5 = func.call @dynamic_index_in_dim(%arg0, %iterArg, %iterArg_3) : (tensor<i32>, tensor<?x4xf32>, tensor<i32>) -> tensor<4xf32>
      %6 = stablehlo.add %iterArg_4, %5 : tensor<4xf32>
      %7 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4xf32>
      %8 = stablehlo.multiply %iterArg_4, %7 : tensor<4xf32>
      %9 = func.call @dynamic_update_index_in_dim(%arg0, %iterArg_5, %8, %iterArg_3) : (tensor<i32>, tensor<?x4xf32>, tensor<4xf32>, tensor<i32>) -> tensor<?x4xf32>
      %10 = stablehlo.add %iterArg_3, %c : tensor<i32>
      stablehlo.return %iterArg, %10, %6, %9 : tensor<?x4xf32>, tensor<i32>, tensor<4xf32>, tensor<?x4xf32>
    }
    return %4#2, %4#3 : tensor<4xf32>, tensor<?x4xf32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<i32> {jax.global_constant = "n"}, %arg1: tensor<?x4xf32>, %arg2: tensor<i32>) -> tensor<4xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg1, %arg2, %c, sizes = [1, 4] : (tensor<?x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<i32> {jax.global_constant = "n"}, %arg1: tensor<?x4xf32>, %arg2: tensor<4xf32>, %arg3: tensor<i32>) -> tensor<?x4xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<4xf32>) -> tensor<1x4xf32>
    %1 = stablehlo.dynamic_update_slice %arg1, %0, %arg3, %c : (tensor<?x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<?x4xf32>
    return %1 : tensor<?x4xf32>
  }
}
