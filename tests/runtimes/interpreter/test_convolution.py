"""Convolution: any layout, padding, dilation, reversal and groups, and the order of the sum."""

from __future__ import annotations

import random
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from topos.errors import ExecutionError
from topos.runtimes.interpreter.run import compiled
from topos.stablehlo.types import ELEMENTS

Array = npt.NDArray[Any]


class Axis(NamedTuple):
    """The windows along one axis of space."""

    extent: int
    size: int
    stride: int
    low: int
    high: int
    base: int
    dilation: int
    backward: bool

    @property
    def windows(self) -> int:
        padded = self.low + (self.extent - 1) * self.base + 1 + self.high
        span = (self.size - 1) * self.dilation + 1
        return (padded - span) // self.stride + 1 if 0 < span <= padded else 0

    def source(self, window: int, place: int) -> int | None:
        """Returns which element of the input a window's place holds, or nothing for a zero."""
        place = self.size - 1 - place if self.backward else place
        position = window * self.stride + place * self.dilation - self.low
        inside = position % self.base == 0 and 0 <= position // self.base < self.extent
        return position // self.base if inside else None


class Case(NamedTuple):
    """A convolution with values as [batch, feature, space] and [output, input, space]."""

    axes: list[Axis]
    features: int
    batches: int
    source: Array
    kernel: Array


def drawn(seed: int, dtype: Any) -> Case:
    """Returns a random case."""
    choice = random.Random(seed)
    axes = [
        Axis(
            choice.randint(1, 5),
            choice.randint(1, 3),
            choice.randint(1, 2),
            choice.randint(-1, 2),
            choice.randint(-1, 2),
            choice.randint(1, 2),
            choice.randint(1, 2),
            choice.random() < 0.4,
        )
        for _ in range(choice.choice([0, 1, 2, 2]))
    ]
    features, batches = choice.choice([(1, 1), (2, 1), (3, 1), (1, 2), (9, 1)])
    groups = features * batches
    inputs = choice.randint(1, 3) if features < 9 else 1
    source = (batches * choice.randint(1, 2), features * inputs, *(axis.extent for axis in axes))
    kernel = (groups * choice.randint(1, 2), inputs, *(axis.size for axis in axes))
    numbers = np.random.default_rng(seed)
    whole = np.dtype(dtype).kind in "iu"
    draw: Any = partial(numbers.integers, 0, 99) if whole else numbers.standard_normal
    first, second = draw(source), draw(kernel)
    return Case(axes, features, batches, first.astype(dtype), second.astype(dtype))


# Integers wrap, which numpy warns of where they are scalars.
@np.errstate(all="ignore")
def convolved(case: Case, dtype: Any) -> Array:
    """Returns the sums of a case, one product after another."""
    axes, features, batches, source, kernel = case
    batch, groups = len(source) // batches, features * batches
    shape = (batch, len(kernel), *(axis.windows for axis in axes))
    result = np.zeros(shape, dtype)
    for image, output, *window in np.ndindex(shape):
        group = output // (len(kernel) // groups)
        total = np.zeros((), dtype)
        for feature, *place in np.ndindex(kernel.shape[1:]):
            at = [axis.source(w, p) for axis, w, p in zip(axes, window, place, strict=True)]
            weight = kernel[(output, feature, *place)].astype(dtype)
            number = np.zeros((), dtype)
            if None not in at:
                row = image + group * batch if batches > 1 else image
                column = feature if batches > 1 else feature + group * kernel.shape[1]
                number = source[(row, column, *at)].astype(dtype)
            total = (total + number * weight).astype(dtype)
        result[(image, output, *window)] = total
    return result


