"""Counts how many random single-point changes of the sources the mirrored tests notice.

Each change is made in a copy of the checkout; the tests that mirror the changed file run there,
those that name its functions first, until one fails. A change that lives is printed with its
line. Changes that alter nothing a caller can see stand in tools/mutants.toml with the reason.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Final, NamedTuple

from mutation_points import Change, changed, changes

ROOT: Final = Path(__file__).resolve().parents[1]
COPIED: Final = (
    "topos", "tests", "tools", "examples", "docs", "pyproject.toml", "README.md",
    "CONTRIBUTING.md", "Makefile", "LICENSE",
)  # fmt: skip
# Exit status of pytest that ran no test, and what it prints of a test beyond its time.
NO_TESTS: Final = 5
TIMEOUT: Final = "Timeout ("
# All tests of a folder may take so many times the limit of one.
LONGEST: Final = 15
# Whose numbers stand beside MPFR's in a folder of their own.
CONFORMANCE: Final = ("topos/payload/kernels/", "topos/runtimes/interpreter/special/")
EQUIVALENT: Final = ROOT / "tools" / "mutants.toml"


class Mutant(NamedTuple):
    """A change of a file, whose path is relative to the checkout."""

    file: str
    change: Change
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.change.line} `{self.change.old}` -> `{self.change.new}`"


class Outcome(NamedTuple):
    """What became of a mutant: killed, late (stopped, so killed too), alive or equivalent."""

    mutant: Mutant
    verdict: str
    seconds: float
    test: str


def main(argv: Sequence[str] | None = None) -> int:
    """Makes the changes and prints what became of them; returns 1 where a test fails unchanged."""
    args = _arguments(argv)
    mutants = chosen(args.folders, args.count, args.seed)
    if args.list:
        print(*(f"{mutant}    {mutant.text}" for mutant in mutants), sep="\n")
        return 0
    outcomes = list(_run(mutants, args.jobs, args.limit))
    _table(outcomes)
    return _unchanged(sorted({outcome.test for outcome in outcomes if outcome.test}), args.limit)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="*", default=["topos"], help="files or folders to change")
    parser.add_argument("--count", type=int, default=20, help="how many changes (20)")
    parser.add_argument("--seed", type=int, default=0, help="which changes (0)")
    parser.add_argument("--jobs", type=int, default=1, help="changes tried at once (1)")
    parser.add_argument("--limit", type=float, default=60, help="seconds for one test (60)")
    parser.add_argument("--list", action="store_true", help="print the changes and try none")
    return parser.parse_args(argv)


def chosen(folders: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """Returns `count` mutants of the files, every change as likely as every other."""
    every: list[Mutant] = []
    for name in folders:
        path = ROOT / name
        if not path.exists():
            raise SystemExit(f"{path}: no such file or folder")
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            source = file.read_text()
            lines = source.splitlines()
            relative = str(file.relative_to(ROOT))
            every += (
                Mutant(relative, change, lines[change.line - 1].strip())
                for change in changes(source)
            )
    return random.Random(seed).sample(every, min(count, len(every)))


def mirrored(file: str, root: Path = ROOT) -> tuple[list[str], str]:
    """Returns the tests that name what a source defines, the likeliest first, and their folder.

    The folder mirrors the source's: the nearest that exists, `tests` itself for topos/*.py.
    """
    path = Path(file)
    folder = root / "tests" / Path(*path.parts[1:-1])
    while not folder.is_dir():
        folder = folder.parent
    words = {
        node.name
        for node in ast.walk(ast.parse((root / path).read_text()))
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("__")
    }
    stem = path.stem.lstrip("_")
    scores: Counter[str] = Counter()
    for test in sorted(folder.rglob("test_*.py")):
        named = words.intersection(re.findall(r"\w+", test.read_text()))
        score = len(named) + 100 * (stem in test.stem)
        if score:
            scores[str(test.relative_to(root))] = score
    return [name for name, _ in scores.most_common(8)], str(folder.relative_to(root))


def _run(mutants: Sequence[Mutant], jobs: int, limit: float) -> Iterator[Outcome]:
    """Tries the mutants in `jobs` copies of the checkout and prints each outcome."""
    equivalent = _equivalent()
    copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        for number in range(jobs):
            copies.put(_copy(Path(folder) / str(number)))

        def one(mutant: Mutant) -> Outcome:
            if (mutant.file, mutant.text, mutant.change.old, mutant.change.new) in equivalent:
                return Outcome(mutant, "equivalent", 0.0, "")
            copy = copies.get()
            try:
                return _try(mutant, copy, limit)
            finally:
                copies.put(copy)

        for position, done in enumerate(as_completed([pool.submit(one, m) for m in mutants]), 1):
            outcome = done.result()
            detail = outcome.mutant.text if outcome.verdict == "alive" else outcome.test
            print(
                f"{position:4}/{len(mutants)} {outcome.verdict:10} {outcome.seconds:5.0f} s  "
                f"{outcome.mutant}    {detail}",
                flush=True,
            )
            yield outcome


def _copy(folder: Path) -> Path:
    """Returns a copy of the checkout in a folder of its own, with the material beside it."""
    copy = folder / "checkout"
    copy.mkdir(parents=True)
    for name in COPIED:
        source = ROOT / name
        if not source.exists():
            continue
        if source.is_dir():
            shutil.copytree(
                source, copy / name, ignore=shutil.ignore_patterns("__pycache__"), symlinks=True
            )
        else:
            shutil.copy2(source, copy / name)
    if (ROOT.parent / "shared").is_dir():
        (folder / "shared").symlink_to(ROOT.parent / "shared")
    return copy


def _try(mutant: Mutant, copy: Path, limit: float) -> Outcome:
    """Returns the outcome of one mutant, whose file is as before afterwards."""
    start = time.perf_counter()
    path = copy / mutant.file
    source = path.read_text()
    first, folder = mirrored(mutant.file, copy)
    path.write_text(changed(source, mutant.change))
    # Bytecode is found by the second and the size of its source, which a change may both keep.
    os.utime(path, (start, start))
    try:
        further = ["tests/conformance"] if mutant.file.startswith(CONFORMANCE) else []
        for tests in (first, [folder], further):
            if tests and (test := _tests(tests, copy, limit)):
                verdict = "late" if test == "late" else "killed"
                named = "" if test == "late" else test
                return Outcome(mutant, verdict, time.perf_counter() - start, named)
    finally:
        path.write_text(source)
    return Outcome(mutant, "alive", time.perf_counter() - start, "")


def _tests(tests: Sequence[str], copy: Path, limit: float) -> str:
    """Returns the test that failed, `late` for one that never ended, "" where all passed."""
    command = [
        sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
        "-o", f"faulthandler_timeout={limit}", "-o", "faulthandler_exit_on_timeout=true",
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    # A session of its own, so that what the tests started can be stopped with them.
    process = subprocess.Popen(
        [*command, *tests], cwd=copy, env=environment, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=limit * LONGEST)
    except subprocess.TimeoutExpired:
        output = TIMEOUT
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.returncode in (0, NO_TESTS):
        return ""
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
    return failed[1] if failed else "late" if TIMEOUT in output else "the tests did not start"


def _equivalent() -> set[tuple[str, str, str, str]]:
    if not EQUIVALENT.exists():
        return set()
    entries = tomllib.loads(EQUIVALENT.read_text())["equivalent"]
    return {(entry["file"], entry["line"], entry["old"], entry["new"]) for entry in entries}


def _table(outcomes: Sequence[Outcome]) -> None:
    """Prints how many mutants of each package were killed."""
    packages: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        for name in ("/".join(outcome.mutant.file.split("/")[:2]), "all"):
            packages.setdefault(name, Counter())[outcome.verdict] += 1
    columns = ("killed", "late", "alive", "equivalent")
    print(f"\n{'package':24}{''.join(f'{each:>12}' for each in columns)}{'rate':>8}")
    for name, count in sorted(packages.items(), key=lambda item: (item[0] == "all", item[0])):
        killed = count["killed"] + count["late"]
        tried = killed + count["alive"]
        rate = f"{killed / tried:.0%}" if tried else "-"
        print(f"{name:24}{''.join(f'{count[each]:12}' for each in columns)}{rate:>8}")


def _unchanged(tests: Sequence[str], limit: float) -> int:
    """Runs the tests that failed on the unchanged sources, where all must pass."""
    # A parametrized test by its function: pytest prints identifiers that it does not read back.
    named = sorted({test.partition("[")[0] for test in tests if "::" in test})
    if not named:
        return 0
    with tempfile.TemporaryDirectory() as folder:
        failed = _tests(named, _copy(Path(folder) / "0"), limit)
    if failed:
        print(f"{failed} fails without any change: the count is too high")
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
