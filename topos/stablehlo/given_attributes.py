"""Attributes as people give them: plain Python values, made those of the tree."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from topos.errors import ArgumentError
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import find
from topos.stablehlo.ir import Operation
from topos.stablehlo.typed_attributes import Attribute

__all__ = ["of_python", "with_attributes_of_the_tree"]

# No attribute of the tree is of these very classes, but for lists of other attributes.
_PLAIN: Final = (tuple, list, str, dict, np.ndarray)


def of_python(definition: type[Definition], attribute: Attribute[Any], value: Any) -> Any:
    """Returns the attribute of the tree that `value` stands for, or `None` where it is left out.

    Raises `ArgumentError` where it stands for none.
    """
    try:
        return attribute.made(value)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        name = definition.operation_name
        reason = f"{name} cannot take {value!r} as {attribute.name}: {error}"
        raise ArgumentError(reason) from None


def with_attributes_of_the_tree(operation: Operation) -> Operation:
    """Returns an operation whose declared attributes may have been plain Python values."""
    definition = find(operation.name)
    if definition is None:
        return operation
    made = {
        attribute.key: of_python(definition, attribute, operation.attributes[attribute.key])
        for attribute in definition.declared_attributes
        if type(operation.attributes.get(attribute.key)) in _PLAIN
    }
    return operation._replace(attributes={**operation.attributes, **made}) if made else operation
