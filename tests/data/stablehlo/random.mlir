// Random bits: the words of a draw stand next to each other along one dimension (THREE_FRY) or in turn (PHILOX, which DEFAULT is); numbers of XLA's CPU.
func.func @bits() {
  %k2 = stablehlo.constant dense<[42, 18446744073709551614]> : tensor<2xui64>
  %s2 = stablehlo.optimization_barrier %k2 : tensor<2xui64>
  %0:2 = stablehlo.rng_bit_generator %s2, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui32>)
  check.expect_eq_const %0#0, dense<[42, 7]> : tensor<2xui64>
  check.expect_eq_const %0#1, dense<[[1314687656, 1446363114, 3387912522, 1521909536, 3732534457], [646961260, 4263843367, 2234760234, 457295592, 1073472746], [2676104049, 173313063, 1131265418, 692999116, 3747782176]]> : tensor<3x5xui32>
  %1:2 = stablehlo.rng_bit_generator %s2, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x2x2xui32>)
  check.expect_eq_const %1#0, dense<[42, 4]> : tensor<2xui64>
  check.expect_eq_const %1#1, dense<[[[1314687656, 3387912522], [1446363114, 1521909536]], [[3732534457, 646961260], [1332528664, 4263843367]], [[2234760234, 1073472746], [457295592, 3696590631]]]> : tensor<3x2x2xui32>
  %2:2 = stablehlo.rng_bit_generator %s2, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui64>)
  check.expect_eq_const %2#0, dense<[42, 1]> : tensor<2xui64>
  check.expect_eq_const %2#1, dense<[6212082274085407400, 6536551687978447178, 5723167036595107001]> : tensor<3xui64>
  %3:2 = stablehlo.rng_bit_generator %s2, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui8>)
  check.expect_eq_const %3#0, dense<[42, 1]> : tensor<2xui64>
  check.expect_eq_const %3#1, dense<[168, 234, 74, 32, 185]> : tensor<5xui8>
  %4:2 = stablehlo.rng_bit_generator %s2, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui32>)
  check.expect_eq_const %4#0, dense<[42, 2]> : tensor<2xui64>
  check.expect_eq_const %4#1, dense<[[1138359514, 2588678068, 738951096, 823406777, 1704475164], [4028413619, 1340332995, 4911220, 2015080857, 4216547064], [789659731, 1580988225, 1174585347, 3776314487, 2908995639]]> : tensor<3x5xui32>
  %5:2 = stablehlo.rng_bit_generator %s2, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x2x2xui32>)
  check.expect_eq_const %5#0, dense<[42, 1]> : tensor<2xui64>
  check.expect_eq_const %5#1, dense<[[[1138359514, 2588678068], [738951096, 823406777]], [[1704475164, 4028413619], [1340332995, 4911220]], [[2015080857, 4216547064], [789659731, 1580988225]]]> : tensor<3x2x2xui32>
  %6:2 = stablehlo.rng_bit_generator %s2, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui64>)
  check.expect_eq_const %6#0, dense<[42, 0]> : tensor<2xui64>
  check.expect_eq_const %6#1, dense<[11118287643070823642, 3536505179258716088, 17301904750070479388]> : tensor<3xui64>
  %7:2 = stablehlo.rng_bit_generator %s2, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui8>)
  check.expect_eq_const %7#0, dense<[42, 0]> : tensor<2xui64>
  check.expect_eq_const %7#1, dense<[218, 180, 184, 185, 28]> : tensor<5xui8>
  %8:2 = stablehlo.rng_bit_generator %s2, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui32>)
  check.expect_eq_const %8#0, dense<[42, 2]> : tensor<2xui64>
  check.expect_eq_const %8#1, dense<[[1138359514, 2588678068, 738951096, 823406777, 1704475164], [4028413619, 1340332995, 4911220, 2015080857, 4216547064], [789659731, 1580988225, 1174585347, 3776314487, 2908995639]]> : tensor<3x5xui32>
  %9:2 = stablehlo.rng_bit_generator %s2, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x2x2xui32>)
  check.expect_eq_const %9#0, dense<[42, 1]> : tensor<2xui64>
  check.expect_eq_const %9#1, dense<[[[1138359514, 2588678068], [738951096, 823406777]], [[1704475164, 4028413619], [1340332995, 4911220]], [[2015080857, 4216547064], [789659731, 1580988225]]]> : tensor<3x2x2xui32>
  %10:2 = stablehlo.rng_bit_generator %s2, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui64>)
  check.expect_eq_const %10#0, dense<[42, 0]> : tensor<2xui64>
  check.expect_eq_const %10#1, dense<[11118287643070823642, 3536505179258716088, 17301904750070479388]> : tensor<3xui64>
  %11:2 = stablehlo.rng_bit_generator %s2, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui8>)
  check.expect_eq_const %11#0, dense<[42, 0]> : tensor<2xui64>
  check.expect_eq_const %11#1, dense<[218, 180, 184, 185, 28]> : tensor<5xui8>
  return
}
