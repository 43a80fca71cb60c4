module @resharded {
  sdy.mesh @mesh = <["x"=1]>
  func.func public @main(%arg0: tensor<4x2xf32>) -> tensor<4x2xf32> {
    %0 = sdy.reshard %arg0 <@mesh, [{}, {"x"}]> : tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
}
