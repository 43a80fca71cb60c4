func.func @main(%arg0: tensor<4x5xf32>, %arg1: tensor<2x5x3xf32>) -> tensor<4x3xf32> {
  %sizes = stablehlo.constant dense<[1, 3]> : tensor<2xi64>
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %sizes) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<4x5xf32>, tensor<2x5x3xf32>, tensor<2xi64>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
