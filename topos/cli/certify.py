"""`topos certify`: measures a runtime, operation by operation, and writes the certificate."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from topos.cli._judging import TARGETS, add_target, written
from topos.cli._progress import follow
from topos.cli._reporting import DONE, FAILED
from topos.cli._shared import table, whole
from topos.errors import ArgumentError
from topos.judge.certification.certify import Certification
from topos.judge.certification.forms import executed
from topos.runtimes._certificate import Certificate, Key, Outcome
from topos.runtimes._certificate_files import text_of
from topos.runtimes._certificate_page import OUTCOMES, page
from topos.stablehlo.types import ELEMENTS

HELP = "measure a runtime, operation by operation, and write a certificate"
EPILOG = f"""\
Every operation that the oracle executes runs by itself in every element, with several classes of
inputs, and each result is held against the oracle's: the same bits, rounding in units in the last
place, subnormal numbers taken for zero, or wrong. A few probes tell what the runtime does across
operations. With a journal, a command that was interrupted goes on where it was.

{TARGETS}"""
BAD: Final = (str(Outcome.WRONG), str(Outcome.DIED))


def add_arguments(parser: ArgumentParser) -> None:
    """Adds what the command line takes."""
    add_target(parser)
    parser.add_argument(
        "--seed", metavar="N", type=whole, default=0, help="of the inputs (default: %(default)s)"
    )
    parser.add_argument(
        "--operations", metavar="NAMES", help="only these, with commas (default: all)"
    )
    parser.add_argument(
        "--elements", metavar="NAMES", help="only these, with commas (default: all)"
    )
    parser.add_argument("--journal", metavar="FILE", help="where what is done is kept")
    parser.add_argument("--json", metavar="FILE", help="where the certificate goes as JSON")
    parser.add_argument("--markdown", metavar="FILE", help="where it goes as a page")


def run(chosen: Namespace) -> int:
    """Runs the command and returns the exit status."""
    operations = _named(chosen.operations, executed(), "operation")
    elements = _named(chosen.elements, tuple(ELEMENTS), "element")

    def only(key: Key) -> bool:
        return key[0] in operations and key[2] in elements

    making = Certification(
        chosen.runtime,
        numerics=chosen.numerics,
        options=dict(chosen.option),
        seed=chosen.seed,
        only=only,
        journal=Path(chosen.journal) if chosen.journal else None,
    )
    follow(making.steps())
    found = making.certificate()
    written(chosen.json, text_of(found))
    written(chosen.markdown, page(found))
    print(table(_rows(found)))
    return FAILED if any(found.counts()[name] for name in BAD) else DONE


def _named(text: str | None, known: tuple[str, ...], what: str) -> frozenset[str]:
    names = known if text is None else tuple(text.split(","))
    for name in names:
        if name not in known:
            raise ArgumentError(f"no {what} is called {name!r}")
    return frozenset(names)


def _rows(found: Certificate) -> Iterator[tuple[str, ...]]:
    for name, count in found.counts().items():
        yield (OUTCOMES[name], str(count))
    yield from found.probes.items()
    for fault in found.faults:
        title = " ".join(filter(None, (fault.operation, fault.variant)))
        yield (title, f"{fault.got or 'wrong'} of {fault.oracle or '?'}: {fault.elements}")
