func.func @main(%arg0: tensor<3xf32>) -> (tensor<2xi32>, tensor<3xf32>) {
  %0 = chlo.constant dense<7> : tensor<2xi32>
  %1 = "chlo.constant_like"(%arg0) {value = 3.2 : f32} : (tensor<3xf32>) -> tensor<3xf32>
  return %0, %1 : tensor<2xi32>, tensor<3xf32>
}
