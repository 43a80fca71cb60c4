#loc = loc("model.py":1:0)
module @located attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2xf32> {jax.buffer_donor = true} loc("x")) -> (tensor<2xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.sine %arg0 : tensor<2xf32> loc(#loc1)
    return %0 : tensor<2xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc1 = loc("sin"(callsite("f"("model.py":3:4) at "model.py":9:1)))
