func.func @main(%arg0: tensor<2x3xf32>) -> tensor<3xf32> {
  %0 = "stablehlo.unary_einsum"(%arg0) <{einsum_config = "ij->j"}> : (tensor<2x3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
