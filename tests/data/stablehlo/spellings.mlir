// Older spellings, and annotations that change nothing on one device.
module @spellings attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=1]> {stablehlo.mesh = {axes = [{name = "x", size = 1 : i64}]}}
  func.func @main() {
    %0 = stablehlo.constant() {value = dense<[1.0, 2.0]> : tensor<2xf32>} : () -> tensor<2xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}]> : tensor<2xf32>
    %2 = sdy.reshard %1 <@mesh, [{}]> : tensor<2xf32>
    check.expect_eq_const %2, dense<[1.0, 2.0]> : tensor<2xf32>
    return
  }
}
