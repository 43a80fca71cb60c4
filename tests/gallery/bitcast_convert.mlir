func.func @main(%arg0: tensor<2x3xf64>) -> (tensor<2x3x2xi32>, tensor<2x3x4xbf16>) {
  %0 = stablehlo.bitcast_convert %arg0 : (tensor<2x3xf64>) -> tensor<2x3x2xi32>
  %1 = stablehlo.bitcast_convert %arg0 : (tensor<2x3xf64>) -> tensor<2x3x4xbf16>
  return %0, %1 : tensor<2x3x2xi32>, tensor<2x3x4xbf16>
}
