"""Executables of XLA: called from numpy to numpy, bound to residents, and looped over a state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, Final, NoReturn

import numpy as np
import numpy.typing as npt

from topos.errors import ArgumentError, ExecutionError, UnsupportedError
from topos.runtimes._loop import Loop, require_carried
from topos.runtimes._placed import Placed, owned, residents
from topos.runtimes._runtime import Executable, ExecutableCost, ExecutableMemory
from topos.runtimes._signature import ArrayType, ModuleSignature, fitting, require_count
from topos.runtimes.xla.build import Loaded, Recipe, built, packed_form
from topos.runtimes.xla.device import place_of
from topos.runtimes.xla.dispatch import Run, Unusual
from topos.runtimes.xla.module import brief

Array = npt.NDArray[Any]

# jax cuts these to 32 bits on their way in unless it is told not to.
WIDE: Final = frozenset(map(np.dtype, (np.float64, np.int64, np.uint64, np.complex128)))


def placed_on(device: Any, array: Array) -> Placed:
    """Returns `array` held by `device`; a CPU reads an owned array where it is."""
    import jax

    type = ArrayType(array.shape, array.dtype)
    host = owned(array) if device.platform == "cpu" else array
    try:
        with jax.enable_x64(True):
            held = jax.device_put(host, device).block_until_ready()
    except Exception as error:
        raise ArgumentError(f"xla cannot hold an array of {type}: {brief(error)}") from error
    return Placed(type, place_of(device), held)


class XlaExecutable(Executable):
    """A module compiled by XLA; the results are read-only arrays over XLA's own memory.

    Any number of threads may call one at the same time.
    """

    def __init__(
        self, loaded: Loaded, recipe: Recipe | None, resident: Mapping[int, Placed] | None = None
    ) -> None:
        self._loaded, self._recipe, self._resident = loaded, recipe, dict(resident or {})
        types = loaded.signature.arguments
        self._free = [place for place in range(len(types)) if place not in self._resident]
        free = tuple(types[place] for place in self._free)
        super().__init__(ModuleSignature(free, loaded.signature.results))
        elements = {each.dtype for each in free}
        self._element = elements.pop() if len(elements) == 1 else None
        self._started = _started(loaded, self._resident, self._free)
        self.reads_in_place = loaded.device.platform == "cpu"
        self._is_single = len(loaded.signature.results) == 1

    def __call__(self, *arguments: Any) -> tuple[Array, ...]:
        """Returns the results, as `Executable` says."""
        # Beside a small module every line here shows, so arguments of one element are told by
        # this loop alone: jax would cut or swap other elements on their way in. Counts and shapes
        # are told by the dispatch, which is `Unusual` where it meets others for the first time.
        try:
            for argument in arguments:
                if argument.dtype is not self._element:
                    break
            else:
                started = self._started(*arguments)
                if self._is_single:
                    return (np.asarray(started),)
                return tuple(map(np.asarray, started))
        except (AttributeError, Unusual):
            pass
        except Exception as error:
            raise _failure(error) from error
        expected = self.signature.arguments
        require_count(len(arguments), len(expected))
        return self.execute([*map(fitting, range(len(expected)), arguments, expected)])

    def execute(self, arguments: list[Array]) -> tuple[Array, ...]:
        """Returns the results for arguments that fit, once all of them are ready."""
        try:
            # XLA may read an argument's memory until the last result stands, so the caller
            # gets control back only then: the conversion waits.
            return tuple(map(np.asarray, self.started(*arguments)))
        except Exception as error:
            raise _failure(error) from error

    def started(self, *arguments: Any) -> Sequence[Any]:
        """Returns the results for arguments that fit, on the device and maybe still in making."""
        started = self._started(*arguments)
        return (started,) if self._is_single else started

    def bind(self, resident: Mapping[int, npt.ArrayLike | Placed]) -> XlaExecutable:
        """Returns this module with those arguments held by its device, as `Executable` says."""
        device = self._loaded.device
        held = residents(
            self.signature, resident, lambda array: placed_on(device, array), place_of(device)
        )
        by_place = {self._free[position]: each for position, each in held.items()}
        return XlaExecutable(self._loaded, self._recipe, self._resident | by_place)

    def loop(self, carried: Mapping[int, int], state: Mapping[int, npt.ArrayLike]) -> Loop:
        """Returns the module as a step whose state stays on the device, as `Executable` says.

        The module is compiled once more, each carried argument giving its memory to the result
        that follows it; one that was deserialized keeps both for the time of a step.
        """
        require_carried(self.signature, carried, state)
        if self._recipe is None:
            return XlaLoop(self, carried, state)
        donated = {self._free[argument]: result for argument, result in carried.items()}
        loaded = built(self._recipe, donated)
        return XlaLoop(XlaExecutable(loaded, self._recipe, self._resident), carried, state)

    def memory(self) -> ExecutableMemory | None:
        """Returns the bytes that XLA plans for a call of the whole module, residents included."""
        try:
            stats = self._loaded.executable.get_compiled_memory_stats()
            return ExecutableMemory(
                stats.argument_size_in_bytes,
                stats.output_size_in_bytes,
                stats.temp_size_in_bytes,
                # On the CPU XLA reports none.
                stats.generated_code_size_in_bytes or len(self._loaded.executable.serialize()),
            )
        # Not every platform keeps count.
        except Exception:
            return None

    def cost(self) -> ExecutableCost | None:
        """Returns XLA's own count of the work; what it fused away is not in it."""
        try:
            counts = self._loaded.executable.cost_analysis()
            names = ("flops", "bytes accessed", "transcendentals")
            return ExecutableCost(*(float(counts.get(name, 0.0)) for name in names))
        # Not every platform keeps count.
        except Exception:
            return None

    def serialize(self) -> bytes:
        """Returns the machine code with its types, versions and processor; residents stay here."""
        try:
            return packed_form(self._loaded)
        except Exception as error:
            raise UnsupportedError(f"xla cannot serialize the module: {brief(error)}") from error

    def __reduce__(self) -> NoReturn:
        raise ExecutionError("an executable of xla lives in its process: pickle the text")


