// Operations of chlo whose operands broadcast, tests for infinities, bodies of map with branches and loops.
func.func @broadcasting() {
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<[[10.0], [20.0]]> : tensor<2x1xf32>
  %c = stablehlo.constant dense<3> : tensor<i32>
  %d = stablehlo.constant dense<[2, 5]> : tensor<2xi32>
  %p = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %0 = chlo.broadcast_add %a, %b : (tensor<2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %0, dense<[[11.0, 12.0], [21.0, 22.0]]> : tensor<2x2xf32>
  %1 = "chlo.broadcast_subtract"(%b, %a) {broadcast_dimensions = array<i64: 0>} : (tensor<2x1xf32>, tensor<2xf32>) -> tensor<2x1xf32>
  check.expect_eq_const %1, dense<[[9.0], [18.0]]> : tensor<2x1xf32>
  %2 = chlo.broadcast_power %d, %c : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %2, dense<[8, 125]> : tensor<2xi32>
  %3 = chlo.broadcast_compare %d, %c {comparison_direction = #chlo<comparison_direction GT>} : (tensor<2xi32>, tensor<i32>) -> tensor<2xi1>
  check.expect_eq_const %3, dense<[false, true]> : tensor<2xi1>
  %4 = chlo.broadcast_select %p, %d, %c : (tensor<2xi1>, tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %4, dense<[2, 3]> : tensor<2xi32>
  %5 = chlo.broadcast_multiply %p, %p : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  check.expect_eq_const %5, dense<[true, false]> : tensor<2xi1>
  return
}
func.func @infinities() {
  %a = stablehlo.constant dense<[0x7F800000, 0xFF800000, 1.0, 0x7FC00000]> : tensor<4xf32>
  %0 = chlo.is_inf %a : tensor<4xf32> -> tensor<4xi1>
  check.expect_eq_const %0, dense<[true, true, false, false]> : tensor<4xi1>
  %1 = chlo.is_pos_inf %a : tensor<4xf32> -> tensor<4xi1>
  check.expect_eq_const %1, dense<[true, false, false, false]> : tensor<4xi1>
  %2 = chlo.is_neg_inf %a : tensor<4xf32> -> tensor<4xi1>
  check.expect_eq_const %2, dense<[false, true, false, false]> : tensor<4xi1>
  %3 = "chlo.constant_like"(%a) {value = -2.5 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  check.expect_eq_const %3, dense<-2.5> : tensor<4xf32>
  %4 = chlo.conj %3 : tensor<4xf32>
  check.expect_eq_const %4, dense<-2.5> : tensor<4xf32>
  return
}
func.func @maps() {
  %a = stablehlo.constant dense<[[1, 7], [4, 0]]> : tensor<2x2xi32>
  %b = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %limit = stablehlo.constant dense<100> : tensor<i32>
  %0 = "stablehlo.map"(%a, %b) ({
  ^bb0(%x: tensor<i32>, %y: tensor<f32>):
    %c = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %x, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %1 = "stablehlo.if"(%p) ({
      stablehlo.return %y : tensor<f32>
    }, {
      %n = stablehlo.negate %y : tensor<f32>
      stablehlo.return %n : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {dimensions = array<i64: 0, 1>} : (tensor<2x2xi32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %0, dense<[[1.0, -2.0], [-3.0, 4.0]]> : tensor<2x2xf32>
  %1 = "stablehlo.map"(%a) ({
  ^bb0(%x: tensor<i32>):
    %one = stablehlo.constant dense<1> : tensor<i32>
    %start = stablehlo.add %x, %one : tensor<i32>
    %w = stablehlo.while(%v = %start) : tensor<i32>
    cond {
      %p = stablehlo.compare LT, %v, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %d = stablehlo.add %v, %v : tensor<i32>
      stablehlo.return %d : tensor<i32>
    }
    stablehlo.return %w : tensor<i32>
  }) {dimensions = array<i64: 0, 1>} : (tensor<2x2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %1, dense<[[128, 128], [160, 128]]> : tensor<2x2xi32>
  return
}
func.func @numbers_without_a_key() {
  %lo = stablehlo.constant dense<-3.0> : tensor<f32>
  %hi = stablehlo.constant dense<5.0> : tensor<f32>
  %n = stablehlo.constant dense<[40, 50]> : tensor<2xi64>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.rng %lo, %hi, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<40x50xf32>
  %1 = stablehlo.rng %lo, %hi, %n, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<40x50xf32>
  %least = stablehlo.reduce(%0 init: %zero) applies stablehlo.minimum across dimensions = [0, 1] : (tensor<40x50xf32>, tensor<f32>) -> tensor<f32>
  %most = stablehlo.reduce(%0 init: %zero) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<40x50xf32>, tensor<f32>) -> tensor<f32>
  "check.expect_almost_eq_const"(%least) {value = dense<-3.0> : tensor<f32>, tolerance = 0.1 : f64} : (tensor<f32>) -> ()
  "check.expect_almost_eq_const"(%most) {value = dense<5.0> : tensor<f32>, tolerance = 0.1 : f64} : (tensor<f32>) -> ()
  %size = stablehlo.constant dense<2000.0> : tensor<f32>
  %sum = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<40x50xf32>, tensor<f32>) -> tensor<f32>
  %mean = stablehlo.divide %sum, %size : tensor<f32>
  "check.expect_almost_eq_const"(%mean) {value = dense<-3.0> : tensor<f32>, tolerance = 0.5 : f64} : (tensor<f32>) -> ()
  %ilo = stablehlo.constant dense<-2> : tensor<i8>
  %ihi = stablehlo.constant dense<3> : tensor<i8>
  %izero = stablehlo.constant dense<0> : tensor<i8>
  %2 = stablehlo.rng %ilo, %ihi, %n, distribution = UNIFORM : (tensor<i8>, tensor<i8>, tensor<2xi64>) -> tensor<40x50xi8>
  %imost = stablehlo.reduce(%2 init: %izero) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<40x50xi8>, tensor<i8>) -> tensor<i8>
  %ileast = stablehlo.reduce(%2 init: %izero) applies stablehlo.minimum across dimensions = [0, 1] : (tensor<40x50xi8>, tensor<i8>) -> tensor<i8>
  check.expect_eq_const %imost, dense<2> : tensor<i8>
  check.expect_eq_const %ileast, dense<-2> : tensor<i8>
  return
}
