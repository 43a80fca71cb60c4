"""Modules whose `@main` leaves extents open: one executable for each set of argument shapes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import cached_property
from typing import Any, Final

import numpy.typing as npt

from topos.errors import ArgumentError, UnsupportedError, VerifyError
from topos.runtimes._placed import Placed, residents
from topos.runtimes._runtime import ISOLATED, TIMEOUT, Executable, Runtime
from topos.runtimes._signature import ArrayType, ModuleSignature
from topos.stablehlo.ir import Module, Tensor, Type
from topos.stablehlo.read import read, told_of
from topos.stablehlo.specialize import (
    SpecializedText,
    is_number,
    is_static,
    leaves_open,
    specialized_for,
)
from topos.stablehlo.types import ELEMENTS, dtype_of

Array = npt.NDArray[Any]
Shapes = tuple[tuple[int, ...], ...]
# The elements of arguments that may be sizes, by position.
Numbers = Mapping[int, Array]

_DEVICE: Final = "device"


class Source:
    """A module with open shapes, and what compiles its specializations."""

    def __init__(
        self, runtime: Runtime, text: str, module: Module, terms: Mapping[str, Any]
    ) -> None:
        self._runtime, self._text, self._module, self._terms = runtime, text, module, terms
        (self._main,) = (function for function in module.functions if function.name == "main")
        types = [argument.type for argument in self._main.arguments]
        self.is_open = not all(map(is_static, types))
        # The arguments that may be sizes.
        self.numbers = frozenset([at for at, type in enumerate(types) if is_number(type)])

    def signature(self) -> ModuleSignature:
        """Returns the types of `@main`; raises `UnsupportedError` for one that no array has."""
        arguments, results = (
            tuple([_array_type(each.type, self._main.line) for each in parameters])
            for parameters in (self._main.arguments, self._main.results)
        )
        return ModuleSignature(arguments, results)

    def stated(self) -> Executable:
        """Returns the module compiled for the types of `@main`, which are static."""
        return self._compiled([each.type for each in self._main.arguments], dict)[0]

    def at(
        self, shapes: Shapes, numbers: Callable[[], Numbers]
    ) -> tuple[Executable, frozenset[int]]:
        """Returns the module compiled for arguments of such shapes.

        Only where shapes alone do not tell every type, `numbers` do; with it comes which of them
        did. Raises `ArgumentError` where they break a rule or an assertion of the module.
        """
        types = [
            Tensor(shape, argument.type.element)
            for shape, argument in zip(shapes, self._main.arguments, strict=True)
            if isinstance(argument.type, Tensor)
        ]
        try:
            return self._compiled(types, numbers)
        except VerifyError as error:
            given = ", ".join(map(str, types))
            raise ArgumentError(f"arguments of {given} do not fit the module: {error}") from error

    def placed(self, array: Array) -> Placed:
        """Returns `array` held where the runtime keeps bound arguments."""
        chosen = self._terms["options"] or {}
        kept = (_DEVICE, ISOLATED, TIMEOUT) if chosen.get(ISOLATED) else (_DEVICE,)
        where = {key: chosen[key] for key in kept if key in chosen}
        return self._runtime.place(array, options=where)

    def elements(self, position: int, placed: Placed) -> Array:
        """Returns the elements of an argument that the runtime holds, by a module that does."""
        type = Tensor(placed.type.shape, self._element(position))
        text = f"func.func @main(%held: {type}) -> {type} {{ return %held : {type} }}"
        (array,) = self._runtime.compile(text, **self._terms).bind({0: placed})()
        return array

    def _element(self, position: int) -> str:
        type = self._main.arguments[position].type
        assert isinstance(type, Tensor), "the signature has tensors only"
        return type.element

    def _compiled(
        self, types: Sequence[Type], numbers: Callable[[], Numbers]
    ) -> tuple[Executable, frozenset[int]]:
        with told_of(self._text):
            try:
                static, shaped = specialized_for(self._module, types, {})
            except UnsupportedError:
                given = numbers()
                if not given:
                    raise
                static, shaped = specialized_for(self._module, types, given)
        text = SpecializedText(static, self._text)
        return self._runtime.compile(text, **self._terms), shaped


def _array_type(type: Type, line: int) -> ArrayType:
    if not isinstance(type, Tensor) or type.element not in ELEMENTS:
        raise UnsupportedError(f"type {type} is not supported", line)
    return ArrayType(type.shape, dtype_of(type))


# The shapes of the arguments, then the bytes of those that are sizes.
Key = tuple[Any, ...]

# How many executables one keeps; beyond that, the one that was called longest ago goes.
KEPT: Final = 64


def opened(runtime: Runtime, text: str, terms: Mapping[str, Any]) -> Executable | None:
    """Returns the module of `text`, compiled by `runtime` on such `terms`, if its types are open.

    There is none where only what a type is a part of looks open, such as an attribute.
    """
    module = read(text)
    if not leaves_open(module):
        return None
    with told_of(text):
        if "main" not in {function.name for function in module.functions}:
            raise VerifyError("a module needs a function @main", 1)
        source = Source(runtime, text, module, terms)
        if source.is_open:
            return DynamicExecutable(source, source.signature(), {})
        try:
            return source.stated()
        except UnsupportedError:
            # Its sizes may be the numbers of arguments, which only a call brings.
            if not source.numbers:
                raise
            return DynamicExecutable(source, source.signature(), {})


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
            numbers = [arguments[at].tobytes() for at in sorted(asked) if at in arguments]
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
        ordered = tuple([shapes[at] for at in sorted(shapes)])
        made, shaped = self._source.at(ordered, lambda: {**self._held, **self._free_of(arguments)})
        return (made.bind(self._resident) if self._resident else made), shaped

    def _free_of(self, arguments: Numbers) -> Numbers:
        return {at: array for at, array in arguments.items() if at in self._source.numbers}

    @cached_property
    def _held(self) -> Numbers:
        """The elements of the bound arguments that may be sizes."""
        return {
            at: self._source.elements(at, placed)
            for at, placed in self._resident.items()
            if at in self._source.numbers
        }
