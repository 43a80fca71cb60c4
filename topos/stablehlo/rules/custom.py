"""Rules of operations that the text gives its own name: custom calls and composites."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from topos.stablehlo.dialect._attributes import demand_width, text
from topos.stablehlo.elements import ANY
from topos.stablehlo.ir import Dense, Symbol, Tensor, TupleType, Type, Unranked
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.rules.control import demand_signature
from topos.stablehlo.shapes import agree

__all__ = ["RULES"]

_LAYOUTS: Final = ("operand_layouts", "result_layouts")
_NAME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*(\.[a-zA-Z0-9_$]+)+")
_VERSIONS: Final = range(5)
# The version whose backend configuration is a dictionary; the ones before take a string.
_TYPED: Final = 4


def _custom_call(claim: OpView) -> None:
    claim.word("call_target_name")
    claim.truth("has_side_effect", False)
    for type in (*claim.operands, *claim.results):
        if isinstance(type, (Tensor, Unranked)) and type.element not in ANY:
            claim.refuse(f"takes no elements of {type.element}")
    _demand_backend(claim)
    called = claim.optional("called_computations") or ()
    if not isinstance(called, tuple) or not all(isinstance(name, Symbol) for name in called):
        claim.refuse(f"needs functions as called_computations, got {called}")
    for name in called:
        if name not in claim.functions:
            claim.refuse(f"needs a function, got @{name} among its called_computations")
    stated = [key in claim.operation.attributes for key in _LAYOUTS]
    if stated[0] != stated[1]:
        claim.refuse("needs layouts of both its operands and its results, or of neither")
    if stated[0]:
        _demand_layouts(claim, claim.operands, "operand")
        _demand_layouts(claim, _parts(claim.results), "result")
    for alias in claim.optional("output_operand_aliases") or ():
        _demand_alias(claim, alias)


def _parts(results: tuple[Type, ...]) -> tuple[Type, ...]:
    match results:
        case (TupleType(parts),):
            return parts
    return results


def _demand_backend(claim: OpView) -> None:
    demand_width(claim, "api_version", "i32")
    version = claim.integer("api_version", 1)
    if version not in _VERSIONS:
        claim.refuse(f"needs an api_version below {len(_VERSIONS)}, got {version}")
    config = claim.optional("backend_config")
    if config is None:
        return
    needed, noun = (dict, "dictionary") if version == _TYPED else (str, "string")
    if not isinstance(config, needed):
        claim.refuse(f"needs a {noun} as backend_config of api_version {version}, got {config}")


def _demand_layouts(claim: OpView, types: tuple[Type, ...], what: str) -> None:
    layouts = claim.attribute(f"{what}_layouts")
    if not isinstance(layouts, tuple) or len(layouts) != len(types):
        got = len(layouts) if isinstance(layouts, tuple) else layouts
        claim.refuse(f"needs {len(types)} {what}_layouts, got {got}")
    for type, layout in zip(types, layouts, strict=True):
        order = claim.integers_of(_of_integers(layout), f"{what}_layouts")
        _demand_layout(claim, type, order)


def _demand_layout(claim: OpView, type: Type, order: tuple[int, ...]) -> None:
    rank = 0
    match type:
        case TupleType():
            claim.refuse(f"takes no layout of a tuple, got {type}")
        case Unranked():
            return
        case Tensor(shape):
            rank = len(shape)
    if sorted(order) != list(range(rank)):
        claim.refuse(f"needs a layout of the {rank} axes of {type}, got {list(order)}")


def _of_integers(layout: Any) -> Any:
    """Returns a layout, whose element is `index`, as one that can be decoded."""
    match layout:
        case Dense(body, Tensor() as type, line, column):
            return Dense(body, type._replace(element="i64"), line, column)
    return layout


def _demand_alias(claim: OpView, alias: Any) -> None:
    """Refuses an alias whose two ends are not there or are of different types."""
    if not isinstance(alias, dict):
        claim.refuse(f"needs named fields as output_operand_aliases, got {alias}")
    index = alias.get("operand_index", -1)
    if type(index) is not int or not 0 <= index < len(claim.operands):
        claim.refuse(f"needs an operand_index below {len(claim.operands)}, got {index}")
    results = claim.results
    whole = results[0] if len(results) == 1 else TupleType(results)
    source = _part(claim, claim.operands[index], alias, "operand_tuple_indices")
    target = _part(claim, whole, alias, "output_tuple_indices")
    if not agree(source, target):
        claim.refuse(f"needs an alias between values of one type, got {source} and {target}")


def _part(claim: OpView, type: Type, alias: dict[str, Any], key: str) -> Type:
    part = type
    for index in claim.integers_of(alias.get(key, ()), key):
        if not isinstance(part, TupleType) or not 0 <= index < len(part.parts):
            claim.refuse(f"needs {key} that lie in {type}, got {list(alias[key])}")
        part = part.parts[index]
    return part


def _composite(claim: OpView) -> None:
    name = text(claim, "name")
    if not _NAME.fullmatch(name):
        claim.refuse(f"needs a name with a namespace, such as space.name, got {name!r}")
    attributes = claim.optional("composite_attributes")
    if attributes is not None and not isinstance(attributes, dict):
        claim.refuse(f"needs named fields as composite_attributes, got {attributes}")
    demand_width(claim, "version", "i32")
    demand_signature(claim, "decomposition")


RULES: Final[Mapping[str, Rule]] = {
    "stablehlo.composite": _composite,
    "stablehlo.custom_call": _custom_call,
}
