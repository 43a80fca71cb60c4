"""Tuples and tokens: values that are no tensors.

A tuple is a Python tuple of its parts' values, a token the empty one.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Final

from topos.runtimes.interpreter.context import BuildContext, Builders, always
from topos.runtimes.interpreter.program import Kernel
from topos.stablehlo.dialect import tuples as dialect

__all__ = ["BUILDERS"]


def _get_tuple_element(context: BuildContext[dialect.GetTupleElement]) -> Kernel:
    return itemgetter(context.op.index)


BUILDERS: Final[Builders] = {
    dialect.AfterAll: always(lambda *tokens: ()),
    dialect.CreateToken: always(tuple),
    dialect.GetTupleElement: _get_tuple_element,
    dialect.Tuple: always(lambda *values: values),
}
