"""StableHLO written into a parsed module, one operation after the other, beside one that stands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from topos.runtimes._mlir import Binding

FIELD: Final = re.compile(r"(\w+) = (?:\[([^\]]*)\]|(\d+))")
# What a caller gives as an attribute: a number, numbers in a list, or the attribute's text.
Attribute = int | Sequence[int] | str


def operations_of(ir: Binding, module: Binding) -> list[Binding]:
    """Returns every operation in a module, those of regions before the one that holds them."""
    found: list[Any] = []

    def visit(operation: Any) -> Any:
        found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


class Writer:
    """Writes operations before one of a parsed module, or behind it; `made` are those so far."""

    def __init__(self, ir: Binding, operation: Binding, *, behind: bool = False) -> None:
        self._ir, self._location = ir, operation.location
        self._place = (ir.InsertionPoint.after if behind else ir.InsertionPoint)(operation)
        self.made: list[Binding] = []

    def __call__(
        self, name: str, *operands: Binding, to: Binding = None, **attributes: Attribute
    ) -> Binding:
        """Returns the result of an operation, by default of the type of its first operand."""
        type = operands[0].type if to is None else to
        return self.add(name, operands, [type], attributes).results[0]

    def add(
        self,
        name: str,
        operands: Sequence[Binding],
        types: Sequence[Binding],
        attributes: Mapping[str, Attribute] | None = None,
        regions: int = 0,
    ) -> Binding:
        """Returns an operation of StableHLO, or of the dialect that `name` begins with."""
        made = self._ir.Operation.create(
            name if "." in name else f"stablehlo.{name}",
            results=types,
            operands=operands,
            attributes={key: self._attribute(each) for key, each in (attributes or {}).items()},
            regions=regions,
            loc=self._location,
            ip=self._place,
        ).operation
        self.made.append(made)
        return made

    def body(self, owner: Binding, *types: Binding) -> tuple[Sequence[Binding], Writer]:
        """Returns the arguments of the body that `owner` is given, and what writes into it."""
        locations = [self._location] * len(types)
        block = owner.regions[0].blocks.append(*types, arg_locs=locations)
        inner = Writer(self._ir, owner)
        inner._place = self._ir.InsertionPoint(block)
        return block.arguments, inner

    def type(self, shape: Sequence[int], element: object) -> Binding:
        """Returns the type of a tensor of those elements, which a text names as well."""
        ir = self._ir
        return ir.RankedTensorType.get(
            [*map(int, shape)], ir.Type.parse(str(element)), loc=ir.Location.unknown()
        )

    def constant(self, elements: object, type: Binding) -> Binding:
        """Returns a constant of elements as `dense<...>` has them: one for all, or lists."""
        value = f"dense<{elements}> : {type}"
        if not isinstance(type.element_type, self._ir.ComplexType):
            return self("constant", to=type, value=value)
        # The bindings have no class for a complex attribute.
        self.made.append(self._ir.Operation.parse(f"stablehlo.constant {value}").operation)
        self._place.insert(self.made[-1])
        return self.made[-1].results[0]

    def zero(self, type: Binding) -> Binding:
        """Returns a tensor of zeros."""
        element = str(type.element_type)
        if element.startswith("complex"):
            return self.constant("(0.0, 0.0)", type)
        return self.constant("false" if element == "i1" else "0.0" if "f" in element else "0", type)

    def convert(self, value: Binding, element: str) -> Binding:
        """Returns `value` in other elements, itself where it has them."""
        if str(value.type.element_type) == element:
            return value
        return self("convert", value, to=shaped(self._ir, value.type, element))

    def bits(self, value: Binding, element: str) -> Binding:
        """Returns the bits of `value` as elements of the same width."""
        return self("bitcast_convert", value, to=shaped(self._ir, value.type, element))

    def compare(
        self, left: Binding, direction: str, right: Binding, **attributes: Attribute
    ) -> Binding:
        """Returns where two tensors compare so: `LT`, `EQ` and so on."""
        given = f"#stablehlo<comparison_direction {direction}>"
        truth = shaped(self._ir, left.type, "i1")
        return self("compare", left, right, to=truth, comparison_direction=given, **attributes)

    def select(self, chosen: Binding, left: Binding, right: Binding) -> Binding:
        """Returns the elements of `left` where `chosen` holds, and of `right` elsewhere."""
        return self("select", chosen, left, right, to=left.type)

    def broadcast(self, value: Binding, axes: Sequence[int], type: Binding) -> Binding:
        """Returns `value` spread over a type, its axes at `axes` of that."""
        return self("broadcast_in_dim", value, to=type, broadcast_dimensions=axes)

    def slice(self, value: Binding, starts: Sequence[int], limits: Sequence[int]) -> Binding:
        """Returns the elements of `value` from `starts` up to `limits`."""
        shape = [limit - start for start, limit in zip(starts, limits, strict=True)]
        type, strides = self.type(shape, value.type.element_type), [1] * len(shape)
        return self(
            "slice", value, to=type, start_indices=starts, limit_indices=limits, strides=strides
        )

    def pad(
        self,
        value: Binding,
        low: Sequence[int],
        high: Sequence[int],
        between: Sequence[int],
        to: Binding,
        filling: Binding = None,
    ) -> Binding:
        """Returns `value` of the type `to`, with `filling` around and between: zeros by default."""
        filling = self.zero(self.type([], to.element_type)) if filling is None else filling
        edges = {"edge_padding_low": low, "edge_padding_high": high}
        return self("pad", value, filling, to=to, interior_padding=between, **edges)

    def along(self, values: Sequence[int], type: Binding, axis: int) -> Binding:
        """Returns integers of a type, `values` along `axis`.

        Where `axis` is none of its own, there is one value for all of them.
        """
        if axis == type.rank:
            return self.constant(values[0], type)
        line = self.constant([*map(int, values)], self.type([len(values)], type.element_type))
        return self.broadcast(line, [axis], type)

    def clamp(self, indices: Binding, highest: Sequence[int], axis: int) -> Binding:
        """Returns indices between 0 and `highest`, one for each place along `axis`."""
        type = indices.type
        low, high = self.constant(0, type), self.along(highest, type, axis)
        return self("clamp", low, indices, high, to=type)

    def _attribute(self, given: Attribute) -> Binding:
        ir = self._ir
        if isinstance(given, str):
            return ir.Attribute.parse(given)
        if isinstance(given, int):
            return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), given)
        return ir.DenseI64ArrayAttr.get([*map(int, given)])


def shaped(ir: Binding, type: Binding, element: str) -> Binding:
    """Returns the tensor type of another element."""
    made = ir.Type.parse(element)
    return ir.RankedTensorType.get(type.shape, made, type.encoding, ir.Location.unknown())


def dimension_numbers(attribute: Binding) -> Mapping[str, tuple[int, ...]]:
    """Returns the fields of an attribute that has no class in the bindings."""
    return {
        name: tuple(map(int, re.findall(r"\d+", many or one)))
        for name, many, one in FIELD.findall(str(attribute))
    }


def slice_sizes(ir: Binding, gather: Binding) -> list[int] | None:
    """Returns the slice sizes of a gather, or None where they are an operand and no constant."""
    if "slice_sizes" in gather.attributes:
        return [*ir.DenseI64ArrayAttr(gather.attributes["slice_sizes"])]
    maker = gather.operands[2].owner
    if isinstance(maker, ir.Block) or maker.name != "stablehlo.constant":
        return None
    return [int(each) for each in ir.DenseIntElementsAttr(maker.attributes["value"])]
