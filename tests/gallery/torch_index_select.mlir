func.func @main(%arg0: tensor<5x3xf32>, %arg1: tensor<2xi32>) -> tensor<2x3xf32> {
  %0 = "stablehlo.torch_index_select"(%arg0, %arg1) <{dim = 0 : i64, batch_dims = 0 : i64}> : (tensor<5x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
