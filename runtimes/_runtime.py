"""What a runtime is: text in, an executable out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from topos.backend import Status
from topos.engine import Numerics
from topos.errors import ArgumentError
from topos.payload import Shape

__all__ = ["ArrayType", "Executable", "ModuleSignature", "Runtime", "Status"]

Array = npt.NDArray[Any]


class ArrayType(NamedTuple):
    """The shape and the numpy dtype of one argument or result of an executable."""

    shape: Shape
    dtype: np.dtype[Any]

    def __str__(self) -> str:
        return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]"


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
        the runtime sees anything: some accept whatever has the right number of bytes.
        """
        expected = self.signature.arguments
        if len(arguments) != len(expected):
            raise ArgumentError(f"the module takes {len(expected)} arguments, got {len(arguments)}")
        arrays = [np.asarray(argument) for argument in arguments]
        for position, (array, wanted) in enumerate(zip(arrays, expected, strict=True)):
            if array.shape != wanted.shape or array.dtype != wanted.dtype:
                got = ArrayType(array.shape, array.dtype)
                raise ArgumentError(f"argument {position} must be {wanted}, got {got}")
        return self.execute(arrays)

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
