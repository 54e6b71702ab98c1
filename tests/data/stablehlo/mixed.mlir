// Products whose operands are of another kind than the result: integers summed as floats, bools as or of ands.
func.func @dot() {
  %0 = stablehlo.constant dense<[[true, false, true], [false, false, true]]> : tensor<2x3xi1>
  %1 = stablehlo.constant dense<[[true, false], [true, true], [true, false]]> : tensor<3x2xi1>
  %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<2x3xi1>, tensor<3x2xi1>) -> tensor<2x2xi1>
  check.expect_eq_const %2, dense<[[true, false], [true, false]]> : tensor<2x2xi1>
  %3 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<2x3xi1>, tensor<3x2xi1>) -> tensor<2x2xi32>
  check.expect_eq_const %3, dense<[[2, 0], [1, 0]]> : tensor<2x2xi32>
  %4 = stablehlo.constant dense<[[100, -100, 7]]> : tensor<1x3xi8>
  %5 = stablehlo.constant dense<[[100], [-100], [-1]]> : tensor<3x1xi8>
  %6 = stablehlo.dot_general %4, %5, contracting_dims = [1] x [0] : (tensor<1x3xi8>, tensor<3x1xi8>) -> tensor<1x1xf32>
  check.expect_eq_const %6, dense<19993.0> : tensor<1x1xf32>
  %7 = stablehlo.dot_general %4, %5, contracting_dims = [1] x [0] : (tensor<1x3xi8>, tensor<3x1xi8>) -> tensor<1x1xbf16>
  check.expect_eq_const %7, dense<19968.0> : tensor<1x1xbf16>
  %8 = stablehlo.constant dense<[[200, 3]]> : tensor<1x2xui8>
  %9 = stablehlo.constant dense<[[-2], [-1]]> : tensor<2x1xi8>
  %10 = stablehlo.dot_general %8, %9, contracting_dims = [1] x [0] : (tensor<1x2xui8>, tensor<2x1xi8>) -> tensor<1x1xi32>
  check.expect_eq_const %10, dense<-403> : tensor<1x1xi32>
  return
}
func.func @convolution() {
  %0 = stablehlo.constant dense<[[[100], [-100], [7]]]> : tensor<1x3x1xi8>
  %1 = stablehlo.constant dense<[[[100]], [[-100]]]> : tensor<2x1x1xi8>
  %2 = stablehlo.convolution(%0, %1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x1xi8>, tensor<2x1x1xi8>) -> tensor<1x2x1xf64>
  check.expect_eq_const %2, dense<[[[20000.0], [-10700.0]]]> : tensor<1x2x1xf64>
  return
}
