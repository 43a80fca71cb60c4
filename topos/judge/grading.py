"""Grading: a module on a runtime, every element of its results with a verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from topos import runtimes
from topos.engine import Numerics
from topos.errors import ArgumentError
from topos.judge.ensemble import Ensemble, Samples
from topos.judge.sampling import Freedom
from topos.judge.target import RunError, Target
from topos.judge.verdicts import NEAR, Explanation, Judgement, Verdict, judged
from topos.runtimes._signature import ArrayType
from topos.runtimes.interpreter.program import Array
from topos.stablehlo import Module, parse
from topos.stablehlo.forms import ModuleLike

SAMPLES: Final = 8
# How many more are drawn for what is suspect, and how much wider the noise is that tells of rare
# decisions.
MORE, WIDER = 16, 8.0
# How near to samples of wider noise a number must be, in their spreads.
CLOSE: Final = 3.0
BAD: Final = frozenset({Verdict.SUSPECT, Verdict.IMPRECISE, Verdict.WRONG})


class ResultGrade(NamedTuple):
    """One result: its verdicts, and the element that is farthest from the oracle's."""

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

    def worst_told(self) -> str:
        """Returns the worst element in words, "" where all are equal."""
        place = self.worst
        if place is None:
            return ""
        distance = float(self.judgement.distances[place])
        got, expected = self.result[place], self.oracle[place]
        return f"{list(place)}: got {got}, the oracle has {expected}, {distance:.3g} spreads"


class Grade(NamedTuple):
    """The verdict on one module and one runtime for one set of arguments.

    `failure` is what a runtime said that refused the module or died; there are no results then.
    """

    runtime: str
    seed: int
    samples: int
    results: tuple[ResultGrade, ...]
    failure: str = ""

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of any element; `WRONG` where the runtime failed."""
        if self.failure:
            return Verdict.WRONG
        return max((result.verdict for result in self.results), default=Verdict.EQUAL)

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong or suspect."""
        return self.verdict not in BAD

    def document(self) -> dict[str, Any]:
        """Returns the grade as JSON has it; a distance beyond all numbers is `None`."""
        return {
            "runtime": self.runtime,
            "seed": self.seed,
            "samples": self.samples,
            "verdict": str(self.verdict),
            "passed": self.passed,
            "failure": self.failure or None,
            "results": [_entry(result) for result in self.results],
        }

    def __str__(self) -> str:
        if self.failure:
            return f"{self.runtime} failed: {self.failure}"
        return "\n".join([_line(result) for result in self.results])


def _entry(result: ResultGrade) -> dict[str, Any]:
    entry: dict[str, Any] = {
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
    return f"{told}; worst {worst}" if worst else told


def grade(
    module: ModuleLike,
    runtime: str = "xla",
    arguments: Sequence[npt.ArrayLike] = (),
    *,
    seed: int = 0,
    samples: int = SAMPLES,
    numerics: Numerics | str = Numerics.FAST,
    options: Mapping[str, Any] | None = None,
) -> Grade:
    """Returns the verdicts on the results of `module` from a runtime, which runs in its worker.

    `runtime` is the name of one, or a command line that is called as `COMMAND MODULE ARGS.npz
    RESULTS.npz`; `numerics` and `options` are for one that has a name. Raises what reading the
    module raises, `UnavailableError` where the runtime is not ready, and what the oracle's own run
    raises: nothing is said of a module that the oracle cannot run. What the runtime raises is the
    grade's `failure`.
    """
    if type(samples) is not int or samples < 2:
        raise ArgumentError(f"samples are a number from 2 on, got {samples!r}")
    tree = static(parse(module).verify(), arguments)
    oracle = runtimes.load("interpreter").compile(tree, numerics=Numerics.EXACT)
    expected = oracle(*arguments)
    taken = [
        np.asarray(each, wanted.dtype)
        for each, wanted in zip(arguments, oracle.signature.arguments, strict=True)
    ]
    target = Target(runtime, numerics, options)
    try:
        results = target.run(tree, taken, oracle.signature)
    except RunError as error:
        return Grade(runtime, seed, samples, (), str(error))
    judgements = _judgements(Ensemble(tree), taken, expected, results, seed, samples)
    graded = [
        ResultGrade(f"result{place}", ArrayType(ours.shape, ours.dtype), judgement, ours, theirs)
        for place, (ours, theirs, judgement) in enumerate(
            zip(expected, results, judgements, strict=True)
        )
    ]
    return Grade(runtime, seed, samples, tuple(graded))


def static(module: Module, arguments: Sequence[npt.ArrayLike]) -> Module:
    opened = any(None in getattr(each.type, "shape", ()) for each in module.function().arguments)
    return module.specialize([np.asarray(each) for each in arguments]) if opened else module


def _judgements(
    ensemble: Ensemble,
    arguments: Sequence[Array],
    expected: Sequence[Array],
    results: Sequence[Array],
    seed: int,
    samples: int,
) -> list[Judgement]:
    """Returns the judgements, by further samples as long as something is not explained."""
    first = ensemble.run(arguments, samples=samples, seed=seed)
    plain, others = [first.results], list[tuple[Verdict, Samples, float]]()

    def judge() -> list[Judgement]:
        judgements = []
        for place, (ours, theirs) in enumerate(zip(expected, results, strict=True)):
            found = np.concatenate([run[place] for run in plain])
            explanations = [
                Explanation(verdict, np.concatenate([found, run.results[place]]), near)
                if verdict is not Verdict.DECISION
                else Explanation(verdict, run.results[place], near)
                for verdict, run, near in others
            ]
            judgements.append(judged(ours, theirs, found, explanations))
        return judgements

    judgements = judge()
    for verdict, freedom in (
        (Verdict.RANGED, Freedom.RANGE),
        (Verdict.UNSPECIFIED, Freedom.OPEN),
    ):
        if _is_bad(judgements):
            run = ensemble.run(arguments, samples=MORE, seed=seed, freedom=freedom)
            if run.freed:
                others.append((verdict, run, NEAR))
                judgements = judge()
    if _is_bad(judgements):
        plain.append(ensemble.run(arguments, samples=MORE, seed=seed + 1).results)
        judgements = judge()
    if _is_bad(judgements):
        run = ensemble.run(arguments, samples=samples, seed=seed + 2, amplitude=WIDER)
        # Wider noise explains anything, so it is believed only where it turns more decisions.
        if run.decisions > first.decisions:
            others.append((Verdict.DECISION, run, CLOSE))
            judgements = judge()
    return judgements


def _is_bad(judgements: Sequence[Judgement]) -> bool:
    return any(bool((each.verdicts >= min(BAD)).any()) for each in judgements)
