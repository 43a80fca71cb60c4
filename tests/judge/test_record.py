"""Recorded cases: results from elsewhere are judged as a runtime here would be."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from topos import judge
from topos.cli import main
from topos.errors import ArgumentError, ExecutionError
from topos.judge import Verdict
from topos.judge.samples.ensemble import Ensemble
from topos.runtimes._archive import save
from topos.runtimes.interpreter.run import InterpreterExecutable

SUM = """
func.func @main(%x: tensor<64xf32>, %y: tensor<2xbf16>) -> (tensor<f32>, tensor<2xbf16>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0]
      : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.multiply %y, %y : tensor<2xbf16>
  return %0, %1 : tensor<f32>, tensor<2xbf16>
}
"""


def arguments() -> list[Any]:
    generator = np.random.default_rng(1)
    values = generator.standard_normal(64).astype(np.float32)
    return [values, np.array([1.5, 3], ml_dtypes.bfloat16)]


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    judge.record(SUM, tmp_path / "case", arguments())
    return tmp_path / "case"


def test_a_recorded_case_judges_as_the_case_itself(
    recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = next(iter(judge.cases_of(SUM, arguments())))
    total, squares = case.results
    others = [total + np.float32(3e-6), np.asarray(squares)]
    expected = judge.grade_results(case, others)

    def runs(*_: object, **__: object) -> None:
        raise AssertionError("the oracle runs again")

    monkeypatch.setattr(InterpreterExecutable, "__call__", runs)
    monkeypatch.setattr(Ensemble, "run", runs)
    found = judge.grade_results(judge.recorded(recorded), others)
    assert found.document() == expected.document()
    assert found.verdict is Verdict.ROUNDING


def test_what_the_recorded_samples_do_not_explain_draws_more(recorded: Path) -> None:
    case = judge.recorded(recorded)
    total, squares = case.results
    found = judge.grade_results(case, [total + np.float32(1), squares])
    assert found.verdict is Verdict.WRONG
    assert [each.name for each in found.results] == ["result0", "result1"]
    with pytest.raises(ExecutionError, match="result 1 must be bfloat16"):
        judge.grade_results(case, [total, total])


@pytest.mark.parametrize("name", ["module.mlir", "args.npz", "expected.npz", "samples.npz"])
def test_a_case_with_another_file_is_refused(recorded: Path, name: str) -> None:
    file = recorded / name
    file.write_bytes(file.read_bytes() + b"\n")
    with pytest.raises(ArgumentError, match=f"{name} is not the file that was recorded"):
        judge.recorded(recorded)
    file.unlink()
    with pytest.raises(ArgumentError, match=f"has no {name}"):
        judge.recorded(recorded)


@pytest.mark.parametrize(
    "facts",
    [
        {"results": ["one"]}, {"results": 3}, {"seed": -1}, {"samples": "8"}, {"samples": 9},
        {"decisions": None}, {"inputs": []}, {"files": {}}, {"files": {"../case/args.npz": ""}},
        {"topos": "other"},
    ],
)  # fmt: skip
def test_a_manifest_that_is_no_case_s_is_refused(recorded: Path, facts: dict[str, Any]) -> None:
    manifest = recorded / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | facts))
    with pytest.raises(ArgumentError, match=r"record it again|write a case with topos record"):
        judge.recorded(recorded)


def test_a_case_replaces_a_case_and_nothing_else(recorded: Path, tmp_path: Path) -> None:
    judge.record(SUM, recorded, arguments(), seed=3)
    assert judge.recorded(recorded).seed == 3
    (tmp_path / "other").mkdir()
    judge.record(SUM, tmp_path / "other", arguments())
    (recorded / "mine").touch()
    with pytest.raises(ArgumentError, match="holds mine"):
        judge.record(SUM, recorded, arguments())
    with pytest.raises(ArgumentError, match="exists and is not a case"):
        judge.record(SUM, tmp_path, arguments())
    with pytest.raises(ArgumentError, match="one case, got 2: 'random', 'special'"):
        judge.record(SUM, tmp_path / "two", inputs=["random", "special"])
    assert sorted(each.name for each in tmp_path.iterdir()) == ["case", "other"]


def test_a_folder_stays_as_it_was_where_writing_fails(
    recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("no space")

    before = sorted((each.name, each.read_bytes()) for each in recorded.iterdir())
    monkeypatch.setattr("topos.judge.recording.save", full)
    with pytest.raises(OSError, match="no space"):
        judge.record(SUM, recorded, arguments())
    assert sorted((each.name, each.read_bytes()) for each in recorded.iterdir()) == before
    assert [each.name for each in recorded.parent.iterdir()] == ["case"]


def test_the_commands_record_here_and_judge_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module, given, case = tmp_path / "sum.mlir", tmp_path / "args.npz", tmp_path / "case"
    module.write_text(SUM)
    save(given, arguments(), "arg")
    assert main(["record", str(module), "--args", str(given), "--out", str(case)]) == 0
    digest = capsys.readouterr().out.rpartition("digest ")[2]
    there, results = tmp_path / "there", tmp_path / "results.npz"
    shutil.copytree(case, there)
    running = ["run", str(there / "module.mlir"), "--args", str(there / "args.npz")]
    assert main([*running, "--out", str(results)]) == 0
    assert main(["judge", str(there), str(results), "--json", str(tmp_path / "verdicts")]) == 0
    printed = capsys.readouterr().out
    assert digest in printed
    assert "given   result0  float32[]" in printed
    save(results, [np.array(7, np.float32), arguments()[1]], "result")
    assert main(["judge", str(there), str(results)]) == 1
    assert "wrong" in capsys.readouterr().out
    assert main(["judge", str(there), str(given)]) == 2
    assert main(["grade", str(there)]) == 2
    assert "is a case: topos judge takes it" in capsys.readouterr().err
    assert main(["judge", str(tmp_path), str(results)]) == 2
    assert "is no case: write a case with topos record" in capsys.readouterr().err
