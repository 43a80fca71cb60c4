"""Convolutions, with a padding that is written or computed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod
from typing import Any, Final

from topos.stablehlo.assembly import Head
from topos.stablehlo.attribute_text import crossed, listed
from topos.stablehlo.definition import Definition, Operand, Result, define, extents_of
from topos.stablehlo.dialect._demands import Precisions, completed
from topos.stablehlo.dialect._windows import Padding, Pairs, demand_count, slid, steps, windows_of
from topos.stablehlo.dimension_numbers import Layout, layout
from topos.stablehlo.ir import Crossed, Dense, Operation, Packed, Tensor, Type
from topos.stablehlo.parsed import ParsedOperation, place_of
from topos.stablehlo.rounding import Sums
from topos.stablehlo.shapes import Shape
from topos.stablehlo.typed_attributes import Axes, Integer, Truths
from topos.stablehlo.types import INTEGERS

# The fields of a convolution's window, in the order in which they are written.
_WINDOW: Final[Mapping[str, str]] = {
    "stride": "window_strides",
    "pad": "padding",
    "lhs_dilate": "lhs_dilation",
    "rhs_dilate": "rhs_dilation",
    "reverse": "window_reversal",
}
_PAIRS: Final = re.compile(r"\[\[-?\d+, -?\d+\](?:, \[-?\d+, -?\d+\])*\]")


class _Convolution(Definition):
    """A convolution; its result may accumulate in a wider element than the operands have."""

    input = Operand()
    kernel = Operand()
    result = Result(is_inferred=True)
    dimension_numbers = Layout()
    window_strides = Axes(strict=True, default=())
    lhs_dilation = Axes(strict=True, default=())
    rhs_dilation = Axes(strict=True, default=())
    window_reversal = Truths()
    feature_group_count = Integer(least=1)
    batch_group_count = Integer(least=1)
    precision_config = Precisions()
    clauses = frozenset({"dim_numbers", "window"})
    rounding = Sums(products=True)

    def flops(self) -> int:
        """Returns a multiplication and an addition for each product that is summed."""
        numbers, extents = self.dimension_numbers, extents_of(self.operands[1])
        summed = (numbers.kernel_input_feature_dimension, *numbers.kernel_spatial_dimensions)
        return 2 * prod([extents[axis] for axis in summed]) * super().flops()

    def demand_operands(self) -> None:
        """Refuses an input and a kernel that the dimension numbers and groups do not fit."""
        left, right = self.input, self.kernel
        rank = len(left.shape)
        if rank < 2 or rank != len(right.shape):
            self.refuse(f"needs an input and a kernel of one rank above 1, got {left} and {right}")
        if left.element != right.element:
            self.refuse(f"needs an input and a kernel of one element, got {left} and {right}")
        numbers = self.dimension_numbers
        sides = zip(
            ("input", "kernel", "output"),
            (numbers.input, numbers.kernel, numbers.output),
            strict=True,
        )
        for name, axes in sides:
            if len(axes) != rank:
                self.refuse(f"needs {rank - 2} spatial axes of the {name}, got {axes[2:]}")
            self.axes(f"dimension_numbers of the {name}", axes, rank)
        self._demand_groups()

    def _demand_groups(self) -> None:
        features, batches = self.feature_group_count, self.batch_group_count
        if features > 1 and batches > 1:
            both = "feature_group_count and batch_group_count"
            self.refuse(f"needs 1 for one of {both}, got {features} and {batches}")
        left, right, numbers = self.input, self.kernel, self.dimension_numbers
        batch = left.shape[numbers.input_batch_dimension]
        taken = left.shape[numbers.input_feature_dimension]
        given = right.shape[numbers.kernel_input_feature_dimension]
        made = right.shape[numbers.kernel_output_feature_dimension]
        if batch is not None and batch % batches:
            self.refuse(f"cannot part {batch} batches in {batches} groups")
        if taken is not None and taken % features:
            self.refuse(f"cannot part {taken} input features in {features} groups")
        if taken is not None and given not in (None, taken // features):
            needs = f"{taken // features} input features"
            self.refuse(f"needs a kernel of {needs} in its {features} groups, got {given}")
        if made is not None and (made % batches or made % features):
            self.refuse(f"cannot part {made} output features in {max(features, batches)} groups")

    def convolved(self, padding: Pairs | None) -> Tensor:
        """Returns the type of the output; its element is the input's unless one is stated."""
        left, right, numbers = self.input, self.kernel, self.dimension_numbers
        count = len(numbers.kernel_spatial_dimensions)
        windows = windows_of(
            self,
            tuple([right.shape[axis] for axis in numbers.kernel_spatial_dimensions]),
            padding,
            strides=steps(self, "window_strides", self.window_strides, count),
            base_dilations=steps(self, "lhs_dilation", self.lhs_dilation, count),
            dilations=steps(self, "rhs_dilation", self.rhs_dilation, count),
        )
        demand_count(self, "window_reversal", len(self.window_reversal or windows), count)
        places = slid([left.shape[axis] for axis in numbers.input_spatial_dimensions], windows)
        batch = left.shape[numbers.input_batch_dimension]
        extents = dict(zip(numbers.output_spatial_dimensions, places, strict=True))
        extents[numbers.output_batch_dimension] = batch and batch // self.batch_group_count
        extents[numbers.output_feature_dimension] = right.shape[
            numbers.kernel_output_feature_dimension
        ]
        return self.of_shape(tuple([extents[axis] for axis in range(len(extents))]))

    def of_shape(self, shape: Shape) -> Tensor:
        """Returns the type of `shape` with the stated element, or the input's."""
        return Tensor(shape, (self.result if self.results else self.input).element)

    @classmethod
    def read(cls, parsed: ParsedOperation) -> ParsedOperation:
        attributes = dict(parsed.attributes)
        window = attributes.pop("window", {})
        numbers = attributes.pop("dim_numbers", None)
        if not isinstance(window, dict) or not isinstance(numbers, Crossed) or len(numbers) != 3:
            raise parsed.misread("dim_numbers = [..]x[..]->[..], window = {..}")
        numbers = layout(parsed.name, numbers)
        spelled = {_WINDOW.get(key, key): _field(parsed, key, window[key]) for key in window}
        attributes = {"dimension_numbers": numbers, **spelled, **attributes}
        return parsed._replace(attributes=attributes)


