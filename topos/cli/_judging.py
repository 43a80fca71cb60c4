"""What the commands of the judge share: the subject, its inputs, the runtime, and JSON."""

from __future__ import annotations

import errno
import json
import os
import stat
import tempfile
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from topos import bundle, runtimes
from topos.cli._arguments import archived
from topos.cli._reporting import status_of, terminable
from topos.cli._shared import naming, of_file, whole
from topos.engine import Numerics
from topos.errors import ArgumentError
from topos.judge.case import GIVEN
from topos.judge.cases import INPUTS, RANDOM, argument_types
from topos.judge.manifests import MANIFEST, is_case
from topos.runtimes._inputs import EXTENT
from topos.stablehlo import parse

RUNTIME: Final = "xla"
RUNTIMES: Final = """\
R is the name of a runtime, or a command line, called as R MODULE ARGS.npz RESULTS.npz with the
names of `topos run`. A runtime runs in a process of its own.
"""
TARGETS: Final = f"""\
{RUNTIMES}
exit status: 0 nothing is wrong or suspect; 1 something is, the runtime failed, or the module is
refused; 2 wrong usage, an unreadable file, or something that this installation lacks; 130
interrupted.
"""


def add_judge_arguments(parser: ArgumentParser, *, several: bool = False) -> None:
    """Adds the subject of a command, its inputs, the runtime that is judged, and JSON."""
    add_subject(parser)
    add_inputs(parser)
    add_target(parser, several=several)
    add_outputs(parser)


def add_subject(parser: ArgumentParser) -> None:
    """Adds the module or the bundle that a command is about."""
    parser.add_argument(
        "file", metavar="FILE", help="a module with @main, - for stdin, or the folder of a bundle"
    )


def add_outputs(parser: ArgumentParser) -> None:
    """Adds where the verdicts go beside standard output."""
    parser.add_argument("--json", metavar="FILE", help="where the verdicts go as JSON")
    parser.add_argument(
        "--html", metavar="FILE", help="where they go as a page, with the distances of each result"
    )


def add_inputs(parser: ArgumentParser, *, archive: bool = True) -> None:
    """Adds where the arguments of a module come from, and the seed of all that is drawn.

    Without `archive` the command itself knows where given arguments lie.
    """
    source = "an archive"
    if archive:
        parser.add_argument("--args", metavar="A.npz", help="the arguments, arg0, arg1, ...")
        source = "--args"
    parser.add_argument(
        "--inputs",
        metavar="SETS",
        type=_sets,
        default=(),
        help=f"sets of inputs, some of {GIVEN},{','.join(INPUTS)} (default: {GIVEN} with {source}, "
        f"else {RANDOM})",
    )
    parser.add_argument(
        "--extent",
        metavar="N",
        type=whole,
        default=EXTENT,
        help="of drawn inputs: what becomes of open extents (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        metavar="N",
        type=whole,
        default=0,
        help="of drawn inputs and of the samples (default: %(default)s)",
    )


def add_target(parser: ArgumentParser, *, several: bool = False) -> None:
    """Adds the runtime that is judged, or several of them, and its numerics."""
    told = f"one of {', '.join(runtimes.names())}, or a command"
    if several:
        told = f"{told}; may be given again (default: {RUNTIME})"
        parser.add_argument("--runtime", metavar="R", action="append", help=told)
    else:
        told = f"{told} (default: %(default)s)"
        parser.add_argument("--runtime", metavar="R", default=RUNTIME, help=told)
    parser.add_argument(
        "--numerics",
        choices=[each.value for each in Numerics],
        default=Numerics.FAST.value,
        help="of a runtime that has a name (default: %(default)s)",
    )
    parser.add_argument(
        "--option",
        metavar="NAME=VALUE",
        type=_option,
        action="append",
        default=[],
        help="an option of a runtime that has a name; may be given again",
    )


