module @topos {
  func.func public @main(%v1: tensor<9x9xf32> loc("x")) -> (tensor<9x9xf32>) {
    %v0 = stablehlo.constant dense<[[true, false, false, false, false, false, false, false, false], [true, true, false, false, false, false, false, false, false], [true, true, true, false, false, false, false, false, false], [true, true, true, true, false, false, false, false, false], [true, true, true, true, true, false, false, false, false], [true, true, true, true, true, true, false, false, false], [true, true, true, true, true, true, true, false, false], [true, true, true, true, true, true, true, true, false], [true, true, true, true, true, true, true, true, true]]> : tensor<9x9xi1>
    %v2 = stablehlo.constant dense<-1.0> : tensor<9x9xf32>
    %v3 = stablehlo.select %v0, %v1, %v2 : (tensor<9x9xi1>, tensor<9x9xf32>, tensor<9x9xf32>) -> tensor<9x9xf32>
    return %v3 : tensor<9x9xf32>
  }
}
