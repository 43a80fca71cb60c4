"""The text of a specialized module, whose faults are told at the text that it was made from."""

from __future__ import annotations

from contextlib import suppress
from typing import Self

from topos.errors import DerivedText, TextError
from topos.stablehlo.ir import Module
from topos.stablehlo.parsed import TokenError
from topos.stablehlo.parser.parse import parse
from topos.stablehlo.printer import printed
from topos.stablehlo.walks import walked

Place = tuple[int, int]


class SpecializedText(DerivedText):
    """A specialized module as printed; its operations have the places of the text it is from."""

    __slots__ = ("_module", "_source")

    _module: Module
    _source: str

    def __new__(cls, module: Module, source: str) -> Self:
        """Returns the text of a module that was read from `source`."""
        text = super().__new__(cls, printed(module))
        text._module, text._source = module, source
        return text

    def origin(self, line: int, column: int) -> tuple[str, int, int]:
        """Returns the source, with the place there of what stands at a place of this text."""
        places = self._places()
        return (self._source, *places.get((line, column), places.get((line, 0), (0, 0))))

    def _places(self) -> dict[Place, Place]:
        """Returns the places of the source by those here; a line alone has its first operation."""
        places: dict[Place, Place] = {}
        # A text that is no module after all has no places.
        with suppress(TextError, TokenError, RecursionError):
            for one, other in zip(self._module.functions, parse(self).functions, strict=True):
                pairs = [(one.line, one.column, other.line, other.column)]
                if one.body is not None and other.body is not None:
                    both = zip(walked(one.body), walked(other.body), strict=True)
                    pairs += [(a.line, a.column, b.line, b.column) for a, b in both]
                for line, column, here, at in pairs:
                    places[here, at] = (line, column)
                    places.setdefault((here, 0), (line, column))
        return places
