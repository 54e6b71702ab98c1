func.func @main() -> (tensor<4xui4>, tensor<4xi4>) {
  %0 = stablehlo.constant dense<"0x01FF107F"> : tensor<4xui4>
  %1 = stablehlo.constant dense<"0x01FF187F"> : tensor<4xi4>
  return %0, %1 : tensor<4xui4>, tensor<4xi4>
}
