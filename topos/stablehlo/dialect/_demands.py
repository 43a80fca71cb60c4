"""What several families ask of operands and attributes, and the operands that hold sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from topos.stablehlo.dimension_numbers import GatherNumbers, ScatterNumbers
from topos.stablehlo.ir import Tensor, Type, Word
from topos.stablehlo.opview import OpView
from topos.stablehlo.shapes import (
    Shape,
    TensorType,
    agree,
    demand_result,
    extents_agree,
    merged,
    ranked,
    shapes_agree,
)
from topos.stablehlo.typed_attributes import Attribute
from topos.stablehlo.types import ANY, INTEGERS, SIZES


class Precisions(Attribute[tuple[str, ...]]):
    """The precision of each operand of a product: up to two of DEFAULT, HIGH and HIGHEST."""

    words: Final = ("DEFAULT", "HIGH", "HIGHEST")
    takes = f"up to two of {', '.join(words)}"
    example = "('HIGHEST', 'HIGHEST')"

    def read(self, view: OpView) -> tuple[str, ...]:
        """Returns the precisions, `()` where there are none."""
        value = view.optional(self.key)
        if value is None:
            return ()
        known = isinstance(value, tuple) and all(part in self.words for part in value)
        if not known or len(value) > 2:
            view.refuse(f"needs {self.takes} as {self.key}, got {value}")
        return tuple(map(str, value))

    def spelled(self, value: Any) -> Any:
        if type(value) is tuple and all(isinstance(part, Word) for part in value):
            return self._worded(value)
        return None

    def made(self, value: Any) -> Any:
        known = all(each in self.words for each in value)
        if isinstance(value, str) or len(value) > 2 or not known:
            raise ValueError(f"{value} are no precisions")
        return self._worded(value)

    def _worded(self, value: Any) -> Any:
        return tuple([Word(str(part), "#stablehlo<precision ") for part in value])


def holding(view: OpView, type: Type, what: str, elements: frozenset[str] = ANY) -> Tensor:
    """Returns `type` where it is a ranked tensor of such elements."""
    taken = ranked(view, type, what)
    if taken.element not in elements:
        view.refuse(f"takes no elements of {taken.element} as {what}")
    return taken


def demand_one_element(view: OpView, taken: Sequence[TensorType]) -> None:
    """Refuses tensors of several elements."""
    if len({type.element for type in taken}) > 1:
        view.refuse(f"needs operands of one element, got {', '.join(map(str, taken))}")


def below(view: OpView, key: str, value: int, rank: int) -> int:
    """Returns `value`, that of the attribute `key`, where it is an axis of a value of `rank`."""
    if value >= rank:
        view.refuse(f"needs {key} below {rank}, got {value}")
    return value


def counted(view: OpView, key: str, values: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Returns `values`, those of the attribute `key`, where there are `count` of them."""
    if len(values) != count:
        view.refuse(f"needs {count} numbers as {key}, got {list(values)}")
    return values


def axes_below(view: OpView, axes: Sequence[int], rank: int, what: str) -> None:
    """Refuses unless each of `axes` is one of a value of `rank`."""
    for axis in axes:
        if not 0 <= axis < rank:
            view.refuse(f"needs {what} from 0 to below {rank}, got {axis}")


def distinct(view: OpView, axes: Sequence[int], what: str) -> None:
    """Refuses where an axis is there twice."""
    if len(set(axes)) != len(axes):
        view.refuse(f"needs distinct {what}, got {list(axes)}")


def ascending(view: OpView, axes: Sequence[int], what: str) -> None:
    """Refuses unless `axes` are in ascending order; equal ones may follow each other."""
    if list(axes) != sorted(axes):
        view.refuse(f"needs ascending {what}, got {list(axes)}")


def completed(view: OpView, inferred: Tensor, computed: Tensor | None = None) -> Tensor:
    """Returns `inferred` with the extents that only the stated result knows.

    `computed` adds what constants come to; a run refuses them where the stated result differs, so
    that it is taken as it is.
    """
    taken = inferred
    if view.results:
        demand_result(view, inferred)
        taken = _merged(view, inferred, ranked(view, view.results[0], "result"))
    return (
        taken if computed is None or not agree(taken, computed) else _merged(view, taken, computed)
    )


def _merged(view: OpView, one: Tensor, other: Tensor) -> Tensor:
    return ranked(view, merged(view, (one, other), "results"), "result")


