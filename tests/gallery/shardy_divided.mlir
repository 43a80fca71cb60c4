module @shardy_divided {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x2xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<2x2xf32>) {
      %5 = stablehlo.negate %arg1 : tensor<2x2xf32>
      sdy.return %5 : tensor<2x2xf32>
    } : (tensor<4x2xf32>) -> tensor<4x2xf32>
    %1 = sdy.sharded_to_unreduced [{"x"}, {}] %arg0 out_sharding=<@mesh, [{}, {}], unreduced={"x"}> : tensor<4x2xf32>
    %2 = sdy.all_reduce {"x"} %1 out_sharding=<@mesh, [{}, {}]> : tensor<4x2xf32>
    %3 = sdy.replicated_to_unreduced {"y"} %2 out_sharding=<@mesh, [{}, {}], unreduced={"y"}> : tensor<4x2xf32>
    %4 = sdy.reduce_scatter [{"y"}, {}] %3 out_sharding=<@mesh, [{"y"}, {}]> : tensor<4x2xf32>
    return %4 : tensor<4x2xf32>
  }
}
