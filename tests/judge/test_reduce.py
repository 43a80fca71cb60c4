"""Reduction: the smallest module that still fails, and a report that others can run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.judge.test_bisect import NESTED
from tests.runtimes.require import require
from topos import judge
from topos.cli import main
from topos.errors import ExecutionError
from topos.judge import raw_iree, raw_xla
from topos.judge.reproduction.reducing import shortest
from topos.judge.target import Target
from topos.runtimes.interpreter.run import built
from topos.stablehlo import Module, parse

F32 = np.float32
Run = Callable[[Module, Sequence[Any]], Sequence[Any]]
# The tanh is wrong where an exponential stands before it.
CHAIN = """
func.func @main(%x: tensor<16x8xf32>, %w: tensor<8x4xf32>) -> (tensor<16x4xf32>, tensor<16xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  %1 = stablehlo.exponential %0 : tensor<16x4xf32>
  %2 = stablehlo.tanh %1 : tensor<16x4xf32>
  %3 = stablehlo.cosine %2 : tensor<16x4xf32>
  %4 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [1]
      : (tensor<16x4xf32>, tensor<f32>) -> tensor<16xf32>
  return %3, %4 : tensor<16x4xf32>, tensor<16xf32>
}
"""
PRODUCT = """
func.func @main(%x: tensor<16x8xf32>, %w: tensor<8x4xf32>) -> tensor<16x4xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}
"""
ALIASED = """
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32> {tf.aliasing_output = 1 : i32})
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.sine %x : tensor<4xf32>
  %1 = stablehlo.add %x, %y : tensor<4xf32>
  %2 = stablehlo.multiply %y, %y : tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
"""
SINE = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.sine %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
"""
GATHER = """
func.func @main(%x: tensor<4x8xf32>, %i: tensor<3x1xi32>) -> tensor<3x8xf32> {
  %0 = "stablehlo.gather"(%x, %i) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>
  }> : (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}
"""


def run(module: Module, arguments: Sequence[Any]) -> Sequence[Any]:
    return built(module)(*arguments)


def swapping(old: str, new: str, when: str = "") -> Run:
    """Returns a runtime that takes one operation for another where a third is there."""

    def swapped(module: Module, arguments: Sequence[Any]) -> Sequence[Any]:
        text = str(module)
        return run(parse(text.replace(old, new) if when in text else text).verify(), arguments)

    return swapped


def names(module: Module) -> list[str]:
    return [each.name.removeprefix("stablehlo.") for each in module.walk()]


def drawn(*shapes: tuple[int, ...]) -> list[Any]:
    generator = np.random.default_rng(0)
    return [generator.standard_normal(shape).astype(F32) for shape in shapes]


def reduce(text: str, runtime: Run, arguments: Sequence[Any]) -> judge.Reproducer:
    """Returns the reproducer, which fails again."""
    found = judge.reduce(text, runtime, arguments)
    assert found is not None
    assert not judge.grade(found.module, runtime, found.arguments).passed
    return found


def test_an_operation_of_a_loop_becomes_a_scalar_of_one_digit() -> None:
    runtime = swapping("stablehlo.logistic", "stablehlo.sine")
    found = reduce(NESTED, runtime, [np.array([-1.25, 0.5, 2], F32)])
    assert names(found.module) == ["constant", "logistic", "func.return"]
    assert "dense<-1.000000e+00> : tensor<f32>" in str(found.module)
    assert found.arguments == ()
    assert found.finding is not None
    assert found.finding.line == 3


def test_a_fault_of_two_operations_becomes_their_chain() -> None:
    runtime = swapping("stablehlo.tanh", "stablehlo.sine", "stablehlo.exponential")
    found = reduce(CHAIN, runtime, drawn((16, 8), (8, 4)))
    assert names(found.module) == ["constant", "exponential", "tanh", "func.return"]
    assert [each.type.shape for each in found.grade.results] == [()]


def test_the_axes_of_a_product_become_as_short_as_the_fault_allows() -> None:
    def coarse(module: Module, arguments: Sequence[Any]) -> Sequence[Any]:
        results = run(module, arguments)
        wide = arguments and arguments[0].shape[1] >= 3
        return [each * F32(1.1) if wide else each for each in results]

    found = reduce(PRODUCT, coarse, drawn((16, 8), (8, 4)))
    # The fault needs arguments: as constants it is gone.
    assert [each.shape for each in found.arguments] == [(1, 3), (3, 1)]


