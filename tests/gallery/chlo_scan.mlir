func.func @main(%arg0: tensor<2x5xf32>, %arg1: tensor<2xf32>) -> (tensor<2x5xf32>, tensor<2xf32>) {
  %0, %1 = chlo.scan (%arg0) inits (%arg1) dimension=1 {
  ^bb0(%arg2: tensor<2xf32>, %arg3: tensor<2xf32>):
    %2 = stablehlo.multiply %arg2, %arg3 : tensor<2xf32>
    %3 = stablehlo.add %2, %arg2 : tensor<2xf32>
    stablehlo.return %2, %3 : tensor<2xf32>, tensor<2xf32>
  } : (tensor<2x5xf32>, tensor<2xf32>) -> (tensor<2x5xf32>, tensor<2xf32>)
  return %0, %1 : tensor<2x5xf32>, tensor<2xf32>
}
