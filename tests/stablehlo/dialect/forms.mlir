module {
  sdy.mesh @mesh = <["x"=2]>
  func.func private @g(%a: tensor<2x3xf32>, %s: tensor<f32>, %i: tensor<i32>, %p: tensor<i1>, %m: tensor<1x4x4x1xf32>, %k: tensor<3x3x1x1xf32>) {
    %0 = stablehlo.iota dim = 1 : tensor<2x3xi32>
    %1 = stablehlo.reduce_precision %a, format = e5m10 : tensor<2x3xf32>
    %2 = stablehlo.pad %a, %s, low = [1, 0], high = [0, -1], interior = [0, 1] {tag} : (tensor<2x3xf32>, tensor<f32>) -> tensor<3x4xf32>
    %3 = stablehlo.convolution(%m, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x1xf32>, tensor<3x3x1x1xf32>) -> tensor<1x4x4x1xf32>
    %4:2 = chlo.scan(%a) inits (%s) dimension = 0 attributes {is_reverse = true} {
    ^bb0(%x: tensor<3xf32>, %y: tensor<f32>):
      stablehlo.return %x, %y : tensor<3xf32>, tensor<f32>
    } : (tensor<2x3xf32>, tensor<f32>) -> (tensor<2x3xf32>, tensor<f32>)
    %5 = stablehlo.composite "a.b" %a {decomposition = @f, version = 1 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %6 = arith.constant {k} 7 : i32
    %7 = arith.constant true
    %8 = constant @f : (tensor<2x3xf32>) -> (tensor<2x3xf32>)
    %9 = call_indirect %8(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %10 = stablehlo.create_token : !stablehlo.token
    %11 = stablehlo.after_all %10, %10 : !stablehlo.token
    %12 = stablehlo.dynamic_slice %a, %i, %i, sizes = [1, 2] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
    %13 = chlo.constant dense<1.0> : tensor<2xf32>
    %14 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> {tag} : tensor<2x3xf32>
    %15 = sdy.all_gather [{"x"}, {}] %14 out_sharding=<@mesh, [{}, {}]> : tensor<2x3xf32>
    %16 = sdy.propagation_barrier %a allowed_direction=FORWARD : tensor<2x3xf32>
    sdy.sharding_group %a group_id=3 : tensor<2x3xf32>
    %17 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<1x3xf32>) {
      sdy.return %b : tensor<1x3xf32>
    } : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %18 = sdy.named_computation<"n">(%a) (%b: tensor<2x3xf32>) {
      sdy.return {tag} %b : tensor<2x3xf32>
    } : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %19 = stablehlo.broadcast_in_dim %p, dims = [] : (tensor<i1>) -> tensor<2x3xi1>
    %20 = stablehlo.optimization_barrier {tag} %s : tensor<f32>
    %21 = stablehlo.select %19, %a, %a : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<?x3xf32>
    return {tag}
  }
  func.func private @f(tensor<2x3xf32>) -> tensor<2x3xf32>
}
