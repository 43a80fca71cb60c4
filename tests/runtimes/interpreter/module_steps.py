"""The steps of a random module: each draws operands and adds one or two valid operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import hypothesis.strategies as st
import numpy as np

from tests.runtimes.interpreter.modules import DTYPES, Writer, typed

# Each of these rounds once, or not at all, on every runtime.
UNARY = {
    "f": ("negate", "abs", "sqrt", "floor", "ceil", "sign"),
    "i": ("negate", "not", "popcnt"),
    "b": ("not",),
}
BINARY = {
    "f": ("add", "subtract", "multiply", "divide", "maximum", "minimum"),
    "i": ("add", "subtract", "multiply", "maximum", "minimum", "and", "or", "xor", "shift_left"),
    "b": ("and", "or", "xor"),
}
# Of these the order of the elements does not matter.
BODIES = {"f": ("maximum", "minimum"), "i": ("add", "multiply", "maximum"), "b": ("and", "or")}


def unary(writer: Writer) -> None:
    value = writer.pick("f", "i")
    if value.kind == "b" or (value.element.startswith("u") and value.kind == "i"):
        return (
            writer.add(f"stablehlo.not {value.name} : {value.type}", *value[1:])
            if (value.kind != "f")
            else None
        )
    name = writer.one_of(*UNARY[value.kind])
    return writer.add(f"stablehlo.{name} {value.name} : {value.type}", *value[1:])


def binary(writer: Writer) -> None:
    left = writer.pick()
    right = writer.one_of(*[value for value in writer.values if value[1:] == left[1:]])
    name = writer.one_of(*BINARY[left.kind])
    writer.add(f"stablehlo.{name} {left.name}, {right.name} : {left.type}", *left[1:])


def compare_and_select(writer: Writer) -> None:
    left = writer.pick()
    right = writer.one_of(*[value for value in writer.values if value[1:] == left[1:]])
    direction = writer.one_of("EQ", "NE", "LT", "LE", "GT", "GE")
    truth = typed(left.shape, "i1")
    names = f"{left.name}, {right.name}"
    types = f"({left.type}, {left.type}) -> {truth}"
    writer.add(f"stablehlo.compare {direction}, {names} : {types}", left.shape, "i1")
    chosen = writer.values[-1].name
    writer.add(f"stablehlo.select {chosen}, {names} : {truth}, {left.type}", *left[1:])


def convert(writer: Writer) -> None:
    value = writer.pick("i", "b")
    # A float beyond an integer's range has no value that all runtimes agree on.
    if value.kind == "f":
        return
    element = writer.one_of(*DTYPES)
    types = f"({value.type}) -> {typed(value.shape, element)}"
    writer.add(f"stablehlo.convert {value.name} : {types}", value.shape, element)


def broadcast(writer: Writer) -> None:
    value = writer.pick()
    added = writer.number(0, 1)
    shape = [*[writer.number(1, 3) for _ in range(added)], *value.shape]
    axes = list(range(added, len(shape)))
    types = f"({value.type}) -> {typed(shape, value.element)}"
    operation = f"stablehlo.broadcast_in_dim {value.name}, dims = {axes} : {types}"
    writer.add(operation, shape, value.element)


def reshape(writer: Writer) -> None:
    value = writer.pick()
    size = int(np.prod(value.shape))
    rows = writer.one_of(*[each for each in range(1, size + 1) if size % each == 0])
    shape = (rows, size // rows)
    types = f"({value.type}) -> {typed(shape, value.element)}"
    writer.add(f"stablehlo.reshape {value.name} : {types}", shape, value.element)


def transpose(writer: Writer) -> None:
    value = writer.pick()
    axes = writer.draw(st.permutations(range(len(value.shape))))
    shape = [value.shape[axis] for axis in axes]
    types = f"({value.type}) -> {typed(shape, value.element)}"
    operation = f"stablehlo.transpose {value.name}, dims = {list(axes)} : {types}"
    writer.add(operation, shape, value.element)


def slice_of(writer: Writer) -> None:
    value = writer.pick()
    ranges, shape = [], []
    for extent in value.shape:
        start = writer.number(0, extent - 1)
        limit, stride = writer.number(start + 1, extent), writer.number(1, 2)
        ranges.append(f"{start}:{limit}:{stride}")
        shape.append(len(range(start, limit, stride)))
    types = f"({value.type}) -> {typed(shape, value.element)}"
    operation = f"stablehlo.slice {value.name} [{', '.join(ranges)}] : {types}"
    writer.add(operation, shape, value.element)


def pad(writer: Writer) -> None:
    value = writer.pick()
    scalars = [each for each in writer.values if each.shape == () and each.element == value.element]
    if not scalars:
        return
    rank = len(value.shape)
    low, high, interior = ([writer.number(least, 2) for _ in range(rank)] for least in (-1, 0, 0))
    shape = [
        first + last + extent + (extent - 1) * between
        for first, last, between, extent in zip(low, high, interior, value.shape, strict=True)
    ]
    if min(shape, default=1) < 1:
        return
    scalar = writer.one_of(*scalars)
    types = f"({value.type}, {scalar.type}) -> {typed(shape, value.element)}"
    sides = f"low = {low}, high = {high}, interior = {interior}"
    operation = f"stablehlo.pad {value.name}, {scalar.name}, {sides} : {types}"
    writer.add(operation, shape, value.element)


def concatenate(writer: Writer) -> None:
    value = writer.pick()
    if not value.shape:
        return
    axis = writer.number(0, len(value.shape) - 1)
    shape = [*value.shape[:axis], 2 * value.shape[axis], *value.shape[axis + 1 :]]
    types = f"({value.type}, {value.type}) -> {typed(shape, value.element)}"
    operation = f"stablehlo.concatenate {value.name}, {value.name}, dim = {axis} : {types}"
    writer.add(operation, shape, value.element)


def reverse(writer: Writer) -> None:
    value = writer.pick()
    axes = [axis for axis in range(len(value.shape)) if writer.number(0, 1)]
    writer.add(f"stablehlo.reverse {value.name}, dims = {axes} : {value.type}", *value[1:])


def reduce(writer: Writer) -> None:
    value = writer.pick()
    axes = [axis for axis in range(len(value.shape)) if writer.number(0, 1)]
    shape = [extent for axis, extent in enumerate(value.shape) if axis not in axes]
    scalars = [each for each in writer.values if each.shape == () and each.element == value.element]
    # How often the initial value enters a reduction along no axis is left open.
    if not scalars or not axes:
        return
    start = writer.one_of(*scalars)
    body = writer.one_of(*BODIES[value.kind])
    types = f"({value.type}, {start.type}) -> {typed(shape, value.element)}"
    form = f"applies stablehlo.{body} across dimensions = {axes}"
    operation = f"stablehlo.reduce({value.name} init: {start.name}) {form} : {types}"
    writer.add(operation, shape, value.element)


def gather(writer: Writer) -> None:
    value = writer.pick()
    indices = [each for each in writer.values if each.element in ("i32", "i64") and each.shape]
    if not indices or not value.shape or value.element == "i1":
        return
    index = writer.one_of(*indices)
    # Every number of the indices is a vector of one: it picks a row.
    inner = list(range(len(index.shape), len(index.shape) + len(value.shape) - 1))
    shape = [*index.shape, *value.shape[1:]]
    numbers = (
        f"#stablehlo.gather<offset_dims = {inner}, collapsed_slice_dims = [0],"
        f" start_index_map = [0], index_vector_dim = {len(index.shape)}>"
    )
    sizes = ", ".join(map(str, (1, *value.shape[1:])))
    types = f"({value.type}, {index.type}) -> {typed(shape, value.element)}"
    writer.add(
        f'"stablehlo.gather"({value.name}, {index.name}) <{{dimension_numbers = {numbers},'
        f" slice_sizes = array<i64: {sizes}>}}> : {types}",
        shape,
        value.element,
    )


def scatter(writer: Writer) -> None:
    value = writer.pick("i")
    indices = [each for each in writer.values if each.element in ("i32", "i64") and each.shape]
    if not indices or not value.shape or value.kind != "i":
        return
    index = writer.one_of(*indices)
    shape = (*index.shape, *value.shape[1:])
    updates = [each for each in writer.values if each[1:] == (shape, value.element)]
    if not updates:
        return
    update = writer.one_of(*updates)
    inner = list(range(len(index.shape), len(shape)))
    numbers = (
        f"#stablehlo.scatter<update_window_dims = {inner}, inserted_window_dims = [0],"
        f" scatter_dims_to_operand_dims = [0], index_vector_dim = {len(index.shape)}>"
    )
    scalar = typed((), value.element)
    body = writer.one_of("add", "minimum", "xor")
    writer.add(
        f'"stablehlo.scatter"({value.name}, {index.name}, {update.name})'
        f" <{{scatter_dimension_numbers = {numbers}}}> ({{\n"
        f"^bb0(%x: {scalar}, %y: {scalar}):\n"
        f"%s = stablehlo.{body} %x, %y : {scalar}\n"
        f"stablehlo.return %s : {scalar}\n"
        f"}}) : ({value.type}, {index.type}, {update.type}) -> {value.type}",
        *value[1:],
    )


def sort(writer: Writer) -> None:
    value = writer.pick("i", "f")
    if not value.shape or value.kind == "b":
        return
    scalar = typed((), value.element)
    direction = writer.one_of("LT", "GT")
    axis = writer.number(0, len(value.shape) - 1)
    writer.add(
        f'"stablehlo.sort"({value.name}) <{{dimension = {axis} : i64, is_stable = true}}> ({{\n'
        f"^bb0(%x: {scalar}, %y: {scalar}):\n"
        f"%s = stablehlo.compare {direction}, %x, %y : ({scalar}, {scalar}) -> tensor<i1>\n"
        f"stablehlo.return %s : tensor<i1>\n"
        f"}}) : ({value.type}) -> {value.type}",
        *value[1:],
    )


def dynamic_slice(writer: Writer) -> None:
    value = writer.pick()
    starts = [each for each in writer.values if each.shape == () and each.element == "i64"]
    if not starts or not value.shape:
        return
    names = [writer.one_of(*starts).name for _ in value.shape]
    sizes = [writer.number(1, extent) for extent in value.shape]
    types = ", ".join([value.type, *["tensor<i64>"] * len(names)])
    writer.add(
        f"stablehlo.dynamic_slice {value.name}, {', '.join(names)}, sizes = {sizes} :"
        f" ({types}) -> {typed(sizes, value.element)}",
        sizes,
        value.element,
    )


def branch(writer: Writer) -> None:
    truths = [each for each in writer.values if each.shape == () and each.element == "i1"]
    if not truths:
        return
    value = writer.pick("i", "f")
    chosen = writer.one_of(*truths)
    writer.add(
        f'"stablehlo.if"({chosen.name}) ({{\n'
        f"stablehlo.return {value.name} : {value.type}\n"
        f"}}, {{\n%s = stablehlo.add {value.name}, {value.name} : {value.type}\n"
        f"stablehlo.return %s : {value.type}\n}}) : (tensor<i1>) -> {value.type}",
        *value[1:],
    )


STEPS: Sequence[Callable[[Writer], None]] = (
    unary, binary, binary, compare_and_select, convert, broadcast, reshape, transpose, slice_of,
    pad, concatenate, reverse, reduce, gather, scatter, sort, dynamic_slice, branch,
)  # fmt: skip
