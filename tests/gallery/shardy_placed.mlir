module @shardy_placed {
  sdy.mesh @mesh = <["x"=1, "y"=1]>
  func.func public @main(%arg0: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x2xf32> {
    %0 = sdy.all_gather [{"x"}, {}] %arg0 out_sharding=<@mesh, [{}, {}]> : tensor<4x2xf32>
    %1 = sdy.all_slice [{"x"}, {}] %0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<4x2xf32>
    %2 = sdy.all_to_all [{"x"}: 0->1] %1 out_sharding=<@mesh, [{}, {"x"}]> : tensor<4x2xf32>
    %3 = sdy.collective_permute %2 out_sharding=<@mesh, [{}, {"y"}]> : tensor<4x2xf32>
    %4 = sdy.propagation_barrier %3 allowed_direction=NONE : tensor<4x2xf32>
    sdy.sharding_group %4 group_id=0 : tensor<4x2xf32>
    %5 = sdy.constant dense<2.000000e+00> : tensor<4x2xf32>
    %6 = sdy.named_computation<"twice">(%4, %5) (%arg1: tensor<4x2xf32>, %arg2: tensor<4x2xf32>) {
      %10 = stablehlo.multiply %arg1, %arg2 : tensor<4x2xf32>
      sdy.return %10 : tensor<4x2xf32>
    } : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
    %7 = stablehlo.negate %6 : tensor<4x2xf32>
    %8 = sdy.data_flow_edge %7 sharding=<@mesh, [{"x", ?}, {?}]> : tensor<4x2xf32>
    %9 = call @inner(%8) : (tensor<4x2xf32>) -> tensor<4x2xf32>
    return %9 : tensor<4x2xf32>
  }
  func.func private @inner(%arg0: tensor<4x2xf32>) -> tensor<4x2xf32> {
    %0 = sdy.func_data_flow_edge %arg0 : tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
}
