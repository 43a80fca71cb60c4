"""Evaluation: a text becomes an executable, which runs its program in the calling thread."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from topos.errors import ExecutionError, ParseError, UnsupportedError, VerifyError
from topos.payload.kernels.subnormals import demand_subnormals
from topos.runtimes._runtime import ArrayType, Executable, ModuleSignature
from topos.runtimes._stablehlo.build import build
from topos.runtimes._stablehlo.misread import MisreadError, placed
from topos.runtimes._stablehlo.operations import OPERATIONS
from topos.runtimes._stablehlo.parse import parse
from topos.runtimes._stablehlo.program import Program
from topos.runtimes._stablehlo.syntax import Type
from topos.runtimes._stablehlo.types import checked, dtype_of, extents

__all__ = ["Evaluation", "compiled"]

Array = npt.NDArray[Any]

# An operation opens a statement: at the start of a line, or after the results' equals sign.
_OPENING = re.compile(r"(?:^|=)[ \t]*([A-Za-z_]\w*\.[\w.]+)", re.MULTILINE)
_WINDOW = 4096


def compiled(text: str, exact: bool = True) -> Evaluation:
    """Returns `text` parsed, verified and built, with every constant decoded."""
    demand_subnormals()
    try:
        return Evaluation(build(parse(text), exact))
    except ParseError as error:
        name = _operation_before(text, error)
        if name in OPERATIONS or not name.startswith(("chlo.", "stablehlo.")):
            raise
        raise UnsupportedError(f"{name} is not supported", error.line) from None
    except (UnsupportedError, VerifyError) as error:
        raise error.located(text) from None
    except MisreadError as error:
        raise placed(error, text) from None
    except RecursionError:
        raise UnsupportedError("regions, types or attributes nested this deep") from None
    except MemoryError:
        raise UnsupportedError("constants larger than this machine's memory") from None


def _operation_before(text: str, error: ParseError) -> str:
    """Returns the operation whose form was being read, which may be one that is not known."""
    lines = text.split("\n")[max(0, error.line - 20) : error.line]
    lines[-1] = lines[-1][: error.column]
    names = _OPENING.findall("\n".join(line[:_WINDOW] for line in lines))
    return names[-1] if names else ""


class Evaluation(Executable):
    """A program of `@main`; calls share nothing that they write, so threads may share it."""

    def __init__(self, program: Program) -> None:
        super().__init__(ModuleSignature(_types(program.arguments), _types(program.results)))
        self._program = program
        self._constants = frozenset(id(array) for array in program.rest if array is not None)

    def execute(self, arguments: list[Array]) -> tuple[Array, ...]:
        """Returns the results, each in memory of its own."""
        demand_subnormals()
        try:
            with np.errstate(all="ignore"):
                results = self._program.run(*arguments)
        except MemoryError:
            raise ExecutionError("the run needs more memory than this machine has") from None
        taken = {*self._constants, *map(id, arguments)}
        return tuple([_owned(result, taken) for result in results])


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
