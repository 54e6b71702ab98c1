// Custom calls that JAX makes on a CPU, annotations of shardings, collectives on one replica.
module @calls attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=1]>
  func.func public @main(%arg0: tensor<3x3xf32>, %arg1: tensor<5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<3x3xf32>, tensor<i32>, tensor<2xf32>, tensor<2xi32>, tensor<5xf32>) {
    %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%arg0) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]} : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<i32>)
    %1, %2 = chlo.top_k(%arg1, k = 2) : tensor<5xf32> -> (tensor<2xf32>, tensor<2xi32>)
    %3 = stablehlo.custom_call @Sharding(%arg1) {backend_config = "", mhlo.sharding = "{replicated}"} : (tensor<5xf32>) -> tensor<5xf32>
    %4 = stablehlo.custom_call @mhlo.erf(%3) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<5xf32>) -> tensor<5xf32>
    %5 = "stablehlo.all_reduce"(%4) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<0> : tensor<1x1xi64>, use_global_device_ids}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %6 = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %6 : tensor<f32>
    }) : (tensor<5xf32>) -> tensor<5xf32>
    return %0#0, %0#1, %1, %2, %5 : tensor<3x3xf32>, tensor<i32>, tensor<2xf32>, tensor<2xi32>, tensor<5xf32>
  }
}
