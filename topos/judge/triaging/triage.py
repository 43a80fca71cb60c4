"""Triage: a folder of modules on a runtime, and the few faults that explain what is wrong."""

from __future__ import annotations

import json
import os
import pickle
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Final

from topos import runtimes
from topos.engine import Numerics
from topos.errors import ArgumentError, UnavailableError
from topos.judge.case import SAMPLES
from topos.judge.command import SECONDS, words_of
from topos.judge.progress import Stage, Watch, unwatched
from topos.judge.target import TargetLike
from topos.judge.triaging.examining import FAILED, PASSED, REFUSED, WRONG, Found
from topos.judge.triaging.faults import Fault, faults_of
from topos.judge.triaging.folder import ARCHIVE, Subject, Terms, subjects
from topos.judge.triaging.workers import MIB, Limits, worked
from topos.runtimes._inputs import EXTENT

# What is found of each module goes there at once, a line a module.
FOUND: Final = "found.jsonl"


@dataclass(frozen=True)
class Triage:
    """What was found of each module of a folder, by its path from there."""

    folder: Path
    terms: Terms
    found: Mapping[str, Found]

    @property
    def runtime(self) -> str:
        """The runtime's name, its command line, or the name of the function."""
        return self.terms.named

    @cached_property
    def faults(self) -> list[Fault]:
        """The faults, those that most modules show first."""
        return faults_of([*self.found.items()])

    @property
    def refused(self) -> dict[str, str]:
        """The modules that nothing is said of, each with the reason."""
        return {
            name: each["reason"] for name, each in self.found.items() if each["outcome"] == REFUSED
        }

    @property
    def counts(self) -> dict[str, int]:
        """How many modules passed, are wrong, failed and were refused."""
        outcomes = [each["outcome"] for each in self.found.values()]
        return {each: outcomes.count(each) for each in (PASSED, WRONG, FAILED, REFUSED)}

    @property
    def passed(self) -> bool:
        """Whether no module is wrong and the runtime failed at none."""
        return not (self.counts[WRONG] or self.counts[FAILED])

    def command(self, name: str) -> str:
        """Returns the command that reduces a module to what shows its fault."""
        path = self.folder / name
        archive = path.with_suffix(ARCHIVE)
        given = ["--args", str(archive)] if archive.is_file() else []
        return shlex.join(["topos", "reduce", str(path), *given, *self.terms.words(bool(given))])

    def document(self) -> dict[str, Any]:
        """Returns the triage as JSON has it."""
        return {
            "folder": str(self.folder),
            "runtime": self.runtime,
            "passed": self.passed,
            "counts": self.counts,
            "faults": [
                {**each.document(), "reduce": self.command(each.modules[0])} for each in self.faults
            ],
            "refused": self.refused,
            "modules": dict(self.found),
        }


def triage(
    folder: str | os.PathLike[str],
    runtime: TargetLike = "xla",
    *,
    out: str | os.PathLike[str] | None = None,
    inputs: Sequence[str] = (),
    extent: int = EXTENT,
    seed: int = 0,
    samples: int = SAMPLES,
    numerics: Numerics | str = Numerics.FAST,
    options: Mapping[str, Any] | None = None,
    jobs: int = 1,
    seconds: float = SECONDS,
    memory: int | None = None,
    watch: Watch = unwatched,
) -> Triage:
    """Returns what a runtime gets wrong of the modules of a folder, grouped by fault.

    Every module is graded in one of `jobs` worker processes, and bisected where it does not pass.
    Its arguments are those of the archive of the same name beside it, or drawn. A module takes
    `seconds` at most to be graded, and as many to be bisected; no process takes more than `memory`
    MiB, by default an equal share of the machine's. What is found goes to `found.jsonl` in the
    folder `out` at once, and a later call with the same `out` does only what is left. A function
    must be one that another process can import. The other arguments are those of `judge.grade`;
    `watch` is called before every module.

    Raises `UnavailableError` where the folder or the runtime is not there, and `ArgumentError` for
    a folder without modules. What is wrong with a module or its run is only told.
    """
    terms = Terms(runtime, Numerics.of(numerics), dict(options or {}), tuple(inputs), extent, seed,
                  samples)  # fmt: skip
    _demand_ready(terms)
    if type(jobs) is not int or jobs < 1:
        raise ArgumentError(f"jobs are a number from 1 on, got {jobs!r}")
    limits = Limits(seconds, _share(jobs) if memory is None else memory)
    every = [*subjects(Path(folder), terms)]
    with _record(out) as record:
        known = _known(record, limits)
        left = [*{each.key: each for each in every if each.key not in known}.values()]
        for found in _watched(every, left, worked(left, terms, limits, jobs), limits, watch):
            known[found["key"]] = found
            if record is not None:
                record.write(json.dumps(found) + "\n")
                record.flush()
    return Triage(Path(folder), terms, {each.name: known[each.key] for each in every})


