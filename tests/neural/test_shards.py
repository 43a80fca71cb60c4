"""Shards: a checkpoint found by a folder, an index or a file, and every fault of it told."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.exact import exactly
from tests.neural.training import changed, regression, same_fields
from topos import Network, Tensor
from topos.errors import ArgumentError, FeedError
from topos.neural.checkpoint import load, save
from topos.neural.tensor_file import write_tensors

pytest.importorskip("safetensors")

INDEX = "model.safetensors.index.json"
FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
PLACED = {"first": FIRST, "bias": SECOND, "second": SECOND}


@pytest.fixture(scope="module")
def network() -> Network:
    return regression()


def written(folder: Path, network: Network, placed: dict[str, str] = PLACED) -> Path:
    """Writes the parameters of `network` as shards with an index, as Hugging Face does."""
    folder.mkdir(exist_ok=True, parents=True)
    for shard in {*placed.values()}:
        tensors = {
            name: network.parameters().of(name) for name, at in placed.items() if at == shard
        }
        (folder / shard).parent.mkdir(exist_ok=True)
        write_tensors(folder / shard, tensors, {"format": "pt"})
    return indexed(folder, placed)


def indexed(folder: Path, placed: object) -> Path:
    index = folder / INDEX
    index.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": placed}))
    return index


def loads(path: Path, network: Network) -> bool:
    """Returns whether `path` has all parameters of `network`, and the text of its files."""
    read = load(path, changed(network.parameters()), network)
    assert read.metadata in ({}, {"format": "pt"})
    return same_fields(read.parameters, network.parameters())


def test_a_sharded_checkpoint_is_loaded_by_its_index_and_by_its_folder(
    network: Network, tmp_path: Path
) -> None:
    index = written(tmp_path, network)
    assert loads(index, network)
    assert loads(tmp_path, network)
    # Another program's file beside it is none of its shards.
    write_tensors(tmp_path / "adapter.safetensors", {"w": Tensor(1.0)}, {})
    assert loads(tmp_path, network)
    inner = written(tmp_path / "inner", network, dict.fromkeys(PLACED, "parts/all"))
    assert loads(inner, network)
    # A cache of downloads keeps links where the files seem to be.
    (tmp_path / "links").mkdir()
    for name in (INDEX, FIRST, SECOND):
        (tmp_path / "links" / name).symlink_to(tmp_path / name)
    assert loads(tmp_path / "links", network)


def test_a_folder_of_one_checkpoint_is_as_good_as_its_file(
    network: Network, tmp_path: Path
) -> None:
    message = r"the folder holds neither model\.safetensors nor model\.safetensors\.index\.json"
    with pytest.raises(FileNotFoundError, match=message):
        load(tmp_path, network.parameters(), network)
    save(tmp_path / "own.safetensors", network.parameters(), network)
    assert loads(tmp_path, network)
    save(tmp_path / "model.safetensors", network.parameters(), network)
    assert loads(tmp_path, network)
    # An index may name the one file that needs none.
    indexed(tmp_path, dict.fromkeys(PLACED, "model.safetensors"))
    assert loads(tmp_path, network)


def test_a_folder_of_several_checkpoints_names_them(network: Network, tmp_path: Path) -> None:
    written(tmp_path, network)
    save(tmp_path / "model.safetensors", network.parameters(), network)
    several = f"{tmp_path} holds several checkpoints, load one: "
    with pytest.raises(FeedError, match=exactly(f"{several}model.safetensors, {INDEX}")):
        load(tmp_path, network.parameters(), network)
    other = tmp_path / "other"
    other.mkdir()
    for name in "abcd":
        (other / f"{name}.safetensors").touch()
    message = f"{other} holds several checkpoints, load one: "
    with pytest.raises(FeedError, match=f"^{message}a.safetensors, .*, c.safetensors, ...$"):
        load(other, network.parameters(), network)


Damage = tuple[Callable[[Path, Network], object], str]
UNREADABLE = "{index} cannot be read as the index of a checkpoint: "
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2\nsize 12345\n"
TOLD = "a Git LFS pointer: run git lfs pull where it was cloned"
DAMAGES: dict[str, Damage] = {
    "a shard that is not there": (
        lambda folder, _: (folder / SECOND).unlink(),
        "{index} needs " + SECOND + " beside it: copy or download it",
    ),
    "a shard that is a pointer": (
        lambda folder, _: (folder / SECOND).write_text(POINTER),
        "{folder}/" + SECOND + f" is no safetensors file but {TOLD}",
    ),
    "an index that is a pointer": (
        lambda folder, _: (folder / INDEX).write_text(POINTER),
        "{index} is no index of a checkpoint but " + TOLD,
    ),
    "an index that was cut": (
        lambda folder, _: (folder / INDEX).write_text('{"weight_map": {"first"'),
        UNREADABLE + "Expecting ':' delimiter: line 1 column 24 (char 23)",
    ),
    "an index without a map": (
        lambda folder, _: (folder / INDEX).write_text('{"hidden_size": 512}'),
        UNREADABLE + "it has no weight_map, from tensors to files",
    ),
    "an index of nothing": (
        lambda folder, _: indexed(folder, {}),
        UNREADABLE + "its weight_map is empty",
    ),
    "an index with a tensor twice": (
        lambda folder, _: (folder / INDEX).write_text('{"weight_map": {"w": "a", "w": "b"}}'),
        UNREADABLE + "it has 'w' twice",
    ),
    "a tensor that its shard lacks": (
        lambda folder, _: indexed(folder, PLACED | {"bias": FIRST, "more": FIRST}),
        "{index} and its shards do not fit: " + FIRST + " lacks bias, more",
    ),
    "a tensor in two shards": (
        lambda folder, own: write_tensors(
            folder / FIRST, {name: own.parameters().of(name) for name in PLACED}, {}
        ),
        "{index} needs each tensor once: " + f"{FIRST} and {SECOND} hold bias",
    ),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGES.values(), ids=DAMAGES.keys())
def test_damage_of_a_sharded_checkpoint_is_told(
    damage: Callable[[Path, Network], object], message: str, network: Network, tmp_path: Path
) -> None:
    index = written(tmp_path, network)
    damage(tmp_path, network)
    wanted = message.replace("{index}", str(index)).replace("{folder}", str(tmp_path))
    with pytest.raises(FeedError, match=exactly(wanted)):
        load(tmp_path, network.parameters(), network)


def test_what_is_no_regular_file_is_refused_and_not_waited_for(
    network: Network, tmp_path: Path
) -> None:
    index = tmp_path / INDEX
    index.mkdir()
    told = "a checkpoint needs a regular file, got another thing"
    with pytest.raises(OSError, match=told):
        load(index.parent, network.parameters(), network)
    index.rmdir()
    os.mkfifo(index)
    with pytest.raises(OSError, match=told):
        load(index, network.parameters(), network)


@pytest.mark.parametrize("path", [b"model.safetensors", None, 3, "a\0b"])
def test_what_is_no_path_is_refused(path: Any, network: Network) -> None:
    with pytest.raises(ArgumentError, match=r"^a checkpoint needs the path of"):
        load(path, network.parameters(), network)


@pytest.mark.parametrize("option", ["rename", "adapt"])
def test_an_option_that_is_no_function_is_refused(
    option: str, network: Network, tmp_path: Path
) -> None:
    given: Any = {option: {"first": "second"}}
    with pytest.raises(ArgumentError, match=f"^{option} needs a function, got dict$"):
        load(written(tmp_path, network), network.parameters(), network, **given)


@pytest.mark.parametrize(
    "shard", ["../own", "/own", "a/../../own", "..", ".", "", "C:own", "..\\own", "a\0b", 3]
)
def test_an_index_names_nothing_outside_its_folder(
    shard: object, network: Network, tmp_path: Path
) -> None:
    save(tmp_path / "own", network.parameters(), network)
    (tmp_path / "inner").mkdir()
    index = indexed(tmp_path / "inner", dict.fromkeys(PLACED, shard))
    with pytest.raises(
        FeedError, match=exactly(f"{index} needs files of its own folder, got {shard!r}")
    ):
        load(index, network.parameters(), network)
