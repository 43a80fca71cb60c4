// The forms in which `topos certify` runs what is not elementwise, or has attributes: a header with
// the operation and what is special of the form, then a function. T stands for each element that the
// verifier takes, C for the complex element of T, R for the real one, I for indices; ZERO, ONE, LOW and
// HIGH for constants of T. An argument called index..., spd, triangle, order, exponent, variance or key
// gets numbers that fit its name; see topos/judge/certification/inputs.py.

// chlo.polygamma
func.func private @form(%order: tensor<512xT>, %a: tensor<512xT>) -> tensor<512xT> {
  %0 = chlo.polygamma %order, %a : tensor<512xT>, tensor<512xT> -> tensor<512xT>
  return %0 : tensor<512xT>
}
// chlo.zeta
func.func private @form(%exponent: tensor<512xT>, %a: tensor<512xT>) -> tensor<512xT> {
  %0 = chlo.zeta %exponent, %a : tensor<512xT>, tensor<512xT> -> tensor<512xT>
  return %0 : tensor<512xT>
}
// chlo.broadcast_polygamma
func.func private @form(%order: tensor<8xT>, %a: tensor<8x8xT>) -> tensor<8x8xT> {
  %0 = chlo.broadcast_polygamma %order, %a : (tensor<8xT>, tensor<8x8xT>) -> tensor<8x8xT>
  return %0 : tensor<8x8xT>
}
// chlo.broadcast_zeta
func.func private @form(%exponent: tensor<8xT>, %a: tensor<8x8xT>) -> tensor<8x8xT> {
  %0 = chlo.broadcast_zeta %exponent, %a : (tensor<8xT>, tensor<8x8xT>) -> tensor<8x8xT>
  return %0 : tensor<8x8xT>
}
// chlo.broadcast_compare
func.func private @form(%a: tensor<8x8xT>, %b: tensor<8xT>) -> tensor<8x8xi1> {
  %0 = chlo.broadcast_compare %a, %b {comparison_direction = #chlo<comparison_direction GE>} : (tensor<8x8xT>, tensor<8xT>) -> tensor<8x8xi1>
  return %0 : tensor<8x8xi1>
}
// chlo.broadcast_complex
func.func private @form(%a: tensor<8x8xT>, %b: tensor<8xT>) -> tensor<8x8xC> {
  %0 = chlo.broadcast_complex %a, %b : (tensor<8x8xT>, tensor<8xT>) -> tensor<8x8xC>
  return %0 : tensor<8x8xC>
}
// chlo.broadcast_select
func.func private @form(%p: tensor<8x8xi1>, %a: tensor<8x8xT>, %b: tensor<8x8xT>) -> tensor<8x8xT> {
  %0 = chlo.broadcast_select %p, %a, %b : (tensor<8x8xi1>, tensor<8x8xT>, tensor<8x8xT>) -> tensor<8x8xT>
  return %0 : tensor<8x8xT>
}
// chlo.constant
func.func private @form() -> tensor<4xT> {
  %0 = chlo.constant dense<ONE> : tensor<4xT>
  return %0 : tensor<4xT>
}
// chlo.ragged_dot
func.func private @form(%a: tensor<4x5xT>, %b: tensor<2x5x3xT>) -> tensor<4x3xT> {
  %sizes = stablehlo.constant dense<[1, 3]> : tensor<2xi64>
  %0 = "chlo.ragged_dot"(%a, %b, %sizes) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<4x5xT>, tensor<2x5x3xT>, tensor<2xi64>) -> tensor<4x3xT>
  return %0 : tensor<4x3xT>
}
// chlo.scan
func.func private @form(%a: tensor<4x16xT>, %b: tensor<4xT>) -> (tensor<4x16xT>, tensor<4xT>) {
  %0, %1 = chlo.scan (%a) inits (%b) dimension=1 {
  ^bb0(%x: tensor<4xT>, %y: tensor<4xT>):
    %2 = stablehlo.maximum %x, %y : tensor<4xT>
    stablehlo.return %2, %2 : tensor<4xT>, tensor<4xT>
  } : (tensor<4x16xT>, tensor<4xT>) -> (tensor<4x16xT>, tensor<4xT>)
  return %0, %1 : tensor<4x16xT>, tensor<4xT>
}
// chlo.top_k
func.func private @form(%a: tensor<8x32xT>) -> (tensor<8x5xT>, tensor<8x5xi32>) {
  %0, %1 = chlo.top_k(%a, k = 5) : tensor<8x32xT> -> (tensor<8x5xT>, tensor<8x5xi32>)
  return %0, %1 : tensor<8x5xT>, tensor<8x5xi32>
}
// stablehlo.all_gather: one device
func.func private @form(%a: tensor<2x3xT>) -> tensor<2x3xT> {
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2x3xT>) -> tensor<2x3xT>
  return %0 : tensor<2x3xT>
}
// stablehlo.all_reduce: one device
func.func private @form(%a: tensor<4xT>) -> tensor<4xT> {
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%x: tensor<T>, %y: tensor<T>):
    %1 = stablehlo.add %x, %y : tensor<T>
    stablehlo.return %1 : tensor<T>
  }) : (tensor<4xT>) -> tensor<4xT>
  return %0 : tensor<4xT>
}
// stablehlo.all_to_all: one device
func.func private @form(%a: tensor<2x4xT>) -> tensor<2x4xT> {
  %0 = "stablehlo.all_to_all"(%a) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2x4xT>) -> tensor<2x4xT>
  return %0 : tensor<2x4xT>
}
// stablehlo.collective_broadcast: one device
func.func private @form(%a: tensor<2x3xT>) -> tensor<2x3xT> {
  %0 = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2x3xT>) -> tensor<2x3xT>
  return %0 : tensor<2x3xT>
}
// stablehlo.collective_permute: one device
func.func private @form(%a: tensor<2x3xT>) -> tensor<2x3xT> {
  %0 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<0> : tensor<1x2xi64>}> : (tensor<2x3xT>) -> tensor<2x3xT>
  return %0 : tensor<2x3xT>
}
// stablehlo.cross-replica-sum: one device
func.func private @form(%a: tensor<2x3xT>) -> tensor<2x3xT> {
  %0 = "stablehlo.cross-replica-sum"(%a) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2x3xT>) -> tensor<2x3xT>
  return %0 : tensor<2x3xT>
}
// stablehlo.reduce_scatter: one device
func.func private @form(%a: tensor<2x3xT>) -> tensor<2x3xT> {
  %0 = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%x: tensor<T>, %y: tensor<T>):
    %1 = stablehlo.maximum %x, %y : tensor<T>
    stablehlo.return %1 : tensor<T>
  }) : (tensor<2x3xT>) -> tensor<2x3xT>
  return %0 : tensor<2x3xT>
}
// stablehlo.partition_id
func.func private @form() -> tensor<ui32> {
  %0 = stablehlo.partition_id : tensor<ui32>
  return %0 : tensor<ui32>
}
// stablehlo.replica_id
func.func private @form() -> tensor<ui32> {
  %0 = stablehlo.replica_id : tensor<ui32>
  return %0 : tensor<ui32>
}
// stablehlo.async_start: with async_done
func.func private @form(%a: tensor<2x3xT>) -> tensor<2x3xT> {
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%b: tensor<2x3xT>):
    %2 = "stablehlo.all_reduce"(%b) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
    ^bb0(%x: tensor<T>, %y: tensor<T>):
      %3 = stablehlo.add %x, %y : tensor<T>
      stablehlo.return %3 : tensor<T>
    }) : (tensor<2x3xT>) -> tensor<2x3xT>
    stablehlo.return %2 : tensor<2x3xT>
  }) : (tensor<2x3xT>) -> !stablehlo.future<tensor<2x3xT>>
  %1 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<2x3xT>>) -> tensor<2x3xT>
  return %1 : tensor<2x3xT>
}
// stablehlo.batch_norm_grad
func.func private @form(%x: tensor<4x6x3xT>, %scale: tensor<3xT>, %mean: tensor<3xT>, %variance: tensor<3xT>, %dy: tensor<4x6x3xT>) -> (tensor<4x6x3xT>, tensor<3xT>, tensor<3xT>) {
  %0:3 = "stablehlo.batch_norm_grad"(%x, %scale, %mean, %variance, %dy) <{epsilon = 0.01 : f32, feature_index = 2 : i64}> : (tensor<4x6x3xT>, tensor<3xT>, tensor<3xT>, tensor<3xT>, tensor<4x6x3xT>) -> (tensor<4x6x3xT>, tensor<3xT>, tensor<3xT>)
  return %0#0, %0#1, %0#2 : tensor<4x6x3xT>, tensor<3xT>, tensor<3xT>
}
// stablehlo.batch_norm_inference
func.func private @form(%x: tensor<8x3xT>, %scale: tensor<3xT>, %offset: tensor<3xT>, %mean: tensor<3xT>, %variance: tensor<3xT>) -> tensor<8x3xT> {
  %0 = "stablehlo.batch_norm_inference"(%x, %scale, %offset, %mean, %variance) <{epsilon = 0.01 : f32, feature_index = 1 : i64}> : (tensor<8x3xT>, tensor<3xT>, tensor<3xT>, tensor<3xT>, tensor<3xT>) -> tensor<8x3xT>
  return %0 : tensor<8x3xT>
}
// stablehlo.batch_norm_training
func.func private @form(%x: tensor<8x3x2xT>, %scale: tensor<3xT>, %offset: tensor<3xT>) -> (tensor<8x3x2xT>, tensor<3xT>, tensor<3xT>) {
  %0:3 = "stablehlo.batch_norm_training"(%x, %scale, %offset) <{epsilon = 0.01 : f32, feature_index = 1 : i64}> : (tensor<8x3x2xT>, tensor<3xT>, tensor<3xT>) -> (tensor<8x3x2xT>, tensor<3xT>, tensor<3xT>)
  return %0#0, %0#1, %0#2 : tensor<8x3x2xT>, tensor<3xT>, tensor<3xT>
}
// stablehlo.bitcast_convert: to 8 bits
func.func private @form(%a: tensor<16xT>) -> tensor<16xui8> {
  %0 = stablehlo.bitcast_convert %a : (tensor<16xT>) -> tensor<16xui8>
  return %0 : tensor<16xui8>
}
// stablehlo.bitcast_convert: to 16 bits
func.func private @form(%a: tensor<16xT>) -> tensor<16xui16> {
  %0 = stablehlo.bitcast_convert %a : (tensor<16xT>) -> tensor<16xui16>
  return %0 : tensor<16xui16>
}
// stablehlo.bitcast_convert: to 32 bits
func.func private @form(%a: tensor<16xT>) -> tensor<16xui32> {
  %0 = stablehlo.bitcast_convert %a : (tensor<16xT>) -> tensor<16xui32>
  return %0 : tensor<16xui32>
}
// stablehlo.bitcast_convert: to 64 bits
func.func private @form(%a: tensor<16xT>) -> tensor<16xui64> {
  %0 = stablehlo.bitcast_convert %a : (tensor<16xT>) -> tensor<16xui64>
  return %0 : tensor<16xui64>
}
// stablehlo.bitcast_convert: to two halves
func.func private @form(%a: tensor<16xT>) -> tensor<16x2xbf16> {
  %0 = stablehlo.bitcast_convert %a : (tensor<16xT>) -> tensor<16x2xbf16>
  return %0 : tensor<16x2xbf16>
}
// stablehlo.broadcast
func.func private @form(%a: tensor<3xT>) -> tensor<2x4x3xT> {
  %0 = stablehlo.broadcast %a, sizes = [2, 4] : (tensor<3xT>) -> tensor<2x4x3xT>
  return %0 : tensor<2x4x3xT>
}
// stablehlo.broadcast_in_dim
func.func private @form(%a: tensor<1x3xT>) -> tensor<3x2x4xT> {
  %0 = stablehlo.broadcast_in_dim %a, dims = [1, 0] : (tensor<1x3xT>) -> tensor<3x2x4xT>
  return %0 : tensor<3x2x4xT>
}
// stablehlo.case
func.func private @form(%index: tensor<i32>, %a: tensor<4xT>) -> tensor<4xT> {
  %0 = "stablehlo.case"(%index) ({
    stablehlo.return %a : tensor<4xT>
  }, {
    %1 = stablehlo.reverse %a, dims = [0] : tensor<4xT>
    stablehlo.return %1 : tensor<4xT>
  }) : (tensor<i32>) -> tensor<4xT>
  return %0 : tensor<4xT>
}
// stablehlo.cholesky: lower
func.func private @form(%spd: tensor<2x6x6xT>) -> tensor<2x6x6xT> {
  %0 = stablehlo.cholesky %spd, lower = true : tensor<2x6x6xT>
  return %0 : tensor<2x6x6xT>
}
// stablehlo.cholesky: upper
func.func private @form(%spd: tensor<6x6xT>) -> tensor<6x6xT> {
  %0 = stablehlo.cholesky %spd, lower = false : tensor<6x6xT>
  return %0 : tensor<6x6xT>
}
// stablehlo.clamp
func.func private @form(%low: tensor<T>, %a: tensor<256xT>, %high: tensor<T>) -> tensor<256xT> {
  %0 = stablehlo.clamp %low, %a, %high : (tensor<T>, tensor<256xT>, tensor<T>) -> tensor<256xT>
  return %0 : tensor<256xT>
}
// stablehlo.compare: LT
func.func private @form(%a: tensor<256xT>, %b: tensor<256xT>) -> tensor<256xi1> {
  %0 = stablehlo.compare LT, %a, %b : (tensor<256xT>, tensor<256xT>) -> tensor<256xi1>
  return %0 : tensor<256xi1>
}
// stablehlo.compare: GE
func.func private @form(%a: tensor<256xT>, %b: tensor<256xT>) -> tensor<256xi1> {
  %0 = stablehlo.compare GE, %a, %b : (tensor<256xT>, tensor<256xT>) -> tensor<256xi1>
  return %0 : tensor<256xi1>
}
// stablehlo.compare: EQ
func.func private @form(%a: tensor<256xT>, %b: tensor<256xT>) -> tensor<256xi1> {
  %0 = stablehlo.compare EQ, %a, %b : (tensor<256xT>, tensor<256xT>) -> tensor<256xi1>
  return %0 : tensor<256xi1>
}
// stablehlo.compare: NE
func.func private @form(%a: tensor<256xT>, %b: tensor<256xT>) -> tensor<256xi1> {
  %0 = stablehlo.compare NE, %a, %b : (tensor<256xT>, tensor<256xT>) -> tensor<256xi1>
  return %0 : tensor<256xi1>
}
// stablehlo.compare: LT in total order
func.func private @form(%a: tensor<256xT>, %b: tensor<256xT>) -> tensor<256xi1> {
  %0 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<256xT>, tensor<256xT>) -> tensor<256xi1>
  return %0 : tensor<256xi1>
}
// stablehlo.complex
func.func private @form(%a: tensor<256xT>, %b: tensor<256xT>) -> tensor<256xC> {
  %0 = stablehlo.complex %a, %b : tensor<256xC>
  return %0 : tensor<256xC>
}
// stablehlo.concatenate
func.func private @form(%a: tensor<2x1xT>, %b: tensor<2x3xT>) -> tensor<2x4xT> {
  %0 = stablehlo.concatenate %a, %b, dim = 1 : (tensor<2x1xT>, tensor<2x3xT>) -> tensor<2x4xT>
  return %0 : tensor<2x4xT>
}
// stablehlo.constant
func.func private @form() -> tensor<4xT> {
  %0 = stablehlo.constant dense<ONE> : tensor<4xT>
  return %0 : tensor<4xT>
}
// arith.constant
func.func private @form() -> tensor<4xT> {
  %0 = arith.constant dense<ONE> : tensor<4xT>
  return %0 : tensor<4xT>
}
// stablehlo.convolution: strides, padding, groups
func.func private @form(%a: tensor<1x5x5x4xT>, %b: tensor<3x3x2x6xT>) -> tensor<1x3x3x6xT> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x5x5x4xT>, tensor<3x3x2x6xT>) -> tensor<1x3x3x6xT>
  return %0 : tensor<1x3x3x6xT>
}
// stablehlo.convolution: reversed
func.func private @form(%a: tensor<1x5x5x2xT>, %b: tensor<3x3x2x3xT>) -> tensor<1x3x3x3xT> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x5x5x2xT>, tensor<3x3x2x3xT>) -> tensor<1x3x3x3xT>
  return %0 : tensor<1x3x3x3xT>
}
// stablehlo.convolution: dilated, groups of the batch
func.func private @form(%a: tensor<4x2x5xT>, %b: tensor<2x2x3xT>) -> tensor<2x2x7xT> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = [[1, 1]], lhs_dilate = [2], rhs_dilate = [2]} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<4x2x5xT>, tensor<2x2x3xT>) -> tensor<2x2x7xT>
  return %0 : tensor<2x2x7xT>
}
// stablehlo.create_token: with after_all
func.func private @form(%a: tensor<2xT>) -> tensor<2xT> {
  %0 = stablehlo.create_token : !stablehlo.token
  %1 = stablehlo.after_all %0, %0 : !stablehlo.token
  return %a : tensor<2xT>
}
// stablehlo.dot: a matrix and a vector
func.func private @form(%a: tensor<8x24xT>, %b: tensor<24xT>) -> tensor<8xT> {
  %0 = stablehlo.dot %a, %b : (tensor<8x24xT>, tensor<24xT>) -> tensor<8xT>
  return %0 : tensor<8xT>
}
// stablehlo.dot_general: two matrices
func.func private @form(%a: tensor<16x24xT>, %b: tensor<24x16xT>) -> tensor<16x16xT> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<16x24xT>, tensor<24x16xT>) -> tensor<16x16xT>
  return %0 : tensor<16x16xT>
}
// stablehlo.dot_general: batches, HIGHEST
func.func private @form(%a: tensor<2x3x8xT>, %b: tensor<2x5x8xT>) -> tensor<2x3x5xT> {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [HIGHEST, HIGHEST] : (tensor<2x3x8xT>, tensor<2x5x8xT>) -> tensor<2x3x5xT>
  return %0 : tensor<2x3x5xT>
}
// stablehlo.dot_general: to f32
func.func private @form(%a: tensor<4x24xT>, %b: tensor<4x24xT>) -> tensor<4x4xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<4x24xT>, tensor<4x24xT>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
// stablehlo.einsum
func.func private @form(%a: tensor<4x8xT>, %b: tensor<8x4xT>) -> tensor<4x4xT> {
  %0 = stablehlo.einsum %a, %b, config = "ij,jk->ik" : (tensor<4x8xT>, tensor<8x4xT>) -> tensor<4x4xT>
  return %0 : tensor<4x4xT>
}
// stablehlo.unary_einsum
func.func private @form(%a: tensor<4x8xT>) -> tensor<8xT> {
  %0 = "stablehlo.unary_einsum"(%a) <{einsum_config = "ij->j"}> : (tensor<4x8xT>) -> tensor<8xT>
  return %0 : tensor<8xT>
}
// stablehlo.dynamic_broadcast_in_dim: of a static type
func.func private @form(%a: tensor<2x3xT>) -> tensor<4x2x3xT> {
  %shape = stablehlo.constant dense<[4, 2, 3]> : tensor<3xi64>
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %shape, dims = [1, 2] : (tensor<2x3xT>, tensor<3xi64>) -> tensor<4x2x3xT>
  return %0 : tensor<4x2x3xT>
}
// stablehlo.dynamic_conv: of a static type
func.func private @form(%a: tensor<1x4x4x2xT>, %b: tensor<3x3x2x2xT>) -> tensor<1x4x4x2xT> {
  %padding = stablehlo.constant dense<1> : tensor<2x2xi64>
  %0 = "stablehlo.dynamic_conv"(%a, %b, %padding) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 1, 1>}> : (tensor<1x4x4x2xT>, tensor<3x3x2x2xT>, tensor<2x2xi64>) -> tensor<1x4x4x2xT>
  return %0 : tensor<1x4x4x2xT>
}
// stablehlo.dynamic_gather: of a static type
func.func private @form(%a: tensor<4x3xT>, %index: tensor<6x1xi64>) -> tensor<6x3xT> {
  %sizes = stablehlo.constant dense<[1, 3]> : tensor<2xi64>
  %0 = "stablehlo.dynamic_gather"(%a, %index, %sizes) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<4x3xT>, tensor<6x1xi64>, tensor<2xi64>) -> tensor<6x3xT>
  return %0 : tensor<6x3xT>
}
// stablehlo.dynamic_iota: of a static type
func.func private @form() -> tensor<5xT> {
  %five = stablehlo.constant dense<5> : tensor<1xi64>
  %0 = stablehlo.dynamic_iota %five, dim = 0 : (tensor<1xi64>) -> tensor<5xT>
  return %0 : tensor<5xT>
}
// stablehlo.dynamic_pad: of a static type
func.func private @form(%a: tensor<2x3xT>, %b: tensor<T>) -> tensor<4x5xT> {
  %low = stablehlo.constant dense<1> : tensor<2xi32>
  %inner = stablehlo.constant dense<0> : tensor<2xi32>
  %0 = stablehlo.dynamic_pad %a, %b, %low, %low, %inner : (tensor<2x3xT>, tensor<T>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x5xT>
  return %0 : tensor<4x5xT>
}
// stablehlo.dynamic_reshape: of a static type
func.func private @form(%a: tensor<2x3xT>) -> tensor<3x2xT> {
  %shape = stablehlo.constant dense<[3, 2]> : tensor<2xi32>
  %0 = stablehlo.dynamic_reshape %a, %shape : (tensor<2x3xT>, tensor<2xi32>) -> tensor<3x2xT>
  return %0 : tensor<3x2xT>
}
// stablehlo.real_dynamic_slice: of a static type
func.func private @form(%a: tensor<2x3xT>) -> tensor<1x2xT> {
  %low = stablehlo.constant dense<1> : tensor<2xi32>
  %high = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
  %0 = stablehlo.real_dynamic_slice %a, %low, %high, %low : (tensor<2x3xT>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<1x2xT>
  return %0 : tensor<1x2xT>
}
// stablehlo.dynamic_slice: starts in i32
func.func private @form(%a: tensor<4x4xT>, %index0: tensor<i32>, %index1: tensor<i32>) -> tensor<2x3xT> {
  %0 = stablehlo.dynamic_slice %a, %index0, %index1, sizes = [2, 3] : (tensor<4x4xT>, tensor<i32>, tensor<i32>) -> tensor<2x3xT>
  return %0 : tensor<2x3xT>
}
// stablehlo.dynamic_slice: starts in ui8
func.func private @form(%a: tensor<300xT>, %index0: tensor<ui8>) -> tensor<8xT> {
  %0 = stablehlo.dynamic_slice %a, %index0, sizes = [8] : (tensor<300xT>, tensor<ui8>) -> tensor<8xT>
  return %0 : tensor<8xT>
}
// stablehlo.dynamic_update_slice: starts in i32
func.func private @form(%a: tensor<4x4xT>, %b: tensor<2x3xT>, %index0: tensor<i32>, %index1: tensor<i32>) -> tensor<4x4xT> {
  %0 = stablehlo.dynamic_update_slice %a, %b, %index0, %index1 : (tensor<4x4xT>, tensor<2x3xT>, tensor<i32>, tensor<i32>) -> tensor<4x4xT>
  return %0 : tensor<4x4xT>
}
// stablehlo.dynamic_update_slice: starts in i64
func.func private @form(%a: tensor<8xT>, %b: tensor<3xT>, %index0: tensor<i64>) -> tensor<8xT> {
  %0 = stablehlo.dynamic_update_slice %a, %b, %index0 : (tensor<8xT>, tensor<3xT>, tensor<i64>) -> tensor<8xT>
  return %0 : tensor<8xT>
}
// stablehlo.fft: FFT
func.func private @form(%a: tensor<3x16xT>) -> tensor<3x16xT> {
  %0 = stablehlo.fft %a, type = FFT, length = [16] : (tensor<3x16xT>) -> tensor<3x16xT>
  return %0 : tensor<3x16xT>
}
// stablehlo.fft: IFFT
func.func private @form(%a: tensor<6x10xT>) -> tensor<6x10xT> {
  %0 = stablehlo.fft %a, type = IFFT, length = [6, 10] : (tensor<6x10xT>) -> tensor<6x10xT>
  return %0 : tensor<6x10xT>
}
// stablehlo.fft: RFFT
func.func private @form(%a: tensor<3x16xT>) -> tensor<3x9xC> {
  %0 = stablehlo.fft %a, type = RFFT, length = [16] : (tensor<3x16xT>) -> tensor<3x9xC>
  return %0 : tensor<3x9xC>
}
// stablehlo.fft: IRFFT
func.func private @form(%a: tensor<3x9xT>) -> tensor<3x16xR> {
  %0 = stablehlo.fft %a, type = IRFFT, length = [16] : (tensor<3x9xT>) -> tensor<3x16xR>
  return %0 : tensor<3x16xR>
}
// stablehlo.gather: rows, indices in i32
func.func private @form(%a: tensor<5x3xT>, %index: tensor<8x1xi32>) -> tensor<8x3xT> {
  %0 = "stablehlo.gather"(%a, %index) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>}> : (tensor<5x3xT>, tensor<8x1xi32>) -> tensor<8x3xT>
  return %0 : tensor<8x3xT>
}
// stablehlo.gather: windows, indices in ui64
func.func private @form(%a: tensor<6x6xT>, %index: tensor<4x2xui64>) -> tensor<4x2x2xT> {
  %0 = "stablehlo.gather"(%a, %index) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 2, 2>}> : (tensor<6x6xT>, tensor<4x2xui64>) -> tensor<4x2x2xT>
  return %0 : tensor<4x2x2xT>
}
// stablehlo.gather: batches
func.func private @form(%a: tensor<2x4x5xT>, %index: tensor<2x3x1xi32>) -> tensor<2x3x5xT> {
  %0 = "stablehlo.gather"(%a, %index) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 5>}> : (tensor<2x4x5xT>, tensor<2x3x1xi32>) -> tensor<2x3x5xT>
  return %0 : tensor<2x3x5xT>
}
// stablehlo.get_dimension_size
func.func private @form(%a: tensor<2x3xT>) -> tensor<i32> {
  %0 = stablehlo.get_dimension_size %a, dim = 1 : (tensor<2x3xT>) -> tensor<i32>
  return %0 : tensor<i32>
}
// stablehlo.set_dimension_size: to the whole
func.func private @form(%a: tensor<2x3xT>) -> tensor<2x3xT> {
  %0 = stablehlo.constant dense<3> : tensor<i32>
  %1 = stablehlo.set_dimension_size %a, %0, dim = 1 : (tensor<2x3xT>, tensor<i32>) -> tensor<2x3xT>
  return %1 : tensor<2x3xT>
}
// stablehlo.tuple: with get_tuple_element
func.func private @form(%a: tensor<2xT>, %b: tensor<3xT>) -> tensor<3xT> {
  %0 = stablehlo.tuple %a, %b : tuple<tensor<2xT>, tensor<3xT>>
  %1 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<2xT>, tensor<3xT>>) -> tensor<3xT>
  return %1 : tensor<3xT>
}
// stablehlo.if
func.func private @form(%p: tensor<i1>, %a: tensor<4xT>) -> tensor<4xT> {
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %a : tensor<4xT>
  }, {
    %1 = stablehlo.reverse %a, dims = [0] : tensor<4xT>
    stablehlo.return %1 : tensor<4xT>
  }) : (tensor<i1>) -> tensor<4xT>
  return %0 : tensor<4xT>
}
// stablehlo.while
func.func private @form(%a: tensor<6xT>) -> tensor<6xT> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<6xT>
    cond {
    %1 = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.reverse %x, dims = [0] : tensor<6xT>
    stablehlo.return %1, %2 : tensor<i32>, tensor<6xT>
  }
  return %0#1 : tensor<6xT>
}
// stablehlo.composite
func.func private @form(%a: tensor<6xT>) -> tensor<6xT> {
  %0 = stablehlo.composite "topos.reversed" %a {decomposition = @form_body, version = 1 : i32} : (tensor<6xT>) -> tensor<6xT>
  return %0 : tensor<6xT>
}
func.func private @form_body(%a: tensor<6xT>) -> tensor<6xT> {
  %0 = stablehlo.reverse %a, dims = [0] : tensor<6xT>
  return %0 : tensor<6xT>
}
// func.call
func.func private @form(%a: tensor<6xT>) -> tensor<6xT> {
  %0 = func.call @form_body(%a) : (tensor<6xT>) -> tensor<6xT>
  return %0 : tensor<6xT>
}
func.func private @form_body(%a: tensor<6xT>) -> tensor<6xT> {
  %0 = stablehlo.reverse %a, dims = [0] : tensor<6xT>
  return %0 : tensor<6xT>
}
// stablehlo.iota
func.func private @form() -> tensor<2x100xT> {
  %0 = stablehlo.iota dim = 1 : tensor<2x100xT>
  return %0 : tensor<2x100xT>
}
// stablehlo.map
func.func private @form(%a: tensor<8x8xT>, %b: tensor<8x8xT>) -> tensor<8x8xT> {
  %0 = "stablehlo.map"(%a, %b) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%x: tensor<T>, %y: tensor<T>):
    %1 = stablehlo.maximum %x, %y : tensor<T>
    stablehlo.return %1 : tensor<T>
  }) : (tensor<8x8xT>, tensor<8x8xT>) -> tensor<8x8xT>
  return %0 : tensor<8x8xT>
}
// stablehlo.optimization_barrier
func.func private @form(%a: tensor<4xT>, %b: tensor<3xT>) -> (tensor<4xT>, tensor<3xT>) {
  %0, %1 = stablehlo.optimization_barrier %a, %b : tensor<4xT>, tensor<3xT>
  return %0, %1 : tensor<4xT>, tensor<3xT>
}
// stablehlo.pad: interior and negative
func.func private @form(%a: tensor<2x3xT>, %b: tensor<T>) -> tensor<4x4xT> {
  %0 = stablehlo.pad %a, %b, low = [0, -1], high = [1, 2], interior = [1, 0] : (tensor<2x3xT>, tensor<T>) -> tensor<4x4xT>
  return %0 : tensor<4x4xT>
}
// stablehlo.reduce: add
func.func private @form(%a: tensor<8x40xT>) -> tensor<8xT> {
  %init = stablehlo.constant dense<ZERO> : tensor<T>
  %0 = stablehlo.reduce(%a init: %init) applies stablehlo.add across dimensions = [1] : (tensor<8x40xT>, tensor<T>) -> tensor<8xT>
  return %0 : tensor<8xT>
}
// stablehlo.reduce: add along the first axis
func.func private @form(%a: tensor<40x8xT>) -> tensor<8xT> {
  %init = stablehlo.constant dense<ZERO> : tensor<T>
  %0 = stablehlo.reduce(%a init: %init) applies stablehlo.add across dimensions = [0] : (tensor<40x8xT>, tensor<T>) -> tensor<8xT>
  return %0 : tensor<8xT>
}
// stablehlo.reduce: multiply
func.func private @form(%a: tensor<8x6xT>) -> tensor<8xT> {
  %init = stablehlo.constant dense<ONE> : tensor<T>
  %0 = stablehlo.reduce(%a init: %init) applies stablehlo.multiply across dimensions = [1] : (tensor<8x6xT>, tensor<T>) -> tensor<8xT>
  return %0 : tensor<8xT>
}
// stablehlo.reduce: maximum
func.func private @form(%a: tensor<8x40xT>) -> tensor<8xT> {
  %init = stablehlo.constant dense<LOW> : tensor<T>
  %0 = stablehlo.reduce(%a init: %init) applies stablehlo.maximum across dimensions = [1] : (tensor<8x40xT>, tensor<T>) -> tensor<8xT>
  return %0 : tensor<8xT>
}
// stablehlo.reduce: minimum
func.func private @form(%a: tensor<8x40xT>) -> tensor<8xT> {
  %init = stablehlo.constant dense<HIGH> : tensor<T>
  %0 = stablehlo.reduce(%a init: %init) applies stablehlo.minimum across dimensions = [1] : (tensor<8x40xT>, tensor<T>) -> tensor<8xT>
  return %0 : tensor<8xT>
}
// stablehlo.reduce: or
func.func private @form(%a: tensor<8x6xT>) -> tensor<8xT> {
  %init = stablehlo.constant dense<ZERO> : tensor<T>
  %0 = stablehlo.reduce(%a init: %init) applies stablehlo.or across dimensions = [1] : (tensor<8x6xT>, tensor<T>) -> tensor<8xT>
  return %0 : tensor<8xT>
}
// stablehlo.reduce: the place of the maximum
func.func private @form(%ordered: tensor<8x16xT>) -> (tensor<8xT>, tensor<8xi32>) {
  %low = stablehlo.constant dense<LOW> : tensor<T>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %i = stablehlo.iota dim = 1 : tensor<8x16xi32>
  %0:2 = stablehlo.reduce(%ordered init: %low), (%i init: %zero) across dimensions = [1] : (tensor<8x16xT>, tensor<8x16xi32>, tensor<T>, tensor<i32>) -> (tensor<8xT>, tensor<8xi32>)
   reducer(%x: tensor<T>, %y: tensor<T>) (%j: tensor<i32>, %k: tensor<i32>)  {
    %gt = stablehlo.compare GT, %x, %y : (tensor<T>, tensor<T>) -> tensor<i1>
    %ne = stablehlo.compare NE, %x, %x : (tensor<T>, tensor<T>) -> tensor<i1>
    %first = stablehlo.or %gt, %ne : tensor<i1>
    %eq = stablehlo.compare EQ, %x, %y : (tensor<T>, tensor<T>) -> tensor<i1>
    %lt = stablehlo.compare LT, %j, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %tie = stablehlo.and %eq, %lt : tensor<i1>
    %place = stablehlo.or %first, %tie : tensor<i1>
    %2 = stablehlo.select %first, %x, %y : tensor<i1>, tensor<T>
    %3 = stablehlo.select %place, %j, %k : tensor<i1>, tensor<i32>
    stablehlo.return %2, %3 : tensor<T>, tensor<i32>
  }
  return %0#0, %0#1 : tensor<8xT>, tensor<8xi32>
}
// stablehlo.reduce_precision: to e5m10
func.func private @form(%a: tensor<512xT>) -> tensor<512xT> {
  %0 = stablehlo.reduce_precision %a, format = e5m10 : tensor<512xT>
  return %0 : tensor<512xT>
}
// stablehlo.reduce_precision: to e8m7
func.func private @form(%a: tensor<512xT>) -> tensor<512xT> {
  %0 = stablehlo.reduce_precision %a, format = e8m7 : tensor<512xT>
  return %0 : tensor<512xT>
}
// stablehlo.reduce_precision: to e4m3
func.func private @form(%a: tensor<512xT>) -> tensor<512xT> {
  %0 = stablehlo.reduce_precision %a, format = e4m3 : tensor<512xT>
  return %0 : tensor<512xT>
}
// stablehlo.reduce_window: add
func.func private @form(%a: tensor<1x6x6x2xT>) -> tensor<1x3x3x2xT> {
  %init = stablehlo.constant dense<ZERO> : tensor<T>
  %0 = "stablehlo.reduce_window"(%a, %init) <{window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>, padding = dense<[[0, 0], [1, 0], [0, 1], [0, 0]]> : tensor<4x2xi64>}> ({
  ^bb0(%x: tensor<T>, %y: tensor<T>):
    %1 = stablehlo.add %x, %y : tensor<T>
    stablehlo.return %1 : tensor<T>
  }) : (tensor<1x6x6x2xT>, tensor<T>) -> tensor<1x3x3x2xT>
  return %0 : tensor<1x3x3x2xT>
}
// stablehlo.reduce_window: maximum
func.func private @form(%a: tensor<1x6x6x2xT>) -> tensor<1x3x3x2xT> {
  %init = stablehlo.constant dense<LOW> : tensor<T>
  %0 = "stablehlo.reduce_window"(%a, %init) <{window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>, padding = dense<[[0, 0], [1, 0], [0, 1], [0, 0]]> : tensor<4x2xi64>}> ({
  ^bb0(%x: tensor<T>, %y: tensor<T>):
    %1 = stablehlo.maximum %x, %y : tensor<T>
    stablehlo.return %1 : tensor<T>
  }) : (tensor<1x6x6x2xT>, tensor<T>) -> tensor<1x3x3x2xT>
  return %0 : tensor<1x3x3x2xT>
}
// stablehlo.reduce_window: a running sum
func.func private @form(%a: tensor<16xT>) -> tensor<16xT> {
  %init = stablehlo.constant dense<ZERO> : tensor<T>
  %0 = "stablehlo.reduce_window"(%a, %init) <{window_dimensions = array<i64: 16>, padding = dense<[[15, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<T>, %y: tensor<T>):
    %1 = stablehlo.add %x, %y : tensor<T>
    stablehlo.return %1 : tensor<T>
  }) : (tensor<16xT>, tensor<T>) -> tensor<16xT>
  return %0 : tensor<16xT>
}
// stablehlo.reshape
func.func private @form(%a: tensor<2x6xT>) -> tensor<3x4xT> {
  %0 = stablehlo.reshape %a : (tensor<2x6xT>) -> tensor<3x4xT>
  return %0 : tensor<3x4xT>
}
// stablehlo.reverse
func.func private @form(%a: tensor<2x3xT>) -> tensor<2x3xT> {
  %0 = stablehlo.reverse %a, dims = [0, 1] : tensor<2x3xT>
  return %0 : tensor<2x3xT>
}
// stablehlo.rng_bit_generator: THREE_FRY
func.func private @form(%key: tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui32>) {
  %0, %1 = stablehlo.rng_bit_generator %key, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui32>)
  return %0, %1 : tensor<2xui64>, tensor<3x5xui32>
}
// stablehlo.rng_bit_generator: PHILOX
func.func private @form(%key: tensor<3xui64>) -> (tensor<3xui64>, tensor<3x5xui64>) {
  %0, %1 = stablehlo.rng_bit_generator %key, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<3x5xui64>)
  return %0, %1 : tensor<3xui64>, tensor<3x5xui64>
}
// stablehlo.scatter: add, indices in i64
func.func private @form(%a: tensor<4x3xT>, %index: tensor<5x1xi64>, %b: tensor<5x3xT>) -> tensor<4x3xT> {
  %0 = "stablehlo.scatter"(%a, %index, %b) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%x: tensor<T>, %y: tensor<T>):
    %1 = stablehlo.add %x, %y : tensor<T>
    stablehlo.return %1 : tensor<T>
  }) : (tensor<4x3xT>, tensor<5x1xi64>, tensor<5x3xT>) -> tensor<4x3xT>
  return %0 : tensor<4x3xT>
}
// stablehlo.scatter: maximum, indices in i32
func.func private @form(%a: tensor<5xT>, %index: tensor<8x1xi32>, %b: tensor<8xT>) -> tensor<5xT> {
  %0 = "stablehlo.scatter"(%a, %index, %b) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%x: tensor<T>, %y: tensor<T>):
    %1 = stablehlo.maximum %x, %y : tensor<T>
    stablehlo.return %1 : tensor<T>
  }) : (tensor<5xT>, tensor<8x1xi32>, tensor<8xT>) -> tensor<5xT>
  return %0 : tensor<5xT>
}
// stablehlo.scatter: a window
func.func private @form(%a: tensor<6x6xT>, %index: tensor<1x2xi32>, %b: tensor<1x2x3xT>) -> tensor<6x6xT> {
  %0 = "stablehlo.scatter"(%a, %index, %b) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, indices_are_sorted = true, unique_indices = true}> ({
  ^bb0(%x: tensor<T>, %y: tensor<T>):
    stablehlo.return %y : tensor<T>
  }) : (tensor<6x6xT>, tensor<1x2xi32>, tensor<1x2x3xT>) -> tensor<6x6xT>
  return %0 : tensor<6x6xT>
}
// stablehlo.select: a predicate an element
func.func private @form(%p: tensor<64xi1>, %a: tensor<64xT>, %b: tensor<64xT>) -> tensor<64xT> {
  %0 = stablehlo.select %p, %a, %b : tensor<64xi1>, tensor<64xT>
  return %0 : tensor<64xT>
}
// stablehlo.select: one predicate
func.func private @form(%p: tensor<i1>, %a: tensor<8xT>, %b: tensor<8xT>) -> tensor<8xT> {
  %0 = stablehlo.select %p, %a, %b : tensor<i1>, tensor<8xT>
  return %0 : tensor<8xT>
}
// stablehlo.select_and_scatter
func.func private @form(%ordered: tensor<4x4xT>, %b: tensor<2x2xT>) -> tensor<4x4xT> {
  %init = stablehlo.constant dense<ZERO> : tensor<T>
  %0 = "stablehlo.select_and_scatter"(%ordered, %b, %init) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<T>, %y: tensor<T>):
    %1 = stablehlo.compare GE, %x, %y : (tensor<T>, tensor<T>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%x: tensor<T>, %y: tensor<T>):
    %1 = stablehlo.add %x, %y : tensor<T>
    stablehlo.return %1 : tensor<T>
  }) : (tensor<4x4xT>, tensor<2x2xT>, tensor<T>) -> tensor<4x4xT>
  return %0 : tensor<4x4xT>
}
// stablehlo.slice
func.func private @form(%a: tensor<4x6xT>) -> tensor<2x2xT> {
  %0 = stablehlo.slice %a [1:3, 0:6:3] : (tensor<4x6xT>) -> tensor<2x2xT>
  return %0 : tensor<2x2xT>
}
// stablehlo.sort: ascending
func.func private @form(%ordered: tensor<4x16xT>) -> tensor<4x16xT> {
  %0 = "stablehlo.sort"(%ordered) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<T>, %y: tensor<T>):
    %1 = stablehlo.compare LT, %x, %y : (tensor<T>, tensor<T>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<4x16xT>) -> tensor<4x16xT>
  return %0 : tensor<4x16xT>
}
// stablehlo.sort: descending in total order, with places
func.func private @form(%a: tensor<4x16xT>) -> (tensor<4x16xT>, tensor<4x16xi32>) {
  %i = stablehlo.iota dim = 1 : tensor<4x16xi32>
  %0:2 = "stablehlo.sort"(%a, %i) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<T>, %y: tensor<T>, %j: tensor<i32>, %k: tensor<i32>):
    %1 = stablehlo.compare GT, %x, %y, TOTALORDER : (tensor<T>, tensor<T>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<4x16xT>, tensor<4x16xi32>) -> (tensor<4x16xT>, tensor<4x16xi32>)
  return %0#0, %0#1 : tensor<4x16xT>, tensor<4x16xi32>
}
// stablehlo.torch_index_select
func.func private @form(%a: tensor<5x3xT>, %index: tensor<4xi32>) -> tensor<4x3xT> {
  %0 = "stablehlo.torch_index_select"(%a, %index) <{dim = 0 : i64, batch_dims = 0 : i64}> : (tensor<5x3xT>, tensor<4xi32>) -> tensor<4x3xT>
  return %0 : tensor<4x3xT>
}
// stablehlo.transpose
func.func private @form(%a: tensor<2x3x4xT>) -> tensor<4x2x3xT> {
  %0 = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<2x3x4xT>) -> tensor<4x2x3xT>
  return %0 : tensor<4x2x3xT>
}
// stablehlo.triangular_solve: left, lower
func.func private @form(%triangle: tensor<6x6xT>, %b: tensor<6x4xT>) -> tensor<6x4xT> {
  %0 = "stablehlo.triangular_solve"(%triangle, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<6x6xT>, tensor<6x4xT>) -> tensor<6x4xT>
  return %0 : tensor<6x4xT>
}
// stablehlo.triangular_solve: right, upper, adjoint
func.func private @form(%triangle: tensor<2x6x6xT>, %b: tensor<2x4x6xT>) -> tensor<2x4x6xT> {
  %0 = "stablehlo.triangular_solve"(%triangle, %b) <{left_side = false, lower = false, unit_diagonal = false, transpose_a = #stablehlo<transpose ADJOINT>}> : (tensor<2x6x6xT>, tensor<2x4x6xT>) -> tensor<2x4x6xT>
  return %0 : tensor<2x4x6xT>
}
// tensor.cast
func.func private @form(%a: tensor<6xT>) -> tensor<6xT> {
  %0 = tensor.cast %a : tensor<6xT> to tensor<6xT>
  return %0 : tensor<6xT>
}
