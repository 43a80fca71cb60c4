module @topos attributes {mhlo.frontend_attributes = {arg0 = "first", arg1 = "bias", arg2 = "second", arg3 = "x", arg4 = "targets"}, topos.version = "0.1.0", topos.digest = "sha256:62274cc9762175bb0af17c9453bd26dad8dc65974dc266d40da23168d22dd502"} {
  func.func public @main(%v2: tensor<6x5xf32> {topos.name = "first"} loc("first"), %v3: tensor<5xf32> {topos.name = "bias"} loc("bias"), %v4: tensor<5x3xf32> {topos.name = "second"} loc("second"), %v0: tensor<4x6xf32> {topos.name = "x"} loc("x"), %v1: tensor<4x3xf32> {topos.name = "targets"} loc("targets")) -> (tensor<f32>, tensor<6x5xf32>, tensor<5xf32>, tensor<5x3xf32>, tensor<4x5xf32>) {
    %v5 = stablehlo.dot_general %v0, %v2, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
    %v6 = stablehlo.broadcast_in_dim %v3, dims = [1] : (tensor<5xf32>) -> tensor<4x5xf32>
    %v7 = stablehlo.add %v5, %v6 : tensor<4x5xf32>
    %v8 = stablehlo.constant dense<0.0> : tensor<4x5xf32>
    %v9 = stablehlo.maximum %v7, %v8 : tensor<4x5xf32>
    %v10 = stablehlo.dot_general %v9, %v4, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
    %v11_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %v11_2 = stablehlo.reduce(%v10 init: %v11_1) applies stablehlo.maximum across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %v11_3 = stablehlo.is_finite %v11_2 : (tensor<4xf32>) -> tensor<4xi1>
    %v11_4 = stablehlo.constant dense<0.0> : tensor<4xf32>
    %v11_5 = stablehlo.select %v11_3, %v11_2, %v11_4 : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %v11_6 = stablehlo.broadcast_in_dim %v11_5, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %v11_7 = stablehlo.subtract %v10, %v11_6 : tensor<4x3xf32>
    %v11_8 = stablehlo.exponential %v11_7 : tensor<4x3xf32>
    %v11_9 = stablehlo.constant dense<0.0> : tensor<f32>
    %v11_10 = stablehlo.reduce(%v11_8 init: %v11_9) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %v11_11 = stablehlo.log %v11_10 : tensor<4xf32>
    %v11_12 = stablehlo.broadcast_in_dim %v11_11, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %v11 = stablehlo.subtract %v11_7, %v11_12 : tensor<4x3xf32>
    %v12 = stablehlo.multiply %v11, %v1 : tensor<4x3xf32>
    %v13_1 = stablehlo.constant dense<0.0> : tensor<f32>
    %v13 = stablehlo.reduce(%v12 init: %v13_1) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<f32>
    %v14 = stablehlo.constant dense<12.0> : tensor<f32>
    %v15 = stablehlo.divide %v13, %v14 : tensor<f32>
    %v16 = stablehlo.negate %v15 : tensor<f32>
    %v17 = stablehlo.constant dense<1.0> : tensor<f32>
    %v18 = stablehlo.negate %v17 : tensor<f32>
    %v19 = stablehlo.divide %v18, %v14 : tensor<f32>
    %v22 = stablehlo.broadcast_in_dim %v19, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %v23 = stablehlo.multiply %v22, %v1 : tensor<4x3xf32>
    %v25_1 = stablehlo.constant dense<0.0> : tensor<f32>
    %v25 = stablehlo.reduce(%v23 init: %v25_1) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %v26 = stablehlo.broadcast_in_dim %v25, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %v27 = stablehlo.exponential %v11 : tensor<4x3xf32>
    %v28 = stablehlo.multiply %v27, %v26 : tensor<4x3xf32>
    %v29 = stablehlo.subtract %v23, %v28 : tensor<4x3xf32>
    %v30 = stablehlo.transpose %v4, dims = [1, 0] : (tensor<5x3xf32>) -> tensor<3x5xf32>
    %v31 = stablehlo.dot_general %v29, %v30, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
    %v32 = stablehlo.transpose %v9, dims = [1, 0] : (tensor<4x5xf32>) -> tensor<5x4xf32>
    %v33 = stablehlo.dot_general %v32, %v29, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<5x4xf32>, tensor<4x3xf32>) -> tensor<5x3xf32>
    %v34 = stablehlo.compare GE, %v7, %v8, FLOAT : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xi1>
    %v35 = stablehlo.select %v34, %v31, %v8 : (tensor<4x5xi1>, tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
    %v37_1 = stablehlo.constant dense<0.0> : tensor<f32>
    %v37 = stablehlo.reduce(%v35 init: %v37_1) applies stablehlo.add across dimensions = [0] : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf32>
    %v40 = stablehlo.transpose %v0, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
    %v41 = stablehlo.dot_general %v40, %v35, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
    return %v16, %v41, %v37, %v33, %v9 : tensor<f32>, tensor<6x5xf32>, tensor<5xf32>, tensor<5x3xf32>, tensor<4x5xf32>
  }
}
