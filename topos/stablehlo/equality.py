"""Structural equality: whether two trees say the same, wherever in their texts they say it."""

from __future__ import annotations

import struct
from typing import Any

from topos.stablehlo.ir import Dense, Function, Operation, Packed, Record, Word


def same(one: Any, other: Any) -> bool:
    """Returns whether two parts of trees are the same but for lines, columns and locations.

    Numbers are compared with their types and to the bit, keys in any order. Operands whose types
    one of the two leaves unsaid are of the types that the other one states.
    """
    if type(one) is not type(other):
        return False
    match one:
        case float():
            return struct.pack("<d", one) == struct.pack("<d", other)
        case Word():
            return str.__eq__(one, other) and one.opening == other.opening
        case dict():
            return _same_fields(one, other)
        case Dense():
            return one.body == other.body and same(one.type, other.type)
        case Operation():
            return _same_operations(one, other)
        case Function():
            return _same_parts(one[:5], other[:5])
        case Packed():
            return one.element == other.element and _same_parts(one, other)
        case tuple():
            return _same_parts(one, other)
        case _:
            return bool(one == other)


def _same_parts(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return len(one) == len(other) and all(map(same, one, other))


def _same_fields(one: dict[str, Any], other: dict[str, Any]) -> bool:
    if isinstance(one, Record) and isinstance(other, Record) and one.opening != other.opening:
        return False
    return one.keys() == other.keys() and all(same(part, other[key]) for key, part in one.items())


def _same_operations(one: Operation, other: Operation) -> bool:
    unsaid = one.operand_types is None or other.operand_types is None
    return (
        one.name == other.name
        and one.results == other.results
        and one.operands == other.operands
        and same(one.attributes, other.attributes)
        and same(one.regions, other.regions)
        and (unsaid or one.operand_types == other.operand_types)
        and one.result_types == other.result_types
        and one.successors == other.successors
    )
