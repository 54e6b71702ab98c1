func.func @main(%a: tensor<2x3xf32>, %b: tensor<f32>) -> (tensor<3x5xf32>, tensor<6xf32>, tensor<2x3xi64>) {
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = stablehlo.pad %0, %b, low = [0, 1], high = [0, -1], interior = [0, 1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x3xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<3x2xf32>, tensor<3x3xf32>) -> tensor<3x5xf32>
  %3 = stablehlo.reverse %2, dims = [0] : tensor<3x5xf32>
  %4 = stablehlo.slice %3 [0:2, 1:4] : (tensor<3x5xf32>) -> tensor<2x3xf32>
  %5 = stablehlo.reshape %4 : (tensor<2x3xf32>) -> tensor<6xf32>
  %6 = stablehlo.iota dim = 1 : tensor<2x3xi64>
  %7 = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<f32>) -> tensor<3x5xf32>
  %8 = "stablehlo.broadcast_in_dim"(%b) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<3x5xf32>
  %9 = stablehlo.maximum %7, %8 : tensor<3x5xf32>
  %10 = stablehlo.subtract %3, %9 : tensor<3x5xf32>
  %11 = "stablehlo.get_dimension_size"(%a) {dimension = 1 : i64} : (tensor<2x3xf32>) -> tensor<i32>
  %12 = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
  %13 = stablehlo.dynamic_reshape %5, %12 : (tensor<6xf32>, tensor<2xi32>) -> tensor<2x3xf32>
  return %10, %5, %6 : tensor<3x5xf32>, tensor<6xf32>, tensor<2x3xi64>
}
