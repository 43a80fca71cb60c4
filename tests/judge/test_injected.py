"""Injected faults: every kind is detected in a small module, and a mutated operation is named."""

from __future__ import annotations

import random
from typing import Any, Final

import numpy as np
import pytest

from tools.judge_faults import KINDS, Fault
from tools.judge_faulty_run import FaultyRun, FaultyRuntime
from tools.judge_mutations import MutatedRuntime, mutations
from topos import judge
from topos.judge.bisection.replay import replays, steps_of

# An operation for every kind of fault, in @main, a function and a loop.
EVERY = """
func.func private @wave(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.sine %x : tensor<4x8xf32>
  %1 = stablehlo.tanh %0 : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %i: tensor<3x1xi32>, %k: tensor<4xui32>,
    %d: tensor<5xf64>)
    -> (tensor<4x8xf32>, tensor<4xf32>, tensor<3x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>,
        tensor<4xui32>, tensor<4x8xi32>, tensor<1x8x4xf32>, tensor<5xf64>) {
  %n = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %end = stablehlo.constant dense<3> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r:2 = stablehlo.while(%v = %x, %j = %n) : tensor<4x8xf32>, tensor<i32>
    cond {
      %go = stablehlo.compare LT, %j, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %a = func.call @wave(%v) : (tensor<4x8xf32>) -> tensor<4x8xf32>
      %b = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0]
          : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      %u = stablehlo.add %j, %one : tensor<i32>
      stablehlo.return %b, %u : tensor<4x8xf32>, tensor<i32>
    }
  %s = stablehlo.reduce(%r#0 init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.multiply %r#0, %r#0 : tensor<4x8xf32>
  %3 = stablehlo.constant dense<1.0e-4> : tensor<4x8xf32>
  %4 = stablehlo.add %2, %3 : tensor<4x8xf32>
  %5 = stablehlo.log %4 : tensor<4x8xf32>
  %6 = stablehlo.maximum %5, %r#0 : tensor<4x8xf32>
  %7 = stablehlo.compare LE, %6, %5 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  %8 = stablehlo.select %7, %2, %r#0 : tensor<4x8xi1>, tensor<4x8xf32>
  %9 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
      slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
  %10 = "stablehlo.scatter"(%x, %i, %9) <{scatter_dimension_numbers = #stablehlo.scatter<
      update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
      index_vector_dim = 1>}> ({
    ^body(%p: tensor<f32>, %q: tensor<f32>):
      %t = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %t : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<3x1xi32>, tensor<3x8xf32>) -> tensor<4x8xf32>
  %11 = stablehlo.constant dense<2.0> : tensor<4x8xf32>
  %12 = stablehlo.power %x, %11 : tensor<4x8xf32>
  %13 = stablehlo.constant dense<13> : tensor<4xui32>
  %14 = stablehlo.shift_left %k, %13 : tensor<4xui32>
  %15 = stablehlo.convert %12 : (tensor<4x8xf32>) -> tensor<4x8xi32>
  %16 = stablehlo.reshape %x : (tensor<4x8xf32>) -> tensor<1x8x4xf32>
  %17 = stablehlo.reshape %w : (tensor<8x8xf32>) -> tensor<4x4x4xf32>
  %18 = stablehlo.convolution(%16, %17) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
      window = {pad = [[1, 2]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x8x4xf32>, tensor<4x4x4xf32>) -> tensor<1x8x4xf32>
  %19 = stablehlo.sine %d : tensor<5xf64>
  return %8, %s, %9, %10, %12, %14, %15, %18, %19 : tensor<4x8xf32>, tensor<4xf32>,
      tensor<3x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xui32>, tensor<4x8xi32>,
      tensor<1x8x4xf32>, tensor<5xf64>
}
"""
NORMAL: Final = np.random.default_rng(0).standard_normal
ARGUMENTS: Final = (
    NORMAL((4, 8)).astype(np.float32), NORMAL((8, 8)).astype(np.float32),
    np.array([[0], [2], [1]], np.int32), np.arange(4, dtype=np.uint32) + 7, NORMAL(5),
)  # fmt: skip


@pytest.fixture(scope="module")
def case() -> judge.Case:
    return judge.Case(EVERY, ARGUMENTS)


@pytest.fixture(scope="module")
def run(case: judge.Case) -> FaultyRun:
    return FaultyRun(case.module)


def passes(case: judge.Case, results: Any) -> bool:
    return max(int(each.verdicts.max()) for each in case.judged(results)) < judge.Verdict.SUSPECT


def detected_alone(case: judge.Case, fault: Fault) -> bool:
    (step,) = [
        each
        for each in steps_of(case.module, case.arguments)
        if (each.operation.line, each.operation.column) == fault.place
    ]
    (replay,) = replays(case.module, [step])
    alone = judge.Case(replay.module, replay.arguments)
    assert passes(alone, FaultyRuntime(1)(alone.module, alone.arguments))
    return not passes(alone, FaultyRuntime(1, fault)(alone.module, alone.arguments))


def test_every_kind_of_fault_is_detected_and_sound_runs_pass(
    case: judge.Case, run: FaultyRun
) -> None:
    faults = run.survey(case.arguments, 0)
    assert {fault.kind for fault in faults} == {*KINDS}
    missed, hidden = [], 0
    for seed, fault in enumerate(faults):
        assert passes(case, run.run(case.arguments, seed)[0])
        results, active = run.run(case.arguments, seed, fault)
        assert active
        if passes(case, results):
            hidden += 1
            if not detected_alone(case, fault):
                missed.append(fault)
    assert missed == []
    assert hidden <= len(faults) // 4


@pytest.mark.parametrize("nested", [True, False])
def test_a_mutated_operation_is_named_and_no_other(case: judge.Case, nested: bool) -> None:
    drawn = mutations(case.module, case.arguments, random.Random(0))
    mutation = next(each for each in drawn if (each.where != "main") == nested)
    runtime = MutatedRuntime(mutation, "interpreter")
    found = judge.bisect(case.module, runtime, case.arguments)
    assert not found.whole.passed
    told = [(each.operation, each.line) for each in found.findings]
    assert told == [(mutation.step.name, mutation.step.line)]
