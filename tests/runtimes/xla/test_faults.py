"""What XLA gets wrong: made right or refused, and what has no such fault left as it is."""

from __future__ import annotations

import pytest

from tests.runtimes.faults import TOOL, right_or_refused
from tests.runtimes.require import require
from topos.errors import UnsupportedError
from topos.runtimes.xla.module import bindings, program
from topos.runtimes.xla.rewrites import needed_flags, rewrite

OVERWRITES = """({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        stablehlo.return %b : tensor<f32>
      })"""
FAULTS = TOOL.faults("xla")


@pytest.mark.parametrize("name", FAULTS)
def test_a_module_is_right_through_the_adapter_or_refused(name: str) -> None:
    require("xla")
    right_or_refused("xla", FAULTS[name])


@pytest.mark.parametrize("simplified", [False, True])
def test_xla_gets_a_module_without_faults_as_it_is(simplified: bool) -> None:
    require("xla")
    ir, make_context = bindings()
    plain = """func.func @main(%x: tensor<4x3xf32>, %i: tensor<i32>, %u: tensor<1x3xf32>,
        %j: tensor<2x1xi32>, %k: tensor<1xi32>, %v: tensor<2x3xf32>)
        -> (tensor<1x3xf32>, tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>, tensor<4x3xf32>,
            tensor<4x3xf32>) {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %n = stablehlo.constant dense<0> : tensor<i32>
      %0 = stablehlo.dynamic_slice %x, %i, %n, sizes = [1, 3]
        : (tensor<4x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
      %1 = stablehlo.add %x, %x : tensor<4x3xf32>
      %2 = stablehlo.dynamic_slice %1, %i, %n, sizes = [2, 3]
        : (tensor<4x3xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
      %3 = stablehlo.dynamic_update_slice %x, %u, %i, %n
        : (tensor<4x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x3xf32>
      %4 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [1]
        : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
      %5 = "stablehlo.scatter"(%x, %j, %v) <{scatter_dimension_numbers = #stablehlo.scatter<
        update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
        index_vector_dim = 1>}> BODY
        : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<4x3xf32>
      %c = stablehlo.constant dense<1> : tensor<1xi32>
      %p = stablehlo.concatenate %k, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
      %w = stablehlo.slice %v [0:1, 0:2] : (tensor<2x3xf32>) -> tensor<1x2xf32>
      %6 = "stablehlo.scatter"(%x, %p, %w) <{scatter_dimension_numbers = #stablehlo.scatter<
        update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1]>}> BODY
        : (tensor<4x3xf32>, tensor<2xi32>, tensor<1x2xf32>) -> tensor<4x3xf32>
      %7 = "stablehlo.torch_index_select"(%x, %k) <{batch_dims = 0 : i64, dim = 0 : i64}>
        : (tensor<4x3xf32>, tensor<1xi32>) -> tensor<1x3xf32>
      return %0, %2, %3, %4, %5, %6 : tensor<1x3xf32>, tensor<2x3xf32>, tensor<4x3xf32>,
        tensor<4xf32>, tensor<4x3xf32>, tensor<4x3xf32>
    }""".replace("BODY", OVERWRITES)
    with make_context():
        module = ir.Module.parse(plain)
        before = str(module)
        rewrite(ir, module, plain, simplified)
        assert str(module) == before
        assert not needed_flags(ir, module)


def test_rows_that_32_bits_do_not_count_are_refused() -> None:
    require("xla")
    text = """func.func @main(%a: tensor<ROWSxi8>, %i: tensor<2xi64>) -> tensor<2xi8> {
      %0 = "stablehlo.torch_index_select"(%a, %i) <{dim = 0 : i64, batch_dims = 0 : i64}>
        : (tensor<ROWSxi8>, tensor<2xi64>) -> tensor<2xi8>
      return %0 : tensor<2xi8>
    }"""
    assert program(text.replace("ROWS", str(2**31)), {}, {}, "cpu").code
    with pytest.raises(UnsupportedError, match=r"^xla takes .* of at most 2\*\*31 rows$"):
        program(text.replace("ROWS", str(2**31 + 1)), {}, {}, "cpu")
