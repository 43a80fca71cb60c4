"""Evaluation: a text becomes an executable, which runs its program in the calling thread."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import numpy as np

from topos.engine import Numerics
from topos.errors import ExecutionError
from topos.payload.kernels.subnormals import demand_subnormals
from topos.runtimes._packing import packed
from topos.runtimes._runtime import Executable
from topos.runtimes._signature import ArrayType, ModuleSignature
from topos.runtimes.interpreter.build import build
from topos.runtimes.interpreter.program import Array, Program, StepsError, limited
from topos.stablehlo.ir import Module, Type
from topos.stablehlo.parser.parse import parse
from topos.stablehlo.read import told_of
from topos.stablehlo.types import checked, dtype_of, extents
from topos.stablehlo.verifier import verify

# What numpy says of a size that no machine has.
_TOO_BIG: Final = re.compile(
    r"array is too big|maximum (?:allowed dimension|supported)|negative dimensions", re.IGNORECASE
)


def compiled(text: str, exact: bool = True, max_steps: int | None = None) -> InterpreterExecutable:
    """Returns `text` parsed, verified and built, with every constant decoded.

    `exact` chooses the oracle's kernels, or else numpy's own and BLAS; a run of more than
    `max_steps` turns of loops and calls stops. Raises as `read` does.
    """
    with told_of(text):
        module = parse(text)
        verify(module)
        return built(module, exact, max_steps, text)


def built(
    module: Module, exact: bool = True, max_steps: int | None = None, text: str | None = None
) -> InterpreterExecutable:
    """Returns a verified module whose types are all static, built as `compiled` does it.

    `text` is what errors show and `serialize` keeps, by default the module printed.
    """
    demand_subnormals()
    return InterpreterExecutable(
        build(module, exact), str(module) if text is None else text, exact, max_steps
    )


class InterpreterExecutable(Executable):
    """A built module with its text; calls share nothing that they write, so threads may share it.

    Bound arguments are prepared once: checked, C-contiguous and aligned.
    """

    def __init__(self, program: Program, text: str, exact: bool, max_steps: int | None) -> None:
        super().__init__(ModuleSignature(_types(program.arguments), _types(program.results)))
        self._program, self._text = program, text
        self._numerics = Numerics.EXACT if exact else Numerics.FAST
        self._max_steps = max_steps
        self._constants = frozenset(id(array) for array in program.rest if array is not None)

    def serialize(self) -> bytes:
        """Returns the text with the numerics and the bound of steps, for any machine."""
        steps = "" if self._max_steps is None else str(self._max_steps)
        origin = {"numerics": self._numerics.value, "max_steps": steps}
        return packed("interpreter", self.signature, origin, self._text.encode())

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
