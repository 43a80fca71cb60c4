func.func @main(%arg0: tensor<4xf32>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xf32>) {
  %0 = chlo.is_inf %arg0 : tensor<4xf32> -> tensor<4xi1>
  %1 = chlo.is_pos_inf %arg0 : tensor<4xf32> -> tensor<4xi1>
  %2 = chlo.is_neg_inf %arg0 : tensor<4xf32> -> tensor<4xi1>
  %3 = chlo.next_after %arg0, %arg0 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xf32>
}
