// A wave after ten thousand seconds. A sine of so large an angle needs the angle reduced with care.
func.func private @wave(%angle: tensor<32xf32>) -> tensor<32xf32> {
  %sine = stablehlo.sine %angle : tensor<32xf32>
  %half = stablehlo.constant dense<0.5> : tensor<32xf32>
  %height = stablehlo.multiply %sine, %half : tensor<32xf32>
  return %height : tensor<32xf32>
}
func.func @main(%phase: tensor<32xf32>) -> tensor<32xf32> {
  %seconds = stablehlo.constant dense<10000.0> : tensor<32xf32>
  %angle = stablehlo.add %phase, %seconds : tensor<32xf32>
  %height = func.call @wave(%angle) : (tensor<32xf32>) -> tensor<32xf32>
  return %height : tensor<32xf32>
}
