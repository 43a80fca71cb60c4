"""Reports of faults: the text for a bug report, with the commands of the runtime's own tools."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from topos import runtimes
from topos.engine import Numerics
from topos.judge.case import Case
from topos.judge.grading import Grade, graded
from topos.judge.manifests import topos_version
from topos.judge.reproduction.direct import SCRIPT, SHORT, Direct, iree_commands
from topos.judge.target import Target

if TYPE_CHECKING:
    from topos.judge.reproduction.reproducer import Reproducer

# A distance in spreads that needs no number.
MANY: Final = 1e9
FILES: Final = "module.mlir args.npz results.npz"
PROCESSOR: Final = Path("/proc/cpuinfo")


def report(reproducer: Reproducer, case: Case, direct: Direct | None) -> str:
    """Returns the text of a bug report; `direct` runs the module once without topos."""
    grade = reproducer.grade
    is_named = reproducer.target.runtime in runtimes.names()
    if direct is not None and is_named:
        grade = graded([case], direct.target)
    return "\n".join(_lines(reproducer, case, direct, grade)) + "\n"


def _lines(
    reproducer: Reproducer, case: Case, direct: Direct | None, grade: Grade
) -> Iterator[str]:
    name = str(reproducer.target) if direct is None else direct.runtime
    yield f"# {_title(reproducer, name)}"
    yield ""
    yield from _fault(reproducer.grade if grade.passed else grade)
    if reproducer.needs_attributes:
        yield "Without the attributes of arguments, results and the module the results are right."
    yield from ("", "```mlir", str(reproducer.module).rstrip(), "```", "")
    yield from _arguments(case)
    yield "## Run it"
    yield ""
    yield from _commands(reproducer, case, direct, grade)
    yield "The oracle's results are in `expected.npz`. With topos:"
    yield ""
    yield from _console(f"topos grade module.mlir --args args.npz --runtime {_named(reproducer)}")
    yield "## Versions"
    yield ""
    yield from (f"- {line}" for line in _versions(reproducer.target, name))


def _title(reproducer: Reproducer, name: str) -> str:
    operations = [each.name for each in reproducer.module.walk() if "return" not in each.name]
    told = [each for each in dict.fromkeys(operations) if each != "stablehlo.constant"]
    what = ", ".join(told[:4]) + (" and more" if len(told) > 4 else "")
    fails = "fails" if reproducer.grade.failures else "gives a wrong result"
    return f"{name}: {what or 'a module'} {fails}"


def _fault(grade: Grade) -> Iterator[str]:
    for reason in grade.failures.values():
        yield from ("It fails with:", "", "```", reason, "```")
    bad = [each for each in grade.results if each.worst is not None]
    for each in bad:
        place = each.worst or ()
        at = f" at {list(place)}" if place else ""
        distance = float(each.judgement.distances[place])
        told = f"{distance:.3g}" if distance < MANY else f"more than {MANY:.0e}"
        yield (
            f"{each.name} is {each.type}: got `{each.result[place]!s}`{at}, expected"
            f" `{each.oracle[place]!s}` ({each.verdict}, {told} spreads of rounding noise away)."
        )


def _arguments(case: Case) -> Iterator[str]:
    if not case.arguments:
        return
    yield "The arguments are in `args.npz`:"
    yield ""
    yield "```"
    for place, array in enumerate(case.arguments):
        elements = np.array2string(array, threshold=SHORT, separator=", ")
        yield f"arg{place} = {elements}"
    yield "```"
    yield ""


def _commands(
    reproducer: Reproducer, case: Case, direct: Direct | None, grade: Grade
) -> Iterator[str]:
    runtime = reproducer.target.runtime
    if direct is None:
        running = f"topos run module.mlir --runtime {runtime} --args args.npz --out results.npz"
        known = runtime in runtimes.names()
        yield from _console(running if known else f"{reproducer.target} {FILES}")
        return
    if grade.passed:
        yield f"`{SCRIPT}` runs the module without topos, and is right:"
        yield f"the fault is in what topos makes of the module for {direct.runtime}."
    else:
        yield f"`{SCRIPT}` runs the module without topos:"
    yield ""
    yield from _console(f"{shlex.join(['python', SCRIPT, *direct.words])} {FILES}")
    if direct.runtime == "iree":
        yield "Or with IREE's command-line tools:"
        yield ""
        yield from _console(*iree_commands(case, direct.words))


def _named(reproducer: Reproducer) -> str:
    exact = Numerics.of(reproducer.target.numerics) is Numerics.EXACT
    options = [f"--option {key}={each}" for key, each in (reproducer.target.options or {}).items()]
    words = [
        shlex.quote(str(reproducer.target)),
        *(["--numerics exact"] if exact else []),
        *options,
    ]
    return " ".join(words)


def _console(*commands: str) -> Iterator[str]:
    yield "```console"
    yield from (f"$ {each}" for each in commands)
    yield from ("```", "")


def _versions(target: Target, name: str) -> Iterator[str]:
    if name in runtimes.names():
        yield f"{name}: {runtimes.load(name).status().detail}"
    if name != target.runtime:
        yield f"run by `{target}`"
    if target.options:
        yield f"options: {dict(target.options)}"
    yield f"topos {topos_version()}, Python {platform.python_version()}, numpy {np.__version__}"
    yield f"{platform.platform()}, {_processor()}"


def _processor() -> str:
    try:
        lines = PROCESSOR.read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()
