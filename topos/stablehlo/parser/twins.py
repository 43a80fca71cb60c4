"""Operations of MHLO, read as those of StableHLO or CHLO that are the same under another name."""

from __future__ import annotations

from typing import Any, Final

from topos.stablehlo.dense import decoded
from topos.stablehlo.dialect import find, has
from topos.stablehlo.ir import Attributes, Dense, Packed, Tensor
from topos.stablehlo.traits import Trait
from topos.stablehlo.typed_attributes import Axes, Truths

__all__ = ["MHLO", "as_arrays", "foreign", "twin"]

MHLO: Final = "mhlo."


def twin(name: str) -> str:
    """Returns the name that an operation of MHLO has in StableHLO or CHLO; any other is its own."""
    kind = name.removeprefix(MHLO)
    if kind == name:
        return name
    if find(f"stablehlo.{kind}"):
        return f"stablehlo.{kind}"
    return f"chlo.{kind}" if has(f"chlo.{kind}", Trait.MHLO) else name


def foreign(name: str) -> str:
    """Returns why an operation of another dialect is refused."""
    if name.startswith(MHLO):
        return f"{name} has no equal in StableHLO or CHLO that it could be read as"
    return f"{name} is of a dialect that is not read"


def as_arrays(name: str, attributes: Attributes) -> dict[str, Any]:
    """Returns the attributes of the operation `name` as StableHLO has them.

    MHLO keeps lists of integers and of truth values in dense constants, each of one axis.
    """
    definition = find(name)
    declared = () if definition is None else definition.declared_attributes
    arrays = {each.key for each in declared if isinstance(each, Axes | Truths)}
    return {
        key: _array(value) if key in arrays and isinstance(value, Dense) else value
        for key, value in attributes.items()
    }


def _array(value: Dense) -> Any:
    match value.type:
        case Tensor((int(),), "i64" | "i1" as element, ""):
            return Packed(decoded(value).tolist(), element)
    return value
