"""`topos emit` as a shell would call it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.runtimes.require import require
from topos import runtimes
from topos.cli import main

Captured = pytest.CaptureFixture[str]

MODEL = """
import ml_dtypes
from topos import Element, Tape


def plan(element=None):
    tape = Tape()
    x = tape.input([1, 2], element=element, name="x")
    (x + x).named("y")
    return tape.into_network().entry(["y"]).lower()


one = plan()
small = plan(Element("f8E3M4", ml_dtypes.float8_e3m4))
several = [one, one]


def faulty():
    return 1 / 0
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "emitting.py").write_text(MODEL)
    monkeypatch.setattr("sys.path", [*sys.path])
    monkeypatch.delitem(sys.modules, "emitting", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_plan_and_a_function_are_written_as_text(project: Path, capsys: Captured) -> None:
    assert main(["emit", "emitting.py:one"]) == 0
    text = capsys.readouterr().out
    assert '%v0: tensor<2xf32> {topos.name = "x"}' in text
    assert main(["emit", "emitting:plan", "-o", "model.mlir"]) == 0
    assert (project / "model.mlir").read_text() == text
    assert main(["emit", "emitting.py:one", "--form", "generic"]) == 0
    assert '"stablehlo.add"' in capsys.readouterr().out


def test_a_binary_form_is_written_for_a_version(project: Path) -> None:
    require("xla")
    words = ["emit", "emitting.py:one", "-o", "model.bc", "--form"]
    assert main([*words, "artifact", "--version", "1.0.0"]) == 0
    assert b"StableHLO_v1.0.0" in (project / "model.bc").read_bytes()[:24]
    runtimes.verify(project / "model.bc")
    assert main([*words, "bytecode"]) == 0
    runtimes.verify(project / "model.bc")


REFUSED = {
    ("several",): (2, "emitting.py:several needs a plan, got list"),
    ("none",): (2, "emitting.py has no 'none'"),
    ("faulty",): (1, "ZeroDivisionError"),
    ("one", "--version", "new"): (2, "needs a version such as 1.13.7"),
    ("small", "--version", "1.0.0"): (1, "StableHLO 1.0.0 cannot hold the module: it lacks"),
    ("one", "-o", "none/model.mlir"): (2, "none/model.mlir: there is no folder"),
}


@pytest.mark.parametrize("words", REFUSED, ids=lambda words: " ".join(words))
def test_what_cannot_be_written_says_why(
    project: Path, capsys: Captured, words: tuple[str, ...]
) -> None:
    if "--version" in words:
        require("xla")
    status, reason = REFUSED[words]
    assert main(["emit", f"emitting.py:{words[0]}", *words[1:]]) == status
    captured = capsys.readouterr()
    assert reason in captured.err
    assert captured.out == ""
