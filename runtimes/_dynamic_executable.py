"""Modules whose `@main` leaves extents open: one executable for each set of argument shapes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final

import numpy.typing as npt

from topos.errors import ArgumentError, UnsupportedError, VerifyError
from topos.runtimes._placed import Placed, residents
from topos.runtimes._runtime import ISOLATED, TIMEOUT, Executable, Runtime
from topos.runtimes._signature import ArrayType, ModuleSignature
from topos.stablehlo.ir import Module, Tensor, Type
from topos.stablehlo.printer import printed
from topos.stablehlo.read import read, told_of
from topos.stablehlo.specialize import is_number, is_static, specialized_for
from topos.stablehlo.types import ELEMENTS, dtype_of

__all__ = ["DynamicExecutable", "opened"]

Array = npt.NDArray[Any]
Shapes = tuple[tuple[int, ...], ...]
# The shapes of the arguments, then the bytes of those that are sizes.
Key = tuple[Any, ...]

# How many executables one keeps; beyond that, the one that was called longest ago goes.
KEPT: Final = 64
_DEVICE: Final = "device"


def opened(runtime: Runtime, text: str, terms: Mapping[str, Any]) -> Executable:
    """Returns the module of an open `text`, compiled by `runtime` on such `terms`."""
    module = read(text)
    with told_of(text):
        if "main" not in {function.name for function in module.functions}:
            raise VerifyError("a module needs a function @main", 1)
        source = Source(runtime, text, module, terms)
        types = [argument.type for argument in source.main.arguments]
        if not all(map(is_static, types)):
            return DynamicExecutable(source, source.signature(), {})
        try:
            return source.compiled([type for type in types if isinstance(type, Tensor)], {})[0]
        except UnsupportedError:
            # Its sizes may be the numbers of arguments, which only a call brings.
            if not any(map(is_number, types)):
                raise
            return DynamicExecutable(source, source.signature(), {})


class Source:
    """A module with open shapes, and what compiles its specializations."""

    def __init__(
        self, runtime: Runtime, text: str, module: Module, terms: Mapping[str, Any]
    ) -> None:
        self._runtime, self._text, self._module, self._terms = runtime, text, module, terms
        (self.main,) = (function for function in module.functions if function.name == "main")

    def signature(self) -> ModuleSignature:
        """Returns the types of `@main`; raises `UnsupportedError` for one that no array has."""
        arguments, results = (
            tuple([_array_type(each.type, self.main.line) for each in parameters])
            for parameters in (self.main.arguments, self.main.results)
        )
        return ModuleSignature(arguments, results)

    def at(self, shapes: Shapes, numbers: Mapping[int, Array]) -> tuple[Executable, frozenset[int]]:
        """Returns the module compiled for arguments of such shapes.

        Only where shapes alone do not tell every type, `numbers` do; with it comes which of them
        did. Raises `ArgumentError` where they break a rule or an assertion of the module.
        """
        types = [
            Tensor(shape, argument.type.element)
            for shape, argument in zip(shapes, self.main.arguments, strict=True)
            if isinstance(argument.type, Tensor)
        ]
        try:
            return self.compiled(types, numbers)
        except VerifyError as error:
            given = ", ".join(map(str, types))
            raise ArgumentError(f"arguments of {given} do not fit the module: {error}") from error

    def compiled(
        self, types: Sequence[Tensor], numbers: Mapping[int, Array]
    ) -> tuple[Executable, frozenset[int]]:
        """Returns the module compiled for arguments of `types`, and which of `numbers` it needs."""
        with told_of(self._text):
            try:
                static, shaped = specialized_for(self._module, types, {})
            except UnsupportedError:
                if not numbers:
                    raise
                static, shaped = specialized_for(self._module, types, numbers)
        return self._runtime.compile(printed(static), **self._terms), shaped

    def numbers(self, arguments: Mapping[int, Array]) -> dict[int, Array]:
        """Returns those of `arguments` that may be sizes."""
        stated = self.main.arguments
        return {at: array for at, array in arguments.items() if is_number(stated[at].type)}

    def placed(self, array: Array) -> Placed:
        """Returns `array` held where the runtime keeps bound arguments."""
        chosen = self._terms["options"] or {}
        kept = (_DEVICE, ISOLATED, TIMEOUT) if chosen.get(ISOLATED) else (_DEVICE,)
        where = {key: chosen[key] for key in kept if key in chosen}
        return self._runtime.place(array, options=where)


class DynamicExecutable(Executable):
    """A module that is specialized once for each set of argument shapes, when it is called.

    Threads may share it; those that come with the same new shapes wait for one compilation.
    """

    def __init__(
        self, source: Source, whole: ModuleSignature, resident: Mapping[int, Placed]
    ) -> None:
        self._free = [at for at in range(len(whole.arguments)) if at not in resident]
        free = tuple([whole.arguments[at] for at in self._free])
        super().__init__(ModuleSignature(free, whole.results))
        self._source, self._whole, self._resident = source, whole, resident
        self._kept: OrderedDict[Key, Future[Executable]] = OrderedDict()
        # The arguments whose numbers are sizes, as far as calls have told.
        self._asked: frozenset[int] = frozenset()
        self._lock = threading.Lock()

    def execute(self, arguments: list[Array]) -> tuple[Array, ...]:
        """Returns the results of the module for the shapes of these arguments."""
        return self._for(dict(zip(self._free, arguments, strict=True)))(*arguments)

    def bind(self, resident: Mapping[int, npt.ArrayLike | Placed]) -> DynamicExecutable:
        """Returns this module with those arguments held by the runtime, as `Executable` says."""
        held = residents(self.signature, resident, self._source.placed, None)
        by_place = {self._free[position]: each for position, each in held.items()}
        return DynamicExecutable(self._source, self._whole, {**self._resident, **by_place})

    def _for(self, arguments: Mapping[int, Array]) -> Executable:
        while True:
            asked = self._asked
            numbers = [arguments[at].tobytes() for at in sorted(asked)]
            key = (tuple([array.shape for array in arguments.values()]), *numbers)
            made = self._kept_for(key, arguments)
            # Whoever waited for another's executable may have to ask for more than shapes.
            if asked == self._asked:
                return made

    def _kept_for(self, key: Key, arguments: Mapping[int, Array]) -> Executable:
        with self._lock:
            found = self._kept.get(key)
            waiting = Future[Executable]() if found is None else found
            self._kept[key] = waiting
            self._kept.move_to_end(key)
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        if found is not None:
            return found.result()
        try:
            made, shaped = self._made(arguments)
        except BaseException as error:
            with self._lock:
                self._kept.pop(key, None)
            waiting.set_exception(error)
            raise
        if not shaped <= self._asked:
            with self._lock:
                self._asked |= shaped
                self._kept.clear()
        waiting.set_result(made)
        return made

    def _made(self, arguments: Mapping[int, Array]) -> tuple[Executable, frozenset[int]]:
        shapes = {at: array.shape for at, array in arguments.items()}
        shapes |= {at: placed.type.shape for at, placed in self._resident.items()}
        numbers = self._source.numbers(arguments)
        made, shaped = self._source.at(tuple([shapes[at] for at in sorted(shapes)]), numbers)
        return (made.bind(self._resident) if self._resident else made), shaped


def _array_type(type: Type, line: int) -> ArrayType:
    if not isinstance(type, Tensor) or type.element not in ELEMENTS:
        raise UnsupportedError(f"type {type} is not supported", line)
    return ArrayType(type.shape, dtype_of(type))
