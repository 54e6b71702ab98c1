// Constants in all their forms.
module {
  func.func @main() -> (tensor<2x2xf32>, tensor<3xi1>, tensor<2xcomplex<f64>>, tensor<2xbf16>, tensor<4xi8>, tensor<0xf32>, tensor<3xf32>, tensor<4xui4>) {
    %0 = stablehlo.constant dense<[[1.0, -2.5e-3], [0x7F800000, 3.0]]> : tensor<2x2xf32>
    %1 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
    %2 = stablehlo.constant dense<[(1.0, 2.0), (-0.0, 1.0e300)]> : tensor<2xcomplex<f64>>
    %3 = stablehlo.constant dense<0x7FC0> : tensor<2xbf16>
    %4 = stablehlo.constant dense<"0x01FF807F"> : tensor<4xi8>
    %5 = stablehlo.constant dense<> : tensor<0xf32>
    %6 = stablehlo.constant dense_resource<blob> : tensor<3xf32>
    %7 = "stablehlo.constant"() {value = dense<[0, 1, 14, 15]> : tensor<4xui4>} : () -> tensor<4xui4>
    return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<2x2xf32>, tensor<3xi1>, tensor<2xcomplex<f64>>, tensor<2xbf16>, tensor<4xi8>, tensor<0xf32>, tensor<3xf32>, tensor<4xui4>
  }
}
{-#
  dialect_resources: {
    builtin: {
      blob: "0x040000000000803F0000004000004040"
    }
  }
#-}
