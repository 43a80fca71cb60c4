func.func @main(%arg0: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
  %0 = stablehlo.ceil %arg0 : tensor<4xf64>
  %1 = stablehlo.floor %arg0 : tensor<4xf64>
  %2 = stablehlo.round_nearest_afz %arg0 : tensor<4xf64>
  %3 = stablehlo.round_nearest_even %arg0 : tensor<4xf64>
  return %0, %1, %2, %3 : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
}
