"""The page of grades: what passed and what did not, with the distances of every result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from topos.judge.bisection.finding import Bisection, Finding
from topos.judge.bisection.locations import brief
from topos.judge.grading import Grade, ResultGrade
from topos.judge.pages.histogram import histogram
from topos.judge.pages.page import folded, page, paragraph, table
from topos.judge.verdicts import BAD

FOUND: Final = (
    "line", "operation", "verdict", "found by", "index", "operands", "got", "oracle", "source",
)  # fmt: skip


def graded_page(title: str, grades: Sequence[Grade]) -> str:
    """Returns the HTML of grades, such as those of one module on several runtimes."""
    return page(title, [part for grade in grades for part in _of_grade(grade)])


def bisected_page(title: str, found: Bisection) -> str:
    """Returns the HTML of a bisection: the wrong operations, and the grade of the whole module."""
    return page(title, [*_of_bisection(found), *_of_grade(found.whole)])


def _of_grade(grade: Grade) -> Iterator[str]:
    yield paragraph(grade.runtime, "h2")
    drawn = f"seed {grade.seed}, {grade.samples} samples"
    yield paragraph(f"{grade.outcome} ({drawn})", kind="good" if grade.passed else "bad")
    for inputs, reason in grade.failures.items():
        yield paragraph(f"failed for {inputs} inputs:")
        yield paragraph(reason, "pre")
    if grade.results:
        yield table([*_rows(grade)], right=frozenset({3, 5}))
    for result in grade.results:
        bad = result.verdict in BAD
        parts = [histogram(result.judgement)] if result.judgement.verdicts.size else []
        yield folded(f"{result.inputs} {result.name}: {result.verdict}", parts, unfolded=bad)


def _rows(grade: Grade) -> Iterator[tuple[str, ...]]:
    yield "inputs", "result", "type", "elements", "verdicts", "ill-conditioned", "worst element"
    for result in grade.results:
        yield (
            result.inputs, result.name, str(result.type), f"{result.oracle.size:,}",
            _counts(result), f"{result.ill_conditioned or ''}", result.worst_told(),
        )  # fmt: skip


def _counts(result: ResultGrade) -> str:
    return ", ".join(f"{count:,} {verdict}" for verdict, count in reversed(result.counts.items()))


def _found(finding: Finding) -> tuple[str, ...]:
    told = finding.document()
    return (
        str(finding.line), finding.operation, str(finding.verdict), finding.stage,
        str(told["index"]), ", ".join(finding.operands), told["got"], told["oracle"],
        brief(finding.location),
    )  # fmt: skip


def _of_bisection(found: Bisection) -> Iterator[str]:
    yield paragraph("Wrong operations", "h2")
    if found.findings:
        rows = [FOUND, *map(_found, found.findings)]
        yield table(rows, right=frozenset({0}))
    else:
        yield paragraph(f"none of {found.replayed} operations is wrong")
    if found.attributes:
        told = "It is right without the attributes of arguments, results and the module."
        yield paragraph(told)
    for told in (*map(str, found.cures), *(f"not replayed: {each}" for each in found.failures)):
        yield paragraph(told)
