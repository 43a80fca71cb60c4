func.func @main(%arg0: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) {
  %0 = chlo.cosh %arg0 : tensor<3xf64> -> tensor<3xf64>
  %1 = chlo.sinh %arg0 : tensor<3xf64> -> tensor<3xf64>
  %2 = chlo.tan %arg0 : tensor<3xf64> -> tensor<3xf64>
  %3 = chlo.square %arg0 : tensor<3xf64> -> tensor<3xf64>
  return %0, %1, %2, %3 : tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>
}
