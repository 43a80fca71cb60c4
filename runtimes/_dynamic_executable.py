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
from topos.stablehlo.specialize import is_static, specialized
from topos.stablehlo.types import ELEMENTS, dtype_of

__all__ = ["DynamicExecutable", "opened"]

Array = npt.NDArray[Any]
Shapes = tuple[tuple[int, ...], ...]

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
        if all(map(is_static, types)):
            return source.compiled([type for type in types if isinstance(type, Tensor)])
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

    def at(self, shapes: Shapes) -> Executable:
        """Returns the module compiled for arguments of such shapes.

        Raises `ArgumentError` where they break a rule or an assertion of the module.
        """
        types = [
            Tensor(shape, argument.type.element)
            for shape, argument in zip(shapes, self.main.arguments, strict=True)
            if isinstance(argument.type, Tensor)
        ]
        try:
            return self.compiled(types)
        except VerifyError as error:
            given = ", ".join(map(str, types))
            raise ArgumentError(f"arguments of {given} do not fit the module: {error}") from error

    def compiled(self, types: Sequence[Tensor]) -> Executable:
        """Returns the module compiled for arguments of `types`."""
        with told_of(self._text):
            static = printed(specialized(self._module, types))
        return self._runtime.compile(static, **self._terms)

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
        self._kept: OrderedDict[Shapes, Future[Executable]] = OrderedDict()
        self._lock = threading.Lock()

    def execute(self, arguments: list[Array]) -> tuple[Array, ...]:
        """Returns the results of the module for the shapes of these arguments."""
        return self._for(tuple([argument.shape for argument in arguments]))(*arguments)

    def bind(self, resident: Mapping[int, npt.ArrayLike | Placed]) -> DynamicExecutable:
        """Returns this module with those arguments held by the runtime, as `Executable` says."""
        held = residents(self.signature, resident, self._source.placed, None)
        by_place = {self._free[position]: each for position, each in held.items()}
        return DynamicExecutable(self._source, self._whole, {**self._resident, **by_place})

    def _for(self, shapes: Shapes) -> Executable:
        with self._lock:
            found = self._kept.get(shapes)
            waiting = Future[Executable]() if found is None else found
            self._kept[shapes] = waiting
            self._kept.move_to_end(shapes)
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        if found is not None:
            return found.result()
        try:
            made = self._made(shapes)
        except BaseException as error:
            with self._lock:
                self._kept.pop(shapes, None)
            waiting.set_exception(error)
            raise
        waiting.set_result(made)
        return made

    def _made(self, shapes: Shapes) -> Executable:
        whole = dict(zip(self._free, shapes, strict=True))
        whole |= {at: placed.type.shape for at, placed in self._resident.items()}
        executable = self._source.at(tuple([whole[at] for at in sorted(whole)]))
        return executable.bind(self._resident) if self._resident else executable


def _array_type(type: Type, line: int) -> ArrayType:
    if not isinstance(type, Tensor) or type.element not in ELEMENTS:
        raise UnsupportedError(f"type {type} is not supported", line)
    return ArrayType(type.shape, dtype_of(type))
