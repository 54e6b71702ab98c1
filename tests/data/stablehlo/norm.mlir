// Batch normalisation: statistics per index of a dimension over the others, the variance of all elements, gradients of three operands.
func.func @batch_norm() {
  %x = stablehlo.constant dense<[[[1.5, -0.5], [-0.5, -1.0], [0.75, -2.25]], [[1.75, -0.75], [0.25, -0.25], [1.5, -2.0]]]> : tensor<2x3x2xf64>
  %scale = stablehlo.constant dense<[1.5, -0.5, 2.0]> : tensor<3xf64>
  %offset = stablehlo.constant dense<[0.25, 1.0, -1.0]> : tensor<3xf64>
  %0:3 = "stablehlo.batch_norm_training"(%x, %scale, %offset) <{epsilon = 1.250000e-01 : f32, feature_index = 1 : i64}> : (tensor<2x3x2xf64>, tensor<3xf64>, tensor<3xf64>) -> (tensor<2x3x2xf64>, tensor<3xf64>, tensor<3xf64>)
  check.expect_almost_eq_const %0#0, dense<[[[1.5149110640673518, -1.0149110640673518], [1.1091089451179963, 1.545544725589981], [0.48249863332220233, -3.0754980866510833]], [[1.8311388300841895, -1.3311388300841895], [0.454455274410019, 0.8908910548820038], [1.3719978133155237, -2.778998359986643]]]> : tensor<2x3x2xf64>
  check.expect_almost_eq_const %0#1, dense<[0.5, -0.375, -0.5]> : tensor<3xf64>
  check.expect_almost_eq_const %0#2, dense<[1.28125, 0.203125, 2.71875]> : tensor<3xf64>
  %1 = "stablehlo.batch_norm_inference"(%x, %scale, %offset, %0#1, %0#2) {epsilon = 0.125 : f32, feature_index = 1 : i64} : (tensor<2x3x2xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) -> tensor<2x3x2xf64>
  check.expect_eq %1, %0#0 : tensor<2x3x2xf64>
  %g = stablehlo.constant dense<[[[-0.25, -0.5], [1.25, -1.0], [-0.25, -1.0]], [[0.0, 0.5], [-1.0, 1.25], [1.0, 0.5]]]> : tensor<2x3x2xf64>
  %2:3 = "stablehlo.batch_norm_grad"(%x, %scale, %0#1, %0#2, %g) {epsilon = 0.125 : f32, feature_index = 1 : i64} : (tensor<2x3x2xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<2x3x2xf64>) -> (tensor<2x3x2xf64>, tensor<3xf64>, tensor<3xf64>)
  check.expect_almost_eq_const %2#0, dense<[[[-0.15284342024147168, -0.6377259948006232], [-0.9819805060619657, 0.9819805060619657], [-0.7208853244451369, -0.7697589057634513]], [[0.18446619684315543, 0.6061032181989394], [0.9819805060619657, -0.9819805060619657], [0.5514569092083137, 0.9391873210002745]]]> : tensor<2x3x2xf64>
  check.expect_almost_eq_const %2#1, dense<[-0.316227766016838, 0.0, 1.5936860308213676]> : tensor<3xf64>
  check.expect_almost_eq_const %2#2, dense<[-0.25, 0.5, 0.25]> : tensor<3xf64>
  return
}

// no elements: the mean of none is not a number
func.func @batch_norm_of_nothing() {
  %x = stablehlo.constant dense<> : tensor<0x2xf32>
  %one = stablehlo.constant dense<1.0> : tensor<2xf32>
  %0:3 = "stablehlo.batch_norm_training"(%x, %one, %one) {epsilon = 0.0 : f32, feature_index = 1 : i64} : (tensor<0x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<0x2xf32>, tensor<2xf32>, tensor<2xf32>)
  check.expect_eq_const %0#1, dense<0x7FC00000> : tensor<2xf32>
  return
}
