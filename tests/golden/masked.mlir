module @topos attributes {mhlo.frontend_attributes = {arg0 = "x"}, topos.version = "0.1.0", topos.digest = "sha256:39e16bb4760d2c95f49745db4477b976d9cd18291a133f39cadb27bbd96bba15"} {
  func.func public @main(%v1: tensor<9x9xf32> {topos.name = "x"} loc("x")) -> (tensor<9x9xf32>) {
    %v0 = stablehlo.constant dense<[[true, false, false, false, false, false, false, false, false], [true, true, false, false, false, false, false, false, false], [true, true, true, false, false, false, false, false, false], [true, true, true, true, false, false, false, false, false], [true, true, true, true, true, false, false, false, false], [true, true, true, true, true, true, false, false, false], [true, true, true, true, true, true, true, false, false], [true, true, true, true, true, true, true, true, false], [true, true, true, true, true, true, true, true, true]]> : tensor<9x9xi1>
    %v2 = stablehlo.constant dense<-1.0> : tensor<9x9xf32>
    %v3 = stablehlo.select %v0, %v1, %v2 : (tensor<9x9xi1>, tensor<9x9xf32>, tensor<9x9xf32>) -> tensor<9x9xf32>
    return %v3 : tensor<9x9xf32>
  }
}
