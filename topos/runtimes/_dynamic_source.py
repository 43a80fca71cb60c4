"""A module with open shapes, and what compiles its specializations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy.typing as npt

from topos.errors import ArgumentError, UnsupportedError, VerifyError
from topos.runtimes._placed import Placed
from topos.runtimes._runtime import ISOLATED, TIMEOUT, Executable, Runtime
from topos.runtimes._signature import ArrayType, ModuleSignature
from topos.stablehlo.ir import Module, Tensor, Type
from topos.stablehlo.read import told_of
from topos.stablehlo.specialize import SpecializedText, is_number, is_static, specialized_for
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
