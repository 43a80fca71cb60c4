module @topos attributes {mhlo.frontend_attributes = {arg0 = "kernels", arg1 = "image", result0 = "loss", result1 = "dloss/dkernels", result2 = "dloss/dimage"}, topos.version = "0.1.0", topos.digest = "sha256:588144b9810788fa40b5e06f4d289c2750b68725ea2f56b3fd78465798e0d428"} {
  func.func public @main(%v1: tensor<18x3xf32> {topos.name = "kernels"} loc("kernels"), %v0: tensor<1x2x6x6xf32> {topos.name = "image"} loc("image")) -> (tensor<f32> {topos.name = "loss"}, tensor<18x3xf32> {topos.name = "dloss/dkernels"}, tensor<1x2x6x6xf32> {topos.name = "dloss/dimage"}) {
    %v8_1 = stablehlo.reshape %v1 : (tensor<18x3xf32>) -> tensor<2x3x3x3xf32>
    %v8 = stablehlo.convolution(%v0, %v8_1) dim_numbers = [b, f, 0, 1]x[i, 0, 1, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x6x6xf32>, tensor<2x3x3x3xf32>) -> tensor<1x6x6x3xf32>
    %v9 = stablehlo.constant dense<0.5> : tensor<1x6x6x3xf32>
    %v10 = stablehlo.multiply %v9, %v8 : tensor<1x6x6x3xf32>
    %v11 = stablehlo.constant dense<0.70710677> : tensor<1x6x6x3xf32>
    %v12 = stablehlo.multiply %v8, %v11 : tensor<1x6x6x3xf32>
    %v13 = chlo.erf %v12 : tensor<1x6x6x3xf32> -> tensor<1x6x6x3xf32>
    %v14 = stablehlo.constant dense<1.0> : tensor<1x6x6x3xf32>
    %v15 = stablehlo.add %v14, %v13 : tensor<1x6x6x3xf32>
    %v16 = stablehlo.multiply %v10, %v15 : tensor<1x6x6x3xf32>
    %v17_1 = stablehlo.slice %v16 [0:1, 0:5:2, 0:6, 0:3] : (tensor<1x6x6x3xf32>) -> tensor<1x3x6x3xf32>
    %v17_2 = stablehlo.reshape %v17_1 : (tensor<1x3x6x3xf32>) -> tensor<1x3x6x3x1xf32>
    %v17_3 = stablehlo.slice %v16 [0:1, 1:6:2, 0:6, 0:3] : (tensor<1x6x6x3xf32>) -> tensor<1x3x6x3xf32>
    %v17_4 = stablehlo.reshape %v17_3 : (tensor<1x3x6x3xf32>) -> tensor<1x3x6x3x1xf32>
    %v17 = stablehlo.concatenate %v17_2, %v17_4, dim = 4 : (tensor<1x3x6x3x1xf32>, tensor<1x3x6x3x1xf32>) -> tensor<1x3x6x3x2xf32>
    %v18_1 = stablehlo.slice %v17 [0:1, 0:3, 0:5:2, 0:3, 0:2] : (tensor<1x3x6x3x2xf32>) -> tensor<1x3x3x3x2xf32>
    %v18_2 = stablehlo.reshape %v18_1 : (tensor<1x3x3x3x2xf32>) -> tensor<1x3x3x3x2x1xf32>
    %v18_3 = stablehlo.slice %v17 [0:1, 0:3, 1:6:2, 0:3, 0:2] : (tensor<1x3x6x3x2xf32>) -> tensor<1x3x3x3x2xf32>
    %v18_4 = stablehlo.reshape %v18_3 : (tensor<1x3x3x3x2xf32>) -> tensor<1x3x3x3x2x1xf32>
    %v18 = stablehlo.concatenate %v18_2, %v18_4, dim = 5 : (tensor<1x3x3x3x2x1xf32>, tensor<1x3x3x3x2x1xf32>) -> tensor<1x3x3x3x2x2xf32>
    %v19_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %v19 = stablehlo.reduce(%v18 init: %v19_1) applies stablehlo.maximum across dimensions = [4, 5] : (tensor<1x3x3x3x2x2xf32>, tensor<f32>) -> tensor<1x3x3x3xf32>
    %v20 = stablehlo.multiply %v19, %v19 : tensor<1x3x3x3xf32>
    %v21_1 = stablehlo.constant dense<0.0> : tensor<f32>
    %v21 = stablehlo.reduce(%v20 init: %v21_1) applies stablehlo.add across dimensions = [0, 1, 2, 3] : (tensor<1x3x3x3xf32>, tensor<f32>) -> tensor<f32>
    %v22 = stablehlo.constant dense<1.0> : tensor<f32>
    %v23 = stablehlo.broadcast_in_dim %v22, dims = [] : (tensor<f32>) -> tensor<1x3x3x3xf32>
    %v24 = stablehlo.multiply %v23, %v19 : tensor<1x3x3x3xf32>
    %v25 = stablehlo.multiply %v19, %v23 : tensor<1x3x3x3xf32>
    %v26 = stablehlo.add %v24, %v25 : tensor<1x3x3x3xf32>
    %v27 = stablehlo.broadcast_in_dim %v19, dims = [0, 1, 2, 3] : (tensor<1x3x3x3xf32>) -> tensor<1x3x3x3x2x2xf32>
    %v28 = stablehlo.compare EQ, %v18, %v27, FLOAT : (tensor<1x3x3x3x2x2xf32>, tensor<1x3x3x3x2x2xf32>) -> tensor<1x3x3x3x2x2xi1>
    %v29 = stablehlo.constant dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
    %v30 = stablehlo.negate %v29 : tensor<2x2xi64>
    %v31 = stablehlo.broadcast_in_dim %v30, dims = [4, 5] : (tensor<2x2xi64>) -> tensor<1x3x3x3x2x2xi64>
    %v32 = stablehlo.constant dense<-4> : tensor<1x3x3x3x2x2xi64>
    %v33 = stablehlo.select %v28, %v31, %v32 : (tensor<1x3x3x3x2x2xi1>, tensor<1x3x3x3x2x2xi64>, tensor<1x3x3x3x2x2xi64>) -> tensor<1x3x3x3x2x2xi64>
    %v34_1 = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
    %v34 = stablehlo.reduce(%v33 init: %v34_1) applies stablehlo.maximum across dimensions = [4, 5] : (tensor<1x3x3x3x2x2xi64>, tensor<i64>) -> tensor<1x3x3x3xi64>
    %v35 = stablehlo.broadcast_in_dim %v34, dims = [0, 1, 2, 3] : (tensor<1x3x3x3xi64>) -> tensor<1x3x3x3x2x2xi64>
    %v36 = stablehlo.compare EQ, %v33, %v35, SIGNED : (tensor<1x3x3x3x2x2xi64>, tensor<1x3x3x3x2x2xi64>) -> tensor<1x3x3x3x2x2xi1>
    %v37 = stablehlo.minimum %v28, %v36 : tensor<1x3x3x3x2x2xi1>
    %v38 = stablehlo.broadcast_in_dim %v26, dims = [0, 1, 2, 3] : (tensor<1x3x3x3xf32>) -> tensor<1x3x3x3x2x2xf32>
    %v39 = stablehlo.constant dense<0.0> : tensor<1x3x3x3x2x2xf32>
    %v40 = stablehlo.select %v37, %v38, %v39 : (tensor<1x3x3x3x2x2xi1>, tensor<1x3x3x3x2x2xf32>, tensor<1x3x3x3x2x2xf32>) -> tensor<1x3x3x3x2x2xf32>
    %v41_1 = stablehlo.constant dense<0.0> : tensor<1x3x6x3x2xf32>
    %v41_2 = stablehlo.slice %v40 [0:1, 0:3, 0:3, 0:3, 0:2, 0:1] : (tensor<1x3x3x3x2x2xf32>) -> tensor<1x3x3x3x2x1xf32>
    %v41_3 = stablehlo.reshape %v41_2 : (tensor<1x3x3x3x2x1xf32>) -> tensor<1x3x3x3x2xf32>
    %v41_4 = stablehlo.constant dense<0.0> : tensor<f32>
    %v41_5 = stablehlo.pad %v41_3, %v41_4, low = [0, 0, 0, 0, 0], high = [0, 0, 1, 0, 0], interior = [0, 0, 1, 0, 0] : (tensor<1x3x3x3x2xf32>, tensor<f32>) -> tensor<1x3x6x3x2xf32>
    %v41_6 = stablehlo.add %v41_1, %v41_5 : tensor<1x3x6x3x2xf32>
    %v41_7 = stablehlo.slice %v40 [0:1, 0:3, 0:3, 0:3, 0:2, 1:2] : (tensor<1x3x3x3x2x2xf32>) -> tensor<1x3x3x3x2x1xf32>
    %v41_8 = stablehlo.reshape %v41_7 : (tensor<1x3x3x3x2x1xf32>) -> tensor<1x3x3x3x2xf32>
    %v41_9 = stablehlo.constant dense<0.0> : tensor<f32>
    %v41_10 = stablehlo.pad %v41_8, %v41_9, low = [0, 0, 1, 0, 0], high = [0, 0, 0, 0, 0], interior = [0, 0, 1, 0, 0] : (tensor<1x3x3x3x2xf32>, tensor<f32>) -> tensor<1x3x6x3x2xf32>
    %v41 = stablehlo.add %v41_6, %v41_10 : tensor<1x3x6x3x2xf32>
    %v42_1 = stablehlo.constant dense<0.0> : tensor<1x6x6x3xf32>
    %v42_2 = stablehlo.slice %v41 [0:1, 0:3, 0:6, 0:3, 0:1] : (tensor<1x3x6x3x2xf32>) -> tensor<1x3x6x3x1xf32>
    %v42_3 = stablehlo.reshape %v42_2 : (tensor<1x3x6x3x1xf32>) -> tensor<1x3x6x3xf32>
    %v42_4 = stablehlo.constant dense<0.0> : tensor<f32>
    %v42_5 = stablehlo.pad %v42_3, %v42_4, low = [0, 0, 0, 0], high = [0, 1, 0, 0], interior = [0, 1, 0, 0] : (tensor<1x3x6x3xf32>, tensor<f32>) -> tensor<1x6x6x3xf32>
    %v42_6 = stablehlo.add %v42_1, %v42_5 : tensor<1x6x6x3xf32>
    %v42_7 = stablehlo.slice %v41 [0:1, 0:3, 0:6, 0:3, 1:2] : (tensor<1x3x6x3x2xf32>) -> tensor<1x3x6x3x1xf32>
    %v42_8 = stablehlo.reshape %v42_7 : (tensor<1x3x6x3x1xf32>) -> tensor<1x3x6x3xf32>
    %v42_9 = stablehlo.constant dense<0.0> : tensor<f32>
    %v42_10 = stablehlo.pad %v42_8, %v42_9, low = [0, 1, 0, 0], high = [0, 0, 0, 0], interior = [0, 1, 0, 0] : (tensor<1x3x6x3xf32>, tensor<f32>) -> tensor<1x6x6x3xf32>
    %v42 = stablehlo.add %v42_6, %v42_10 : tensor<1x6x6x3xf32>
    %v43 = stablehlo.multiply %v42, %v15 : tensor<1x6x6x3xf32>
    %v44 = stablehlo.multiply %v10, %v42 : tensor<1x6x6x3xf32>
    %v45 = stablehlo.multiply %v12, %v12 : tensor<1x6x6x3xf32>
    %v46 = stablehlo.negate %v45 : tensor<1x6x6x3xf32>
    %v47 = stablehlo.exponential %v46 : tensor<1x6x6x3xf32>
    %v48 = stablehlo.constant dense<1.1283792> : tensor<1x6x6x3xf32>
    %v49 = stablehlo.multiply %v47, %v48 : tensor<1x6x6x3xf32>
    %v50 = stablehlo.multiply %v44, %v49 : tensor<1x6x6x3xf32>
    %v51 = stablehlo.multiply %v50, %v11 : tensor<1x6x6x3xf32>
    %v54 = stablehlo.multiply %v9, %v43 : tensor<1x6x6x3xf32>
    %v55 = stablehlo.add %v51, %v54 : tensor<1x6x6x3xf32>
    %v56 = stablehlo.reshape %v55 : (tensor<1x6x6x3xf32>) -> tensor<36x3xf32>
    %v57 = stablehlo.transpose %v1, dims = [1, 0] : (tensor<18x3xf32>) -> tensor<3x18xf32>
    %v58 = stablehlo.dot_general %v56, %v57, contracting_dims = [1] x [0] : (tensor<36x3xf32>, tensor<3x18xf32>) -> tensor<36x18xf32>
    %v60_1 = stablehlo.reshape %v56 : (tensor<36x3xf32>) -> tensor<1x6x6x3xf32>
    %v60_2 = stablehlo.convolution(%v0, %v60_1) dim_numbers = [f, b, 0, 1]x[i, 0, 1, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x6x6xf32>, tensor<1x6x6x3xf32>) -> tensor<2x3x3x3xf32>
    %v60 = stablehlo.reshape %v60_2 : (tensor<2x3x3x3xf32>) -> tensor<18x3xf32>
    %v61 = stablehlo.reshape %v58 : (tensor<36x18xf32>) -> tensor<1x6x6x2x3x3xf32>
    %v62 = stablehlo.transpose %v61, dims = [0, 3, 1, 2, 4, 5] : (tensor<1x6x6x2x3x3xf32>) -> tensor<1x2x6x6x3x3xf32>
    %v63_1 = stablehlo.constant dense<0.0> : tensor<1x2x6x8x3xf32>
    %v63_2 = stablehlo.slice %v62 [0:1, 0:2, 0:6, 0:6, 0:3, 0:1] : (tensor<1x2x6x6x3x3xf32>) -> tensor<1x2x6x6x3x1xf32>
    %v63_3 = stablehlo.reshape %v63_2 : (tensor<1x2x6x6x3x1xf32>) -> tensor<1x2x6x6x3xf32>
    %v63_4 = stablehlo.constant dense<0.0> : tensor<f32>
    %v63_5 = stablehlo.pad %v63_3, %v63_4, low = [0, 0, 0, 0, 0], high = [0, 0, 0, 2, 0], interior = [0, 0, 0, 0, 0] : (tensor<1x2x6x6x3xf32>, tensor<f32>) -> tensor<1x2x6x8x3xf32>
    %v63_6 = stablehlo.add %v63_1, %v63_5 : tensor<1x2x6x8x3xf32>
    %v63_7 = stablehlo.slice %v62 [0:1, 0:2, 0:6, 0:6, 0:3, 1:2] : (tensor<1x2x6x6x3x3xf32>) -> tensor<1x2x6x6x3x1xf32>
    %v63_8 = stablehlo.reshape %v63_7 : (tensor<1x2x6x6x3x1xf32>) -> tensor<1x2x6x6x3xf32>
    %v63_9 = stablehlo.constant dense<0.0> : tensor<f32>
    %v63_10 = stablehlo.pad %v63_8, %v63_9, low = [0, 0, 0, 1, 0], high = [0, 0, 0, 1, 0], interior = [0, 0, 0, 0, 0] : (tensor<1x2x6x6x3xf32>, tensor<f32>) -> tensor<1x2x6x8x3xf32>
    %v63_11 = stablehlo.add %v63_6, %v63_10 : tensor<1x2x6x8x3xf32>
    %v63_12 = stablehlo.slice %v62 [0:1, 0:2, 0:6, 0:6, 0:3, 2:3] : (tensor<1x2x6x6x3x3xf32>) -> tensor<1x2x6x6x3x1xf32>
    %v63_13 = stablehlo.reshape %v63_12 : (tensor<1x2x6x6x3x1xf32>) -> tensor<1x2x6x6x3xf32>
    %v63_14 = stablehlo.constant dense<0.0> : tensor<f32>
    %v63_15 = stablehlo.pad %v63_13, %v63_14, low = [0, 0, 0, 2, 0], high = [0, 0, 0, 0, 0], interior = [0, 0, 0, 0, 0] : (tensor<1x2x6x6x3xf32>, tensor<f32>) -> tensor<1x2x6x8x3xf32>
    %v63 = stablehlo.add %v63_11, %v63_15 : tensor<1x2x6x8x3xf32>
    %v64_1 = stablehlo.constant dense<0.0> : tensor<1x2x8x8xf32>
    %v64_2 = stablehlo.slice %v63 [0:1, 0:2, 0:6, 0:8, 0:1] : (tensor<1x2x6x8x3xf32>) -> tensor<1x2x6x8x1xf32>
    %v64_3 = stablehlo.reshape %v64_2 : (tensor<1x2x6x8x1xf32>) -> tensor<1x2x6x8xf32>
    %v64_4 = stablehlo.constant dense<0.0> : tensor<f32>
    %v64_5 = stablehlo.pad %v64_3, %v64_4, low = [0, 0, 0, 0], high = [0, 0, 2, 0], interior = [0, 0, 0, 0] : (tensor<1x2x6x8xf32>, tensor<f32>) -> tensor<1x2x8x8xf32>
    %v64_6 = stablehlo.add %v64_1, %v64_5 : tensor<1x2x8x8xf32>
    %v64_7 = stablehlo.slice %v63 [0:1, 0:2, 0:6, 0:8, 1:2] : (tensor<1x2x6x8x3xf32>) -> tensor<1x2x6x8x1xf32>
    %v64_8 = stablehlo.reshape %v64_7 : (tensor<1x2x6x8x1xf32>) -> tensor<1x2x6x8xf32>
    %v64_9 = stablehlo.constant dense<0.0> : tensor<f32>
    %v64_10 = stablehlo.pad %v64_8, %v64_9, low = [0, 0, 1, 0], high = [0, 0, 1, 0], interior = [0, 0, 0, 0] : (tensor<1x2x6x8xf32>, tensor<f32>) -> tensor<1x2x8x8xf32>
    %v64_11 = stablehlo.add %v64_6, %v64_10 : tensor<1x2x8x8xf32>
    %v64_12 = stablehlo.slice %v63 [0:1, 0:2, 0:6, 0:8, 2:3] : (tensor<1x2x6x8x3xf32>) -> tensor<1x2x6x8x1xf32>
    %v64_13 = stablehlo.reshape %v64_12 : (tensor<1x2x6x8x1xf32>) -> tensor<1x2x6x8xf32>
    %v64_14 = stablehlo.constant dense<0.0> : tensor<f32>
    %v64_15 = stablehlo.pad %v64_13, %v64_14, low = [0, 0, 2, 0], high = [0, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<1x2x6x8xf32>, tensor<f32>) -> tensor<1x2x8x8xf32>
    %v64 = stablehlo.add %v64_11, %v64_15 : tensor<1x2x8x8xf32>
    %v65 = stablehlo.slice %v64 [0:1, 0:2, 1:7, 1:7] : (tensor<1x2x8x8xf32>) -> tensor<1x2x6x6xf32>
    return %v21, %v60, %v65 : tensor<f32>, tensor<18x3xf32>, tensor<1x2x6x6xf32>
  }
}
