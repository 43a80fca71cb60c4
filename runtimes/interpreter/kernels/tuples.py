"""Tuples and tokens: values that are no tensors.

A tuple is a Python tuple of its parts' values, a token the empty one.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any, Final

from topos.runtimes.interpreter.context import BuildContext, Builders, always
from topos.runtimes.interpreter.program import Kernel
from topos.stablehlo.dialect import tuples as dialect

__all__ = ["BUILDERS"]


def _together(*values: Any) -> tuple[Any, ...]:
    return values


def _get_tuple_element(context: BuildContext[dialect.GetTupleElement]) -> Kernel:
    return itemgetter(context.op.index)


def _nothing(*tokens: tuple[()]) -> tuple[()]:
    return ()


BUILDERS: Final[Builders] = {
    dialect.AfterAll: always(_nothing),
    dialect.CreateToken: always(_nothing),
    dialect.GetTupleElement: _get_tuple_element,
    dialect.Tuple: always(_together),
}
