"""Elementwise operations over arrays that no cache holds, whose values inside nobody else reads.

They are evaluated block by block, all of them for some elements before the next ones, so that what
lies between them stays in the cache. Which nodes those are follows from what is kept and from
what other patterns claim: the nodes are found when patterns are elected.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from topos.engine.catalog.pattern import Match, PatternKind
from topos.engine.catalog.view import View
from topos.graph import Form
from topos.op import Broadcast, BroadcastAlong, Leaf, Map, Reshape
from topos.payload import ELEMENTS, Shape, f32, f64, size

UNIT: Final = 64
"""Blocks begin at multiples of so many elements, so that numpy's vectors lie as in the whole."""

# Measured by tools/bench/blocks.py: below, the last cache holds what the operations touch.
_LEAST_BYTES: Final = 1 << 25
# A node of fewer elements is not looked at; it would need operands by the dozen.
_LEAST_ELEMENTS: Final = 1 << 20
# A row longer than that, or that many rows make whole vectors, is no part of a block.
_LONGEST: Final = 1 << 16


class Call(NamedTuple):
    """One operation: its form, and the places of its operands among the match's and the calls'."""

    form: Form
    places: tuple[int, ...]


class Elementwise(NamedTuple):
    """Calls over arrays of `shape`, the last of which gives the result.

    Operands repeat along the leading or trailing axes of a matrix with `columns`, which is 0 where
    none does: each of `spreads` is `whole`, `row`, `column` or `number`.
    """

    shape: Shape
    columns: int
    spreads: tuple[str, ...]
    calls: tuple[Call, ...]


class _Operand(NamedTuple):
    """What a node reads: the node that repeats, how it does, and over how many columns."""

    node: int
    spread: str
    columns: int = 0


def is_wide(form: Form) -> bool:
    """Returns whether nodes of `form` are elementwise over an array large enough to look at."""
    operation, operands = form.operation, form.operands
    if not operation.is_elementwise or size(form.type.shape) < _LEAST_ELEMENTS:
        return False
    if isinstance(operation, Map):
        # A map is a task, and the kernels of the shorter formats are made for one shape.
        return operands[0].element in (f32, f64)
    elements = (type.element for type in (*operands, form.type))
    return all(ELEMENTS.get(element.name) is element for element in elements)


def elementwise(view: View, wide: Iterable[int], barriers: Container[int]) -> Iterator[Match]:
    """Yields the largest matches among the nodes `wide`, ascending, none of them twice.

    A node of `barriers` is never inside. Takes time in proportion to the nodes and their operands.
    """
    read = {node: _operands(view, node) for node in wide}
    roots: dict[int, int] = {}
    columns: dict[int, int] = {}
    for node in sorted(read, reverse=True):
        operands = read[node]
        if operands is None:
            continue
        own = max(operand.columns for operand in operands)
        root = node if node in barriers else _root_of(view, node, roots)
        if root != node and own and columns[root] not in (0, own):
            root = node
        roots[node] = root
        columns[root] = max(columns.get(root, 0), own)
    members: dict[int, list[int]] = {}
    for node in sorted(roots):
        members.setdefault(roots[node], []).append(node)
    for root, nodes in members.items():
        match = _match(view, nodes, read, columns[root]) if len(nodes) > 1 else None
        if match is not None:
            yield match


def _root_of(view: View, node: int, roots: dict[int, int]) -> int:
    """Returns the root that all readers of `node` lead to, or `node` itself."""
    found = {roots.get(use, node) for use in view.uses(node)}
    root = found.pop() if len(found) == 1 else node
    return root if view.shape(root) == view.shape(node) else node


def _operands(view: View, node: int) -> list[_Operand] | None:
    """Returns what `node` reads, or `None` where that lies in no block."""
    found = []
    for operand in view.operands(node):
        each = _operand(view, operand)
        if each is None:
            return None
        found.append(each)
    extents = {each.columns for each in found} - {0}
    is_block = any(each.spread != "number" for each in found)
    return found if is_block and len(extents) <= 1 else None


def _operand(view: View, node: int) -> _Operand | None:
    if view.is_a(node, Leaf) and view.number(node) is not None:
        return _Operand(node, "number")
    if view.is_a(node, Broadcast):
        return _Operand(view.operands(node)[0], "number")
    along = view.operation(node, BroadcastAlong)
    if along is not None:
        return _repeated(view, node, along.axes)
    base = node
    while view.is_a(base, Reshape):
        (base,) = view.operands(base)
    # The elements of any other view lie in another order, or repeat.
    strided = view.columns.forms[base].operation.is_view
    return None if strided else _Operand(node, "whole")


def _repeated(view: View, node: int, axes: tuple[int, ...]) -> _Operand | None:
    """Returns the operand of `node` as a row or a column, where it repeats along outer axes."""
    (operand,), rank = view.operands(node), len(view.shape(node))
    count = size(view.shape(operand))
    if count == 1 or view.number(operand) is not None:
        return _Operand(operand, "number")
    if axes == tuple(range(len(axes))):
        spread, columns = "row", count
    elif axes == tuple(range(rank - len(axes), rank)):
        spread, columns = "column", size(view.shape(node)) // count
    else:
        return None
    # So many rows are a multiple of the unit together.
    rows = UNIT // math.gcd(UNIT, columns)
    return _Operand(operand, spread, columns) if rows * columns <= _LONGEST else None


def _match(
    view: View, nodes: Sequence[int], read: dict[int, list[_Operand] | None], columns: int
) -> Match | None:
    """Returns the match of `nodes`, ascending, where its arrays exceed the cache."""
    inside = set(nodes)
    outside: dict[tuple[int, str], int] = {}
    for node in nodes:
        for operand in read[node] or ():
            if operand.node not in inside:
                outside.setdefault((operand.node, operand.spread), len(outside))
    places = {(node, "whole"): len(outside) + place for place, node in enumerate(nodes)} | outside
    wholes = sum(_bytes(view, node) for node, spread in outside if spread == "whole")
    if wholes + _alive(view, nodes) < _LEAST_BYTES:
        return None
    calls = tuple(
        Call(
            view.columns.forms[node],
            tuple(places[operand.node, operand.spread] for operand in read[node] or ()),
        )
        for node in nodes
    )
    operands, spreads = zip(*outside, strict=True)
    form = Elementwise(view.shape(nodes[-1]), columns, spreads, calls)
    return Match(PatternKind.ELEMENTWISE, nodes[-1], tuple(nodes), operands, (nodes[-1],), form)


def _alive(view: View, nodes: Sequence[int]) -> int:
    """Returns the most bytes of `nodes` that are alive at once, each written over one that dies."""
    deaths = {operand: node for node in nodes for operand in view.operands(node)}
    inside, alive, most = set(nodes), 0, 0
    for node in nodes:
        operands = inside.intersection(view.operands(node))
        alive += _bytes(view, node)
        alive -= sum(_bytes(view, operand) for operand in operands if deaths[operand] == node)
        most = max(most, alive)
    return most


def _bytes(view: View, node: int) -> int:
    type = view.type(node)
    return size(type.shape) * type.element.dtype.itemsize
