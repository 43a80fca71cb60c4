module @topos attributes {mhlo.frontend_attributes = {arg0 = "x", result0 = "y", result1 = "slope", result2 = "curvature"}, topos.version = "0.1.0", topos.digest = "sha256:355b7dfd2adee46ff6de2ded461a774981f48ea417d53ad897489a49e44e26f2"} {
  func.func public @main(%v0: tensor<f64> {topos.name = "x"} loc("x")) -> (tensor<f64> {topos.name = "y"}, tensor<f64> {topos.name = "slope"}, tensor<f64> {topos.name = "curvature"}) {
    %v1 = stablehlo.multiply %v0, %v0 : tensor<f64>
    %v2 = stablehlo.constant dense<1.0> : tensor<f64>
    %v3 = stablehlo.add %v1, %v2 : tensor<f64>
    %v4 = stablehlo.log %v3 : tensor<f64>
    %v5 = stablehlo.sine %v0 : tensor<f64>
    %v6 = stablehlo.multiply %v4, %v5 : tensor<f64>
    %v7 = stablehlo.exponential_minus_one %v0 : tensor<f64>
    %v8 = stablehlo.add %v6, %v7 : tensor<f64>
    %v9 = stablehlo.add %v7, %v2 : tensor<f64>
    %v10 = stablehlo.multiply %v2, %v9 : tensor<f64>
    %v11 = stablehlo.multiply %v2, %v5 : tensor<f64>
    %v12 = stablehlo.multiply %v4, %v2 : tensor<f64>
    %v13 = stablehlo.cosine %v0 : tensor<f64>
    %v14 = stablehlo.multiply %v12, %v13 : tensor<f64>
    %v15 = stablehlo.add %v10, %v14 : tensor<f64>
    %v16 = stablehlo.divide %v11, %v3 : tensor<f64>
    %v17 = stablehlo.multiply %v16, %v0 : tensor<f64>
    %v18 = stablehlo.multiply %v0, %v16 : tensor<f64>
    %v19 = stablehlo.add %v15, %v17 : tensor<f64>
    %v20 = stablehlo.add %v19, %v18 : tensor<f64>
    %v21 = stablehlo.multiply %v2, %v16 : tensor<f64>
    %v22 = stablehlo.multiply %v0, %v2 : tensor<f64>
    %v23 = stablehlo.multiply %v2, %v0 : tensor<f64>
    %v24 = stablehlo.multiply %v16, %v2 : tensor<f64>
    %v25 = stablehlo.add %v22, %v23 : tensor<f64>
    %v26 = stablehlo.add %v21, %v24 : tensor<f64>
    %v27 = stablehlo.divide %v25, %v3 : tensor<f64>
    %v28 = stablehlo.multiply %v27, %v16 : tensor<f64>
    %v29 = stablehlo.negate %v28 : tensor<f64>
    %v30 = stablehlo.multiply %v2, %v13 : tensor<f64>
    %v31 = stablehlo.multiply %v12, %v2 : tensor<f64>
    %v32 = stablehlo.sine %v0 : tensor<f64>
    %v33 = stablehlo.multiply %v31, %v32 : tensor<f64>
    %v34 = stablehlo.negate %v33 : tensor<f64>
    %v35 = stablehlo.add %v26, %v34 : tensor<f64>
    %v36 = stablehlo.multiply %v30, %v2 : tensor<f64>
    %v39 = stablehlo.multiply %v2, %v27 : tensor<f64>
    %v41 = stablehlo.multiply %v2, %v2 : tensor<f64>
    %v42 = stablehlo.add %v7, %v2 : tensor<f64>
    %v43 = stablehlo.multiply %v41, %v42 : tensor<f64>
    %v44 = stablehlo.add %v35, %v43 : tensor<f64>
    %v45 = stablehlo.cosine %v0 : tensor<f64>
    %v46 = stablehlo.multiply %v39, %v45 : tensor<f64>
    %v47 = stablehlo.add %v44, %v46 : tensor<f64>
    %v48 = stablehlo.divide %v36, %v3 : tensor<f64>
    %v49 = stablehlo.add %v29, %v48 : tensor<f64>
    %v50 = stablehlo.multiply %v49, %v0 : tensor<f64>
    %v51 = stablehlo.multiply %v0, %v49 : tensor<f64>
    %v52 = stablehlo.add %v47, %v50 : tensor<f64>
    %v53 = stablehlo.add %v52, %v51 : tensor<f64>
    return %v8, %v20, %v53 : tensor<f64>, tensor<f64>, tensor<f64>
  }
}
