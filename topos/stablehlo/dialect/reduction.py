"""The operations that apply a body along axes: reduce and map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lark import Token

from topos.stablehlo.attribute_text import dictionary, function_type, listed, parameters, results_of
from topos.stablehlo.definition import Definition, Operand, define, elements_of
from topos.stablehlo.dialect import has, with_trait
from topos.stablehlo.dialect._demands import axes_below, distinct, holding
from topos.stablehlo.dialect._reducers import (
    Reduction,
    bodies,
    demand_reducer,
    reduced,
    reducer_types,
    returned_scalar,
)
from topos.stablehlo.dialect.control import Return
from topos.stablehlo.ir import Block, Operation, Packed, Parameter, Region, Tensor, Type, Unranked
from topos.stablehlo.parsed import ParsedOperation, TokenError, place_of
from topos.stablehlo.rounding import OfBody
from topos.stablehlo.shapes import bounds_of, merged, of_bounds
from topos.stablehlo.traits import Trait
from topos.stablehlo.typed_attributes import Axes

if TYPE_CHECKING:
    from topos.stablehlo.printer import Writer


@define("stablehlo.reduce")
class Reduce(Reduction):
    """The inputs combined along `dimensions` by a body, from the initial values."""

    dimensions = Axes(strict=True)
    # Only `dimensions` is read from here; `write` says the rest.
    assembly = "$operands, dimensions = $dimensions : functional-type"

    def infer(self) -> tuple[Type, ...]:
        inputs, initials = reduced(self)
        (body,) = bodies(self)
        merged(self, inputs, "inputs")
        witness, axes = inputs[0], self.dimensions
        axes_below(self, axes, len(witness.shape), "dimensions")
        distinct(self, axes, "dimensions")
        kept = [axis for axis in range(len(witness.shape)) if axis not in axes]
        shape = tuple([witness.shape[axis] for axis in kept])
        returned = demand_reducer(self, body, inputs, initials, shape)
        bounds = bounds_of(witness)
        left = tuple([bounds[axis] for axis in kept])
        return tuple([of_bounds(shape, each.element, left) for each in returned])

    def region_runs(self, region: int) -> int:
        """Returns one run of the body for each element that is combined."""
        return elements_of(self.operands[:1])

    @classmethod
    def read(cls, parsed: ParsedOperation) -> ParsedOperation:
        """Returns a reduction by the name of an operation with the region that it means."""
        match parsed.words:
            case ():
                return parsed
            case (Token() as applied,):
                return _applied(parsed, applied)
        raise parsed.misread("applies and the name of one operation, or with a reducer")

    @classmethod
    def write(cls, writer: Writer, operation: Operation) -> bool:
        """Writes pairs of inputs and initial values, then the name or the region of the body."""
        count = len(operation.operands) // 2
        rest = dict(operation.attributes)
        dimensions = rest.pop("dimensions", None)
        body = operation.regions[0] if len(operation.regions) == 1 else Region(())
        arguments = body.blocks[0].arguments if body.blocks else ()
        if not isinstance(dimensions, Packed) or dimensions.element != "i64" or not count:
            return False
        if {len(operation.operands), len(arguments)} != {2 * count}:
            return False
        if any(argument.attributes for argument in arguments):
            return False
        pairs = zip(operation.operands[:count], operation.operands[count:], strict=True)
        initials = ", ".join(f"({operand} init: {start})" for operand, start in pairs)
        leading = f" {dictionary(rest)}" if rest else ""
        type = writer.type(operation)
        across = f"across dimensions = {listed(dimensions)}{leading} : {function_type(type)}"
        name = _name_of(body, type.operands[0])
        head = f"{results_of(operation)}{operation.name}{initials}"
        if name:
            writer.line(f"{head} applies {name} {across}")
            return True
        writer.line(f"{head} {across}")
        groups = zip(arguments[:count], arguments[count:], strict=True)
        with writer.inside():
            writer.line(f"reducer{' '.join(f'({parameters(group)})' for group in groups)} {{")
            writer.region(body, "}", labelled=False)
        return True


def _applied(parsed: ParsedOperation, applied: Token) -> ParsedOperation:
    if not has(applied.value, Trait.COMMUTATIVE):
        names = " ".join(with_trait(Trait.COMMUTATIVE))
        raise TokenError(f"stablehlo.reduce applies one of {names}", applied)
    types = parsed.types.operands or ()
    if len(parsed.operands) != 2 or len(types) != 2:
        raise TokenError("stablehlo.reduce applies a name to one operand only", applied)
    whole, element = types
    if isinstance(whole, Tensor | Unranked):
        # An alias is not known yet; then the type that the reduction starts with is the element's.
        element = Tensor((), whole.element)
    arguments = (Parameter("%left", element, {}), Parameter("%right", element, {}))
    line, column = place_of(applied)
    taken = ("%left", "%right")
    body = Operation(applied.value, ("%result",), taken, {}, (), None, (element,), line, column)
    end = Operation(Return.operation_name, (), ("%result",), {}, (), (element,), (), line, column)
    return parsed._replace(words=(), regions=(Region((Block(arguments, (body, end)),)),))


def _name_of(body: Region, taken: Type) -> str:
    """Returns the operation that is the whole of `body`, or `""`; its names are the usual ones."""
    if not isinstance(taken, Tensor | Unranked) or len(body.blocks) != 1:
        return ""
    element = Tensor((), taken.element)
    match body.blocks[0]:
        case Block(
            (left, right),
            (
                Operation(
                    str(name), ("%result",), ("%left", "%right"), {}, (), _, (result,)
                ) as step,
                Operation(Return.operation_name, (), ("%result",), {}, ()) as end,
            ),
        ):
            types = (left.type, right.type, result)
            unused = not (step.attributes or end.attributes)
            names = (left.name, right.name) == ("%left", "%right")
            if names and unused and set(types) == {element} and has(name, Trait.COMMUTATIVE):
                return name
    return ""


@define("stablehlo.map")
class Map(Definition):
    """The body's result for the elements of the operands at each place."""

    first = Operand("an operand")
    dimensions = Axes(strict=True)
    rounding = OfBody()
    operand_order = "values of one shape, one or more"
    region_order = ("body: takes an element of each operand; returns an element",)

    def infer(self) -> tuple[Type, ...]:
        inputs = tuple([holding(self, type, "an operand") for type in self.operands])
        (body,) = bodies(self)
        returned = returned_scalar(self, body, reducer_types(inputs))
        known: Any = merged(self, inputs, "operands")
        rank, axes = len(inputs[0].shape), self.dimensions
        if axes != tuple(range(rank)):
            needs = f"every one of {rank} axes in order as dimensions"
            self.refuse(f"needs {needs}, got {list(axes)}")
        return (known._replace(element=returned.element),)

    def block_types(self, count: int) -> tuple[tuple[Type, ...], ...]:
        return (reducer_types([holding(self, type, "an operand") for type in self.operands]),)

    def region_runs(self, region: int) -> int:
        """Returns one run of the body for each element of an operand."""
        return elements_of(self.operands[:1])
