"""`topos export`: writes a model as a bundle."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from topos import bundle
from topos.cli._reporting import DONE, FAILED, UNUSABLE, complain
from topos.cli._shared import add_devices
from topos.cli._target import Exportable, exportable, of_target
from topos.errors import ArgumentError, FeedError, ToposError, UnavailableError

GIVEN: Final = 'TARGET gives values in a dict: {"plans": ..., "parameters": ..., "samples": [...]}'

HELP = "export a model as a bundle"
EPILOG = """\
TARGET names a plan, a list of plans, a pair (plans, parameters), a dict of what
topos.bundle.export takes, or a function without arguments that returns one of these:

    # model.py
    def exported():
        plans = [record(rows) for rows in (1, 8, 64)]
        return {"plans": plans, "parameters": trained(), "batched": True}

    topos export model.py:exported digits
    topos check digits

A bundle that stands at BUNDLE is replaced whole; anything else there is left alone.

exit status: 0 done; 1 the plans that TARGET names cannot be exported, or its own code failed;
2 wrong usage, a TARGET that names no plans, a BUNDLE that cannot be written, or something that
this installation lacks; 130 interrupted.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Adds what the command line takes."""
    parser.add_argument(
        "target", metavar="TARGET", help="package.module:name or path/to/file.py:name"
    )
    parser.add_argument("bundle", metavar="BUNDLE", help="the folder to write")
    parser.add_argument("--name", help="what the model is called (default: as its folder)")
    parser.add_argument(
        "--batched",
        action="store_true",
        default=None,
        help="leading extents are rows that leave each other alone, which is verified",
    )
    parser.add_argument(
        "--compatibility",
        metavar="VERSION",
        help="StableHLO version that the artifacts are for, such as 1.13.7, or current, week-4, "
        "week-12, max (default: week-12)",
    )
    add_devices(parser)
    parser.add_argument("--seed", type=int, help="of the sample's drawn inputs (default: 0)")


def run(chosen: Namespace) -> int:
    """Runs the command and returns the exit status."""
    try:
        # The user's own code may train for an hour, so what needs none of it comes first.
        _demand_writable(chosen)
    except (ToposError, OSError) as error:
        return _unusable(chosen, error)
    return of_target(chosen.target, exportable, lambda found: _export(chosen, found))


def _export(chosen: Namespace, found: Exportable) -> int:
    arguments = dict(found.arguments)
    for name in ("name", "batched", "compatibility", "seed", "compiled"):
        if getattr(chosen, name) is not None:
            arguments[name] = getattr(chosen, name)
    try:
        written = bundle.export(chosen.bundle, **arguments)
    except (ArgumentError, UnavailableError, OSError) as error:
        return _unusable(chosen, error)
    except FeedError as error:
        # Whoever gave a dict already knows of it.
        form = "" if found.named else f"\n{GIVEN}"
        return _fail(f"{chosen.target}: {error}{form}", FAILED)
    except ToposError as error:
        return _fail(f"{chosen.target}: {error}", FAILED)
    print(summary(chosen.bundle, written))
    return DONE


def summary(path: str, written: bundle.Bundle) -> str:
    """Returns what was written and where, in two lines, and then for what it was compiled."""
    rows = [str(program.rows) for program in written.programs if program.rows is not None]
    unit = "row" if rows == ["1"] else "rows"
    batches = f", {' or '.join(rows)} {unit} a call" if rows else ""
    inputs, results = (", ".join(map(str, ports)) for ports in (written.inputs, written.results))
    forms = dict.fromkeys(form for each in written.programs for form in map(_form, each.compiled))
    head = f"{path}: {written.name} {written.version}{batches}"
    return "\n".join([head, f"({inputs}) -> ({results})", *forms])


def _form(form: bundle.CompiledForm) -> str:
    made = ", ".join(form.fits[part] for part in ("versions", "processor") if part in form.fits)
    return f"compiled for {form.device} by {form.runtime}: {made}"


def _demand_writable(chosen: Namespace) -> None:
    """Raises what an export would for its folder, its name and its readers, whatever it holds."""
    _ = bundle.export
    from topos.bundle.compiled import devices_of
    from topos.bundle.manifest import demand_name
    from topos.bundle.portable import version_of
    from topos.bundle.replacement import demand_place

    if chosen.compatibility is not None:
        version_of(chosen.compatibility)
    if chosen.compiled is not None:
        devices_of(chosen.compiled)
    demand_name(chosen.name)
    demand_place(Path(chosen.bundle))


def _unusable(chosen: Namespace, error: Exception) -> int:
    told = f"{chosen.bundle}: {error.strerror or error}" if isinstance(error, OSError) else error
    return _fail(str(told), UNUSABLE)


def _fail(message: str, status: int) -> int:
    complain(message)
    return status
