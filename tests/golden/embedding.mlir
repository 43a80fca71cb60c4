module @topos attributes {mhlo.frontend_attributes = {arg0 = "table", arg1 = "tokens", result0 = "loss", result1 = "dloss/dtable"}, topos.version = "0.1.0", topos.digest = "sha256:d08a797023e2846b750a01261202a234c914d21181e220cef8c8dcdd91b78be1"} {
  func.func public @main(%v0: tensor<7x4xf32> {topos.name = "table"} loc("table"), %v1: tensor<2x3xi64> {topos.name = "tokens"} loc("tokens")) -> (tensor<f32> {topos.name = "loss"}, tensor<7x4xf32> {topos.name = "dloss/dtable"}) {
    %v2_1 = stablehlo.constant dense<0> : tensor<i64>
    %v2_2 = stablehlo.constant dense<6> : tensor<i64>
    %v2_3 = stablehlo.clamp %v2_1, %v1, %v2_2 : (tensor<i64>, tensor<2x3xi64>, tensor<i64>) -> tensor<2x3xi64>
    %v2 = "stablehlo.gather"(%v0, %v2_3) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<7x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
    %v3 = stablehlo.tanh %v2 : tensor<2x3x4xf32>
    %v4_1 = stablehlo.constant dense<0.0> : tensor<f32>
    %v4 = stablehlo.reduce(%v3 init: %v4_1) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<f32>
    %v5 = stablehlo.constant dense<24.0> : tensor<f32>
    %v6 = stablehlo.divide %v4, %v5 : tensor<f32>
    %v7 = stablehlo.constant dense<1.0> : tensor<f32>
    %v8 = stablehlo.divide %v7, %v5 : tensor<f32>
    %v11 = stablehlo.broadcast_in_dim %v8, dims = [] : (tensor<f32>) -> tensor<2x3x4xf32>
    %v12 = stablehlo.multiply %v3, %v3 : tensor<2x3x4xf32>
    %v13 = stablehlo.constant dense<1.0> : tensor<2x3x4xf32>
    %v14 = stablehlo.subtract %v13, %v12 : tensor<2x3x4xf32>
    %v15 = stablehlo.multiply %v11, %v14 : tensor<2x3x4xf32>
    %v16_1 = stablehlo.constant dense<0> : tensor<i64>
    %v16_2 = stablehlo.constant dense<6> : tensor<i64>
    %v16_3 = stablehlo.clamp %v16_1, %v1, %v16_2 : (tensor<i64>, tensor<2x3xi64>, tensor<i64>) -> tensor<2x3xi64>
    %v16_4 = stablehlo.constant dense<0.0> : tensor<7x4xf32>
    %v16 = "stablehlo.scatter"(%v16_4, %v16_3, %v15) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, indices_are_sorted = false, unique_indices = false}> ({
      ^bb0(%v16_5: tensor<f32>, %v16_6: tensor<f32>):
        %v16_7 = stablehlo.add %v16_5, %v16_6 : tensor<f32>
        stablehlo.return %v16_7 : tensor<f32>
    }) : (tensor<7x4xf32>, tensor<2x3xi64>, tensor<2x3x4xf32>) -> tensor<7x4xf32>
    return %v6, %v16 : tensor<f32>, tensor<7x4xf32>
  }
}
