"""A parsed operation: what was written of it, on the way to its generic form."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from topos.stablehlo.ir import Attributes, Region, Type
from topos.stablehlo.token_error import TokenError

if TYPE_CHECKING:
    from lark import Token

__all__ = ["Group", "ParsedOperation", "Said", "Types"]

# A name and how many results it stands for.
Group = tuple[str, int]


class Types(NamedTuple):
    """The types after an operation's colon; `operands` is `None` where there was no arrow."""

    operands: tuple[Type, ...] | None
    results: tuple[Type, ...]


class Said(NamedTuple):
    """What a form of Shardy says with a key as `key=value`, or by its place alone.

    `leads` tells whether it stands before the operands. `value` is a number, a word, an attribute
    in full, or the spelling of one in brackets.
    """

    key: str
    value: Any
    leads: bool = False

    @property
    def shown(self) -> str:
        """How a refusal calls it."""
        return f"{self.key}=..." if self.key else "axes or a sharding there"


class ParsedOperation(NamedTuple):
    """An operation as it was written, with its attributes called by their generic names.

    `words` are the bare words, ranges and constants among its operands that still have none.
    """

    name: Token
    operands: tuple[str, ...] = ()
    words: tuple[Any, ...] = ()
    attributes: Attributes = MappingProxyType({})
    regions: tuple[Region, ...] = ()
    types: Types = Types(None, ())
    successors: tuple[str, ...] = ()

    def spelled(self, attributes: Attributes) -> ParsedOperation:
        """Returns the operation with its words understood, as these `attributes`."""
        return self._replace(words=(), attributes={**self.attributes, **attributes})

    def misread(self, form: str) -> TokenError:
        """Returns the error of an operation that is not written with `form`."""
        return TokenError(f"{self.name.value} is written with {form}", self.name)
