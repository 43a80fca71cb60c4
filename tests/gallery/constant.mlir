module @constants {
  func.func @main() -> (tensor<2x2xf32>, tensor<2xcomplex<f32>>, tensor<4xi4>, tensor<3xi1>, tensor<0x2xf64>, tensor<3xf8E4M3FN>, tensor<2xf32>) {
    %0 = stablehlo.constant dense<[[1.0, -2.5e-3], [0x7F800000, 0xFFC00000]]> : tensor<2x2xf32>
    %1 = stablehlo.constant dense<[(1.0, 2.0), (-0.0, 0x7FC00000)]> : tensor<2xcomplex<f32>>
    %2 = stablehlo.constant dense<[-8, 7, 0, 3]> : tensor<4xi4>
    %3 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
    %4 = stablehlo.constant dense<> : tensor<0x2xf64>
    %5 = stablehlo.constant dense<1.5> : tensor<3xf8E4M3FN>
    %6 = stablehlo.constant dense<"0x0000803F000000C0"> : tensor<2xf32>
    return %0, %1, %2, %3, %4, %5, %6 : tensor<2x2xf32>, tensor<2xcomplex<f32>>, tensor<4xi4>, tensor<3xi1>, tensor<0x2xf64>, tensor<3xf8E4M3FN>, tensor<2xf32>
  }
}
