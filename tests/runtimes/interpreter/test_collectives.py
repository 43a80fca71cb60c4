"""Collectives of the one process there is, and those that need another one."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtimes.interpreter.conftest import Run
from topos.errors import UnsupportedError
from topos.runtimes.interpreter import run_text

M = np.arange(6, dtype=np.float32).reshape(2, 3)
T = "tensor<2x3xf32>"
GROUP = "replica_groups = dense<0> : tensor<1x1xi64>"
BODY = """({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
})"""
ALONE = (
    f'"stablehlo.all_gather"(%a) {{all_gather_dim = 1 : i64, {GROUP}}}',
    f'"stablehlo.all_reduce"(%a) {BODY} {{{GROUP}}}',
    f'"stablehlo.all_to_all"(%a) {{split_dimension = 0 : i64, concat_dimension = 1 : i64,'
    f" split_count = 1 : i64, {GROUP}}}",
    f'"stablehlo.collective_broadcast"(%a) {{{GROUP}}}',
    '"stablehlo.collective_permute"(%a) {source_target_pairs = dense<0> : tensor<1x2xi64>}',
    f'"stablehlo.reduce_scatter"(%a) {BODY} {{scatter_dimension = 1 : i64, {GROUP}}}',
    f'"stablehlo.cross-replica-sum"(%a) {{{GROUP}}}',
)


@pytest.mark.parametrize("line", ALONE, ids=[line.split('"')[1] for line in ALONE])
def test_one_process_keeps_its_own_value(run: Run, line: str) -> None:
    assert np.array_equal(run(f"%r = {line} : ({T}) -> {T}", T, M), M)


@pytest.mark.parametrize(
    "line", ALONE[:4] + ALONE[5:], ids=[line.split('"')[1] for line in ALONE[:4] + ALONE[5:]]
)
def test_another_process_is_not_there(run: Run, line: str) -> None:
    others = line.replace("dense<0> : tensor<1x1xi64>", "dense<[[0], [1]]> : tensor<2x1xi64>")
    with pytest.raises(UnsupportedError, match=r"process 0 alone, got the replica_groups \[0, 1\]"):
        run(f"%r = {others} : ({T}) -> {T}", T, M)


def test_a_value_that_nobody_sends_is_zero(run: Run) -> None:
    pairs = "source_target_pairs = dense<> : tensor<0x2xi64>"
    line = f'%r = "stablehlo.collective_permute"(%a) {{{pairs}}} : ({T}) -> {T}'
    assert np.array_equal(run(line, T, M), np.zeros_like(M))


def test_a_value_sent_to_another_process_is_refused(run: Run) -> None:
    pairs = "source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>"
    with pytest.raises(UnsupportedError, match="process 0 alone"):
        run(f'%r = "stablehlo.collective_permute"(%a) {{{pairs}}} : ({T}) -> {T}', T, M)


def test_a_filled_up_group_is_one_process(run: Run) -> None:
    group = "replica_groups = dense<[[0, -1]]> : tensor<1x2xi64>"
    line = f'%r = "stablehlo.all_reduce"(%a) {BODY} {{{group}}} : ({T}) -> {T}'
    assert np.array_equal(run(line, T, M), M)


def test_a_wider_sum_is_in_the_wider_format(run: Run) -> None:
    body = BODY.replace("f32", "f64")
    line = f'%r = "stablehlo.all_reduce"(%a) {body} {{{GROUP}}} : ({T}) -> tensor<2x3xf64>'
    result = run(line, "tensor<2x3xf64>", M)
    assert result.dtype == np.float64
    assert np.array_equal(result, M)


def test_several_values_at_once() -> None:
    text = f"""func.func @main(%a: {T}, %b: tensor<2xi8>) -> ({T}, tensor<2xi8>) {{
      %0:2 = "stablehlo.all_gather"(%a, %b) {{all_gather_dim = 0 : i64, {GROUP}}}
        : ({T}, tensor<2xi8>) -> ({T}, tensor<2xi8>)
      return %0#0, %0#1 : {T}, tensor<2xi8>
    }}"""
    first, second = run_text(text, [M, np.array([1, 2], np.int8)])
    assert np.array_equal(first, M)
    assert second.tolist() == [1, 2]


@pytest.mark.parametrize("name", ["partition_id", "replica_id"])
def test_the_one_process_has_number_zero(run: Run, name: str) -> None:
    result = run(f"%r = stablehlo.{name} : tensor<ui32>", "tensor<ui32>")
    assert result.dtype == np.uint32
    assert result == 0
