"""`topos check` of a module: every runtime against the interpreter's exact results."""

from __future__ import annotations

import io
import json
import shlex
import sys
from pathlib import Path

import pytest

from topos import runtimes
from topos.cli import main

Captured = pytest.CaptureFixture[str]

TEXT = """
func.func @main(%x: tensor<64xf32>, %n: tensor<3xi32>) -> (tensor<64xf32>, tensor<3xi32>) {
  %0 = stablehlo.tanh %x : tensor<64xf32>
  return %0, %n : tensor<64xf32>, tensor<3xi32>
}
"""
FAST = ["--runtime", "interpreter", "--json"]


@pytest.fixture
def module(tmp_path: Path) -> str:
    path = tmp_path / "m.mlir"
    path.write_text(TEXT, encoding="utf-8")
    return str(path)


def test_a_module_is_run_and_its_deviations_are_told(
    module: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["check", module, *FAST]) == 0
    told = json.loads(capsys.readouterr().out)
    first, second = told["verdicts"]
    assert (first["verdict"], second["verdict"]) == ("deviates, no bound given", "bits equal")
    assert 0 < first["deviation"] < 1e-6
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode()), "utf-8"))
    assert main(["check", "-", "--runtime", "interpreter", "--numerics", "exact"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "runtime      result   deviation  verdict",
        "interpreter  result0  0.0e+00    bits equal",
        "interpreter  result1  0.0e+00    bits equal",
    ]


def test_a_bound_on_deviations_decides(module: str, capsys: Captured) -> None:
    for bound, status, verdict in (("1e-6", 0, "inside"), ("1e-12", 1, "OUTSIDE")):
        assert main(["check", module, *FAST, "--within", bound, "--random", "7"]) == status
        told = json.loads(capsys.readouterr().out)
        assert (told["passed"], told["verdicts"][0]["verdict"]) == (status == 0, verdict)


def test_a_refused_module_goes_to_no_runtime(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "m"
    path.write_text(TEXT.replace("tanh", "tanhh"), encoding="utf-8")
    assert main(["check", str(path)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"{path}:3:8: no operation is called stablehlo.tanhh")


def test_what_a_runtime_lacks_is_a_fault_only_where_it_is_named(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("iree.compiler")
    sharding = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}'
    path = tmp_path / "m"
    path.write_text(
        f'sdy.mesh @mesh = <["x"=1]>\nfunc.func @main(%x: tensor<64xf32> {sharding}) {{ return }}\n'
    )
    monkeypatch.setattr(runtimes, "names", lambda: ("interpreter", "iree"))
    for words, status in ((["--runtime", "iree"], 1), ([], 0)):
        assert main(["check", str(path), *words]) == status
        assert "lacking: line 1, column 1: the dialect sdy is not" in capsys.readouterr().out


def test_the_commands_of_the_environment_judge_a_module_that_topos_takes(
    module: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    python = shlex.quote(sys.executable)
    monkeypatch.setenv("TOPOS_STABLEHLO_VALIDATOR", f"{python} -m topos validate")
    monkeypatch.setenv("TOPOS_STABLEHLO_EVALUATOR", f"{python} -m topos eval")
    assert main(["check", module, "--runtime", "interpreter"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[3:] == [
        ["validator", "holds"],
        ["evaluator", "result0", "0.0e+00", "bits", "equal"],
        ["evaluator", "result1", "0.0e+00", "bits", "equal"],
    ]
    seen = tmp_path / "seen"
    monkeypatch.setenv("TOPOS_STABLEHLO_VALIDATOR", f"touch {shlex.quote(str(seen))}")
    monkeypatch.setenv("TOPOS_STABLEHLO_EVALUATOR", "false")
    assert main(["check", module, "--runtime", "interpreter"]) == 1
    assert "false ended with 1" in capsys.readouterr().out
    seen.unlink(missing_ok=True)
    broken = tmp_path / "broken.mlir"
    broken.write_text(TEXT.replace("tanh", "tanhh"))
    assert main(["check", str(broken), "--runtime", "interpreter"]) == 1
    assert not seen.exists()
