"""Gives runtimes mutated texts: each must run or be refused, in time and by our own errors.

The seed and the position of a text make it, so a failure is found again with --only. A text runs on
the arguments that lie beside it, or on drawn ones. A foreign runtime runs it in a worker process,
and its results are held against the interpreter's exact ones.
"""

from __future__ import annotations

import argparse
import itertools
import re
import resource
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from fuzz_cases import Case, cases_of  # noqa: E402  # The folders must be on the path first.
from fuzz_mutations import mutated  # noqa: E402
from fuzz_trials import Outcome, interpreted, tried  # noqa: E402

from topos import runtimes  # noqa: E402
from topos.errors import ToposError  # noqa: E402
from topos.runtimes import verify  # noqa: E402

EPILOG: Final = """\
The kinds of the table: equal in bits to the interpreter under Exact; near, within 256 units in the
last place of the largest number of a result; differs; ran alone, where the interpreter refused or
did not finish; the class of a refusal; died, late, foreign: an exception that is no error of topos.
What differs or dies is counted by operation too: of the texts that hold it and ran or died.

exit status: 0 every text ran or was refused; 1 one died, took too long, or ended in another
exception, which is told with its text.
"""
# An argument or a constant of a mutated type may be of any size; memory must end before it does.
MEMORY: Final = 8 << 30
COUNT: Final = 20_000
INTERPRETER: Final = "interpreter"
OPERATION: Final = re.compile(r"\b(?:stablehlo|chlo)\.(?!return\b|token\b)([a-z]\w*)")
ENDED_BADLY: Final = ("died", "late", "foreign", "fault")


def shown(cases: Iterable[int], count: int) -> Iterator[int]:
    """Yields `cases` and prints how many of `count` are done, about twenty times."""
    started = time.monotonic()
    for done, position in enumerate(cases):
        if done and done % max(1, count // 20) == 0:
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
    parser.add_argument(
        "--runtime",
        metavar="NAME",
        action="append",
        choices=runtimes.names(),
        help="may be given again (default: interpreter)",
    )
    parser.add_argument(
        "--numerics", choices=["fast", "exact"], default="fast", help="of foreign runtimes"
    )
    parser.add_argument("--plain", action="store_true", help="try the texts as they are")
    parser.add_argument(
        "--verified", action="store_true", help="pass over mutated texts that do not verify"
    )
    parser.add_argument(
        "--count", type=int, help="how many texts (default: 20,000, or all of them with --plain)"
    )
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    parser.add_argument("--only", type=int, metavar="POSITION", help="print and try this one text")
    parser.add_argument("--limit", type=float, default=10, help="seconds a text may take")
    parser.add_argument("--keep", metavar="FOLDER", help="write what differs or ends badly there")
    chosen = parser.parse_args(arguments)
    absent = [path for path in chosen.paths if not Path(path).exists()]
    if absent:
        parser.exit(2, f"there is no file or folder {absent[0]}\n")
    cases = cases_of(chosen.paths)
    if not cases:
        parser.error("there is no text to mutate")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
    warnings.simplefilter("error")
    return Fuzz(chosen, cases).run()


class Fuzz:
    """The texts of one command, and what became of them."""

    def __init__(self, chosen: argparse.Namespace, cases: Sequence[Case]) -> None:
        self._chosen, self._cases = chosen, cases
        self._texts = [case.text for case in cases]
        self._names = chosen.runtime or [INTERPRETER]
        self._kinds: dict[str, Counter[str]] = {name: Counter() for name in self._names}
        # By runtime and operation: how many texts that hold it ran or died, and the bad ones.
        self._held: dict[str, Counter[str]] = {name: Counter() for name in self._names}
        self._bad: dict[str, dict[str, Counter[str]]] = {name: {} for name in self._names}

    def run(self) -> int:
        """Tries the texts, prints the tables, and returns the exit status."""
        for position in shown(self._positions(), self._number()):
            case = self._case(position)
            if self._chosen.only is not None:
                print(case.text)
            self._try(position, case)
        print(_table(self._kinds))
        for name in self._names:
            print(self._by_operation(name), end="")
        bad = [kind for kinds in self._kinds.values() for kind in kinds if _is_fault(kind)]
        return 1 if bad else 0

    def _number(self) -> int:
        """Returns how many texts are tried."""
        chosen = self._chosen
        if chosen.only is not None:
            return 1
        if chosen.plain:
            return min(len(self._cases), chosen.count or len(self._cases))
        return COUNT if chosen.count is None else int(chosen.count)

    def _positions(self) -> Iterator[int]:
        """Yields the numbers of the texts: as many as wanted, evenly spread if plain."""
        chosen, count = self._chosen, self._number()
        if chosen.only is not None:
            return iter([chosen.only])
        if chosen.plain:
            return (len(self._cases) * each // count for each in range(count))
        every: Iterator[int] = itertools.count()
        if chosen.verified:
            every = (each for each in every if _verifies(self._case(each).text))
        return itertools.islice(every, count)

    def _case(self, position: int) -> Case:
        if self._chosen.plain:
            return self._cases[position]
        # A second mutation would mostly break what the first one left valid.
        most = 1 if self._chosen.verified else 4
        text = mutated(self._texts, self._chosen.seed, position, most)
        return Case(f"text {position}", text)

    def _try(self, position: int, case: Case) -> None:
        limit = self._chosen.limit
        exact = interpreted(case, limit)
        for name in self._names:
            found = (
                exact
                if name == INTERPRETER
                else tried(case, runtimes.load(name), self._chosen.numerics, limit, exact)
            )
            self._count(name, case, found)
            if found.fault:
                print(f"{case.name} on {name}: {found.kind}: {found.fault}", file=sys.stderr)
                self._write(f"{name}-{position}", case, found)

    def _count(self, name: str, case: Case, found: Outcome) -> None:
        self._kinds[name][found.kind] += 1
        bad = found.kind == "differs" or _is_fault(found.kind)
        if not bad and found.kind not in ("equal", "near"):
            return
        for operation in {*OPERATION.findall(case.text)}:
            self._held[name][operation] += 1
            if bad:
                kinds = self._bad[name].setdefault(operation, Counter())
                kinds[found.kind] += 1

    def _write(self, name: str, case: Case, found: Outcome) -> None:
        if self._chosen.keep is None:
            return
        folder = Path(self._chosen.keep)
        folder.mkdir(parents=True, exist_ok=True)
        told = "".join(
            f"// {line}\n" for line in f"{case.name}: {found.kind}\n{found.fault}".split("\n")
        )
        Path(folder, f"{found.kind.split(':')[0]}-{name}.mlir").write_text(
            told + case.text, "utf-8"
        )

    def _by_operation(self, name: str) -> str:
        held, bad = self._held[name], self._bad[name]
        rows = sorted(bad.items(), key=lambda row: -row[1].total() / held[row[0]])
        lines = [
            f"{name:<12} {operation:<28} {held[operation]:>6,}  "
            + ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
            for operation, kinds in rows
        ]
        return "\n".join(["", *lines, ""]) if lines else ""


def _verifies(text: str) -> bool:
    try:
        verify(text)
    except ToposError:
        return False
    return True


def _is_fault(kind: str) -> bool:
    return kind.split(":")[0] in ENDED_BADLY


def _table(kinds: Mapping[str, Counter[str]]) -> str:
    every = sorted({kind for counts in kinds.values() for kind in counts})
    lines = [f"{'':<24}" + "".join(f"{name:>12}" for name in kinds)]
    lines += [
        f"{kind:<24}" + "".join(f"{counts[kind]:>12,}" for counts in kinds.values())
        for kind in every
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
