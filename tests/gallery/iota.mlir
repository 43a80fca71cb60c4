func.func @main() -> (tensor<2x3xi32>, tensor<4xf32>) {
  %0 = stablehlo.iota dim = 1 : tensor<2x3xi32>
  %1 = stablehlo.iota dim = 0 : tensor<4xf32>
  return %0, %1 : tensor<2x3xi32>, tensor<4xf32>
}
