"""Every emitted module, handed to the external commands that the environment names."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tests.programs import PROGRAMS
from tests.runtimes.test_samples import lowered
from topos import Plan, Symbol
from topos.compiler import ELEMENTS, Element
from topos.engine.sources import source_payloads
from topos.runtimes import ArrayType, verify
from topos.runtimes._archive import load, save
from topos.runtimes.grade import FAR, ROWS, largest_distance

# An executor of unknown make: the widest envelope that any runtime has for the operation.
FARTHEST = 64


class Module(NamedTuple):
    """One emitted module on disk, the plan it came from, and the operation each result shows."""

    path: Path
    plan: Plan
    operations: dict[Symbol, str]


def modules(folder: Path, elements: Iterable[Element]) -> Iterator[Module]:
    """Writes the samples of some elements, a module an element, and every program, to files."""
    for element in elements:
        yield written(folder / f"samples-{element}.mlir", *lowered(element))
    for name, program in PROGRAMS.items():
        yield written(folder / f"{name}.mlir", program(), {})


def written(path: Path, plan: Plan, operations: dict[Symbol, str]) -> Module:
    """Writes the module of `plan` to `path`; what our verifier refuses goes to no command."""
    text = plan.emit_stablehlo()
    verify(text)
    path.write_text(text)
    return Module(path, plan, operations)


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
    done = subprocess.run([*validator, *paths], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


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
        ports = module.plan.signature().arguments
        order = [port.symbol.position for port in ports]
        payloads = source_payloads(module.plan.network, order, None, {}, copy=False)
        save(archives[0], [payloads[position] for position in order], "arg")
        words += [str(module.path), *map(str, archives)]
    done = subprocess.run([*evaluator, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for module in chosen:
        check(module)


def check(module: Module) -> None:
    """Asserts that the evaluator's results agree with the oracle's."""
    results = module.plan.signature().results
    types = [ArrayType(port.type.shape, port.type.element.dtype) for port in results]
    arrays = load(module.path.with_suffix(".results.npz"), types, "result")
    oracle = module.plan.network.entry(module.plan.results).interpret()
    for port, theirs in zip(results, arrays, strict=True):
        ours = oracle.of(port.symbol).numpy()
        assert theirs.shape == ours.shape
        if operation := module.operations.get(port.symbol):
            distance = largest_distance(ours, theirs, flushed=True)
            assert distance <= widest(operation, port.type.element.name), (operation, module.path)
            continue
        scale = np.abs(ours.astype(np.float64)).max()
        gap = np.abs(ours.astype(np.float64) - theirs.astype(np.float64)).max()
        assert gap <= 2e-2 * scale, module.path.name


def widest(operation: str, element: str) -> int:
    """Returns the largest bound that any runtime has for an operation in an element."""
    bounds = [getattr(row, element, 0) for row in ROWS if row.operation == operation]
    largest = max((bound for bound in bounds if bound is not None), default=0)
    assert largest <= FARTHEST < FAR
    return largest
