"""Reports: what a check found, as a table for people and a document for programs."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from topos.bundle.bundle import Bundle, Program
from topos.bundle.judgement import VERIFIER, State, Verdict

__all__ = ["Check"]

HEADINGS = ("judge", "program", "result", "deviation", "envelope", "verdict")


class Check(NamedTuple):
    """What a bundle was found to be; its text is a table with a summary below."""

    bundle: Bundle
    verdicts: tuple[Verdict, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong, and somebody ran the sample."""
        return bool(self._ran()) and all(each.state.passes for each in self.verdicts)

    def refused(self, program: Program) -> bool:
        """Returns whether our verifier refused a program, which then goes to no other judge."""
        own = (each for each in self.verdicts if each.judge == VERIFIER)
        return any(each.program == program.name and not each.state.passes for each in own)

    def summary(self) -> str:
        """Returns one line on how it ended."""
        wrong = sum(not each.state.passes for each in self.verdicts)
        if wrong:
            return f"{wrong} of {len(self.verdicts)} do not hold{self._blocked()}"
        ran = ", ".join(self._ran())
        return f"holds on {ran}" if ran else "nobody ran the sample"

    def document(self) -> dict[str, Any]:
        """Returns the same for JSON, where an infinite deviation is null."""
        return {
            "bundle": str(self.bundle.path),
            "name": self.bundle.name,
            "version": self.bundle.version,
            "passed": self.passed,
            "verdicts": [_entry(each) for each in self.verdicts],
        }

    def __str__(self) -> str:
        rows = [HEADINGS, *map(_cells, self.verdicts)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        own = self.bundle
        head = f"{own.name} {own.version}: every file as its digest says"
        return "\n".join([head, *lines, self.summary()])

    def _blocked(self) -> str:
        """Returns how many the faults kept from running, where there are any."""
        count = sum(each.state is State.BLOCKED for each in self.verdicts)
        verb = "was" if count == 1 else "were"
        return f", and {count} {verb} not run for that" if count else ""

    def _ran(self) -> list[str]:
        judges = (each.judge for each in self.verdicts if each.deviation is not None)
        return list(dict.fromkeys(judges))


def _cells(verdict: Verdict) -> tuple[str, ...]:
    numbers = (verdict.deviation, verdict.envelope)
    told = f"{verdict.state.value}: {verdict.reason}" if verdict.reason else verdict.state.value
    return (
        *(verdict.judge, verdict.program, verdict.result),
        *("" if number is None else f"{number:.1e}" for number in numbers),
        told,
    )


def _entry(verdict: Verdict) -> dict[str, Any]:
    entry = verdict._asdict() | {"state": verdict.state.name.lower()}
    if verdict.deviation is not None and not math.isfinite(verdict.deviation):
        entry["deviation"] = None
    return entry
