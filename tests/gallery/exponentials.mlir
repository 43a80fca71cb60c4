func.func @main(%arg0: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
  %0 = stablehlo.exponential %arg0 : tensor<4xf64>
  %1 = stablehlo.exponential_minus_one %arg0 : tensor<4xf64>
  %2 = stablehlo.log %0 : tensor<4xf64>
  %3 = stablehlo.log_plus_one %0 : tensor<4xf64>
  %4 = stablehlo.logistic %1 : tensor<4xf64>
  %5 = stablehlo.tanh %2 : tensor<4xf64>
  %6 = stablehlo.sqrt %0 : tensor<4xf64>
  %7 = stablehlo.rsqrt %0 : tensor<4xf64>
  %8 = stablehlo.cbrt %2 : tensor<4xf64>
  %9 = stablehlo.add %3, %4 : tensor<4xf64>
  %10 = stablehlo.add %5, %6 : tensor<4xf64>
  %11 = stablehlo.add %7, %8 : tensor<4xf64>
  return %9, %10, %11 : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
}
