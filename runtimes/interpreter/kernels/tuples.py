"""Tuples and tokens: values that are no tensors.

A tuple is a Python tuple of its parts' values, a token the empty one.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from topos.runtimes.interpreter.context import BuildContext, Builders
from topos.runtimes.interpreter.program import Kernel
from topos.stablehlo.dialect import tuples as dialect

__all__ = ["BUILDERS"]


def _tuple(context: BuildContext[Any]) -> Kernel:
    return _together


def _together(*values: Any) -> tuple[Any, ...]:
    return values


def _get_tuple_element(context: BuildContext[dialect.GetTupleElement]) -> Kernel:
    return partial(_element, context.op.index)


def _element(index: int, value: tuple[Any, ...]) -> Any:
    return value[index]


def _token(context: BuildContext[Any]) -> Kernel:
    return _nothing


def _nothing(*tokens: tuple[()]) -> tuple[()]:
    return ()


BUILDERS: Final[Builders] = {
    dialect.AfterAll: _token,
    dialect.CreateToken: _token,
    dialect.GetTupleElement: _get_tuple_element,
    dialect.Tuple: _tuple,
}
