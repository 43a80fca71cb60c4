"""Gives the interpreter mutated texts: each must run or be refused, in time and by our own errors.

The seed and the position of a text make it, so a failure is found again with --only. A text that
verifies is run as well, on drawn arguments and a budget of operations.
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple
from zipfile import ZipFile

import numpy as np
import numpy.typing as npt

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from topos.errors import ToposError  # noqa: E402  # The root must be on the path first.
from topos.runtimes import verify  # noqa: E402
from topos.runtimes._drawn import drawn  # noqa: E402
from topos.runtimes._runtime import ArrayType  # noqa: E402
from topos.runtimes.interpreter import RUNTIME  # noqa: E402

Array = npt.NDArray[Any]

EPILOG: Final = """\
exit status: 0 every text ran or was refused; 1 one took too long or ended in another exception,
which is told with its text.
"""
# An argument or a constant of a mutated type may be of any size; memory must end before it does.
MEMORY: Final = 8 << 30
STEPS: Final = 10_000
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


class Outcome(NamedTuple):
    """How a text ended: in a kind that is allowed, or in a fault with its message."""

    kind: str
    fault: str


def mutated(texts: Sequence[str], seed: int, position: int) -> str:
    """Returns a text with one to four mutations, the same for the same numbers."""
    draw = random.Random(f"{seed} {position}")
    text = draw.choice(texts)
    for _ in range(draw.randint(1, 4)):
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


def outcome(text: str, limit: float) -> Outcome:
    """Returns how `text` ends within `limit` seconds."""
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        return Outcome(_ended(text), "")
    except _LateError:
        return Outcome("late", f"not done after {limit:g} s")
    # Whatever is no error of topos is the finding.
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return Outcome("fault", f"{type(error).__name__}: {error}")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _ended(text: str) -> str:
    try:
        verify(text)
        executable = RUNTIME.compile(text, options={"max_steps": STEPS})
        arguments = _drawn(executable.signature.arguments)
        if arguments is None:
            return "too large"
        executable(*arguments)
    except ToposError as error:
        return type(error).__name__
    return "ran"


def _drawn(types: Iterable[ArrayType]) -> list[Array] | None:
    """Returns arguments of `types`, or `None` where memory has no room for them."""
    generator = np.random.default_rng(0)
    try:
        return [drawn(generator, type) for type in types]
    except MemoryError:
        return None


class _LateError(BaseException):
    """The alarm; no handler of exceptions takes it for one of its own."""


def alarm(number: int, frame: object) -> None:
    """Ends the text that is tried: what SIGALRM calls."""
    raise _LateError


def texts_of(paths: Iterable[str]) -> list[str]:
    """Returns the texts of files, folders and zip archives of `.mlir` files, in order."""
    texts: list[str] = []
    for path in map(Path, paths):
        if path.suffix == ".zip":
            with ZipFile(path) as archive:
                names = sorted(name for name in archive.namelist() if name.endswith(".mlir"))
                texts += [archive.read(name).decode() for name in names]
        elif path.is_dir():
            texts += [each.read_text("utf-8") for each in sorted(path.rglob("*.mlir"))]
        else:
            texts.append(path.read_text("utf-8"))
    # Mutation of megabytes of constants finds nothing that a short text does not show.
    return [text for text in texts if len(text) <= 20_000]


def shown(positions: Sequence[int]) -> Iterator[int]:
    """Yields `positions` and prints how many are done, about twenty times."""
    started = time.monotonic()
    for done, position in enumerate(positions):
        if done and done % max(1, len(positions) // 20) == 0:
            print(f"{done:,} texts, {time.monotonic() - started:.0f} s", file=sys.stderr)
        yield position


def main(arguments: list[str] | None = None) -> int:
    """Parses the command line, tries the texts, prints the counts, and returns 1 for a fault."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        default=[str(ROOT / "tests/golden"), str(ROOT / "tests/gallery")],
        help="texts to mutate: files, folders, zip archives (default: those of the tests)",
    )
    parser.add_argument("--count", type=int, default=20_000, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    parser.add_argument("--only", type=int, metavar="POSITION", help="print and try this one text")
    parser.add_argument("--limit", type=float, default=10, help="seconds a text may take")
    chosen = parser.parse_args(arguments)
    texts = texts_of(chosen.paths)
    if not texts:
        parser.error("there is no text to mutate")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
    signal.signal(signal.SIGALRM, alarm)
    warnings.simplefilter("error")
    if chosen.only is not None:
        print(mutated(texts, chosen.seed, chosen.only))
    positions = range(chosen.count) if chosen.only is None else [chosen.only]
    return _try_all(texts, chosen.seed, positions, chosen.limit)


def _try_all(texts: Sequence[str], seed: int, positions: Sequence[int], limit: float) -> int:
    kinds: Counter[str] = Counter()
    faults = 0
    for position in shown(positions):
        kind, fault = outcome(mutated(texts, seed, position), limit)
        kinds[kind] += 1
        if fault:
            faults += 1
            print(f"text {position}: {kind}: {fault}", file=sys.stderr)
    for kind, count in kinds.most_common():
        print(f"{kind:<20} {count:>8,}")
    print(f"{'faults':<20} {faults:>8,}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
