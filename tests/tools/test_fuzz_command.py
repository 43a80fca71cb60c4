"""The fuzz of runtimes, some hundred texts of it: each runs, or is refused at a place."""

from __future__ import annotations

import importlib.util
import re
import resource
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.project.paths import ROOT
from tests.runtimes.require import require
from tests.runtimes.texts import SUM, ZERO_DIVISOR
from topos.errors import TextError
from topos.runtimes import verify

COUNT, SEED, CHUNKS = 800, 2026, 4
# A text takes a millisecond or two; a machine that is busy may take long over one.
LIMIT = 60.0
# Drawn in an order that StableHLO leaves to the runtime.
OTHER = """
func.func @main() -> tensor<4xf32> {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.constant dense<1.0> : tensor<f32>
  %2 = stablehlo.constant dense<4> : tensor<1xi64>
  %3 = stablehlo.rng %0, %1, %2, distribution = UNIFORM
      : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
"""


@pytest.fixture(scope="module")
def fuzz() -> Iterator[ModuleType]:
    """The command as a module, with what it imports from beside it."""
    spec = importlib.util.spec_from_file_location("fuzz", ROOT / "tools" / "fuzz_stablehlo.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    path = list(sys.path)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = path


@pytest.fixture(scope="module")
def texts(fuzz: ModuleType) -> list[str]:
    cases = fuzz.cases_of([ROOT / "tests" / "golden", ROOT / "tests" / "gallery"])
    return [case.text for case in cases]


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_mutated_text_runs_or_is_refused(fuzz: ModuleType, texts: list[str], chunk: int) -> None:
    for position in range(chunk, COUNT, CHUNKS):
        case = fuzz.Case("mutated", fuzz.mutated(texts, SEED, position))
        found = fuzz.interpreted(case, LIMIT)
        assert not found.fault, f"text {position}: {found.fault}"


def refusal(text: str) -> TextError | None:
    try:
        verify(text)
    except TextError as error:
        return error
    return None


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_mutated_text_is_refused_at_a_place_and_in_words(
    fuzz: ModuleType, texts: list[str], chunk: int
) -> None:
    positions = range(chunk, COUNT, CHUNKS)
    errors = {place: refusal(fuzz.mutated(texts, SEED, place)) for place in positions}
    refused = {place: error for place, error in errors.items() if error is not None}
    assert len(refused) > len(positions) // 2
    for place, error in refused.items():
        assert error.line > 0, place
        assert error.column > 0, place
        assert "expected something else" not in error.reason, place


def test_what_is_no_error_of_topos_is_a_fault(
    fuzz: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(text: str) -> None:
        raise KeyError(text)

    monkeypatch.setattr(sys.modules["fuzz_trials"], "verify", broken)
    found = fuzz.interpreted(fuzz.Case("x", "x"), LIMIT)
    assert (found.kind, found.fault) == ("fault", "KeyError: 'x'")


def test_a_text_that_takes_too_long_is_a_fault(
    fuzz: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(text: str) -> None:
        while True:
            pass

    monkeypatch.setattr(sys.modules["fuzz_trials"], "verify", endless)
    found = fuzz.interpreted(fuzz.Case("x", "x"), 0.1)
    assert (found.kind, found.fault) == ("late", "not done after 0.1 s")


def test_a_path_that_is_absent_is_told_in_a_line(
    fuzz: ModuleType, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(SystemExit) as ended:
        fuzz.main([str(tmp_path), str(tmp_path / "absent")])
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"there is no file or folder {tmp_path}/absent\n"


def test_a_foreign_runtime_is_held_against_the_interpreter(
    fuzz: ModuleType, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    require("xla")
    texts = {
        "sum": SUM,
        "quotient": ZERO_DIVISOR,
        "other": OTHER,
        "refused": SUM.replace("add", ""),
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.mlir").write_text(text)
    memory = resource.getrlimit(resource.RLIMIT_AS)
    with warnings.catch_warnings():
        status = fuzz.main([str(tmp_path), "--plain", "--runtime", "xla"])
    resource.setrlimit(resource.RLIMIT_AS, memory)
    assert status == 1
    counts = re.findall(r"^(\S.*?) +(\d+)$", capsys.readouterr().out, re.MULTILINE)
    died = [kind for kind, _ in counts if kind.startswith("died: SIG")]
    assert counts == [("ParseError", "1"), (died[0], "1"), ("differs", "1"), ("equal", "1")]
