"""Attributes as people give them: plain Python values, made those of the tree."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from topos.errors import ArgumentError
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import find
from topos.stablehlo.ir import Attributes
from topos.stablehlo.readable import readable
from topos.stablehlo.typed_attributes import Attribute

__all__ = ["attributes_of_the_tree", "of_python"]

# No attribute of the tree is of these very classes, but for lists of other attributes.
_PLAIN: Final = (tuple, list, str, dict, np.ndarray)


def of_python(definition: type[Definition], attribute: Attribute[Any], value: Any) -> Any:
    """Returns the attribute of the tree that `value` stands for, or `None` where it is left out.

    Raises `ArgumentError` where it stands for none.
    """
    try:
        return attribute.made(value)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        name = definition.operation_name
        reason = f"{name} cannot take {value!r} as {attribute.name}: {error}"
        raise ArgumentError(reason) from None


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
