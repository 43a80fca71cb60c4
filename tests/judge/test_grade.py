"""Grades of modules on runtimes: sound differences pass, faults do not."""

from __future__ import annotations

import fcntl
import json
import re
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest

from tests.bundle.bundled_models import mlp
from tests.runtimes.require import require
from topos import judge
from topos.cli import main
from topos.errors import ArgumentError, ExecutionError, FeedError, UnavailableError
from topos.judge import Verdict
from topos.runtimes._inputs import special_array
from topos.runtimes._signature import ArrayType
from topos.stablehlo import Module

F32 = np.float32
# Three operations over scalars, of which the last takes what the first two give.
THREE = """
func.func @main(%a: tensor<f32>, %b: tensor<f32>, %x: tensor<f32>) -> tensor<f32> {{
  %0 = stablehlo.{first}
  %1 = stablehlo.{second}
  %2 = stablehlo.{last} : tensor<f32>
  return %2 : tensor<f32>
}}
"""
SQUARES = THREE.format(
    first="multiply %a, %a : tensor<f32>",
    second="multiply %b, %b : tensor<f32>",
    last="subtract %0, %1",
)
CANCELLING = THREE.format(
    first="multiply %a, %x : tensor<f32>",
    second="multiply %b, %x : tensor<f32>",
    last="add %0, %1",
)
ROOT = THREE.format(
    first="multiply %a, %a : tensor<f32>", second="negate %b : tensor<f32>", last="sqrt %0"
)
LOGARITHM = THREE.format(
    first="exponential %a : tensor<f32>", second="negate %b : tensor<f32>", last="log %0"
)
SINE = """
func.func @main(%a: tensor<64xf32>) -> tensor<64xf32> {
  %0 = stablehlo.sine %a : tensor<64xf32>
  return %0 : tensor<64xf32>
}
"""
# A runtime of somebody else, which does not reduce arguments as it should.
FAULTY = """
import sys
import numpy as np
_, module, given, written = sys.argv
value = np.load(given)["arg0"]
result = np.sin(value.astype(np.float64)).astype(np.float32)
result[5] += {error}
np.savez(written, result0=result)
"""


@pytest.mark.parametrize(
    ("text", "arguments", "verdict", "ill"),
    [
        (SQUARES, (1.2345678, 1.2345678, 0), Verdict.ROUNDING, 1),
        (CANCELLING, (1e20, -1e20, 1e10), Verdict.ROUNDING, 1),
        (CANCELLING, (1e20, -1e20, 1e20), Verdict.RANGED, 0),
        (ROOT, (-1e-30, 0, 0), Verdict.RANGED, 0),
        (LOGARITHM, (89, 0, 0), Verdict.RANGED, 0),
    ],
)
def test_what_xla_contracts_or_folds_is_not_wrong(
    text: str, arguments: tuple[float, ...], verdict: Verdict, ill: int
) -> None:
    require("xla")
    found = judge.grade(text, "xla", [F32(each) for each in arguments])
    assert found.verdict is verdict
    assert found.passed
    assert int(found.results[0].judgement.ill_conditioned.sum()) == ill


def command(tmp_path: Path, program: str) -> str:
    path = tmp_path / "runtime.py"
    path.write_text(program)
    return shlex.join([sys.executable, str(path)])


@pytest.mark.parametrize(("error", "passed"), [(1e-7, True), (3e-5, False), (float("nan"), False)])
def test_a_program_is_judged_by_the_results_it_writes(
    tmp_path: Path, error: float, passed: bool
) -> None:
    program = FAULTY.format(error=error).replace("nan", "float('nan')")
    argument = np.linspace(0.5, 3, 64, dtype=F32)
    found = judge.grade(SINE, command(tmp_path, program), [argument])
    assert found.passed is passed
    if not passed:
        assert found.results[0].worst == (5,)
        assert found.results[0].counts[Verdict.WRONG] == 1


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("raise SystemExit('no such device')", "status 1: no such device"),
        ("import os; os.kill(os.getpid(), 11)", "SIGSEGV"),
        ("import os; os.kill(os.getpid(), 40)", "ended by signal 40"),
        ("raise SystemExit('\x1b[31m' + 'x' * 1000)", f"status 1: \ufffd[31m{'x' * 395}"),
        ("pass", "wrote no results"),
        ("import sys; open(sys.argv[3], 'w').write('x')", "is no .npz archive"),
        (
            "import sys, numpy; numpy.savez(sys.argv[3], result0=numpy.ones(3))",
            "result 0",
        ),
    ],
)
def test_a_program_that_fails_is_told(tmp_path: Path, program: str, told: str) -> None:
    found = judge.grade(SINE, command(tmp_path, program), [np.ones(64, F32)])
    assert told in found.failure
    assert (found.verdict, found.passed, found.results) == (Verdict.WRONG, False, ())
    assert found.outcome == "failed"


