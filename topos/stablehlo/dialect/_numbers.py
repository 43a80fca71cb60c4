"""Numbers among an operation's attributes: counts, axes and tables of integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from topos.stablehlo.ir import UNIT, Record
from topos.stablehlo.opview import OpView, Table

__all__ = [
    "Table",
    "ascending",
    "axes_below",
    "below",
    "counted",
    "distinct",
    "integer_field",
    "marked",
    "named_fields",
]


def marked(claim: OpView, key: str) -> bool:
    """Returns whether an attribute that has no value is there."""
    value = claim.operation.attributes.get(key)
    if value not in (None, UNIT):
        claim.refuse(f"needs no value for {key}, got {value}")
    return value is not None


def named_fields(claim: OpView, key: str, opening: str, known: Sequence[str]) -> Mapping[str, Any]:
    """Returns an attribute of named fields written as `opening ...>`, all of known names."""
    value = claim.operation.attributes.get(key)
    if not isinstance(value, Record) or value.opening.strip() != opening:
        claim.refuse(f"needs {opening}...> as {key}, got {value}")
    strange = [name for name in value if name not in known]
    if strange:
        claim.refuse(f"knows no {strange[0]} in {key}")
    return value


def integer_field(claim: OpView, fields: Mapping[str, Any], name: str) -> int:
    """Returns an integer field, which is zero where it is not written."""
    value = fields.get(name, 0)
    if type(value) is not int:
        claim.refuse(f"needs an integer as {name}, got {value}")
    return int(value)


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


def axes_below(claim: OpView, axes: Sequence[int], rank: int, what: str) -> None:
    """Refuses unless each of `axes` is one of a value of `rank`."""
    for axis in axes:
        if not 0 <= axis < rank:
            claim.refuse(f"needs {what} from 0 to below {rank}, got {axis}")


def distinct(claim: OpView, axes: Sequence[int], what: str) -> None:
    """Refuses where an axis is there twice."""
    if len(set(axes)) != len(axes):
        claim.refuse(f"needs distinct {what}, got {list(axes)}")


def ascending(claim: OpView, axes: Sequence[int], what: str) -> None:
    """Refuses unless `axes` are in ascending order; equal ones may follow each other."""
    if list(axes) != sorted(axes):
        claim.refuse(f"needs ascending {what}, got {list(axes)}")
