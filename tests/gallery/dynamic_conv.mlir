func.func @main(%arg0: tensor<1x4x4x2xf32>, %arg1: tensor<3x3x2x2xf32>) -> tensor<1x4x4x2xf32> {
  %padding = stablehlo.constant dense<1> : tensor<2x2xi64>
  %0 = "stablehlo.dynamic_conv"(%arg0, %arg1, %padding) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 1, 1>}> : (tensor<1x4x4x2xf32>, tensor<3x3x2x2xf32>, tensor<2x2xi64>) -> tensor<1x4x4x2xf32>
  return %0 : tensor<1x4x4x2xf32>
}
