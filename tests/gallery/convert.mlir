func.func @main(%arg0: tensor<3xf32>) -> (tensor<3xi8>, tensor<3xbf16>, tensor<3xi1>, tensor<3xcomplex<f64>>, tensor<3xf8E5M2>) {
  %0 = stablehlo.convert %arg0 : (tensor<3xf32>) -> tensor<3xi8>
  %1 = stablehlo.convert %arg0 : (tensor<3xf32>) -> tensor<3xbf16>
  %2 = stablehlo.convert %arg0 : (tensor<3xf32>) -> tensor<3xi1>
  %3 = stablehlo.convert %arg0 : (tensor<3xf32>) -> tensor<3xcomplex<f64>>
  %4 = stablehlo.convert %arg0 : (tensor<3xf32>) -> tensor<3xf8E5M2>
  return %0, %1, %2, %3, %4 : tensor<3xi8>, tensor<3xbf16>, tensor<3xi1>, tensor<3xcomplex<f64>>, tensor<3xf8E5M2>
}
