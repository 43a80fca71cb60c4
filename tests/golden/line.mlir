module @topos {
  func.func public @main(%v0: tensor<f64> loc("w"), %v1: tensor<f64> loc("x"), %v2: tensor<f64> loc("y")) -> (tensor<f64>, tensor<f64>) {
    %v3 = stablehlo.multiply %v0, %v1 : tensor<f64>
    %v4 = stablehlo.subtract %v3, %v2 : tensor<f64>
    %v5 = stablehlo.multiply %v4, %v4 : tensor<f64>
    %v6 = stablehlo.constant dense<1.0> : tensor<f64>
    %v7 = stablehlo.multiply %v6, %v4 : tensor<f64>
    %v8 = stablehlo.multiply %v4, %v6 : tensor<f64>
    %v9 = stablehlo.add %v7, %v8 : tensor<f64>
    %v11 = stablehlo.multiply %v9, %v1 : tensor<f64>
    return %v5, %v11 : tensor<f64>, tensor<f64>
  }
}
