module @jit_main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<32x64xf32> loc("a"), %arg1: tensor<32xf32> loc("b"), %arg2: tensor<64xf32> loc("c")) -> tensor<32xf32> {
    %0 = stablehlo.dot_general %arg0, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x64xf32>, tensor<64xf32>) -> tensor<32xf32>
    %1 = stablehlo.add %0, %arg1 : tensor<32xf32>
    %2 = call @relu(%1) : (tensor<32xf32>) -> tensor<32xf32>
    return %2 : tensor<32xf32>
  }
  func.func private @relu(%arg0: tensor<32xf32>) -> tensor<32xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<32xf32>
    return %1 : tensor<32xf32>
  }
}
