func.func @main() -> tensor<2x2x2xf64> {
  %0 = stablehlo.constant dense<[[[4.0, 2.0], [2.0, 5.0]], [[1.0, 0.0], [0.0, 9.0]]]> : tensor<2x2x2xf64>
  %1 = stablehlo.cholesky %0, lower = true : tensor<2x2x2xf64>
  return %1 : tensor<2x2x2xf64>
}
