"""The shared conformance cases, where they are found: each runs, or is refused, as it is due."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from tests.stablehlo.conformance import (
    FOLDER,
    agrees,
    case_of,
    facts_of,
    held,
    listed,
    text_of,
)
from topos.errors import TextError, ToposError, UnsupportedError
from topos.runtimes import verify
from topos.runtimes.interpreter import run_text

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the shared cases are not here")

# So many tests of about as many cases each, which several processes share.
CHUNKS = 8
chunked = pytest.mark.parametrize("chunk", range(CHUNKS))
# Of the texts that a verifier refuses, so many are to be refused.
SHARE = 0.95
Check = Callable[[str], str]


def faults(names: Iterable[str], check: Check) -> list[str]:
    """Returns what `check` tells of every case that is not as it is due."""
    told = [(name, check(name)) for name in names]
    return [f"{name}: {fault}" for name, fault in told if fault]


def fault_of(name: str, texts: str = "corpus.zip") -> str:
    case = case_of(name, texts)
    try:
        results = run_text(case.text, case.arguments)
    except ToposError as error:
        return f"{type(error).__name__}: {error}"
    if len(results) != len(case.results):
        return f"{len(case.results)} results are due, got {len(results)}"
    due = zip(results, case.results, case.comparisons, strict=True)
    wrong = [place for place, each in enumerate(due) if not agrees(*each)]
    return f"result {wrong[0]} differs" if wrong else ""


@chunked
@pytest.mark.parametrize("cases", ["open.txt", "chlo_open.txt"])
def test_a_case_has_its_results(cases: str, chunk: int) -> None:
    assert faults(sorted(listed(cases))[chunk::CHUNKS], fault_of) == []


@pytest.mark.parametrize("texts", ["corpus_generic.zip", "corpus_loc.zip"])
def test_a_case_in_another_form_has_the_same_results(texts: str) -> None:
    # The parser's own tests have every operation in both forms; here are some of each kind.
    names = sorted(held(texts, ".mlir") & set(listed("open.txt")))[::4]
    assert names
    assert faults(names, lambda name: fault_of(name, texts)) == []


def test_a_quantized_case_is_refused_as_not_supported() -> None:
    names = listed("quant_open.txt")
    for name in names:
        with pytest.raises(UnsupportedError):
            run_text(text_of("corpus.zip", name), case_of(name).arguments)
    assert names


def refusal(name: str) -> TextError | None:
    try:
        verify(text_of("parse_corpus.zip", name))
    except TextError as error:
        return error
    return None


def expected(verdict: str) -> list[str]:
    names = listed("parse_open.txt")
    return [name for name in names if facts_of("parse_corpus.zip", name)["expect"] == verdict]


def fault_of_acceptance(name: str) -> str:
    error = refusal(name)
    return "" if error is None else str(error)


@chunked
def test_what_a_verifier_takes_is_taken(chunk: int) -> None:
    assert faults(sorted(expected("accept"))[chunk::CHUNKS], fault_of_acceptance) == []


def test_what_a_verifier_refuses_is_refused_with_its_place() -> None:
    names = expected("reject")
    told = {name: refusal(name) for name in names}
    for error in filter(None, told.values()):
        assert error.line > 0
        assert error.column > 0
        assert error.source_line
    taken = [name for name, error in told.items() if error is None]
    assert len(taken) <= (1 - SHARE) * len(names), taken
