"""A faulty runtime: a sound, noisy run of a module in which one operation is faulty.

It is one sample of the judge's own noise, from a seed of its own. A fault is named by the line and
column of its operation, which a module of replayed operations keeps, so the same faulty runtime
runs the whole module and the operation alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from tools.judge_faults import BY_OPERATION, KINDS, Call, Fault
from topos.errors import ExecutionError
from topos.judge.samples.branching import Turns
from topos.judge.samples.ensemble import _SampledBuilder
from topos.judge.samples.sampling import Freedom, Sampling
from topos.runtimes.interpreter.context import BuildContext, Builder, Constant
from topos.runtimes.interpreter.program import Array, Kernel, Place, single
from topos.stablehlo import Module
from topos.stablehlo.definition import Definition

# How often one operation may run before a loop is taken for one that a fault made endless.
LONGEST: Final = 20_000


@dataclass
class Injection:
    """What is injected into a run: one fault, or `None`; or, to survey, every kind everywhere.

    A fault that is not `applied` is only tried.

    `active` are the faults that changed the result of an operation at any time of a run.
    """

    seed: int = 0
    fault: Fault | None = None
    applied: bool = True
    surveys: bool = False
    active: set[Fault] = field(default_factory=set)
    calls: Counter[Place] = field(default_factory=Counter)

    def wanted(self, op: Definition) -> list[Fault]:
        """Returns the faults that are to be tried on an operation now."""
        place = (op.operation.line, op.operation.column)
        self.calls[place] += 1
        if self.calls[place] > LONGEST:
            raise ExecutionError(f"{op.operation.name} runs without end")
        if not self.surveys:
            named = (op.operation.name, place)
            return [self.fault] if self.fault is not None and self.fault[1:] == named else []
        found = [Fault(kind, op.operation.name, place) for kind in BY_OPERATION[type(op)]]
        return [fault for fault in found if fault not in self.active]


class FaultyRun:
    """A verified module, built to run once with noise and, where one is given, with a fault."""

    def __init__(self, module: Module) -> None:
        self._sampling, self._injection = Sampling(), Injection()
        self._program = _FaultyBuilder(module, self._sampling, self._injection).main()

    def run(
        self,
        arguments: Sequence[Array],
        seed: int,
        fault: Fault | None = None,
        *,
        applied: bool = True,
    ) -> tuple[tuple[Array, ...], bool]:
        """Returns the results, and whether the fault changed the result of its operation.

        A fault that is not `applied` is only tried: the results are sound, of the noise that those
        of the fault have. Raises `ExecutionError` where a loop does not end.
        """
        results = self._run(arguments, Injection(seed, fault, applied=applied))
        return results, bool(self._injection.active)

    def survey(self, arguments: Sequence[Array], seed: int) -> list[Fault]:
        """Returns the faults that change the result of their operation, in the module's order."""
        self._run(arguments, Injection(seed, applied=False, surveys=True))
        return sorted(self._injection.active, key=lambda fault: (fault.place, fault.kind))

    def _run(self, arguments: Sequence[Array], injection: Injection) -> tuple[Array, ...]:
        # The kernels hold the injection, so it is filled anew.
        vars(self._injection).update(vars(injection))
        self._sampling.start(1, injection.seed, 1.0, Freedom.NONE)
        with np.errstate(all="ignore"):
            results = self._program.run(*[np.array(each)[None] for each in arguments])
        return tuple([each[0] for each in results])


@dataclass(frozen=True)
class FaultyRuntime:
    """A runtime for the judge: a sound run from a seed, but for one fault."""

    seed: int
    fault: Fault | None = None

    def __call__(self, module: Module, arguments: Sequence[Array]) -> tuple[Array, ...]:
        return FaultyRun(module).run(arguments, self.seed, self.fault)[0]


class _FaultyBuilder(_SampledBuilder):
    """Builds programs over samples whose kernels may be faulty."""

    def __init__(self, module: Module, sampling: Sampling, injection: Injection) -> None:
        super().__init__(module, sampling, Turns(), free=False)
        self._injection = injection
        # What a faulty operation draws does not move what the others draw.
        self._aside = Sampling()
        self._beside = _SampledBuilder(module, self._aside, Turns(), free=False)

    def _kernel(self, builder: Builder, context: BuildContext[Any]) -> Kernel | Constant:
        kernel = super()._kernel(builder, context)
        if isinstance(kernel, Constant) or type(context.op) not in BY_OPERATION:
            return kernel
        beside: Any = self._beside._kernel(builder, context)
        return _Faulty(context.op, kernel, beside, self._aside, self._injection)


class _Faulty:
    """A kernel that does what is injected.

    The sound and the faulty results are of one noise, that of a sampling which begins anew for
    each.
    """

    def __init__(
        self,
        op: Definition,
        kernel: Kernel,
        beside: Kernel,
        sampling: Sampling,
        injection: Injection,
    ) -> None:
        self._op, self._kernel, self._beside = op, kernel, beside
        self._sampling, self._injection = sampling, injection

    def __call__(self, *operands: Array) -> Any:
        injection = self._injection
        faults = injection.wanted(self._op)
        if not faults:
            return self._kernel(*operands)
        # A kernel may write to what dies with it.
        taken = tuple([np.array(each[0]) for each in operands])
        sound = self._run(*taken)
        results = sound
        for fault in faults:
            made = KINDS[fault.kind].change(Call(self._op, taken, sound, self._run))
            if made is None or all(map(_same, made, sound)):
                continue
            injection.active.add(fault)
            results = made
        if injection.surveys:
            return self._kernel(*operands)
        return single([each[None] for each in (results if injection.applied else sound)])

    def _run(self, *operands: Array) -> tuple[Array, ...]:
        place = (self._op.operation.line, self._op.operation.column)
        number = (self._injection.seed, *place, self._injection.calls[place])
        seed = int(np.random.default_rng(number).integers(2**31))
        self._sampling.start(1, seed, 1.0, Freedom.NONE)
        found = self._beside(*[each[None].copy() for each in operands])
        several = found if isinstance(found, list | tuple) else [found]
        return tuple([np.array(each[0]) for each in several])


def _same(one: Array, other: Array) -> bool:
    return np.ascontiguousarray(one).tobytes() == np.ascontiguousarray(other).tobytes()
