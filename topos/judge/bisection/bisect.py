"""Bisection: which operation of a module a runtime computes wrongly, and what makes it right."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy.typing as npt

from topos.engine import Numerics, Plan
from topos.judge.bisection.cures import Cure, cures
from topos.judge.bisection.cutting import Cut, length, operation_at, truncated, watched
from topos.judge.bisection.finding import Bisection, Finding, finding_of
from topos.judge.bisection.locations import Locations
from topos.judge.bisection.replay import Replay, Step, replays, steps_of
from topos.judge.case import SAMPLES, Case, is_bad
from topos.judge.cases import cases_of
from topos.judge.grading import Grade, graded
from topos.judge.progress import Stage, Watch, unwatched
from topos.judge.target import RunError, Target, TargetLike
from topos.judge.verdicts import BAD
from topos.runtimes._inputs import EXTENT
from topos.stablehlo import Module
from topos.stablehlo.forms import ModuleLike

if TYPE_CHECKING:
    from topos.bundle import Bundle

# The stages that name an operation, as findings tell them.
REPLAY, WATCHED, TRUNCATED = "replay", "intermediates", "truncation"
# After so many operations a runtime that fails at each is taken to fail at all.
HOPELESS: Final = 8
NO_LOCATIONS: Final = Locations("")


def bisect(
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
) -> Bisection:
    """Returns which operations of a module a runtime computes wrongly.

    Every operation is replayed alone with the oracle's operands, in private functions and loops
    too, so that a fault is found also where no result shows it. Where the module is wrong and no
    operation of it is, the values between them are looked at: all at once, and then by cutting the
    module in ever shorter parts. Of several sets of inputs, it is told of the first that shows
    something. `watch` is called as each stage and each part of the replay begins. Takes and raises
    what `judge.grade` does.
    """
    target, locations = Target(runtime, numerics, options), Locations.of(subject)
    found = None
    for case in cases_of(subject, arguments, inputs, seed=seed, samples=samples, extent=extent):
        found = bisected(case, target, locations, watch)
        if not found.passed:
            break
    assert found is not None  # There is a case of every subject, and a bundle has samples.
    return found


def bisected(
    case: Case,
    target: Target,
    locations: Locations = NO_LOCATIONS,
    watch: Watch = unwatched,
) -> Bisection:
    """Returns what `bisect` does, of one case."""
    return _Bisector(case, target, locations, watch).bisected()


@dataclass
class _Bisector:
    """A case, the runtime, and what each stage cost so far."""

    case: Case
    target: Target
    locations: Locations
    watch: Watch
    seconds: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    ran: bool = False

    def bisected(self) -> Bisection:
        """Goes through the stages, those that explain a wrong module only where it is wrong."""
        attributes = False
        with self._stage("whole"):
            whole = graded([self.case], self.target)
        if not whole.passed:
            with self._stage("attributes"):
                attributes = self._is_right_without_attributes()
        made = list[Cure]()
        if not whole.failures:
            with self._stage("options"):
                made = [*cures(self.case, self.target, whole)]
        with self._stage("oracle"):
            steps = steps_of(self.case.module, self.case.arguments)
        with self._stage(REPLAY):
            parts = self._parts(steps)
            findings = [each for part in parts for each in self._replayed(part)]
        if not (whole.passed or findings or attributes or whole.failures):
            findings = self._between()
        return Bisection(
            whole, tuple(findings), attributes, tuple(made), tuple(self.failures), len(steps),
            self.seconds,
        )  # fmt: skip

    def _parts(self, steps: Sequence[Step]) -> Iterator[Replay]:
        done = 0
        for part in replays(self.case.module, steps):
            told = f"{self.case.name} inputs: {REPLAY} from line {part.steps[0].operation.line}"
            self.watch(Stage(done, len(steps), told))
            done += len(part.steps)
            yield part

    def _is_right_without_attributes(self) -> bool:
        module = self.case.module
        bare = without_attributes(module)
        if bare == module:
            return False
        try:
            results = self.target.run(bare, self.case.arguments, self.case.signature)
        except RunError:
            return False
        return not is_bad(self.case.judged(results))

    def _replayed(self, replay: Replay) -> list[Finding]:
        """Returns what is wrong of some operations; halves find the one that ends the others.

        A runtime that ran nothing so far, and failed at `HOPELESS` operations alone, is not asked
        about the rest.
        """
        if not self.ran and len(self.failures) >= HOPELESS:
            lines = ", ".join(str(each.operation.line) for each in replay.steps)
            self.failures.append(f"lines {lines}: the runtime ran none of those before")
            return []
        found = graded([self._case(replay.module, replay.arguments)], self.target)
        if not found.failures:
            self.ran = True
            return list(self._findings(replay, found))
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

    def _findings(self, replay: Replay, found: Grade) -> Iterator[Finding]:
        for step, start in zip(replay.steps, replay.starts, strict=True):
            results = found.results[start : start + len(step.results)]
            worst = max(results, key=lambda result: result.verdict)
            if worst.verdict in BAD:
                location = self.locations.resolved(step.operation.location)
                yield finding_of(step.operation, location, REPLAY, worst, step=step)

    def _between(self) -> list[Finding]:
        """Returns the first operation of @main whose value is wrong where nothing is alone.

        All values together are believed only where what @main returns is still wrong, for asking
        for them changes what is compiled.
        """
        module = self.case.module
        with self._stage(WATCHED):
            every = watched(module)
            wrong = self._first_wrong(every, WATCHED)
            results = module.function().body.blocks[0].operations[-1].operands  # type: ignore[union-attr]
            if wrong is not None and wrong[1] & {*results}:
                return [wrong[0]]
        with self._stage(TRUNCATED):
            found = self._shortest(module)
            return [] if found is None else [found]

    def _shortest(self, module: Module) -> Finding | None:
        """Returns the operation with which the shortest part of @main that is wrong ends."""
        right, wrong, found = 0, length(module), None
        while right < wrong:
            middle = (right + wrong) // 2
            cut = truncated(module, middle)
            shown = None if cut is None else self._first_wrong(cut, TRUNCATED)
            if shown is None:
                right = middle + 1
                continue
            wrong, found = middle, shown[0]
        whole = truncated(module, wrong)
        if found is None and whole is not None:
            shown = self._first_wrong(whole, TRUNCATED)
            found = None if shown is None else shown[0]
        if found is None:
            return None
        # What lives at the end may have been computed earlier, and is wrong of the last alone.
        operation = operation_at(module, wrong - 1)
        location = self.locations.resolved(operation.location)
        return finding_of(operation, location, TRUNCATED, found.result, cut=found.cut)

    def _first_wrong(self, cut: Cut, stage: str) -> tuple[Finding, set[str]] | None:
        """Returns the first wrong value of a cut as a finding, with the names of all wrong ones."""
        found = graded([self._case(cut.module, self._arguments(cut.module))], self.target)
        wrong = (
            [
                (name, operation, result)
                for name, operation, result in zip(
                    cut.values, cut.operations, found.results, strict=True
                )
                if result.verdict in BAD
            ]
            if not found.failures
            else []
        )
        if not wrong:
            return None
        _, operation, result = wrong[0]
        location = self.locations.resolved(operation.location)
        finding = finding_of(operation, location, stage, result, cut=cut.module)
        return finding, {name for name, _, _ in wrong}

    def _arguments(self, cut: Module) -> list[npt.ArrayLike]:
        """Returns the arguments of the case that a cut takes, which keep their names."""
        names = [each.name for each in self.case.module.function().arguments]
        given = dict(zip(names, self.case.arguments, strict=True))
        return [given[each.name] for each in cut.function().arguments]

    def _case(self, module: Module, arguments: Sequence[npt.ArrayLike]) -> Case:
        return Case(module, arguments, seed=self.case.seed, samples=self.case.samples)

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        self.watch(Stage(0, None, f"{self.case.name} inputs: {name}"))
        yield
        self.seconds[name] = time.perf_counter() - start


def without_attributes(module: Module) -> Module:
    """Returns the module without attributes of its own and of @main's arguments and results."""
    main = module.function()
    plain = main._replace(
        arguments=tuple([each._replace(attributes={}) for each in main.arguments]),
        results=tuple([each._replace(attributes={}) for each in main.results]),
    )
    functions = tuple([plain if each is main else each for each in module.functions])
    return module._replace(attributes={}, functions=functions)
