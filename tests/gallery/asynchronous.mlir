func.func @main(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = "stablehlo.async_start"(%arg0) ({
  ^bb0(%arg1: tensor<2x3xf32>):
    %2 = "stablehlo.all_reduce"(%arg1) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %3 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    stablehlo.return %2 : tensor<2x3xf32>
  }) : (tensor<2x3xf32>) -> !stablehlo.future<tensor<2x3xf32>>
  %1 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<2x3xf32>>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}
