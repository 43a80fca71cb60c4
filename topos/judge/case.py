"""Cases: a module with its arguments, what the oracle returns for them, and samples of that."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from topos.errors import ArgumentError
from topos.judge.samples.ensemble import Ensemble, Samples
from topos.judge.samples.sampling import Freedom
from topos.judge.verdicts import BAD, NEAR, Explanation, Judgement, Verdict, judged
from topos.runtimes._signature import ModuleSignature, fitting
from topos.runtimes.interpreter.program import Array, limited
from topos.runtimes.interpreter.run import built
from topos.stablehlo import Module, parse
from topos.stablehlo.forms import ModuleLike, text_of

if TYPE_CHECKING:
    pass

SAMPLES: Final = 8
# How many more are drawn for what is suspect, and how much wider the noise is that tells of rare
# decisions.
MORE, WIDER = 16, 8.0
# How near to samples of wider noise a number must be, in their spreads.
CLOSE: Final = 3.0
# More steps than any run takes, to count them.
UNBOUNDED: Final = 2**62
# The name of the inputs that a caller chose.
GIVEN: Final = "given"


class _Wanted(NamedTuple):
    """One run of samples: how it is drawn, and what an element that it explains is called."""

    samples: int
    seed: int
    amplitude: float = 1.0
    freedom: Freedom = Freedom.NONE


class Case:
    """A module with its arguments; the oracle runs once, and samples are drawn when needed.

    `name` says which arguments they are. `results` are the oracle's, in the order of @main; its run
    stops after `max_steps` turns of loops and calls of functions. Where `known` has the results and
    the first samples, the oracle does not run. `text` is what a tree was read from, which errors
    show. Raises what reading the module raises, `ArgumentError` for arguments that do not fit, and
    what the oracle's own run raises: nothing is said of a module that the oracle cannot run.
    """

    def __init__(
        self,
        module: ModuleLike,
        arguments: Sequence[npt.ArrayLike] = (),
        *,
        seed: int = 0,
        samples: int = SAMPLES,
        name: str = GIVEN,
        names: Sequence[str] = (),
        max_steps: int | None = None,
        known: tuple[tuple[Array, ...], Samples] | None = None,
        text: str = "",
    ) -> None:
        if type(samples) is not int or samples < 2:
            raise ArgumentError(f"samples are a number from 2 on, got {samples!r}")
        demand_whole("a seed", seed)
        self.module = static(parse(module).verify(), arguments)
        self.seed, self.samples, self.name = seed, samples, name
        if not isinstance(module, Module):
            text = text_of(module)
        # The places of operations are those of the text that was read, not of the tree printed.
        self._oracle, self._steps = built(self.module, text=text), -1
        self.signature: ModuleSignature = self._oracle.signature
        self.results: tuple[Array, ...] = (
            self._run(arguments, max_steps) if known is None else known[0]
        )
        types = self.signature.arguments
        self.arguments: tuple[Array, ...] = tuple(
            [fitting(place, each, types[place]) for place, each in enumerate(arguments)]
        )
        self.names: tuple[str, ...] = tuple(names) or tuple(
            [f"result{place}" for place in range(len(self.results))]
        )
        self._drawn: dict[_Wanted, Samples] = {}
        if known is not None:
            self._drawn[_Wanted(samples, seed)] = known[1]

    def _run(self, arguments: Sequence[npt.ArrayLike], max_steps: int | None) -> tuple[Array, ...]:
        """Returns the oracle's results, and counts the steps of its run."""
        most = UNBOUNDED if max_steps is None else max_steps
        with limited(most) as budget:
            results = self._oracle(*arguments)
        assert budget is not None  # A number of steps was given.
        self._steps = most - budget[0]
        return results

    @cached_property
    def ensemble(self) -> Ensemble:
        """The module built for sampling."""
        return Ensemble(self.module)

    def drawn(
        self,
        samples: int,
        seed: int,
        amplitude: float = 1.0,
        freedom: Freedom = Freedom.NONE,
    ) -> Samples:
        """Returns samples of the results, the same arrays for the same wishes."""
        wanted = _Wanted(samples, seed, amplitude, freedom)
        if wanted not in self._drawn:
            if self._steps < 0:
                self._run(self.arguments, None)
            self._drawn[wanted] = self.ensemble.run(
                self.arguments, samples=samples, seed=seed, amplitude=amplitude, freedom=freedom,
                steps=self._steps,
            )  # fmt: skip
        return self._drawn[wanted]

    def judged(self, results: Sequence[Array]) -> list[Judgement]:
        """Returns a judgement of each result, which are arrays of the signature's types.

        Further samples are drawn as long as something is not explained.
        """
        first = self.drawn(self.samples, self.seed)
        plain, others = [first], list[tuple[Verdict, Samples, float]]()
        judgements = self._against(results, plain, others)
        if is_bad(judgements):
            run = self.drawn(MORE, self.seed, freedom=Freedom.RANGE)
            if run.freed:
                others.append((Verdict.RANGED, run, NEAR))
                judgements = self._against(results, plain, others)
        if is_bad(judgements):
            plain.append(self.drawn(MORE, self.seed + 1))
            judgements = self._against(results, plain, others)
        if is_bad(judgements):
            run = self.drawn(self.samples, self.seed + 2, WIDER)
            # Wider noise explains anything, so it is believed only where it turns more decisions.
            if run.decisions > first.decisions:
                others.append((Verdict.DECISION, run, CLOSE))
                judgements = self._against(results, plain, others)
        if is_bad(judgements):
            # Without rounding, samples differ only where nothing says what the value is.
            run = self.drawn(MORE, self.seed, 0.0, Freedom.OPEN)
            for judgement, samples in zip(judgements, run.results, strict=True):
                open_here = _is_bad_at(judgement) & _differing(samples)
                judgement.verdicts[open_here] = Verdict.UNSPECIFIED
        return judgements

    def _against(
        self,
        results: Sequence[Array],
        plain: Sequence[Samples],
        others: Sequence[tuple[Verdict, Samples, float]],
    ) -> list[Judgement]:
        judgements = []
        for place, (ours, theirs) in enumerate(zip(self.results, results, strict=True)):
            found = np.concatenate([run.results[place] for run in plain])
            explanations = [
                Explanation(verdict, np.concatenate([found, run.results[place]]), near)
                if verdict is not Verdict.DECISION
                else Explanation(verdict, run.results[place], near)
                for verdict, run, near in others
            ]
            judgements.append(judged(ours, theirs, found, explanations))
        return judgements


def demand_whole(what: str, number: object) -> None:
    """Raises `ArgumentError` unless a number is whole and not below 0."""
    if type(number) is not int or number < 0:
        raise ArgumentError(f"{what} is a whole number from 0 on, got {number!r}")


def static(module: Module, arguments: Sequence[npt.ArrayLike]) -> Module:
    """Returns the module with its open extents as the arguments have them."""
    opened = any(None in getattr(each.type, "shape", ()) for each in module.function().arguments)
    return module.specialize([np.asarray(each) for each in arguments]) if opened else module


def is_bad(judgements: Sequence[Judgement]) -> bool:
    """Returns whether any element has a verdict that a sound runtime does not get."""
    return any(bool(_is_bad_at(each).any()) for each in judgements)


def _is_bad_at(judgement: Judgement) -> Array:
    return np.asarray(judgement.verdicts >= min(BAD))


def _differing(samples: Array) -> Array:
    """Returns where samples are not all alike."""
    first = samples[:1]
    both_nan = (samples != samples) & (first != first)
    return np.asarray(((samples != first) & ~both_nan).any(axis=0))
