"""The size of a head: the bytes of the pieces that it arrives in, and of nothing before it."""

from __future__ import annotations

from typing import Final

__all__ = ["HeadSize"]

# Method, version and line ends, which are no part of what a limit is for.
_SPARE: Final = 64


class HeadSize:
    """Counts the head that arrives; a piece counts whole unless more than the head is in it.

    A piece in which a head only begins, behind something else, is unsure: how much of it is the
    head's is known at its end alone.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = self._unsure = self._piece = self._begun = 0
        self._is_alone = True

    def arrive(self, piece: int, in_body: bool) -> None:
        """Takes a piece of so many bytes, before it is parsed; `in_body` says where it goes on."""
        self._is_alone = not (in_body or self._size or self._unsure)
        self._piece, self._begun = piece, 0

    def begin(self) -> None:
        """Starts a head, somewhere in the piece."""
        self.end()
        self._begun += 1

    def may_be_long(self) -> bool:
        """Returns whether the head that ends in this piece may be too long."""
        return self._size + self._unsure + self._piece > self._most

    def end(self) -> None:
        """Ends the head."""
        self._size = self._unsure = 0

    def is_long(self) -> bool:
        """Counts the piece, in which the head has not ended, and returns whether it is too long."""
        if not self._begun or (self._begun == 1 and self._is_alone):
            self._size += self._piece
        else:
            self._unsure = self._piece
        return self._size > self._most + _SPARE
