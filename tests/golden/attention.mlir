module @topos attributes {mhlo.frontend_attributes = {arg0 = "query", arg1 = "key", arg2 = "value"}, topos.version = "0.1.0", topos.digest = "sha256:ae12ccab55b691a3d7a3582f29dd15b83fd86bb87292c1a09482d9813f16e03f"} {
  func.func public @main(%v0: tensor<2x4x3xf32> {topos.name = "query"} loc("query"), %v1: tensor<2x4x3xf32> {topos.name = "key"} loc("key"), %v2: tensor<2x4x3xf32> {topos.name = "value"} loc("value")) -> (tensor<2x4x3xf32>) {
    %v3 = stablehlo.constant dense<[[true, false, false, false], [true, true, false, false], [true, true, true, false], [true, true, true, true]]> : tensor<4x4xi1>
    %v4 = stablehlo.broadcast_in_dim %v3, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %v5 = stablehlo.transpose %v1, dims = [0, 2, 1] : (tensor<2x4x3xf32>) -> tensor<2x3x4xf32>
    %v6 = stablehlo.dot_general %v0, %v5, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x3xf32>, tensor<2x3x4xf32>) -> tensor<2x4x4xf32>
    %v7 = stablehlo.constant dense<0.57735026> : tensor<2x4x4xf32>
    %v8 = stablehlo.multiply %v6, %v7 : tensor<2x4x4xf32>
    %v9 = stablehlo.constant dense<0xFF800000> : tensor<2x4x4xf32>
    %v10 = stablehlo.select %v4, %v8, %v9 : (tensor<2x4x4xi1>, tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %v11_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %v11_2 = stablehlo.reduce(%v10 init: %v11_1) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %v11_3 = stablehlo.is_finite %v11_2 : (tensor<2x4xf32>) -> tensor<2x4xi1>
    %v11_4 = stablehlo.constant dense<0.0> : tensor<2x4xf32>
    %v11_5 = stablehlo.select %v11_3, %v11_2, %v11_4 : (tensor<2x4xi1>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %v11_6 = stablehlo.broadcast_in_dim %v11_5, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x4xf32>
    %v11_7 = stablehlo.subtract %v10, %v11_6 : tensor<2x4x4xf32>
    %v11_8 = stablehlo.exponential %v11_7 : tensor<2x4x4xf32>
    %v11_9 = stablehlo.constant dense<0.0> : tensor<f32>
    %v11_10 = stablehlo.reduce(%v11_8 init: %v11_9) applies stablehlo.add across dimensions = [2] : (tensor<2x4x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %v11_11 = stablehlo.log %v11_10 : tensor<2x4xf32>
    %v11_12 = stablehlo.broadcast_in_dim %v11_11, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x4xf32>
    %v11 = stablehlo.subtract %v11_7, %v11_12 : tensor<2x4x4xf32>
    %v12 = stablehlo.exponential %v11 : tensor<2x4x4xf32>
    %v13 = stablehlo.dot_general %v12, %v2, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
    return %v13 : tensor<2x4x3xf32>
  }
}
