"""Modules that the tests of every adapter run."""

SUM = """
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %b : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
PRODUCT = """
func.func @main(%a: tensor<64x64xf64>, %b: tensor<64x64xf64>) -> tensor<64x64xf64> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
  return %0 : tensor<64x64xf64>
}
"""
ELEMENTS = """
func.func @main(%a: tensor<2xbf16>, %b: tensor<f16>, %c: tensor<2xf64>, %d: tensor<3xi1>,
                %e: tensor<2xi64>, %f: tensor<0x3xf32>)
    -> (tensor<2xbf16>, tensor<f16>, tensor<2xf64>, tensor<3xi1>, tensor<2xi64>, tensor<0x3xf32>) {
  %0 = stablehlo.add %a, %a : tensor<2xbf16>
  %1 = stablehlo.multiply %b, %b : tensor<f16>
  %2 = stablehlo.divide %c, %c : tensor<2xf64>
  %3 = stablehlo.not %d : tensor<3xi1>
  %4 = stablehlo.add %e, %e : tensor<2xi64>
  %5 = stablehlo.negate %f : tensor<0x3xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<2xbf16>, tensor<f16>, tensor<2xf64>, tensor<3xi1>,
    tensor<2xi64>, tensor<0x3xf32>
}
"""
# XLA ends its process where it folds this.
ZERO_DIVISOR = """
module @quotient {
  func.func @main() -> tensor<i32> {
    %0 = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.subtract %0, %0 : tensor<i32>
    %2 = stablehlo.divide %0, %1 : tensor<i32>
    return %2 : tensor<i32>
  }
}
"""
