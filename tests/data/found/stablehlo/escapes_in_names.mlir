module @"a\5Cb\22c" {
  func.func public @main(%arg0: tensor<2xf32> loc("x\5C\22\r\09[0]")) -> (tensor<2xf32> {jax.result_info = "r\5C\22"}) {
    %0 = stablehlo.add %arg0, %arg0 : tensor<2xf32> loc(#loc2)
    return %0 : tensor<2xf32>
  }
}
#loc1 = loc("a\\b \"q\" \t.py":3:4)
#loc2 = loc("jit(f\r\5C\22)/s\\c/add"(#loc1))
