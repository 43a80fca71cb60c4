"""Prints the table of the operations that the interpreter's verifier knows.

Which operations are executed is read off the code, what each gives from tools/operations.toml.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from topos.runtimes.interpreter.kernels import builder_of
from topos.stablehlo.dialect import definitions, family_of
from topos.stablehlo.verifier import verified_names

EPILOG = """\
exit status: 0 done; 1 the file has another table than the one printed; 2 wrong usage, a file that
cannot be read, or an operation that the facts lack or that they alone know.
"""
FACTS: Final = Path(__file__).with_suffix(".toml")
START: Final = "<!-- The table of tools/operations.py starts here. -->"
END: Final = "<!-- The table of tools/operations.py ends here. -->"
HEAD: Final = ["| operation | Exact | Fast | limits |", "|---|---|---|---|"]

Facts = Mapping[str, str]


def main(arguments: list[str] | None = None) -> int:
    """Prints the table, or compares it with the one in a page; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", metavar="FILE", type=Path, help="compare with a page's table")
    chosen = parser.parse_args(arguments)
    try:
        table = "\n".join(rows(tomllib.loads(FACTS.read_text(encoding="utf-8"))))
        if chosen.check is None:
            print(table)
            return 0
        page = chosen.check.read_text(encoding="utf-8")
    except (LookupError, OSError) as error:
        print(error.args[0] if isinstance(error, LookupError) else error, file=sys.stderr)
        return 2
    if table == page.partition(START)[2].partition(END)[0].strip():
        return 0
    print(f"{chosen.check} has another table than {parser.prog} prints", file=sys.stderr)
    return 1


def rows(facts: Mapping[str, Mapping[str, Facts]]) -> Iterator[str]:
    """Yields the lines of the table for the facts of families and of single operations.

    Raises `LookupError` where a family or an operation has no facts, and where facts have none.
    """
    families = {
        name: family_of(name) or "" for name, each in definitions().items() if builder_of(each)
    }
    for what, known in (("families", set(families.values())), ("operations", verified_names())):
        if left := facts[what].keys() - known:
            raise LookupError(f"{FACTS.name} has facts of {min(left)}, which is not there")
    yield from HEAD
    for name in sorted(verified_names()):
        yield _row(name, _known(name, families.get(name, ""), facts))


def _known(name: str, family: str, facts: Mapping[str, Mapping[str, Facts]]) -> Facts:
    if family and family not in facts["families"]:
        raise LookupError(f"{FACTS.name} needs an entry for the family {family}")
    own = facts["operations"].get(name, {})
    if not family and "refused" not in own:
        raise LookupError(f"{FACTS.name} needs the reason why {name} is refused")
    return {**facts["families"].get(family, {}), **own}


def _row(name: str, facts: Facts) -> str:
    if "refused" in facts:
        return f"| `{name}` | refused | refused | {facts['refused']} |"
    cells = (facts["exact"], facts.get("fast", "the same"), facts.get("limits", ""))
    return f"| `{name}` | {' | '.join(cells)} |".replace("|  |", "| |")


if __name__ == "__main__":
    sys.exit(main())
