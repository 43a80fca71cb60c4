func.func @main(%arg0: tensor<3xf32>, %arg1: tensor<3xcomplex<f64>>) -> (tensor<3xf32>, tensor<3xcomplex<f64>>) {
  %0 = chlo.acos %arg0 : tensor<3xf32> -> tensor<3xf32>
  %1 = chlo.acosh %0 : tensor<3xf32> -> tensor<3xf32>
  %2 = chlo.asin %1 : tensor<3xf32> -> tensor<3xf32>
  %3 = chlo.asinh %2 : tensor<3xf32> -> tensor<3xf32>
  %4 = chlo.atan %3 : tensor<3xf32> -> tensor<3xf32>
  %5 = chlo.atanh %4 : tensor<3xf32> -> tensor<3xf32>
  %6 = chlo.asin %arg1 : tensor<3xcomplex<f64>> -> tensor<3xcomplex<f64>>
  %7 = chlo.conj %6 : tensor<3xcomplex<f64>> -> tensor<3xcomplex<f64>>
  return %5, %7 : tensor<3xf32>, tensor<3xcomplex<f64>>
}
