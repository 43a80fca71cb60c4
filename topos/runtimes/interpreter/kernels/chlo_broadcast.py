"""CHLO operations with broadcasting: the plain operation on operands brought to one shape."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from topos.runtimes.interpreter.context import BuildContext, Builders, Constant
from topos.runtimes.interpreter.kernels import builder_of
from topos.runtimes.interpreter.kernels.layout import broadcast
from topos.runtimes.interpreter.program import Array, Kernel
from topos.stablehlo.dialect import find, of_family
from topos.stablehlo.types import extents

__all__ = ["BUILDERS"]


_PREFIX: Final = "chlo.broadcast_"


def _broadcasting(context: BuildContext[Any]) -> Kernel:
    target = extents(context.results[0])
    shapes = [extents(operand) for operand in context.operands]
    axes = [tuple(range(len(target) - len(shape), len(target))) for shape in shapes]
    if "broadcast_dimensions" in context.operation.attributes:
        # They place the operand of fewer axes; the other one has the result's.
        shorter = min(range(len(shapes)), key=lambda place: len(shapes[place]))
        axes[shorter] = context.op.broadcast_dimensions
    brought = [broadcast(shape, place, target) for shape, place in zip(shapes, axes, strict=True)]
    name = context.name.removeprefix(_PREFIX)
    plain = find(f"stablehlo.{name}") or find(f"chlo.{name}")
    builder = None if plain is None else builder_of(plain)
    assert plain, f"{context.name} is an operation with broadcasting"
    assert builder, f"{name} has a kernel"
    operands = tuple([operand._replace(shape=target) for operand in context.operands])
    op = plain(context.operation, operands, context.results, (None,) * len(shapes))
    kernel = builder(BuildContext(op, (), 0, context.function, context.exact))
    assert not isinstance(kernel, Constant), f"{name} reads its operands"
    return partial(_applied, kernel, brought)


def _applied(kernel: Kernel, brought: Sequence[Kernel], *arrays: Array) -> Array:
    result: Array = kernel(*[bring(array) for bring, array in zip(brought, arrays, strict=True)])
    return result


BUILDERS: Final[Builders] = dict.fromkeys(of_family("chlo_broadcast").values(), _broadcasting)
