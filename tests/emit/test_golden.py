"""Emitted text as a contract: whole modules, checked to the character."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emit.near import demand_near
from tests.programs import PROGRAMS
from tests.runtimes.require import require
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
    demand_near(plan, plan.compile(runtime).forward())
