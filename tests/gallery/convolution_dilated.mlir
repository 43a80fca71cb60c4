func.func @main(%arg0: tensor<4x2x5xf64>, %arg1: tensor<2x2x3xf64>) -> tensor<2x2x7xf64> {
  %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = [[1, 1]], lhs_dilate = [2], rhs_dilate = [2]} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<4x2x5xf64>, tensor<2x2x3xf64>) -> tensor<2x2x7xf64>
  return %0 : tensor<2x2x7xf64>
}