def test_what_only_the_result_has_becomes_short() -> None:
    def dropping(module: Module, arguments: Sequence[Any]) -> Sequence[Any]:
        (result,) = run(module, arguments)
        return [np.where(np.arange(result.shape[-1]) == 1, 0, result).astype(F32)]

    text = """
    func.func @main(%x: tensor<f32>) -> tensor<7x5xf32> {
      %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<7x5xf32>
      return %0 : tensor<7x5xf32>
    }
    """
    found = reduce(text, dropping, [np.array(3, F32)])
    assert [each.type.shape for each in found.grade.results] == [(1, 2)]


def test_the_types_along_a_chain_follow_from_its_arguments() -> None:
    text = """
    func.func @main(%x: tensor<6xf32>, %y: tensor<5xf32>) -> tensor<11xf32> {
      %0 = stablehlo.sine %x : tensor<6xf32>
      %1 = stablehlo.concatenate %0, %y, dim = 0
          : (tensor<6xf32>, tensor<5xf32>) -> tensor<11xf32>
      return %1 : tensor<11xf32>
    }
    """
    runtime = swapping("stablehlo.sine", "stablehlo.cosine", "stablehlo.concatenate")
    found = reduce(text, runtime, drawn((6,), (5,)))
    assert names(found.module) == ["constant", "constant", "sine", "concatenate", "func.return"]
    assert [each.type.shape for each in found.grade.results] == [(2,)]


def test_a_gather_keeps_the_row_that_is_read_wrongly() -> None:
    def wrapping(module: Module, arguments: Sequence[Any]) -> Sequence[Any]:
        if not arguments:
            return run(module, arguments)
        rows, indices = arguments
        return [np.take(rows, indices[:, 0], axis=0, mode="wrap")]

    rows = np.arange(32, dtype=F32).reshape(4, 8)
    found = reduce(GATHER, wrapping, [rows, np.array([[1], [9], [0]], np.int32)])
    # Of two rows the last is the one that 9 wraps to.
    assert [each.shape for each in found.arguments] == [(3, 1), (1, 1)]
    assert found.arguments[1].tolist() == [[9]]


def test_an_argument_keeps_its_buffer_where_the_fault_is_of_it() -> None:
    def overwriting(module: Module, arguments: Sequence[Any]) -> Sequence[Any]:
        attributes = [each.attributes for each in module.function().arguments]
        results = [*run(module, arguments)]
        for place, each in enumerate(attributes):
            if "tf.aliasing_output" in each and "stablehlo.multiply" in str(module):
                taken = [*arguments]
                taken[place] = results[each["tf.aliasing_output"].value]
                results[-1] = run(module, taken)[-1]
        return results

    found = reduce(ALIASED, overwriting, drawn((4,), (4,)))
    assert found.needs_attributes
    assert names(found.module) == ["add", "multiply", "func.return"]
    assert "%y: tensor<f32> {tf.aliasing_output = 0 : i32}" in str(found.module)


def test_a_refusal_is_cut_down_to_what_is_refused() -> None:
    def refusing(module: Module, arguments: Sequence[Any]) -> Sequence[Any]:
        for place, each in enumerate(names(module)):
            if each == "tanh":
                raise ValueError(f"operation {place}: no tanh here")
        return run(module, arguments)

    found = reduce(CHAIN, refusing, drawn((16, 8), (8, 4)))
    assert names(found.module) == ["constant", "tanh", "func.return"]
    assert "no tanh here" in found.grade.failure


def test_what_fails_in_another_way_is_not_taken() -> None:
    swapped = swapping("stablehlo.tanh", "stablehlo.sine")

    def refusing(module: Module, arguments: Sequence[Any]) -> Sequence[Any]:
        if len(arguments) != 2:
            raise ValueError("two arguments, please")
        return swapped(module, arguments)

    text = CHAIN.replace("stablehlo.tanh %1", "stablehlo.tanh %0")
    found = judge.bisect(text, refusing, drawn((16, 8), (8, 4)))
    # Alone no operation but the product has two arguments, and the cuts of the module have.
    assert found.findings
    smallest = reduce(text, refusing, drawn((16, 8), (8, 4)))
    assert not smallest.grade.failures
    assert "tanh" in names(smallest.module)


def test_nothing_is_written_of_a_sound_runtime() -> None:
    assert judge.reduce(PRODUCT, run, drawn((16, 8), (8, 4))) is None


