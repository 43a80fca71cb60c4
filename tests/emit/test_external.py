"""Every emitted module, handed to the external commands that the environment names."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.programs import PROGRAMS
from tests.runtimes.test_samples import lowered
from topos import Plan, judge
from topos.compiler import ELEMENTS, Element
from topos.runtimes import verify
from topos.runtimes._archive import load, save


class Module(NamedTuple):
    """One emitted module on disk, and the plan it came from."""

    path: Path
    plan: Plan


def modules(folder: Path, elements: Iterable[Element]) -> Iterator[Module]:
    """Writes the samples of some elements, a module an element, and every program, to files."""
    for element in elements:
        yield written(folder / f"samples-{element}.mlir", lowered(element)[0])
    for name, program in PROGRAMS.items():
        yield written(folder / f"{name}.mlir", program())


def written(path: Path, plan: Plan) -> Module:
    """Writes the module of `plan` to `path`; what our verifier refuses goes to no command."""
    text = plan.emit_stablehlo()
    verify(text)
    path.write_text(text)
    return Module(path, plan)


def command(variable: str) -> list[str]:
    """Returns the words of the command that `variable` names, or skips the test."""
    words = shlex.split(os.environ.get(variable, ""))
    if not words:
        pytest.skip(f"{variable} names no command")
    return words


@pytest.fixture(scope="module")
def validator() -> list[str]:
    return command("TOPOS_STABLEHLO_VALIDATOR")


@pytest.fixture(scope="module")
def evaluator() -> list[str]:
    return command("TOPOS_STABLEHLO_EVALUATOR")


@pytest.fixture(scope="module")
def emitted(tmp_path_factory: pytest.TempPathFactory) -> list[Module]:
    """Every module; tests ask for their command first, and skip before this is made."""
    return list(modules(tmp_path_factory.mktemp("modules"), ELEMENTS.values()))


def test_validator_accepts_every_emitted_module(
    validator: list[str], emitted: list[Module]
) -> None:
    paths = [str(module.path) for module in emitted]
    demand_done(subprocess.run([*validator, *paths], capture_output=True, text=True))


def test_validator_refuses_a_broken_module(validator: list[str], tmp_path: Path) -> None:
    broken = tmp_path / "broken.mlir"
    text = PROGRAMS["line"]().emit_stablehlo()
    broken.write_text(text.replace("stablehlo.multiply", "stablehlo.multiple", 1))
    done = subprocess.run([*validator, str(broken)], capture_output=True, text=True)
    assert done.returncode != 0
    assert "stablehlo.multiple" in done.stderr


def test_evaluator_agrees_on_emitted_modules(evaluator: list[str], tmp_path: Path) -> None:
    words = []
    # One element of each kind: a compiler takes seconds for the samples of another.
    chosen = [*modules(tmp_path, [ELEMENTS["f32"], ELEMENTS["i32"]])]
    for module in chosen:
        archives = [module.path.with_suffix(suffix) for suffix in (".args.npz", ".results.npz")]
        save(archives[0], module.plan.arguments(), "arg")
        words += [str(module.path), *map(str, archives)]
    demand_done(subprocess.run([*evaluator, *words], capture_output=True, text=True))
    for module in chosen:
        check(module)


def demand_done(done: subprocess.CompletedProcess[str]) -> None:
    """Asserts that a command succeeded; skips the test where its runtime is not installed."""
    if done.returncode == 2 and "pip install" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr


def check(module: Module) -> None:
    """Asserts that the evaluator's results differ from the oracle's by no more than rounding."""
    case = judge.Case(module.path.read_text(), module.plan.arguments())
    arrays = load(module.path.with_suffix(".results.npz"), case.signature.results, "result")
    for place, judgement in enumerate(case.judged(arrays)):
        worst = judge.Verdict(int(judgement.verdicts.max(initial=0)))
        assert worst not in judge.BAD, (module.path.name, place, str(worst))
