func.func @main(%a: tensor<2x3x3xf64>, %b: tensor<2x3x4xf64>, %x: tensor<1x5x5x2xf32>, %w: tensor<3x3x2x4xf32>, %z: tensor<8xcomplex<f32>>) -> (tensor<2x3x4xf64>, tensor<2x3x3xf64>, tensor<2x3x4xf64>, tensor<1x5x5x4xf32>, tensor<8xcomplex<f32>>, tensor<2xui64>, tensor<4xui32>) {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x3xf64>, tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
  %1 = "stablehlo.cholesky"(%a) {lower = true} : (tensor<2x3x3xf64>) -> tensor<2x3x3xf64>
  %2 = "stablehlo.triangular_solve"(%1, %b) {left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false} : (tensor<2x3x3xf64>, tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
  %3 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x5x5x2xf32>, tensor<3x3x2x4xf32>) -> tensor<1x5x5x4xf32>
  %4 = stablehlo.fft %z, type = FFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  %5 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
  %6, %7 = stablehlo.rng_bit_generator %5, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  return %0, %1, %2, %3, %4, %6, %7 : tensor<2x3x4xf64>, tensor<2x3x3xf64>, tensor<2x3x4xf64>, tensor<1x5x5x4xf32>, tensor<8xcomplex<f32>>, tensor<2xui64>, tensor<4xui32>
}
