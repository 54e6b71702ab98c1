// Arithmetic: pretty and generic forms, comparisons, conversions, selections.
module @element attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xf32>, %arg1: tensor<3xf32> {jax.buffer_donor = true}, %arg2: tensor<i32>) -> (tensor<3xf32> {jax.result_info = "result[0]"}, tensor<3xi1>, tensor<i32>, tensor<3xcomplex<f32>>) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<3xf32>
    %1 = "stablehlo.multiply"(%0, %arg1) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %2 = stablehlo.tanh %1 {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<DEFAULT>>} : tensor<3xf32>
    %3 = stablehlo.exponential %2 : tensor<3xf32>
    %4 = stablehlo.compare LT, %3, %arg0, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
    %5 = "stablehlo.compare"(%3, %arg0) {comparison_direction = #stablehlo<comparison_direction GE>, compare_type = #stablehlo<comparison_type TOTALORDER>} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
    %6 = stablehlo.xor %4, %5 : tensor<3xi1>
    %7 = stablehlo.select %4, %3, %arg0 : tensor<3xi1>, tensor<3xf32>
    %cst = stablehlo.constant dense<1.5> : tensor<f32>
    %8 = stablehlo.clamp %cst, %7, %cst : (tensor<f32>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
    %9 = stablehlo.convert %8 : (tensor<3xf32>) -> tensor<3xf64>
    %10 = stablehlo.round_nearest_even %9 : tensor<3xf64>
    %11 = stablehlo.convert %10 : (tensor<3xf64>) -> tensor<3xf32>
    %12 = stablehlo.reduce_precision %11, format = e5m10 : tensor<3xf32>
    %13 = stablehlo.complex %12, %arg1 : tensor<3xcomplex<f32>>
    %14 = stablehlo.bitcast_convert %cst : (tensor<f32>) -> tensor<i32>
    %15 = stablehlo.shift_right_logical %14, %arg2 : tensor<i32>
    %16 = chlo.erf_inv %12 : tensor<3xf32> -> tensor<3xf32>
    return %16, %6, %15, %13 : tensor<3xf32>, tensor<3xi1>, tensor<i32>, tensor<3xcomplex<f32>>
  }
}
