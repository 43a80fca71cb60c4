"""Rules of sums of products: dot, dot_general and the einsums."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from topos.stablehlo.dialect._attributes import demand_precision, text
from topos.stablehlo.elements import ANY, demand_element
from topos.stablehlo.ir import Tensor
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.shapes import (
    Shape,
    extents_agree,
    ranked,
    shapes_agree,
)

__all__ = ["RULES"]

_COUNTS: Final = ("lhs_component_count", "rhs_component_count", "num_primitive_operations")
_TYPES: Final = ("lhs_precision_type", "rhs_precision_type", "accumulation_type")
# The algorithms that some hardware has: the element of both sides, the sum's, and the products.
_ALGORITHMS: Final = frozenset(
    {
        ("f16", "f16", 1),
        ("f16", "f32", 1),
        ("bf16", "bf16", 1),
        ("bf16", "f32", 1),
        ("bf16", "f32", 3),
        ("bf16", "f32", 6),
        ("bf16", "f32", 9),
        ("tf32", "f32", 1),
        ("tf32", "f32", 3),
        ("f32", "f32", 1),
        ("f64", "f64", 1),
    }
)
# The only elements whose sums may be imprecise, and whose two sides may differ.
_EIGHTS: Final = frozenset(name for name in ANY if name.startswith("f8")) - {"f8E8M0FNU"}


def _sides(claim: OpView) -> tuple[Tensor, Tensor]:
    claim.takes(2)
    left, right = (ranked(claim, type, "operand") for type in claim.operands)
    demand_element(claim, left, ANY)
    demand_element(claim, right, ANY)
    return left, right


def _dot(claim: OpView) -> None:
    left, right = _sides(claim)
    demand_precision(claim)
    ranks = len(left.shape) in (1, 2) and len(right.shape) in (1, 2)
    if not ranks or not extents_agree(left.shape[-1], right.shape[0]):
        claim.refuse(f"cannot multiply {left} by {right}")
    _demand_shape(claim, left.shape[:-1] + right.shape[1:])


def _dot_general(claim: OpView) -> None:
    left, right = _sides(claim)
    demand_precision(claim)
    fields = claim.fields("dot_dimension_numbers")
    batch = _paired(claim, fields, "batching", left, right)
    summed = _paired(claim, fields, "contracting", left, right)
    for side, index in ((left, 0), (right, 1)):
        axes = (*batch[index], *summed[index])
        claim.axes("batching and contracting dimensions", axes, len(side.shape))
    for one, other in zip((*batch[0], *summed[0]), (*batch[1], *summed[1]), strict=True):
        if not extents_agree(left.shape[one], right.shape[other]):
            claim.refuse(f"cannot pair axis {one} of {left} with axis {other} of {right}")
    shared = tuple(
        right.shape[other] if left.shape[one] is None else left.shape[one]
        for one, other in zip(*batch, strict=True)
    )
    free = tuple(
        extent
        for side, index in ((left, 0), (right, 1))
        for axis, extent in enumerate(side.shape)
        if axis not in (*batch[index], *summed[index])
    )
    _demand_shape(claim, shared + free)
    _demand_algorithm(claim)


def _paired(
    claim: OpView, fields: dict[str, Any], kind: str, left: Tensor, right: Tensor
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the axes of both sides that are of one kind, as many on each."""
    names = (f"lhs_{kind}_dimensions", f"rhs_{kind}_dimensions")
    one, other = (claim.integers_of(fields.get(name, ()), name) for name in names)
    if len(one) != len(other):
        claim.refuse(f"needs as many {names[0]} as {names[1]}, got {list(one)} and {list(other)}")
    return one, other


def _demand_shape(claim: OpView, shape: Shape) -> None:
    """Refuses a result of another shape; its element is the text's choice."""
    result = ranked(claim, claim.results[0], "result")
    demand_element(claim, result, ANY)
    if not shapes_agree(shape, result.shape):
        claim.refuse(f"results in {Tensor(shape, result.element)}, got {result}")


def _demand_algorithm(claim: OpView) -> None:
    if claim.optional("algorithm") is None:
        return
    fields = claim.fields("algorithm")
    counts = [fields.get(key, 0) for key in _COUNTS]
    if any(type(count) is not int or count < 1 for count in counts):
        claim.refuse(f"needs counts of 1 or more in its algorithm, got {counts}")
    left, right, total = (str(fields.get(key, "")) for key in _TYPES)
    imprecise = fields.get("allow_imprecise_accumulation", False)
    eights = {left, right} <= _EIGHTS and (total, counts[2]) == ("f32", 1)
    listed = left == right and (left, total, counts[2]) in _ALGORITHMS and not imprecise
    if counts[:2] != [1, 1] or not (eights or listed):
        spelled = f"{left} by {right} to {total} with counts of {counts}"
        claim.refuse(f"needs an algorithm that some hardware has, got {spelled}")
    precision = claim.optional("precision_config") or ()
    if any(part != "DEFAULT" for part in precision):
        claim.refuse(f"needs the precision DEFAULT beside an algorithm, got {precision}")


def _einsum(claim: OpView) -> None:
    _sides(claim)
    _demand_config(claim, 2)


def _unary_einsum(claim: OpView) -> None:
    claim.takes(1)
    demand_element(claim, ranked(claim, claim.operands[0], "operand"), ANY)
    _demand_config(claim, 1)


def _demand_config(claim: OpView, count: int) -> None:
    """Refuses a configuration that does not name the axes of each operand and of the result."""
    config = text(claim, "einsum_config")
    sides, arrow, named = config.replace(" ", "").partition("->")
    parts = sides.split(",")
    if not arrow or len(parts) != count:
        claim.refuse(f"needs an einsum_config of {count} operands, got {config!r}")
    if "..." in config:
        return
    extents: dict[str, int | None] = {}
    for axes, type in zip(parts, claim.operands, strict=True):
        shape = ranked(claim, type, "operand").shape
        if len(axes) != len(shape):
            claim.refuse(f"needs {len(axes)} axes for {axes!r}, got {type}")
        for axis, extent in zip(axes, shape, strict=True):
            if not extents_agree(extents.get(axis), extent):
                claim.refuse(f"needs one extent of {axis!r} in {config!r}, got {type}")
            extents[axis] = extents.get(axis) if extent is None else extent
    if not set(named) <= set(extents):
        claim.refuse(f"needs the axes of the result in its operands, got {config!r}")
    _demand_shape(claim, tuple(extents[axis] for axis in named))


RULES: Final[Mapping[str, Rule]] = {
    "stablehlo.dot": _dot,
    "stablehlo.dot_general": _dot_general,
    "stablehlo.einsum": _einsum,
    "stablehlo.unary_einsum": _unary_einsum,
}
