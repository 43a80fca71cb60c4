"""Shapes as rules compare them: a dynamic extent agrees with any, an unranked tensor with any rank.

No two shapes are asked to be equal, only that one run could have both: the text of a program may
know less in one place than in another.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from topos.stablehlo.ir import Tensor, TupleType, Type, Unranked
from topos.stablehlo.opview import OpView

Shape = tuple[int | None, ...]
TensorType = Tensor | Unranked

# The second spelling is the first one's older name; it writes -1 where there is no bound.
_SPELLINGS: Final = re.compile(
    r"#stablehlo\.bounds<(?P<new>[^<>]*)>"
    r"|#stablehlo\.type_extensions<\s*bounds\s*=\s*\[(?P<old>[^\[\]]*)\]\s*>",
    re.DOTALL,
)
_ABSENT: Final = ("?", "-1")


def shown(types: Iterable[Type]) -> str:
    """Returns a list of types as the text would spell it."""
    return f"({', '.join(map(str, types))})"


def tensor(view: OpView, type: Type, what: str) -> TensorType:
    """Returns `type` where it is a tensor, ranked or not; `what` names it in the refusal."""
    if not isinstance(type, (Tensor, Unranked)):
        view.refuse(f"needs a tensor as {what}, got {type}")
    return type


def ranked(view: OpView, type: Type, what: str) -> Tensor:
    """Returns `type` where it is a tensor whose rank is known, as StableHLO asks everywhere."""
    if not isinstance(type, Tensor):
        view.refuse(f"needs a ranked tensor as {what}, got {type}")
    return type


def scalar(view: OpView, type: Type, what: str) -> Tensor:
    """Returns `type` where it is a tensor of no dimensions."""
    if not isinstance(type, Tensor) or type.shape:
        view.refuse(f"needs a scalar as {what}, got {type}")
    return type


def shape_of(type: Type) -> Shape | None:
    """Returns the extents of a ranked tensor, or `None` where not even the rank is known."""
    return type.shape if isinstance(type, Tensor) else None


def size_of(shape: Shape | None) -> int | None:
    """Returns the number of elements where every extent is known."""
    if shape is None:
        return None
    known = [extent for extent in shape if extent is not None]
    return math.prod(known) if len(known) == len(shape) else None


@lru_cache(maxsize=4096)
def read_bounds(encoding: str) -> Shape | None:
    """Returns what an encoding bounds axis by axis, or `None` where it states no bounds."""
    stated = _SPELLINGS.fullmatch(encoding)
    if stated is None:
        return None
    parts = [part.strip() for part in (stated["new"] or stated["old"] or "").split(",")]
    if not all(part in _ABSENT or part.isdecimal() for part in parts if part):
        return None
    return tuple([None if part in _ABSENT else int(part) for part in parts if part])


def of_bounds(shape: Shape, element: str, bounds: Shape) -> Tensor:
    """Returns the tensor type of `shape` with the bounds that its dynamic extents have."""
    kept = [bound if extent is None else None for extent, bound in zip(shape, bounds, strict=True)]
    if all(bound is None for bound in kept):
        return Tensor(shape, element)
    spelled = ", ".join("?" if bound is None else str(bound) for bound in kept)
    return Tensor(shape, element, f"#stablehlo.bounds<{spelled}>")


def bounds_of(type: Type) -> Shape:
    """Returns the upper bound of each dynamic extent that has one, and `None` elsewhere.

    A type without bounds has as many `None` as axes; an unranked one has `()`.
    """
    if not isinstance(type, Tensor):
        return ()
    stated = read_bounds(type.encoding) if type.encoding else None
    return (None,) * len(type.shape) if stated is None else stated


def extents_agree(one: int | None, other: int | None) -> bool:
    """Returns whether two extents may be the same in a run."""
    return one is None or other is None or one == other


def shapes_agree(one: Shape | None, other: Shape | None) -> bool:
    """Returns whether two shapes may be the same in a run."""
    if one == other or one is None or other is None:
        return True
    return len(one) == len(other) and all(map(extents_agree, one, other))


def agree(one: Type, other: Type) -> bool:
    """Returns whether two types may be of one value: elements alike, shapes that agree.

    An extent fits into the other's bound, and tuples agree part by part.
    """
    if one == other:
        return True
    if isinstance(one, TupleType) and isinstance(other, TupleType):
        return len(one.parts) == len(other.parts) and all(map(agree, one.parts, other.parts))
    if not isinstance(one, (Tensor, Unranked)) or not isinstance(other, (Tensor, Unranked)):
        return False
    return one.element == other.element and _agree_in_shape(one, other)


def _agree_in_shape(one: TensorType, other: TensorType) -> bool:
    agreed = shapes_agree(shape_of(one), shape_of(other))
    return agreed and _fits(one, other) and _fits(other, one)


def _fits(one: Type, other: Type) -> bool:
    """Returns whether the known extents of `one` lie within the bounds of `other`."""
    if not isinstance(one, Tensor) or not isinstance(other, Tensor) or not other.encoding:
        return True
    pairs = zip(one.shape, bounds_of(other), strict=False)
    return all(extent is None or bound is None or extent <= bound for extent, bound in pairs)


def common(one: Type, other: Type) -> Type:
    """Returns the type that holds any value of two types, which agree."""
    if one == other:
        return one
    if isinstance(one, TupleType) and isinstance(other, TupleType):
        return TupleType(tuple(map(common, one.parts, other.parts)))
    if not isinstance(one, Tensor) or not isinstance(other, Tensor):
        return other if isinstance(other, Unranked) else one
    pairs = zip(one.shape, other.shape, strict=True)
    shape = tuple([extent if extent == further else None for extent, further in pairs])
    limits = zip(_limits(one), _limits(other), strict=True)
    bounds = tuple(
        [None if left is None or right is None else max(left, right) for left, right in limits]
    )
    return of_bounds(shape, one.element, bounds)


def _limits(type: Tensor) -> Shape:
    """Returns the most elements along each axis, where the type tells them."""
    pairs = zip(type.shape, bounds_of(type), strict=True)
    return tuple([bound if extent is None else extent for extent, bound in pairs])


def merged(view: OpView, types: Iterable[TensorType], what: str) -> TensorType:
    """Returns the type that knows what any of `types` knows, which must agree in their shapes.

    The element is the first one's. `what` names the values in the refusal.
    """
    first, *rest = types
    taken = first
    for type in rest:
        if type == taken:
            continue
        if not _agree_in_shape(taken, type):
            view.refuse(f"needs {what} of one shape, got {taken} and {type}")
        taken = _both(taken, type)
    return taken


def _both(one: TensorType, other: TensorType) -> TensorType:
    if isinstance(other, Unranked):
        return one
    if isinstance(one, Unranked):
        return other._replace(element=one.element)
    shape = tuple(
        further if extent is None else extent
        for extent, further in zip(one.shape, other.shape, strict=True)
    )
    if not one.encoding and not other.encoding:
        return Tensor(shape, one.element)
    bounds = tuple(map(_tighter, bounds_of(one), bounds_of(other)))
    return of_bounds(shape, one.element, bounds)


def _tighter(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


def demand_result(view: OpView, inferred: Type, index: int = 0) -> None:
    """Refuses unless the stated result may be of the type that the operands imply."""
    stated = view.results[index]
    if stated == inferred:
        return
    # Only CHLO has tensors of unknown rank; StableHLO's rules know the rank of every result.
    hidden = isinstance(stated, Unranked) and view.name.startswith("stablehlo.")
    if hidden or not agree(stated, inferred):
        view.refuse(f"results in {inferred}, got {stated}")


def demand_results(view: OpView, inferred: tuple[Type, ...]) -> None:
    """Refuses unless there are as many results as `inferred`, and each agrees."""
    if len(view.results) != len(inferred):
        noun = "result" if len(inferred) == 1 else "results"
        view.refuse(f"has {len(inferred)} {noun}, got {len(view.results)}")
    for index, type in enumerate(inferred):
        demand_result(view, type, index)
