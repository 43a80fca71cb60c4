"""Bisection: which operation of a module a runtime computes wrongly, and what makes it right."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from topos import runtimes
from topos.engine import Numerics
from topos.judge.grading import BAD, SAMPLES, Grade, ResultGrade, grade, static
from topos.judge.replay import Replay, replays, steps_of
from topos.judge.verdicts import Verdict
from topos.stablehlo import Module, parse
from topos.stablehlo.forms import ModuleLike

# A wrong number of one operation that is this near is imprecise: its kernel is right, and coarse.
COARSE: Final = 1e-3
# What XLA can leave out, in the order in which it is tried.
XLA: Final[Sequence[Mapping[str, Any]]] = (
    {"xla_allow_excess_precision": False},
    {"xla_disable_hlo_passes": "algsimp"},
    {"xla_disable_hlo_passes": "fusion"},
    {"xla_disable_hlo_passes": "algsimp,fusion"},
    {"xla_cpu_enable_fast_math": False},
    {"xla_cpu_enable_fast_min_max": False},
)


class Finding(NamedTuple):
    """An operation that a runtime computes wrongly of the oracle's operands.

    `operands` are the numbers at the worst element, where the operation works element by element.
    """

    operation: str
    line: int
    location: str
    verdict: Verdict
    result: ResultGrade
    operands: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """Returns the finding as JSON has it."""
        place = self.result.worst or ()
        return {
            "operation": self.operation,
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
        of = f" of {', '.join(self.operands)}" if self.operands else ""
        at = f" {self.location}" if self.location else ""
        return (
            f"line {self.line}: {self.operation} is {self.verdict}{at}: got {got}{of},"
            f" the oracle has {expected} at {list(place)}"
        )


class Bisection(NamedTuple):
    """What was found: the grade of the whole module, the operations, and what makes it right.

    `attributes` tells that the module is right without the attributes of its arguments and results;
    `cures` are options under which XLA's results are right; `failures` what the runtime said of
    operations that it did not run alone. `seconds` has what each stage cost.
    """

    whole: Grade
    findings: tuple[Finding, ...]
    attributes: bool
    cures: tuple[Mapping[str, Any], ...]
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
            "right_with": [dict(each) for each in self.cures],
            "operations": [each.document() for each in self.findings],
            "replayed": self.replayed,
            "not_replayed": list(self.failures),
            "seconds": dict(self.seconds),
        }

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"the module is {self.whole.verdict} on {self.whole.runtime}"
        if self.whole.failure:
            yield self.whole.failure
        if self.attributes:
            yield "without the attributes of arguments, results and the module it is right"
        for cure in self.cures:
            yield f"with {', '.join(f'{name}={value}' for name, value in cure.items())} it is right"
        yield from map(str, self.findings)
        if not self.findings:
            yield f"none of its {self.replayed} operations is wrong alone"
        yield from (f"not replayed: {failure}" for failure in self.failures)
        yield ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in self.seconds.items())


def bisect(
    module: ModuleLike,
    runtime: str = "xla",
    arguments: Sequence[npt.ArrayLike] = (),
    *,
    seed: int = 0,
    samples: int = SAMPLES,
    numerics: Numerics | str = Numerics.FAST,
    options: Mapping[str, Any] | None = None,
) -> Bisection:
    """Returns which operations of `module` a runtime computes wrongly, each run on its own.

    Every operation is replayed with the oracle's operands, in private functions and loops too, so
    that a fault is found also where no result shows it. Takes and raises what `judge.grade` does.
    """
    bisector = _Bisector(runtime, seed, samples, numerics, options)
    return bisector.bisected(static(parse(module).verify(), arguments), arguments)


@dataclass
class _Bisector:
    """How a module is graded, and what each stage cost so far."""

    runtime: str
    seed: int
    samples: int
    numerics: Numerics | str
    options: Mapping[str, Any] | None
    seconds: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def bisected(self, module: Module, arguments: Sequence[npt.ArrayLike]) -> Bisection:
        """Goes through the stages, those that explain a wrong module only where it is wrong."""
        attributes, cures = False, list[Mapping[str, Any]]()
        with self._stage("whole"):
            whole = self._grade(module, arguments)
        if not whole.passed:
            with self._stage("attributes"):
                bare = _bare(module)
                attributes = bare != module and self._grade(bare, arguments).passed
            with self._stage("passes"):
                tried = XLA if self.runtime == "xla" else ()
                cures = [each for each in tried if self._grade(module, arguments, each).passed]
        with self._stage("oracle"):
            types = runtimes.load("interpreter").compile(module).signature.arguments
            pairs = zip(arguments, types, strict=True)
            steps = steps_of(module, [np.asarray(each, type.dtype) for each, type in pairs])
        with self._stage("replay"):
            findings = [each for part in replays(module, steps) for each in self._replayed(part)]
        return Bisection(
            whole, tuple(findings), attributes, tuple(cures), tuple(self.failures), len(steps),
            self.seconds,
        )  # fmt: skip

    def _grade(
        self,
        module: Module,
        arguments: Sequence[npt.ArrayLike],
        more: Mapping[str, Any] | None = None,
    ) -> Grade:
        return grade(
            module,
            self.runtime,
            arguments,
            seed=self.seed,
            samples=self.samples,
            numerics=self.numerics,
            options={**(self.options or {}), **(more or {})},
        )

    def _replayed(self, replay: Replay) -> list[Finding]:
        """Returns what is wrong of some operations; halves find the one that ends the others."""
        found = self._grade(replay.module, replay.arguments)
        if not found.failure:
            return list(_findings(replay, found))
        if len(replay.steps) == 1:
            operation = replay.steps[0].operation
            reason = found.failure.splitlines()[0]
            self.failures.append(f"line {operation.line}: {operation.name}: {reason}")
            return []
        middle = len(replay.steps) // 2
        parts = (replay.steps[:middle], replay.steps[middle:])
        return [
            each
            for part in parts
            for smaller in replays(replay.module, part)
            for each in self._replayed(smaller)
        ]

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start


def _bare(module: Module) -> Module:
    """Returns the module without attributes of its own and of @main's arguments and results."""
    main = module.function()
    plain = main._replace(
        arguments=tuple([each._replace(attributes={}) for each in main.arguments]),
        results=tuple([each._replace(attributes={}) for each in main.results]),
    )
    functions = tuple([plain if each is main else each for each in module.functions])
    return module._replace(attributes={}, functions=functions)


def _findings(replay: Replay, found: Grade) -> Iterator[Finding]:
    for step, start in zip(replay.steps, replay.starts, strict=True):
        results = found.results[start : start + len(step.results)]
        worst = max(results, key=lambda result: result.verdict)
        if worst.verdict not in BAD:
            continue
        operation, place = step.operation, worst.worst or ()
        operands = [each for each in step.operands if each.shape == worst.oracle.shape]
        shown = (
            [str(each[place]) for each in operands] if len(operands) == len(step.operands) else []
        )
        yield Finding(
            operation.name, operation.line, operation.location, _precision(worst), worst,
            tuple(shown),
        )  # fmt: skip


def _precision(result: ResultGrade) -> Verdict:
    place = result.worst or ()
    got, expected = result.result[place], result.oracle[place]
    if result.verdict is not Verdict.WRONG or result.oracle.dtype.kind in "biu":
        return result.verdict
    gap = abs(complex(got) - complex(expected))
    return Verdict.IMPRECISE if gap <= COARSE * abs(complex(expected)) else Verdict.WRONG
