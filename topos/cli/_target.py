"""Targets: what a command line names of a user's own code."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Final, NamedTuple, TypeVar

from topos import bundle
from topos.cli._reporting import FAILED, UNUSABLE, complain
from topos.engine import Plan
from topos.errors import ArgumentError, UnavailableError

Found = TypeVar("Found")
PASSING: Final = frozenset({"topos", "importlib"})

FORMS: Final = "MODULE:NAME or FILE.py:NAME"
RETURNS: Final = (
    "a plan, a list of plans, (plans, parameters), or a dict of what topos.bundle.export takes"
)


class Exportable(NamedTuple):
    """Arguments of `topos.bundle.export` without the path, and whether a dict named them."""

    arguments: dict[str, Any]
    named: bool


def exportable(target: str) -> Exportable:
    """Returns what a target names, to be exported.

    Raises `ArgumentError` where the target names nothing, or something that cannot be exported.
    What the user's own code raises passes.
    """
    found = _found(target)
    return Exportable(_arguments(target, found), isinstance(found, Mapping))


def planned(target: str) -> Plan:
    """Returns the one plan that a target names; raises as `exportable` does."""
    found = _found(target)
    if not isinstance(found, Plan):
        raise ArgumentError(f"{target} needs a plan, got {type(found).__name__}")
    return found


def of_target(target: str, read: Callable[[str], Found], use: Callable[[Found], int]) -> int:
    """Reads a target, passes what it names to `use`, and returns the exit status.

    What the user's own code raises is told with its place there.
    """
    try:
        found = read(target)
    except (ArgumentError, UnavailableError) as error:
        complain(str(error))
        return UNUSABLE
    # The user's own code may raise anything, and the place in it is what helps.
    except Exception as error:
        error.__traceback__ = _own(error.__traceback__)
        traceback.print_exception(error)
        complain(f"{target} failed")
        return FAILED
    return use(found)


def _own(trace: TracebackType | None) -> TracebackType | None:
    """Returns a trace from the first place in the user's own code."""
    while trace is not None and trace.tb_next is not None:
        if trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] not in PASSING:
            break
        trace = trace.tb_next
    return trace


def _found(target: str) -> Any:
    """Returns what a target names, or what the function that it names returns."""
    place, colon, name = target.rpartition(":")
    if not colon or not place or not name:
        raise ArgumentError(f"a target needs the form {FORMS}, got {target!r}")
    module = _from_file(Path(place)) if place.endswith(".py") else _from_name(place)
    try:
        found = getattr(module, name)
    except AttributeError:
        offered = sorted(_offered(module))
        near = difflib.get_close_matches(name, offered, 1)
        has = f"did you mean {near[0]!r}? It has " if near else "it has "
        has += ", ".join(offered) or "nothing to export"
        raise ArgumentError(f"{place} has no {name!r}; {has}") from None
    return _called(target, found) if callable(found) and not isinstance(found, Plan) else found


def _from_name(name: str) -> ModuleType:
    # A console script starts without the working folder, where `python -m` would look.
    _look_in(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # One that the user's module itself looks for is his to hear of.
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise ArgumentError(
            f"no module is called {name!r}; a file is named as path/to/file.py:name"
        ) from None


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ArgumentError(f"a target needs {FORMS}, and {path} is no file")
    _look_in(path.resolve().parent)
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    # Dataclasses and the like look their module up by its name.
    sys.modules[path.stem] = module
    specification.loader.exec_module(module)
    return module


def _look_in(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _called(target: str, function: Callable[[], Any]) -> Any:
    needed = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if needed:
        needs = ", ".join(needed)
        raise ArgumentError(f"{target} is called without arguments, but needs {needs}")
    return function()


def _arguments(target: str, found: Any) -> dict[str, Any]:
    if isinstance(found, Plan):
        return {"plans": found}
    if isinstance(found, Mapping):
        return _named(target, found)
    if isinstance(found, tuple) and len(found) == 2 and not isinstance(found[1], Plan):
        return {**_arguments(target, found[0]), "parameters": found[1]}
    if isinstance(found, list | tuple) and found and all(isinstance(each, Plan) for each in found):
        return {"plans": found}
    raise ArgumentError(f"{target} needs {RETURNS}, got {type(found).__name__}")


def _named(target: str, found: Mapping[str, Any]) -> dict[str, Any]:
    known = [name for name in inspect.signature(bundle.export).parameters if name != "path"]
    for name in found:
        if name not in known:
            raise ArgumentError(f"{target} gives {name!r}, and an export takes {', '.join(known)}")
    if "plans" not in found:
        raise ArgumentError(f"{target} gives no 'plans', which an export needs")
    return dict(found)


def _offered(module: ModuleType) -> list[str]:
    """Returns the names of a module that could be meant."""
    return [
        name
        for name, own in vars(module).items()
        if not name.startswith("_")
        and (isinstance(own, Plan) or getattr(own, "__module__", None) == module.__name__)
    ]
