"""Building: bodies through tensors of one element, steps that nothing reads, returned arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from topos.runtimes.interpreter.build import build
from topos.runtimes.interpreter.run import compiled
from topos.stablehlo.parser.parse import parse

Array = npt.NDArray[Any]

F, U, W = "tensor<f32>", "tensor<1xf32>", "tensor<1x1xf32>"
PLAIN = f"""%1 = stablehlo.constant dense<0.5> : {F}
%2 = stablehlo.multiply %y, %1 : {F}
%3 = stablehlo.add %x, %2 : {F}
%4 = stablehlo.compare LT, %3, %1 : ({F}, {F}) -> tensor<i1>
%s = stablehlo.select %4, %x, %3 : tensor<i1>, {F}"""
# The same by way of every layout of one element.
THROUGH_UNITS = f"""%u = stablehlo.reshape %x : ({F}) -> {U}
%v = stablehlo.broadcast_in_dim %y, dims = [] : ({F}) -> {W}
%w = stablehlo.slice %v [0:1, 0:1] : ({W}) -> {W}
%t = stablehlo.transpose %w, dims = [1, 0] : ({W}) -> {W}
%z = stablehlo.reverse %t, dims = [0] : ({W}) -> {W}
%y1 = stablehlo.reshape %z : ({W}) -> {U}
%1 = stablehlo.constant dense<[0.5]> : {U}
%2 = stablehlo.multiply %y1, %1 : {U}
%3 = stablehlo.add %u, %2 : {U}
%4 = stablehlo.compare LT, %3, %1 : ({U}, {U}) -> tensor<1xi1>
%5 = stablehlo.select %4, %u, %3 : tensor<1xi1>, {U}
%s = stablehlo.reshape %5 : ({U}) -> {F}"""


def reduction(body: str, shape: tuple[int, int], before: str = "") -> str:
    source, result = f"tensor<{shape[0]}x{shape[1]}xf32>", f"tensor<{shape[1]}xf32>"
    return f"""func.func @main(%a: {source}) -> {result} {{
      {before}
      %i = stablehlo.constant dense<0.0> : {F}
      %r = "stablehlo.reduce"(%a, %i) <{{dimensions = array<i64: 0>}}> ({{
      ^bb0(%x: {F}, %y: {F}):
        {body}
        stablehlo.return %s : {F}
      }}) : ({source}, {F}) -> {result}
      return %r : {result}
    }}"""


def ran(text: str, array: Array, exact: bool = True) -> bytes:
    (result,) = compiled(text, exact)(array)
    return bytes(result.tobytes())


@pytest.mark.parametrize("exact", [True, False])
def test_a_body_through_units_has_the_bits_of_one_over_scalars(exact: bool) -> None:
    array = np.random.default_rng(3).standard_normal((9, 5)).astype(np.float32)
    plain, through = (reduction(body, (9, 5)) for body in (PLAIN, THROUGH_UNITS))
    assert ran(through, array, exact) == ran(plain, array, exact)


def test_a_value_from_outside_keeps_its_shape() -> None:
    body = f"""%u = stablehlo.reshape %x : ({F}) -> {U}
    %v = stablehlo.reshape %y : ({F}) -> {U}
    %1 = stablehlo.multiply %v, %k : {U}
    %2 = stablehlo.add %u, %1 : {U}
    %s = stablehlo.reshape %2 : ({U}) -> {F}"""
    before = "%k = stablehlo.slice %a [1:2, 0:1] : (tensor<4x3xf32>) -> tensor<1x1xf32>"
    body = body.replace("%k", "%k1").replace(
        "%1 =", f"%k1 = stablehlo.reshape %k : ({W}) -> {U}\n%1 ="
    )
    array = np.arange(12, dtype=np.float32).reshape(4, 3)
    array[1, 0] = 1.0
    assert ran(reduction(body, (4, 3), before), array) == array.sum(0).tobytes()


ADDED, MULTIPLIED = (f"%{{}} = stablehlo.{name} %x, %y : {F}" for name in ("add", "multiply"))


@pytest.mark.parametrize("body", [(MULTIPLIED, ADDED), (ADDED, MULTIPLIED)])
@pytest.mark.parametrize("exact", [True, False])
def test_a_step_that_nothing_reads_changes_nothing(body: tuple[str, str], exact: bool) -> None:
    steps = "\n".join(step.format("s" if step is ADDED else "unused") for step in body)
    array = np.random.default_rng(4).standard_normal((9, 5)).astype(np.float32)
    plain = ran(reduction(ADDED.format("s"), (9, 5)), array, exact)
    got = ran(reduction(steps, (9, 5)), array, exact)
    np.testing.assert_allclose(np.frombuffer(got, "f4"), np.frombuffer(plain, "f4"), rtol=1e-5)


@pytest.mark.parametrize("exact", [True, False])
def test_a_body_may_return_its_argument(exact: bool) -> None:
    text = reduction(ADDED.format("s"), (4, 3)).replace("return %s", "return %y")
    array = np.arange(12, dtype=np.float32).reshape(4, 3)
    assert ran(text, array, exact) == array[-1].tobytes()


def test_a_function_of_units_keeps_them() -> None:
    text = f"""func.func @main(%a: {F}) -> {U} {{
      %0 = stablehlo.reshape %a : ({F}) -> {U}
      %1 = stablehlo.negate %0 : {U}
      return %1 : {U}
    }}"""
    program = build(parse(text), True)
    assert [value.shape for value in program.run(np.array(1.0, np.float32))] == [(1,)]
