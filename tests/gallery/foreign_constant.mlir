func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = arith.constant dense<1.500000e+00> : tensor<2xf32>
  %1 = stablehlo.add %arg0, %0 : tensor<2xf32>
  %2 = tensor.cast %1 : tensor<2xf32> to tensor<2xf32>
  return %2 : tensor<2xf32>
}