def _option(text: str) -> tuple[str, Any]:
    """Returns the name and the value of an option, which may be a truth value or a number."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ArgumentTypeError(f"needs NAME=VALUE, got {text!r}")
    if value.lower() in ("true", "false"):
        return name, value.lower() == "true"
    return name, int(value) if value.lstrip("-").isdigit() else value


def _sets(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    known = (GIVEN, *INPUTS)
    for name in names:
        if name not in known:
            raise ArgumentTypeError(f"sets of inputs are some of {','.join(known)}, got {name!r}")
    return names


def of_subject(chosen: Namespace, action: Callable[[Any], None]) -> int:
    """Runs `action` on the module or the bundle of a command line and returns the exit status.

    SIGTERM unwinds it, so that no half of a file is left, and no runtime.
    """
    with terminable():
        return _of_subject(chosen, action)


def _of_subject(chosen: Namespace, action: Callable[[Any], None]) -> int:
    if chosen.file == "-" or not os.path.isdir(chosen.file):
        return of_file(chosen.file, action)

    def loaded() -> int:
        _demand_bundle(chosen.file)
        action(bundle.Bundle.load(chosen.file))
        return 0

    return status_of(loaded)


def _demand_bundle(folder: str) -> None:
    """Raises `ArgumentError` for a folder of another kind, with the command that takes it."""
    if is_case(folder):
        raise ArgumentError(
            f"{folder} is a case: topos judge takes it; give its module as {folder}/module.mlir"
            f" with --args {folder}/args.npz"
        )
    path = Path(folder)
    if not (path / MANIFEST).exists() and any(path.glob("*.mlir*")):
        raise ArgumentError(
            f"{folder} is a folder of modules: name one, or give all to topos triage"
        )


def inputs_of(chosen: Namespace, subject: Any) -> dict[str, Any]:
    """Returns the arguments of `cases_of` that a command line gives for a subject."""
    given = chosen.args is not None
    if given and not isinstance(subject, str):
        raise ArgumentError(f"{chosen.file}: a bundle brings its own inputs, got --args")
    if not given and GIVEN in chosen.inputs:
        raise ArgumentError(f"--inputs {GIVEN} needs --args")
    arguments = archived(chosen.args, argument_types(parse(subject).verify())) if given else None
    return {
        "arguments": arguments,
        "inputs": chosen.inputs,
        "seed": chosen.seed,
        "extent": chosen.extent,
    }


def target_of(chosen: Namespace) -> dict[str, Any]:
    """Returns the arguments of `judge.grade` that say which runtime is judged."""
    options = dict(chosen.option)
    return {"runtime": chosen.runtime, "numerics": chosen.numerics, "options": options}


def demand_outputs(*paths: str | None) -> None:
    """Raises `UnavailableError` for files that cannot be written, before the work for them."""
    for path in paths:
        if path is None:
            continue
        with naming(path):
            folder = Path(path).absolute().parent
            if Path(path).is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            # A file that is there keeps its content until the work is done.
            if not Path(path).exists() and not folder.is_dir():
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            if not os.access(path if Path(path).exists() else folder, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def written(path: str | None, text: str) -> None:
    """Writes a text to a file, all of it or nothing, if the command line names one."""
    if path is not None:
        with naming(path):
            _write(Path(os.path.realpath(path)), text.encode(errors="backslashreplace"))


def _write(target: Path, content: bytes) -> None:
    if target.exists() and not target.is_file():
        # A pipe or a device, which takes what it can.
        target.write_bytes(content)
        return
    mode = target.stat().st_mode if target.exists() else None
    handle, partial = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=".partial")
    try:
        with open(handle, "wb") as file:
            file.write(content)
        mask = os.umask(0o022)
        os.umask(mask)
        os.chmod(partial, 0o666 & ~mask if mode is None else stat.S_IMODE(mode))
        os.replace(partial, target)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise


def as_json(document: Mapping[str, Any]) -> str:
    """Returns a document as the text of a JSON file."""
    return json.dumps(document, indent=2) + "\n"
