"""Bodies: how a region over scalars is applied to arrays of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from topos.runtimes._stablehlo.program import Program
from topos.runtimes._stablehlo.site import Site
from topos.runtimes._stablehlo.syntax import Tensor, Type
from topos.runtimes._stablehlo.types import dtype_of, is_float

__all__ = ["Combiner", "combiner", "demand_body", "demand_promotion"]

Array = npt.NDArray[Any]
# Takes the left and the right operands, then what the region captures.
Combiner = Callable[[Sequence[Array], Sequence[Array], Sequence[Array]], tuple[Array, ...]]


def demand_body(site: Site, body: Program, elements: Sequence[Tensor]) -> None:
    """Refuses unless `body` takes a left and a right scalar of each element and returns one."""
    scalars = tuple(Tensor((), type.element) for type in elements)
    arguments = body.arguments[: len(body.arguments) - site.captures]
    needs = f"needs a body over {' and '.join(map(str, scalars))} twice"
    site.demand(arguments == (*scalars, *scalars), f"{needs}, got {_shown(arguments)}")
    site.demand(
        body.results == scalars,
        f"needs a body that returns {_shown(scalars)}, got {_shown(body.results)}",
    )


def demand_promotion(site: Site, operand: Tensor, result: Tensor) -> None:
    """Refuses unless the elements of `operand` are those of `result`, or narrower ones of a kind.

    Such a body combines in the wider format, to which the operands are converted first.
    """
    pair = (operand.element, result.element)
    same_kind = is_float(operand) == is_float(result) and "i1" not in pair
    wider = dtype_of(operand).itemsize <= dtype_of(result).itemsize
    fits = pair[0] == pair[1] or (same_kind and wider)
    site.demand(fits, f"cannot combine elements of {pair[0]} as {pair[1]}")


def combiner(body: Program) -> Combiner:
    """Returns `body` as a function of arrays, applied to every element.

    A body of elementwise operations runs once on whole arrays; any other, element by element.
    """
    if body.elementwise:
        return _Vectorized(body)
    return _Scalarwise(body)


def _shown(types: Sequence[Type]) -> str:
    return f"({', '.join(map(str, types))})"


class _Vectorized:
    """A body whose operations all work element by element."""

    def __init__(self, body: Program) -> None:
        self.body = body

    def __call__(
        self, left: Sequence[Array], right: Sequence[Array], captures: Sequence[Array]
    ) -> tuple[Array, ...]:
        shape = left[0].shape
        results = self.body.run(*left, *right, *captures)
        # A body may return a constant, which is the same for every element.
        return tuple([np.broadcast_to(result, shape) for result in results])


class _Scalarwise:
    """A body that holds an operation of its own shape, such as a call or a nested region."""

    def __init__(self, body: Program) -> None:
        self.body = body

    def __call__(
        self, left: Sequence[Array], right: Sequence[Array], captures: Sequence[Array]
    ) -> tuple[Array, ...]:
        shape = left[0].shape
        dtypes = [dtype_of(cast(Tensor, type)) for type in self.body.results]
        results = tuple([np.empty(shape, dtype) for dtype in dtypes])
        for place in np.ndindex(shape):
            scalars = [array[(..., *place)] for array in (*left, *right)]
            for result, value in zip(results, self.body.run(*scalars, *captures), strict=True):
                result[place] = value
        return results
