"""Indexes: which shard of a checkpoint holds each tensor, as Hugging Face's libraries write it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from topos.errors import FeedError
from topos.neural.foreign_file import FAULTS, LONGEST, demand_regular, few, recognized


def shard_of_each(index: str) -> dict[str, str]:
    """Returns the shard of each tensor, a path from the folder of `index`.

    Raises `FeedError` where the file is damaged, no index, or names what is outside its folder;
    `OSError` where it cannot be read.
    """
    length = demand_regular(index)
    if length > LONGEST:
        raise _damaged(index, f"it has {length} bytes, too many for one")
    try:
        content = json.loads(Path(index).read_bytes(), object_pairs_hook=_each_once)
    except OSError:
        raise
    except FAULTS as error:
        what = recognized(index)
        if what is not None:
            raise FeedError(f"{index} is no index of a checkpoint but {what}") from None
        raise _damaged(index, str(error)) from None
    placed = content.get("weight_map") if isinstance(content, dict) else None
    if not isinstance(placed, dict):
        raise _damaged(index, "it has no weight_map, from tensors to files")
    if not placed:
        raise _damaged(index, "its weight_map is empty")
    outside = [shard for shard in placed.values() if not _is_beside(shard)]
    if outside:
        got = few(dict.fromkeys(map(repr, outside)))
        raise FeedError(f"{index} needs files of its own folder, got {got}")
    return placed


def demand_agreement(
    index: str, placed: Mapping[str, str], held: Mapping[str, Sequence[str]]
) -> None:
    """Raises `FeedError` where the shards do not hold each tensor once, and where it is placed.

    `placed` has the shard of each tensor, and `held` the tensors of each shard.
    """
    found: dict[str, str] = {}
    for shard, names in held.items():
        for name in names:
            first = found.setdefault(name, shard)
            if first != shard:
                raise FeedError(f"{index} needs each tensor once: {first} and {shard} hold {name}")
    lacking = [name for name, shard in placed.items() if found.get(name) != shard]
    if lacking:
        shard = placed[lacking[0]]
        names = few([name for name in lacking if placed[name] == shard])
        raise FeedError(f"{index} and its shards do not fit: {shard} lacks {names}")


def _damaged(index: str, reason: str) -> FeedError:
    return FeedError(f"{index} cannot be read as the index of a checkpoint: {reason}")


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns an object of JSON; raises `ValueError` where it has a name twice."""
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"it has {twice!r} twice")
    return content


def _is_beside(shard: object) -> bool:
    """Returns whether a shard's name stays in the folder of the index, on any system."""
    if not isinstance(shard, str) or not shard.strip("./") or "\0" in shard:
        return False
    # A drive and a backslash mean something on one system alone, and no library writes them.
    foreign = "\\" in shard or PureWindowsPath(shard).anchor or PureWindowsPath(shard).drive
    return not foreign and ".." not in PurePosixPath(shard).parts
