"""Emitted text as a contract: whole modules, checked to the character."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emit.near import demand_near
from tests.programs import PROGRAMS
from tests.runtimes.held import has_oracle_bits
from tests.runtimes.require import require

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("name", PROGRAMS)
def test_emitted_text_is_the_golden_text(name: str) -> None:
    expected = (GOLDEN / f"{name}.mlir").read_text()
    assert PROGRAMS[name]().emit_stablehlo() == expected, "python tools/golden.py rewrites it"


def test_every_golden_file_has_a_program() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("*.mlir")) == sorted(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_interpreter_runs_a_program_to_the_oracle_bits(name: str) -> None:
    assert has_oracle_bits(PROGRAMS[name](), "interpreter", "exact")


# A module of iree takes most of a second.
FEW = ("attention", "convolution", "narrow")
FOREIGN = [
    *(("xla", name) for name in PROGRAMS),
    *(("iree", name) for name in FEW),
    ("reference", "attention"),
]


@pytest.mark.parametrize(("runtime", "name"), FOREIGN)
def test_foreign_runtime_stays_near_the_oracle(runtime: str, name: str) -> None:
    require(runtime)
    plan = PROGRAMS[name]()
    demand_near(plan, plan.compile(runtime).forward())
