func.func @main(%arg0: tensor<4x4xi32>, %arg1: tensor<i64>, %arg2: tensor<i64>) -> tensor<4x4xi32> {
  %0 = stablehlo.dynamic_slice %arg0, %arg1, %arg2, sizes = [2, 3] : (tensor<4x4xi32>, tensor<i64>, tensor<i64>) -> tensor<2x3xi32>
  %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %arg1 : (tensor<4x4xi32>, tensor<2x3xi32>, tensor<i64>, tensor<i64>) -> tensor<4x4xi32>
  return %1 : tensor<4x4xi32>
}
