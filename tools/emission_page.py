"""Prints the page on emission: what every operation, pattern, name and location becomes in text.

The rows are read off what emission writes for the samples of the tests.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.sample import Sample  # noqa: E402  # The checkout's root must be on the path first.
from tests.samples import SAMPLES  # noqa: E402
from topos import Element, Numerics, Tape, bf16, f32  # noqa: E402
from topos.compiler import PatternKind  # noqa: E402
from topos.emit.patterns import RAISES  # noqa: E402

EPILOG = """\
exit status: 0 done; 1 the file differs from what is printed; 2 wrong usage, or no such file.
"""
WRITTEN: Final = re.compile(r"(?<![#\w])((?:stablehlo|chlo)\.\w+)")
# An attribute such as #stablehlo.gather<> is no operation, and a region ends by a return.
HIGHEST: Final = "precision = [HIGHEST, HIGHEST]"
RETURN: Final = "stablehlo.return"

TEMPLATE: Final = Path(__file__).with_suffix(".md")
SOURCES: Final = {
    "parameter": "an argument of `@main`",
    "input": "an argument of `@main`",
    "leaf": "`constant`",
}
RECORDING: Final = """\
from topos import Tape
tape = Tape(locations=True)
x = tape.input([1.0, 2.0], name="x")
(x * x).log_softmax(0).named("y")
plan = tape.into_network().entry(["y"]).lower()
"""


def main(arguments: list[str] | None = None) -> int:
    """Prints the page, or compares it with a file, and returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", metavar="FILE", type=Path, help="compare with a page")
    chosen = parser.parse_args(arguments)
    if chosen.check is None:
        print(page(), end="")
        return 0
    try:
        same = chosen.check.read_text(encoding="utf-8") == page()
    except OSError as error:
        print(error, file=sys.stderr)
        return 2
    if not same:
        print(f"{chosen.check} differs: python tools/emission_page.py > it", file=sys.stderr)
    return int(not same)


def page() -> str:
    """Returns the whole page."""
    recorded: dict[str, Any] = {}
    exec(compile(RECORDING, "model.py", "exec"), recorded)
    text = Template(TEMPLATE.read_text(encoding="utf-8"))
    return text.substitute(
        operations="\n".join(operations()),
        patterns="\n".join(patterns()),
        module=(ROOT / "tests/golden/line.mlir").read_text(encoding="utf-8").rstrip(),
        recording=RECORDING.rstrip(),
        located="\n".join(recorded["plan"].emit_stablehlo().splitlines()[1:5]),
    )


def operations() -> Iterator[str]:
    """Yields the table of operations, a row for each sample of the tests."""
    yield "| operation | StableHLO | in bf16, where it differs | under Exact, where it differs |"
    yield "|---|---|---|---|"
    for sample in SAMPLES:
        element = f32 if f32 in sample.elements else sample.elements[0]
        plain = written(sample, element)
        narrow = written(sample, bf16) if bf16 in sample.elements else plain
        exact = written(sample, element, Numerics.EXACT)
        others = ("" if other == plain else other for other in (narrow, exact))
        yield f"| `{sample.name}` | {plain} | {' | '.join(others)} |".replace("  ", " ")


def written(sample: Sample, element: Element, numerics: Numerics = Numerics.FAST) -> str:
    """Returns the operations that a sample becomes, as a cell of the table."""
    if sample.name in SOURCES:
        return SOURCES[sample.name]
    tape = Tape(element=element)
    result, _ = sample.record(tape, element)
    plan = tape.into_network().entry([result.symbol], numerics=numerics).lower()
    lines = plan.emit_stablehlo().splitlines()[2:-3]
    found = [name for line in lines for name in WRITTEN.findall(line) if name != RETURN]
    precise = f", {HIGHEST}" if any("HIGHEST" in line for line in lines) else ""
    names = [f"`{name.removeprefix('stablehlo.')}`" for name in dict.fromkeys(found)]
    return (", ".join(names) or "nothing") + precise


def patterns() -> Iterator[str]:
    """Yields the table of the catalog's patterns."""
    yield "| pattern | StableHLO | raised where |"
    yield "|---|---|---|"
    for kind in PatternKind:
        found = RAISES.get(kind)
        name = f"`{found.operation}`" if found else "node by node"
        when = found.when if found else "never: StableHLO has no operation for it"
        yield f"| `{kind.value}` | {name} | {when} |"


if __name__ == "__main__":
    sys.exit(main())
