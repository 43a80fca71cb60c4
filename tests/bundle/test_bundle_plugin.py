"""The pytest plugin, in a project of its own: what passes, what fails, and what it says."""

from __future__ import annotations

import shlex
import sys

import pytest

from tests.project.paths import ROOT

pytest_plugins = ["pytester"]

MODEL = """
import numpy as np
import pytest
from topos import Tape
from topos.bundle import export


def plan(rows=2):
    tape = Tape()
    weights = tape.parameter([[0.5, -1.0], [2.0, 0.25]], name="weights")
    (tape.input(shape=[rows, 2], name="x") @ weights).tanh().named("y")
    return tape.into_network().entry(["y"]).lower()

"""
PLUGIN = ("-rs", "-p", "topos.bundle.pytest_plugin", "-p", "no:cacheprovider")


@pytest.fixture(autouse=True)
def _no_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VALIDATOR", "EVALUATOR"):
        monkeypatch.delenv(f"TOPOS_STABLEHLO_{name}", raising=False)


def run(pytester: pytest.Pytester, body: str) -> pytest.RunResult:
    pytester.makepyfile(MODEL + body)
    return pytester.runpytest_subprocess(*PLUGIN, timeout=100)


WANTED = """
def test_plan(stablehlo_conforms):
    check = stablehlo_conforms(plan(), runtimes=["interpreter"], numerics="exact")
    assert check.summary() == "holds on interpreter"
    assert [each.state.name for each in check.verdicts if each.deviation is not None] == ["BITS"]

def test_plans(stablehlo_conforms):
    check = stablehlo_conforms([plan(1), plan(2)], batched=True, runtimes=["interpreter"])
    assert [program.rows for program in check.bundle.programs] == [1, 2]

def test_sample(stablehlo_conforms):
    ones = np.ones((2, 2), np.float32)
    check = stablehlo_conforms(plan(), samples=[{"x": ones}], runtimes=["interpreter"])
    (call,) = check.bundle.programs[0].sample()
    assert (call.inputs["x"] == 1).all()

def test_bundle(bundle_conforms, tmp_path):
    export(tmp_path / "b", plan())
    assert bundle_conforms(tmp_path / "b", ["interpreter"]).passed

import sys; sys.path.insert(0, ROOT)
from tests.bundle.bundled_models import rewritten

def test_wrong_bundle(bundle_conforms, tmp_path):
    export(tmp_path / "b", plan())
    path = tmp_path / "b" / "main.mlir"
    path.write_text(path.read_text().replace("stablehlo.tanh", "stablehlo.sine"))
    rewritten(tmp_path / "b")
    bundle_conforms(tmp_path / "b", ["interpreter"])

def test_function_of_the_batch(stablehlo_conforms):
    tape = Tape()
    (tape.input(shape=[2, 2], name="x") @ tape.input(shape=[2, 2], name="z")).named("y")
    stablehlo_conforms(tape.into_network().entry(["y"]).lower(), batched=True)

def test_missing(bundle_conforms, tmp_path):
    bundle_conforms(tmp_path / "none")

def test_unknown_sample(stablehlo_conforms):
    stablehlo_conforms(plan(), samples=[{"z": 1.0}])

def test_no_runtime(stablehlo_conforms):
    stablehlo_conforms(plan(), runtimes=["tpu"])

@pytest.mark.parametrize("runtimes", ["xla", ["interpreter", "xla"]])
def test_runtime_that_is_not_installed(runtimes, stablehlo_conforms, monkeypatch):
    from topos.runtimes import Status, load
    away = Status(False, "xla is away")
    monkeypatch.setattr(type(load("xla")), "status", lambda self: away)
    stablehlo_conforms(plan(), runtimes=runtimes)
""".replace("ROOT", repr(str(ROOT)))
FAILURES = [
    "the bundle does not conform",
    "judge *program  result  deviation  envelope  verdict*",
    "artifact *main *FAILED: the artifact holds another module than the text",
    "interpreter  main *y *OUTSIDE",
    "2 of * do not hold",
    "the plan cannot be exported: BundleError: a batched bundle needs rows that *",
    "the bundle cannot be checked: BundleError: a bundle is a folder, and *",
    "the plan cannot be exported: FeedError: a sample names 'z', and the inputs of*",
    "the bundle cannot be checked: UnavailableError: no runtime is called 'tpu'*",
    "SKIPPED* xla is away",
]


def test_what_conforms_passes_and_all_else_fails_by_its_table_or_message_alone(
    pytester: pytest.Pytester,
) -> None:
    done = run(pytester, WANTED)
    done.assert_outcomes(passed=4, failed=5, skipped=2)
    done.stdout.fnmatch_lines(FAILURES)
    done.stdout.no_fnmatch_line("*.py:[0-9]*:*Error*")
    done.stdout.no_fnmatch_line("*During handling*")


def test_commands_of_the_environment_judge_as_well(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = shlex.quote(sys.executable)
    monkeypatch.setenv("TOPOS_STABLEHLO_VALIDATOR", f"{python} -m topos validate")
    monkeypatch.setenv("TOPOS_STABLEHLO_EVALUATOR", "false")
    done = run(
        pytester,
        """
def test_plan(stablehlo_conforms):
    stablehlo_conforms(plan(), runtimes=["interpreter"])
""",
    )
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        ["validator *main *holds", "evaluator *main *FAILED: false ended with 1: it said nothing"]
    )


def test_the_commands_of_this_package_start_once_for_all_tests(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = shlex.quote(sys.executable)
    monkeypatch.setenv("TOPOS_STABLEHLO_VALIDATOR", f"{python} -m topos validate")
    monkeypatch.setenv("TOPOS_STABLEHLO_EVALUATOR", f"{python} -m topos eval")
    done = run(
        pytester,
        """
import os
import subprocess

STARTED = []

@pytest.fixture(autouse=True, scope="session")
def counted():
    popen = subprocess.Popen
    def start(words, **named):
        STARTED.append(words[-2:])
        return popen(words, **named)
    subprocess.Popen = start
    yield
    subprocess.Popen = popen

@pytest.mark.parametrize("place", range(4))
def test_plan(stablehlo_conforms, place):
    check = stablehlo_conforms(plan(), runtimes=["interpreter"])
    assert {"validator", "evaluator"} <= {each.judge for each in check.verdicts}

def test_starts():
    assert STARTED == [["validate", "--batch"], ["eval", "--batch"]]
""",
    )
    done.assert_outcomes(passed=5)


def test_a_test_whose_evaluator_lacks_its_runtime_is_skipped_with_the_reason(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = pytester.mkdir("absent")
    (absent / "sitecustomize.py").write_text("import sys; sys.modules['iree'] = None")
    python = shlex.quote(sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(absent))
    monkeypatch.setenv("TOPOS_STABLEHLO_EVALUATOR", f"{python} -m topos eval --runtime iree")
    done = run(
        pytester,
        """
def test_plan(stablehlo_conforms):
    stablehlo_conforms(plan(), runtimes=["interpreter"])
""",
    )
    done.assert_outcomes(skipped=1)
    done.stdout.fnmatch_lines(["*the evaluator cannot run: the iree runtime needs iree-*"])
