func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi1>) {
  %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>
  %1 = stablehlo.subtract %0, %arg1 : tensor<4xf32>
  %2 = stablehlo.multiply %1, %arg1 : tensor<4xf32>
  %3 = stablehlo.divide %2, %arg0 : tensor<4xf32>
  %4 = stablehlo.remainder %3, %arg1 : tensor<4xf32>
  %5 = stablehlo.power %4, %arg1 : tensor<4xf32>
  %6 = stablehlo.maximum %5, %arg0 : tensor<4xf32>
  %7 = stablehlo.minimum %6, %arg1 : tensor<4xf32>
  %8 = stablehlo.atan2 %7, %arg0 : tensor<4xf32>
  %9 = stablehlo.negate %8 : tensor<4xf32>
  %10 = stablehlo.sign %9 : tensor<4xf32>
  %11 = stablehlo.is_finite %5 : (tensor<4xf32>) -> tensor<4xi1>
  return %3, %7, %10, %11 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi1>
}
