func.func @main(%arg0: tensor<2xf32>, %arg1: !stablehlo.token) -> (tensor<2xf32>, tensor<3xi32>, !stablehlo.token) {
  %0:2 = "stablehlo.infeed"(%arg1) <{infeed_config = "", layout = [[0]]}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  %1 = "stablehlo.outfeed"(%arg0, %0#1) <{outfeed_config = ""}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  %2 = "stablehlo.send"(%arg0, %1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  %3:2 = "stablehlo.recv"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<3xi32>, !stablehlo.token)
  return %0#0, %3#0, %3#1 : tensor<2xf32>, tensor<3xi32>, !stablehlo.token
}
