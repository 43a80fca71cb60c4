"""Writing one node: its lowering rule's lines, rendered once for all nodes of a form."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from topos.emit.text import integers, tensor_type
from topos.graph import Form
from topos.op import Table
from topos.payload import Element, Shape, TensorType, element_of

# Names of values while a form is rendered: tokens in private characters, which no text of ours
# contains, replaced by the names of a node when its lines are stamped.
_TOKEN: Final = re.compile("\ue000(.)(\\d*)\ue001")
_LOCATION: Final = "\ue000l\ue001"


class Ssa(NamedTuple):
    """A value of the module being written: its name and its type."""

    name: str
    type: TensorType


class Site:
    """The place a lowering rule writes to: operands and result type in, lines out.

    A rule returns the value that stands for the node. That may be an operand, where the node
    changes nothing.
    """

    def __init__(self, form: Form, exact: bool) -> None:
        self.type = form.type
        self.exact = exact
        self.operands = tuple(
            Ssa(f"\ue000o{position}\ue001", type) for position, type in enumerate(form.operands)
        )
        self.lines: list[str] = []
        self._count = 0

    def fresh(self) -> str:
        """Returns a name that no other value of this node has."""
        self._count += 1
        return f"\ue000s{self._count}\ue001"

    def write(self, text: str, signature: str, type: TensorType) -> Ssa:
        """Writes `%name = text : signature` and returns the value, of `type`."""
        value = Ssa(self.fresh(), type)
        self.lines.append(f"{value.name} = {text} : {signature}")
        return value

    def elementwise(self, operation: str, *operands: Ssa) -> Ssa:
        """Writes an operation whose operands and result have one type."""
        type = operands[0].type
        names = ", ".join(operand.name for operand in operands)
        return self.write(f"{operation} {names}", tensor_type(type), type)

    def apply(
        self, operation: str, operands: tuple[Ssa, ...], type: TensorType, attributes: str = ""
    ) -> Ssa:
        """Writes an operation with a functional type: `op %a, %b, attributes : (a, b) -> type`."""
        names = ", ".join(operand.name for operand in operands)
        return self.write(f"{operation} {names}{attributes}", functional(operands, type), type)

    def constant(self, body: str, type: TensorType) -> Ssa:
        """Writes the constant `dense<body>`."""
        return self.write(f"stablehlo.constant dense<{body}>", tensor_type(type), type)

    def zero(self, shape: Shape, element: Element) -> Ssa:
        """Writes a constant filled with zero."""
        body = {"i": "0", "u": "0", "b": "false"}.get(element.dtype.kind, "0.0")
        return self.constant(body, TensorType(shape, element))

    def convert(self, value: Ssa, element: Element) -> Ssa:
        """Writes a conversion, or nothing where `value` has that element."""
        if value.type.element is element:
            return value
        type = TensorType(value.type.shape, element)
        return self.apply("stablehlo.convert", (value,), type)

    def widened(self, value: Ssa) -> Ssa:
        """Returns `value` in the element that its sums accumulate in."""
        return self.convert(value, accumulator(value.type.element))

    def broadcast(self, value: Ssa, dimensions: range | list[int], shape: Shape) -> Ssa:
        """Writes `value` spread over `shape`; its axis `i` becomes `dimensions[i]`."""
        type = TensorType(shape, value.type.element)
        dims = f", dims = {integers(dimensions)}"
        return self.apply("stablehlo.broadcast_in_dim", (value,), type, dims)

    def reduce(self, operation: str, value: Ssa, start: Ssa, axes: tuple[int, ...]) -> Ssa:
        """Writes a reduction of `value` over `axes`; `start` is of rank 0."""
        kept = tuple(e for axis, e in enumerate(value.type.shape) if axis not in axes)
        type = TensorType(kept, value.type.element)
        return self.write(
            f"stablehlo.reduce({value.name} init: {start.name}) applies {operation}"
            f" across dimensions = {integers(axes)}",
            functional((value, start), type),
            type,
        )


lower: Table[[Site], Ssa] = Table("StableHLO lowering")


def accumulator(element: Element) -> Element:
    """Returns the element that sums and products of `element` accumulate in."""
    return element if element.compute == element.dtype else element_of(element.compute)


def functional(operands: tuple[Ssa, ...], result: TensorType) -> str:
    """Returns `(tensor<...>, tensor<...>) -> tensor<...>`."""
    types = ", ".join(tensor_type(operand.type) for operand in operands)
    return f"({types}) -> {tensor_type(result)}"


def stamp(form: Form, exact: bool, located: bool) -> Callable[..., str] | int:
    """Returns the text of a node of `form` as a function of names, or which operand it equals.

    The function takes the node's name, the operands' names and, where `located`, the location
    that ends each line.
    """
    site = Site(form, exact)
    value = lower(form.operation, site)
    for position, operand in enumerate(site.operands):
        if value is operand:
            return position
    return stamped(site, value, located)


def stamped(site: Site, value: Ssa, located: bool) -> Callable[..., str]:
    """Returns the lines of `site`, of which `value` is the result, as `stamp` returns them."""
    end = f" {_LOCATION}" if located else ""
    text = "\n".join(f"    {line}{end}" for line in site.lines)
    fields = _fields(value.name, len(site.operands))
    return _TOKEN.sub(fields, text.replace("{", "{{").replace("}", "}}")).format


def _fields(result: str, operands: int) -> Callable[[re.Match[str]], str]:
    """Returns what each token becomes in a format string: node, operands, then the location."""

    def field(token: re.Match[str]) -> str:
        kind, number = token.groups()
        if token.group() == result:
            return "{0}"
        if kind == "s":
            return f"{{0}}_{number}"
        return f"{{{int(number) + 1 if kind == 'o' else operands + 1}}}"

    return field
