func.func @main(%arg0: tensor<2xf32>, %arg1: tensor<i32>) -> (tensor<2xf32>, tensor<i32>) {
  %0, %1 = stablehlo.optimization_barrier %arg0, %arg1 : tensor<2xf32>, tensor<i32>
  return %0, %1 : tensor<2xf32>, tensor<i32>
}
