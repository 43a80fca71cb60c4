"""Control: calls, branches and loops, and what regions see from outside."""

from __future__ import annotations

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.runtimes.interpreter.conftest import Run
from topos.errors import ExecutionError, UnsupportedError, VerifyError
from topos.runtimes.interpreter import run_text
from topos.runtimes.interpreter.run import compiled

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


def counting(inner: str = "") -> str:
    """Returns a loop from 0 to the argument, whose body holds `inner`."""
    i, t = "tensor<i32>", "tensor<i1>"
    return f"""
    func.func @main(%n: {i}) -> {i} {{
      %zero = stablehlo.constant dense<0> : {i}
      %one = stablehlo.constant dense<1> : {i}
      %0 = stablehlo.while(%i = %zero) : {i}
       cond {{
        %c = stablehlo.compare LT, %i, %n, SIGNED : ({i}, {i}) -> {t}
        stablehlo.return %c : {t}
      }} do {{
        {inner}
        %k = stablehlo.add %i, %one : {i}
        stablehlo.return %k : {i}
      }}
      return %0 : {i}
    }}
    """


INNER = """
%1 = stablehlo.while(%j = %zero) : tensor<i32>
 cond {
  %c = stablehlo.compare LT, %j, %i, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
} do {
  %k = stablehlo.add %j, %one : tensor<i32>
  stablehlo.return %k : tensor<i32>
}
"""


def test_a_budget_ends_a_loop_that_goes_on() -> None:
    assert compiled(counting(), max_steps=7)(np.int32(7))[0] == 7
    with pytest.raises(
        ExecutionError, match=r"^line 5, column 12: @main ran more than 6 steps\n.*while.*\n *\^$"
    ):
        compiled(counting(), max_steps=6)(np.int32(7))


def test_all_loops_share_the_budget_of_a_run() -> None:
    # Five turns, and within them 0, 1, 2, 3 and 4.
    assert compiled(counting(INNER), max_steps=15)(np.int32(5))[0] == 5
    with pytest.raises(ExecutionError, match=r"^line 11, column 6: @main ran more than 14 steps"):
        compiled(counting(INNER), max_steps=14)(np.int32(5))


def test_every_run_has_a_budget_of_its_own() -> None:
    run = compiled(counting(), max_steps=9)
    with ThreadPoolExecutor(4) as pool:
        results = [each[0] for each in pool.map(run, [np.int32(9)] * 12)]
    assert results == [9] * 12


def test_a_loop_over_an_array_spends_one_step_a_turn() -> None:
    inner = counting().split("{", 1)[1].rsplit("return", 1)[0].replace("%n", "%x")
    text = f"""
    func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> {{
      %r = "stablehlo.map"(%a) <{{dimensions = array<i64: 0>}}> ({{
      ^bb0(%x: tensor<i32>):
        {inner}
        stablehlo.return %0 : tensor<i32>
      }}) : (tensor<4xi32>) -> tensor<4xi32>
      return %r : tensor<4xi32>
    }}
    """
    array = np.array([3, 0, 5, -1], np.int32)
    assert compiled(text, max_steps=5)(array)[0].tolist() == [3, 0, 5, 0]
    with pytest.raises(ExecutionError, match="more than 4 steps"):
        compiled(text, max_steps=4)(array)


def test_a_function_that_calls_itself_is_refused() -> None:
    text = f"""
    func.func @main(%a: {F}) -> {F} {{
      %0 = call @other(%a) : ({F}) -> {F}
      return %0 : {F}
    }}
    func.func private @other(%a: {F}) -> {F} {{
      %0 = call @main(%a) : ({F}) -> {F}
      return %0 : {F}
    }}
    """
    with pytest.raises(UnsupportedError, match="calls itself"):
        compiled(text)


def test_a_region_frees_what_it_has_used() -> None:
    type = "tensor<1000000xi8>"
    lines = "\n".join(f"%{at + 1} = stablehlo.add %{at}, %a : {type}" for at in range(30))
    text = f"""
    func.func @main(%a: {type}, %p: tensor<i1>) -> {type} {{
      %r = "stablehlo.if"(%p) ({{
        %0 = stablehlo.add %a, %a : {type}
        {lines}
        stablehlo.return %30 : {type}
      }}, {{
        stablehlo.return %a : {type}
      }}) : (tensor<i1>) -> {type}
      return %r : {type}
    }}
    """
    run, array = compiled(text), np.ones(1000000, np.int8)
    tracemalloc.start()
    (result,) = run(array, np.bool_(True))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result[0] == 32
    # Of thirty values only the one read and the one written are there at a time.
    assert peak < 3_500_000
