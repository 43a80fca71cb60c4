"""Sums of products: dot, dot_general and the einsums."""

from __future__ import annotations

from math import prod
from typing import Any, Final, NamedTuple

from topos.stablehlo.assembly import Head, heading
from topos.stablehlo.attribute_text import listed
from topos.stablehlo.definition import Definition, Operand, Result, define, extents_of
from topos.stablehlo.dialect._demands import Precisions
from topos.stablehlo.dimension_numbers import DOT, DotNumbers, Numbers
from topos.stablehlo.ir import Crossed, Operation, Record, Tensor, Type
from topos.stablehlo.parsed import ParsedOperation
from topos.stablehlo.rounding import Sums
from topos.stablehlo.shapes import Shape, extents_agree
from topos.stablehlo.typed_attributes import Fields, String
from topos.stablehlo.types import ANY

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


class _Product(Definition):
    """A product of two operands; the element of its result is the text's choice."""

    left = Operand("operand")
    right = Operand("operand")
    result = Result(is_inferred=True)
    rounding = Sums(products=True)

    def terms(self) -> int:
        """Returns how many products an element of the result sums."""
        raise NotImplementedError

    def flops(self) -> int:
        """Returns a multiplication and an addition for each product."""
        return 2 * self.terms() * super().flops()

    def of_shape(self, shape: Shape) -> Tensor:
        """Returns the type of `shape`, whose element is the left one's unless one is stated."""
        return Tensor(shape, (self.result if self.results else self.left).element)


@define("stablehlo.dot")
class Dot(_Product):
    """The sum over the last axis of `left` and the first of `right`."""

    precision_config = Precisions()
    assembly = "$operands, precision = $precision_config? : functional-type"

    def infer(self) -> tuple[Type, ...]:
        left, right = self.left, self.right
        ranks = len(left.shape) in (1, 2) and len(right.shape) in (1, 2)
        if not ranks or not extents_agree(left.shape[-1], right.shape[0]):
            self.refuse(f"cannot multiply {left} by {right}")
        return (self.of_shape(left.shape[:-1] + right.shape[1:]),)

    def terms(self) -> int:
        """Returns the extent that is summed over."""
        return extents_of(self.operands[0])[-1]


@define("stablehlo.dot_general")
class DotGeneral(_Product):
    """The sum over pairs of contracting axes, for each place along pairs of batching axes."""

    dot_dimension_numbers = Numbers(DOT, DotNumbers)
    precision_config = Precisions()
    algorithm = Fields(
        "#stablehlo.dot_algorithm<",
        (*_COUNTS, *_TYPES, "allow_imprecise_accumulation"),
        optional=True,
    )
    # The lists of axes stand after the operands.
    assembly = (
        "$operands, precision = $precision_config?, algorithm = $algorithm? : functional-type"
    )
    clauses = frozenset({"batching_dims", "contracting_dims"})

    def infer(self) -> tuple[Type, ...]:
        left, right, numbers = self.left, self.right, self.dot_dimension_numbers
        self._demand_pairs("batching")
        self._demand_pairs("contracting")
        ours = (*numbers.lhs_batching_dimensions, *numbers.lhs_contracting_dimensions)
        theirs = (*numbers.rhs_batching_dimensions, *numbers.rhs_contracting_dimensions)
        for side, axes in ((left, ours), (right, theirs)):
            self.axes("batching and contracting dimensions", axes, len(side.shape))
        for one, other in zip(ours, theirs, strict=True):
            if not extents_agree(left.shape[one], right.shape[other]):
                self.refuse(f"cannot pair axis {one} of {left} with axis {other} of {right}")
        batching = zip(
            numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions, strict=True
        )
        shape = [
            right.shape[other] if left.shape[one] is None else left.shape[one]
            for one, other in batching
        ]
        for side, axes in ((left, ours), (right, theirs)):
            shape += [extent for axis, extent in enumerate(side.shape) if axis not in axes]
        if "algorithm" in self.operation.attributes:
            self._demand_algorithm()
        return (self.of_shape(tuple(shape)),)

    def _demand_pairs(self, kind: str) -> None:
        """Refuses axes of one kind that are not as many on each side."""
        names = (f"lhs_{kind}_dimensions", f"rhs_{kind}_dimensions")
        one, other = (getattr(self.dot_dimension_numbers, name) for name in names)
        if len(one) != len(other):
            got = f"{list(one)} and {list(other)}"
            self.refuse(f"needs as many {names[0]} as {names[1]}, got {got}")

    def _demand_algorithm(self) -> None:
        fields = self.algorithm
        counts = [fields.get(key, 0) for key in _COUNTS]
        if any(type(count) is not int or count < 1 for count in counts):
            self.refuse(f"needs counts of 1 or more in its algorithm, got {counts}")
        left, right, total = (str(fields.get(key, "")) for key in _TYPES)
        imprecise = fields.get("allow_imprecise_accumulation", False)
        eights = {left, right} <= _EIGHTS and (total, counts[2]) == ("f32", 1)
        known = left == right and (left, total, counts[2]) in _ALGORITHMS and not imprecise
        if counts[:2] != [1, 1] or not (eights or known):
            spelled = f"{left} by {right} to {total} with counts of {counts}"
            self.refuse(f"needs an algorithm that some hardware has, got {spelled}")
        precision = self.precision_config
        if any(part != "DEFAULT" for part in precision):
            self.refuse(f"needs the precision DEFAULT beside an algorithm, got {precision}")

    def terms(self) -> int:
        """Returns the extents that are summed over."""
        left = extents_of(self.operands[0])
        return prod([left[axis] for axis in self.dot_dimension_numbers.lhs_contracting_dimensions])

    @classmethod
    def read(cls, parsed: ParsedOperation) -> ParsedOperation:
        attributes = dict(parsed.attributes)
        numbers: dict[str, Any] = {}
        for kind in ("batching", "contracting"):
            lists = attributes.pop(f"{kind}_dims", Crossed(((), ())))
            if not isinstance(lists, Crossed) or len(lists) != 2:
                raise parsed.misread(f"{kind}_dims = [..] x [..]")
            numbers[f"lhs_{kind}_dimensions"], numbers[f"rhs_{kind}_dimensions"] = lists
        stated = {"dot_dimension_numbers": Record(numbers, DOT), **attributes}
        return parsed._replace(attributes=stated)

    @classmethod
    def head(cls, operation: Operation) -> Head | None:
        """Returns the operands and the lists of axes; batches are left out where there are none."""
        rest = dict(operation.attributes)
        numbers = rest.pop("dot_dimension_numbers", None)
        if not isinstance(numbers, Record) or numbers.opening != DOT or len(numbers) != 4:
            return None
        parts = list(operation.operands)
        for kind in ("batching", "contracting"):
            sides: list[Any] = [numbers.get(f"{side}_{kind}_dimensions") for side in ("lhs", "rhs")]
            if any(type(side) is not tuple for side in sides):
                return None
            if kind == "contracting" or any(sides):
                parts.append(f"{kind}_dims = {' x '.join(map(listed, sides))}")
        return heading(cls.form, operation._replace(operands=tuple(parts), attributes=rest))


