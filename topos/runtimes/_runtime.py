"""What a runtime is: a module in, an executable out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy.typing as npt

from topos.backend import Status
from topos.engine import Numerics
from topos.errors import ArgumentError, CompileError, UnsupportedError
from topos.runtimes._loop import Loop
from topos.runtimes._placed import HOST, Placed, placed_on_host, residents
from topos.runtimes._signature import (
    ModuleSignature,
    fitting,
    require_count,
    require_results,
)
from topos.runtimes._timing import Timing, together
from topos.stablehlo.forms import ModuleLike

if TYPE_CHECKING:
    from topos.runtimes._isolated import IsolatedRuntime


Array = npt.NDArray[Any]


ISOLATED: Final = "isolated"
TIMEOUT: Final = "timeout"
LONGEST_SECONDS: Final = 1e6


class ExecutableMemory(NamedTuple):
    """The bytes that an executable needs: its arguments and results, the rest while it runs."""

    arguments: int
    results: int
    temporaries: int
    code: int


class ExecutableCost(NamedTuple):
    """What one call costs by the compiler's own count; a loop's body may count once."""

    flops: float
    bytes_accessed: float
    transcendentals: float


class Executable(ABC):
    """A compiled module: call it with one numpy array an argument of `@main`.

    `reads_in_place` tells whether a call reads an argument where it is, as long as that is
    row-major and at a multiple of 64 bytes, and copies any other.
    """

    reads_in_place = False

    def __init__(self, signature: ModuleSignature) -> None:
        self.signature = signature

    def __call__(self, *arguments: npt.ArrayLike) -> tuple[Array, ...]:
        """Returns the results of `@main` as arrays that nothing else will write to.

        Raises `ArgumentError` where count, shape or dtype are not those of `signature`, before
        the runtime sees anything: some accept whatever has the right number of bytes. Results
        that are not those of `signature` raise `ExecutionError`. The arguments are the caller's
        to change once the call returns.
        """
        expected = self.signature.arguments
        require_count(len(arguments), len(expected))
        arrays = [
            fitting(position, argument, wanted)
            for position, (argument, wanted) in enumerate(zip(arguments, expected, strict=True))
        ]
        results = self.execute(arrays)
        require_results(results, self.signature.results)
        return results

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.signature})"

    @abstractmethod
    def execute(self, arguments: list[Array]) -> tuple[Array, ...]:
        """Returns the results for arguments that already fit `signature`."""

    def bind(self, resident: Mapping[int, npt.ArrayLike | Placed]) -> Executable:
        """Returns this module with the arguments at those positions held from now on.

        The signature of the result has the remaining arguments in order. An array may be changed
        afterwards without any effect; one placed by `Runtime.place` is shared, not copied. Raises
        `ArgumentError` for what is no mapping, for a position that is none and for an array that
        does not fit.
        """
        return BoundExecutable(self, residents(self.signature, resident, placed_on_host, HOST))

    def loop(self, carried: Mapping[int, int], state: Mapping[int, npt.ArrayLike]) -> Loop:
        """Returns the module as a step over a state that the runtime keeps between calls.

        `carried` maps the position of an argument to that of the result which is its next value,
        `state` the same arguments to their first values, which may be changed afterwards. Raises
        `ArgumentError` where the types of the two differ or a position is missing.
        """
        return Loop(self, carried, state)

    def timed(self, arguments: Sequence[Array], seconds: float, threads: int = 1) -> Timing:
        """Returns how long each call took, made from `threads` threads until `seconds` are over.

        Every thread calls at least once. An isolated executable is called inside its worker.
        """
        return together(lambda: self(*arguments), seconds, threads)

    def memory(self) -> ExecutableMemory | None:
        """Returns the bytes that a call needs, or None where the runtime cannot tell."""
        return None

    def cost(self) -> ExecutableCost | None:
        """Returns the work of a call, or None where the runtime cannot tell."""
        return None

    def serialize(self) -> bytes:
        """Returns the compiled module for `Runtime.deserialize` on a machine of the same kind.

        Raises `UnsupportedError` where the runtime has no such form.
        """
        raise UnsupportedError(f"serialize needs a compiled form, got {type(self).__name__}")


class BoundExecutable(Executable):
    """An executable some of whose arguments are held already."""

    def __init__(self, whole: Executable, resident: Mapping[int, Placed]) -> None:
        arguments = whole.signature.arguments
        self._free = [place for place in range(len(arguments)) if place not in resident]
        kept = tuple(arguments[place] for place in self._free)
        super().__init__(ModuleSignature(kept, whole.signature.results))
        self._whole = whole
        self._arguments: list[Any] = [
            resident[place].held if place in resident else None for place in range(len(arguments))
        ]

    def execute(self, arguments: list[Array]) -> tuple[Array, ...]:
        """Returns the results of the whole module."""
        everything = [*self._arguments]
        for place, argument in zip(self._free, arguments, strict=True):
            everything[place] = argument
        return self._whole.execute(everything)

    def memory(self) -> ExecutableMemory | None:
        """Returns what the whole module needs."""
        return self._whole.memory()

    def cost(self) -> ExecutableCost | None:
        """Returns what the whole module costs."""
        return self._whole.cost()


class Runtime(ABC):
    """An adapter that compiles StableHLO; `name` is its file's name.

    `worker` is the same runtime in a worker process, or None for one that no module can end.
    """

    name: ClassVar[str]
    worker: IsolatedRuntime | None = None

    @abstractmethod
    def status(self) -> Status:
        """Returns whether this installation can serve, without compiling anything."""

    @abstractmethod
    def compile(
        self,
        module: ModuleLike,
        *,
        numerics: Numerics | str = Numerics.FAST,
        options: Mapping[str, Any] | None = None,
        cache: Path | None = None,
    ) -> Executable:
        """Returns `module` compiled, in any form that `topos.stablehlo.text_of` takes.

        `cache` is a folder that keeps compiled modules between processes, by default the one that
        TOPOS_COMPILE_CACHE names, if it does; a runtime with nothing to keep leaves it alone.
        Raises `UnavailableError` where `status()` is not ready, `ParseError`, `VerifyError` or
        `CompileError` where the text is refused, `UnsupportedError` where it names what this
        runtime lacks.
        """

    def place(self, array: npt.ArrayLike, *, options: Mapping[str, Any] | None = None) -> Placed:
        """Returns `array` held where this runtime keeps bound arguments, for any executables.

        It is taken over without a copy where it is C-contiguous, at a multiple of 64 bytes, and
        neither it nor an array that it views is writable; `topos.runtimes.aligned` makes such
        arrays. `options` are those of `compile` that say where; any other is a `CompileError`.
        """
        chosen = requested(options)
        isolated(chosen)
        if chosen:
            raise CompileError(f"the {self.name} runtime places without options, got {options!r}")
        return placed_on_host(array)

    def deserialize(
        self, data: bytes | bytearray | memoryview, *, options: Mapping[str, Any] | None = None
    ) -> Executable:
        """Returns the executable that `Executable.serialize` gave as `data`.

        `options` are those of `compile` that say where it runs, bound arguments not among it.
        The data is machine code: take it only from where you would take a program. Raises
        `CompileError` for data of another version, machine or runtime, or that is damaged,
        `ArgumentError` for what is no bytes, and `UnsupportedError` where the runtime has no such
        form.
        """
        raise UnsupportedError(f"the {self.name} runtime has no compiled form to load")

    def restore(
        self,
        module: ModuleLike,
        data: bytes | bytearray | memoryview,
        *,
        numerics: Numerics | str = Numerics.FAST,
        options: Mapping[str, Any] | None = None,
    ) -> Executable:
        """Returns what `compile` would here, from what `Executable.serialize` gave for `module`.

        The data is machine code, as that of `deserialize`. Raises `CompileError`, which says what
        differs, where it was made from another module, by other versions, for another machine,
        numerics or options; the rest as `deserialize` does.
        """
        raise UnsupportedError(f"the {self.name} runtime restores no compiled form of a module")


def requested(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns `options` as a dictionary of their own.

    Raises `ArgumentError` where they are no mapping of names to values.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
        raise ArgumentError(f"options need a mapping of names to values, got {options!r}")
    return dict(options)


def isolated(options: dict[str, Any]) -> bool:
    """Takes `isolated` out of `options`; raises `CompileError` where it is no truth value."""
    chosen = options.pop(ISOLATED, False)
    if not isinstance(chosen, bool):
        raise CompileError(f"{ISOLATED} needs True or False, got {chosen!r}")
    return chosen


def isolating(runtime: Runtime) -> dict[str, Any]:
    """Returns the options that isolate a module, whose worker starts while the caller goes on.

    There are none for a runtime that no module can end.
    """
    if runtime.worker is None:
        return {}
    runtime.worker.start()
    return {ISOLATED: True}


def no_option(runtime: str, name: str) -> CompileError:
    """Returns the error of an option that the compiler of `runtime` does not know."""
    near = get_close_matches(name, ("device", ISOLATED, TIMEOUT), n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return CompileError(f"{runtime} has no option {name!r}{hint}")


def seconds_of(options: dict[str, Any], default: float) -> float:
    """Takes `timeout` out of `options`; raises `CompileError` where it is no number of seconds."""
    seconds = options.pop(TIMEOUT, default)
    if not isinstance(seconds, int | float) or not 0 < seconds <= LONGEST_SECONDS:
        raise CompileError(
            f"{TIMEOUT} needs a number of seconds above 0 and up to {LONGEST_SECONDS:,.0f}, "
            f"got {seconds!r}"
        )
    return float(seconds)
