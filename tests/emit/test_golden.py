"""Emitted text as a contract: whole modules, checked to the character."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.programs import PROGRAMS
from tests.runtimes.test_samples import require
from topos import runtimes
from topos.runtimes.grade import grade

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("name", PROGRAMS)
def test_emitted_text_is_the_golden_text(name: str) -> None:
    expected = (GOLDEN / f"{name}.mlir").read_text()
    assert PROGRAMS[name]().emit_stablehlo() == expected, "python tools/golden.py rewrites it"


def test_every_golden_file_has_a_program() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("*.mlir")) == sorted(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_interpreter_runs_a_program_to_the_oracle_bits(name: str) -> None:
    assert grade(PROGRAMS[name](), "interpreter", numerics="exact").bits_equal


@pytest.mark.parametrize("runtime", [name for name in runtimes.names() if name != "interpreter"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_foreign_runtime_stays_near_the_oracle(name: str, runtime: str) -> None:
    require(runtime)
    plan = PROGRAMS[name]()
    if (runtime, name) == ("iree", "newton"):
        pytest.skip("the envelope table says that iree runs no f64 sine")
    run = plan.compile(runtime).forward()
    oracle = plan.network.entry(plan.results).interpret()
    for port in plan.signature().results:
        # Errors of a whole program have no table; they stay small beside its largest number.
        ours = oracle.of(port.symbol).numpy().astype(np.float64)
        theirs = run.of(port.symbol).numpy().astype(np.float64)
        tolerance = {"f64": 1e-13, "f32": 1e-5, "bf16": 2e-2}[port.type.element.name]
        np.testing.assert_allclose(theirs, ours, atol=tolerance * np.abs(ours).max(), rtol=0)
