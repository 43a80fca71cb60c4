"""Reproducers: the smallest module found on which a runtime still fails, and its arguments."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy.typing as npt

from topos.engine import Numerics, Plan
from topos.errors import ArgumentError, ExecutionError
from topos.judge.bisection.bisect import bisected
from topos.judge.bisection.finding import Bisection, Finding
from topos.judge.bisection.locations import Locations
from topos.judge.bisection.replay import alone
from topos.judge.case import SAMPLES, Case
from topos.judge.cases import cases_of
from topos.judge.grading import Grade
from topos.judge.progress import Watch, unwatched
from topos.judge.reproduction.chains import Part
from topos.judge.reproduction.folder import save
from topos.judge.reproduction.reducing import Reducer
from topos.judge.target import Target, TargetLike
from topos.runtimes._inputs import EXTENT
from topos.runtimes.interpreter.program import Array
from topos.stablehlo import Module
from topos.stablehlo.forms import ModuleLike
from topos.stablehlo.walks import called_first

if TYPE_CHECKING:
    from topos.bundle import Bundle

# How often the runtime may run while a module is reduced.
ATTEMPTS: Final = 200


class Reproducer(NamedTuple):
    """A module on which a runtime fails; `arguments` are none where it has them as constants.

    `finding` is the operation it was made from, or `None` where the fault is of the whole module;
    `grade` is what the runtime got for it. `runs` is how often the runtime ran on the way.
    """

    module: Module
    arguments: tuple[Array, ...]
    grade: Grade
    target: Target
    finding: Finding | None
    needs_attributes: bool
    runs: int

    @property
    def case(self) -> Case:
        """The module with its arguments and what the oracle returns."""
        return Case(self.module, self.arguments, seed=self.grade.seed, samples=self.grade.samples)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes the reproducer as a folder, all of it or nothing.

        It holds what `record` writes, so that `recorded` reads it, `report.md`, the text of a bug
        report, and for XLA and IREE `reproduce.py`, which runs the module without topos, and ran
        once to tell in the report what it gave. Raises `ArgumentError` where the folder holds
        anything but a reproducer.
        """
        save(self, folder)

    def document(self) -> dict[str, Any]:
        """Returns the reproducer as JSON has it."""
        return {
            "module": str(self.module),
            "operation": None if self.finding is None else self.finding.document(),
            "needs_attributes": self.needs_attributes,
            "runs": self.runs,
            "grade": self.grade.document(),
        }

    def __str__(self) -> str:
        return f"{self.module}{self.grade}"


def reduce(
    subject: ModuleLike | Plan | Bundle,
    runtime: TargetLike = "xla",
    arguments: Sequence[npt.ArrayLike] | None = None,
    *,
    inputs: Sequence[str] = (),
    extent: int = EXTENT,
    seed: int = 0,
    samples: int = SAMPLES,
    numerics: Numerics | str = Numerics.FAST,
    options: Mapping[str, Any] | None = None,
    attempts: int = ATTEMPTS,
    watch: Watch = unwatched,
) -> Reproducer | None:
    """Returns the smallest module found on which a runtime fails, or `None` where it does not.

    Raises `ExecutionError` where it failed at first, and then no more.

    The module is bisected, and the operation that is wrong, or the shortest chain of operations, is
    cut down as long as it is wrong in the same way: fewer operations and elements, numbers of few
    digits, arguments as constants. A module that the runtime refuses or that ends it is cut down as
    long as it says the same. The runtime runs up to `attempts` times after the bisection. `watch`
    is called as each stage begins and before each of these runs. Takes and raises what
    `judge.grade` does.
    """
    if type(attempts) is not int or attempts < 1:
        raise ArgumentError(f"attempts are a number from 1 on, got {attempts!r}")
    target, locations = Target(runtime, numerics, options), Locations.of(subject)
    for case in cases_of(subject, arguments, inputs, seed=seed, samples=samples, extent=extent):
        found = bisected(case, target, locations, watch)
        if not found.passed:
            made = reduced(case, target, found, attempts, watch)
            if made is None:
                raise ExecutionError(
                    f"{target} failed, and when the same ran again it did not: its results differ "
                    "from run to run, or depend on what runs beside, and there is nothing to reduce"
                )
            return made
    return None


def reduced(
    case: Case,
    target: Target,
    found: Bisection,
    attempts: int = ATTEMPTS,
    watch: Watch = unwatched,
) -> Reproducer | None:
    """Returns what `reduce` does, of a case that is bisected; `None` where nothing fails again."""
    for finding, part in _starts(case, found):
        reducer = Reducer(target, case.seed, case.samples, attempts, watch)
        if not reducer.start(part):
            continue
        reducer.shorten()
        reducer.shrink()
        reducer.simplify()
        reducer.inline()
        return Reproducer(
            *reducer.part, reducer.grade, target, finding, finding is None and found.attributes,
            attempts - reducer.attempts,
        )  # fmt: skip
    return None


def _starts(case: Case, found: Bisection) -> Iterator[tuple[Finding | None, Part]]:
    """Yields what may be reduced, the operations first and the whole module last."""
    for finding in sorted(found.findings, key=lambda each: -each.verdict):
        if finding.step is not None:
            main = alone("main", finding.step)._replace(attributes={})
            everyone = {each.name: each for each in case.module.functions} | {"main": main}
            functions = tuple([everyone[each] for each in called_first(everyone, ["main"])])
            module = case.module._replace(attributes={}, functions=functions)
            places = [
                finding.step.operation.operands.index(each)
                for each in dict.fromkeys(finding.step.operation.operands)
            ]
            yield finding, Part(module, tuple([finding.step.operands[each] for each in places]))
        elif finding.cut is not None:
            names = [each.name for each in case.module.function().arguments]
            given = dict(zip(names, case.arguments, strict=True))
            taken = [given[each.name] for each in finding.cut.function().arguments]
            yield finding, Part(finding.cut, tuple(taken))
    if not found.whole.passed:
        yield None, Part(case.module, case.arguments)
