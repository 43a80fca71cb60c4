"""Modules with open shapes on the runtimes: jax's symbolic exports, and what is kept."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from tests.project.paths import ROOT
from tests.runtimes.require import require
from topos import runtimes
from topos.cli import main
from topos.errors import (
    ArgumentError,
    ExecutionError,
    PostureError,
    ToposError,
    UnsupportedError,
)
from topos.runtimes import ArrayType, Runtime, _dynamic_executable
from topos.runtimes.interpreter import run_text

INTERPRETER = runtimes.load("interpreter")
SCALED = """
func.func @main(%x: tensor<?x2xf32>, %w: tensor<2xf32>) -> tensor<?x2xf32> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x2xf32>) -> tensor<i32>
  %most = stablehlo.constant dense<4> : tensor<i32>
  %fits = stablehlo.compare LE, %n, %most : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%fits, %n) {error_message = "at most 4 rows, got {0}",
      has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
  %two = stablehlo.constant dense<2> : tensor<i32>
  %rows = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %columns = stablehlo.reshape %two : (tensor<i32>) -> tensor<1xi32>
  %shape = stablehlo.concatenate %rows, %columns, dim = 0
      : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %0 = stablehlo.dynamic_broadcast_in_dim %w, %shape, dims = [1]
      : (tensor<2xf32>, tensor<2xi32>) -> tensor<?x2xf32>
  %1 = stablehlo.multiply %x, %0 : tensor<?x2xf32>
  return %1 : tensor<?x2xf32>
}
"""
WEIGHTS = np.array([2, 3], np.float32)
EXTENT = "number for all open extents with --extent"


def rows(count: int) -> Any:
    return np.ones((count, 2), np.float32)


def test_symbolic_exports_are_what_jax_makes_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    require("xla")
    monkeypatch.syspath_prepend(ROOT / "tools")
    from dynamic_shape_cases import TOGETHER  # type: ignore[import-not-found]
    from dynamic_shapes import ENVELOPE, Trial  # type: ignore[import-not-found]

    trial = Trial(TOGETHER)
    for position in range(3):
        exact = trial.found(position, "interpreter")
        assert exact.bits
        assert exact.distance <= ENVELOPE
    # XLA takes seconds for each; the command tools/dynamic_shapes.py has every one.
    assert trial.found(2, "xla").distance <= ENVELOPE


@pytest.mark.parametrize("name", ["interpreter", "xla", "iree", "reference"])
def test_a_module_runs_at_every_shape(name: str) -> None:
    runtime = require(name)
    with pytest.raises(PostureError, match=r"^numerics are 'exact' or 'fast', got 'exactt'$"):
        runtime.compile(SCALED, numerics="exactt")
    executable = runtime.compile(SCALED)
    assert str(executable.signature) == "(float32[?, 2], float32[2]) -> (float32[?, 2])"
    for count in (1, 3):
        (got,) = executable(rows(count), WEIGHTS)
        np.testing.assert_array_equal(got, np.tile(WEIGHTS, (count, 1)))


def test_shapes_are_specialized_once_and_the_oldest_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_dynamic_executable, "KEPT", 2)
    executable = INTERPRETER.compile(SCALED)
    made: list[str] = []
    compile = type(INTERPRETER).compile

    def counted(self: Runtime, text: str, **terms: Any) -> Any:
        made.append(text)
        return compile(INTERPRETER, text, **terms)

    monkeypatch.setattr(type(INTERPRETER), "compile", counted)
    for count in (1, 2, 1, 3, 1, 2):
        executable(rows(count), WEIGHTS)
    # 2 went for 3, as 1 was called after it.
    assert len(made) == 4


def test_threads_share_one_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    executable = INTERPRETER.compile(SCALED)
    begun, made = threading.Event(), []
    compiled = _dynamic_executable.Source.at

    def slow(self: Any, types: Any, numbers: Any) -> Any:
        made.append(types)
        begun.wait(10)
        return compiled(self, types, numbers)

    monkeypatch.setattr(_dynamic_executable.Source, "at", slow)
    results: list[Any] = []
    threads = [
        threading.Thread(target=lambda: results.append(executable(rows(2), WEIGHTS)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    begun.set()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert len(results) == 3


def test_an_assertion_that_does_not_hold_is_told_in_its_own_words() -> None:
    executable = INTERPRETER.compile(SCALED)
    with pytest.raises(ArgumentError, match=r"^at most 4 rows, got 5$"):
        executable(rows(5), WEIGHTS)
    # A refusal is not kept in the way of what comes next.
    assert len(executable(rows(4), WEIGHTS)) == 1


def test_an_argument_of_another_static_extent_is_refused() -> None:
    executable = INTERPRETER.compile(SCALED)
    with pytest.raises(ArgumentError) as caught:
        executable(np.ones((3, 3), np.float32), WEIGHTS)
    assert str(caught.value) == "argument 0 must be float32[?, 2], got float32[3, 3]"


def test_shapes_that_do_not_fit_one_another_are_told_at_their_place() -> None:
    text = """func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
      %0 = stablehlo.add %a, %b : tensor<?xf32>
      return %0 : tensor<?xf32>
    }"""
    with pytest.raises(ArgumentError) as caught:
        run_text(text, [np.ones(2, np.float32), np.ones(3, np.float32)])
    told = str(caught.value)
    assert told.startswith(
        "arguments of tensor<2xf32>, tensor<3xf32> do not fit the module: line 2"
    )
    assert told.endswith("\n      %0 = stablehlo.add %a, %b : tensor<?xf32>\n           ^")


@pytest.mark.parametrize("name", ["interpreter", "xla"])
def test_arguments_are_bound_for_every_shape(name: str) -> None:
    runtime = require(name)
    bound = runtime.compile(SCALED).bind({1: runtime.place(WEIGHTS)})
    assert bound.signature.arguments == (ArrayType((None, 2), np.dtype(np.float32)),)
    for count in (2, 3):
        np.testing.assert_array_equal(bound(rows(count))[0], np.tile(WEIGHTS, (count, 1)))
    both = bound.bind({0: rows(1)})
    np.testing.assert_array_equal(both()[0], [WEIGHTS])


def test_a_worker_runs_what_is_specialized_here() -> None:
    runtime = require("xla")
    executable = runtime.compile(SCALED, options={"isolated": True}).bind({1: WEIGHTS})
    np.testing.assert_array_equal(executable(rows(2))[0], [WEIGHTS, WEIGHTS])


def test_shapes_inside_a_module_of_static_arguments_are_found_at_once() -> None:
    text = _fed(SCALED).replace("return %1 : tensor<?x2xf32>", "return %x : tensor<?x2xf32>")
    executable = INTERPRETER.compile(text)
    assert str(executable.signature) == "(float32[3, 2], float32[2]) -> (float32[3, 2])"
    with pytest.raises(ArgumentError, match="at most 4 rows, got 5"):
        INTERPRETER.compile(text.replace("3x2", "5x2"))


def test_a_size_may_be_the_number_of_an_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """func.func @main(%n: tensor<1xi32>, %i: tensor<i32>) -> (tensor<?xi32>, tensor<i32>) {
      %0 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
      %1 = stablehlo.add %i, %i : tensor<i32>
      return %0, %1 : tensor<?xi32>, tensor<i32>
    }"""
    executable = INTERPRETER.compile(text)
    made: list[Any] = []
    compiled = _dynamic_executable.Source.at

    def counted(self: Any, types: Any, numbers: Any) -> Any:
        made.append(types)
        return compiled(self, types, numbers)

    monkeypatch.setattr(_dynamic_executable.Source, "at", counted)
    for count, number in ((2, 1), (3, 2), (2, 3), (3, 4), (2, 5)):
        got, twice = executable(np.array([count], np.int32), np.int32(number))
        np.testing.assert_array_equal(got, np.arange(count))
        assert twice == 2 * number
    # The first call told that the size is one; then each size was met once.
    assert len(made) == 3


@pytest.mark.parametrize("name", ["interpreter", "xla"])
def test_a_bound_argument_may_be_a_size(name: str) -> None:
    runtime = require(name)
    text = """func.func @main(%n: tensor<1xi32>, %m: tensor<1xi32>, %x: tensor<f32>)
        -> (tensor<?xf32>, tensor<?xi32>) {
      %0 = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = []
          : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
      %1 = stablehlo.dynamic_iota %m, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
      return %0, %1 : tensor<?xf32>, tensor<?xi32>
    }"""
    two = np.array([2], np.int32)
    executable = runtime.compile(text)
    for held in (two, runtime.place(two)):
        bound = executable.bind({0: held})
        for count in (1, 3):
            copies, numbers = bound(np.array([count], np.int32), np.float32(5))
            assert copies.tolist() == [5, 5]
            assert numbers.tolist() == list(range(count))


def test_faults_found_after_specialization_are_told_at_the_text() -> None:
    text = SCALED.replace(
        "  return",
        "  %2 = stablehlo.custom_call @n(%1) : (tensor<?x2xf32>) -> tensor<f32>\n  return",
    )
    for open_text in (text, _fed(text)):
        line = open_text[: open_text.index("%2")].count("\n") + 1
        reason = rf"^line {line}, column 8: stablehlo.custom_call @n is not supported"
        with pytest.raises(UnsupportedError, match=reason) as caught:
            run_text(open_text, [rows(3), WEIGHTS])
        assert "\n  %2 = stablehlo.custom_call @n(%1) : (tensor<?x2" in str(caught.value)


def test_a_run_that_is_stopped_is_told_at_the_text() -> None:
    loop = """  %loop = stablehlo.while(%i = %n) : tensor<i32>
    cond { stablehlo.return %fits : tensor<i1>
    } do { stablehlo.return %i : tensor<i32> }
  return"""
    executable = INTERPRETER.compile(SCALED.replace("  return", loop), options={"max_steps": 9})
    with pytest.raises(ExecutionError, match=r"^line 16, column 11: @main ran more than 9 steps"):
        executable(rows(3), WEIGHTS)


def _fed(text: str) -> str:
    """Returns a text whose argument is static, and open from there on."""
    text = text.replace("@main(%x: tensor<?x2xf32>", "@main(%given: tensor<3x2xf32>")
    return text.replace(
        "  %n =", "  %x = tensor.cast %given : tensor<3x2xf32> to tensor<?x2xf32>\n  %n ="
    )


@pytest.mark.parametrize("name", ["interpreter", "xla"])
def test_only_types_tell_that_a_shape_is_open(name: str) -> None:
    runtime = require(name)
    text = """func.func @main(%a: tensor<2xf32>, %t: !stablehlo.token) -> tensor<2xf32> {{
      %0 = stablehlo.add %a, %a {{note = {}}} : tensor<2xf32>
      return %0 : tensor<2xf32>
    }}"""
    plain = _refusal(runtime, text.format("1"))
    for note in ("1}: tensor<2xf32> // tensor<?xf32>\n//", '"// tensor<?xf32>"', "tensor<?xf32>"):
        assert _refusal(runtime, text.format(note)) is plain


def _refusal(runtime: Runtime, text: str) -> type[Exception]:
    with pytest.raises(ToposError) as caught:
        runtime.compile(text)
    return type(caught.value)


def test_a_type_that_no_array_has_is_refused() -> None:
    text = "func.func @main(%a: tensor<?xf32>, %b: !stablehlo.token) { return }"
    with pytest.raises(UnsupportedError, match=r"^line 1, column 1: type !stablehlo.token is not"):
        INTERPRETER.compile(text)


def test_the_command_draws_what_is_open(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scaled.mlir"
    path.write_text(SCALED)
    assert main(["run", str(path), "--random", "1"]) == 0
    assert capsys.readouterr().out.startswith("result0: float32[2, 2]\n")
    for command in ("run", "check"):
        assert main([command, str(path), "--random", "1", "--extent", "5"]) == 1
        told = f"{path}: the module refuses the drawn arguments; give some with --args, or another "
        assert capsys.readouterr().err == f"{told}{EXTENT}: at most 4 rows, got 5\n"
    assert main(["run", str(path)]) == 2
    told = f"{path}: @main takes arg0: float32[?, 2], arg1: float32[2]; "
    assert capsys.readouterr().err.startswith(told)
    given, refused = (str(tmp_path / name) for name in ("a.npz", "b.npz"))
    np.savez(given, arg0=rows(3), arg1=WEIGHTS)
    np.savez(refused, arg0=rows(5), arg1=WEIGHTS)
    assert main(["run", str(path), "--args", given]) == 0
    assert capsys.readouterr().out.startswith("result0: float32[3, 2]\n")
    check = ["check", str(path), "--runtime", "interpreter", "--args"]
    assert main([*check, given]) == 0
    assert "bits equal" in capsys.readouterr().out
    assert main([*check, refused]) == 2
    assert capsys.readouterr().err == f"{path}: at most 4 rows, got 5\n"
