"""Mutations of StableHLO texts, the same ones for the same numbers."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Final

__all__ = ["mutated"]

# What joins and parts the tokens of a text.
MARKS: Final = '<>(){}[],:="%@#^!?x-0123456789 \n'
WORDS: Final = (
    "tensor<2x3xf32>", "tensor<?xi64>", "tensor<4xcomplex<f64>>", "tensor<i1>", "!stablehlo.token",
    "tuple<tensor<f32>>", "-1", "0", "18446744073709551616", "1e400", "0xFFFFFFFF", "dense<>",
    "array<i64: 1, 0>", "stablehlo.add", "stablehlo.while", "func.func", "return", "%0", "%arg0",
    "({^bb0:})", "loc(unknown)", "#stablehlo.gather<>", "i4", "f8E4M3FN", "\x00", "\u00e9", "{",
    "}",
)  # fmt: skip
# Tokens that may take each other's place; values, which still verify most often, twice as often.
KINDS: Final = tuple(
    map(
        re.compile,
        (
            r"tensor<[\w?<>]*>", r"(?:stablehlo|chlo)\.\w+", *(r"%\w+(?:#\d)?",) * 2,
            r"\[[\d, -]*\]", r"-?\d+", r"dense<[^>]*>", r"\b[A-Z_]{2,}\b", r"\w+ = ",
        ),
    )
)  # fmt: skip


def mutated(texts: Sequence[str], seed: int, position: int, most: int = 4) -> str:
    """Returns a text with one to `most` mutations, the same for the same numbers."""
    draw = random.Random(f"{seed} {position}")
    text = draw.choice(texts)
    for _ in range(draw.randint(1, most)):
        text = draw.choice(MUTATIONS)(draw, text, texts)
    return text


def _span(draw: random.Random, text: str, longest: int) -> tuple[int, int]:
    start = draw.randrange(len(text) + 1)
    return start, min(len(text), start + draw.randint(1, longest))


def _delete(draw: random.Random, text: str, texts: Sequence[str]) -> str:
    start, stop = _span(draw, text, 24)
    return text[:start] + text[stop:]


def _double(draw: random.Random, text: str, texts: Sequence[str]) -> str:
    start, stop = _span(draw, text, 60)
    return text[:stop] + text[start:]


def _mark(draw: random.Random, text: str, texts: Sequence[str]) -> str:
    start, _ = _span(draw, text, 1)
    return text[:start] + draw.choice(MARKS) + text[start + draw.randint(0, 1) :]


def _word(draw: random.Random, text: str, texts: Sequence[str]) -> str:
    words = text.split(" ")
    words[draw.randrange(len(words))] = draw.choice(WORDS)
    return " ".join(words)


def _number(draw: random.Random, text: str, texts: Sequence[str]) -> str:
    places = [place for place, character in enumerate(text) if character.isdigit()]
    if not places:
        return text
    place = draw.choice(places)
    return text[:place] + str(draw.choice((0, 1, 2, 7, 64, -1))) + text[place + 1 :]


def _alike(draw: random.Random, text: str, texts: Sequence[str]) -> str:
    """Puts a token of some text in the place of one of its kind, which may well still parse."""
    kind = draw.choice(KINDS)
    places = list(kind.finditer(text))
    others: list[str] = kind.findall(draw.choice(texts))
    if not places or not others:
        return text
    start, stop = draw.choice(places).span()
    return text[:start] + draw.choice(others) + text[stop:]


def _swap_lines(draw: random.Random, text: str, texts: Sequence[str]) -> str:
    lines = text.split("\n")
    first, second = draw.randrange(len(lines)), draw.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return "\n".join(lines)


def _splice(draw: random.Random, text: str, texts: Sequence[str]) -> str:
    lines, others = text.split("\n"), draw.choice(texts).split("\n")
    lines.insert(draw.randrange(len(lines) + 1), draw.choice(others))
    return "\n".join(lines)


def _cut(draw: random.Random, text: str, texts: Sequence[str]) -> str:
    return text[: draw.randrange(len(text) + 1)] or " "


MUTATIONS: Final[Sequence[Callable[[random.Random, str, Sequence[str]], str]]] = (
    *(_alike,) * 12, *(_number,) * 3, _delete, _double, _mark, _word, _swap_lines, _splice, _cut,
)  # fmt: skip
