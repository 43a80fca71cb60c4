"""Types, attributes and operations as people give them, in plain Python, made those of the tree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from operator import index
from reprlib import Repr
from typing import Any, Final, NoReturn

import numpy as np

from topos.errors import ArgumentError, ElementError, ToposError
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import find
from topos.stablehlo.ir import (
    Attributes,
    Block,
    Operation,
    OtherType,
    Parameter,
    Region,
    Tensor,
    TupleType,
    Type,
    Unranked,
)
from topos.stablehlo.parser.tokens import tensor_of
from topos.stablehlo.readable import demand_readable_type, readable
from topos.stablehlo.typed_attributes import Attribute
from topos.stablehlo.types import ELEMENTS, EXISTING, TOKEN, element_of
from topos.stablehlo.verifier import demand_wellformed

TYPES: Final = (Tensor, Unranked, TupleType, OtherType)
# What reading a value raises that is none of a wanted form.
_MISFITS: Final = (
    *(ToposError, AttributeError, LookupError, OverflowError, RecursionError, TypeError),
    ValueError,
)
# No attribute of the tree is of these very classes, but for lists of other attributes.
_PLAIN: Final = (tuple, list, str, dict, np.ndarray)
_VALUE: Final = re.compile(r"%(?:[0-9]+|[A-Za-z_$.-][\w$.-]*)(?:#[0-9]+)?", re.ASCII)
# A result may have no name.
_RESULT: Final = re.compile(rf"(?:{_VALUE.pattern})?", re.ASCII)
_BLOCK: Final = re.compile(r"\^[\w$.-]+", re.ASCII)


def type_of(type: Any, element: str = "") -> Type:
    """Returns the type that `type` is, spells, or has as an array; a shape needs its `element`.

    Raises what the verifier would where no value has such a type.
    """
    made = _read(type, element)
    demand_wellformed(made, 0, 0)
    return made


def _read(type: Any, element: str) -> Type:
    match type:
        case Tensor(tuple() as shape, str(name), encoding):
            return Tensor(tuple(map(_extent, shape)), name, encoding)
        case Unranked() | TupleType() | OtherType():
            demand_readable_type(type)
            return type
        case str() if type.startswith("tensor<") and type.endswith(">"):
            return tensor_of(type)
        case str() if type == "token":
            return TOKEN
        case str() if type in ELEMENTS:
            return Tensor((), type)
        case tuple() | list() if not isinstance(element, str) or element:
            return Tensor(tuple(map(_extent, type)), element_name(element))
        case ((tuple() | list()) as shape, str(name)):
            return _read(shape, name)
        case _ if hasattr(type, "shape") and hasattr(type, "dtype"):
            return Tensor(tuple(map(int, type.shape)), element_name(element or type.dtype))
    raise ArgumentError(
        "a type is spelled as in 'tensor<2x3xf32>', or is a shape with its element beside it, "
        f"such as (2, 3), 'f32'; got {type!r}"
    )


def element_name(element: Any) -> str:
    """Returns the name of the elements that `element` is, or is the dtype of."""
    if isinstance(element, str) and element in ELEMENTS:
        return element
    try:
        return element_of(np.dtype(element))
    # numpy looks for a name among those of its own and reads it as a list of fields.
    except (SyntaxError, TypeError, ValueError):
        raise ElementError(f"no tensor has elements of {element!r}; {EXISTING}") from None


def _extent(value: Any) -> int | None:
    """Returns an extent; `None` is a dynamic one."""
    if value is None:
        return None
    try:
        extent = -1 if isinstance(value, bool) else index(value)
    except TypeError:
        extent = -1
    if not 0 <= extent < 1 << 63:
        raise ArgumentError(f"an extent is an integer of 0 or more, or None, got {value!r}")
    return extent


class _Shown(Repr):
    """What a refusal shows of a value: all of it, unless it is far from any that is right."""

    def __init__(self) -> None:
        super().__init__()
        self.maxtuple = self.maxlist = self.maxdict = 16
        self.maxstring = self.maxother = 120


def of_python(definition: type[Definition], attribute: Attribute[Any], value: Any) -> Any:
    """Returns the attribute of the tree that `value` stands for, or `None` where it is left out.

    Raises `ArgumentError` where it stands for none that the text of a module can say.
    """
    name, key = definition.operation_name, attribute.key
    try:
        made = attribute.made(value)
        return None if made is None else readable(name, {key: made})[key]
    except _MISFITS:
        # What Python says of it tells of the code that read it, and not of the attribute.
        needs = f"needs {attribute.takes} as {attribute.name}, such as {attribute.example}"
        raise ArgumentError(f"{name} {needs}, got {_Shown().repr(value)}") from None


def attributes_of_the_tree(name: str, attributes: Attributes) -> Attributes:
    """Returns attributes of the operation `name`, those it declares perhaps plain Python values.

    Raises `ArgumentError` where one stands for nothing that the text of a module can say.
    """
    definition = find(name) or Definition
    made = {
        attribute.key: of_python(definition, attribute, attributes[attribute.key])
        for attribute in definition.declared_attributes
        if type(attributes.get(attribute.key)) in _PLAIN
    }
    return readable(name, {**attributes, **made})


def operation_of_the_tree(operation: Operation, known: Operation | None = None) -> Operation:
    """Returns an operation whose attributes may be plain Python values, and its lists tuples.

    The parts that it shares with `known` are taken as they are. Raises `ArgumentError` at the first
    other one whose text would not read back as it.
    """
    if not isinstance(operation.name, str):
        raise ArgumentError(f"an operation's name is text, got {operation.name!r}")
    given = _Given(operation)
    made = {
        part: read(given)
        for part, read in _PARTS.items()
        if known is None or getattr(operation, part) is not getattr(known, part)
    }
    return operation._replace(**made)


class _Given:
    """The parts of an operation, each refused where it is no such thing."""

    def __init__(self, operation: Operation) -> None:
        self._operation = operation

    def attributes(self) -> Attributes:
        name, attributes = self._operation.name, self._operation.attributes
        if not isinstance(attributes, Mapping):
            self._refuse("attributes", "a dictionary", attributes)
        return attributes_of_the_tree(name, attributes)

    def names(self, part: str, pattern: re.Pattern[str], example: str) -> tuple[str, ...]:
        names = self._listed(part)
        for name in names:
            if not isinstance(name, str) or not pattern.fullmatch(name):
                self._refuse(part, f"names such as {example}", name)
        return names

    def results(self) -> tuple[str, ...]:
        names = self.names("results", _RESULT, "%0")
        counts = Counter([name.partition("#")[0] for name in names if "#" in name])
        numbered = [f"{base}#{place}" for base, count in counts.items() for place in range(count)]
        if 1 in counts.values() or numbered != [name for name in names if "#" in name]:
            self._refuse("results", "names that count from %0#0 on, two or more", names)
        return names

    def types(self, part: str) -> tuple[Any, ...] | None:
        if part == "operand_types" and self._operation.operand_types is None:
            return None
        types = self._listed(part)
        for type in types:
            if not isinstance(type, TYPES):
                self._refuse(part, "types such as Tensor((2,), 'f32')", type)
            demand_readable_type(type)
        return types

    def regions(self) -> tuple[Region, ...]:
        return tuple([self._region(each) for each in self._listed("regions")])

    def number(self, part: str) -> int:
        value = getattr(self._operation, part)
        if type(value) is not int:
            self._refuse(part, "a number", value)
        return value

    def _region(self, region: Any) -> Region:
        blocks = getattr(region, "blocks", None)
        if not isinstance(region, Region) or not _are(blocks, Block):
            self._refuse("regions", "regions of blocks", region)
        made: list[Block] = []
        for block in region.blocks:
            if not _are(block.arguments, Parameter) or not _are(block.operations, Operation):
                self._refuse("regions", "blocks of operations", block)
            operations = tuple([operation_of_the_tree(each) for each in block.operations])
            made.append(block._replace(arguments=tuple(block.arguments), operations=operations))
        return Region(tuple(made))

    def _listed(self, part: str) -> tuple[Any, ...]:
        value = getattr(self._operation, part)
        if not isinstance(value, (list, tuple)):
            self._refuse(part, "a tuple", value)
        return tuple(value)

    def _refuse(self, part: str, needs: str, got: object) -> NoReturn:
        raise ArgumentError(f"{self._operation.name} needs {needs} as its {part}, got {got!r}")


_PARTS: Final[Mapping[str, Callable[[_Given], Any]]] = {
    "attributes": _Given.attributes,
    "results": _Given.results,
    "operands": lambda given: given.names("operands", _VALUE, "%0"),
    "successors": lambda given: given.names("successors", _BLOCK, "^bb1"),
    "operand_types": lambda given: given.types("operand_types"),
    "result_types": lambda given: given.types("result_types"),
    "regions": _Given.regions,
    "line": lambda given: given.number("line"),
    "column": lambda given: given.number("column"),
}


def _are(values: Any, kind: type) -> bool:
    return isinstance(values, (list, tuple)) and all(isinstance(each, kind) for each in values)