def _watched(
    every: Sequence[Subject],
    left: Sequence[Subject],
    found: Iterator[tuple[Subject, Found]],
    limits: Limits,
    watch: Watch,
) -> Iterator[Found]:
    """Yields what is found with the key of its module, and tells of it."""
    done, bad = len(every) - len(left), 0
    told = f"{done} done before" if done else "starting"
    watch(Stage(done, len(every), told))
    for subject, each in found:
        done += 1
        bad += each["outcome"] in (WRONG, FAILED)
        watch(Stage(done, len(every), f"{subject.name} {each['outcome']}, {bad} so far"))
        # With other limits it may go otherwise.
        limited = each["outcome"] in (FAILED, REFUSED) or "note" in each
        bounds = {"limits": [*limits]} if limited else {}
        yield {"key": subject.key, "file": subject.name, **bounds, **each}


@contextmanager
def _record(out: str | os.PathLike[str] | None) -> Iterator[IO[str] | None]:
    """Opens the file of what is found, to read it and to add to its end."""
    if out is None:
        yield None
        return
    path = Path(out) / FOUND
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Whatever bytes stand there, as many are read as are cut off again.
        file = path.open("a+", encoding="utf-8", errors="surrogateescape", newline="\n")
    except OSError as error:
        raise UnavailableError(f"{path}: {error.strerror}") from error
    with file:
        _lock(file, path)
        yield file


def _lock(file: IO[str], path: Path) -> None:
    """Keeps a file for this process until it is closed; two runs would cut off each other's end."""
    # Only POSIX has it.
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UnavailableError(f"{path}: another triage writes there; name another --out") from None
    # Some network folders have no locks.
    except OSError:
        return


def _known(record: IO[str] | None, limits: Limits) -> dict[str, Found]:
    """Returns what is found already by key, but for what failed or was refused with other limits.

    A last line that a killed process left torn is cut off.
    """
    if record is None:
        return {}
    record.seek(0)
    text = record.read()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        record.truncate(len(whole.encode(errors="surrogateescape")))
    known: dict[str, Found] = {}
    for line in whole.split("\n"):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if _is_whole(found) and found.get("limits") in (None, [*limits]):
            known[found["key"]] = found
    return known


def _is_whole(found: object) -> bool:
    """Returns whether a line has what every one has that a triage wrote."""
    return (
        isinstance(found, dict)
        and isinstance(found.get("key"), str)
        and found.get("outcome") in (PASSED, WRONG, FAILED, REFUSED)
        and isinstance(found.get("reason"), str)
        and (found["outcome"] == REFUSED or isinstance(found.get("verdict"), str))
    )


def _demand_ready(terms: Terms) -> None:
    """Raises what stands in the way of any module: the runtime, or what the terms are."""
    runtime = terms.runtime
    if not isinstance(runtime, str):
        try:
            pickle.dumps(runtime)
        # Whatever the function holds may say no.
        except Exception as error:
            needs = "a triage needs a function that another process can import"
            raise ArgumentError(f"{needs}, got {runtime!r}: {error}") from error
        return
    if runtime in runtimes.names():
        status = runtimes.load(runtime).status()
        if not status.ready:
            raise UnavailableError(status.detail)
        return
    words = words_of(runtime)
    if shutil.which(words[0]) is None:
        raise UnavailableError(f"{words[0]}: No such file or directory")


def _share(jobs: int) -> int | None:
    """Returns how many MiB of this machine's memory each job has, where the system tells."""
    try:
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
    return pages * size // MIB // jobs