def text(case: Case, shape: tuple[int, ...], element: str, result: str, seed: int) -> Any:
    """Returns the text of a case with shuffled axes, its arguments, and the result's axes."""
    choice, rank = random.Random(seed), len(case.axes)
    orders = [choice.sample(range(rank + 2), rank + 2) for _ in range(3)]
    names = [(*pair, *map(str, range(rank))) for pair in (("b", "f"), ("o", "i"), ("b", "f"))]
    rows = (
        f"[{', '.join(letters[axis] for axis in order)}]"
        for letters, order in zip(names, orders, strict=True)
    )
    first, second, third = rows
    arrays = [case.source.transpose(orders[0]), case.kernel.transpose(orders[1])]
    shapes = [*(array.shape for array in arrays), [shape[axis] for axis in orders[2]]]
    types = [
        f"tensor<{''.join(f'{extent}x' for extent in extents)}{each}>"
        for extents, each in zip(shapes, (element, element, result), strict=True)
    ]
    window = {
        "stride": [axis.stride for axis in case.axes],
        "pad": [[axis.low, axis.high] for axis in case.axes],
        "lhs_dilate": [axis.base for axis in case.axes],
        "rhs_dilate": [axis.dilation for axis in case.axes],
        "reverse": f"[{', '.join(str(axis.backward).lower() for axis in case.axes)}]",
    }
    clauses = ", ".join(f"{key} = {value}" for key, value in window.items()) if rank else ""
    lines = (
        f"func.func @main(%a: {types[0]}, %b: {types[1]}) -> {types[2]} {{\n"
        f"%r = stablehlo.convolution(%a, %b) dim_numbers = {first}x{second}->{third},"
        f" window = {{{clauses}}} {{batch_group_count = {case.batches} : i64,"
        f" feature_group_count = {case.features} : i64}}"
        f" : ({types[0]}, {types[1]}) -> {types[2]}\nreturn %r : {types[2]}\n}}"
    )
    return lines, arrays, orders[2]


@pytest.mark.parametrize("seed", range(40))
def test_any_convolution_of_float32_sums_features_then_places(seed: int) -> None:
    case = drawn(seed, np.float32)
    wanted = convolved(case, np.float32)
    lines, arrays, order = text(case, wanted.shape, "f32", "f32", seed)
    (exact,) = compiled(lines, True)(*arrays)
    assert exact.tobytes() == np.ascontiguousarray(wanted.transpose(order)).tobytes()
    (fast,) = compiled(lines, False)(*arrays)
    np.testing.assert_allclose(fast, exact, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("element", "result", "sums"),
    [
        ("i8", "i32", np.int32),
        ("ui8", "ui8", np.uint8),
        ("i32", "i32", np.int32),
        ("i64", "i64", np.int64),
        ("f64", "f64", np.float64),
        ("bf16", "bf16", np.float32),
        ("bf16", "f32", np.float32),
        ("f8E4M3FN", "f8E4M3FN", np.float32),
        ("f32", "f64", np.float64),
    ],
)
def test_any_element(element: str, result: str, sums: Any) -> None:
    for seed in (2, 5, 9, 10, 12, 14):
        case = drawn(seed, ELEMENTS[element])
        wanted = convolved(case, sums).astype(ELEMENTS[result])
        lines, arrays, order = text(case, wanted.shape, element, result, seed)
        (exact,) = compiled(lines, True)(*arrays)
        assert exact.tobytes() == np.ascontiguousarray(wanted.transpose(order)).tobytes()


@pytest.mark.parametrize(("inputs", "outputs"), [(1, 1), (1, 2), (2, 1)])
def test_many_groups_sum_in_the_same_order(inputs: int, outputs: int) -> None:
    axes = [Axis(4, 3, 1, 1, 1, 1, 1, False), Axis(5, 3, 2, 0, 2, 1, 1, True)]
    numbers = np.random.default_rng(inputs + outputs)
    source = numbers.standard_normal((2, 9 * inputs, 4, 5)).astype(np.float32)
    kernel = numbers.standard_normal((9 * outputs, inputs, 3, 3)).astype(np.float32)
    case = Case(axes, 9, 1, source, kernel)
    wanted = convolved(case, np.float32)
    lines, arrays, order = text(case, wanted.shape, "f32", "f32", 3)
    (exact,) = compiled(lines, True)(*arrays)
    assert exact.tobytes() == np.ascontiguousarray(wanted.transpose(order)).tobytes()
    (fast,) = compiled(lines, False)(*arrays)
    np.testing.assert_allclose(fast, exact, rtol=1e-4, atol=1e-5)


def test_a_complex_convolution() -> None:
    real, imaginary = drawn(5, np.float32), drawn(5, np.float64)
    source = (real.source + 1j * imaginary.source[::-1]).astype(np.complex64)
    kernel = (real.kernel - 2j * imaginary.kernel).astype(np.complex64)
    case = real._replace(source=source, kernel=kernel)
    wanted = convolved(case, np.complex64)
    lines, arrays, order = text(case, wanted.shape, "complex<f32>", "complex<f32>", 5)
    for exact in (True, False):
        (got,) = compiled(lines, exact)(*arrays)
        np.testing.assert_allclose(got, wanted.transpose(order), rtol=1e-4, atol=1e-5)


