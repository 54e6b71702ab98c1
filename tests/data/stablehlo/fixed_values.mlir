// What docs/numerics.md fixes where IEEE 754 and StableHLO leave freedom: each value on both sides. Barriers keep operands unknown to
// the compiler.
// i8: division by zero is -1 and its remainder the dividend, the least number over -1 is itself; sums wrap; shifts by the width or more
func.func @signed_8() {
  %c0 = stablehlo.constant dense<[5, 0, -128, -7, 7, 127, -128]> : tensor<7xi8>
  %0 = stablehlo.optimization_barrier %c0 : tensor<7xi8>
  %c1 = stablehlo.constant dense<[0, 0, -1, 2, -2, 0, 0]> : tensor<7xi8>
  %1 = stablehlo.optimization_barrier %c1 : tensor<7xi8>
  %2 = stablehlo.divide %0, %1 : tensor<7xi8>
  check.expect_eq_const %2, dense<[-1, -1, -128, -3, -3, -1, -1]> : tensor<7xi8>
  %3 = stablehlo.remainder %0, %1 : tensor<7xi8>
  check.expect_eq_const %3, dense<[5, 0, 0, -1, 1, 127, -128]> : tensor<7xi8>
  %c4 = stablehlo.constant dense<[127, -128, 127, -128]> : tensor<4xi8>
  %4 = stablehlo.optimization_barrier %c4 : tensor<4xi8>
  %c5 = stablehlo.constant dense<[1, -1, 2, 2]> : tensor<4xi8>
  %5 = stablehlo.optimization_barrier %c5 : tensor<4xi8>
  %6 = stablehlo.add %4, %5 : tensor<4xi8>
  check.expect_eq_const %6, dense<[-128, 127, -127, -126]> : tensor<4xi8>
  %7 = stablehlo.multiply %4, %5 : tensor<4xi8>
  check.expect_eq_const %7, dense<[127, -128, -2, 0]> : tensor<4xi8>
  %8 = stablehlo.negate %4 : tensor<4xi8>
  check.expect_eq_const %8, dense<[-127, -128, -127, -128]> : tensor<4xi8>
  %9 = stablehlo.abs %4 : tensor<4xi8>
  check.expect_eq_const %9, dense<[127, -128, 127, -128]> : tensor<4xi8>
  %10 = stablehlo.popcnt %4 : tensor<4xi8>
  check.expect_eq_const %10, dense<[7, 1, 7, 1]> : tensor<4xi8>
  %c11 = stablehlo.constant dense<[-1, 1, -128, 127, -128, -1]> : tensor<6xi8>
  %11 = stablehlo.optimization_barrier %c11 : tensor<6xi8>
  %c12 = stablehlo.constant dense<[8, 7, 8, 9, -1, 7]> : tensor<6xi8>
  %12 = stablehlo.optimization_barrier %c12 : tensor<6xi8>
  %13 = stablehlo.shift_left %11, %12 : tensor<6xi8>
  check.expect_eq_const %13, dense<[0, -128, 0, 0, 0, -128]> : tensor<6xi8>
  %14 = stablehlo.shift_right_logical %11, %12 : tensor<6xi8>
  check.expect_eq_const %14, dense<[0, 0, 0, 0, 0, 1]> : tensor<6xi8>
  %15 = stablehlo.shift_right_arithmetic %11, %12 : tensor<6xi8>
  check.expect_eq_const %15, dense<[-1, 0, -1, 0, -1, -1]> : tensor<6xi8>
  return
}

// ui8: division by zero is all ones; sums wrap; no bit is no bit
func.func @unsigned_8() {
  %c0 = stablehlo.constant dense<[5, 0, 255, 255]> : tensor<4xui8>
  %0 = stablehlo.optimization_barrier %c0 : tensor<4xui8>
  %c1 = stablehlo.constant dense<[0, 0, 2, 0]> : tensor<4xui8>
  %1 = stablehlo.optimization_barrier %c1 : tensor<4xui8>
  %2 = stablehlo.divide %0, %1 : tensor<4xui8>
  check.expect_eq_const %2, dense<[255, 255, 127, 255]> : tensor<4xui8>
  %3 = stablehlo.remainder %0, %1 : tensor<4xui8>
  check.expect_eq_const %3, dense<[5, 0, 1, 255]> : tensor<4xui8>
  %c4 = stablehlo.constant dense<[255, 0, 255, 1]> : tensor<4xui8>
  %4 = stablehlo.optimization_barrier %c4 : tensor<4xui8>
  %c5 = stablehlo.constant dense<[1, 1, 8, 7]> : tensor<4xui8>
  %5 = stablehlo.optimization_barrier %c5 : tensor<4xui8>
  %6 = stablehlo.add %4, %5 : tensor<4xui8>
  check.expect_eq_const %6, dense<[0, 1, 7, 8]> : tensor<4xui8>
  %7 = stablehlo.subtract %4, %5 : tensor<4xui8>
  check.expect_eq_const %7, dense<[254, 255, 247, 250]> : tensor<4xui8>
  %8 = stablehlo.shift_left %4, %5 : tensor<4xui8>
  check.expect_eq_const %8, dense<[254, 0, 0, 128]> : tensor<4xui8>
  %9 = stablehlo.shift_right_logical %4, %5 : tensor<4xui8>
  check.expect_eq_const %9, dense<[127, 0, 0, 0]> : tensor<4xui8>
  %10 = stablehlo.count_leading_zeros %4 : tensor<4xui8>
  check.expect_eq_const %10, dense<[0, 8, 0, 7]> : tensor<4xui8>
  return
}

// i16: division by zero is -1 and its remainder the dividend, the least number over -1 is itself; sums wrap; shifts by the width or more
func.func @signed_16() {
  %c0 = stablehlo.constant dense<[5, 0, -32768, -7, 7, 32767, -32768]> : tensor<7xi16>
  %0 = stablehlo.optimization_barrier %c0 : tensor<7xi16>
  %c1 = stablehlo.constant dense<[0, 0, -1, 2, -2, 0, 0]> : tensor<7xi16>
  %1 = stablehlo.optimization_barrier %c1 : tensor<7xi16>
  %2 = stablehlo.divide %0, %1 : tensor<7xi16>
  check.expect_eq_const %2, dense<[-1, -1, -32768, -3, -3, -1, -1]> : tensor<7xi16>
  %3 = stablehlo.remainder %0, %1 : tensor<7xi16>
  check.expect_eq_const %3, dense<[5, 0, 0, -1, 1, 32767, -32768]> : tensor<7xi16>
  %c4 = stablehlo.constant dense<[32767, -32768, 32767, -32768]> : tensor<4xi16>
  %4 = stablehlo.optimization_barrier %c4 : tensor<4xi16>
  %c5 = stablehlo.constant dense<[1, -1, 2, 2]> : tensor<4xi16>
  %5 = stablehlo.optimization_barrier %c5 : tensor<4xi16>
  %6 = stablehlo.add %4, %5 : tensor<4xi16>
  check.expect_eq_const %6, dense<[-32768, 32767, -32767, -32766]> : tensor<4xi16>
  %7 = stablehlo.multiply %4, %5 : tensor<4xi16>
  check.expect_eq_const %7, dense<[32767, -32768, -2, 0]> : tensor<4xi16>
  %8 = stablehlo.negate %4 : tensor<4xi16>
  check.expect_eq_const %8, dense<[-32767, -32768, -32767, -32768]> : tensor<4xi16>
  %9 = stablehlo.abs %4 : tensor<4xi16>
  check.expect_eq_const %9, dense<[32767, -32768, 32767, -32768]> : tensor<4xi16>
  %10 = stablehlo.popcnt %4 : tensor<4xi16>
  check.expect_eq_const %10, dense<[15, 1, 15, 1]> : tensor<4xi16>
  %c11 = stablehlo.constant dense<[-1, 1, -32768, 32767, -32768, -1]> : tensor<6xi16>
  %11 = stablehlo.optimization_barrier %c11 : tensor<6xi16>
  %c12 = stablehlo.constant dense<[16, 15, 16, 17, -1, 15]> : tensor<6xi16>
  %12 = stablehlo.optimization_barrier %c12 : tensor<6xi16>
  %13 = stablehlo.shift_left %11, %12 : tensor<6xi16>
  check.expect_eq_const %13, dense<[0, -32768, 0, 0, 0, -32768]> : tensor<6xi16>
  %14 = stablehlo.shift_right_logical %11, %12 : tensor<6xi16>
  check.expect_eq_const %14, dense<[0, 0, 0, 0, 0, 1]> : tensor<6xi16>
  %15 = stablehlo.shift_right_arithmetic %11, %12 : tensor<6xi16>
  check.expect_eq_const %15, dense<[-1, 0, -1, 0, -1, -1]> : tensor<6xi16>
  return
}

