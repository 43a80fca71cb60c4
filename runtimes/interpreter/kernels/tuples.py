"""Tuples and tokens: values that are no tensors, and what needs a second process to mean anything.

A tuple is a Python tuple of its parts' values, a token the empty one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from topos.runtimes.interpreter.context import BuildContext, Builder
from topos.runtimes.interpreter.program import Kernel

__all__ = ["BUILDERS"]


def _tuple(context: BuildContext) -> Kernel:
    return _together


def _together(*values: Any) -> tuple[Any, ...]:
    return values


def _get_tuple_element(context: BuildContext) -> Kernel:
    return partial(_element, context.integer("index"))


def _element(index: int, value: tuple[Any, ...]) -> Any:
    return value[index]


def _token(context: BuildContext) -> Kernel:
    return _nothing


def _nothing(*tokens: tuple[()]) -> tuple[()]:
    return ()


def _foreign(context: BuildContext) -> Kernel:
    context.unsupported("exchanges values with another process, and this one runs alone")


BUILDERS: Final[Mapping[str, Builder]] = {
    "stablehlo.after_all": _token,
    "stablehlo.create_token": _token,
    "stablehlo.get_tuple_element": _get_tuple_element,
    "stablehlo.infeed": _foreign,
    "stablehlo.outfeed": _foreign,
    "stablehlo.recv": _foreign,
    "stablehlo.send": _foreign,
    "stablehlo.tuple": _tuple,
}
