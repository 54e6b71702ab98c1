// A module that checks itself.
func.func @add_op() {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %1 = stablehlo.add %0, %0 : tensor<2xi32>
  check.expect_eq_const %1, dense<[2, 4]> : tensor<2xi32>
  func.return
}
func.func @sine_op() {
  %0 = stablehlo.constant dense<[[0.0, 0.5], [-0.5, 1.0]]> : tensor<2x2xf64>
  %1 = stablehlo.sine %0 : tensor<2x2xf64>
  %2 = stablehlo.constant dense<[[0.0, 0.479425538604203], [-0.479425538604203, 0.8414709848078965]]> : tensor<2x2xf64>
  check.expect_close %1, %2, max_ulp_difference = 3 : tensor<2x2xf64>, tensor<2x2xf64>
  check.expect_almost_eq %1, %2 : tensor<2x2xf64>
  check.expect_almost_eq_const %1, dense<[[0.0, 0.479425538604203], [-0.479425538604203, 0.8414709848078965]]> : tensor<2x2xf64>
  func.return
}
