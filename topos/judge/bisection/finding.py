"""Findings: the wrong operations of a module, and all that a bisection found of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from topos.judge.bisection.cures import Cure
from topos.judge.bisection.locations import brief
from topos.judge.bisection.replay import Step
from topos.judge.grading import Grade, ResultGrade
from topos.judge.verdicts import Verdict
from topos.stablehlo import Module
from topos.stablehlo.ir import Operation

# A wrong number of one operation that is this near is imprecise: its kernel is right, and coarse.
COARSE: Final = 1e-3


class Finding(NamedTuple):
    """An operation that a runtime computes wrongly.

    `stage` says how it was found. In a "replay" it ran alone of the oracle's operands, those of
    `step`; `operands` are the numbers at the worst element, where it works element by element. Else
    `cut` is the module that shows it.
    """

    operation: str
    line: int
    location: str
    verdict: Verdict
    result: ResultGrade
    operands: tuple[str, ...]
    stage: str
    step: Step | None = None
    cut: Module | None = None

    def document(self) -> dict[str, Any]:
        """Returns the finding as JSON has it."""
        place = self.result.worst or ()
        return {
            "operation": self.operation,
            "stage": self.stage,
            "line": self.line,
            "location": self.location or None,
            "verdict": str(self.verdict),
            "index": list(place),
            "operands": list(self.operands),
            "got": str(self.result.result[place]),
            "oracle": str(self.result.oracle[place]),
        }

    def __str__(self) -> str:
        place = self.result.worst or ()
        got, expected = self.result.result[place], self.result.oracle[place]
        few = len(self.operands) == 1
        given = f" for operand{'' if few else 's'} {', '.join(self.operands)}"
        source = f" (from {brief(self.location)})" if self.location else ""
        return (
            f"line {self.line}: {self.operation} is {self.verdict} at {list(place)}:"
            f" got {got!s}{given if self.operands else ''}, the oracle has {expected!s}{source}"
        )


class Bisection(NamedTuple):
    """What was found: the grade of the whole module, the operations, and what makes it right.

    `attributes` tells that the module is right without the attributes of its arguments and results;
    `cures` are options under which XLA's results are better; `failures` what the runtime said of
    operations that it did not run alone. `seconds` has what each stage cost.
    """

    whole: Grade
    findings: tuple[Finding, ...]
    attributes: bool
    cures: tuple[Cure, ...]
    failures: tuple[str, ...]
    replayed: int
    seconds: Mapping[str, float]

    @property
    def passed(self) -> bool:
        """Whether the whole module and every operation of it passed."""
        return self.whole.passed and not self.findings

    def document(self) -> dict[str, Any]:
        """Returns what was found as JSON has it."""
        return {
            "passed": self.passed,
            "module": self.whole.document(),
            "right_without_attributes": self.attributes,
            "better_with": [
                {"option": each.name, "value": each.value, "verdict": str(each.verdict)}
                for each in self.cures
            ],
            "operations": [each.document() for each in self.findings],
            "replayed": self.replayed,
            "not_replayed": list(self.failures),
            "seconds": dict(self.seconds),
        }

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"the whole module on {self.whole.runtime}: {self.whole.outcome}"
        yield from self.whole.failures.values()
        if self.attributes:
            yield "without the attributes of arguments, results and the module it is right"
        yield from map(str, self.cures)
        yield from map(str, self.findings)
        if not self.findings:
            yield f"none of its {self.replayed} operations is wrong alone"
        yield from (f"not replayed: {failure}" for failure in self.failures)
        spent = ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in self.seconds.items())
        yield f"time: {spent}"


def finding_of(
    operation: Operation,
    location: str,
    stage: str,
    worst: ResultGrade,
    *,
    step: Step | None = None,
    cut: Module | None = None,
) -> Finding:
    """Returns the finding on an operation whose worst result is `worst`."""
    place, shown = worst.worst or (), []
    if step is not None and all(each.shape == worst.oracle.shape for each in step.operands):
        shown = [str(each[place]) for each in step.operands]
    return Finding(
        operation.name, operation.line, location, _precision(worst), worst, tuple(shown), stage,
        step, cut,
    )  # fmt: skip


def _precision(result: ResultGrade) -> Verdict:
    place = result.worst or ()
    got, expected = result.result[place], result.oracle[place]
    if result.verdict is not Verdict.WRONG or result.oracle.dtype.kind in "biu":
        return result.verdict
    gap = abs(complex(got) - complex(expected))
    return Verdict.IMPRECISE if gap <= COARSE * abs(complex(expected)) else Verdict.WRONG
