// jax.lax.approx_max_k as it is lowered for a CPU: exact there.
module @approx_top_k {
  func.func private @comparator(%arg0: tensor<f32>, %arg1: tensor<f32>, %arg2: tensor<i32>, %arg3: tensor<i32>) -> tensor<i1> {
    %0 = stablehlo.compare GT, %arg0, %arg1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    return %0 : tensor<i1>
  }
  func.func public @main() {
    %x = stablehlo.constant dense<[[1.75, 0.5, 1.0, 2.25, 1.875, -1.0], [0.125, 1.5, 0.75, 0.125, 1.5, 0.25]]> : tensor<2x6xf32>
    %0 = stablehlo.iota dim = 1 : tensor<2x6xi32>
    %c = stablehlo.constant dense<-1> : tensor<i32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1:2 = stablehlo.custom_call @ApproxTopK(%x, %0, %cst, %c) {backend_config = "", called_computations = [@comparator], mhlo.backend_config = {aggregate_to_topk = true, is_fallback = true, recall_target = 0.949999988 : f32, reduction_dim = 1 : i64, reduction_input_size_override = -1 : i64, top_k = 3 : i64}} : (tensor<2x6xf32>, tensor<2x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
    check.expect_eq_const %1#0, dense<[[2.25, 1.875, 1.75], [1.5, 1.5, 0.75]]> : tensor<2x3xf32>
    check.expect_eq_const %1#1, dense<[[3, 4, 0], [1, 4, 2]]> : tensor<2x3xi32>
    return
  }
}
