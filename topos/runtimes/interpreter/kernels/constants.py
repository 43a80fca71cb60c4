"""Values that come from no operand: constants, ramps and the numbers of a device."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from topos.runtimes.interpreter.context import BuildContext, Builders, Constant
from topos.runtimes.interpreter.kernels.conversion import converted
from topos.stablehlo.dense import decoded
from topos.stablehlo.dialect import constants as dialect
from topos.stablehlo.ir import Dense
from topos.stablehlo.types import dtype_of, extents


def _constant(context: BuildContext[Any]) -> Constant:
    value = context.attribute("value")
    if not isinstance(value, Dense):
        context.unsupported("of something other than dense<...> is not supported")
    return Constant(decoded(value))


def _iota(context: BuildContext[Any]) -> Constant:
    (result,) = context.results
    axis, shape = context.op.iota_dimension, extents(result)
    steps = converted(np.arange(shape[axis], dtype=np.int64), dtype_of(result))
    column = steps.reshape(-1, *(1 for _ in shape[axis + 1 :]))
    return Constant(np.broadcast_to(column, shape))


def _constant_like(context: BuildContext[Any]) -> Constant:
    (result,) = context.results
    value, dtype = context.attribute("value"), dtype_of(result)
    # An integer of a type without a sign may be written as either of two numbers.
    exact = np.array(value % 2**64, np.uint64) if type(value) is int else np.array(value)
    scalar = converted(exact, dtype)
    return Constant(np.broadcast_to(scalar, extents(result)))


def _number(context: BuildContext[Any]) -> Constant:
    # One process is the one replica of the one partition.
    return Constant(np.zeros((), np.uint32))


BUILDERS: Final[Builders] = {
    dialect.ArithConstant: _constant,
    dialect.ChloConstant: _constant,
    dialect.SdyConstant: _constant,
    dialect.Constant: _constant,
    dialect.Iota: _iota,
    dialect.PartitionId: _number,
    dialect.ReplicaId: _number,
    dialect.ConstantLike: _constant_like,
}