def test_a_runtime_that_fails_once_is_told_of() -> None:
    runs: list[Module] = []

    def flickering(module: Module, arguments: Sequence[Any]) -> Sequence[Any]:
        runs.append(module)
        return [each + np.float32(len(runs) == 1) for each in run(module, arguments)]

    with pytest.raises(ExecutionError, match="its results differ from run to run"):
        judge.reduce(PRODUCT, flickering, drawn((16, 8), (8, 4)))


def test_the_runtime_runs_no_more_often_than_it_may() -> None:
    runtime = swapping("stablehlo.tanh", "stablehlo.sine", "stablehlo.exponential")
    stages: list[judge.Stage] = []
    found = judge.reduce(CHAIN, runtime, drawn((16, 8), (8, 4)), attempts=3, watch=stages.append)
    assert found is not None
    assert found.runs == 3
    assert sum(each.what.startswith("reducing: ") for each in stages) >= 3
    assert not found.grade.passed


def test_shortest_leaves_out_what_it_can() -> None:
    assert shortest(range(20), lambda kept: {3, 4, 17} <= {*kept}) == [3, 4, 17]
    assert shortest([7], lambda kept: True) == [7]


def saved(text: str, arguments: Sequence[Any], runtime: Run, script: Any, folder: Path) -> str:
    """Returns the report on a runtime that is said to be a script."""
    (case,) = judge.cases_of(text, arguments)
    grade = judge.grade(text, runtime, arguments)
    target = Target(f"python {script.__file__}")
    judge.Reproducer(case.module, case.arguments, grade, target, None, False, 1).save(folder)
    return (folder / "report.md").read_text()


def test_the_commands_of_a_report_run_iree(tmp_path: Path) -> None:
    require("iree")
    runtime = swapping("stablehlo.sine", "stablehlo.cosine")
    told = saved(SINE, [np.array([0, 1.5], F32)], runtime, raw_iree, tmp_path / "reproducer")
    assert told.startswith("# iree: stablehlo.sine gives a wrong result\n")
    assert "got `1.0` at [0], expected `0.0`" in told
    commands = [line[2:] for line in told.splitlines() if line.startswith("$ iree-")]
    folder = str(Path(sys.executable).parent)
    done = subprocess.run(
        " && ".join(commands), shell=True, capture_output=True, text=True, check=True,
        cwd=tmp_path / "reproducer", env={"PATH": f"{folder}:/usr/bin:/bin"},
    )  # fmt: skip
    assert "2xf32=0 0.997" in done.stdout


def test_the_script_of_a_reproducer_runs_xla(tmp_path: Path) -> None:
    require("xla")
    folder = tmp_path / "reproducer"
    told = saved(SINE, [np.array([0, 1.5], F32)], run, raw_xla, folder)
    assert "is right:\nthe fault is in what topos makes of the module for xla." in told
    (command,) = [line[2:] for line in told.splitlines() if line.startswith("$ python repr")]
    # Isolated, python sees no folder but the script's own.
    subprocess.run([sys.executable, "-I", *command.split()[1:]], check=True, cwd=folder)
    with np.load(folder / "results.npz") as results:
        np.testing.assert_allclose(results["result0"], [0, 0.997495], rtol=1e-6)


def test_the_command_writes_a_folder_that_judges_as_a_case(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module, folder = tmp_path / "module.mlir", tmp_path / "reproducer"
    module.write_text(PRODUCT)
    program = tmp_path / "failing.py"
    program.write_text("raise SystemExit('no products here')")
    command = ["reduce", str(module), "--runtime", f"{sys.executable} {program}", "--out"]
    assert main([*command, str(folder), "--attempts", "4"]) == 1
    told = (folder / "report.md").read_text()
    assert "no products here" in told
    assert f"{program} module.mlir args.npz results.npz" in told
    assert f"the report is {folder}/report.md" in capsys.readouterr().out
    assert main(["judge", str(folder), str(folder / "expected.npz")]) == 0
    assert main(["record", str(module), "--out", str(folder)]) == 2
    assert "exists and is not a case" in capsys.readouterr().err
    (folder / "notes.txt").write_text("mine")
    assert main([*command, str(folder)]) == 2
    assert "holds notes.txt" in capsys.readouterr().err
    assert main([*command, str(tmp_path)]) == 2
    sound = ["reduce", str(module), "--runtime", "interpreter", "--out", str(tmp_path / "none")]
    assert main(sound) == 0
    assert not (tmp_path / "none").exists()
