func.func @main(%arg0: tensor<4xi4>, %arg1: tensor<4xui2>, %arg2: tensor<4xf8E5M2>) -> (tensor<4xi4>, tensor<4xui2>, tensor<4xf8E5M2>) {
  %0 = stablehlo.add %arg0, %arg0 : tensor<4xi4>
  %1 = stablehlo.multiply %arg1, %arg1 : tensor<4xui2>
  %2 = stablehlo.add %arg2, %arg2 : tensor<4xf8E5M2>
  return %0, %1, %2 : tensor<4xi4>, tensor<4xui2>, tensor<4xf8E5M2>
}
