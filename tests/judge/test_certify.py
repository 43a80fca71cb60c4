"""Certificates: what is found of a runtime, and the certificates that come with topos."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.runtimes.require import require
from topos import judge, runtimes
from topos.cli import main
from topos.errors import ArgumentError
from topos.judge.certification.forms import Choice, executed, left_out
from topos.runtimes import Certificate, Outcome
from topos.runtimes._certificate_files import certificates, parsed, text_of
from topos.runtimes._certificate_page import page
from topos.stablehlo import Module

Array = npt.NDArray[Any]
PAGES = Path(__file__).parents[2] / "docs" / "certificates"
SHIPPED = sorted(certificates())
INTERPRETER = runtimes.load("interpreter")


def some(*operations: str, elements: Sequence[str] = ("f32",)) -> Choice:
    return lambda key: key[0] in operations and key[2] in elements


class Faulty:
    """A runtime that takes the tangent for the sine, and fails as it is told."""

    def __init__(self, refused: str = "", fails_of_nan: bool = False) -> None:
        self.refused, self.fails_of_nan, self.calls = refused, fails_of_nan, 0

    def __call__(self, module: Module, arguments: Sequence[Array]) -> Sequence[Array]:
        self.calls += 1
        text = str(module)
        if self.refused and self.refused in text:
            raise ValueError(f"no {self.refused}")
        if self.fails_of_nan and any(np.isnan(each).any() for each in arguments):
            raise ValueError("a NaN")
        swapped = text.replace("stablehlo.tan ", "stablehlo.sine ")
        return INTERPRETER.compile(swapped, numerics="exact")(*arguments)


def test_the_interpreter_has_the_bits_of_the_oracle() -> None:
    only = some("stablehlo.tanh", "stablehlo.reduce", "stablehlo.gather", elements=["bf16", "i32"])
    found = judge.certify("interpreter", numerics="exact", only=only)
    assert {key[0] for key in found.cells} == {
        "stablehlo.tanh", "stablehlo.reduce", "stablehlo.gather",
    }  # fmt: skip
    assert not any(found.cells.values())
    assert not found.refusals
    assert not found.faults
    assert set(found.probes.values()) == {"no"}


def test_xla_flushes_rounds_and_contracts() -> None:
    require("xla")
    only = some("stablehlo.add", "stablehlo.tanh", "stablehlo.compare", elements=["f32", "i32"])
    found = judge.certify("xla", only=only)
    assert found.versions == runtimes.load("xla").status().detail
    cells = found.cells
    assert cells["stablehlo.add", "", "i32"] == {}
    assert cells["stablehlo.add", "", "f32"]["subnormal"].flushed == "in"
    assert "positive" not in cells["stablehlo.add", "", "f32"]
    assert cells["stablehlo.compare", "LT", "f32"]["subnormal"].flushed == "in"
    assert cells["stablehlo.compare", "LT", "f32"]["subnormal"].outcome is Outcome.ROUNDED
    tanh = found.envelope("stablehlo.tanh", "f32")
    assert 1 <= (tanh.units or 0) <= 8
    assert not tanh.is_wrong
    assert found.probes["contracts a * b + c, f32"].startswith("yes")


def test_a_wrong_operation_is_found_with_a_module_that_shows_it() -> None:
    faulty = Faulty()
    found = judge.certify(faulty, only=some("stablehlo.tan", "stablehlo.negate"))
    assert found.cells["stablehlo.tan", "", "f32"]["signed"].outcome is Outcome.WRONG
    assert found.cells["stablehlo.negate", "", "f32"] == {}
    assert found.envelope("stablehlo.tan", "f32").is_wrong
    (fault,) = found.faults
    assert (fault.operation, fault.elements, fault.is_reproduced) == ("stablehlo.tan", "f32", True)
    assert fault.inputs.startswith("positive, signed")
    (oracle,) = INTERPRETER.compile(fault.module, numerics="exact")()
    assert oracle.shape == (1,)
    assert str(oracle[0]) == fault.oracle != fault.got
    assert not judge.grade(fault.module, faulty).passed


def test_an_operation_that_is_refused_costs_its_own_cell_alone() -> None:
    found = judge.certify(
        Faulty(refused="stablehlo.cosine"),
        only=some("stablehlo.cosine", "stablehlo.negate", "stablehlo.sign", "stablehlo.abs"),
    )
    assert found.refusals == {("stablehlo.cosine", "", "f32"): "ValueError: no stablehlo.cosine"}
    assert sorted(key[0] for key in found.cells) == [
        "stablehlo.abs", "stablehlo.negate", "stablehlo.sign",
    ]  # fmt: skip
    refused = found.envelope("stablehlo.cosine", "f32")
    assert (refused.units, refused.reason) == (None, "ValueError: no stablehlo.cosine")


def test_an_operation_that_fails_with_some_inputs_is_run_with_the_others() -> None:
    found = judge.certify(Faulty(fails_of_nan=True), only=some("stablehlo.negate"))
    cells = found.cells["stablehlo.negate", "", "f32"]
    assert {name: cell.outcome for name, cell in cells.items()} == {"special": Outcome.DIED}
    (fault,) = found.faults
    assert fault.got == "ValueError: a NaN"


def test_a_certificate_reads_back_as_it_was_written() -> None:
    found = judge.certify(
        Faulty(refused="stablehlo.cosine"),
        only=some("stablehlo.tan", "stablehlo.cosine", "stablehlo.slice", elements=["f32", "i8"]),
    )
    assert parsed(text_of(found)) == found


def test_a_journal_is_gone_on_from(tmp_path: Path) -> None:
    journal, only = tmp_path / "journal", some("stablehlo.tan", "stablehlo.sign")
    first = judge.certify(Faulty(), only=only, journal=journal)
    again, probes = Faulty(), len(first.probes)
    assert judge.certify(again, only=only, journal=journal) == first
    # The probes, and the module that shows what is wrong.
    assert again.calls == probes + 1
    with pytest.raises(ArgumentError, match="is the journal of"):
        judge.certify(Faulty(), only=only, journal=journal, seed=1)


def test_what_a_certificate_does_not_have_is_told() -> None:
    found = judge.certify(Faulty(), only=some("stablehlo.sign"))
    with pytest.raises(ArgumentError, match=r"has no stablehlo\.sign of f64"):
        found.envelope("stablehlo.sign", "f64")


def test_the_command_writes_a_certificate_and_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written, shown = tmp_path / "certificate.json", tmp_path / "certificate.md"
    options = ["--runtime", "interpreter", "--numerics", "exact", "--elements", "f32"]
    options += ["--json", str(written), "--markdown", str(shown)]
    assert main(["certify", *options, "--operations", "stablehlo.sign,stablehlo.abs"]) == 0
    printed = [line.split("  ") for line in capsys.readouterr().out.splitlines()]
    assert (printed[0][0], printed[0][-1].strip()) == ("has the oracle's bits for all inputs", "2")
    found = parsed(written.read_text())
    assert shown.read_text() == page(found)
    assert json.loads(written.read_text())["runtime"] == "interpreter"
    assert main(["certify", *options, "--operations", "stablehlo.sin"]) == 2
    assert "no operation is called 'stablehlo.sin'" in capsys.readouterr().err


def test_runtimes_have_certificates() -> None:
    assert {("xla", "fast"), ("xla", "exact"), ("iree", "fast")} <= set(SHIPPED)
    assert runtimes.certificate("xla", "exact") is certificates()["xla", "exact"]
    assert runtimes.certificate("interpreter") is None


@pytest.mark.parametrize("name", SHIPPED, ids="-".join)
def test_a_certificate_has_every_operation_that_the_oracle_executes(name: tuple[str, str]) -> None:
    found = certificates()[name]
    assert set(executed()) <= set(found.operations())
    assert left_out().items() <= dict(found.left_out).items()
    assert not any(key[0] in left_out() for key in found.cells)


@pytest.mark.parametrize("name", SHIPPED, ids="-".join)
def test_a_page_is_what_its_certificate_says(name: tuple[str, str]) -> None:
    assert (PAGES / f"{'-'.join(name)}.md").read_text() == page(certificates()[name])


@pytest.mark.parametrize("name", SHIPPED, ids="-".join)
def test_a_fresh_run_agrees_with_the_certificate(name: tuple[str, str]) -> None:
    runtime, numerics = name
    require(runtime)
    shipped = certificates()[name]
    only = some("stablehlo.add", "stablehlo.tanh", "stablehlo.slice")
    making = judge.Certification(runtime, numerics=numerics, only=only)
    assert [each.total for each in making.steps()] == [3, 3, 3]
    fresh = making.certificate(probes=False)
    if fresh.versions != shipped.versions or fresh.processor != shipped.processor:
        fresh, shipped = kinds(fresh), kinds(shipped)
    assert fresh.cells == {key: cells for key, cells in shipped.cells.items() if only(key)}
    assert fresh.refusals == {key: told for key, told in shipped.refusals.items() if only(key)}


def kinds(found: Certificate) -> Certificate:
    """Returns a certificate of what another version or processor may not change: what is wrong."""
    cells = {
        key: {name: cell for name, cell in classes.items() if cell.outcome is Outcome.WRONG}
        for key, classes in found.cells.items()
    }
    return replace(found, cells=cells)
