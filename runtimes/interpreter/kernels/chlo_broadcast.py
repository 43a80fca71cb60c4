"""CHLO operations with broadcasting: the plain operation on operands brought to one shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy.typing as npt

from topos.runtimes.interpreter import kernels as operations
from topos.runtimes.interpreter.context import BuildContext, Builder, Constant
from topos.runtimes.interpreter.kernels.layout import broadcast
from topos.runtimes.interpreter.program import Kernel
from topos.stablehlo.types import extents

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]
Shape = tuple[int, ...]

_PLAIN: Final[Mapping[str, str]] = {
    **{
        f"chlo.broadcast_{name}": f"stablehlo.{name}"
        for name in (
            "add",
            "and",
            "atan2",
            "compare",
            "complex",
            "divide",
            "maximum",
            "minimum",
            "multiply",
            "or",
            "power",
            "remainder",
            "select",
            "shift_left",
            "shift_right_arithmetic",
            "shift_right_logical",
            "subtract",
            "xor",
        )
    },
    **{f"chlo.broadcast_{name}": f"chlo.{name}" for name in ("next_after", "polygamma", "zeta")},
}


def _broadcasting(context: BuildContext) -> Kernel:
    target = extents(context.results[0])
    shapes = [extents(operand) for operand in context.operands]
    axes = [tuple(range(len(target) - len(shape), len(target))) for shape in shapes]
    if "broadcast_dimensions" in context.operation.attributes:
        # They place the operand of fewer axes; the other one has the result's.
        shorter = min(range(len(shapes)), key=lambda place: len(shapes[place]))
        axes[shorter] = context.integers("broadcast_dimensions")
    brought = [broadcast(shape, place, target) for shape, place in zip(shapes, axes, strict=True)]
    name = _PLAIN[context.name]
    kernel = operations.OPERATIONS[name](
        context.having(
            operation=context.operation._replace(name=name),
            operands=tuple(operand._replace(shape=target) for operand in context.operands),
            constants=(None,) * len(shapes),
        )
    )
    assert not isinstance(kernel, Constant), f"{name} reads its operands"
    return partial(_applied, kernel, brought)


def _applied(kernel: Kernel, brought: Sequence[Kernel], *arrays: Array) -> Array:
    result: Array = kernel(*[bring(array) for bring, array in zip(brought, arrays, strict=True)])
    return result


BUILDERS: Final[Mapping[str, Builder]] = dict.fromkeys(_PLAIN, _broadcasting)
