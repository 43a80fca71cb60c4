"""How patterns look at recorded columns: operations, operands, consumers and constants."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from functools import cached_property
from typing import TypeVar

from topos.graph import Columns
from topos.op import Array, Broadcast, BroadcastAlong, Leaf, Operation, Pad, Permute, Transpose
from topos.payload import Shape, TensorType

Kind = TypeVar("Kind", bound=Operation)


class View:
    """The nodes that a plan evaluates, `order`, as its patterns see them."""

    def __init__(self, columns: Columns, order: Sequence[int]) -> None:
        self.columns, self.order = columns, order

    def operation(self, node: int, kind: type[Kind]) -> Kind | None:
        """Returns the operation of `node` where it is of `kind`."""
        operation = self.columns.forms[node].operation
        return operation if isinstance(operation, kind) else None

    def is_a(self, node: int, kind: type[Operation]) -> bool:
        """Returns whether `node` is of `kind`."""
        return isinstance(self.columns.forms[node].operation, kind)

    def operands(self, node: int) -> tuple[int, ...]:
        """Returns the positions of the operands."""
        return self.columns.operands[node]

    def type(self, node: int) -> TensorType:
        """Returns the type of the result."""
        return self.columns.forms[node].type

    def shape(self, node: int) -> Shape:
        """Returns the shape of the result."""
        return self.columns.forms[node].type.shape

    def uses(self, node: int) -> list[int]:
        """Returns the consumers of `node`, ascending, one entry each."""
        return self._uses.get(node, [])

    def moves(self, node: int) -> bool:
        """Returns whether `node` only moves data: patterns may share such a node."""
        return moves(self.columns.forms[node].operation)

    def number(self, node: int) -> float | None:
        """Returns the number that fills `node`, where that is one constant spread out."""
        while self.is_a(node, Broadcast) or self.is_a(node, BroadcastAlong):
            (node,) = self.operands(node)
        leaf = self.operation(node, Leaf)
        if leaf is None or leaf.payload is None or not is_splat(leaf.payload):
            return None
        if not leaf.type.element.native:
            return None
        return float(leaf.payload.reshape(-1)[0])

    def spread(self, node: int, axes: Sequence[int]) -> int | None:
        """Returns what `node` repeats along exactly `axes`, where it does."""
        operation = self.operation(node, BroadcastAlong)
        if operation is None or operation.axes != tuple(axes):
            return None
        return self.operands(node)[0]

    def turned(self, node: int) -> int | None:
        """Returns the matrix or stack of which `node` swaps the trailing two axes."""
        permute, rank = self.operation(node, Permute), len(self.shape(node))
        swapped = (*range(rank - 2), rank - 1, rank - 2)
        if self.is_a(node, Transpose) or (permute is not None and permute.axes == swapped):
            return self.operands(node)[0]
        return None

    def same(self, left: int, right: int) -> bool:
        """Returns whether two nodes are one, or equal operations of the same operands."""
        forms, operands = self.columns.forms, self.columns.operands
        pending, seen = [(left, right)], {(left, right)}
        while pending:
            first, second = pending.pop()
            if first == second:
                continue
            alike = forms[first].operation == forms[second].operation
            if not alike or not operands[first] or len(operands[first]) != len(operands[second]):
                return False
            fresh = set(zip(operands[first], operands[second], strict=True)) - seen
            seen |= fresh
            pending.extend(fresh)
        return True

    def depends(self, node: int, source: int) -> bool:
        """Returns whether `node` is `source` or is computed from it."""
        pending, seen = [node], {node}
        while pending:
            current = pending.pop()
            if current == source:
                return True
            fresh = {each for each in self.operands(current) if each >= source} - seen
            seen |= fresh
            pending.extend(fresh)
        return False

    def between(self, nodes: Iterable[int], ends: Container[int]) -> tuple[int, ...]:
        """Returns `nodes` and what leads to them, down to `ends` and to sources, ascending."""
        pending = list(nodes)
        found = set(pending)
        while pending:
            for operand in self.operands(pending.pop()):
                if operand not in found and operand not in ends and self.operands(operand):
                    found.add(operand)
                    pending.append(operand)
        return tuple(sorted(found))

    @cached_property
    def _uses(self) -> dict[int, list[int]]:
        uses: dict[int, list[int]] = {}
        for node in self.order:
            for operand in dict.fromkeys(self.operands(node)):
                uses.setdefault(operand, []).append(node)
        return uses


def moves(operation: Operation) -> bool:
    """Returns whether `operation` only moves data."""
    return operation.is_view or isinstance(operation, Pad)


def is_splat(payload: Array) -> bool:
    """Returns whether `payload` is one number spread over its shape."""
    pairs = zip(payload.strides, payload.shape, strict=True)
    return payload.size > 0 and all(stride == 0 or extent == 1 for stride, extent in pairs)
