func.func @main(%arg0: tensor<2x1xf16>, %arg1: tensor<2x3xf16>) -> tensor<2x4xf16> {
  %0 = stablehlo.concatenate %arg0, %arg1, dim = 1 : (tensor<2x1xf16>, tensor<2x3xf16>) -> tensor<2x4xf16>
  return %0 : tensor<2x4xf16>
}