// ui16: division by zero is all ones; sums wrap; no bit is no bit
func.func @unsigned_16() {
  %c0 = stablehlo.constant dense<[5, 0, 65535, 65535]> : tensor<4xui16>
  %0 = stablehlo.optimization_barrier %c0 : tensor<4xui16>
  %c1 = stablehlo.constant dense<[0, 0, 2, 0]> : tensor<4xui16>
  %1 = stablehlo.optimization_barrier %c1 : tensor<4xui16>
  %2 = stablehlo.divide %0, %1 : tensor<4xui16>
  check.expect_eq_const %2, dense<[65535, 65535, 32767, 65535]> : tensor<4xui16>
  %3 = stablehlo.remainder %0, %1 : tensor<4xui16>
  check.expect_eq_const %3, dense<[5, 0, 1, 65535]> : tensor<4xui16>
  %c4 = stablehlo.constant dense<[65535, 0, 65535, 1]> : tensor<4xui16>
  %4 = stablehlo.optimization_barrier %c4 : tensor<4xui16>
  %c5 = stablehlo.constant dense<[1, 1, 16, 15]> : tensor<4xui16>
  %5 = stablehlo.optimization_barrier %c5 : tensor<4xui16>
  %6 = stablehlo.add %4, %5 : tensor<4xui16>
  check.expect_eq_const %6, dense<[0, 1, 15, 16]> : tensor<4xui16>
  %7 = stablehlo.subtract %4, %5 : tensor<4xui16>
  check.expect_eq_const %7, dense<[65534, 65535, 65519, 65522]> : tensor<4xui16>
  %8 = stablehlo.shift_left %4, %5 : tensor<4xui16>
  check.expect_eq_const %8, dense<[65534, 0, 0, 32768]> : tensor<4xui16>
  %9 = stablehlo.shift_right_logical %4, %5 : tensor<4xui16>
  check.expect_eq_const %9, dense<[32767, 0, 0, 0]> : tensor<4xui16>
  %10 = stablehlo.count_leading_zeros %4 : tensor<4xui16>
  check.expect_eq_const %10, dense<[0, 16, 0, 15]> : tensor<4xui16>
  return
}

// i32: division by zero is -1 and its remainder the dividend, the least number over -1 is itself; sums wrap; shifts by the width or more
func.func @signed_32() {
  %c0 = stablehlo.constant dense<[5, 0, -2147483648, -7, 7, 2147483647, -2147483648]> : tensor<7xi32>
  %0 = stablehlo.optimization_barrier %c0 : tensor<7xi32>
  %c1 = stablehlo.constant dense<[0, 0, -1, 2, -2, 0, 0]> : tensor<7xi32>
  %1 = stablehlo.optimization_barrier %c1 : tensor<7xi32>
  %2 = stablehlo.divide %0, %1 : tensor<7xi32>
  check.expect_eq_const %2, dense<[-1, -1, -2147483648, -3, -3, -1, -1]> : tensor<7xi32>
  %3 = stablehlo.remainder %0, %1 : tensor<7xi32>
  check.expect_eq_const %3, dense<[5, 0, 0, -1, 1, 2147483647, -2147483648]> : tensor<7xi32>
  %c4 = stablehlo.constant dense<[2147483647, -2147483648, 2147483647, -2147483648]> : tensor<4xi32>
  %4 = stablehlo.optimization_barrier %c4 : tensor<4xi32>
  %c5 = stablehlo.constant dense<[1, -1, 2, 2]> : tensor<4xi32>
  %5 = stablehlo.optimization_barrier %c5 : tensor<4xi32>
  %6 = stablehlo.add %4, %5 : tensor<4xi32>
  check.expect_eq_const %6, dense<[-2147483648, 2147483647, -2147483647, -2147483646]> : tensor<4xi32>
  %7 = stablehlo.multiply %4, %5 : tensor<4xi32>
  check.expect_eq_const %7, dense<[2147483647, -2147483648, -2, 0]> : tensor<4xi32>
  %8 = stablehlo.negate %4 : tensor<4xi32>
  check.expect_eq_const %8, dense<[-2147483647, -2147483648, -2147483647, -2147483648]> : tensor<4xi32>
  %9 = stablehlo.abs %4 : tensor<4xi32>
  check.expect_eq_const %9, dense<[2147483647, -2147483648, 2147483647, -2147483648]> : tensor<4xi32>
  %10 = stablehlo.popcnt %4 : tensor<4xi32>
  check.expect_eq_const %10, dense<[31, 1, 31, 1]> : tensor<4xi32>
  %c11 = stablehlo.constant dense<[-1, 1, -2147483648, 2147483647, -2147483648, -1]> : tensor<6xi32>
  %11 = stablehlo.optimization_barrier %c11 : tensor<6xi32>
  %c12 = stablehlo.constant dense<[32, 31, 32, 33, -1, 31]> : tensor<6xi32>
  %12 = stablehlo.optimization_barrier %c12 : tensor<6xi32>
  %13 = stablehlo.shift_left %11, %12 : tensor<6xi32>
  check.expect_eq_const %13, dense<[0, -2147483648, 0, 0, 0, -2147483648]> : tensor<6xi32>
  %14 = stablehlo.shift_right_logical %11, %12 : tensor<6xi32>
  check.expect_eq_const %14, dense<[0, 0, 0, 0, 0, 1]> : tensor<6xi32>
  %15 = stablehlo.shift_right_arithmetic %11, %12 : tensor<6xi32>
  check.expect_eq_const %15, dense<[-1, 0, -1, 0, -1, -1]> : tensor<6xi32>
  return
}

// ui32: division by zero is all ones; sums wrap; no bit is no bit
func.func @unsigned_32() {
  %c0 = stablehlo.constant dense<[5, 0, 4294967295, 4294967295]> : tensor<4xui32>
  %0 = stablehlo.optimization_barrier %c0 : tensor<4xui32>
  %c1 = stablehlo.constant dense<[0, 0, 2, 0]> : tensor<4xui32>
  %1 = stablehlo.optimization_barrier %c1 : tensor<4xui32>
  %2 = stablehlo.divide %0, %1 : tensor<4xui32>
  check.expect_eq_const %2, dense<[4294967295, 4294967295, 2147483647, 4294967295]> : tensor<4xui32>
  %3 = stablehlo.remainder %0, %1 : tensor<4xui32>
  check.expect_eq_const %3, dense<[5, 0, 1, 4294967295]> : tensor<4xui32>
  %c4 = stablehlo.constant dense<[4294967295, 0, 4294967295, 1]> : tensor<4xui32>
  %4 = stablehlo.optimization_barrier %c4 : tensor<4xui32>
  %c5 = stablehlo.constant dense<[1, 1, 32, 31]> : tensor<4xui32>
  %5 = stablehlo.optimization_barrier %c5 : tensor<4xui32>
  %6 = stablehlo.add %4, %5 : tensor<4xui32>
  check.expect_eq_const %6, dense<[0, 1, 31, 32]> : tensor<4xui32>
  %7 = stablehlo.subtract %4, %5 : tensor<4xui32>
  check.expect_eq_const %7, dense<[4294967294, 4294967295, 4294967263, 4294967266]> : tensor<4xui32>
  %8 = stablehlo.shift_left %4, %5 : tensor<4xui32>
  check.expect_eq_const %8, dense<[4294967294, 0, 0, 2147483648]> : tensor<4xui32>
  %9 = stablehlo.shift_right_logical %4, %5 : tensor<4xui32>
  check.expect_eq_const %9, dense<[2147483647, 0, 0, 0]> : tensor<4xui32>
  %10 = stablehlo.count_leading_zeros %4 : tensor<4xui32>
  check.expect_eq_const %10, dense<[0, 32, 0, 31]> : tensor<4xui32>
  return
}

// i64: division by zero is -1 and its remainder the dividend, the least number over -1 is itself; sums wrap; shifts by the width or more
func.func @signed_64() {
  %c0 = stablehlo.constant dense<[5, 0, -9223372036854775808, -7, 7, 9223372036854775807, -9223372036854775808]> : tensor<7xi64>
  %0 = stablehlo.optimization_barrier %c0 : tensor<7xi64>
  %c1 = stablehlo.constant dense<[0, 0, -1, 2, -2, 0, 0]> : tensor<7xi64>
  %1 = stablehlo.optimization_barrier %c1 : tensor<7xi64>
  %2 = stablehlo.divide %0, %1 : tensor<7xi64>
  check.expect_eq_const %2, dense<[-1, -1, -9223372036854775808, -3, -3, -1, -1]> : tensor<7xi64>
  %3 = stablehlo.remainder %0, %1 : tensor<7xi64>
  check.expect_eq_const %3, dense<[5, 0, 0, -1, 1, 9223372036854775807, -9223372036854775808]> : tensor<7xi64>
  %c4 = stablehlo.constant dense<[9223372036854775807, -9223372036854775808, 9223372036854775807, -9223372036854775808]> : tensor<4xi64>
  %4 = stablehlo.optimization_barrier %c4 : tensor<4xi64>
  %c5 = stablehlo.constant dense<[1, -1, 2, 2]> : tensor<4xi64>
  %5 = stablehlo.optimization_barrier %c5 : tensor<4xi64>
  %6 = stablehlo.add %4, %5 : tensor<4xi64>
  check.expect_eq_const %6, dense<[-9223372036854775808, 9223372036854775807, -9223372036854775807, -9223372036854775806]> : tensor<4xi64>
  %7 = stablehlo.multiply %4, %5 : tensor<4xi64>
  check.expect_eq_const %7, dense<[9223372036854775807, -9223372036854775808, -2, 0]> : tensor<4xi64>
  %8 = stablehlo.negate %4 : tensor<4xi64>
  check.expect_eq_const %8, dense<[-9223372036854775807, -9223372036854775808, -9223372036854775807, -9223372036854775808]> : tensor<4xi64>
  %9 = stablehlo.abs %4 : tensor<4xi64>
  check.expect_eq_const %9, dense<[9223372036854775807, -9223372036854775808, 9223372036854775807, -9223372036854775808]> : tensor<4xi64>
  %10 = stablehlo.popcnt %4 : tensor<4xi64>
  check.expect_eq_const %10, dense<[63, 1, 63, 1]> : tensor<4xi64>
  %c11 = stablehlo.constant dense<[-1, 1, -9223372036854775808, 9223372036854775807, -9223372036854775808, -1]> : tensor<6xi64>
  %11 = stablehlo.optimization_barrier %c11 : tensor<6xi64>
  %c12 = stablehlo.constant dense<[64, 63, 64, 65, -1, 63]> : tensor<6xi64>
  %12 = stablehlo.optimization_barrier %c12 : tensor<6xi64>
  %13 = stablehlo.shift_left %11, %12 : tensor<6xi64>
  check.expect_eq_const %13, dense<[0, -9223372036854775808, 0, 0, 0, -9223372036854775808]> : tensor<6xi64>
  %14 = stablehlo.shift_right_logical %11, %12 : tensor<6xi64>
  check.expect_eq_const %14, dense<[0, 0, 0, 0, 0, 1]> : tensor<6xi64>
  %15 = stablehlo.shift_right_arithmetic %11, %12 : tensor<6xi64>
  check.expect_eq_const %15, dense<[-1, 0, -1, 0, -1, -1]> : tensor<6xi64>
  return
}

