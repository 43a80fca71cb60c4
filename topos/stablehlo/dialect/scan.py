"""chlo.scan, which carries values along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from topos.stablehlo.attribute_text import dictionary, function_type, results_of
from topos.stablehlo.definition import Definition, define
from topos.stablehlo.dialect._demands import holding
from topos.stablehlo.dialect._reducers import bodies, differing
from topos.stablehlo.dialect.control import Return
from topos.stablehlo.ir import Operation, Tensor, Type
from topos.stablehlo.rounding import OfBody
from topos.stablehlo.shapes import agree, extents_agree
from topos.stablehlo.typed_attributes import Axes, Integer, Truth

if TYPE_CHECKING:
    from topos.stablehlo.printer import Writer


@define("chlo.scan")
class Scan(Definition):
    """The outputs of a body at each place along `dimension` of the inputs, then the last carries.

    The first of each two segment sizes counts inputs and outputs, the other initial values and
    carries.
    """

    operand_segment_sizes = Axes("operandSegmentSizes")
    result_segment_sizes = Axes("resultSegmentSizes")
    dimension = Integer(least=0)
    scan_dim_size = Integer(least=0, optional=True)
    is_reverse = Truth()
    is_associative = Truth()
    # Only `dimension` is read from here; `write` says the rest.
    assembly = "$operands, dimension = $dimension : functional-type"
    rounding = OfBody()
    operand_order = "inputs, then initial values of the carries"
    region_order = ("body: takes a slice of each input, then carries; returns outputs and carries",)
    terminator = Return.operation_name

    def infer(self) -> tuple[Type, ...]:
        inputs, outputs = self._segments()
        (body,) = bodies(self)
        at, tensors = self.dimension, self._tensors()
        if not inputs and not outputs:
            self.refuse("needs an input or an output, got neither")
        length = self._length(tensors[:inputs])
        needed = self._taken(tensors, inputs)
        if len(body.operands) != len(needed):
            self.refuse(f"needs a body of {len(needed)} arguments, got {len(body.operands)}")
        for got, type in zip(body.operands, needed, strict=True):
            if not agree(got, type):
                self.refuse(f"needs a body that takes {type}, got {got}")
        returned = [holding(self, type, "body's result") for type in body.results]
        count = outputs + len(tensors) - inputs
        if len(returned) != count:
            self.refuse(f"needs a body that returns {count} values, got {len(returned)}")
        for type in returned[:outputs]:
            if at > len(type.shape):
                self.refuse(f"needs outputs that can have an axis {at}, got {type}")
        made = [
            Tensor((*type.shape[:at], length, *type.shape[at:]), type.element)
            for type in returned[:outputs]
        ]
        return (*made, *returned[outputs:])

    def block_types(self, count: int) -> tuple[tuple[Type, ...], ...]:
        inputs, _ = self._segments()
        return (tuple(self._taken(self._tensors(), inputs)),)

    def region_runs(self, region: int) -> int:
        """Returns one run of the body for each place along `dimension`."""
        inputs, _ = self._segments()
        return self._length(self._tensors()[:inputs]) or 0

    def body_note(self) -> str:
        inputs, _ = self._segments()
        tensors = self._tensors()
        return differing(self, "the initial value", tensors[inputs:], tensors[:inputs])

    def _segments(self) -> tuple[int, int]:
        """Returns how many operands are inputs and how many results outputs."""
        taken, made = self.operand_segment_sizes, self.result_segment_sizes
        self._demand_pair("operandSegmentSizes", taken, len(self.operands))
        self._demand_pair("resultSegmentSizes", made, len(self.results) or sum(made))
        if taken[1] != made[1]:
            self.refuse(f"needs as many carries as initial values, {taken[1]}, got {made[1]}")
        return taken[0], made[0]

    def _demand_pair(self, key: str, parts: tuple[int, ...], count: int) -> None:
        if len(parts) != 2 or min(parts) < 0 or sum(parts) != count:
            self.refuse(f"needs two parts of {count} as {key}, got {list(parts)}")

    def _tensors(self) -> list[Tensor]:
        return [holding(self, type, "operand") for type in self.operands]

    def _taken(self, tensors: list[Tensor], inputs: int) -> list[Tensor]:
        at = self.dimension
        slices = [
            Tensor((*type.shape[:at], *type.shape[at + 1 :]), type.element)
            for type in tensors[:inputs]
        ]
        return [*slices, *tensors[inputs:]]

    def _length(self, inputs: list[Tensor]) -> int | None:
        """Returns the number of steps, which every input that knows it has in common."""
        at = self.dimension
        length = self.scan_dim_size if "scan_dim_size" in self.operation.attributes else None
        for type in inputs:
            if at >= len(type.shape):
                self.refuse(f"needs inputs with an axis {at}, got {type}")
            if not extents_agree(length, type.shape[at]):
                self.refuse(f"needs inputs of {length} in axis {at}, got {type}")
            length = type.shape[at] if length is None else length
        return length

    @classmethod
    def write(cls, writer: Writer, operation: Operation) -> bool:
        """Writes inputs, initial values and the region; the segments are as the text counts."""
        rest = dict(operation.attributes)
        dimension = rest.pop("dimension", None)
        operands, results = rest.pop("operandSegmentSizes", ()), rest.pop("resultSegmentSizes", ())
        if type(dimension) is not int or len(operation.regions) != 1 or len(operands) != 2:
            return False
        inputs, starts = operands
        wanted = (len(operation.results) - starts, starts)
        if results != wanted or inputs + starts != len(operation.operands):
            return False
        scanned, initial = operation.operands[:inputs], operation.operands[inputs:]
        attributes = f" attributes {dictionary(rest)}" if rest else ""
        head = f"{results_of(operation)}{operation.name}({', '.join(scanned)})"
        carried = f"inits ({', '.join(initial)}) dimension = {dimension}"
        writer.line(f"{head} {carried}{attributes} {{")
        writer.region(operation.regions[0], f"}} : {function_type(writer.type(operation))}")
        return True
