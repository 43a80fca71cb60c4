// A softmax of scores: every runtime rounds its exponentials and its sum in its own way.
func.func @main(%scores: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %top = stablehlo.reduce(%scores init: %least) applies stablehlo.maximum across dimensions = [1]
      : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
  %tops = stablehlo.broadcast_in_dim %top, dims = [0] : (tensor<8xf32>) -> tensor<8x16xf32>
  %below = stablehlo.subtract %scores, %tops : tensor<8x16xf32>
  %powers = stablehlo.exponential %below : tensor<8x16xf32>
  %sum = stablehlo.reduce(%powers init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
  %sums = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<8xf32>) -> tensor<8x16xf32>
  %shares = stablehlo.divide %powers, %sums : tensor<8x16xf32>
  return %shares : tensor<8x16xf32>
}
