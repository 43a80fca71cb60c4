"""The rule of chlo.ragged_dot, a product whose rows, columns or batches fall into groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from topos.stablehlo.dialect._attributes import demand_precision
from topos.stablehlo.dialect._numbers import axes_below, distinct, named_fields
from topos.stablehlo.dialect._tensors import holding
from topos.stablehlo.elements import INTEGERS
from topos.stablehlo.ir import Tensor
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.shapes import Shape, extents_agree, shapes_agree

__all__ = ["RULES"]

_LISTS: Final = (
    "lhs_batching_dimensions",
    "rhs_batching_dimensions",
    "lhs_contracting_dimensions",
    "rhs_contracting_dimensions",
    "lhs_ragged_dimensions",
    "rhs_group_dimensions",
)


class _Numbers(NamedTuple):
    """The dimension numbers of a ragged product, named as in the attribute."""

    lhs_batching_dimensions: tuple[int, ...]
    rhs_batching_dimensions: tuple[int, ...]
    lhs_contracting_dimensions: tuple[int, ...]
    rhs_contracting_dimensions: tuple[int, ...]
    lhs_ragged_dimensions: tuple[int, ...]
    rhs_group_dimensions: tuple[int, ...]


def _ragged_dot(claim: OpView) -> None:
    claim.takes(3)
    left = holding(claim, claim.operands[0], "left operand")
    right = holding(claim, claim.operands[1], "right operand")
    sizes = holding(claim, claim.operands[2], "group_sizes", INTEGERS)
    demand_precision(claim)
    fields = named_fields(claim, "ragged_dot_dimension_numbers", "#chlo.ragged_dot<", _LISTS)
    lists = (claim.integers_of(fields.get(name, ()), name) for name in _LISTS)
    numbers = _Numbers(*lists)
    _demand_dot(claim, left, right, numbers)
    if len(numbers.lhs_ragged_dimensions) != 1:
        got = list(numbers.lhs_ragged_dimensions)
        claim.refuse(f"needs 1 axis in lhs_ragged_dimensions, got {got}")
    axes_below(claim, numbers.lhs_ragged_dimensions, len(left.shape), "lhs_ragged_dimensions")
    _demand_sizes(claim, left, sizes, numbers)
    _demand_groups(claim, right, sizes, numbers)
    shape = _produced(left, right, sizes, numbers)
    result = holding(claim, claim.results[0], "result")
    if not shapes_agree(result.shape, shape):
        claim.refuse(f"results in {Tensor(shape, result.element)}, got {result}")


def _demand_dot(claim: OpView, left: Tensor, right: Tensor, numbers: _Numbers) -> None:
    for side, type in (("lhs", left), ("rhs", right)):
        batching = getattr(numbers, f"{side}_batching_dimensions")
        contracting = getattr(numbers, f"{side}_contracting_dimensions")
        what = f"{side}_batching_dimensions and {side}_contracting_dimensions"
        distinct(claim, batching + contracting, what)
        axes_below(claim, batching + contracting, len(type.shape), what)
    for kind in ("batching", "contracting"):
        ours = getattr(numbers, f"lhs_{kind}_dimensions")
        theirs = getattr(numbers, f"rhs_{kind}_dimensions")
        pair = (
            tuple([left.shape[axis] for axis in ours]),
            tuple([right.shape[axis] for axis in theirs]),
        )
        if not shapes_agree(*pair):
            got = " and ".join(map(str, map(list, pair)))
            claim.refuse(f"needs {kind} dimensions of the same extents, got {got}")


def _demand_sizes(claim: OpView, left: Tensor, sizes: Tensor, numbers: _Numbers) -> None:
    """Refuses group sizes that are neither one list nor a list for each part before the ragged."""
    before = tuple([left.shape[axis] for axis in _before(left, numbers)])
    if len(sizes.shape) == 1:
        return
    if len(sizes.shape) != len(before) + 1 or not shapes_agree(sizes.shape[:-1], before):
        needs = [*before, *sizes.shape[-1:]]
        claim.refuse(f"needs group_sizes of the shape {needs}, got {sizes}")


def _before(left: Tensor, numbers: _Numbers) -> tuple[int, ...]:
    """Returns the left axes that stand before the ragged one: batches, then those of its kind."""
    (ragged,) = numbers.lhs_ragged_dimensions
    batching, contracting = numbers.lhs_batching_dimensions, numbers.lhs_contracting_dimensions
    if ragged in batching:
        return batching[: batching.index(ragged)]
    if ragged in contracting:
        return (*batching, *contracting[: contracting.index(ragged)])
    return (*batching, *[axis for axis in range(ragged) if axis not in batching + contracting])


def _demand_groups(claim: OpView, right: Tensor, sizes: Tensor, numbers: _Numbers) -> None:
    groups, name = numbers.rhs_group_dimensions, "rhs_group_dimensions"
    axes_below(claim, groups, len(right.shape), name)
    for other in ("rhs_batching_dimensions", "rhs_contracting_dimensions"):
        distinct(claim, groups + getattr(numbers, other), f"{name} and {other}")
    (ragged,) = numbers.lhs_ragged_dimensions
    kept = ragged not in numbers.lhs_batching_dimensions + numbers.lhs_contracting_dimensions
    if len(groups) != int(kept):
        claim.refuse(f"needs {int(kept)} axes in {name} for the ragged axis {ragged}, got {groups}")
    if groups and not extents_agree(sizes.shape[-1], right.shape[groups[0]]):
        claim.refuse(f"needs {sizes.shape[-1]} groups in axis {groups[0]} of {right}")


def _produced(left: Tensor, right: Tensor, sizes: Tensor, numbers: _Numbers) -> Shape:
    """Returns the shape of the product: groups of a contraction, batches, left and right axes."""
    (ragged,) = numbers.lhs_ragged_dimensions
    contracted = ragged in numbers.lhs_contracting_dimensions
    batching = numbers.lhs_batching_dimensions
    ours = batching + numbers.lhs_contracting_dimensions
    theirs = (
        numbers.rhs_batching_dimensions
        + numbers.rhs_contracting_dimensions
        + numbers.rhs_group_dimensions
    )
    return (
        *(sizes.shape[-1:] if contracted else ()),
        *[left.shape[axis] for axis in batching],
        *[extent for axis, extent in enumerate(left.shape) if axis not in ours],
        *[extent for axis, extent in enumerate(right.shape) if axis not in theirs],
    )


RULES: Final[Mapping[str, Rule]] = {"chlo.ragged_dot": _ragged_dot}
