"""A module that ends the process of a runtime costs a command one row or one line, not itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bundle.bundled_models import rewritten
from tests.runtimes.require import require
from tests.runtimes.texts import ZERO_DIVISOR
from topos import Tape
from topos.cli import main

# The sum of x and a number that XLA folds, and dies of.
KILLER = """\
module @killer {
  func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.constant dense<3> : tensor<3xi32>
    %1 = stablehlo.subtract %0, %0 : tensor<3xi32>
    %2 = stablehlo.divide %0, %1 : tensor<3xi32>
    %3 = stablehlo.convert %2 : (tensor<3xi32>) -> tensor<3xf32>
    %4 = stablehlo.add %x, %3 : tensor<3xf32>
    return %4 : tensor<3xf32>
  }
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> str:
    require("xla")
    tape = Tape()
    (tape.input(shape=[3], name="x") * 2.0).named("y")
    path = tape.into_network().entry(["y"]).lower().export(tmp_path / "b").path
    (path / "main.mlir").write_text(KILLER)
    rewritten(path)
    return str(path)


def test_a_run_tells_the_death_with_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    require("xla")
    path = tmp_path / "quotient.mlir"
    path.write_text(ZERO_DIVISOR)
    assert main(["run", str(path), "--runtime", "xla"]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"{path}: the xla runtime died of SIG")
    assert "while it compiled the module @quotient\n" in told


def test_a_check_tells_the_death_as_a_verdict(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", folder, "--runtime", "xla", "--runtime", "interpreter"]) == 1
    lines = capsys.readouterr().out.splitlines()
    (xla,) = [line for line in lines if line.startswith("xla")]
    assert "FAILED" in xla
    assert "the xla runtime died of SIG" in xla
    assert any(line.startswith("interpreter") and "OUTSIDE" in line for line in lines)


def test_a_bench_loses_a_row(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    runtimes = ["--runtime", "xla", "--runtime", "interpreter"]
    assert main(["bench", folder, *runtimes, "--seconds", "0.01"]) == 1
    out = capsys.readouterr().out
    rows = {line.split()[0]: line for line in out.splitlines() if line[:1].islower()}
    assert "µs" in rows["interpreter"] or "ms" in rows["interpreter"]
    assert "xla: the xla runtime died of SIG" in out
