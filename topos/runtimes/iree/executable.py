"""Executables of IREE: called from numpy to numpy, bound to residents, looped over a state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from topos.errors import ExecutionError
from topos.runtimes import _packing
from topos.runtimes._compile_cache import processor_digest
from topos.runtimes._loop import Loop
from topos.runtimes._packing import packed
from topos.runtimes._placed import Placed, residents
from topos.runtimes._runtime import Executable, ExecutableMemory
from topos.runtimes._signature import Array, ArrayType, ModuleSignature
from topos.runtimes.iree.device import Buffer, Device, Program, device_of

NAME: Final = "iree"


class Binary(NamedTuple):
    """What IREE's compiler made: the code, with the types of its `@main`.

    `transient` are the bytes that a call allocates, its results among them, or None where the
    compiler did not tell. `versions` are those of IREE's packages.
    """

    signature: ModuleSignature
    code: bytes
    transient: int | None
    versions: str

    def packed(self) -> bytes:
        """Returns this as bytes for `restored`."""
        told = {"transient": "" if self.transient is None else str(self.transient)}
        return packed(NAME, self.signature, _origin(self.versions) | told, self.code)


def restored(data: bytes | bytearray | memoryview, versions: str) -> Binary:
    """Returns what `Binary.packed` gave here; raises `CompileError` for anything else."""
    kept = _packing.restored(NAME, data, _origin(versions))
    told = kept.origin.get("transient", "")
    return Binary(kept.signature, kept.code, int(told) if told.isdigit() else None, versions)


class IreeExecutable(Executable):
    """A module compiled by IREE; `resident` are arguments of `@main` that the device holds.

    IREE asks its users to enter a module from one thread at a time, so calls from several threads
    wait for each other here, those of what is bound from it too; two modules run side by side.
    """

    reads_in_place = True

    def __init__(
        self, binary: Binary, program: Program, resident: Mapping[int, Placed] | None = None
    ) -> None:
        self._binary, self._program, self._resident = binary, program, dict(resident or {})
        types = binary.signature.arguments
        self._free = [place for place in range(len(types)) if place not in self._resident]
        free = tuple(types[place] for place in self._free)
        super().__init__(ModuleSignature(free, binary.signature.results))
        # One list a call is filled from this one.
        self._template: list[Any] = [
            self._resident[place].held if place in self._resident else None
            for place in range(len(types))
        ]

    @classmethod
    def on(cls, device_name: str, binary: Binary) -> IreeExecutable:
        """Returns `binary` loaded on the device of that name; raises `CompileError` at none."""
        return cls(binary, device_of(device_name).program(binary.code))

    @property
    def device(self) -> Device:
        """The device that this runs on."""
        return self._program.device

    def execute(self, arguments: list[Array]) -> tuple[Array, ...]:
        """Returns the results, copied out of the device's memory."""
        try:
            given = [self.device.lent(each) for each in arguments]
            return self.fetched(self.started(given))
        # The bindings raise what their status codes map to.
        except Exception as error:
            raise _failure(error) from error

    def started(self, given: Sequence[Buffer]) -> list[Any]:
        """Returns the results on the device for the arguments that are not bound."""
        buffers = self._template.copy()
        for place, buffer in zip(self._free, given, strict=True):
            buffers[place] = buffer
        return self._program.run(buffers)

    def fetched(self, results: Sequence[Any]) -> tuple[Array, ...]:
        """Returns copies of all results."""
        types = self.signature.results
        return tuple(map(self.device.fetched, results, types))

    def bind(self, resident: Mapping[int, npt.ArrayLike | Placed]) -> IreeExecutable:
        """Returns this module with those arguments held by its device, as `Executable` says."""
        device = self.device
        held = residents(self.signature, resident, device.placed, device.place)
        by_place = {self._free[position]: each for position, each in held.items()}
        return IreeExecutable(self._binary, self._program, self._resident | by_place)

    def loop(self, carried: Mapping[int, int], state: Mapping[int, npt.ArrayLike]) -> IreeLoop:
        """Returns the module as a step whose state stays on the device, as `Executable` says.

        Each state has memory of its own beside that of the one before, for the time of a step.
        """
        return IreeLoop(self, carried, state)

    def memory(self) -> ExecutableMemory | None:
        """Returns what a call of the whole module needs by IREE's plan; a loop's body counts once.

        Constants are part of the code.
        """
        if self._binary.transient is None:
            return None
        arguments, results = (sum(map(_bytes, types)) for types in self._binary.signature)
        between = max(self._binary.transient - results, 0)
        return ExecutableMemory(arguments, results, between, len(self._binary.code))

    def serialize(self) -> bytes:
        """Returns the code with its types, versions and processor; residents stay here."""
        return self._binary.packed()

    def __reduce__(self) -> NoReturn:
        raise ExecutionError("an executable of iree lives in its process: pickle the text")


class IreeLoop(Loop):
    """A loop whose state never leaves the device."""

    executable: IreeExecutable

    def _start(self, state: dict[int, Array]) -> None:
        device = self.executable.device
        self._kept = {place: device.copied(array) for place, array in state.items()}

    def _step(self, others: Sequence[Array]) -> tuple[Array, ...]:
        executable = self.executable
        device, types = executable.device, executable.signature.results
        try:
            # Not lent: a result that is kept may be an argument itself.
            given = dict(zip(self._others, map(device.copied, others), strict=True)) | self._kept
            results = executable.started([given[place] for place in range(len(given))])
            answers = tuple(device.fetched(results[at], types[at]) for at in self._answers)
        except Exception as error:
            raise _failure(error) from error
        self._kept = {place: Buffer(results[at]) for place, at in self.carried.items()}
        return answers

    def state(self) -> dict[int, Array]:
        """Returns copies of the carried arguments' values by position, as of the last call."""
        device, types = self.executable.device, self.executable.signature.arguments
        with self._turn:
            self._require_state()
            return {
                place: device.fetched(buffer.view, types[place])
                for place, buffer in self._kept.items()
            }


def _origin(versions: str) -> dict[str, str]:
    return {"versions": versions, "processor": processor_digest()}


def _bytes(type: ArrayType) -> int:
    return type.dtype.itemsize * int(np.prod(type.shape, dtype=np.int64))


def _failure(error: Exception) -> ExecutionError:
    if isinstance(error, ExecutionError):
        return error
    return ExecutionError(f"iree failed to run the module: {error}")
