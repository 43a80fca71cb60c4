module @topos attributes {mhlo.frontend_attributes = {arg0 = "w", arg1 = "x", arg2 = "y", result0 = "loss", result1 = "dloss/dw"}, topos.version = "0.1.0", topos.digest = "sha256:fd90a5782bcfc8b13f58e755d1cd6a40ee536d1b5fc831550f89c84b1bf0097b"} {
  func.func public @main(%v0: tensor<f64> {topos.name = "w"} loc("w"), %v1: tensor<f64> {topos.name = "x"} loc("x"), %v2: tensor<f64> {topos.name = "y"} loc("y")) -> (tensor<f64> {topos.name = "loss"}, tensor<f64> {topos.name = "dloss/dw"}) {
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