// ui64: division by zero is all ones; sums wrap; no bit is no bit
func.func @unsigned_64() {
  %c0 = stablehlo.constant dense<[5, 0, 18446744073709551615, 18446744073709551615]> : tensor<4xui64>
  %0 = stablehlo.optimization_barrier %c0 : tensor<4xui64>
  %c1 = stablehlo.constant dense<[0, 0, 2, 0]> : tensor<4xui64>
  %1 = stablehlo.optimization_barrier %c1 : tensor<4xui64>
  %2 = stablehlo.divide %0, %1 : tensor<4xui64>
  check.expect_eq_const %2, dense<[18446744073709551615, 18446744073709551615, 9223372036854775807, 18446744073709551615]> : tensor<4xui64>
  %3 = stablehlo.remainder %0, %1 : tensor<4xui64>
  check.expect_eq_const %3, dense<[5, 0, 1, 18446744073709551615]> : tensor<4xui64>
  %c4 = stablehlo.constant dense<[18446744073709551615, 0, 18446744073709551615, 1]> : tensor<4xui64>
  %4 = stablehlo.optimization_barrier %c4 : tensor<4xui64>
  %c5 = stablehlo.constant dense<[1, 1, 64, 63]> : tensor<4xui64>
  %5 = stablehlo.optimization_barrier %c5 : tensor<4xui64>
  %6 = stablehlo.add %4, %5 : tensor<4xui64>
  check.expect_eq_const %6, dense<[0, 1, 63, 64]> : tensor<4xui64>
  %7 = stablehlo.subtract %4, %5 : tensor<4xui64>
  check.expect_eq_const %7, dense<[18446744073709551614, 18446744073709551615, 18446744073709551551, 18446744073709551554]> : tensor<4xui64>
  %8 = stablehlo.shift_left %4, %5 : tensor<4xui64>
  check.expect_eq_const %8, dense<[18446744073709551614, 0, 0, 9223372036854775808]> : tensor<4xui64>
  %9 = stablehlo.shift_right_logical %4, %5 : tensor<4xui64>
  check.expect_eq_const %9, dense<[9223372036854775807, 0, 0, 0]> : tensor<4xui64>
  %10 = stablehlo.count_leading_zeros %4 : tensor<4xui64>
  check.expect_eq_const %10, dense<[0, 64, 0, 63]> : tensor<4xui64>
  return
}

