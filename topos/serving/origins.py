"""Origins: what a caller names of bundles and runtimes, as it is told to every worker."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from topos.engine import Numerics
from topos.errors import ArgumentError
from topos.serving.messages import Origin, encode
from topos.serving.settings import shown

Folder = str | os.PathLike[str]


def origins_of(
    bundles: Folder | Sequence[Folder],
    runtime: str,
    numerics: Numerics | str,
    options: Mapping[str, Any] | None,
    cache: Folder | None,
    compiled: bool = False,
) -> list[Origin]:
    """Returns the origin of each bundle, in their order; raises `ArgumentError`."""
    if not isinstance(runtime, str):
        raise ArgumentError(f"runtime needs the name of one, got {shown(runtime)}")
    posture = Numerics.of(numerics).value
    plain = _options(options)
    folder = None if cache is None else _absolute("cache", cache)
    paths = [_absolute("bundles", path) for path in _paths(bundles)]
    if not isinstance(compiled, bool):
        raise ArgumentError(f"compiled needs True or False, got {shown(compiled)}")
    origins = [Origin(path, runtime, posture, plain, folder, compiled) for path in paths]
    for origin in origins:
        _require_plain(origin)
    return origins


def _paths(bundles: Folder | Sequence[Folder]) -> Sequence[Folder]:
    if isinstance(bundles, str | os.PathLike):
        return [bundles]
    try:
        paths = list(bundles)
    except TypeError:
        raise ArgumentError(f"bundles need a folder or more, got {shown(bundles)}") from None
    if not paths:
        raise ArgumentError("a session needs one bundle or more, got none")
    return paths


def _absolute(name: str, path: Folder) -> str:
    """Returns a path of text: bytes are no path here, for messages hold text."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or "\0" in text:
        raise ArgumentError(f"{name} needs the path of a folder, got {shown(path)}")
    # Not `abspath`, which takes `link/..` for the folder that holds the link.
    return os.path.join(os.getcwd(), text)


def _options(options: Mapping[str, Any] | None) -> dict[str, Any]:
    if options is None:
        return {}
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
        raise ArgumentError(f"options need names mapped to values, got {shown(options)}")
    return dict(options)


def _require_plain(origin: Origin) -> None:
    try:
        encode(origin)
    except UnicodeEncodeError as error:
        raise ArgumentError(f"a session needs paths and options of text, got {error}") from None
    except (TypeError, OverflowError) as error:
        raise ArgumentError(f"options need numbers and texts, got {origin.options}") from error
