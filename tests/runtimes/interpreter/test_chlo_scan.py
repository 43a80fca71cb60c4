"""Scans: steps along any axis, from either end, with outputs and carries."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtimes.interpreter.high_precision import Array
from topos.runtimes.interpreter import run_text


def scanned(array: Array, start: Array, axis: int, reverse: bool) -> tuple[Array, Array]:
    """Runs c = x - 2 c along an axis of a matrix of i64."""
    rows, columns = array.shape
    line = f"tensor<{start.size}xi64>"
    whole = f"tensor<{rows}x{columns}xi64>"
    text = f"""func.func @main(%a: {whole}, %s: {line}) -> ({whole}, {line}) {{
      %two = stablehlo.constant dense<2> : {line}
      %0, %1 = "chlo.scan"(%a, %s) <{{dimension = {axis} : i64, is_reverse = {str(reverse).lower()},
        operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}}> ({{
      ^bb0(%x: {line}, %c: {line}):
        %d = stablehlo.add %c, %c : {line}
        %n = stablehlo.subtract %x, %d : {line}
        stablehlo.return %n, %n : {line}, {line}
      }}) : ({whole}, {line}) -> ({whole}, {line})
      return %0, %1 : {whole}, {line}
    }}"""
    outputs, carry = run_text(text, [array, start])
    return outputs, carry


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_steps_along_its_axis(axis: int, reverse: bool) -> None:
    array = np.array([[1, 2, 3], [5, 7, 11]], np.int64)
    start = np.array([1, -1, 4][: array.shape[1 - axis]], np.int64)
    outputs, carry = scanned(array, start, axis, reverse)
    wanted, current = np.empty_like(array), start
    steps = range(array.shape[axis])
    for step in reversed(steps) if reverse else steps:
        place = (step, slice(None)) if axis == 0 else (slice(None), step)
        current = array[place] - 2 * current
        wanted[place] = current
    assert outputs.tolist() == wanted.tolist()
    assert carry.tolist() == current.tolist()


def test_a_scan_of_no_steps_returns_what_it_began_with() -> None:
    outputs, carry = scanned(np.empty((0, 2), np.int64), np.array([3, 4]), 0, False)
    assert outputs.shape == (0, 2)
    assert carry.tolist() == [3, 4]


def test_a_scan_without_inputs_counts_its_steps() -> None:
    text = """func.func @main(%s: tensor<i32>) -> tensor<4xi32> {
      %0, %1 = "chlo.scan"(%s) <{dimension = 0 : i64, scan_dim_size = 4 : i64,
        operandSegmentSizes = array<i32: 0, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
      ^bb0(%c: tensor<i32>):
        %n = stablehlo.add %c, %c : tensor<i32>
        stablehlo.return %c, %n : tensor<i32>, tensor<i32>
      }) : (tensor<i32>) -> (tensor<4xi32>, tensor<i32>)
      return %0 : tensor<4xi32>
    }"""
    (powers,) = run_text(text, [np.array(3, np.int32)])
    assert powers.tolist() == [3, 6, 12, 24]


def test_a_scan_of_carries_alone_has_no_outputs() -> None:
    text = """func.func @main(%a: tensor<3xi32>, %s: tensor<i32>) -> tensor<i32> {
      %0 = "chlo.scan"(%a, %s) <{dimension = 0 : i64,
        operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 0, 1>}> ({
      ^bb0(%x: tensor<i32>, %c: tensor<i32>):
        %n = stablehlo.multiply %x, %c : tensor<i32>
        stablehlo.return %n : tensor<i32>
      }) : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
      return %0 : tensor<i32>
    }"""
    (product,) = run_text(text, [np.array([2, 3, 7], np.int32), np.array(-1, np.int32)])
    assert product == -42