// f32: NaN wins and -0 < +0 in minimum and maximum; comparisons and the total order; the upper bound wins; zeros keep signs; subnormals are kept; conversions truncate, saturate, and NaN is 0
func.func @floats_f32() {
  %c0 = stablehlo.constant dense<[0.0, -0.0, 0x7FC00000, 1.0, 0xFF800000, -0.0]> : tensor<6xf32>
  %0 = stablehlo.optimization_barrier %c0 : tensor<6xf32>
  %c1 = stablehlo.constant dense<[-0.0, 0.0, 1.0, 0x7FC00000, 1.0, -0.0]> : tensor<6xf32>
  %1 = stablehlo.optimization_barrier %c1 : tensor<6xf32>
  %2 = stablehlo.minimum %0, %1 : tensor<6xf32>
  check.expect_eq_const %2, dense<[0.0, 0.0, 0x7FC00000, 0x7FC00000, 0xFF800000, 0.0]> : tensor<6xf32>
  %3 = stablehlo.slice %2 [0:2] : (tensor<6xf32>) -> tensor<2xf32>
  %4 = stablehlo.bitcast_convert %3 : (tensor<2xf32>) -> tensor<2xi32>
  check.expect_eq_const %4, dense<[-2147483648, -2147483648]> : tensor<2xi32>
  %5 = stablehlo.maximum %0, %1 : tensor<6xf32>
  check.expect_eq_const %5, dense<[0.0, 0.0, 0x7FC00000, 0x7FC00000, 1.0, 0.0]> : tensor<6xf32>
  %6 = stablehlo.slice %5 [0:2] : (tensor<6xf32>) -> tensor<2xf32>
  %7 = stablehlo.bitcast_convert %6 : (tensor<2xf32>) -> tensor<2xi32>
  check.expect_eq_const %7, dense<[0, 0]> : tensor<2xi32>
  %8 = stablehlo.compare EQ, %0, %1, FLOAT : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xi1>
  check.expect_eq_const %8, dense<[true, true, false, false, false, true]> : tensor<6xi1>
  %9 = stablehlo.compare NE, %0, %1, FLOAT : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xi1>
  check.expect_eq_const %9, dense<[false, false, true, true, true, false]> : tensor<6xi1>
  %10 = stablehlo.compare LT, %0, %1, FLOAT : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xi1>
  check.expect_eq_const %10, dense<[false, false, false, false, true, false]> : tensor<6xi1>
  %11 = stablehlo.compare GE, %0, %1, FLOAT : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xi1>
  check.expect_eq_const %11, dense<[true, true, false, false, false, true]> : tensor<6xi1>
  %12 = stablehlo.compare LT, %0, %1, TOTALORDER : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xi1>
  check.expect_eq_const %12, dense<[false, true, false, true, true, false]> : tensor<6xi1>
  %c13 = stablehlo.constant dense<2.0> : tensor<f32>
  %13 = stablehlo.optimization_barrier %c13 : tensor<f32>
  %c14 = stablehlo.constant dense<1.0> : tensor<f32>
  %14 = stablehlo.optimization_barrier %c14 : tensor<f32>
  %15 = stablehlo.clamp %13, %0, %14 : (tensor<f32>, tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  check.expect_eq_const %15, dense<[1.0, 1.0, 0x7FC00000, 1.0, 1.0, 1.0]> : tensor<6xf32>
  %c16 = stablehlo.constant dense<[0.0, -0.0, 2.5, -2.5]> : tensor<4xf32>
  %16 = stablehlo.optimization_barrier %c16 : tensor<4xf32>
  %17 = stablehlo.negate %16 : tensor<4xf32>
  %18 = stablehlo.bitcast_convert %17 : (tensor<4xf32>) -> tensor<4xi32>
  check.expect_eq_const %18, dense<[-2147483648, 0, -1071644672, 1075838976]> : tensor<4xi32>
  %19 = stablehlo.round_nearest_even %16 : tensor<4xf32>
  %20 = stablehlo.bitcast_convert %19 : (tensor<4xf32>) -> tensor<4xi32>
  check.expect_eq_const %20, dense<[0, -2147483648, 1073741824, -1073741824]> : tensor<4xi32>
  %21 = stablehlo.round_nearest_afz %16 : tensor<4xf32>
  %22 = stablehlo.bitcast_convert %21 : (tensor<4xf32>) -> tensor<4xi32>
  check.expect_eq_const %22, dense<[0, -2147483648, 1077936128, -1069547520]> : tensor<4xi32>
  %23 = stablehlo.sign %16 : tensor<4xf32>
  %24 = stablehlo.bitcast_convert %23 : (tensor<4xf32>) -> tensor<4xi32>
  check.expect_eq_const %24, dense<[0, -2147483648, 1065353216, -1082130432]> : tensor<4xi32>
  %25 = stablehlo.ceil %16 : tensor<4xf32>
  %26 = stablehlo.bitcast_convert %25 : (tensor<4xf32>) -> tensor<4xi32>
  check.expect_eq_const %26, dense<[0, -2147483648, 1077936128, -1073741824]> : tensor<4xi32>
  %c27 = stablehlo.constant dense<[-7.0, -6.0, 1.0, 1.0]> : tensor<4xf32>
  %27 = stablehlo.optimization_barrier %c27 : tensor<4xf32>
  %c28 = stablehlo.constant dense<[3.0, 3.0, 0.0, 0x7F800000]> : tensor<4xf32>
  %28 = stablehlo.optimization_barrier %c28 : tensor<4xf32>
  %29 = stablehlo.remainder %27, %28 : tensor<4xf32>
  check.expect_eq_const %29, dense<[-1.0, 0.0, 0x7FC00000, 1.0]> : tensor<4xf32>
  %30 = stablehlo.slice %29 [1:2] : (tensor<4xf32>) -> tensor<1xf32>
  %31 = stablehlo.bitcast_convert %30 : (tensor<1xf32>) -> tensor<1xi32>
  check.expect_eq_const %31, dense<[-2147483648]> : tensor<1xi32>
  %c32 = stablehlo.constant dense<[0x00000001, 0x00000001, 0x00000001, 0x00000003]> : tensor<4xf32>
  %32 = stablehlo.optimization_barrier %c32 : tensor<4xf32>
  %c33 = stablehlo.constant dense<[1.0, 3.0, 0.5, 0.5]> : tensor<4xf32>
  %33 = stablehlo.optimization_barrier %c33 : tensor<4xf32>
  %34 = stablehlo.multiply %32, %33 : tensor<4xf32>
  %35 = stablehlo.bitcast_convert %34 : (tensor<4xf32>) -> tensor<4xi32>
  check.expect_eq_const %35, dense<[1, 3, 0, 2]> : tensor<4xi32>
  %c36 = stablehlo.constant dense<[-1.9, 1.9, 0x7FC00000, 0x7F800000, 0xFF800000, 1.0e30, -1.0e30]> : tensor<7xf32>
  %36 = stablehlo.optimization_barrier %c36 : tensor<7xf32>
  %37 = stablehlo.convert %36 : (tensor<7xf32>) -> tensor<7xi8>
  check.expect_eq_const %37, dense<[-1, 1, 0, 127, -128, 127, -128]> : tensor<7xi8>
  %38 = stablehlo.convert %36 : (tensor<7xf32>) -> tensor<7xui8>
  check.expect_eq_const %38, dense<[0, 1, 0, 255, 0, 255, 0]> : tensor<7xui8>
  %c39 = stablehlo.constant dense<[-1.9, 1.9, 0x7FC00000, 0x7F800000, 0xFF800000, 1.0e30, -1.0e30]> : tensor<7xf32>
  %39 = stablehlo.optimization_barrier %c39 : tensor<7xf32>
  %40 = stablehlo.convert %39 : (tensor<7xf32>) -> tensor<7xi16>
  check.expect_eq_const %40, dense<[-1, 1, 0, 32767, -32768, 32767, -32768]> : tensor<7xi16>
  %41 = stablehlo.convert %39 : (tensor<7xf32>) -> tensor<7xui16>
  check.expect_eq_const %41, dense<[0, 1, 0, 65535, 0, 65535, 0]> : tensor<7xui16>
  %c42 = stablehlo.constant dense<[-1.9, 1.9, 0x7FC00000, 0x7F800000, 0xFF800000, 1.0e30, -1.0e30]> : tensor<7xf32>
  %42 = stablehlo.optimization_barrier %c42 : tensor<7xf32>
  %43 = stablehlo.convert %42 : (tensor<7xf32>) -> tensor<7xi32>
  check.expect_eq_const %43, dense<[-1, 1, 0, 2147483647, -2147483648, 2147483647, -2147483648]> : tensor<7xi32>
  %44 = stablehlo.convert %42 : (tensor<7xf32>) -> tensor<7xui32>
  check.expect_eq_const %44, dense<[0, 1, 0, 4294967295, 0, 4294967295, 0]> : tensor<7xui32>
  %c45 = stablehlo.constant dense<[-1.9, 1.9, 0x7FC00000, 0x7F800000, 0xFF800000, 1.0e30, -1.0e30]> : tensor<7xf32>
  %45 = stablehlo.optimization_barrier %c45 : tensor<7xf32>
  %46 = stablehlo.convert %45 : (tensor<7xf32>) -> tensor<7xi64>
  check.expect_eq_const %46, dense<[-1, 1, 0, 9223372036854775807, -9223372036854775808, 9223372036854775807, -9223372036854775808]> : tensor<7xi64>
  %47 = stablehlo.convert %45 : (tensor<7xf32>) -> tensor<7xui64>
  check.expect_eq_const %47, dense<[0, 1, 0, 18446744073709551615, 0, 18446744073709551615, 0]> : tensor<7xui64>
  %c48 = stablehlo.constant dense<[0.0, -0.0, 0x7FC00000, 0x00000001]> : tensor<4xf32>
  %48 = stablehlo.optimization_barrier %c48 : tensor<4xf32>
  %49 = stablehlo.convert %48 : (tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %49, dense<[false, false, true, true]> : tensor<4xi1>
  return
}

// f64: NaN wins and -0 < +0 in minimum and maximum; comparisons and the total order; the upper bound wins; zeros keep signs; subnormals are kept; conversions truncate, saturate, and NaN is 0
func.func @floats_f64() {
  %c0 = stablehlo.constant dense<[0.0, -0.0, 0x7FF8000000000000, 1.0, 0xFFF0000000000000, -0.0]> : tensor<6xf64>
  %0 = stablehlo.optimization_barrier %c0 : tensor<6xf64>
  %c1 = stablehlo.constant dense<[-0.0, 0.0, 1.0, 0x7FF8000000000000, 1.0, -0.0]> : tensor<6xf64>
  %1 = stablehlo.optimization_barrier %c1 : tensor<6xf64>
  %2 = stablehlo.minimum %0, %1 : tensor<6xf64>
  check.expect_eq_const %2, dense<[0.0, 0.0, 0x7FF8000000000000, 0x7FF8000000000000, 0xFFF0000000000000, 0.0]> : tensor<6xf64>
  %3 = stablehlo.slice %2 [0:2] : (tensor<6xf64>) -> tensor<2xf64>
  %4 = stablehlo.bitcast_convert %3 : (tensor<2xf64>) -> tensor<2xi64>
  check.expect_eq_const %4, dense<[-9223372036854775808, -9223372036854775808]> : tensor<2xi64>
  %5 = stablehlo.maximum %0, %1 : tensor<6xf64>
  check.expect_eq_const %5, dense<[0.0, 0.0, 0x7FF8000000000000, 0x7FF8000000000000, 1.0, 0.0]> : tensor<6xf64>
  %6 = stablehlo.slice %5 [0:2] : (tensor<6xf64>) -> tensor<2xf64>
  %7 = stablehlo.bitcast_convert %6 : (tensor<2xf64>) -> tensor<2xi64>
  check.expect_eq_const %7, dense<[0, 0]> : tensor<2xi64>
  %8 = stablehlo.compare EQ, %0, %1, FLOAT : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xi1>
  check.expect_eq_const %8, dense<[true, true, false, false, false, true]> : tensor<6xi1>
  %9 = stablehlo.compare NE, %0, %1, FLOAT : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xi1>
  check.expect_eq_const %9, dense<[false, false, true, true, true, false]> : tensor<6xi1>
  %10 = stablehlo.compare LT, %0, %1, FLOAT : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xi1>
  check.expect_eq_const %10, dense<[false, false, false, false, true, false]> : tensor<6xi1>
  %11 = stablehlo.compare GE, %0, %1, FLOAT : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xi1>
  check.expect_eq_const %11, dense<[true, true, false, false, false, true]> : tensor<6xi1>
  %12 = stablehlo.compare LT, %0, %1, TOTALORDER : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xi1>
  check.expect_eq_const %12, dense<[false, true, false, true, true, false]> : tensor<6xi1>
  %c13 = stablehlo.constant dense<2.0> : tensor<f64>
  %13 = stablehlo.optimization_barrier %c13 : tensor<f64>
  %c14 = stablehlo.constant dense<1.0> : tensor<f64>
  %14 = stablehlo.optimization_barrier %c14 : tensor<f64>
  %15 = stablehlo.clamp %13, %0, %14 : (tensor<f64>, tensor<6xf64>, tensor<f64>) -> tensor<6xf64>
  check.expect_eq_const %15, dense<[1.0, 1.0, 0x7FF8000000000000, 1.0, 1.0, 1.0]> : tensor<6xf64>
  %c16 = stablehlo.constant dense<[0.0, -0.0, 2.5, -2.5]> : tensor<4xf64>
  %16 = stablehlo.optimization_barrier %c16 : tensor<4xf64>
  %17 = stablehlo.negate %16 : tensor<4xf64>
  %18 = stablehlo.bitcast_convert %17 : (tensor<4xf64>) -> tensor<4xi64>
  check.expect_eq_const %18, dense<[-9223372036854775808, 0, -4610560118520545280, 4612811918334230528]> : tensor<4xi64>
  %19 = stablehlo.round_nearest_even %16 : tensor<4xf64>
  %20 = stablehlo.bitcast_convert %19 : (tensor<4xf64>) -> tensor<4xi64>
  check.expect_eq_const %20, dense<[0, -9223372036854775808, 4611686018427387904, -4611686018427387904]> : tensor<4xi64>
  %21 = stablehlo.round_nearest_afz %16 : tensor<4xf64>
  %22 = stablehlo.bitcast_convert %21 : (tensor<4xf64>) -> tensor<4xi64>
  check.expect_eq_const %22, dense<[0, -9223372036854775808, 4613937818241073152, -4609434218613702656]> : tensor<4xi64>
  %23 = stablehlo.sign %16 : tensor<4xf64>
  %24 = stablehlo.bitcast_convert %23 : (tensor<4xf64>) -> tensor<4xi64>
  check.expect_eq_const %24, dense<[0, -9223372036854775808, 4607182418800017408, -4616189618054758400]> : tensor<4xi64>
  %25 = stablehlo.ceil %16 : tensor<4xf64>
  %26 = stablehlo.bitcast_convert %25 : (tensor<4xf64>) -> tensor<4xi64>
  check.expect_eq_const %26, dense<[0, -9223372036854775808, 4613937818241073152, -4611686018427387904]> : tensor<4xi64>
  %c27 = stablehlo.constant dense<[-7.0, -6.0, 1.0, 1.0]> : tensor<4xf64>
  %27 = stablehlo.optimization_barrier %c27 : tensor<4xf64>
  %c28 = stablehlo.constant dense<[3.0, 3.0, 0.0, 0x7FF0000000000000]> : tensor<4xf64>
  %28 = stablehlo.optimization_barrier %c28 : tensor<4xf64>
  %29 = stablehlo.remainder %27, %28 : tensor<4xf64>
  check.expect_eq_const %29, dense<[-1.0, 0.0, 0x7FF8000000000000, 1.0]> : tensor<4xf64>
  %30 = stablehlo.slice %29 [1:2] : (tensor<4xf64>) -> tensor<1xf64>
  %31 = stablehlo.bitcast_convert %30 : (tensor<1xf64>) -> tensor<1xi64>
  check.expect_eq_const %31, dense<[-9223372036854775808]> : tensor<1xi64>
  %c32 = stablehlo.constant dense<[0x0000000000000001, 0x0000000000000001, 0x0000000000000001, 0x0000000000000003]> : tensor<4xf64>
  %32 = stablehlo.optimization_barrier %c32 : tensor<4xf64>
  %c33 = stablehlo.constant dense<[1.0, 3.0, 0.5, 0.5]> : tensor<4xf64>
  %33 = stablehlo.optimization_barrier %c33 : tensor<4xf64>
  %34 = stablehlo.multiply %32, %33 : tensor<4xf64>
  %35 = stablehlo.bitcast_convert %34 : (tensor<4xf64>) -> tensor<4xi64>
  check.expect_eq_const %35, dense<[1, 3, 0, 2]> : tensor<4xi64>
  %c36 = stablehlo.constant dense<[-1.9, 1.9, 0x7FF8000000000000, 0x7FF0000000000000, 0xFFF0000000000000, 1.0e30, -1.0e30]> : tensor<7xf64>
  %36 = stablehlo.optimization_barrier %c36 : tensor<7xf64>
  %37 = stablehlo.convert %36 : (tensor<7xf64>) -> tensor<7xi8>
  check.expect_eq_const %37, dense<[-1, 1, 0, 127, -128, 127, -128]> : tensor<7xi8>
  %38 = stablehlo.convert %36 : (tensor<7xf64>) -> tensor<7xui8>
  check.expect_eq_const %38, dense<[0, 1, 0, 255, 0, 255, 0]> : tensor<7xui8>
  %c39 = stablehlo.constant dense<[-1.9, 1.9, 0x7FF8000000000000, 0x7FF0000000000000, 0xFFF0000000000000, 1.0e30, -1.0e30]> : tensor<7xf64>
  %39 = stablehlo.optimization_barrier %c39 : tensor<7xf64>
  %40 = stablehlo.convert %39 : (tensor<7xf64>) -> tensor<7xi16>
  check.expect_eq_const %40, dense<[-1, 1, 0, 32767, -32768, 32767, -32768]> : tensor<7xi16>
  %41 = stablehlo.convert %39 : (tensor<7xf64>) -> tensor<7xui16>
  check.expect_eq_const %41, dense<[0, 1, 0, 65535, 0, 65535, 0]> : tensor<7xui16>
  %c42 = stablehlo.constant dense<[-1.9, 1.9, 0x7FF8000000000000, 0x7FF0000000000000, 0xFFF0000000000000, 1.0e30, -1.0e30]> : tensor<7xf64>
  %42 = stablehlo.optimization_barrier %c42 : tensor<7xf64>
  %43 = stablehlo.convert %42 : (tensor<7xf64>) -> tensor<7xi32>
  check.expect_eq_const %43, dense<[-1, 1, 0, 2147483647, -2147483648, 2147483647, -2147483648]> : tensor<7xi32>
  %44 = stablehlo.convert %42 : (tensor<7xf64>) -> tensor<7xui32>
  check.expect_eq_const %44, dense<[0, 1, 0, 4294967295, 0, 4294967295, 0]> : tensor<7xui32>
  %c45 = stablehlo.constant dense<[-1.9, 1.9, 0x7FF8000000000000, 0x7FF0000000000000, 0xFFF0000000000000, 1.0e30, -1.0e30]> : tensor<7xf64>
  %45 = stablehlo.optimization_barrier %c45 : tensor<7xf64>
  %46 = stablehlo.convert %45 : (tensor<7xf64>) -> tensor<7xi64>
  check.expect_eq_const %46, dense<[-1, 1, 0, 9223372036854775807, -9223372036854775808, 9223372036854775807, -9223372036854775808]> : tensor<7xi64>
  %47 = stablehlo.convert %45 : (tensor<7xf64>) -> tensor<7xui64>
  check.expect_eq_const %47, dense<[0, 1, 0, 18446744073709551615, 0, 18446744073709551615, 0]> : tensor<7xui64>
  %c48 = stablehlo.constant dense<[0.0, -0.0, 0x7FF8000000000000, 0x0000000000000001]> : tensor<4xf64>
  %48 = stablehlo.optimization_barrier %c48 : tensor<4xf64>
  %49 = stablehlo.convert %48 : (tensor<4xf64>) -> tensor<4xi1>
  check.expect_eq_const %49, dense<[false, false, true, true]> : tensor<4xi1>
  return
}

// f16: NaN wins and -0 < +0 in minimum and maximum; comparisons and the total order; the upper bound wins; zeros keep signs; subnormals are kept; conversions truncate, saturate, and NaN is 0
func.func @floats_f16() {
  %c0 = stablehlo.constant dense<[0.0, -0.0, 0x7E00, 1.0, 0xFC00, -0.0]> : tensor<6xf16>
  %0 = stablehlo.optimization_barrier %c0 : tensor<6xf16>
  %c1 = stablehlo.constant dense<[-0.0, 0.0, 1.0, 0x7E00, 1.0, -0.0]> : tensor<6xf16>
  %1 = stablehlo.optimization_barrier %c1 : tensor<6xf16>
  %2 = stablehlo.minimum %0, %1 : tensor<6xf16>
  check.expect_eq_const %2, dense<[0.0, 0.0, 0x7E00, 0x7E00, 0xFC00, 0.0]> : tensor<6xf16>
  %3 = stablehlo.slice %2 [0:2] : (tensor<6xf16>) -> tensor<2xf16>
  %4 = stablehlo.bitcast_convert %3 : (tensor<2xf16>) -> tensor<2xi16>
  check.expect_eq_const %4, dense<[-32768, -32768]> : tensor<2xi16>
  %5 = stablehlo.maximum %0, %1 : tensor<6xf16>
  check.expect_eq_const %5, dense<[0.0, 0.0, 0x7E00, 0x7E00, 1.0, 0.0]> : tensor<6xf16>
  %6 = stablehlo.slice %5 [0:2] : (tensor<6xf16>) -> tensor<2xf16>
  %7 = stablehlo.bitcast_convert %6 : (tensor<2xf16>) -> tensor<2xi16>
  check.expect_eq_const %7, dense<[0, 0]> : tensor<2xi16>
  %8 = stablehlo.compare EQ, %0, %1, FLOAT : (tensor<6xf16>, tensor<6xf16>) -> tensor<6xi1>
  check.expect_eq_const %8, dense<[true, true, false, false, false, true]> : tensor<6xi1>
  %9 = stablehlo.compare NE, %0, %1, FLOAT : (tensor<6xf16>, tensor<6xf16>) -> tensor<6xi1>
  check.expect_eq_const %9, dense<[false, false, true, true, true, false]> : tensor<6xi1>
  %10 = stablehlo.compare LT, %0, %1, FLOAT : (tensor<6xf16>, tensor<6xf16>) -> tensor<6xi1>
  check.expect_eq_const %10, dense<[false, false, false, false, true, false]> : tensor<6xi1>
  %11 = stablehlo.compare GE, %0, %1, FLOAT : (tensor<6xf16>, tensor<6xf16>) -> tensor<6xi1>
  check.expect_eq_const %11, dense<[true, true, false, false, false, true]> : tensor<6xi1>
  %12 = stablehlo.compare LT, %0, %1, TOTALORDER : (tensor<6xf16>, tensor<6xf16>) -> tensor<6xi1>
  check.expect_eq_const %12, dense<[false, true, false, true, true, false]> : tensor<6xi1>
  %c13 = stablehlo.constant dense<2.0> : tensor<f16>
  %13 = stablehlo.optimization_barrier %c13 : tensor<f16>
  %c14 = stablehlo.constant dense<1.0> : tensor<f16>
  %14 = stablehlo.optimization_barrier %c14 : tensor<f16>
  %15 = stablehlo.clamp %13, %0, %14 : (tensor<f16>, tensor<6xf16>, tensor<f16>) -> tensor<6xf16>
  check.expect_eq_const %15, dense<[1.0, 1.0, 0x7E00, 1.0, 1.0, 1.0]> : tensor<6xf16>
  %c16 = stablehlo.constant dense<[0.0, -0.0, 2.5, -2.5]> : tensor<4xf16>
  %16 = stablehlo.optimization_barrier %c16 : tensor<4xf16>
  %17 = stablehlo.negate %16 : tensor<4xf16>
  %18 = stablehlo.bitcast_convert %17 : (tensor<4xf16>) -> tensor<4xi16>
  check.expect_eq_const %18, dense<[-32768, 0, -16128, 16640]> : tensor<4xi16>
  %19 = stablehlo.round_nearest_even %16 : tensor<4xf16>
  %20 = stablehlo.bitcast_convert %19 : (tensor<4xf16>) -> tensor<4xi16>
  check.expect_eq_const %20, dense<[0, -32768, 16384, -16384]> : tensor<4xi16>
  %21 = stablehlo.round_nearest_afz %16 : tensor<4xf16>
  %22 = stablehlo.bitcast_convert %21 : (tensor<4xf16>) -> tensor<4xi16>
  check.expect_eq_const %22, dense<[0, -32768, 16896, -15872]> : tensor<4xi16>
  %23 = stablehlo.sign %16 : tensor<4xf16>
  %24 = stablehlo.bitcast_convert %23 : (tensor<4xf16>) -> tensor<4xi16>
  check.expect_eq_const %24, dense<[0, -32768, 15360, -17408]> : tensor<4xi16>
  %25 = stablehlo.ceil %16 : tensor<4xf16>
  %26 = stablehlo.bitcast_convert %25 : (tensor<4xf16>) -> tensor<4xi16>
  check.expect_eq_const %26, dense<[0, -32768, 16896, -16384]> : tensor<4xi16>
  %c27 = stablehlo.constant dense<[-7.0, -6.0, 1.0, 1.0]> : tensor<4xf16>
  %27 = stablehlo.optimization_barrier %c27 : tensor<4xf16>
  %c28 = stablehlo.constant dense<[3.0, 3.0, 0.0, 0x7C00]> : tensor<4xf16>
  %28 = stablehlo.optimization_barrier %c28 : tensor<4xf16>
  %29 = stablehlo.remainder %27, %28 : tensor<4xf16>
  check.expect_eq_const %29, dense<[-1.0, 0.0, 0x7E00, 1.0]> : tensor<4xf16>
  %30 = stablehlo.slice %29 [1:2] : (tensor<4xf16>) -> tensor<1xf16>
  %31 = stablehlo.bitcast_convert %30 : (tensor<1xf16>) -> tensor<1xi16>
  check.expect_eq_const %31, dense<[-32768]> : tensor<1xi16>
  %c32 = stablehlo.constant dense<[0x0001, 0x0001, 0x0001, 0x0003]> : tensor<4xf16>
  %32 = stablehlo.optimization_barrier %c32 : tensor<4xf16>
  %c33 = stablehlo.constant dense<[1.0, 3.0, 0.5, 0.5]> : tensor<4xf16>
  %33 = stablehlo.optimization_barrier %c33 : tensor<4xf16>
  %34 = stablehlo.multiply %32, %33 : tensor<4xf16>
  %35 = stablehlo.bitcast_convert %34 : (tensor<4xf16>) -> tensor<4xi16>
  check.expect_eq_const %35, dense<[1, 3, 0, 2]> : tensor<4xi16>
  %c36 = stablehlo.constant dense<[-1.9, 1.9, 0x7E00, 0x7C00, 0xFC00, 6.0e4, -6.0e4]> : tensor<7xf16>
  %36 = stablehlo.optimization_barrier %c36 : tensor<7xf16>
  %37 = stablehlo.convert %36 : (tensor<7xf16>) -> tensor<7xi8>
  check.expect_eq_const %37, dense<[-1, 1, 0, 127, -128, 127, -128]> : tensor<7xi8>
  %38 = stablehlo.convert %36 : (tensor<7xf16>) -> tensor<7xui8>
  check.expect_eq_const %38, dense<[0, 1, 0, 255, 0, 255, 0]> : tensor<7xui8>
  %c39 = stablehlo.constant dense<[-1.9, 1.9, 0x7E00, 0x7C00, 0xFC00, 6.0e4, -6.0e4]> : tensor<7xf16>
  %39 = stablehlo.optimization_barrier %c39 : tensor<7xf16>
  %40 = stablehlo.convert %39 : (tensor<7xf16>) -> tensor<7xi16>
  check.expect_eq_const %40, dense<[-1, 1, 0, 32767, -32768, 32767, -32768]> : tensor<7xi16>
  %41 = stablehlo.convert %39 : (tensor<7xf16>) -> tensor<7xui16>
  check.expect_eq_const %41, dense<[0, 1, 0, 65535, 0, 60000, 0]> : tensor<7xui16>
  %c42 = stablehlo.constant dense<[-1.9, 1.9, 0x7E00, 0x7C00, 0xFC00]> : tensor<5xf16>
  %42 = stablehlo.optimization_barrier %c42 : tensor<5xf16>
  %43 = stablehlo.convert %42 : (tensor<5xf16>) -> tensor<5xi32>
  check.expect_eq_const %43, dense<[-1, 1, 0, 2147483647, -2147483648]> : tensor<5xi32>
  %44 = stablehlo.convert %42 : (tensor<5xf16>) -> tensor<5xui32>
  check.expect_eq_const %44, dense<[0, 1, 0, 4294967295, 0]> : tensor<5xui32>
  %c45 = stablehlo.constant dense<[-1.9, 1.9, 0x7E00, 0x7C00, 0xFC00]> : tensor<5xf16>
  %45 = stablehlo.optimization_barrier %c45 : tensor<5xf16>
  %46 = stablehlo.convert %45 : (tensor<5xf16>) -> tensor<5xi64>
  check.expect_eq_const %46, dense<[-1, 1, 0, 9223372036854775807, -9223372036854775808]> : tensor<5xi64>
  %47 = stablehlo.convert %45 : (tensor<5xf16>) -> tensor<5xui64>
  check.expect_eq_const %47, dense<[0, 1, 0, 18446744073709551615, 0]> : tensor<5xui64>
  %c48 = stablehlo.constant dense<[0.0, -0.0, 0x7E00, 0x0001]> : tensor<4xf16>
  %48 = stablehlo.optimization_barrier %c48 : tensor<4xf16>
  %49 = stablehlo.convert %48 : (tensor<4xf16>) -> tensor<4xi1>
  check.expect_eq_const %49, dense<[false, false, true, true]> : tensor<4xi1>
  return
}

// bf16: NaN wins and -0 < +0 in minimum and maximum; comparisons and the total order; the upper bound wins; zeros keep signs; subnormals are kept; conversions truncate, saturate, and NaN is 0
func.func @floats_bf16() {
  %c0 = stablehlo.constant dense<[0.0, -0.0, 0x7FC0, 1.0, 0xFF80, -0.0]> : tensor<6xbf16>
  %0 = stablehlo.optimization_barrier %c0 : tensor<6xbf16>
  %c1 = stablehlo.constant dense<[-0.0, 0.0, 1.0, 0x7FC0, 1.0, -0.0]> : tensor<6xbf16>
  %1 = stablehlo.optimization_barrier %c1 : tensor<6xbf16>
  %2 = stablehlo.minimum %0, %1 : tensor<6xbf16>
  check.expect_eq_const %2, dense<[0.0, 0.0, 0x7FC0, 0x7FC0, 0xFF80, 0.0]> : tensor<6xbf16>
  %3 = stablehlo.slice %2 [0:2] : (tensor<6xbf16>) -> tensor<2xbf16>
  %4 = stablehlo.bitcast_convert %3 : (tensor<2xbf16>) -> tensor<2xi16>
  check.expect_eq_const %4, dense<[-32768, -32768]> : tensor<2xi16>
  %5 = stablehlo.maximum %0, %1 : tensor<6xbf16>
  check.expect_eq_const %5, dense<[0.0, 0.0, 0x7FC0, 0x7FC0, 1.0, 0.0]> : tensor<6xbf16>
  %6 = stablehlo.slice %5 [0:2] : (tensor<6xbf16>) -> tensor<2xbf16>
  %7 = stablehlo.bitcast_convert %6 : (tensor<2xbf16>) -> tensor<2xi16>
  check.expect_eq_const %7, dense<[0, 0]> : tensor<2xi16>
  %8 = stablehlo.compare EQ, %0, %1, FLOAT : (tensor<6xbf16>, tensor<6xbf16>) -> tensor<6xi1>
  check.expect_eq_const %8, dense<[true, true, false, false, false, true]> : tensor<6xi1>
  %9 = stablehlo.compare NE, %0, %1, FLOAT : (tensor<6xbf16>, tensor<6xbf16>) -> tensor<6xi1>
  check.expect_eq_const %9, dense<[false, false, true, true, true, false]> : tensor<6xi1>
  %10 = stablehlo.compare LT, %0, %1, FLOAT : (tensor<6xbf16>, tensor<6xbf16>) -> tensor<6xi1>
  check.expect_eq_const %10, dense<[false, false, false, false, true, false]> : tensor<6xi1>
  %11 = stablehlo.compare GE, %0, %1, FLOAT : (tensor<6xbf16>, tensor<6xbf16>) -> tensor<6xi1>
  check.expect_eq_const %11, dense<[true, true, false, false, false, true]> : tensor<6xi1>
  %12 = stablehlo.compare LT, %0, %1, TOTALORDER : (tensor<6xbf16>, tensor<6xbf16>) -> tensor<6xi1>
  check.expect_eq_const %12, dense<[false, true, false, true, true, false]> : tensor<6xi1>
  %c13 = stablehlo.constant dense<2.0> : tensor<bf16>
  %13 = stablehlo.optimization_barrier %c13 : tensor<bf16>
  %c14 = stablehlo.constant dense<1.0> : tensor<bf16>
  %14 = stablehlo.optimization_barrier %c14 : tensor<bf16>
  %15 = stablehlo.clamp %13, %0, %14 : (tensor<bf16>, tensor<6xbf16>, tensor<bf16>) -> tensor<6xbf16>
  check.expect_eq_const %15, dense<[1.0, 1.0, 0x7FC0, 1.0, 1.0, 1.0]> : tensor<6xbf16>
  %c16 = stablehlo.constant dense<[0.0, -0.0, 2.5, -2.5]> : tensor<4xbf16>
  %16 = stablehlo.optimization_barrier %c16 : tensor<4xbf16>
  %17 = stablehlo.negate %16 : tensor<4xbf16>
  %18 = stablehlo.bitcast_convert %17 : (tensor<4xbf16>) -> tensor<4xi16>
  check.expect_eq_const %18, dense<[-32768, 0, -16352, 16416]> : tensor<4xi16>
  %19 = stablehlo.round_nearest_even %16 : tensor<4xbf16>
  %20 = stablehlo.bitcast_convert %19 : (tensor<4xbf16>) -> tensor<4xi16>
  check.expect_eq_const %20, dense<[0, -32768, 16384, -16384]> : tensor<4xi16>
  %21 = stablehlo.round_nearest_afz %16 : tensor<4xbf16>
  %22 = stablehlo.bitcast_convert %21 : (tensor<4xbf16>) -> tensor<4xi16>
  check.expect_eq_const %22, dense<[0, -32768, 16448, -16320]> : tensor<4xi16>
  %23 = stablehlo.sign %16 : tensor<4xbf16>
  %24 = stablehlo.bitcast_convert %23 : (tensor<4xbf16>) -> tensor<4xi16>
  check.expect_eq_const %24, dense<[0, -32768, 16256, -16512]> : tensor<4xi16>
  %25 = stablehlo.ceil %16 : tensor<4xbf16>
  %26 = stablehlo.bitcast_convert %25 : (tensor<4xbf16>) -> tensor<4xi16>
  check.expect_eq_const %26, dense<[0, -32768, 16448, -16384]> : tensor<4xi16>
  %c27 = stablehlo.constant dense<[-7.0, -6.0, 1.0, 1.0]> : tensor<4xbf16>
  %27 = stablehlo.optimization_barrier %c27 : tensor<4xbf16>
  %c28 = stablehlo.constant dense<[3.0, 3.0, 0.0, 0x7F80]> : tensor<4xbf16>
  %28 = stablehlo.optimization_barrier %c28 : tensor<4xbf16>
  %29 = stablehlo.remainder %27, %28 : tensor<4xbf16>
  check.expect_eq_const %29, dense<[-1.0, 0.0, 0x7FC0, 1.0]> : tensor<4xbf16>
  %30 = stablehlo.slice %29 [1:2] : (tensor<4xbf16>) -> tensor<1xbf16>
  %31 = stablehlo.bitcast_convert %30 : (tensor<1xbf16>) -> tensor<1xi16>
  check.expect_eq_const %31, dense<[-32768]> : tensor<1xi16>
  %c32 = stablehlo.constant dense<[0x0001, 0x0001, 0x0001, 0x0003]> : tensor<4xbf16>
  %32 = stablehlo.optimization_barrier %c32 : tensor<4xbf16>
  %c33 = stablehlo.constant dense<[1.0, 3.0, 0.5, 0.5]> : tensor<4xbf16>
  %33 = stablehlo.optimization_barrier %c33 : tensor<4xbf16>
  %34 = stablehlo.multiply %32, %33 : tensor<4xbf16>
  %35 = stablehlo.bitcast_convert %34 : (tensor<4xbf16>) -> tensor<4xi16>
  check.expect_eq_const %35, dense<[1, 3, 0, 2]> : tensor<4xi16>
  %c36 = stablehlo.constant dense<[-1.9, 1.9, 0x7FC0, 0x7F80, 0xFF80, 1.0e30, -1.0e30]> : tensor<7xbf16>
  %36 = stablehlo.optimization_barrier %c36 : tensor<7xbf16>
  %37 = stablehlo.convert %36 : (tensor<7xbf16>) -> tensor<7xi8>
  check.expect_eq_const %37, dense<[-1, 1, 0, 127, -128, 127, -128]> : tensor<7xi8>
  %38 = stablehlo.convert %36 : (tensor<7xbf16>) -> tensor<7xui8>
  check.expect_eq_const %38, dense<[0, 1, 0, 255, 0, 255, 0]> : tensor<7xui8>
  %c39 = stablehlo.constant dense<[-1.9, 1.9, 0x7FC0, 0x7F80, 0xFF80, 1.0e30, -1.0e30]> : tensor<7xbf16>
  %39 = stablehlo.optimization_barrier %c39 : tensor<7xbf16>
  %40 = stablehlo.convert %39 : (tensor<7xbf16>) -> tensor<7xi16>
  check.expect_eq_const %40, dense<[-1, 1, 0, 32767, -32768, 32767, -32768]> : tensor<7xi16>
  %41 = stablehlo.convert %39 : (tensor<7xbf16>) -> tensor<7xui16>
  check.expect_eq_const %41, dense<[0, 1, 0, 65535, 0, 65535, 0]> : tensor<7xui16>
  %c42 = stablehlo.constant dense<[-1.9, 1.9, 0x7FC0, 0x7F80, 0xFF80, 1.0e30, -1.0e30]> : tensor<7xbf16>
  %42 = stablehlo.optimization_barrier %c42 : tensor<7xbf16>
  %43 = stablehlo.convert %42 : (tensor<7xbf16>) -> tensor<7xi32>
  check.expect_eq_const %43, dense<[-1, 1, 0, 2147483647, -2147483648, 2147483647, -2147483648]> : tensor<7xi32>
  %44 = stablehlo.convert %42 : (tensor<7xbf16>) -> tensor<7xui32>
  check.expect_eq_const %44, dense<[0, 1, 0, 4294967295, 0, 4294967295, 0]> : tensor<7xui32>
  %c45 = stablehlo.constant dense<[-1.9, 1.9, 0x7FC0, 0x7F80, 0xFF80, 1.0e30, -1.0e30]> : tensor<7xbf16>
  %45 = stablehlo.optimization_barrier %c45 : tensor<7xbf16>
  %46 = stablehlo.convert %45 : (tensor<7xbf16>) -> tensor<7xi64>
  check.expect_eq_const %46, dense<[-1, 1, 0, 9223372036854775807, -9223372036854775808, 9223372036854775807, -9223372036854775808]> : tensor<7xi64>
  %47 = stablehlo.convert %45 : (tensor<7xbf16>) -> tensor<7xui64>
  check.expect_eq_const %47, dense<[0, 1, 0, 18446744073709551615, 0, 18446744073709551615, 0]> : tensor<7xui64>
  %c48 = stablehlo.constant dense<[0.0, -0.0, 0x7FC0, 0x0001]> : tensor<4xbf16>
  %48 = stablehlo.optimization_barrier %c48 : tensor<4xbf16>
  %49 = stablehlo.convert %48 : (tensor<4xbf16>) -> tensor<4xi1>
  check.expect_eq_const %49, dense<[false, false, true, true]> : tensor<4xi1>
  return
}

// conversions round once, whatever they come from
func.func @rounded_once() {
  %c0 = stablehlo.constant dense<[18014399583223808, 18014399583223809, 4629700416936869889, 65519, 65520]> : tensor<5xi64>
  %0 = stablehlo.optimization_barrier %c0 : tensor<5xi64>
  %1 = stablehlo.convert %0 : (tensor<5xi64>) -> tensor<5xf32>
  %2 = stablehlo.bitcast_convert %1 : (tensor<5xf32>) -> tensor<5xi32>
  check.expect_eq_const %2, dense<[1518338048, 1518338049, 1585479680, 1199566592, 1199566848]> : tensor<5xi32>
  %3 = stablehlo.convert %0 : (tensor<5xi64>) -> tensor<5xf16>
  check.expect_eq_const %3, dense<[0x7C00, 0x7C00, 0x7C00, 6.550400e+04, 0x7C00]> : tensor<5xf16>
  %4 = stablehlo.slice %0 [2:3] : (tensor<5xi64>) -> tensor<1xi64>
  %5 = stablehlo.convert %4 : (tensor<1xi64>) -> tensor<1xbf16>
  %6 = stablehlo.bitcast_convert %5 : (tensor<1xbf16>) -> tensor<1xi16>
  check.expect_eq_const %6, dense<[24193]> : tensor<1xi16>
  %c7 = stablehlo.constant dense<[1.0004882812509095, 1.00048828125, 7.006492321624085e-46, 1.0509738482436128e-45, 1.0e300, -0.0]> : tensor<6xf64>
  %7 = stablehlo.optimization_barrier %c7 : tensor<6xf64>
  %8 = stablehlo.convert %7 : (tensor<6xf64>) -> tensor<6xf16>
  %9 = stablehlo.bitcast_convert %8 : (tensor<6xf16>) -> tensor<6xi16>
  check.expect_eq_const %9, dense<[15361, 15360, 0, 0, 31744, -32768]> : tensor<6xi16>
  %10 = stablehlo.convert %7 : (tensor<6xf64>) -> tensor<6xf32>
  %11 = stablehlo.bitcast_convert %10 : (tensor<6xf32>) -> tensor<6xi32>
  check.expect_eq_const %11, dense<[1065357312, 1065357312, 0, 1, 2139095040, -2147483648]> : tensor<6xi32>
  return
}

// 16-bit floats round once an operation
func.func @halves() {
  %c0 = stablehlo.constant dense<[2.048000e+03, 6.550400e+04, 1.0]> : tensor<3xf16>
  %0 = stablehlo.optimization_barrier %c0 : tensor<3xf16>
  %c1 = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf16>
  %1 = stablehlo.optimization_barrier %c1 : tensor<3xf16>
  %2 = stablehlo.add %0, %1 : tensor<3xf16>
  %3 = stablehlo.bitcast_convert %2 : (tensor<3xf16>) -> tensor<3xi16>
  check.expect_eq_const %3, dense<[26624, 31743, 17408]> : tensor<3xi16>
  %4 = stablehlo.multiply %0, %1 : tensor<3xf16>
  %5 = stablehlo.bitcast_convert %4 : (tensor<3xf16>) -> tensor<3xi16>
  check.expect_eq_const %5, dense<[26624, 31744, 16896]> : tensor<3xi16>
  %6 = stablehlo.divide %1, %0 : tensor<3xf16>
  %7 = stablehlo.bitcast_convert %6 : (tensor<3xf16>) -> tensor<3xi16>
  check.expect_eq_const %7, dense<[4096, 512, 16896]> : tensor<3xi16>
  %c8 = stablehlo.constant dense<[256.0, 1.0]> : tensor<2xbf16>
  %8 = stablehlo.optimization_barrier %c8 : tensor<2xbf16>
  %c9 = stablehlo.constant dense<[1.0, 3.0]> : tensor<2xbf16>
  %9 = stablehlo.optimization_barrier %c9 : tensor<2xbf16>
  %10 = stablehlo.add %8, %9 : tensor<2xbf16>
  %11 = stablehlo.bitcast_convert %10 : (tensor<2xbf16>) -> tensor<2xi16>
  check.expect_eq_const %11, dense<[17280, 16512]> : tensor<2xi16>
  return
}

// a complex product is four products and two sums: no special cases for infinities
func.func @complex_product() {
  %c0 = stablehlo.constant dense<[(0x7F800000, 0.0), (1.0, 2.0), (0.0, 0x7F800000)]> : tensor<3xcomplex<f32>>
  %0 = stablehlo.optimization_barrier %c0 : tensor<3xcomplex<f32>>
  %c1 = stablehlo.constant dense<[(1.0, 0.0), (3.0, -4.0), (0.0, 1.0)]> : tensor<3xcomplex<f32>>
  %1 = stablehlo.optimization_barrier %c1 : tensor<3xcomplex<f32>>
  %2 = stablehlo.multiply %0, %1 : tensor<3xcomplex<f32>>
  %3 = stablehlo.real %2 : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  %4 = stablehlo.imag %2 : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  check.expect_eq_const %3, dense<[0x7F800000, 11.0, 0xFF800000]> : tensor<3xf32>
  check.expect_eq_const %4, dense<[0x7FC00000, 2.0, 0x7FC00000]> : tensor<3xf32>
  return
}

// the total order puts -NaN first and NaN last, -0 before +0; a NaN is the extremum of what holds one
func.func @nan_order() {
  %c0 = stablehlo.constant dense<[0x7FC00000, 1.0, 0xFF800000, 0.0, -0.0, 0x7F800000, -1.0, 0xFFC00000]> : tensor<8xf32>
  %0 = stablehlo.optimization_barrier %c0 : tensor<8xf32>
  %1 = "stablehlo.sort"(%0) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %less = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<8xf32>) -> tensor<8xf32>
  %2 = stablehlo.slice %1 [1:7] : (tensor<8xf32>) -> tensor<6xf32>
  %3 = stablehlo.bitcast_convert %2 : (tensor<6xf32>) -> tensor<6xi32>
  check.expect_eq_const %3, dense<[-8388608, -1082130432, -2147483648, 0, 1065353216, 2139095040]> : tensor<6xi32>
  %c4 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %4 = stablehlo.optimization_barrier %c4 : tensor<f32>
  %5 = stablehlo.reduce(%0 init: %4) applies stablehlo.maximum across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %5, dense<0x7FC00000> : tensor<f32>
  %c6 = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %6 = stablehlo.optimization_barrier %c6 : tensor<f32>
  %7 = stablehlo.reduce(%0 init: %6) applies stablehlo.minimum across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %7, dense<0x7FC00000> : tensor<f32>
  return
}

// an index of no branch takes the last one
func.func @case_out_of_range() {
  %c0 = stablehlo.constant dense<-1> : tensor<i32>
  %0 = stablehlo.optimization_barrier %c0 : tensor<i32>
  %1 = "stablehlo.case"(%0) ({
    %r = stablehlo.constant dense<1> : tensor<i32>
    stablehlo.return %r : tensor<i32>
  }, {
    %r = stablehlo.constant dense<2> : tensor<i32>
    stablehlo.return %r : tensor<i32>
  }, {
    %r = stablehlo.constant dense<3> : tensor<i32>
    stablehlo.return %r : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  check.expect_eq_const %1, dense<3> : tensor<i32>
  %c2 = stablehlo.constant dense<0> : tensor<i32>
  %2 = stablehlo.optimization_barrier %c2 : tensor<i32>
  %3 = "stablehlo.case"(%2) ({
    %r = stablehlo.constant dense<1> : tensor<i32>
    stablehlo.return %r : tensor<i32>
  }, {
    %r = stablehlo.constant dense<2> : tensor<i32>
    stablehlo.return %r : tensor<i32>
  }, {
    %r = stablehlo.constant dense<3> : tensor<i32>
    stablehlo.return %r : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  check.expect_eq_const %3, dense<1> : tensor<i32>
  %c4 = stablehlo.constant dense<1> : tensor<i32>
  %4 = stablehlo.optimization_barrier %c4 : tensor<i32>
  %5 = "stablehlo.case"(%4) ({
    %r = stablehlo.constant dense<1> : tensor<i32>
    stablehlo.return %r : tensor<i32>
  }, {
    %r = stablehlo.constant dense<2> : tensor<i32>
    stablehlo.return %r : tensor<i32>
  }, {
    %r = stablehlo.constant dense<3> : tensor<i32>
    stablehlo.return %r : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  check.expect_eq_const %5, dense<2> : tensor<i32>
  %c6 = stablehlo.constant dense<2> : tensor<i32>
  %6 = stablehlo.optimization_barrier %c6 : tensor<i32>
  %7 = "stablehlo.case"(%6) ({
    %r = stablehlo.constant dense<1> : tensor<i32>
    stablehlo.return %r : tensor<i32>
  }, {
    %r = stablehlo.constant dense<2> : tensor<i32>
    stablehlo.return %r : tensor<i32>
  }, {
    %r = stablehlo.constant dense<3> : tensor<i32>
    stablehlo.return %r : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  check.expect_eq_const %7, dense<3> : tensor<i32>
  %c8 = stablehlo.constant dense<5> : tensor<i32>
  %8 = stablehlo.optimization_barrier %c8 : tensor<i32>
  %9 = "stablehlo.case"(%8) ({
    %r = stablehlo.constant dense<1> : tensor<i32>
    stablehlo.return %r : tensor<i32>
  }, {
    %r = stablehlo.constant dense<2> : tensor<i32>
    stablehlo.return %r : tensor<i32>
  }, {
    %r = stablehlo.constant dense<3> : tensor<i32>
    stablehlo.return %r : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  check.expect_eq_const %9, dense<3> : tensor<i32>
  return
}

// floats of 8 bits that are a bare exponent: a tie goes up, what is not positive and finite is NaN, what is smaller the least
func.func @exponents() {
  %c0 = stablehlo.constant dense<[0.75, 1.5, 3.0, 6.0, 1.49, 1.51, 0.0, -1.0, 0x00600000, 0x005FFFFF, 0x00200000, 0x7F400000, 0x7F800000]> : tensor<13xf32>
  %0 = stablehlo.optimization_barrier %c0 : tensor<13xf32>
  %1 = stablehlo.convert %0 : (tensor<13xf32>) -> tensor<13xf8E8M0FNU>
  check.expect_eq_const %1, dense<[1.0, 2.0, 4.0, 8.0, 1.0, 2.0, 0xFF, 0xFF, 0x01, 0x00, 0x00, 0xFF, 0xFF]> : tensor<13xf8E8M0FNU>
  return
}

// floats of 6 bits: finite, ties to even, what is too large becomes the largest
func.func @six_bits() {
  %c0 = stablehlo.constant dense<[0.0, -0.0, 0.0625, 0.1875, 1.1, -7.25, 7.5, 30.0, 0xFF800000, 0x00000001]> : tensor<10xf32>
  %0 = stablehlo.optimization_barrier %c0 : tensor<10xf32>
  %1 = stablehlo.convert %0 : (tensor<10xf32>) -> tensor<10xf6E2M3FN>
  check.expect_eq_const %1, dense<[0.0, -0.0, 0.0, 0.25, 1.125, -7.0, 7.5, 7.5, -7.5, 0x00]> : tensor<10xf6E2M3FN>
  %2 = stablehlo.convert %1 : (tensor<10xf6E2M3FN>) -> tensor<10xf64>
  check.expect_eq_const %2, dense<[0.0, -0.0, 0.0, 0.25, 1.125, -7.0, 7.5, 7.5, -7.5, 0.0]> : tensor<10xf64>
  %3 = stablehlo.convert %0 : (tensor<10xf32>) -> tensor<10xf6E3M2FN>
  check.expect_eq_const %3, dense<[0.0, -0.0, 0x01, 0.1875, 1.0, -7.0, 8.0, 28.0, 0x3F, 0.0]> : tensor<10xf6E3M2FN>
  %4 = stablehlo.convert %3 : (tensor<10xf6E3M2FN>) -> tensor<10xbf16>
  check.expect_eq_const %4, dense<[0.0, -0.0, 0.0625, 0.1875, 1.0, -7.0, 8.0, 28.0, -28.0, 0.0]> : tensor<10xbf16>
  return
}

// the greatest in the total order: NaN first, -NaN last, 0 before -0, the lower index first at a tie
func.func @top_k() {
  %c0 = stablehlo.constant dense<[-0.0, 0xFFC00000, 0x7F800000, 0.0, 0x7FC00000, 0xFF800000, 0.0]> : tensor<7xf32>
  %0 = stablehlo.optimization_barrier %c0 : tensor<7xf32>
  %1:2 = chlo.top_k(%0, k = 7) : tensor<7xf32> -> (tensor<7xf32>, tensor<7xi32>)
  check.expect_eq_const %1#1, dense<[4, 2, 3, 6, 0, 5, 1]> : tensor<7xi32>
  return
}