def generic(name: str, operands: str, attributes: str, types: str, result: str) -> str:
    head = ", ".join(
        f"%{letter}: {type}" for letter, type in zip("abc", types.split("; "), strict=False)
    )
    return (
        f"func.func @main({head}) -> {result} {{\n"
        f'%r = "stablehlo.{name}"({operands}) {{batch_group_count = 1 : i64,'
        f" feature_group_count = 1 : i64, {attributes}}}"
        f" : ({types.replace('; ', ', ')}) -> {result}\nreturn %r : {result}\n}}"
    )


def test_dimension_numbers_by_name() -> None:
    numbers = (
        "dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 2,"
        " input_feature_dimension = 1, input_spatial_dimensions = [0],"
        " kernel_output_feature_dimension = 0, kernel_input_feature_dimension = 2,"
        " kernel_spatial_dimensions = [1], output_batch_dimension = 0,"
        " output_feature_dimension = 2, output_spatial_dimensions = [1]>"
    )
    types = "tensor<4x1x1xf32>; tensor<1x2x1xf32>"
    lines = generic("convolution", "%a, %b", numbers, types, "tensor<1x3x1xf32>")
    source = np.array([1, 2, 3, 4], np.float32).reshape(4, 1, 1)
    kernel = np.array([10, 1], np.float32).reshape(1, 2, 1)
    (got,) = compiled(lines)(source, kernel)
    assert got.ravel().tolist() == [12.0, 23.0, 34.0]


NUMBERS = "dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>"
DYNAMIC = generic(
    "dynamic_conv",
    "%a, %b, %c",
    NUMBERS,
    "tensor<1x4x1xi32>; tensor<3x1x1xi32>; tensor<1x2xi64>",
    "tensor<1x4x1xi32>",
)


@pytest.mark.parametrize(
    ("padding", "wanted"),
    [((1, 1), [12, 123, 234, 340]), ((2, 0), [1, 12, 123, 234]), ((-1, 3), [234, 340, 400, 0])],
)
def test_a_padding_of_the_run(padding: tuple[int, int], wanted: list[int]) -> None:
    source = np.array([1, 2, 3, 4], np.int32).reshape(1, 4, 1)
    kernel = np.array([100, 10, 1], np.int32).reshape(3, 1, 1)
    (got,) = compiled(DYNAMIC)(source, kernel, np.array([padding]))
    assert got.ravel().tolist() == wanted


def test_a_padding_that_gives_another_shape_is_refused() -> None:
    source, kernel = np.ones((1, 4, 1), np.int32), np.ones((3, 1, 1), np.int32)
    with pytest.raises(ExecutionError, match=r"for \[4\] windows, got \[\[0, 0\]\] for \[2\]"):
        compiled(DYNAMIC)(source, kernel, np.array([[0, 0]]))


def test_zeros_of_the_padding_are_multiplied_too() -> None:
    lines = generic(
        "convolution",
        "%a, %b",
        f"{NUMBERS}, padding = dense<[[1, 0]]> : tensor<1x2xi64>",
        "tensor<1x2x1xf32>; tensor<2x1x1xf32>",
        "tensor<1x2x1xf32>",
    )
    source = np.ones((1, 2, 1), np.float32)
    kernel = np.array([np.inf, 1], np.float32).reshape(2, 1, 1)
    (got,) = compiled(lines)(source, kernel)
    assert got.tobytes() == np.array([np.nan, np.inf], np.float32).tobytes()


def test_patches_of_many_blocks_are_one_convolution() -> None:
    source = np.random.default_rng(1).integers(-9, 9, (3, 80, 90, 8)).astype(np.int32)
    kernel = np.random.default_rng(2).integers(-9, 9, (5, 5, 8, 2)).astype(np.int32)
    types = "tensor<3x80x90x8xi32>, tensor<5x5x8x2xi32>"
    lines = (
        f"func.func @main(%a: {types.split(', ')[0]}, %b: {types.split(', ')[1]})"
        " -> tensor<3x76x86x2xi32> {\n%r = stablehlo.convolution(%a, %b)"
        " dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {}"
        " {batch_group_count = 1 : i64, feature_group_count = 1 : i64}"
        f" : ({types}) -> tensor<3x76x86x2xi32>\nreturn %r : tensor<3x76x86x2xi32>\n}}"
    )
    wanted = np.zeros((3, 76, 86, 2), np.int32)
    for row, column in np.ndindex(5, 5):
        wanted += source[:, row : row + 76, column : column + 86] @ kernel[row, column]
    for exact in (True, False):
        (got,) = compiled(lines, exact)(source, kernel)
        assert got.tobytes() == wanted.tobytes()
