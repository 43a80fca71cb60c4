"""Dimension numbers: which axes an operation pairs, sums, slices or slides along.

They are decoded once, into tuples of named fields that verification and kernels read alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from topos.stablehlo.ir import Crossed, Record, Word
from topos.stablehlo.opview import OpView
from topos.stablehlo.parsed import TokenError
from topos.stablehlo.typed_attributes import Attribute, demand_fields, integers_given

if TYPE_CHECKING:
    from lark import Token

Axes = tuple[int, ...]

# How the attributes open.
CONVOLUTION: Final = "#stablehlo.conv<raw"
DOT: Final = "#stablehlo.dot<"
GATHER: Final = "#stablehlo.gather<"
RAGGED_DOT: Final = "#chlo.ragged_dot<"
SCATTER: Final = "#stablehlo.scatter<"


class DotNumbers(NamedTuple):
    """The dimension numbers of a product, named as in the specification."""

    lhs_batching_dimensions: Axes = ()
    rhs_batching_dimensions: Axes = ()
    lhs_contracting_dimensions: Axes = ()
    rhs_contracting_dimensions: Axes = ()


class RaggedDotNumbers(NamedTuple):
    """The dimension numbers of a ragged product, named as in the attribute."""

    lhs_batching_dimensions: Axes = ()
    rhs_batching_dimensions: Axes = ()
    lhs_contracting_dimensions: Axes = ()
    rhs_contracting_dimensions: Axes = ()
    lhs_ragged_dimensions: Axes = ()
    rhs_group_dimensions: Axes = ()


class GatherNumbers(NamedTuple):
    """The dimension numbers of a gather, named as in the specification."""

    offset_dims: Axes = ()
    collapsed_slice_dims: Axes = ()
    operand_batching_dims: Axes = ()
    start_indices_batching_dims: Axes = ()
    start_index_map: Axes = ()
    index_vector_dim: int = 0

    @property
    def dropped(self) -> Axes:
        """The operand's axes that the slices do not keep."""
        return self.collapsed_slice_dims + self.operand_batching_dims


class ScatterNumbers(NamedTuple):
    """The dimension numbers of a scatter, named as in the specification."""

    update_window_dims: Axes = ()
    inserted_window_dims: Axes = ()
    input_batching_dims: Axes = ()
    scatter_indices_batching_dims: Axes = ()
    scatter_dims_to_operand_dims: Axes = ()
    index_vector_dim: int = 0

    @property
    def dropped(self) -> Axes:
        """The input's axes that a window of the updates does not have."""
        return self.inserted_window_dims + self.input_batching_dims


class ConvolutionNumbers(NamedTuple):
    """The dimension numbers of a convolution, named as in the specification."""

    input_batch_dimension: int = 0
    input_feature_dimension: int = 0
    input_spatial_dimensions: Axes = ()
    kernel_input_feature_dimension: int = 0
    kernel_output_feature_dimension: int = 0
    kernel_spatial_dimensions: Axes = ()
    output_batch_dimension: int = 0
    output_feature_dimension: int = 0
    output_spatial_dimensions: Axes = ()

    @property
    def input(self) -> Axes:
        """The input's axes of batch, feature and space."""
        return (*self[0:2], *self.input_spatial_dimensions)

    @property
    def kernel(self) -> Axes:
        """The kernel's axes of input feature, output feature and space."""
        return (*self[3:5], *self.kernel_spatial_dimensions)

    @property
    def output(self) -> Axes:
        """The output's axes of batch, feature and space."""
        return (*self[6:8], *self.output_spatial_dimensions)


N = TypeVar("N", bound=tuple[Any, ...])


class Numbers(Attribute[N]):
    """Dimension numbers of the class `kind`, written as `#opening field = [..], ...>`."""

    def __init__(self, opening: str, kind: type[N], key: str = "") -> None:
        super().__init__(key)
        self.opening = opening
        # The stubs of a named tuple have no fields.
        named: Any = kind
        self.kind: Any = named
        fields: tuple[str, ...] = named._fields
        self.takes = f"a dictionary of {', '.join(fields)}"
        self.example = f"{{{fields[0]!r}: (0,)}}"

    def read(self, view: OpView) -> N:
        """Returns the numbers; a field that is not written is zero or empty."""
        defaults: Mapping[str, Any] = self.kind._field_defaults
        demand_fields(view, self.key, self.opening, defaults)
        value = view.operation.attributes[self.key]
        fields = {name: _field(view, name, part, defaults[name]) for name, part in value.items()}
        numbers: N = self.kind(**fields)
        return numbers

    def made(self, value: Any) -> Record:
        """Returns all the fields, of a `kind` or of a mapping that has some of them."""
        numbers = value if isinstance(value, self.kind) else self.kind(**value)
        fields = {
            name: index(part) if hasattr(part, "__index__") else integers_given(part)
            for name, part in numbers._asdict().items()
        }
        return Record(fields, self.opening)


