func.func @main(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.constant dense<3> : tensor<i32>
  %1 = stablehlo.set_dimension_size %arg0, %0, dim = 1 : (tensor<2x3xf32>, tensor<i32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}
