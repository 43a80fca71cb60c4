"""Control: calls, branches and loops, and what regions see from outside."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtimes.stablehlo.conftest import Run
from topos.errors import VerifyError
from topos.runtimes.interpreter import run_text

F = "tensor<f32>"


def test_functions_call_one_another() -> None:
    text = f"""
    func.func @main(%a: {F}) -> ({F}, {F}) {{
      %0:2 = call @pair(%a) : ({F}) -> ({F}, {F})
      %1 = func.call @twice(%0#1) : ({F}) -> {F}
      return %0#0, %1 : {F}, {F}
    }}
    func.func private @pair(%a: {F}) -> ({F}, {F}) {{
      %0 = call @twice(%a) : ({F}) -> {F}
      return %a, %0 : {F}, {F}
    }}
    func.func private @twice(%x: {F}) -> {F} {{
      %0 = stablehlo.add %x, %x : {F}
      return %0 : {F}
    }}
    """
    first, second = run_text(text, [np.float32(3)])
    assert (float(first), float(second)) == (3.0, 12.0)


def test_a_loop_runs_until_its_condition_fails(run: Run) -> None:
    body = f"""
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %0:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, {F}
     cond {{
      %c = stablehlo.compare LT, %i, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }} do {{
      %n = stablehlo.add %i, %one : tensor<i32>
      %y = stablehlo.add %x, %x : {F}
      stablehlo.return %n, %y : tensor<i32>, {F}
    }}
    %r = stablehlo.negate %0#1 : {F}
    """
    assert run(body, F, np.float32(3), np.int32(4)) == -48.0
    assert run(body, F, np.float32(3), np.int32(0)) == -3.0


@pytest.mark.parametrize(("truth", "wanted"), [(True, 4.0), (False, -2.0)])
def test_a_branch_is_taken_by_its_truth(run: Run, truth: bool, wanted: float) -> None:
    body = f"""
    %r = "stablehlo.if"(%a) ({{
      %0 = stablehlo.add %b, %b : {F}
      stablehlo.return %0 : {F}
    }}, {{
      %0 = stablehlo.negate %b : {F}
      stablehlo.return %0 : {F}
    }}) : (tensor<i1>) -> {F}
    """
    assert run(body, F, np.bool_(truth), np.float32(2)) == wanted


@pytest.mark.parametrize(("index", "wanted"), [(0, 1.0), (1, 2.0), (2, 2.0), (-1, 2.0)])
def test_a_case_outside_its_branches_takes_the_last(run: Run, index: int, wanted: float) -> None:
    body = f"""
    %r = "stablehlo.case"(%a) ({{
      %0 = stablehlo.constant dense<1.0> : {F}
      stablehlo.return %0 : {F}
    }}, {{
      %0 = stablehlo.constant dense<2.0> : {F}
      stablehlo.return %0 : {F}
    }}) : (tensor<i32>) -> {F}
    """
    assert run(body, F, np.int32(index)) == wanted


def test_a_barrier_passes_its_values(run: Run) -> None:
    body = f"%0:2 = stablehlo.optimization_barrier %a, %b : {F}, {F}\n%r = stablehlo.subtract"
    assert run(f"{body} %0#1, %0 : {F}", F, np.float32(1), np.float32(5)) == 4.0


def test_a_region_sees_a_first_result_by_both_its_names(run: Run) -> None:
    body = f"""
    %0:2 = stablehlo.optimization_barrier %a, %b : {F}, {F}
    %p = stablehlo.compare LT, %a, %b : ({F}, {F}) -> tensor<i1>
    %r = "stablehlo.if"(%p) ({{
      %1 = stablehlo.multiply %0#0, %0 : {F}
      %2 = stablehlo.add %1, %0#1 : {F}
      stablehlo.return %2 : {F}
    }}, {{
      stablehlo.return %0 : {F}
    }}) : (tensor<i1>) -> {F}
    """
    assert run(body, F, np.float32(3), np.float32(5)) == 14.0
    assert run(body, F, np.float32(3), np.float32(1)) == 3.0


def test_a_region_sees_nothing_that_comes_after_it(run: Run) -> None:
    body = f"""
    %r = "stablehlo.if"(%a) ({{
      stablehlo.return %late : {F}
    }}, {{
      stablehlo.return %b : {F}
    }}) : (tensor<i1>) -> {F}
    %late = stablehlo.negate %b : {F}
    """
    with pytest.raises(
        VerifyError, match=r"^line 4, .*: stablehlo.return uses %late, which is not"
    ):
        run(body, F, np.bool_(True), np.float32(1))
