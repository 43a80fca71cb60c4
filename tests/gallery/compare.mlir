func.func @main(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<2xui8>) -> (tensor<3xi1>, tensor<3xi1>, tensor<2xi1>) {
  %0 = stablehlo.compare GE, %arg0, %arg1, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %1 = stablehlo.compare LT, %arg0, %arg1, TOTALORDER : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %2 = stablehlo.compare NE, %arg2, %arg2, UNSIGNED : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xi1>
  return %0, %1, %2 : tensor<3xi1>, tensor<3xi1>, tensor<2xi1>
}