class _Config(NamedTuple):
    """An einsum's letters: one an axis, of each operand and of the result."""

    operands: tuple[str, ...]
    result: str


class _Einsum(Definition):
    """Sums of products along axes that letters name; the result's element is the text's choice."""

    einsum_config = String()
    result = Result(is_inferred=True)
    assembly = "$operands, config = $einsum_config : functional-type"

    def infer(self) -> tuple[Type, ...]:
        """Returns the extents that the result's letters have in the operands.

        With an ellipsis it returns the stated type.
        """
        config, written = self.config(), self.einsum_config
        if "..." in written:
            return (self.result,)
        extents = self.extents(config)
        if not set(config.result) <= set(extents):
            self.refuse(f"needs the axes of the result in its operands, got {written!r}")
        element = (self.result if self.results else self.tensors()[0]).element
        return (Tensor(tuple([extents[axis] for axis in config.result]), element),)

    def tensors(self) -> list[Tensor]:
        """Returns the types of the operands."""
        return [getattr(self, name) for name in self.declared_operands]

    def extents(self, config: _Config) -> dict[str, int | None]:
        """Returns the extent that each letter stands for, as far as the operands tell it."""
        extents: dict[str, int | None] = {}
        written = self.einsum_config
        for axes, type in zip(config.operands, self.tensors(), strict=True):
            if len(axes) != len(type.shape):
                self.refuse(f"needs {len(axes)} axes for {axes!r}, got {type}")
            for axis, extent in zip(axes, type.shape, strict=True):
                if not extents_agree(extents.get(axis), extent):
                    self.refuse(f"needs one extent of {axis!r} in {written!r}, got {type}")
                extents[axis] = extents.get(axis) if extent is None else extent
        return extents

    def config(self) -> _Config:
        """Returns the letters, which must name the axes of each operand and of the result."""
        count = len(self.declared_operands)
        sides, arrow, result = self.einsum_config.replace(" ", "").partition("->")
        parts = sides.split(",")
        if not arrow or len(parts) != count:
            needs = f"an einsum_config of {count} operands"
            self.refuse(f"needs {needs}, got {self.einsum_config!r}")
        return _Config(tuple(parts), result)


@define("stablehlo.einsum")
class Einsum(_Einsum):
    """The products of `left` and `right`, summed along the axes that the result does not name."""

    left = Operand("operand")
    right = Operand("operand")
    rounding = Sums(products=True)

    def flops(self) -> int:
        """Returns a multiplication and an addition for each product that is summed."""
        config = self.config()
        extents = self.extents(config)
        terms = prod([extents[letter] or 0 for letter in {*extents} - {*config.result}])
        return 2 * terms * super().flops()


@define("stablehlo.unary_einsum")
class UnaryEinsum(_Einsum):
    """`operand` summed along the axes that the result does not name."""

    operand = Operand()
    rounding = Sums()
