"""Prints StableHLO texts and reads them back: whatever parses must come back the same.

A text is a fixpoint where its print parses to the same tree and prints to the same text again. A
file is split at its lines of `// -----`, as MLIR's own tools do, and equal texts are tried once.
Texts that do not parse are counted by reason; those of other dialects are counted apart.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple
from zipfile import ZipFile

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from topos.errors import ParseError, TextError, UnsupportedError  # noqa: E402  # After the path.
from topos.stablehlo.equality import same  # noqa: E402
from topos.stablehlo.ir import Module  # noqa: E402
from topos.stablehlo.parser.parse import parse  # noqa: E402
from topos.stablehlo.printer import printed  # noqa: E402

EPILOG: Final = """\
exit status: 0 every text that parses comes back the same; 1 one does not, which is told with its
place; 2 there is no text.
"""
SPLIT: Final = re.compile(r"^[ \t]*// ?-----.*$", re.MULTILINE)
COMMENT: Final = re.compile(r"(?://[^\n]*+|\s)++")
# What only one text has of the reason why it is refused: what it got, its names and numbers.
DETAIL: Final = re.compile(r", got .*| (?:[!#@%][\w.$]+|tensor)(?:<.*>)?| \d+\b", re.DOTALL)
FOREIGN: Final = "of another dialect"
UNREAD: Final = ("dialect that is not read", "no equal in StableHLO")
SAME: Final = "come back the same"


class Text(NamedTuple):
    """A part of a file; `name` tells the file and, where it has several, which one."""

    name: str
    text: str


def texts_of(paths: Iterable[Path]) -> Iterator[Text]:
    """Yields the texts of files, folders and zip archives of `.mlir` files, in order."""
    for path in paths:
        if path.suffix == ".zip":
            with ZipFile(path) as archive:
                for name in sorted(archive.namelist()):
                    if name.endswith(".mlir"):
                        yield from parts(f"{path}:{name}", archive.read(name))
        elif path.is_dir():
            for each in sorted(path.rglob("*.mlir")):
                yield from parts(str(each), each.read_bytes())
        else:
            yield from parts(str(path), path.read_bytes())


def parts(name: str, raw: bytes) -> Iterator[Text]:
    """Yields the texts of one file, without those that are nothing but comments."""
    pieces = SPLIT.split(raw.decode("utf-8", "replace"))
    for position, piece in enumerate(pieces):
        if COMMENT.sub("", piece):
            yield Text(name if len(pieces) == 1 else f"{name} part {position + 1}", piece)


def outcome(text: str) -> str:
    """Returns `SAME`, why the text is refused, or what differs when it is read back."""
    try:
        module = parse(text)
    except UnsupportedError as error:
        if any(reason in error.reason for reason in UNREAD):
            return FOREIGN
        return f"unsupported: {DETAIL.sub('', error.reason)}"
    except ParseError as error:
        return f"refused: {DETAIL.sub('', error.reason)}"
    return returned(module)


def returned(module: Module) -> str:
    """Returns `SAME`, or what differs when the print of `module` is read back."""
    try:
        text = printed(module)
        again = parse(text)
    except TextError as error:
        return f"LOST: {type(error).__name__}: {error}"
    if not same(again, module):
        return "LOST: the print parses to another tree"
    return SAME if printed(again) == text else "LOST: the print of the print is another text"


def main(arguments: list[str] | None = None) -> int:
    """Parses the command line, tries the texts, prints the counts, and returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", type=Path, help="file, folder or zip")
    parser.add_argument("--list", metavar="WORD", help="tell each text whose outcome has WORD")
    chosen = parser.parse_args(arguments)
    absent = [str(path) for path in chosen.paths if not path.exists()]
    if absent:
        parser.exit(2, f"there is no file or folder {absent[0]}\n")
    counts: Counter[str] = Counter()
    seen: set[int] = set()
    started = told = time.monotonic()
    for name, text in texts_of(chosen.paths):
        if (digest := hash(COMMENT.sub(" ", text))) in seen:
            continue
        seen.add(digest)
        result = outcome(text)
        counts[result.partition("\n")[0] if result.startswith("LOST") else result] += 1
        if result.startswith("LOST") or (chosen.list and chosen.list in result):
            print(f"{name}: {result}")
        if time.monotonic() - told > 10:
            told = time.monotonic()
            print(f"{counts.total():,} texts, {told - started:.0f} s", file=sys.stderr)
    return report(counts)


def report(counts: Counter[str]) -> int:
    """Prints the counts, those that parse first, and returns the exit status."""
    lost = sum(count for kind, count in counts.items() if kind.startswith("LOST"))
    print(f"{counts.total():>8,} different texts")
    print(f"{counts[SAME] + lost:>8,} parse, of which {counts[SAME]:,} {SAME}")
    print(f"{counts[FOREIGN]:>8,} {FOREIGN}")
    for kind, count in counts.most_common():
        if kind not in (SAME, FOREIGN) and not kind.startswith("LOST"):
            print(f"{count:>8,} {kind}")
    if not counts:
        return 2
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
