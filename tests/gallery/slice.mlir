func.func @main(%arg0: tensor<4x6xf32>) -> tensor<2x2xf32> {
  %0 = stablehlo.slice %arg0 [1:3, 0:6:3] : (tensor<4x6xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
