"""Checks: a bundle verified, and its sample run on every runtime that is here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy.typing as npt

from topos.bundle.bundle import Bundle, Call, Program
from topos.bundle.compiled import Terms, prepared
from topos.bundle.manifest import MANIFEST
from topos.bundle.modules import module_verdicts
from topos.bundle.report import (
    Answers,
    Check,
    State,
    Verdict,
    blocked,
    is_slow,
    judged,
    ready,
    told,
)
from topos.engine import Numerics
from topos.errors import ArgumentError
from topos.runtimes import Runtime
from topos.runtimes._runtime import isolating

Array = npt.NDArray[Any]

# How many names of files a verdict has room for.
SHOWN: Final = 4


def check(
    bundle: Bundle | str | os.PathLike[str],
    names: str | Sequence[str] | None = None,
    *,
    numerics: Numerics | str = Numerics.FAST,
    isolated: bool = False,
    compiled: bool = False,
) -> Check:
    """Returns what becomes of a bundle: of its files, its modules, and its sample on runtimes.

    What else lies in the folder is listed, and is no fault.

    Our verifier reads each module, and jaxlib's does where it is installed; the artifact has to
    hold the same module. Then the sample runs on the runtimes called `names`, or on every one
    that is ready; of the latter, one that lacks an operation is told and is no fault. No runtime
    is given a module that our verifier refuses. With `isolated` a foreign runtime runs in its
    worker, and where that dies the verdict says so. `compiled` runs the machine code that the
    bundle holds for a runtime, where it fits, and trusts it as a program. Raises `ArgumentError`
    for arguments of another kind, `BundleError` where the bundle cannot be loaded,
    `UnavailableError` for a runtime that is not ready.
    """
    _demand_names(names)
    chosen = ready((names,) if isinstance(names, str) else names)
    arithmetic = Numerics.of(numerics)
    loaded = bundle if isinstance(bundle, Bundle) else Bundle.load(bundle)
    verdicts = _folder_verdicts(loaded)
    for program in loaded.programs:
        verdicts += module_verdicts(program, loaded.compatibility)
    verified = Check(loaded, tuple(verdicts))
    weights = loaded.weights()
    for runtime in chosen:
        options = isolating(runtime) if isolated else {}
        placed = {name: runtime.place(array, options=options) for name, array in weights.items()}
        for program in loaded.programs:
            if verified.refused(program):
                verdicts.append(blocked(runtime.name, program))
            else:
                run = _Run(runtime, program, placed, Terms(arithmetic, options, compiled))
                verdicts += _verdicts(runtime, program, run.answers, names is not None)
                verdicts += run.forms
    return Check(loaded, tuple(verdicts))


def _folder_verdicts(bundle: Bundle) -> list[Verdict]:
    """Returns a verdict on what the folder holds beside the bundle, where it holds anything."""
    names = bundle.unlisted()
    if not names:
        return []
    shown = ", ".join(map(ascii, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")
    reason = f"{shown}: not in {MANIFEST}, so never read, and an export does not replace the folder"
    return [Verdict("folder", "", "", State.UNLISTED, reason=reason)]


def _demand_names(names: Any) -> None:
    known = names is None or isinstance(names, Iterable)
    if not known or not all(isinstance(name, str) for name in names or ()):
        raise ArgumentError(f"a check needs names of runtimes, got {names!r}")


def _verdicts(
    runtime: Runtime,
    program: Program,
    answers: Answers,
    named: bool,
) -> list[Verdict]:
    """Returns the verdicts on a program; a runtime that was named may not pass over anything."""
    if not named and is_slow(runtime, program.text):
        reason = f"slow: name {runtime.name} to run it"
        return [told(runtime.name, program, State.SKIPPED, reason)]
    found = judged(runtime.name, program, answers)
    if not named:
        return found
    return [
        each._replace(state=State.FAILED) if each.state is State.LACKING else each for each in found
    ]


class _Run:
    """A program to run on a runtime, and what became of its compiled forms when it did."""

    def __init__(
        self,
        runtime: Runtime,
        program: Program,
        placed: Mapping[str, Any],
        terms: Terms,
    ) -> None:
        self._runtime, self._program, self._placed = runtime, program, placed
        self._terms = terms
        self.forms: list[Verdict] = []

    def answers(self, calls: Sequence[Call]) -> list[tuple[Array, ...]]:
        """Returns what the program returns, made ready and with its weights held by the runtime."""
        made = prepared(self._runtime, self._program, self._terms)
        self.forms = made.verdicts(self._program)
        bound = made.executable.bind(self._program.resident(self._placed))
        return [bound(*self._program.given(call)) for call in calls]
