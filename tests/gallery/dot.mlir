func.func @main(%arg0: tensor<2x3xi32>, %arg1: tensor<3xi32>) -> tensor<2xi32> {
  %0 = stablehlo.dot %arg0, %arg1, precision = [DEFAULT, DEFAULT] : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}
