"""Grading: a module on a runtime, every element of its results with a verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from topos.engine import Numerics, Plan
from topos.judge.case import SAMPLES, Case
from topos.judge.cases import cases_of
from topos.judge.progress import Stage, Watch, unwatched
from topos.judge.samples.formats import is_floating
from topos.judge.target import RunError, Target, TargetLike
from topos.judge.verdicts import BAD, Judgement, Verdict
from topos.runtimes._inputs import EXTENT
from topos.runtimes._signature import ArrayType
from topos.runtimes.interpreter.program import Array
from topos.stablehlo.forms import ModuleLike

if TYPE_CHECKING:
    from topos.bundle import Bundle


class ResultGrade(NamedTuple):
    """One result for one set of inputs: its verdicts, and the element that is farthest off."""

    inputs: str
    name: str
    type: ArrayType
    judgement: Judgement
    oracle: Array
    result: Array

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of any element."""
        return Verdict(int(self.judgement.verdicts.max(initial=0)))

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many elements have each verdict."""
        counts = Counter(self.judgement.verdicts.ravel().tolist())
        return {Verdict(value): count for value, count in sorted(counts.items())}

    @property
    def worst(self) -> tuple[int, ...] | None:
        """The index of the worst element, or `None` where all are equal."""
        verdicts, distances = self.judgement.verdicts, self.judgement.distances
        if not verdicts.size or self.verdict is Verdict.EQUAL:
            return None
        candidates = np.where(verdicts == self.verdict, distances, -1.0)
        return tuple(int(each) for each in np.unravel_index(candidates.argmax(), verdicts.shape))

    @property
    def ill_conditioned(self) -> int:
        """How many elements rounding leaves no two digits."""
        return int(self.judgement.ill_conditioned.sum())

    @property
    def _is_nan(self) -> bool:
        """Whether the oracle has no number at all, so that little was compared."""
        floats = self.oracle if is_floating(self.oracle.dtype) else np.zeros(0)
        return floats.size > 0 and bool(np.isnan(floats).all())

    def worst_told(self) -> str:
        """Returns the worst element in words, "" where all are equal numbers."""
        place = self.worst
        if place is None:
            return "all are NaN" if self._is_nan else ""
        distance = float(self.judgement.distances[place])
        got, expected = self.result[place], self.oracle[place]
        far = f"{distance:.3g} spreads away"
        if self.verdict is Verdict.ROUNDING and not distance:
            far = "within 2 units in the last place"
        # `str` gives the fewest digits that tell an f32 apart; `format` gives those of an f64.
        return f"{list(place)}: got {got!s}, the oracle has {expected!s}, {far}"


class Grade(NamedTuple):
    """The verdict on one subject and one runtime, for one set of inputs or several.

    `failures` are what the runtime said where it refused the module or died, by the set of inputs,
    which has no results then.
    """

    runtime: str
    seed: int
    samples: int
    results: tuple[ResultGrade, ...]
    failures: Mapping[str, str]

    @property
    def failure(self) -> str:
        """What the runtime said first that failed, or ""."""
        return next(iter(self.failures.values()), "")

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of any element; `WRONG` where the runtime failed."""
        if self.failures:
            return Verdict.WRONG
        return max((result.verdict for result in self.results), default=Verdict.EQUAL)

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong or suspect."""
        return self.verdict not in BAD

    @property
    def outcome(self) -> str:
        """The verdict in words, or "failed" where the runtime did."""
        return "failed" if self.failures else str(self.verdict)

    def document(self) -> dict[str, Any]:
        """Returns the grade as JSON has it; a distance beyond all numbers is `None`."""
        return {
            "runtime": self.runtime,
            "seed": self.seed,
            "samples": self.samples,
            "verdict": str(self.verdict),
            "passed": self.passed,
            "failures": dict(self.failures),
            "results": [_entry(result) for result in self.results],
        }

    def __str__(self) -> str:
        failed = [
            f"{self.runtime} failed for {inputs} inputs: {reason}"
            for inputs, reason in self.failures.items()
        ]
        several = len({result.inputs for result in self.results} | {*self.failures}) > 1
        lines = [
            f"{result.inputs} inputs: {_line(result)}" if several else _line(result)
            for result in self.results
        ]
        return "\n".join([*failed, *lines]) or "no results"


def _entry(result: ResultGrade) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "inputs": result.inputs,
        "name": result.name,
        "type": str(result.type),
        "verdict": str(result.verdict),
        "counts": {str(verdict): count for verdict, count in result.counts.items()},
        "ill_conditioned": result.ill_conditioned,
    }
    place = result.worst
    if place is not None:
        distance = float(result.judgement.distances[place])
        entry["worst"] = {
            "index": list(place),
            "got": str(result.result[place]),
            "oracle": str(result.oracle[place]),
            "spreads": distance if np.isfinite(distance) else None,
        }
    return entry


def _line(result: ResultGrade) -> str:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in result.counts.items())
    told = f"{result.name}: {result.type}: {counts or 'no elements'}"
    if result.ill_conditioned:
        told += f", {result.ill_conditioned} ill-conditioned"
    worst = result.worst_told()
    if result.worst is not None:
        return f"{told}; worst {worst}"
    return f"{told}; {worst}" if worst else told


def grade(
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
    watch: Watch = unwatched,
) -> Grade:
    """Returns the verdicts on the results of a module, a plan or a bundle from a runtime.

    `runtime` is the name of one, which runs in its worker; a command line that is called as
    `COMMAND MODULE ARGS.npz RESULTS.npz`; or a function that takes a `Module` and its arguments and
    returns the results. `numerics` and `options` are for one that has a name. `arguments`, `inputs`
    and `extent` are those of `cases_of`. Raises what reading the module raises,
    `UnavailableError` where the runtime is not ready, and what the oracle's own run raises: nothing
    is said of a module that the oracle cannot run. What the runtime raises is a failure of the
    grade. `watch` is called before every run and before the results are judged.
    """
    cases = cases_of(subject, arguments, inputs, seed=seed, samples=samples, extent=extent)
    return graded(cases, Target(runtime, numerics, options), seed, samples, watch)


def graded(
    cases: Iterable[Case],
    target: Target,
    seed: int = 0,
    samples: int = SAMPLES,
    watch: Watch = unwatched,
) -> Grade:
    """Returns the verdicts on what a runtime returns for cases, one after another."""
    results, failures = list[ResultGrade](), dict[str, str]()
    watch(Stage(0, None, "the oracle runs"))
    for done, case in enumerate(cases):
        watch(Stage(done, None, f"{case.name} inputs: the runtime runs"))
        try:
            found = target.run(case.module, case.arguments, case.signature)
        except RunError as error:
            failures[case.name] = str(error)
        else:
            watch(Stage(done, None, f"{case.name} inputs: samples of the oracle"))
            results += results_of(case, found)
    return Grade(str(target), seed, samples, tuple(results), failures)


def results_of(case: Case, found: Sequence[Array]) -> list[ResultGrade]:
    """Returns the verdicts on results of a case, which are arrays of its signature's types."""
    return [
        ResultGrade(case.name, name, ArrayType(ours.shape, ours.dtype), judgement, ours, theirs)
        for name, ours, theirs, judgement in zip(
            case.names, case.results, found, case.judged(found), strict=True
        )
    ]
