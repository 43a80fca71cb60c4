"""Shards: the files of one checkpoint, found by a path, and the tensors that lie in them."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

from topos import Element, Tensor, TensorType
from topos.errors import ArgumentError, FeedError
from topos.neural.foreign_file import few
from topos.neural.shard_index import demand_agreement, shard_of_each
from topos.neural.tensor_file import TensorFile, opened

# What Hugging Face's libraries call the one file of a checkpoint, or the index of several.
ENDS: Final = (".safetensors", ".safetensors.index.json")
STANDARD: Final = tuple(f"model{end}" for end in ENDS)


class Shards:
    """The open files of a checkpoint: the tensors of all of them, each by its name."""

    def __init__(self, files: Sequence[TensorFile]) -> None:
        self._files = {name: file for file in files for name in file.names}
        self.names: tuple[str, ...] = tuple(self._files)
        self.metadata: Mapping[str, str] = dict(
            pair for file in files for pair in file.metadata.items()
        )

    def type(self, name: str, wanted: Element | None = None) -> TensorType | str:
        """Returns the type of a tensor as `TensorFile` does."""
        return self._files[name].type(name, wanted)

    def tensor(self, name: str, wanted: Element | None = None) -> Tensor:
        """Returns a tensor as `TensorFile` does."""
        return self._files[name].tensor(name, wanted)


@contextmanager
def opened_shards(path: str | os.PathLike[str]) -> Iterator[Shards]:
    """Opens the checkpoint at `path`: a file, the index of several, or the folder of either.

    Raises `FeedError` where a file is damaged or no checkpoint, and where a folder holds several;
    `OSError` where nothing can be opened, `ArgumentError` for what is no path, `UnavailableError`
    without the package.
    """
    target = _text(path)
    if stat.S_ISDIR(os.stat(target).st_mode):
        target = _only(target)
    with ExitStack() as stack:
        if not target.endswith(".json"):
            yield Shards([stack.enter_context(opened(target))])
            return
        placed = shard_of_each(target)
        files = {}
        for shard in sorted({*placed.values()}):
            beside = os.path.join(os.path.dirname(target), shard)
            if not os.path.lexists(beside):
                raise FeedError(f"{target} needs {shard} beside it: copy or download it")
            files[shard] = stack.enter_context(opened(beside))
        demand_agreement(target, placed, {shard: file.names for shard, file in files.items()})
        yield Shards([*files.values()])


def _text(path: object) -> str:
    """Returns a path as text; raises `ArgumentError` for what is none."""
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str) or "\0" in text:
        got = ascii(text) if isinstance(text, str) else type(path).__name__
        raise ArgumentError(f"a checkpoint needs the path of a file or a folder, got {got}")
    return text


def _only(folder: str) -> str:
    """Returns the checkpoint of a folder: of the standard name where there is one."""
    names = sorted(os.listdir(folder))
    own = [name for name in names if name in STANDARD]
    own = own or [name for name in names if name.endswith(ENDS)]
    indexes = [os.path.join(folder, name) for name in own if name.endswith(".json")]
    # What an index names is a part of its checkpoint, and none by itself.
    parts = {shard for index in indexes for shard in shard_of_each(index).values()}
    candidates = [name for name in own if name not in parts]
    if len(candidates) > 1:
        raise FeedError(f"{folder} holds several checkpoints, load one: {few(candidates)}")
    if not candidates:
        told = f"the folder holds neither {STANDARD[0]} nor {STANDARD[1]}"
        raise OSError(errno.ENOENT, told, folder)
    return os.path.join(folder, candidates[0])
