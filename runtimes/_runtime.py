"""What a runtime is: text in, an executable out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from topos.backend import Status
from topos.engine import Numerics
from topos.errors import ArgumentError, ExecutionError
from topos.payload import Shape

__all__ = ["ArrayType", "Executable", "ModuleSignature", "Runtime", "Status", "requested"]

Array = npt.NDArray[Any]

ORDERS: Final = {"<": "little", ">": "big"}


class ArrayType(NamedTuple):
    """The shape and the numpy dtype of one argument or result of an executable."""

    shape: Shape
    dtype: np.dtype[Any]

    def __str__(self) -> str:
        # numpy gives both byte orders of an element one name.
        order = "" if self.dtype.isnative else f"{ORDERS[self.dtype.byteorder]}-endian "
        return f"{order}{self.dtype.name}[{', '.join(map(str, self.shape))}]"


class ModuleSignature(NamedTuple):
    """The argument and result types of a module's `@main`."""

    arguments: tuple[ArrayType, ...]
    results: tuple[ArrayType, ...]

    def __str__(self) -> str:
        arguments, results = (", ".join(map(str, types)) for types in self)
        return f"({arguments}) -> ({results})"


class Executable(ABC):
    """A compiled module: call it with one numpy array an argument of `@main`."""

    def __init__(self, signature: ModuleSignature) -> None:
        self.signature = signature

    def __call__(self, *arguments: npt.ArrayLike) -> tuple[Array, ...]:
        """Returns the results of `@main` as arrays that nothing else will write to.

        Raises `ArgumentError` where count, shape or dtype are not those of `signature`, before
        the runtime sees anything: some accept whatever has the right number of bytes. Results
        that are not those of `signature` raise `ExecutionError`.
        """
        expected = self.signature.arguments
        if len(arguments) != len(expected):
            raise ArgumentError(f"the module takes {len(expected)} arguments, got {len(arguments)}")
        arrays = [
            _array(position, argument, wanted)
            for position, (argument, wanted) in enumerate(zip(arguments, expected, strict=True))
        ]
        for position, (array, wanted) in enumerate(zip(arrays, expected, strict=True)):
            if array.shape != wanted.shape or array.dtype != wanted.dtype:
                got = ArrayType(array.shape, array.dtype)
                raise ArgumentError(f"argument {position} must be {wanted}, got {got}")
        results = self.execute(arrays)
        _require_results(results, self.signature.results)
        return results

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.signature})"

    @abstractmethod
    def execute(self, arguments: list[Array]) -> tuple[Array, ...]:
        """Returns the results for arguments that already fit `signature`."""


class Runtime(ABC):
    """An adapter that compiles StableHLO text; `name` is its file's name."""

    name: ClassVar[str]

    @abstractmethod
    def status(self) -> Status:
        """Returns whether this installation can serve, without compiling anything."""

    @abstractmethod
    def compile(
        self,
        text: str,
        *,
        numerics: Numerics | str = Numerics.FAST,
        options: Mapping[str, Any] | None = None,
    ) -> Executable:
        """Returns `text` compiled.

        Raises `UnavailableError` where `status()` is not ready, `ParseError`, `VerifyError` or
        `CompileError` where the text is refused, `UnsupportedError` where it names what this
        runtime lacks.
        """


def requested(text: str, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns `options` as a dictionary of their own.

    Raises `ArgumentError` where `text` is no string, or `options` no mapping of names to values.
    """
    if not isinstance(text, str):
        raise ArgumentError(f"a module needs its text as a str, got {type(text).__name__}")
    if options is None:
        return {}
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
        raise ArgumentError(f"options need a mapping of names to values, got {options!r}")
    return dict(options)


def _array(position: int, argument: npt.ArrayLike, wanted: ArrayType) -> Array:
    try:
        return np.asarray(argument)
    # An argument's own `__array__` may raise anything.
    except Exception as error:
        raise ArgumentError(
            f"argument {position} must be {wanted}, got {type(argument).__name__}: {error}"
        ) from error


def _require_results(results: tuple[Array, ...], expected: tuple[ArrayType, ...]) -> None:
    if len(results) != len(expected):
        raise ExecutionError(f"the module has {len(expected)} results, and {len(results)} came")
    for position, (array, wanted) in enumerate(zip(results, expected, strict=True)):
        if array.shape != wanted.shape or array.dtype != wanted.dtype:
            came = ArrayType(array.shape, array.dtype)
            raise ExecutionError(f"result {position} must be {wanted}, and {came} came")
