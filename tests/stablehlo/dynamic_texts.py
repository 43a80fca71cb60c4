"""Modules with open shapes, as exporters write them."""

# As TensorFlow writes a dense layer over a batch, flattened by a size of -1.
TENSORFLOW = """
func.func @main(%x: tensor<?x2x2xf32>) -> tensor<?x3xf32> {
  %w = stablehlo.constant dense<0.5> : tensor<4x3xf32>
  %bias = stablehlo.constant dense<[1.0, 2.0, -9.0]> : tensor<3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %four = stablehlo.constant dense<4> : tensor<1xi32>
  %three = stablehlo.constant dense<3> : tensor<1xi32>
  %two = stablehlo.constant dense<4> : tensor<i32>
  %b = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x2x2xf32>) -> tensor<i32>
  %count = stablehlo.multiply %b, %two : tensor<i32>
  %all = stablehlo.reshape %count : (tensor<i32>) -> tensor<1xi32>
  %rows = stablehlo.divide %all, %four : tensor<1xi32>
  %shape = stablehlo.concatenate %rows, %four, dim = 0
      : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %flat = stablehlo.dynamic_reshape %x, %shape
      : (tensor<?x2x2xf32>, tensor<2xi32>) -> tensor<?x4xf32>
  %0 = stablehlo.dot_general %flat, %w, contracting_dims = [1] x [0]
      : (tensor<?x4xf32>, tensor<4x3xf32>) -> tensor<?x3xf32>
  %out = stablehlo.concatenate %rows, %three, dim = 0
      : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %1 = stablehlo.dynamic_broadcast_in_dim %bias, %out, dims = [1]
      : (tensor<3xf32>, tensor<2xi32>) -> tensor<?x3xf32>
  %2 = stablehlo.add %0, %1 : tensor<?x3xf32>
  %3 = stablehlo.dynamic_broadcast_in_dim %zero, %out, dims = []
      : (tensor<f32>, tensor<2xi32>) -> tensor<?x3xf32>
  %4 = stablehlo.maximum %2, %3 : tensor<?x3xf32>
  return %4 : tensor<?x3xf32>
}
"""
# As torch_xla writes a batch of at most 8 rows.
BOUNDED = """
func.func @main(%x: tensor<?x2xf32, #stablehlo.bounds<8, ?>>) -> tensor<2xf32> {
  %ones = stablehlo.constant dense<1.0> : tensor<8x2xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %size = stablehlo.get_dimension_size %x, dim = 0
      : (tensor<?x2xf32, #stablehlo.bounds<8, ?>>) -> tensor<i32>
  %0 = stablehlo.set_dimension_size %ones, %size, dim = 0
      : (tensor<8x2xf32>, tensor<i32>) -> tensor<?x2xf32, #stablehlo.bounds<8, ?>>
  %1 = stablehlo.add %x, %0 : tensor<?x2xf32, #stablehlo.bounds<8, ?>>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<?x2xf32, #stablehlo.bounds<8, ?>>, tensor<f32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}
"""
CALLED_TWICE = """
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %0 = call @twice(%x) : (tensor<?xf32>) -> tensor<?xf32>
  %1 = call @twice(%y) : (tensor<?xf32>) -> tensor<?xf32>
  %2 = call @twice(%0) : (tensor<?xf32>) -> tensor<?xf32>
  return %2, %1 : tensor<?xf32>, tensor<?xf32>
}
func.func private @twice(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.add %x, %x : tensor<?xf32> loc("sum")
  return %0 : tensor<?xf32>
}
func.func private @twice_1(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
"""
# One number is data, the other a size.
CALLED_WITH_NUMBERS = """
func.func @main(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %0 = call @filled(%one, %n) : (tensor<i32>, tensor<i32>) -> tensor<?xf32>
  %1 = call @filled(%two, %n) : (tensor<i32>, tensor<i32>) -> tensor<?xf32>
  %2 = call @filled(%two, %two) : (tensor<i32>, tensor<i32>) -> tensor<?xf32>
  return %0, %1, %2 : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}
func.func private @filled(%i: tensor<i32>, %n: tensor<i32>) -> tensor<?xf32> {
  %0 = call @twice(%i) : (tensor<i32>) -> tensor<i32>
  %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<f32>
  %2 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %3 = stablehlo.dynamic_broadcast_in_dim %1, %2, dims = []
      : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
  return %3 : tensor<?xf32>
}
func.func private @twice(%i: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.add %i, %i : tensor<i32>
  return %0 : tensor<i32>
}
"""
GROWING = """
func.func @main(%n: tensor<i32>, %x: tensor<?xf32>) -> tensor<?xf32> {
  %0:2 = stablehlo.while(%i = %n, %a = %x) : tensor<i32>, tensor<?xf32>
    cond {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %1 = stablehlo.compare GT, %i, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.concatenate %a, %x, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
      stablehlo.return %i, %1 : tensor<i32>, tensor<?xf32>
    }
  return %0#1 : tensor<?xf32>
}
"""
# The size goes through a loop that does not change it, and through the branch that is taken.
CARRIED = """
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %p = stablehlo.compare GT, %n, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %m = "stablehlo.if"(%p) ({
    stablehlo.return %three : tensor<i32>
  }, {
    %0 = stablehlo.add %n, %one : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }) : (tensor<i1>) -> tensor<i32>
  %w:2 = stablehlo.while(%i = %one, %k = %m) : tensor<i32>, tensor<i32>
    cond {
      %0 = stablehlo.compare LT, %i, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %0 : tensor<i1>
    } do {
      %0 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %0, %k : tensor<i32>, tensor<i32>
    }
  %s = stablehlo.reshape %w#1 : (tensor<i32>) -> tensor<1xi32>
  %r = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
"""
