// The variance of numbers around 1000 as a mean of squares less a square of the mean. Both are
// about a million, and in f32 their difference has no digit that rounding leaves alone.
func.func @main(%x: tensor<256xf32>) -> (tensor<f32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %count = stablehlo.constant dense<256.0> : tensor<f32>
  %offset = stablehlo.constant dense<1000.0> : tensor<256xf32>
  %far = stablehlo.add %x, %offset : tensor<256xf32>
  %sum = stablehlo.reduce(%far init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<256xf32>, tensor<f32>) -> tensor<f32>
  %mean = stablehlo.divide %sum, %count : tensor<f32>
  %squares = stablehlo.multiply %far, %far : tensor<256xf32>
  %total = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<256xf32>, tensor<f32>) -> tensor<f32>
  %mean_square = stablehlo.divide %total, %count : tensor<f32>
  %square = stablehlo.multiply %mean, %mean : tensor<f32>
  %variance = stablehlo.subtract %mean_square, %square : tensor<f32>
  return %mean, %variance : tensor<f32>, tensor<f32>
}
