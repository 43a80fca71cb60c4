"""Rules of convolution, with a padding that is written or computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from topos.stablehlo.dialect._attributes import demand_precision
from topos.stablehlo.dialect._numbers import integer_field, named_fields, positive
from topos.stablehlo.dialect._tensors import holding
from topos.stablehlo.elements import INTEGERS
from topos.stablehlo.ir import Crossed, Tensor, Word
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.rules.windows import Pairs, padding_of, slid, windows_of
from topos.stablehlo.shapes import Shape, shapes_agree

__all__ = ["RULES"]

_KEY: Final = "dimension_numbers"
# The three values of a convolution, and the two axes of each that are not spatial.
_SIDES: Final = (
    ("input", "b", "f", "input_batch_dimension", "input_feature_dimension"),
    ("kernel", "i", "o", "kernel_input_feature_dimension", "kernel_output_feature_dimension"),
    ("output", "b", "f", "output_batch_dimension", "output_feature_dimension"),
)


class _Axes(NamedTuple):
    """The axes of an input or output (batch, feature), or of a kernel (input, output feature)."""

    first: int
    second: int
    spatial: tuple[int, ...]

    @property
    def every(self) -> tuple[int, ...]:
        """All the axes that are named."""
        return (self.first, self.second, *self.spatial)


Layout = tuple[_Axes, _Axes, _Axes]


def _layout(claim: OpView) -> Layout:
    """Returns the axes of input, kernel and output from `[..]x[..]->[..]` or from named fields."""
    value = claim.attribute(_KEY)
    if isinstance(value, Mapping):
        return _of_fields(claim)
    if not isinstance(value, Crossed) or len(value) != 3:
        claim.refuse(f"needs [..]x[..]->[..] as {_KEY}, got {value}")
    inputs, kernel, output = (
        _of_letters(claim, letters, *side[:3]) for letters, side in zip(value, _SIDES, strict=True)
    )
    return inputs, kernel, output


def _of_fields(claim: OpView) -> Layout:
    known = [name for side in _SIDES for name in (*side[3:], f"{side[0]}_spatial_dimensions")]
    fields = named_fields(claim, _KEY, "#stablehlo.conv<raw", known)
    inputs, kernel, output = (
        _Axes(
            integer_field(claim, fields, first),
            integer_field(claim, fields, second),
            claim.integers_of(fields.get(f"{value}_spatial_dimensions", ()), _KEY),
        )
        for value, _, _, first, second in _SIDES
    )
    return inputs, kernel, output


def _of_letters(
    claim: OpView, letters: Sequence[Any], value: str, first: str, second: str
) -> _Axes:
    """Returns the axes of one bracket, such as `[b, 0, 1, f]`; a `?` stands for none of them."""
    if not isinstance(letters, tuple) or not all(type(each) in (int, Word) for each in letters):
        claim.refuse(f"needs letters and numbers for the {value}, got {letters}")
    places = {letter: axis for axis, letter in enumerate(letters) if letter != "?"}
    spatial = sorted(letter for letter in places if type(letter) is int)
    strange = [letter for letter in places if type(letter) is not int]
    if sorted(strange) != sorted((first, second)) or spatial != list(range(len(spatial))):
        claim.refuse(f"needs {first}, {second} and 0, 1, .. in the {value}, got {list(letters)}")
    if len(places) + list(letters).count("?") != len(letters):
        claim.refuse(f"needs each axis of the {value} once, got {list(letters)}")
    return _Axes(places[first], places[second], tuple([places[number] for number in spatial]))


def _convolution(claim: OpView) -> None:
    claim.takes(2)
    left, right = _sides(claim)
    layout = _layout(claim)
    _demand_layout(claim, left, right, layout)
    _demand_groups(claim, left, right, layout)
    _demand_shape(claim, _convolved(claim, left, right, layout, padding_of(claim)))


def _dynamic_conv(claim: OpView) -> None:
    claim.takes(3)
    left, right = _sides(claim)
    layout = _layout(claim)
    _demand_layout(claim, left, right, layout)
    _demand_groups(claim, left, right, layout)
    padding = holding(claim, claim.operands[2], "padding", INTEGERS)
    if padding.shape != (len(left.shape) - 2, 2):
        claim.refuse(f"needs a padding of shape [{len(left.shape) - 2}, 2], got {padding}")
    array = claim.constants[2]
    spatial = [left.shape[axis] for axis in layout[0].spatial]
    if array is None and None in spatial:
        # Nothing is known of the places, and exporters write strides for one axis too many.
        return
    shape = _convolved(claim, left, right, layout, _pairs(array, len(spatial)))
    # The padding is the run's, even where it is a constant, and so are the extents it decides.
    places = layout[2].spatial
    _demand_shape(claim, tuple([None if i in places else shape[i] for i in range(len(shape))]))


def _pairs(array: Any, count: int) -> Pairs:
    if array is None:
        return ((0, 0),) * count
    return tuple([(low, high) for low, high in array.tolist()])


def _sides(claim: OpView) -> tuple[Tensor, Tensor]:
    left = holding(claim, claim.operands[0], "input")
    right = holding(claim, claim.operands[1], "kernel")
    if len(left.shape) < 2 or len(left.shape) != len(right.shape):
        claim.refuse(f"needs an input and a kernel of one rank above 1, got {left} and {right}")
    if left.element != right.element:
        claim.refuse(f"needs an input and a kernel of one element, got {left} and {right}")
    return left, right


def _demand_layout(claim: OpView, left: Tensor, right: Tensor, layout: Layout) -> None:
    rank = len(left.shape)
    for axes, side in zip(layout, _SIDES, strict=True):
        if len(axes.spatial) != rank - 2:
            claim.refuse(f"needs {rank - 2} spatial axes of the {side[0]}, got {axes.spatial}")
        claim.axes(f"{_KEY} of the {side[0]}", axes.every, rank)


def _demand_groups(claim: OpView, left: Tensor, right: Tensor, layout: Layout) -> None:
    features, batches = (
        positive(claim, key) for key in ("feature_group_count", "batch_group_count")
    )
    if features > 1 and batches > 1:
        both = "feature_group_count and batch_group_count"
        claim.refuse(f"needs 1 for one of {both}, got {features} and {batches}")
    inputs, kernel, _ = layout
    batch, taken = left.shape[inputs.first], left.shape[inputs.second]
    given, made = right.shape[kernel.first], right.shape[kernel.second]
    if batch is not None and batch % batches:
        claim.refuse(f"cannot part {batch} batches in {batches} groups")
    if taken is not None and taken % features:
        claim.refuse(f"cannot part {taken} input features in {features} groups")
    if taken is not None and given not in (None, taken // features):
        needs = f"{taken // features} input features"
        claim.refuse(f"needs a kernel of {needs} in its {features} groups, got {given}")
    if made is not None and (made % batches or made % features):
        claim.refuse(f"cannot part {made} output features in {max(features, batches)} groups")
    demand_precision(claim)


def _convolved(
    claim: OpView, left: Tensor, right: Tensor, layout: Layout, padding: Pairs | None
) -> Shape:
    inputs, kernel, output = layout
    windows = windows_of(
        claim,
        tuple([right.shape[axis] for axis in kernel.spatial]),
        padding,
        base_dilations="lhs_dilation",
        dilations="rhs_dilation",
        reversal="window_reversal",
    )
    places = slid([left.shape[axis] for axis in inputs.spatial], windows)
    batch, groups = left.shape[inputs.first], claim.integer("batch_group_count")
    extents = dict(zip(output.spatial, places, strict=True))
    extents[output.first] = None if batch is None else batch // groups
    extents[output.second] = right.shape[kernel.second]
    return tuple([extents[axis] for axis in range(len(extents))])


def _demand_shape(claim: OpView, shape: Shape) -> None:
    # A convolution may accumulate in a wider element, so that only the shape is inferred.
    result = holding(claim, claim.results[0], "result")
    if not shapes_agree(result.shape, shape):
        claim.refuse(f"results in {Tensor(shape, result.element)}, got {result}")


RULES: Final[Mapping[str, Rule]] = {
    "stablehlo.convolution": _convolution,
    "stablehlo.dynamic_conv": _dynamic_conv,
}
