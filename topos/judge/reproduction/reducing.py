"""Reducing: a failing module made smaller, step by step, as long as it fails in the same way."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

import numpy as np

from topos.errors import ToposError
from topos.judge.case import Case
from topos.judge.cases import STEPS
from topos.judge.constants import with_constants
from topos.judge.grading import Grade, graded
from topos.judge.progress import Stage, Watch, unwatched
from topos.judge.reproduction.axes import Axis, along, groups
from topos.judge.reproduction.chains import Chains, Part
from topos.judge.reproduction.shapes import WINDOWS, everywhere, extents, flattened
from topos.judge.samples.formats import is_floating
from topos.judge.target import Target
from topos.judge.verdicts import Verdict
from topos.runtimes.interpreter.program import Array

T = TypeVar("T")
# Arguments of so many elements get numbers of few digits, and of so many more become constants.
FEW, MANY = 16, 64
DIGITS: Final = (1, 2, 3, 5)
# What differs between two messages of the same fault.
VARYING: Final = re.compile(r"0x[0-9a-fA-F]+|%[\w#]+|tensor<[^>]*>|[0-9]+")


@dataclass
class Reducer:
    """The smallest part that fails so far; `attempts` is how often the runtime may still run.

    `grade` is what the runtime got for it; `watch` is called before every run. A smaller part is
    taken where the oracle runs it and the runtime fails in the same way: with the same message, or
    with a number as wrong as at first.
    """

    target: Target
    seed: int
    samples: int
    attempts: int
    watch: Watch = unwatched
    part: Part = field(init=False)
    grade: Grade = field(init=False)
    _sign: tuple[bool, str | Verdict] = field(init=False)

    def start(self, part: Part) -> bool:
        """Takes the part to begin with, and returns whether it fails."""
        grade = self._graded(part, None)
        if grade is None or grade.passed:
            return False
        self.part, self.grade, self._sign = part, grade, _sign(grade)
        return True

    def taken(self, candidate: Part | None) -> bool:
        """Takes a part where it fails as the first did, and returns whether it does."""
        if candidate is None:
            return False
        grade = self._graded(candidate)
        if grade is None or grade.passed or not self._is_alike(grade):
            return False
        self.part, self.grade = candidate, grade
        return True

    def any_taken(self, candidates: Iterable[Part | None]) -> bool:
        """Takes the first of some parts that fails, and returns whether one does."""
        return any(self.taken(each) for each in candidates)

    def _is_alike(self, grade: Grade) -> bool:
        failed, what = self._sign
        now, found = _sign(grade)
        if failed != now:
            return False
        return found == what if failed else grade.verdict >= what  # type: ignore[operator]

    def _graded(self, part: Part, max_steps: int | None = STEPS) -> Grade | None:
        """Returns the grade of a part, or `None` for one that is no module or has no attempt."""
        if self.attempts <= 0:
            return None
        try:
            case = Case(
                part.module, part.arguments, seed=self.seed, samples=self.samples,
                max_steps=max_steps,
            )  # fmt: skip
        # What the oracle cannot run, or not soon, is no smaller module.
        except ToposError:
            return None
        self.attempts -= 1
        operations = sum(1 for _ in part.module.walk())
        elements = sum(each.size for each in part.arguments)
        told = f"reducing: {operations} operations, {elements} elements in the arguments"
        self.watch(Stage(0, None, told))
        return graded([case], self.target, self.seed, self.samples)

    def shorten(self) -> None:
        """Leaves out operations, results, and attributes of the module."""
        chains = Chains(*self.part)
        places = shortest(chains.places, lambda kept: self.taken(chains.part(kept)))
        results = chains.living(places)
        if len(results) > 1:
            shortest(results, lambda kept: self.taken(chains.part(places, kept)))
        if self.part.module.attributes:
            self.taken(self.part._replace(module=self.part.module._replace(attributes={})))

    def shrink(self) -> None:
        """Leaves out elements: all around the worst one, or along one axis after another."""
        if self.any_taken(flattened(self.part, self._worst(), width) for width in WINDOWS):
            return
        for extent in extents(self.part):
            self._cut(extent, partial(_everywhere, extent))
        for extent in extents(self.part):
            for axes in groups(self.part, extent):
                shapes = [each.shape for each in self.part.arguments]
                if all(shapes[each.argument][each.axis] == extent for each in axes):
                    self._cut(extent, partial(_along, axes))

    def simplify(self) -> None:
        """Gives the numbers of small arguments few digits."""
        for place, array in enumerate(self.part.arguments):
            if array.size <= FEW and is_floating(array.dtype) and array.dtype.kind != "c":
                self.any_taken(self._with(place, each) for each in _rounded(array))

    def inline(self) -> bool:
        """Turns all arguments into constants where it still fails then."""
        part = self.part
        size = sum(each.size for each in part.arguments)
        aliased = any(each.attributes for each in part.module.function().arguments)
        if not part.arguments or size > MANY or aliased:
            return False
        return self.taken(with_constants(part))

    def _cut(self, extent: int, parts: Callable[[Part, Sequence[int]], Iterator[Part]]) -> None:
        """Leaves out places of an extent; each time those kept are cut from what it was before."""
        before = self.part
        shortest(range(extent), lambda kept: self.any_taken(parts(before, kept)))

    def _with(self, place: int, array: Array) -> Part:
        arguments = [*self.part.arguments]
        arguments[place] = array
        return self.part._replace(arguments=tuple(arguments))

    def _worst(self) -> int:
        """Returns the number of the worst element of the worst result."""
        if not self.grade.results:
            return 0
        result = max(self.grade.results, key=lambda each: each.verdict)
        place = result.worst
        return 0 if not place else int(np.ravel_multi_index(place, result.oracle.shape))


def shortest(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """Returns items of which none can be left out, in order, so that `fails` still holds.

    It holds for all of them. Halves are left out first, then smaller parts (Zeller and
    Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002).
    """
    kept, size = [*items], (len(items) + 1) // 2
    while size:
        start, before = 0, len(kept)
        while start < len(kept):
            rest = kept[:start] + kept[start + size :]
            if rest and fails(rest):
                kept = rest
            else:
                start += size
        if size == 1 and len(kept) == before:
            break
        size = max(1, min(size // 2, len(kept) // 2))
    return kept


def _everywhere(extent: int, part: Part, kept: Sequence[int]) -> Iterator[Part]:
    return everywhere(part, extent, kept)


def _along(axes: Sequence[Axis], part: Part, kept: Sequence[int]) -> Iterator[Part]:
    return along(part, axes, kept)


def _sign(grade: Grade) -> tuple[bool, str | Verdict]:
    if not grade.failures:
        return False, grade.verdict
    lines = grade.failure.splitlines() or [""]
    return True, VARYING.sub("_", lines[0])


def _rounded(array: Array) -> Iterator[Array]:
    """Yields an array with ever more digits of its numbers, as long as these differ from it."""
    for digits in DIGITS:
        numbers = [float(f"{float(each):.{digits - 1}e}") for each in array.reshape(-1)]
        rounded: Any = np.array(numbers, np.float64).reshape(array.shape).astype(array.dtype)
        if (rounded == array).all():
            return
        yield rounded
