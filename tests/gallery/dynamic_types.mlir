func.func @main(%arg0: tensor<?x3xf32>, %arg1: tensor<*xf32>) -> (tensor<?x3xf32>, tensor<*xf32>) {
  %0 = stablehlo.add %arg0, %arg0 : tensor<?x3xf32>
  %1 = stablehlo.negate %arg1 : tensor<*xf32>
  return %0, %1 : tensor<?x3xf32>, tensor<*xf32>
}
