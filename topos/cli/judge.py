"""`topos judge`: tells whether results that came from elsewhere are right."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from topos import judge
from topos.cli._grades import tell
from topos.cli._judging import add_outputs, as_json, demand_outputs, written
from topos.cli._reporting import DONE, FAILED, terminable
from topos.cli._shared import naming
from topos.judge.manifests import MANIFEST, digest
from topos.judge.pages.grades import graded_page
from topos.runtimes._archive import load

HELP = "tell whether results of a recorded case are right"
EPILOG = """\
CASE is what `topos record` or `topos reduce` wrote, R.npz holds result0, result1, ... as `topos
run` writes them. The verdicts are those of `topos grade`. The oracle does not run again, unless
what the recorded samples do not explain needs more of them. A folder in which a file is not the one
that was recorded is refused; the digest that both commands print tells whether it is the same case.

exit status: 0 nothing is wrong or suspect; 1 something is; 2 wrong usage, an unreadable file, or a
folder that is no case; 130 interrupted.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Adds what the command line takes."""
    parser.add_argument("case", metavar="CASE", help="the folder of a case")
    parser.add_argument("results", metavar="R.npz", help="the results, result0, result1, ...")
    add_outputs(parser)


def run(chosen: Namespace) -> int:
    """Runs the command and returns the exit status."""
    with terminable():
        return _judged(chosen)


def _judged(chosen: Namespace) -> int:
    demand_outputs(chosen.json, chosen.html)
    with naming(chosen.case):
        case = judge.recorded(chosen.case)
        digest_of_all = digest(Path(chosen.case) / MANIFEST)[:12]
    with naming(chosen.results):
        results = load(chosen.results, case.signature.results, "result")
    found = judge.grade_results(case, results, chosen.results)
    print(f"{chosen.case}: digest {digest_of_all}")
    # What was found is printed even where a file takes nothing more.
    try:
        written(chosen.json, as_json(found.document()))
        written(chosen.html, graded_page(f"{chosen.results} of {chosen.case}", [found]))
    finally:
        tell(found)
    return DONE if found.passed else FAILED
