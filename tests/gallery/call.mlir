func.func @main(%arg0: tensor<3xf32>) -> (tensor<3xf32>, tensor<f32>) {
  %0:2 = call @halved(%arg0) : (tensor<3xf32>) -> (tensor<3xf32>, tensor<f32>)
  return %0#0, %0#1 : tensor<3xf32>, tensor<f32>
}
func.func private @halved(%arg0: tensor<3xf32>) -> (tensor<3xf32>, tensor<f32>) {
  %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3xf32>
  %1 = stablehlo.multiply %arg0, %0 : tensor<3xf32>
  return %1, %cst : tensor<3xf32>, tensor<f32>
}
