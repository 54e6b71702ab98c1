// Singular values without vectors, whose place the text gives in the thin shape.
module @lapack {
  func.func @main() {
    %0 = stablehlo.constant dense<[[3.0, 0.0, 0.0], [0.0, 4.0, 0.0]]> : tensor<2x3xf32>
    %1:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%0) {backend_config = "", mhlo.backend_config = {mode = 78 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]} : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2x3xf32>, tensor<i32>)
    check.expect_almost_eq_const %1#1, dense<[4.0, 3.0]> : tensor<2xf32>
    %2 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %3:5 = stablehlo.custom_call @lapack_sgesvd_ffi(%2) {mhlo.backend_config = {mode = 78 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]} : (tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>, tensor<3x2xf32>, tensor<2x2xf32>, tensor<i32>)
    check.expect_almost_eq_const %3#1, dense<[4.0, 3.0]> : tensor<2xf32>
    return
  }
}
