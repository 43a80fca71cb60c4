"""Attributes that are one of a few words, as texts of any age spell them."""

from __future__ import annotations

from collections.abc import Collection

from topos.stablehlo.opview import OpView
from topos.stablehlo.typed_attributes import Choice

__all__ = ["Spoken"]


class Spoken(Choice):
    """A choice that may stand without its opening; `what` is how a refusal calls it."""

    def __init__(
        self, what: str, opening: str, words: Collection[str], *, default: str | None = None
    ) -> None:
        super().__init__(opening, words, default=default)
        self._what = what

    def read(self, view: OpView) -> str:
        """Returns the word."""
        value = view.word(self.key, self._default)
        if value not in self.words:
            view.refuse(f"needs {self._what} of {' '.join(self.words)}, got {value}")
        return value
