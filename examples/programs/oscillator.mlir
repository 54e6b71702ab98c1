// Oscillators by the leapfrog rule, as jax.jit(f).lower(position, velocity, steps).as_text(debug_info=True) writes a fori_loop.
module @jit_oscillate attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xf64> loc("position"), %arg1: tensor<3xf64> loc("velocity"), %arg2: tensor<i32> loc("steps")) -> (tensor<3xf64> {jax.result_info = "result[0]"}, tensor<3xf64> {jax.result_info = "result[1]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:3 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0, %iterArg_1 = %arg1) : tensor<i32>, tensor<3xf64>, tensor<3xf64>
    cond {
      %1 = stablehlo.compare LT, %iterArg, %arg2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %c_2 = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %iterArg, %c_2 : tensor<i32>
      %cst = stablehlo.constant dense<1.000000e-02> : tensor<3xf64>
      %2 = stablehlo.multiply %cst, %iterArg_0 : tensor<3xf64>
      %3 = stablehlo.subtract %iterArg_1, %2 : tensor<3xf64>
      %4 = stablehlo.multiply %cst, %3 : tensor<3xf64>
      %5 = stablehlo.add %iterArg_0, %4 : tensor<3xf64>
      stablehlo.return %1, %5, %3 : tensor<i32>, tensor<3xf64>, tensor<3xf64>
    }
    return %0#1, %0#2 : tensor<3xf64>, tensor<3xf64>
  }
}
