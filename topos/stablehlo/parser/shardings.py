"""Reading of the forms that shardings are written in, kept as they are: one function each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lark import Token

from topos.stablehlo.ir import (
    Attributes,
    Opaque,
    Operation,
    OtherType,
    Parameter,
    Region,
    Typed,
)
from topos.stablehlo.parsed import ParsedOperation, Types
from topos.stablehlo.parser.forms import headed
from topos.stablehlo.parser.spelling import parsed_of
from topos.stablehlo.parser.tokens import integer, string, symbol
from topos.stablehlo.token_error import TokenError

__all__ = ["DIRECTIONS", "KINDS", "LEADING", "RULES", "SHARDED", "STATED", "opening"]

Parameters = tuple[Parameter, ...]
Stated = tuple[Token, Token]

# What an annotation says before its operand, without a key.
LEADING: Final[Mapping[str, str]] = {
    "sdy.all_gather": "gathering_axes",
    "sdy.all_reduce": "reduction_axes",
    "sdy.all_slice": "slicing_axes",
    "sdy.all_to_all": "params",
    "sdy.reduce_scatter": "reduce_scatter_axes",
    "sdy.replicated_to_unreduced": "axes",
    "sdy.sharded_to_unreduced": "axes",
}
# The annotations that say their sharding after their operand, without a key.
SHARDED: Final = frozenset({"sdy.reshard", "sdy.sharding_constraint"})
# What one says after its operands as `key=...`, in this order.
STATED: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys((*LEADING, "sdy.collective_permute"), ("out_sharding",)),
    "sdy.data_flow_edge": ("sharding",),
    "sdy.func_data_flow_edge": (),
    "sdy.manual_computation": ("in_shardings", "out_shardings", "manual_axes"),
    "sdy.named_computation": ("in_shardings", "out_shardings"),
    "sdy.propagation_barrier": ("allowed_direction",),
    "sdy.sharding_group": ("group_id",),
}
# What each of these attributes is, whose pretty form leaves it to be understood.
KINDS: Final[Mapping[str, str]] = {
    "sdy.all_to_all": "all_to_all_param_list",
    "sdy.all_reduce": "axis_ref_list",
    "sdy.replicated_to_unreduced": "axis_ref_list",
    "in_shardings": "sharding_per_value",
    "manual_axes": "manual_axes",
    "mesh": "mesh",
    "out_sharding": "sharding",
    "out_shardings": "sharding_per_value",
    "sharding": "sharding",
}
DIRECTIONS: Final = ("NONE", "FORWARD", "BACKWARD")
_LISTS: Final = "list_of_axis_ref_lists"


def opening(name: str, key: str) -> tuple[str, str]:
    """Returns what stands around the pretty form of the attribute `key` of the operation `name`."""
    kind = KINDS.get(name if LEADING.get(name) == key else key, _LISTS)
    match kind:
        case "mesh" | "sharding":
            return f"#sdy.{kind}", ""
        case "sharding_per_value":
            return f"#sdy.{kind}<", ">"
    return f"#sdy<{kind}", ">"


def _attribute(name: Token, key: str, value: Token) -> Any:
    """Returns the attribute that `value` spells in short, or in full behind a `#`."""
    if value.type in ("ALIAS", "OPAQUE_ATTRIBUTE"):
        return Opaque(value.value)
    if key == "group_id" and value.type == "INTEGER":
        return integer(value)
    if key == "allowed_direction" and value.value in DIRECTIONS:
        return Typed(DIRECTIONS.index(value.value), OtherType("i32"))
    if value.type in ("INTEGER", "WORD"):
        raise TokenError(f"{name.value} is not written with {key}={value.value}", name)
    before, after = opening(name.value, key)
    return Opaque(f"{before}{value.value}{after}")


def _declaration(
    keyword: Token,
    name: Token,
    value: Token,
    attributes: Attributes | None,
    location: str | None,
) -> Operation:
    kind = keyword.value.rpartition(".")[2]
    stated = {
        "sym_name": str(symbol(name)),
        kind: _attribute(keyword, kind, value),
        **(attributes or {}),
    }
    line, column = keyword.line or 0, keyword.column or 0
    return Operation(keyword.value, (), (), stated, (), (), (), line, column, location or "")


def _sharding(key: Token, value: Token) -> Stated:
    return key, value


def _annotated(
    name: Token,
    leading: Token | None,
    operand: Token,
    following: Token | Stated | None,
    attributes: Attributes | None,
    types: Types,
) -> ParsedOperation:
    said: dict[str, Token] = {}
    sharded: dict[str, Any] = {}
    if leading is not None:
        said[LEADING.get(name.value, "")] = leading
    if isinstance(following, tuple):
        said[following[0].value] = following[1]
    elif following is not None and name.value in SHARDED:
        sharded = {"sharding": _attribute(name, "sharding", following)}
    elif following is not None:
        said[""] = following
    merged = {**_stated(name, said), **sharded, **(attributes or {})}
    return parsed_of(name, (operand,), merged, types)


def _stated(name: Token, said: Mapping[str, Token]) -> dict[str, Any]:
    """Returns what an annotation says, all of which must be its own."""
    known = (LEADING.get(name.value), *STATED.get(name.value, ()))
    for key in said:
        if not key or key not in known:
            described = f"{key}=..." if key else "axes or a sharding there"
            raise TokenError(f"{name.value} is not written with {described}", name)
    return {key: _attribute(name, key, value) for key, value in said.items()}


def _manual(
    name: Token,
    called: Token | None,
    uses: tuple[str, ...] | None,
    stated: tuple[Stated, ...],
    arguments: Parameters | None,
    region: Region,
    attributes: Attributes | None,
    types: Types,
) -> ParsedOperation:
    merged = _stated(name, {key.value: value for key, value in stated})
    if called is not None:
        merged = {"name": _quoted(name, called), **merged}
    merged |= attributes or {}
    regions = (headed(region, arguments or ()),)
    return ParsedOperation(name, uses or (), (), merged, regions, types)


def _quoted(name: Token, called: Token) -> str:
    text = called.value[1:-1].strip()
    if name.value != "sdy.named_computation" or len(text) < 2 or {text[0], text[-1]} != {'"'}:
        raise TokenError(f"{name.value} is not written with {called.value}", name)
    return string(called.update(value=text))


def _shardings(*stated: Stated) -> tuple[Stated, ...]:
    return stated


RULES: Final[Mapping[str, Callable[..., Any]]] = {
    "annotated": _annotated,
    "declaration": _declaration,
    "manual": _manual,
    "sharding": _sharding,
    "shardings": _shardings,
}