@define("stablehlo.convolution")
class Convolution(_Convolution):
    """The sums of `input` times `kernel`, for each place of the kernel over the input."""

    padding = Padding()
    # What stands before the colon is its `head`.
    assembly = "$operands : functional-type"

    def infer(self) -> tuple[Type, ...]:
        self.demand_operands()
        return (self.convolved(self.padding),)

    @classmethod
    def head(cls, operation: Operation) -> Head | None:
        """Returns operands, layout and window; what the window cannot say is left."""
        rest = dict(operation.attributes)
        numbers = rest.pop("dimension_numbers", None)
        if not isinstance(numbers, Crossed) or len(numbers) != 3:
            return None
        fields = []
        for clause, key in _WINDOW.items():
            text = _text(rest.get(key))
            if text is not None:
                fields.append(f"{clause} = {text}")
                del rest[key]
        window = f"window = {{{', '.join(fields)}}}"
        operands = ", ".join(operation.operands)
        return Head(f"({operands}) dim_numbers = {crossed(numbers)}, {window}", rest)


@define("stablehlo.dynamic_conv")
class DynamicConv(_Convolution):
    """A convolution of `input` by `kernel`, whose padding is an operand."""

    padding = Operand(elements=INTEGERS)

    def infer(self) -> tuple[Type, ...]:
        """Returns what a convolution does; a padding that is no constant leaves the places open."""
        self.demand_operands()
        padding, numbers = self.padding, self.dimension_numbers
        count = len(self.input.shape) - 2
        if padding.shape != (count, 2):
            self.refuse(f"needs a padding of shape [{count}, 2], got {padding}")
        array = self.constants[2]
        places = [self.input.shape[axis] for axis in numbers.input_spatial_dimensions]
        if array is None and None in places:
            # Nothing is known of the places, and exporters write strides for one axis too many.
            return (completed(self, self.of_shape((None,) * len(self.input.shape))),)
        pairs = ((0, 0),) * count if array is None else array.tolist()
        computed = self.convolved(tuple([(low, high) for low, high in pairs]))
        # The padding is the run's, even where it is a constant, and so are the extents it decides.
        certain = self.of_shape(
            tuple(
                [
                    None if axis in numbers.output_spatial_dimensions else extent
                    for axis, extent in enumerate(computed.shape)
                ]
            )
        )
        return (completed(self, certain, None if array is None else computed),)


def _field(parsed: ParsedOperation, key: str, value: Any) -> Any:
    if key == "pad":
        return _padding(parsed, value)
    if key == "reverse" and type(value) is tuple and all(part in (0, 1) for part in value):
        return Packed(map(bool, value), "i1")
    strides = _Convolution.window_strides
    read = strides.spelled(value) if key in _WINDOW and key != "reverse" else None
    if read is None:
        raise parsed.misread(f"window = {{{', '.join(_WINDOW)}}}, got {key}")
    return read


def _padding(parsed: ParsedOperation, value: Any) -> Dense:
    if type(value) is not tuple or not all(
        isinstance(pair, tuple) and len(pair) == 2 and all(type(end) is int for end in pair)
        for pair in value
    ):
        raise parsed.misread("pad = [[low, high], ...]")
    padding: Dense = Convolution.padding.made(value)
    return Dense(padding.body, padding.type, *place_of(parsed.name))


def _text(value: Any) -> str | None:
    """Returns a field of a window, or `None` where only the dictionary can hold it."""
    match value:
        case Packed(element="i64" | "i1"):
            return listed(value)
        case Dense(body=body, type=Tensor((int() as pairs, 2), "i64", "")):
            return body if _PAIRS.fullmatch(body) and body.count(",") == 2 * pairs - 1 else None
    return None
