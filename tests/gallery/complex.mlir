func.func @main(%arg0: tensor<3xf64>, %arg1: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
  %0 = stablehlo.complex %arg0, %arg1 : tensor<3xcomplex<f64>>
  %1 = stablehlo.multiply %0, %0 : tensor<3xcomplex<f64>>
  %2 = stablehlo.real %1 : (tensor<3xcomplex<f64>>) -> tensor<3xf64>
  %3 = stablehlo.imag %1 : (tensor<3xcomplex<f64>>) -> tensor<3xf64>
  return %2, %3 : tensor<3xf64>, tensor<3xf64>
}
