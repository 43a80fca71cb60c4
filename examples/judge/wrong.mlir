// A wave at whole seconds, up to some ten thousand. These are exact numbers in f32, and so is the
// question what their sine is; but a sine of so large an angle needs the angle reduced with care.
func.func private @wave(%angle: tensor<32xf32>) -> tensor<32xf32> {
  %sine = stablehlo.sine %angle : tensor<32xf32>
  return %sine : tensor<32xf32>
}
func.func @main(%heights: tensor<32xf32>) -> tensor<32xf32> {
  %step = stablehlo.constant dense<317.0> : tensor<32xf32>
  %place = stablehlo.iota dim = 0 : tensor<32xf32>
  %seconds = stablehlo.multiply %place, %step : tensor<32xf32>
  %wave = func.call @wave(%seconds) : (tensor<32xf32>) -> tensor<32xf32>
  %moved = stablehlo.multiply %heights, %wave : tensor<32xf32>
  return %moved : tensor<32xf32>
}
