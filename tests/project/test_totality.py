"""Each interpretation covers the whole vocabulary, and each error has its public name."""

from __future__ import annotations

import inspect
from types import FunctionType

import pytest

from topos import errors
from topos.emit import lower
from topos.emit.stablehlo import ARGUMENTS
from topos.op import OPERATIONS, Convert, Operation, Source


def test_emission_has_a_rule_for_every_operation_but_the_arguments() -> None:
    assert lower.missing(OPERATIONS) == list(ARGUMENTS)


def test_the_vocabulary_lists_every_operation_once() -> None:
    defined = {
        kind
        for kind in subclasses(Operation)
        if kind.__module__.startswith("topos.op.") and kind is not Source
    }
    assert len(set(OPERATIONS)) == len(OPERATIONS)
    assert set(OPERATIONS) == defined


@pytest.mark.parametrize("kind", OPERATIONS, ids=lambda kind: kind.__name__)
def test_an_operation_has_a_name_an_arity_a_docstring_and_its_rules(
    kind: type[Operation],
) -> None:
    assert kind.name
    assert kind.arity is None or kind.arity >= 0
    assert kind.__doc__
    assert kind.__doc__ != Operation.__doc__
    assert isinstance(kind.backward, FunctionType)
    assert kind.backward is not Operation.backward
    # Data moves by a rule of the operation, numbers are computed by the element's arithmetic.
    named = kind.computed_by or kind.function_name is not Operation.function_name
    moves = kind.compute is not Operation.compute
    assert [bool(named), moves, kind is Convert].count(True) == 1


def test_every_operation_has_a_name_of_its_own() -> None:
    assert len({kind.name for kind in OPERATIONS}) == len(OPERATIONS)


def test_every_error_is_exported_documented_and_of_the_one_hierarchy() -> None:
    defined = {
        name
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if kind.__module__ == errors.__name__ and issubclass(kind, BaseException)
    }
    assert defined == set(errors.__all__)
    for name in errors.__all__:
        assert issubclass(getattr(errors, name), errors.ToposError)
        assert getattr(errors, name).__doc__


def subclasses(kind: type[Operation]) -> set[type[Operation]]:
    """Returns every class below `kind`."""
    direct = kind.__subclasses__()
    return {*direct, *(deeper for each in direct for deeper in subclasses(each))}
