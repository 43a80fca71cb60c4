"""The single-point changes that a Python source allows, found by its syntax tree."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

__all__ = ["Change", "changed", "changes"]

COMPARISONS: Final[dict[type[ast.cmpop], tuple[str, str]]] = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
}  # fmt: skip
ARITHMETIC: Final[dict[type[ast.operator], tuple[str, str]]] = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "+"), ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "+"), ast.Pow: ("**", "*"), ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"), ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"), ast.BitXor: ("^", "|"),
}  # fmt: skip
NAMES: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}
MARKS: Final = {"<<": "<<", ">>": ">>", "**": r"\*\*", "*": r"\*(?!\*)", "<": "<(?![<=])"}


class Change(NamedTuple):
    """`old` at a line (from 1) and a column (of its UTF-8 bytes, from 0) becomes `new`."""

    line: int
    column: int
    old: str
    new: str


def changes(source: str) -> list[Change]:
    """Returns the changes of a source, in its order.

    Annotations and messages have none, nor has the `strict` of a `zip`, which says what holds.
    """
    tree = ast.parse(source)
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    found = {change for node in _live(tree) for change in _of(node, lines)}
    return sorted(found)


def changed(source: str, change: Change) -> str:
    """Returns the source with one change made."""
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    line = lines[change.line - 1]
    end = change.column + len(change.old.encode())
    if line[change.column : end] != change.old.encode():
        raise ValueError(f"line {change.line} has no `{change.old}` at column {change.column}")
    lines[change.line - 1] = line[: change.column] + change.new.encode() + line[end:]
    return b"".join(lines).decode()


def _live(node: ast.AST) -> Iterator[ast.AST]:
    """Yields the nodes that a run evaluates, but for what only words an exception."""
    skipped: list[ast.AST | None] = []
    match node:
        case ast.Raise() | ast.Import() | ast.ImportFrom():
            return
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return
        case ast.AnnAssign(annotation=annotation):
            skipped = [annotation]
        case ast.keyword(arg="strict"):
            return
        case ast.arg(annotation=annotation):
            skipped = [annotation]
        case ast.FunctionDef(returns=returns) | ast.AsyncFunctionDef(returns=returns):
            skipped = [returns]
    yield node
    for child in ast.iter_child_nodes(node):
        if child not in skipped:
            yield from _live(child)


def _of(node: ast.AST, lines: list[bytes]) -> Iterator[Change]:
    """Yields the changes of one node."""
    match node:
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            for before, op, after in zip([left, *comparators], ops, comparators, strict=False):
                yield from _between(before, after, COMPARISONS[type(op)], lines)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
            yield from _between(left, right, ARITHMETIC[type(op)], lines)
        case ast.BoolOp(op=op, values=values):
            words = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
            for before, after in itertools.pairwise(values):
                yield from _between(before, after, words, lines)
        case ast.UnaryOp(op=ast.Not()):
            yield Change(node.lineno, node.col_offset, "not ", "")
        case ast.Constant(value=bool() as value):
            yield Change(node.lineno, node.col_offset, str(value), str(not value))
        case ast.Constant(value=int() as value):
            yield from _number(node, str(value - 1 if value else 1), lines)
        case ast.Constant(value=float() as value):
            yield from _number(node, repr(value * 2 or 1.0), lines)
        case ast.Name(id=name, ctx=ast.Load()) if name in NAMES:
            yield Change(node.lineno, node.col_offset, name, NAMES[name])
        case ast.Continue():
            yield Change(node.lineno, node.col_offset, "continue", "break")
        case ast.Break():
            yield Change(node.lineno, node.col_offset, "break", "continue")
        case ast.If(body=[ast.Raise()], test=test) if _one_line(test):
            yield _whole(test, "False", lines)
        case ast.Expr(value=ast.Call() as call) if _one_line(call):
            yield _whole(call, "None", lines)


def _between(
    before: ast.expr, after: ast.expr, words: tuple[str, str], lines: list[bytes]
) -> Iterator[Change]:
    """Yields the change of the operator between two operands, where one line has it."""
    old, new = words
    pattern = MARKS.get(old, rf"\b{old}\b" if old[0].isalpha() else re.escape(old))
    for number in range(before.end_lineno or 0, after.lineno + 1):
        first = before.end_col_offset or 0 if number == before.end_lineno else 0
        last = after.col_offset if number == after.lineno else len(lines[number - 1])
        gap = lines[number - 1][first:last].decode().partition("#")[0]
        if found := re.search(pattern, gap):
            yield Change(number, first + found.start(), old, new)
            return


def _number(node: ast.Constant, new: str, lines: list[bytes]) -> Iterator[Change]:
    if node.end_lineno == node.lineno:
        yield _whole(node, new, lines)


def _one_line(node: ast.expr) -> bool:
    return node.lineno == node.end_lineno


def _whole(node: ast.expr, new: str, lines: list[bytes]) -> Change:
    old = lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode()
    return Change(node.lineno, node.col_offset, old, new)