def _field(view: OpView, name: str, value: Any, default: Any) -> Any:
    if type(default) is tuple:
        return view.integers_of(value, name)
    if type(value) is not int:
        view.refuse(f"needs an integer as {name}, got {value}")
    return value


# The values of a convolution: the letters and the fields of the two axes that are not spatial.
_VALUES: Final = (
    ("input", {"b": "input_batch_dimension", "f": "input_feature_dimension"}),
    (
        "kernel",
        {"i": "kernel_input_feature_dimension", "o": "kernel_output_feature_dimension"},
    ),
    ("output", {"b": "output_batch_dimension", "f": "output_feature_dimension"}),
)


_ROW: Final = re.compile(r"\[([^\[\]]*)\]")
_LETTER: Final = re.compile(r"[a-z?]|\d+")


class Layout(Attribute[ConvolutionNumbers]):
    """The dimension numbers of a convolution: `[b, 0, f]x[0, i, o]->[b, 0, f]`, or fields."""

    takes = "the axes of input, kernel and output"
    example = "'[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]'"

    def read(self, view: OpView) -> ConvolutionNumbers:
        value = view.attribute(self.key)
        if isinstance(value, Mapping):
            return Numbers(CONVOLUTION, ConvolutionNumbers, self.key).read(view)
        if not isinstance(value, Crossed) or len(value) != len(_VALUES):
            view.refuse(f"needs [..]x[..]->[..] as {self.key}, got {value}")
        fields: dict[str, Any] = {}
        for letters, (name, named) in zip(value, _VALUES, strict=True):
            fields |= _lettered(view, letters, name, named)
        return ConvolutionNumbers(**fields)

    def made(self, value: Any) -> Any:
        """Returns the lists of `value`: numbers, their text, or three sequences of letters."""
        if isinstance(value, str):
            value = [[*_LETTER.findall(row)] for row in _ROW.findall(value)]
        if isinstance(value, Mapping):
            value = ConvolutionNumbers(**value)
        if isinstance(value, ConvolutionNumbers):
            sides = (value.input, value.kernel, value.output)
            value = [_row(axes, *named) for axes, (_, named) in zip(sides, _VALUES, strict=True)]
        sides = Crossed(tuple(map(_part, row)) for row in value)
        for side, (_, letters) in zip(sides, _VALUES, strict=True):
            if not _is_side([axis for axis in side if axis != "?"], letters):
                raise ValueError(f"{side} is no side of a layout")
        return sides


def _lettered(
    view: OpView, letters: Sequence[Any], value: str, named: Mapping[str, str]
) -> dict[str, Any]:
    """Returns the fields of one bracket, such as `[b, 0, 1, f]`; a `?` stands for no axis."""
    if not isinstance(letters, tuple) or not all(type(each) in (int, Word) for each in letters):
        view.refuse(f"needs letters and numbers for the {value}, got {letters}")
    places = {letter: axis for axis, letter in enumerate(letters) if letter != "?"}
    spatial = sorted(letter for letter in places if type(letter) is int)
    strange = [letter for letter in places if type(letter) is not int]
    if sorted(strange) != sorted(named) or spatial != list(range(len(spatial))):
        needs = f"{', '.join(named)} and 0, 1, .. in the {value}"
        view.refuse(f"needs {needs}, got {list(letters)}")
    if len(places) + list(letters).count("?") != len(letters):
        view.refuse(f"needs each axis of the {value} once, got {list(letters)}")
    axes = tuple([places[number] for number in spatial])
    return {
        **{field: places[letter] for letter, field in named.items()},
        f"{value}_spatial_dimensions": axes,
    }


def _row(axes: Axes, first: str, second: str) -> tuple[str | int, ...]:
    names = dict(zip(axes, (first, second, *range(len(axes) - 2)), strict=True))
    return tuple([names[axis] for axis in sorted(names)])


def _part(part: Any) -> int | Word:
    return int(part) if str(part).isdecimal() else Word(str(part))


def layout(name: Token, lists: Crossed) -> Crossed:
    """Returns the layout of a convolution, where each side has its axes once; else raises."""
    if len(lists) != len(_VALUES):
        raise TokenError("a layout is written as [..]x[..]->[..]", name)
    for side, (_, letters) in zip(lists, _VALUES, strict=True):
        if not _is_side(side, letters):
            axes = f"{' and '.join(letters)} and axes from 0 on"
            raise TokenError(f"a side of a layout needs {axes}, each once", name)
    return lists


def _is_side(side: Sequence[Any], letters: Mapping[str, str]) -> bool:
    """Returns whether a side has its two letters and the axes from 0 on, each once."""
    spatial = [axis for axis in side if type(axis) is int]
    others = [axis for axis in side if type(axis) is not int]
    named = all(isinstance(axis, Word) for axis in others) and sorted(others) == list(letters)
    return named and sorted(spatial) == list(range(len(spatial)))