def test_what_a_program_leaves_running_is_neither_waited_for_nor_left(tmp_path: Path) -> None:
    program = """
import fcntl, subprocess, sys
file = open("{path}", "w")
fcntl.flock(file, fcntl.LOCK_EX)
subprocess.Popen(["sleep", "600"], pass_fds=[file.fileno()])
"""
    locked = tmp_path / "locked"
    found = judge.grade(SINE, command(tmp_path, program.format(path=locked)), [np.ones(64, F32)])
    assert "wrote no results" in found.failure
    with locked.open() as file:
        until = time.monotonic() + 10
        # A lock is free when whoever held it is gone.
        while not is_free(file):
            assert time.monotonic() < until
            time.sleep(0.01)


def is_free(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def test_a_function_may_overwrite_its_arguments_and_keep_its_results() -> None:
    kept: list[Any] = []

    def overwriting(module: Module, arguments: Sequence[Any]) -> Sequence[Any]:
        for each in kept:
            each[...] = 0
        (value,) = arguments
        value[...] = np.sin(value)
        kept.append(value)
        return [value]

    given = np.linspace(0.5, 3, 64, dtype=F32)
    arguments = [given.copy()]
    assert judge.grade(SINE, overwriting, arguments).passed
    found = judge.grade(SINE, overwriting, arguments)
    assert found.passed
    assert (arguments[0] == given).all()
    assert found.results[0].result.all()


class UntoldError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (UntoldError(), "UntoldError: its text cannot be had"),
        (ValueError("\udcff\x1b"), "ValueError: \ufffd\ufffd"),
    ],
)
def test_what_a_function_raises_is_told_as_any_file_takes_it(error: Exception, told: str) -> None:
    def raising(module: Module, arguments: Sequence[Any]) -> Sequence[Any]:
        raise error

    assert judge.grade(SINE, raising, [np.ones(64, F32)]).failure == told


def test_wrong_usage_is_refused() -> None:
    argument = np.ones(64, F32)
    with pytest.raises(UnavailableError, match="no program is called nowhere; the runtimes"):
        judge.grade(SINE, "nowhere", [argument])
    for none in ("'", "", 7):
        with pytest.raises(ArgumentError, match="a name or a command line"):
            judge.grade(SINE, none, [argument])  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="samples are a number from 2 on"):
        judge.grade(SINE, "interpreter", [argument], samples=1)
    with pytest.raises(ArgumentError, match="a seed is a whole number from 0 on, got -1"):
        judge.grade(SINE, "interpreter", seed=-1)
    with pytest.raises(ArgumentError, match="an extent is a whole number from 0 on"):
        judge.grade(SINE, "interpreter", extent=-1)
    with pytest.raises(ArgumentError, match="takes 1 argument"):
        judge.grade(SINE, "interpreter", [])


def test_several_sets_of_inputs_are_told_apart() -> None:
    text = "func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"
    found = judge.grade(text, "interpreter", [np.float32("nan")], inputs=("given", "random"))
    given, random = str(found).splitlines()
    assert given == "given inputs: result0: float32[]: 1 equal; all are NaN"
    assert random == "random inputs: result0: float32[]: 1 equal"


def test_what_is_allowed_beside_the_samples_is_told_without_a_distance() -> None:
    text = """func.func @main(%x: tensor<f32>) -> tensor<f32> {
      %0 = stablehlo.sine %x : tensor<f32>
      return %0 : tensor<f32>
    }"""
    found = judge.grade(text, lambda _, given: [np.nextafter(F32(0.84147098), F32(0))], [F32(1)])
    assert str(found).endswith(", within 2 units in the last place")


def test_the_command_prints_verdicts_and_writes_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module, verdicts = tmp_path / "sine.mlir", tmp_path / "verdicts.json"
    module.write_text(SINE)
    faulty = command(tmp_path, FAULTY.format(error=0.25))
    options = ["--runtime", faulty, "--json", str(verdicts)]
    assert main(["grade", str(module), *options]) == 1
    printed = capsys.readouterr().out
    assert ": wrong (seed 0, 8 samples)" in printed
    assert "float32[64]" in printed
    # An f32 is told by the fewest digits that tell it apart, which are 9 at most.
    told = re.search(r"got (\S+), the oracle has (\S+),", printed)
    assert told is not None
    assert max(map(len, told.groups())) <= 12
    document: dict[str, Any] = json.loads(verdicts.read_text())
    assert document["passed"] is False
    assert document["results"][0]["worst"]["index"] == [5]
    assert document["results"][0]["counts"]["wrong"] == 1
    assert main(["grade", str(module), "--runtime", "interpreter"]) == 0
    capsys.readouterr()
    # What cannot be written is told before the work, or costs that file alone.
    assert main(["grade", str(module), "--runtime", faulty, "--html", str(tmp_path)]) == 2
    assert capsys.readouterr().out == ""
    assert main(["grade", str(module), "--runtime", faulty, "--json", "/dev/full"]) == 2
    assert ": wrong (seed 0, 8 samples)" in capsys.readouterr().out
    assert main(["grade", str(module), "--runtime", "nowhere"]) == 2
    assert "no program is called nowhere" in capsys.readouterr().err
    assert main(["grade", str(module), "--runtime", "ire"]) == 2
    assert "did you mean iree?" in capsys.readouterr().err
    assert main(["grade", str(module), "--runtime", "iree --flag"]) == 2
    assert "the runtime iree takes no words behind its name" in capsys.readouterr().err
    assert main(["grade", str(tmp_path)]) == 2
    assert "give all to topos triage" in capsys.readouterr().err


