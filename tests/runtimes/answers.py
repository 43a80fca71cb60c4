"""A runtime and an executable that do what a test tells them to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from topos.engine import Numerics
from topos.runtimes import ArrayType, Executable, ModuleSignature, Runtime, Status
from topos.stablehlo import ModuleLike, text_of

THREE = np.ones(3, np.float32)


class Answer(Executable):
    """An executable of `float32[3] -> float32[3]` that gives back what it is told to."""

    def __init__(self, *results: npt.NDArray[Any]) -> None:
        vector = ArrayType((3,), np.dtype(np.float32))
        super().__init__(ModuleSignature((vector,), (vector,)))
        self.results = results

    def execute(self, arguments: list[npt.NDArray[Any]]) -> tuple[npt.NDArray[Any], ...]:
        return self.results


class Told(Runtime):
    """A runtime that compiles by the function that it is told."""

    name = "told"

    def __init__(self, make: Callable[[str], Executable]) -> None:
        super().__init__()
        self.make = make

    def status(self) -> Status:
        return Status(True, "")

    def compile(
        self,
        module: ModuleLike,
        *,
        numerics: Numerics | str = Numerics.FAST,
        options: Mapping[str, Any] | None = None,
        cache: Path | None = None,
    ) -> Executable:
        return self.make(text_of(module))
