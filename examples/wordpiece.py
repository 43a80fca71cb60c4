"""WordPiece: text as the numbers of a vocabulary's pieces, as uncased BERT models read it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

__all__ = ["WordPiece"]

Array = npt.NDArray[Any]

# A word of more letters is unknown as a whole.
LONGEST_WORD: Final = 100
# The blocks of ideographs, each of which is a word (Unicode 15, CJK unified and compatibility).
IDEOGRAPHS: Final = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
# Control, format and private use; what is not assigned stays, and is unknown.
CONTROLS: Final = ("Cc", "Cf", "Co")
ASCII_SIGNS: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


class WordPiece:
    """A vocabulary of pieces, one a line of its file (Wu et al., 2016; Devlin et al., 2019).

    Text is lower-cased, loses its accents, and is split at spaces and around signs; a word is its
    longest known beginning, then the longest known continuation, and so on.
    """

    def __init__(self, path: Path) -> None:
        pieces = path.read_text(encoding="utf-8").split("\n")
        self._numbers = {piece: number for number, piece in enumerate(pieces) if piece}

    def encode(self, text: str, longest: int) -> list[int]:
        """Returns the pieces of a text between `[CLS]` and `[SEP]`, `longest` at most."""
        pieces = [number for word in _words(text) for number in self._pieces(word)]
        return [
            self._numbers["[CLS]"],
            *pieces[: longest - 2],
            self._numbers["[SEP]"],
        ]

    def batch(self, texts: Sequence[str], longest: int) -> tuple[Array, Array]:
        """Returns the pieces of texts `[texts, length]`, and the mask of what is no padding."""
        rows = [self.encode(text, longest) for text in texts]
        tokens = np.full((len(rows), max(map(len, rows))), self._numbers["[PAD]"], np.int64)
        mask = np.zeros(tokens.shape, np.bool_)
        for place, row in enumerate(rows):
            tokens[place, : len(row)] = row
            mask[place, : len(row)] = True
        return tokens, mask

    def _pieces(self, word: str) -> list[int]:
        """Returns the pieces of a word, or the unknown piece where it has no such cut."""
        found: list[int] = []
        start = 0
        while start < len(word) <= LONGEST_WORD:
            number, start = self._longest(word, start)
            if number is None:
                break
            found.append(number)
        return found if start == len(word) else [self._numbers["[UNK]"]]

    def _longest(self, word: str, start: int) -> tuple[int | None, int]:
        """Returns the longest piece that stands at `start`, and where it ends."""
        for end in range(len(word), start, -1):
            number = self._numbers.get(f"{'##' if start else ''}{word[start:end]}")
            if number is not None:
                return number, end
        return None, start


def _words(text: str) -> Iterator[str]:
    """Yields the words of a text; every sign and every ideograph is a word."""
    spaced = "".join(map(_cleaned, text))
    plain = unicodedata.normalize("NFD", spaced)
    # Letter by letter: as a whole word Python would end it in another sigma.
    letters = [each.lower() for each in plain if unicodedata.category(each) != "Mn"]
    return iter("".join(f" {each} " if _is_sign(each) else each for each in letters).split())


def _cleaned(letter: str) -> str:
    """Returns what a letter is read as: nothing for control, a space for any white space."""
    if letter in "\t\n\r":
        return " "
    if letter == "\N{REPLACEMENT CHARACTER}" or unicodedata.category(letter) in CONTROLS:
        return ""
    if letter.isspace():
        return " "
    is_ideograph = any(first <= ord(letter) <= last for first, last in IDEOGRAPHS)
    return f" {letter} " if is_ideograph else letter


def _is_sign(letter: str) -> bool:
    return letter in ASCII_SIGNS or unicodedata.category(letter).startswith("P")
