"""Evaluation: a text becomes an executable, which runs its program in the calling thread."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import numpy as np

from topos.errors import ExecutionError
from topos.payload.kernels.subnormals import demand_subnormals
from topos.runtimes._runtime import Executable
from topos.runtimes._signature import ArrayType, ModuleSignature
from topos.runtimes.interpreter.budget import StepsError, limited
from topos.runtimes.interpreter.build import build
from topos.runtimes.interpreter.program import Array, Program
from topos.stablehlo.ir import Type
from topos.stablehlo.parser.parse import parse
from topos.stablehlo.read import told_of
from topos.stablehlo.types import checked, dtype_of, extents
from topos.stablehlo.verifier import verify

__all__ = ["Evaluation", "compiled"]


# What numpy says of a size that no machine has.
_TOO_BIG: Final = re.compile(
    r"array is too big|maximum (?:allowed dimension|supported)|negative dimensions", re.IGNORECASE
)


def compiled(text: str, exact: bool = True, max_steps: int | None = None) -> Evaluation:
    """Returns `text` parsed, verified and built, with every constant decoded.

    `exact` chooses the oracle's kernels, or else numpy's own and BLAS; a run of more than
    `max_steps` turns of loops and calls stops. Raises as `read` does.
    """
    demand_subnormals()
    with told_of(text):
        module = parse(text)
        verify(module)
        return Evaluation(build(module, exact), max_steps, text)


class Evaluation(Executable):
    """A program of `@main`; calls share nothing that they write, so threads may share it."""

    def __init__(self, program: Program, max_steps: int | None, text: str) -> None:
        super().__init__(ModuleSignature(_types(program.arguments), _types(program.results)))
        self._program = program
        self._max_steps = max_steps
        # Only a run that is stopped shows a line of the text, which may hold large constants.
        self._text = "" if max_steps is None else text
        self._constants = frozenset(id(array) for array in program.rest if array is not None)

    def execute(self, arguments: list[Array]) -> tuple[Array, ...]:
        """Returns the results, each in memory of its own."""
        demand_subnormals()
        try:
            with limited(self._max_steps), np.errstate(all="ignore"):
                results = self._program.run(*arguments)
                taken = {*self._constants, *map(id, arguments)}
                return tuple([_owned(result, taken) for result in results])
        except MemoryError:
            raise ExecutionError("the run needs more memory than this machine has") from None
        except RecursionError:
            raise ExecutionError("calls or regions nested this deep") from None
        except StepsError as error:
            told = error.located(self._text)
            raise ExecutionError(str(told)) from told
        except ValueError as error:
            if not _TOO_BIG.search(str(error)):
                raise
            raise ExecutionError(f"the run needs an array beyond all memory: {error}") from None


def _types(types: Iterable[Type]) -> tuple[ArrayType, ...]:
    tensors = [checked(type, 0) for type in types]
    return tuple(ArrayType(extents(type), dtype_of(type)) for type in tensors)


def _owned(result: Array, taken: set[int]) -> Array:
    """Returns `result`, or a copy of it where its memory belongs to something else."""
    array = np.asarray(result)
    if array.base is not None or id(array) in taken or not array.flags.c_contiguous:
        return np.array(array, order="C")
    # A value returned twice is two results.
    taken.add(id(array))
    return array
