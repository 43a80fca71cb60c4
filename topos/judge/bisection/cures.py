"""Cures: the passes and options of XLA without which a result is right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from topos.judge.case import Case
from topos.judge.grading import Grade, graded
from topos.judge.target import Target
from topos.judge.verdicts import Verdict

PASSES: Final = "xla_disable_hlo_passes"
# Passes that rewrite numbers, by the names that XLA calls them by.
NAMES: Final = (
    "algsimp", "fusion", "cpu-instruction-fusion", "constant_folding", "reshape-mover",
    "simplify-fp-conversions", "cse", "dot_decomposer", "transpose-folding",
    "reduce-window-rewriter", "while-loop-simplifier", "conditional-canonicalizer",
    "gather_expander", "sort-simplifier", "slice-sinker",
)  # fmt: skip
# An option that leaves at most this share of the differences has made most of them.
FEWER: Final = 0.5
EXCESS: Final = "xla_allow_excess_precision"
SETTINGS: Final[Mapping[str, Any]] = {
    EXCESS: False,
    "xla_cpu_enable_fast_math": False,
    "xla_cpu_enable_fast_min_max": False,
    "xla_cpu_multi_thread_eigen": False,
    "xla_cpu_parallel_codegen_split_count": 1,
}


class Cure(NamedTuple):
    """An option under which the results are better, the verdict then, and how many differ still."""

    name: str
    value: Any
    verdict: Verdict
    differing: int

    def __str__(self) -> str:
        differing = f", and {self.differing} elements differ" if self.differing else ""
        return f"with {self.name}={self.value} it is {self.verdict}{differing}"


def cures(case: Case, target: Target, before: Grade) -> Iterator[Cure]:
    """Yields what makes the results of XLA better, first settings and then passes.

    Of results that passed, the excess precision of 16-bit elements alone is looked at. All passes
    are left out at once first: one that does not matter is then never tried alone.
    """
    if target.runtime != "xla" or before.verdict is Verdict.EQUAL:
        return
    if before.passed:
        if "f16" in str(case.module):
            yield from _tried(case, target, before, EXCESS, SETTINGS[EXCESS])
        return
    for name, value in SETTINGS.items():
        yield from _tried(case, target, before, name, value)
    every = ",".join(NAMES)
    without_all = [*_tried(case, target, before, PASSES, every)]
    alone = [
        cure
        for each in (NAMES if without_all else ())
        for cure in _tried(case, target, before, PASSES, each)
    ]
    # Where it takes several passes, all of them are told.
    yield from alone or without_all


def _tried(case: Case, target: Target, before: Grade, name: str, value: Any) -> Iterator[Cure]:
    stated = dict(target.options or {})
    kept = stated.get(name)
    if name == PASSES and kept:
        value = f"{kept},{value}"
    elif kept is not None:
        return
    found = graded([case], replace(target, options={**stated, name: value}))
    differing = _differing(found)
    fewer = before.passed and differing <= FEWER * _differing(before)
    if not found.failures and (found.verdict < before.verdict or fewer):
        yield Cure(name, value, found.verdict, differing)


def _differing(grade: Grade) -> int:
    """Returns how many elements have other bits than the oracle's."""
    return sum(int(each.judgement.verdicts.astype(bool).sum()) for each in grade.results)
