"""Attributes as people give them: plain Python values, made those of the tree."""

from __future__ import annotations

from reprlib import Repr
from typing import Any, Final

import numpy as np

from topos.errors import ArgumentError, ToposError
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import find
from topos.stablehlo.ir import Attributes
from topos.stablehlo.readable import readable
from topos.stablehlo.typed_attributes import Attribute

__all__ = ["attributes_of_the_tree", "of_python"]

# What reading a value raises that is none of a wanted form.
_MISFITS: Final = (
    *(ToposError, AttributeError, LookupError, OverflowError, RecursionError, TypeError),
    ValueError,
)
# No attribute of the tree is of these very classes, but for lists of other attributes.
_PLAIN: Final = (tuple, list, str, dict, np.ndarray)


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
