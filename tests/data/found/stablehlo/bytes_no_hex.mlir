func.func @main() -> tensor<4xi8> {
  %0 = stablehlo.constant dense<"0x01FFG07F"> : tensor<4xi8>
  return %0 : tensor<4xi8>
}
