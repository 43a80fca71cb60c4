"""Locations: where the source of an operation stands, by the aliases at the end of a text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Self

from topos.engine import Plan
from topos.errors import ToposError
from topos.stablehlo.forms import text_of

ALIAS: Final = re.compile(r"^(#\w+) = loc\((.*)\)$", re.MULTILINE)
NAME: Final = re.compile(r"#loc\d*\b")
# The names of a location, which are operations and functions, and its places in files.
NAMED: Final = re.compile(r'"([^"]+)"(?!:\d)')
PLACED: Final = re.compile(r'"([^"]+)":(\d+)')
# An alias may lead to others, and in a wrong text to itself.
DEEPEST: Final = 16


class Locations:
    """The aliases of a text, which printed modules have at their end."""

    def __init__(self, text: str) -> None:
        self._aliases: Mapping[str, str] = dict(ALIAS.findall(text))

    @classmethod
    def of(cls, subject: Any) -> Self:
        """Returns those of a module in any form; a plan and a bundle have none."""
        if isinstance(subject, Plan) or hasattr(subject, "programs"):
            return cls("")
        try:
            return cls(text_of(subject))
        # Whoever reads the module says what is wrong with it.
        except ToposError:
            return cls("")

    def resolved(self, location: str) -> str:
        """Returns a location with what its aliases stand for."""
        for _ in range(DEEPEST):
            told = NAME.sub(lambda match: self._aliases.get(match[0], match[0]), location)
            if told == location:
                break
            location = told
        return location


def brief(location: str) -> str:
    """Returns the first name and the first line of a location, which may be a stack of calls."""
    name, place = NAMED.search(location), PLACED.search(location)
    told = [*([name[1]] if name else []), *([f"{place[1]}:{place[2]}"] if place else [])]
    return " at ".join(told) or location
