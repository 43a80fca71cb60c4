func.func @main(%arg0: tensor<3xi32>) -> tensor<2x4x3xi32> {
  %0 = stablehlo.broadcast %arg0, sizes = [2, 4] : (tensor<3xi32>) -> tensor<2x4x3xi32>
  return %0 : tensor<2x4x3xi32>
}
