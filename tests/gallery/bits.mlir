func.func @main(%arg0: tensor<4xi16>, %arg1: tensor<4xi16>) -> (tensor<4xi16>, tensor<4xi16>, tensor<4xi16>, tensor<4xi16>) {
  %0 = stablehlo.and %arg0, %arg1 : tensor<4xi16>
  %1 = stablehlo.or %0, %arg1 : tensor<4xi16>
  %2 = stablehlo.xor %1, %arg0 : tensor<4xi16>
  %3 = stablehlo.not %2 : tensor<4xi16>
  %4 = stablehlo.shift_left %3, %arg0 : tensor<4xi16>
  %5 = stablehlo.shift_right_arithmetic %4, %arg1 : tensor<4xi16>
  %6 = stablehlo.shift_right_logical %5, %arg1 : tensor<4xi16>
  %7 = stablehlo.popcnt %6 : tensor<4xi16>
  %8 = stablehlo.count_leading_zeros %7 : tensor<4xi16>
  return %2, %6, %7, %8 : tensor<4xi16>, tensor<4xi16>, tensor<4xi16>, tensor<4xi16>
}
