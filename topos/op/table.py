"""A named interpretation of the vocabulary: one rule an operation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from topos.op.operation import Operation

P = ParamSpec("P")
T = TypeVar("T")
Kind = TypeVar("Kind", bound=Operation)


class Table(Generic[P, T]):
    """A map from operation classes to rules, filled by decorator and checked for totality."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._rules: dict[type[Operation], Callable[Concatenate[Any, P], T]] = {}

    def rule(
        self, kind: type[Kind]
    ) -> Callable[[Callable[Concatenate[Kind, P], T]], Callable[Concatenate[Kind, P], T]]:
        """Registers the decorated function as the rule of `kind`."""

        def register(
            function: Callable[Concatenate[Kind, P], T],
        ) -> Callable[Concatenate[Kind, P], T]:
            if kind in self._rules:
                raise TypeError(f"{self.name} already has a rule for {kind.__name__}")
            self._rules[kind] = function
            return function

        return register

    def __call__(self, operation: Operation, *args: P.args, **kwargs: P.kwargs) -> T:
        """Returns what the rule of `operation` returns; raises `KeyError` where there is none."""
        return self._rules[type(operation)](operation, *args, **kwargs)

    def missing(self, kinds: Iterable[type[Operation]]) -> list[type[Operation]]:
        """Returns the kinds this table does not interpret."""
        return [kind for kind in kinds if kind not in self._rules]