ENDLESS = """
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %r = stablehlo.while(%v = %x) : tensor<f32>
    cond {
      %go = stablehlo.compare NE, %v, %x : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      stablehlo.return %v : tensor<f32>
    }
  return %r : tensor<f32>
}
"""


def test_an_oracle_that_does_not_end_for_drawn_inputs_is_stopped() -> None:
    # NaN is unequal to itself, and the special value of this seed.
    seed = next(
        seed
        for seed in range(100)
        if np.isnan(special_array(np.random.default_rng(seed), ArrayType((), np.dtype(F32))))
    )
    with pytest.raises(ExecutionError, match=r"line 3.*; the inputs are special[^$]*while"):
        judge.grade(ENDLESS, "interpreter", inputs=["special"], seed=seed)


def test_several_runtimes_are_graded_beside_one_oracle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module, verdicts = tmp_path / "sine.mlir", tmp_path / "verdicts.json"
    module.write_text(SINE)
    faulty = command(tmp_path, FAULTY.format(error=0.25))
    options = ["--runtime", "interpreter", "--runtime", faulty, "--json", str(verdicts)]
    assert main(["grade", str(module), *options]) == 1
    printed = capsys.readouterr().out
    assert printed.index("interpreter: rounding") < printed.index("runtime.py: wrong")
    document = json.loads(verdicts.read_text())
    assert document["passed"] is False
    assert [each["passed"] for each in document["grades"]] == [True, False]


def test_options_of_the_command_line_reach_the_runtime(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = tmp_path / "sine.mlir"
    module.write_text(SINE)
    command = ["grade", str(module), "--runtime", "interpreter", "--option"]
    assert main([*command, "max_steps=7", "--option", "isolated=true"]) == 0
    assert main([*command, "max_steps=none"]) == 1
    assert "max_steps needs" in capsys.readouterr().out
    assert main(["grade", str(module), "--runtime", "program", "--option", "a=1"]) == 2
    assert "options are for a runtime that has a name, got program" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*command, "max_steps"])
    assert "needs NAME=VALUE, got 'max_steps'" in capsys.readouterr().err


def test_each_set_of_inputs_is_graded_for_itself() -> None:
    def nothing(module: Module, arguments: Sequence[Any]) -> Sequence[Any]:
        return [np.zeros_like(arguments[0])]

    given = [np.zeros(64, F32)]
    found = judge.grade(SINE, nothing, given, inputs=["given", "random", "special"])
    assert [(each.inputs, each.verdict) for each in found.results] == [
        ("given", Verdict.EQUAL), ("random", Verdict.WRONG), ("special", Verdict.WRONG),
    ]  # fmt: skip
    assert not found.passed
    with pytest.raises(ArgumentError, match="inputs are some of given, random, special, got 'odd'"):
        judge.grade(SINE, nothing, inputs=["odd"])
    with pytest.raises(ArgumentError, match="takes 1 arguments, got 0"):
        judge.grade(SINE, nothing, inputs=["given"])


def test_a_plan_and_its_bundle_are_graded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = mlp()
    feeds = {"features": np.ones((2, 5), F32)}
    found = judge.grade(plan, "interpreter", plan.arguments(None, feeds), numerics="exact")
    assert [(each.inputs, each.name) for each in found.results] == [("given", "scores")]
    assert found.verdict is Verdict.EQUAL
    with pytest.raises(FeedError, match="features"):
        judge.grade(plan, "interpreter")
    bundle = plan.export(tmp_path / "digits")
    graded = judge.grade(bundle, "interpreter", numerics="exact")
    sets = [f"{bundle.programs[0].name}, sample {number}" for number in range(2)]
    assert [each.inputs for each in graded.results] == sets
    assert graded.verdict is Verdict.EQUAL
    with pytest.raises(ArgumentError, match="a bundle brings its own inputs"):
        judge.grade(bundle, "interpreter", inputs=["random"])
    assert main(["grade", str(tmp_path / "digits"), "--runtime", "interpreter"]) == 0
    assert "sample 1" in capsys.readouterr().out
    assert main(["grade", str(tmp_path / "digits"), "--args", "a.npz"]) == 2
    assert "a bundle brings its own inputs" in capsys.readouterr().err
