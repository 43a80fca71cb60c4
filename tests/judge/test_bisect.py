"""Bisection: the operation that is wrong is named, wherever it stands, and nothing else is."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtimes.require import require
from topos import judge, runtimes
from topos.cli import main
from topos.judge import Verdict
from topos.judge.bisection.locations import brief
from topos.stablehlo import Module
from topos.stablehlo.ir import Operation

F32 = np.float32
# A loop that calls a private function, whose logistic no other line has.
NESTED = """
func.func private @gate(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.logistic %x : tensor<3xf32>
  %1 = stablehlo.tanh %0 : tensor<3xf32>
  return %1 : tensor<3xf32>
}
func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<f32>) {
  %n = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %end = stablehlo.constant dense<4> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r:2 = stablehlo.while(%v = %x, %i = %n) : tensor<3xf32>, tensor<i32>
    cond {
      %go = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %w = func.call @gate(%v) : (tensor<3xf32>) -> tensor<3xf32>
      %u = stablehlo.add %w, %w : tensor<3xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %u, %j : tensor<3xf32>, tensor<i32>
    }
  %s = stablehlo.reduce(%r#0 init: %zero) applies stablehlo.maximum across dimensions = [0]
      : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  return %r#0, %s : tensor<3xf32>, tensor<f32>
}
"""
# No result needs the cosine.
HIDDEN = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.cosine %x : tensor<3xf32>
  %1 = stablehlo.multiply %x, %x : tensor<3xf32>
  return %1 : tensor<3xf32>
}
"""
SWAPPED = """
import subprocess, sys
module, given, written = sys.argv[1:]
with open(module) as file:
    text = file.read()
with open(module, "w") as file:
    file.write(text.replace({old!r}, {new!r}))
status = subprocess.run([sys.executable, "-m", "topos", "eval", module, given, written]).returncode
raise SystemExit(status)
"""


def swapping(tmp_path: Path, old: str, new: str) -> str:
    """Returns a runtime that runs one operation as another."""
    path = tmp_path / "swapping.py"
    path.write_text(SWAPPED.format(old=old, new=new))
    return shlex.join([sys.executable, str(path)])


@pytest.mark.parametrize(
    ("old", "new", "operation", "line"),
    [
        ("stablehlo.logistic", "stablehlo.sine", "stablehlo.logistic", 3),
        ("stablehlo.maximum", "stablehlo.minimum", "stablehlo.reduce", 22),
    ],
)
def test_the_operation_is_named_in_functions_loops_and_bodies(
    tmp_path: Path, old: str, new: str, operation: str, line: int
) -> None:
    argument = np.array([-1, 0.5, 2], F32)
    found = judge.bisect(NESTED, swapping(tmp_path, old, new), [argument])
    assert [(each.operation, each.line) for each in found.findings] == [(operation, line)]
    assert found.findings[0].verdict is Verdict.WRONG
    assert not found.whole.passed
    assert not found.attributes
    assert found.failures == ()


def test_a_sound_runtime_has_no_finding() -> None:
    require("xla")
    found = judge.bisect(NESTED, "xla", [np.array([-1, 0.5, 2], F32)])
    assert found.passed, str(found)
    # Two in the function, one in the condition, two in the loop, and the reduction.
    assert found.replayed == 6
    assert "none of its 6 operations is wrong alone" in str(found)


def test_a_fault_that_no_result_shows_is_found(tmp_path: Path) -> None:
    runtime = swapping(tmp_path, "stablehlo.cosine", "stablehlo.sine")
    found = judge.bisect(HIDDEN, runtime, [np.ones(3, F32)])
    assert found.whole.passed
    assert not found.passed
    assert [each.operation for each in found.findings] == ["stablehlo.cosine"]
    assert found.findings[0].operands == ("1.0",)


def test_an_operation_that_ends_the_runtime_is_told_and_the_others_are_replayed(
    tmp_path: Path,
) -> None:
    runtime = swapping(tmp_path, "stablehlo.cosine", "stablehlo.unknown")
    found = judge.bisect(HIDDEN, runtime, [np.ones(3, F32)])
    assert found.whole.failure
    assert found.findings == ()
    assert len(found.failures) == 1
    assert found.failures[0].startswith("line 3: stablehlo.cosine: ")


def contracting(module: Module, arguments: Sequence[Any], *, kept: bool) -> Sequence[Any]:
    """Runs a module with a fault of two operations: what adds a product of its function subtracts.

    One that is not `kept` stays right where something else than the sum uses the product too.
    """
    names = [
        name
        for operation in module.function().body.blocks[0].operations  # type: ignore[union-attr]
        for name in operation.operands
    ]
    products = {
        operation.results[0]
        for operation in module.function().body.blocks[0].operations  # type: ignore[union-attr]
        if operation.name == "stablehlo.multiply"
    }

    def rewrite(operation: Operation) -> Operation | None:
        product = operation.operands[:1]
        if operation.name != "stablehlo.add" or not products.issuperset(product):
            return None
        if names.count(product[0]) > 1 and not kept:
            return None
        return operation._replace(name="stablehlo.subtract")

    return runtimes.load("interpreter").compile(module.replace(rewrite))(*arguments)


FUSED = """
func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.tanh %x : tensor<3xf32>
  %1 = stablehlo.multiply %0, %y : tensor<3xf32>
  %2 = stablehlo.add %1, %x : tensor<3xf32> loc(#loc2)
  %3 = stablehlo.exponential %2 : tensor<3xf32>
  return %3 : tensor<3xf32>
}
#loc1 = loc("model.py":7:3)
#loc2 = loc("residual"(#loc1))
"""


@pytest.mark.parametrize(("kept", "stage"), [(True, "intermediates"), (False, "truncation")])
def test_a_fault_of_two_operations_is_found_between_them(kept: bool, stage: str) -> None:
    arguments = [np.array([-1, 0.5, 2], F32), np.array([3, 1, -2], F32)]
    found = judge.bisect(FUSED, partial(contracting, kept=kept), arguments)
    (finding,) = found.findings
    assert (finding.operation, finding.line, finding.stage) == ("stablehlo.add", 5, stage)
    assert finding.location == '"residual"("model.py":7:3)'
    assert str(finding).endswith("(from residual at model.py:7)")
    assert finding.cut is not None
    assert len(finding.cut.function().results) == (4 if kept else 1)
    assert not found.failures


def test_a_runtime_that_fails_at_everything_is_not_asked_for_all_of_it() -> None:
    calls = []

    def failing(module: Module, arguments: Sequence[Any]) -> Sequence[Any]:
        calls.append(module)
        raise RuntimeError("no device")

    sines = "".join(
        f"  %{place + 1} = stablehlo.sine %{place} : tensor<3xf32>\n" for place in range(64)
    )
    head = "func.func @main(%0: tensor<3xf32>) -> tensor<3xf32> {\n"
    found = judge.bisect(f"{head}{sines}  return %64 : tensor<3xf32>\n}}", failing)
    assert len(calls) < 40
    assert "no device" in found.failures[0]
    assert "line 66" not in found.failures[0]
    assert found.failures[-1].endswith("65: the runtime ran none of those before")


def test_of_a_stack_of_calls_the_innermost_is_told() -> None:
    stack = (
        '"jit(f)/Net/tanh"(callsite("Net.__call__"("net.py":7:12 to :22) at "main"("run.py":16:2)))'
    )
    assert brief(stack) == "jit(f)/Net/tanh at net.py:7"
    assert brief('"net.py":3:1') == "net.py:3"
    assert brief("unknown") == "unknown"


def test_the_command_names_the_operation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module, document = tmp_path / "hidden.mlir", tmp_path / "found.json"
    module.write_text(HIDDEN)
    runtime = swapping(tmp_path, "stablehlo.cosine", "stablehlo.sine")
    assert main(["bisect", str(module), "--runtime", runtime, "--json", str(document)]) == 1
    printed = capsys.readouterr().out
    assert "the whole module on" in printed
    assert "line 3: stablehlo.cosine is wrong" in printed
    (entry,) = json.loads(document.read_text())["operations"]
    assert (entry["operation"], entry["line"]) == ("stablehlo.cosine", 3)
    assert len(entry["operands"]) == 1
