"""Operations that the text gives a name of its own: custom calls and composites."""

from __future__ import annotations

import re
from typing import Any, Final

from topos.stablehlo.assembly import Head
from topos.stablehlo.attribute_text import referred
from topos.stablehlo.definition import Definition, define
from topos.stablehlo.dialect.calling import demand_signature, function_of
from topos.stablehlo.ir import Operation, Symbol, Tensor, TupleType, Type, Unranked
from topos.stablehlo.parsed import ParsedOperation
from topos.stablehlo.rounding import OfOperands, Within
from topos.stablehlo.shapes import agree
from topos.stablehlo.traits import Trait
from topos.stablehlo.typed_attributes import Integer, Name, String, Truth
from topos.stablehlo.types import ANY

_LAYOUTS: Final = ("operand_layouts", "result_layouts")
_NAME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*(\.[a-zA-Z0-9_$]+)+")
_VERSIONS: Final = range(5)
# The version whose backend configuration is a dictionary; the ones before take a string.
_TYPED: Final = 4


@define("stablehlo.custom_call")
class CustomCall(Definition):
    """What the runtime's own `call_target_name` makes of the operands."""

    call_target_name = String()
    has_side_effect = Truth()
    api_version = Integer(width="i32", default=1)
    assembly = "$call_target_name($operands) : functional-type"
    traits = Trait.MOVES
    # What the interpreter has is linear algebra.
    rounding = OfOperands(units=2, of_largest=0.5)

    def verify(self) -> None:
        self.word("call_target_name")
        self.truth("has_side_effect", False)
        for type in (*self.operands, *self.results):
            if isinstance(type, (Tensor, Unranked)) and type.element not in ANY:
                self.refuse(f"takes no elements of {type.element}")
        self._demand_backend()
        called = self.optional("called_computations") or ()
        if not isinstance(called, tuple) or not all(isinstance(name, Symbol) for name in called):
            self.refuse(f"needs functions as called_computations, got {called}")
        for name in called:
            if name not in self.functions:
                self.refuse(f"needs a function, got @{name} among its called_computations")
        stated = [key in self.operation.attributes for key in _LAYOUTS]
        if stated[0] != stated[1]:
            self.refuse("needs layouts of both its operands and its results, or of neither")
        if stated[0]:
            self._demand_layouts(self.operands, "operand")
            self._demand_layouts(_parts(self.results), "result")
        for alias in self.optional("output_operand_aliases") or ():
            self._demand_alias(alias)

    def infer(self) -> tuple[Type, ...]:
        """Returns the stated types: only the target knows others."""
        return self.results

    @classmethod
    def read(cls, parsed: ParsedOperation) -> ParsedOperation:
        """Returns the symbol as the target, which is no function of the module."""
        match parsed.words:
            case (Symbol() as name,):
                return parsed.spelled({"call_target_name": str(name)})
        raise parsed.misread("@name as call_target_name")

    @classmethod
    def head(cls, operation: Operation) -> Head | None:
        rest = dict(operation.attributes)
        name = rest.pop("call_target_name", None)
        if type(name) is not str or "::@" in name or not name:
            return None
        return Head(f"{referred(name)}({', '.join(operation.operands)})", rest)

    def _demand_backend(self) -> None:
        version = self.api_version
        if version not in _VERSIONS:
            self.refuse(f"needs an api_version below {len(_VERSIONS)}, got {version}")
        config = self.optional("backend_config")
        if config is None:
            return
        needed, noun = (dict, "dictionary") if version == _TYPED else (str, "string")
        if not isinstance(config, needed):
            self.refuse(f"needs a {noun} as backend_config of api_version {version}, got {config}")

    def _demand_layouts(self, types: tuple[Type, ...], what: str) -> None:
        layouts = self.attribute(f"{what}_layouts")
        if not isinstance(layouts, tuple) or len(layouts) != len(types):
            got = len(layouts) if isinstance(layouts, tuple) else layouts
            self.refuse(f"needs {len(types)} {what}_layouts, got {got}")
        for type, layout in zip(types, layouts, strict=True):
            self._demand_layout(type, self.integers_of(layout, f"{what}_layouts"))

    def _demand_layout(self, type: Type, order: tuple[int, ...]) -> None:
        rank = 0
        match type:
            case TupleType():
                self.refuse(f"takes no layout of a tuple, got {type}")
            case Unranked():
                return
            case Tensor(shape):
                rank = len(shape)
        if sorted(order) != list(range(rank)):
            self.refuse(f"needs a layout of the {rank} axes of {type}, got {list(order)}")

    def _demand_alias(self, alias: Any) -> None:
        """Refuses an alias whose two ends are not there or are of different types."""
        if not isinstance(alias, dict):
            self.refuse(f"needs named fields as output_operand_aliases, got {alias}")
        index = alias.get("operand_index", -1)
        if type(index) is not int or not 0 <= index < len(self.operands):
            self.refuse(f"needs an operand_index below {len(self.operands)}, got {index}")
        results = self.results
        whole = results[0] if len(results) == 1 else TupleType(results)
        source = self._part(self.operands[index], alias, "operand_tuple_indices")
        target = self._part(whole, alias, "output_tuple_indices")
        if not agree(source, target):
            self.refuse(f"needs an alias between values of one type, got {source} and {target}")

    def _part(self, type: Type, alias: dict[str, Any], key: str) -> Type:
        part = type
        for index in self.integers_of(alias.get(key, ()), key):
            if not isinstance(part, TupleType) or not 0 <= index < len(part.parts):
                self.refuse(f"needs {key} that lie in {type}, got {list(alias[key])}")
            part = part.parts[index]
        return part


@define("stablehlo.composite")
class Composite(Definition):
    """What the function `decomposition` makes of the operands, under a name that says what."""

    called = String("name")
    decomposition = Name()
    version = Integer(width="i32", default=0)
    assembly = "$called $operands : functional-type"
    has_regions = True
    rounding = Within()
    calls = "decomposition"

    def verify(self) -> None:
        if not _NAME.fullmatch(self.called):
            self.refuse(f"needs a name with a namespace, such as space.name, got {self.called!r}")
        attributes = self.optional("composite_attributes")
        if attributes is not None and not isinstance(attributes, dict):
            self.refuse(f"needs named fields as composite_attributes, got {attributes}")
        _ = self.version
        demand_signature(self, self.decomposition)

    def infer(self) -> tuple[Type, ...]:
        return tuple([result.type for result in function_of(self, self.decomposition).results])


def _parts(results: tuple[Type, ...]) -> tuple[Type, ...]:
    match results:
        case (TupleType(parts),):
            return parts
    return results
