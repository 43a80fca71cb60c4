func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) -> (tensor<4x2x3xf32>, tensor<3x2xf32>, tensor<5xi64>, tensor<4x5xf32>, tensor<i32>, tensor<1x2xf32>) {
  %shape = stablehlo.constant dense<[4, 2, 3]> : tensor<3xi64>
  %0 = stablehlo.dynamic_broadcast_in_dim %arg0, %shape, dims = [1, 2] : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<4x2x3xf32>
  %flat = stablehlo.constant dense<[3, 2]> : tensor<2xi32>
  %1 = stablehlo.dynamic_reshape %arg0, %flat : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<3x2xf32>
  %five = stablehlo.constant dense<5> : tensor<1xi64>
  %2 = stablehlo.dynamic_iota %five, dim = 0 : (tensor<1xi64>) -> tensor<5xi64>
  %low = stablehlo.constant dense<1> : tensor<2xi32>
  %inner = stablehlo.constant dense<0> : tensor<2xi32>
  %3 = stablehlo.dynamic_pad %arg0, %arg1, %low, %low, %inner : (tensor<2x3xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x5xf32>
  %4 = stablehlo.get_dimension_size %arg0, dim = 1 : (tensor<2x3xf32>) -> tensor<i32>
  %limit = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
  %5 = stablehlo.real_dynamic_slice %arg0, %low, %limit, %low : (tensor<2x3xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<1x2xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<4x2x3xf32>, tensor<3x2xf32>, tensor<5xi64>, tensor<4x5xf32>, tensor<i32>, tensor<1x2xf32>
}
