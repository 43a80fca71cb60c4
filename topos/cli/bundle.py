"""`topos bundle`: writes a StableHLO module from anywhere as a bundle."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from topos import bundle
from topos.cli._reporting import DONE, status_of
from topos.cli._shared import add_devices, content_of, naming, whole
from topos.cli.export import summary
from topos.errors import ArgumentError, FeedError, UnavailableError
from topos.neural.tensor_file import opened

GIVEN: Final = (
    "--names renames arguments to what --weights and --sample call them; --ranges draws integers"
)
HELP = "write a StableHLO module from anywhere as a bundle"
EPILOG = """\
MODULE is text, MLIR bytecode, a portable artifact, or what jax.export serializes. The bundle has
what one of topos export has: an oracle's sample and envelopes, for topos check, bench and serve.

    topos bundle model.mlir --weights model.safetensors --names w,b,image,logits --out digits
    topos bundle model.mlir --rows 1,8,64     # a program each, where the module leaves rows open
    topos check digits

--weights fills the arguments of @main whose names its entries have, without any conversion; the
others are inputs of each call. Without --names, arguments have the names that the module carries:
topos.name, jax's names, locations, or else arg0, arg1, result0. Inputs that --sample leaves out are
drawn from --seed: normal floats, truth values, and integers of 8 bits. Wider integers need --ranges
or --sample. A bundle that stands at FOLDER is replaced whole; anything else is left alone.

exit status: 0 done; 1 the module cannot be a bundle, or weights or samples do not fit; 2 wrong
usage, a file that cannot be read, a FOLDER that cannot be written, or something that this
installation lacks; 130 interrupted.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Adds what the command line takes."""
    parser.add_argument(
        "modules", metavar="MODULE", nargs="+", help="a file; several need --batched"
    )
    parser.add_argument(
        "--out", metavar="FOLDER", help="where to (default: MODULE's name without its ending)"
    )
    parser.add_argument(
        "--weights",
        metavar="FILE",
        help="arguments that stay: a safetensors file, or a folder or an index of several",
    )
    parser.add_argument(
        "--partial", action="store_true", help="leave out weights that no argument is called by"
    )
    parser.add_argument(
        "--names",
        metavar="NAMES",
        help="of the arguments and then of the results, as a,b,c; or a file that ends in .json, "
        "with a list of these or an object of new names by those that the module carries",
    )
    parser.add_argument(
        "--sample",
        metavar="FILE",
        action="append",
        default=[],
        help="safetensors file with inputs of a call by name; may be given again",
    )
    parser.add_argument(
        "--ranges",
        metavar="NAME=0:9,...",
        type=_ranges,
        default={},
        help="least integer of an input that is drawn, and the one after the greatest",
    )
    parser.add_argument(
        "--shapes",
        metavar="NAME=2x3,...",
        type=_shapes,
        default={},
        help="shapes of arguments that the module leaves open",
    )
    parser.add_argument(
        "--rows",
        metavar="N,...",
        type=_rows,
        default=(),
        help="numbers for the leading extents that the module leaves open; implies --batched",
    )
    parser.add_argument(
        "--batched",
        action="store_true",
        help="leading extents are rows that leave each other alone, which is verified",
    )
    parser.add_argument("--name", help="what the model is called (default: as its folder)")
    parser.add_argument(
        "--compatibility",
        metavar="VERSION",
        default="week-12",
        help="StableHLO version that the artifact is for, such as 1.13.7, or current, week-4, "
        "week-12, max (default: %(default)s)",
    )
    add_devices(parser)
    parser.add_argument("--seed", type=whole, default=0, help="of drawn inputs (default: 0)")


def run(chosen: Namespace) -> int:
    """Runs the command and returns the exit status."""
    if chosen.out is None and chosen.modules[0] == "-":
        raise ArgumentError("a module on standard input needs --out, the folder to write")
    return status_of(lambda: _bundle(chosen), ", ".join(chosen.modules))


def _bundle(chosen: Namespace) -> int:
    out = chosen.out or Path(chosen.modules[0]).name.split(".")[0]
    modules = [content_of(path) for path in chosen.modules]
    names, samples = _names(chosen.names), [_sample(path) for path in chosen.sample]
    try:
        written = bundle.export_module(
            out,
            modules,
            chosen.weights,
            names=names,
            samples=samples,
            ranges=chosen.ranges,
            shapes=chosen.shapes,
            rows=chosen.rows,
            batched=chosen.batched,
            partial=chosen.partial,
            name=chosen.name,
            compatibility=chosen.compatibility,
            seed=chosen.seed,
            compiled=chosen.compiled or (),
        )
    except FeedError as error:
        raise FeedError(f"{error}\n{GIVEN}") from error
    except OSError as error:
        named = out if error.filename is None else error.filename or "''"
        told = f"{named}: {error.strerror or error}"
        raise UnavailableError(told) from error
    print(summary(out, written))
    return DONE


def _names(text: str | None) -> Any:
    """Returns the names of a command line, or those of a file that it names."""
    if text is None:
        return None
    if not text.endswith(".json"):
        return [name.strip() for name in text.split(",")]
    with naming(text):
        data = Path(text).read_bytes()
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"{text} is no JSON: {error}") from None


def _sample(path: str) -> Mapping[str, Any]:
    with naming(path), opened(path) as file:
        return {name: file.tensor(name) for name in file.names}


def _shapes(text: str) -> dict[str, tuple[int, ...]]:
    assigned = _assigned(text, "2x3")
    return {
        name: tuple(whole(extent) for extent in extents.split("x") if extents)
        for name, extents in assigned.items()
    }


def _ranges(text: str) -> dict[str, tuple[int, int]]:
    found = {}
    for name, range in _assigned(text, "0:9").items():
        least, _, beyond = range.partition(":")
        try:
            found[name] = int(least), int(beyond)
        except ValueError:
            raise ArgumentTypeError(f"needs NAME=0:9, got {name}={range}") from None
    return found


def _assigned(text: str, form: str) -> dict[str, str]:
    """Returns what each name of a list of assignments is given."""
    found: dict[str, str] = {}
    for part in text.split(","):
        name, _, value = part.rpartition("=")
        if not name:
            raise ArgumentTypeError(f"needs NAME={form}, got {part!r}")
        if name in found:
            raise ArgumentTypeError(f"needs each name once, got {name!r} twice")
        found[name] = value
    return found


def _rows(text: str) -> tuple[int, ...]:
    return tuple(whole(part, 1) for part in text.split(","))