def sized(view: OpView, index: int, element: str, what: str) -> Tensor:
    """Returns the type of `element` and of the shape that the operand at `index` holds.

    What it does not tell is the stated result's.
    """
    if view.results:
        demand_shape(view, index, ranked(view, view.results[0], "result"), what)
    count, values = static_sizes(view, index, what), known(view, index)
    if values is not None and min(values, default=0) < 0:
        view.refuse(f"needs {what} of 0 or more, got {list(values)}")
    return completed(view, Tensor((None,) * count if values is None else values, element))


def static_sizes(view: OpView, index: int, what: str) -> int:
    """Returns how many sizes the operand at `index` holds: one dimension of a known extent."""
    if index >= len(view.operands):
        view.refuse(f"needs {what} as an operand, got {len(view.operands)} operands")
    type = ranked(view, view.operands[index], what)
    if len(type.shape) != 1 or type.element not in SIZES:
        view.refuse(f"needs {what} as integers of one dimension, got {type}")
    if type.shape[0] is None:
        view.refuse(f"needs a static shape of {what}, got {type}")
    return type.shape[0]


def known(view: OpView, index: int) -> tuple[int, ...] | None:
    """Returns the values of the operand at `index` where it is a constant."""
    array = view.constants[index]
    return None if array is None else tuple(array.ravel().tolist())


def demand_shape(view: OpView, index: int, result: Tensor, what: str) -> None:
    """Refuses a shape operand that is not the shape of `result`, as far as both are known."""
    count = static_sizes(view, index, what)
    if count != len(result.shape):
        view.refuse(f"needs {len(result.shape)} numbers as {what} of {result}, got {count}")
    values = known(view, index)
    if values is None:
        return
    if not shapes_agree(values, result.shape) or any(size < 0 for size in values):
        view.refuse(f"needs {what} of {result}, got {list(values)}")


def demand_indices(view: OpView, first: int, rank: int) -> None:
    """Refuses unless the operands from `first` on are scalar indices, one an axis."""
    indices = view.operands[first:]
    if len(indices) != rank:
        view.refuse(f"needs {rank} start indices, got {len(indices)}")
    for type in indices:
        if not isinstance(type, Tensor) or type.shape or type.element not in INTEGERS:
            view.refuse(f"needs scalar integers as start indices, got {type}")
        if type != indices[0]:
            view.refuse(f"needs start indices of one element, got {indices[0]} and {type}")


def demand_indexing(
    view: OpView, numbers: GatherNumbers | ScatterNumbers, taken: Shape, indices: Shape
) -> Shape:
    """Returns the shape of the indices with the axis of their coordinates, which may be left out.

    Refuses dimension numbers that do not fit it and `taken`, the shape of what is indexed. Those of
    a gather and of a scatter have the same fields in one order, under other names.
    """
    window, left, batching, _, mapped, _ = numbers._fields
    axes, vector, rank = numbers[4], numbers.index_vector_dim, len(taken)
    count = len(numbers[0]) + len(numbers.dropped)
    if count != rank:
        counted = f"{window}, {left} and {batching}"
        view.refuse(f"needs {rank} axes in {counted} together, got {count}")
    if not 0 <= vector <= len(indices):
        view.refuse(f"needs an index_vector_dim from 0 to {len(indices)}, got {vector}")
    expanded = indices if vector < len(indices) else (*indices, 1)
    distinct(view, numbers.dropped, f"{left} and {batching}")
    for name in (left, batching):
        ascending(view, getattr(numbers, name), name)
        axes_below(view, getattr(numbers, name), rank, name)
    _demand_batches(view, numbers, taken, expanded)
    if not extents_agree(expanded[vector], len(axes)):
        view.refuse(f"needs {expanded[vector]} axes in {mapped}, got {list(axes)}")
    distinct(view, axes + numbers[2], f"{mapped} and {batching}")
    axes_below(view, axes, rank, mapped)
    return expanded


def _demand_batches(
    view: OpView, numbers: GatherNumbers | ScatterNumbers, taken: Shape, indices: Shape
) -> None:
    ours, name = numbers._fields[2:4]
    axes, batches = numbers[2], numbers[3]
    distinct(view, batches, name)
    axes_below(view, batches, len(indices), name)
    if numbers.index_vector_dim in batches:
        view.refuse(f"needs {name} without the index_vector_dim {numbers.index_vector_dim}")
    if len(batches) != len(axes):
        view.refuse(f"needs as many {name} as {ours}, {len(axes)}, got {len(batches)}")
    for axis, other in zip(axes, batches, strict=True):
        if not extents_agree(taken[axis], indices[other]):
            needs = f"the same extents of {ours.partition('_')[0]} and indices as batches"
            view.refuse(f"needs {needs}, got {taken[axis]} and {indices[other]}")
