func.func @main(%arg0: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0 = chlo.erf %arg0 : tensor<3xf32> -> tensor<3xf32>
  %1 = chlo.erfc %arg0 : tensor<3xf32> -> tensor<3xf32>
  %2 = chlo.erf_inv %0 : tensor<3xf32> -> tensor<3xf32>
  %3 = chlo.lgamma %1 : tensor<3xf32> -> tensor<3xf32>
  %4 = chlo.digamma %1 : tensor<3xf32> -> tensor<3xf32>
  %5 = chlo.bessel_i1e %arg0 : tensor<3xf32> -> tensor<3xf32>
  %6 = chlo.polygamma %1, %1 : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %7 = chlo.zeta %1, %1 : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %8 = stablehlo.add %5, %6 : tensor<3xf32>
  %9 = stablehlo.add %8, %7 : tensor<3xf32>
  return %2, %3, %4, %9 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
