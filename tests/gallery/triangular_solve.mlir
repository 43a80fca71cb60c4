func.func @main(%arg0: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %0 = stablehlo.constant dense<[[2.0, 0.0, 0.0], [1.0, 4.0, 0.0], [0.5, 1.0, 1.0]]> : tensor<3x3xf32>
  %1 = "stablehlo.triangular_solve"(%0, %arg0) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return %1 : tensor<3x2xf32>
}
