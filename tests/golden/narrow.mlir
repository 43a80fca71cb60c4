module @topos attributes {mhlo.frontend_attributes = {arg0 = "query", arg1 = "key", arg2 = "value"}, topos.version = "0.1.0", topos.digest = "sha256:38218db2d325924a95d954e69afdb1db065acb45e59f99fad26d2a9d35acee16"} {
  func.func public @main(%v0: tensor<2x4x3xbf16> {topos.name = "query"} loc("query"), %v1: tensor<2x4x3xbf16> {topos.name = "key"} loc("key"), %v2: tensor<2x4x3xbf16> {topos.name = "value"} loc("value")) -> (tensor<2x4x3xbf16>) {
    %v3 = stablehlo.constant dense<[[true, false, false, false], [true, true, false, false], [true, true, true, false], [true, true, true, true]]> : tensor<4x4xi1>
    %v4 = stablehlo.broadcast_in_dim %v3, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<2x4x4xi1>
    %v5 = stablehlo.transpose %v1, dims = [0, 2, 1] : (tensor<2x4x3xbf16>) -> tensor<2x3x4xbf16>
    %v6_1 = stablehlo.convert %v0 : (tensor<2x4x3xbf16>) -> tensor<2x4x3xf32>
    %v6_2 = stablehlo.convert %v5 : (tensor<2x3x4xbf16>) -> tensor<2x3x4xf32>
    %v6_3 = stablehlo.dot_general %v6_1, %v6_2, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x3xf32>, tensor<2x3x4xf32>) -> tensor<2x4x4xf32>
    %v6 = stablehlo.convert %v6_3 : (tensor<2x4x4xf32>) -> tensor<2x4x4xbf16>
    %v7 = stablehlo.constant dense<0.578125> : tensor<2x4x4xbf16>
    %v8 = stablehlo.multiply %v6, %v7 : tensor<2x4x4xbf16>
    %v9 = stablehlo.constant dense<0xFF80> : tensor<2x4x4xbf16>
    %v10 = stablehlo.select %v4, %v8, %v9 : (tensor<2x4x4xi1>, tensor<2x4x4xbf16>, tensor<2x4x4xbf16>) -> tensor<2x4x4xbf16>
    %v11_1 = stablehlo.convert %v10 : (tensor<2x4x4xbf16>) -> tensor<2x4x4xf32>
    %v11_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %v11_3 = stablehlo.reduce(%v11_1 init: %v11_2) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %v11_4 = stablehlo.is_finite %v11_3 : (tensor<2x4xf32>) -> tensor<2x4xi1>
    %v11_5 = stablehlo.constant dense<0.0> : tensor<2x4xf32>
    %v11_6 = stablehlo.select %v11_4, %v11_3, %v11_5 : (tensor<2x4xi1>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %v11_7 = stablehlo.broadcast_in_dim %v11_6, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x4xf32>
    %v11_8 = stablehlo.subtract %v11_1, %v11_7 : tensor<2x4x4xf32>
    %v11_9 = stablehlo.exponential %v11_8 : tensor<2x4x4xf32>
    %v11_10 = stablehlo.constant dense<0.0> : tensor<f32>
    %v11_11 = stablehlo.reduce(%v11_9 init: %v11_10) applies stablehlo.add across dimensions = [2] : (tensor<2x4x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %v11_12 = stablehlo.log %v11_11 : tensor<2x4xf32>
    %v11_13 = stablehlo.broadcast_in_dim %v11_12, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x4xf32>
    %v11_14 = stablehlo.subtract %v11_8, %v11_13 : tensor<2x4x4xf32>
    %v11 = stablehlo.convert %v11_14 : (tensor<2x4x4xf32>) -> tensor<2x4x4xbf16>
    %v12 = stablehlo.exponential %v11 : tensor<2x4x4xbf16>
    %v13_1 = stablehlo.convert %v12 : (tensor<2x4x4xbf16>) -> tensor<2x4x4xf32>
    %v13_2 = stablehlo.convert %v2 : (tensor<2x4x3xbf16>) -> tensor<2x4x3xf32>
    %v13_3 = stablehlo.dot_general %v13_1, %v13_2, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
    %v13 = stablehlo.convert %v13_3 : (tensor<2x4x3xf32>) -> tensor<2x4x3xbf16>
    return %v13 : tensor<2x4x3xbf16>
  }
}