class XlaLoop(Loop):
    """A loop whose state never leaves the device."""

    executable: XlaExecutable

    def _start(self, state: dict[int, Array]) -> None:
        device = self.executable._loaded.device
        # An array taken over is not given away: XLA copies it in the first step.
        self._state = {place: placed_on(device, array).held for place, array in state.items()}

    def _step(self, others: Sequence[Array]) -> tuple[Array, ...]:
        given = dict(zip(self._others, others, strict=True)) | self._state
        try:
            results = self.executable.started(*(given[place] for place in range(len(given))))
            # The next state may not count as reached before it is, and XLA reads the arguments
            # until then.
            for each in results:
                each.block_until_ready()
            self._state = {place: results[at] for place, at in self.carried.items()}
            return tuple(np.asarray(results[at]) for at in self._answers)
        except Exception as error:
            raise _failure(error) from error


def _started(loaded: Loaded, resident: Mapping[int, Placed], free: Sequence[int]) -> Run:
    """Returns the call that takes the free arguments, and gives results maybe still in making."""
    run = _widened(loaded.run) if _is_wide(loaded.signature, free) else loaded.run
    held = tuple(each.held for each in resident.values())
    if not held:
        return run
    if [*resident] == [*range(len(held))]:
        return partial(run, *held)
    places = [*resident, *free]
    ordered = itemgetter(*(places.index(place) for place in range(len(places))))
    if len(places) == 1:
        return lambda: run(*held)
    return lambda *arguments: run(*ordered(held + arguments))


def _is_wide(signature: ModuleSignature, places: Sequence[int]) -> bool:
    return any(signature.arguments[place].dtype in WIDE for place in places)


def _widened(run: Run) -> Run:
    """Returns `run` with 64-bit elements let in, for the thread that calls."""
    import jax

    def widened(*arguments: Any) -> Any:
        with jax.enable_x64(True):
            return run(*arguments)

    return widened


def _failure(error: Exception) -> ExecutionError:
    return ExecutionError(f"xla failed to run the module: {brief(error)}")
