"""The fuzz of the interpreter, some hundred texts of it: each runs, or is refused at a place."""

from __future__ import annotations

import importlib.util
import signal
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.project.paths import ROOT
from topos.errors import TextError
from topos.runtimes import verify

COUNT, SEED, CHUNKS = 800, 2026, 4
# A text takes a millisecond or two; a machine that is busy may take long over one.
LIMIT = 60.0


@pytest.fixture(scope="module")
def fuzz() -> Iterator[ModuleType]:
    """The command as a module, whose alarm is set for as long as the tests run."""
    spec = importlib.util.spec_from_file_location("fuzz", ROOT / "tools" / "fuzz_stablehlo.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    path = list(sys.path)
    spec.loader.exec_module(module)
    before = signal.signal(signal.SIGALRM, module.alarm)
    yield module
    signal.signal(signal.SIGALRM, before)
    sys.path[:] = path


@pytest.fixture(scope="module")
def texts(fuzz: ModuleType) -> list[str]:
    found: list[str] = fuzz.texts_of([ROOT / "tests" / "golden", ROOT / "tests" / "gallery"])
    return found


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_mutated_text_runs_or_is_refused(fuzz: ModuleType, texts: list[str], chunk: int) -> None:
    for position in range(chunk, COUNT, CHUNKS):
        found = fuzz.outcome(fuzz.mutated(texts, SEED, position), LIMIT)
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

    monkeypatch.setattr(fuzz, "verify", broken)
    assert fuzz.outcome("x", LIMIT) == ("fault", "KeyError: 'x'")


def test_a_text_that_takes_too_long_is_a_fault(
    fuzz: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(text: str) -> None:
        while True:
            pass

    monkeypatch.setattr(fuzz, "verify", endless)
    assert fuzz.outcome("x", 0.1) == ("late", "not done after 0.1 s")
