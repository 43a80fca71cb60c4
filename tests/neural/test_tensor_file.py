"""Safetensors files: the library's bytes, damage told, old files left where a write fails."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import stat
import struct
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.exact import exactly
from tests.neural.training import changed, regression, same_fields
from tests.project.paths import ROOT
from topos import Element, Network, Tape, Tensor
from topos.errors import FeedError, UnavailableError
from topos.neural.checkpoint import load, save
from topos.neural.tensor_codes import CODES
from topos.neural.tensor_file import opened, write_tensors

pytest.importorskip("safetensors")


@pytest.fixture(scope="module")
def network() -> Network:
    return regression()


def own_element(storage: str) -> Element:
    """Returns an element of the user's own, of eight bits."""
    return Element(storage, getattr(ml_dtypes, storage), compute=np.float32)


def test_a_file_is_the_one_that_safetensors_writes(tmp_path: Path) -> None:
    numpy = pytest.importorskip("safetensors.numpy")
    elements = [code.element or own_element(code.storage) for code in CODES]
    tensors = {
        f"{name} of {element}": Tensor(np.ones((2, place), element.dtype), element)
        for place, element in enumerate(elements)
        for name in ("b", "a\n", "ü")
    }
    arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    for text in ({}, {"epoch": 'the "third"\t\x1f/'}):
        write_tensors(tmp_path / "own", tensors, text)
        assert (tmp_path / "own").read_bytes() == numpy.save(arrays, text or None)
    many = {str(number): "text" for number in range(9)}
    written = set()
    for text in (many, dict(reversed(many.items()))):
        write_tensors(tmp_path / "own", tensors, text)
        written.add((tmp_path / "own").read_bytes())
    assert len(written) == 1


def test_an_element_of_ones_own_is_kept_by_its_storage(tmp_path: Path) -> None:
    eight, path = own_element("float8_e4m3fn"), tmp_path / "w.safetensors"
    tape = Tape()
    tape.parameter(np.arange(3).astype(eight.dtype), name="w", element=eight)
    network = tape.into_network()
    save(path, network.parameters(), network)
    read = load(path, network.parameters(), network).parameters.of("w")
    assert read.element is eight
    assert read.numpy().tolist() == [0, 1, 2]
    tape = Tape()
    symbol = tape.parameter(shape=(3,), name="w").symbol
    message = f"{path} does not fit: w needs f32[3], got f8_e4m3[3]"
    with pytest.raises(FeedError, match=exactly(message)):
        load(path, tape.into_network(), {"w": symbol})


def test_a_file_that_changes_later_changes_no_tensor(network: Network, tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    save(path, network.parameters(), network)
    read, whole = load(path, changed(network.parameters()), network), path.read_bytes()
    with open(path, "r+b") as file:
        file.write(bytes(len(whole)))
    assert same_fields(read.parameters, network.parameters())
    path.write_bytes(whole)
    message = f"{path} got shorter while it was read: load it again"
    with opened(path) as held:
        os.truncate(path, len(whole) // 2)
        with pytest.raises(FeedError, match=exactly(message)):
            held.tensor(held.names[-1])


def damaged(whole: bytes) -> dict[str, tuple[bytes, str]]:
    """Returns files that no careful writer made, and how the error of each starts."""
    (length,) = struct.unpack("<Q", whole[:8])
    header, data = whole[8 : 8 + length], whole[8 + length :]

    def file(text: bytes, rest: bytes = data) -> bytes:
        return struct.pack("<Q", len(text)) + text + rest

    again, wrong = ": copy or download it again", "its header is damaged: "

    def alone(size: int, needs: int = 8 + length) -> str:
        return f"it has {size} bytes, and its header alone needs {needs}{again}"

    def describes(size: int, end: int = len(whole)) -> str:
        return f"it has {size} bytes, and its header describes {end}{again}"

    return {
        "half a length": (whole[:4], alone(4, 8)),
        "length alone": (whole[:8], alone(8)),
        "half a header": (whole[: 8 + length // 2], alone(8 + length // 2)),
        "one byte short": (whole[:-1], describes(len(whole) - 1)),
        "no data": (whole[: 8 + length], describes(8 + length)),
        "one byte more": (whole + b"\0", describes(len(whole) + 1)),
        "twice": (whole + whole, describes(2 * len(whole))),
        "a huge header": (struct.pack("<Q", 2**63) + whole[8:], wrong + "header too large"),
        "a header of 200 MB": (struct.pack("<Q", 200_000_000) + whole[8:], wrong),
        "no JSON": (file(b"{" * len(header)), wrong + "invalid JSON in header"),
        "no text": (file(b"\xff" * len(header)), wrong + "invalid UTF-8"),
        "a list": (file(b"[]"), wrong),
        "offsets past the end": (file(header.replace(b"[0,", b"[9,")), wrong + "invalid offset"),
        "a negative extent": (file(header.replace(b'"shape":[8]', b'"shape":[-8]')), wrong),
        "a huge extent": (file(header.replace(b'"shape":[8]', b'"shape":[%d]' % 2**62)), wrong),
        "overlapping": (
            file(header.replace(b'"data_offsets":[32,', b'"data_offsets":[16,')),
            wrong + "invalid offset",
        ),
        "an element of no kind": (file(header.replace(b'"F32"', b'"F99"', 1)), wrong),
        "nested deep": (file(b'{"a":' * 100_000 + b"1" + b"}" * 100_000), wrong),
    }


def test_damage_is_told_as_damage(network: Network, tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    save(path, network.parameters(), network)
    whole = path.read_bytes()
    for name, (contents, reason) in damaged(whole).items():
        assert contents != whole, name
        path.write_bytes(contents)
        with pytest.raises(FeedError) as caught:
            load(path, network.parameters(), network)
        start = f"{path} cannot be read as a safetensors file: {reason}"
        assert str(caught.value).startswith(start), name
    path.write_bytes(whole)
    assert load(path, changed(network.parameters()), network).report.missing == ()


@pytest.mark.parametrize(
    ("shape", "data", "reason"),
    [([2], b"\1\2", "the byte 2 in 'w', a bool is 0 or 1"), ([0] * 65, b"", "'w' of 65 axes")],
)
def test_what_no_tensor_can_be_is_told(
    shape: list[int], data: bytes, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "w.safetensors"
    entry = {"dtype": "BOOL", "shape": shape, "data_offsets": [0, len(data)]}
    text = json.dumps({"w": entry}).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    with opened(path) as file, pytest.raises(FeedError, match=f"^{path} holds {reason}"):
        file.tensor("w")


def test_a_file_that_is_not_there_is_the_systems_to_tell(network: Network, tmp_path: Path) -> None:
    parameters = network.parameters()
    with pytest.raises(FileNotFoundError, match=r"nowhere\.safetensors"):
        load(tmp_path / "nowhere.safetensors", parameters, network)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*no/such: '.*w\.safet"):
        save(tmp_path / "no/such/w.safetensors", parameters, network)
    with pytest.raises(OSError, match="a checkpoint needs a regular file"):
        save(tmp_path, parameters, network)


SHARDS = {f"block.{at}": f"model-0000{at % 4}-of-00004.safetensors" for at in range(8)}
IN_TORCH = "in PyTorch, safetensors.torch.save_file writes its tensors as a checkpoint"

NO_TENSORS = "JSON, which holds no tensors: the checkpoint lies beside it most often"
WEB_PAGE = "a web page or XML: the download got another thing than the file"


@pytest.mark.parametrize(
    ("contents", "told"),
    [
        (b"", "empty: download or copy it again"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2\nsize 12345\n",
            "a Git LFS pointer: run git lfs pull where it was cloned",
        ),
        (
            json.dumps({"metadata": {"total_size": 1}, "weight_map": SHARDS}).encode(),
            "the index of a checkpoint in 4 files (model-00000-of-00004.safetensors,"
            " model-00001-of-00004.safetensors, model-00002-of-00004.safetensors, ...):"
            " give it a name that ends with .json",
        ),
        (
            b'{\n  "weight_map": {"w": "only.safetensors"}}',
            "the index of a checkpoint in 1 file (only.safetensors):"
            " give it a name that ends with .json",
        ),
        (b'{"weight_map": {}}', NO_TENSORS),
        (
            b'{"hidden_size": 512}',
            NO_TENSORS,
        ),
        (
            b'{"weight_map": [',
            NO_TENSORS,
        ),
        (
            b"PK\x03\x04\0\0\x08\x08archive/data.pkl",
            f"a zip archive, as torch.save and numpy.savez write: {IN_TORCH}",
        ),
        (b"\x80\x02\x8a\nl\xfc\x9c", f"a pickle, as old versions of torch.save write: {IN_TORCH}"),
        (pickle.dumps([1.0]), f"a pickle, as old versions of torch.save write: {IN_TORCH}"),
        (b"GGUF\x03\0\0\0", "a GGUF file: most models have safetensors files at their source, too"),
        (
            b"\n<!DOCTYPE html><title>401</title>",
            WEB_PAGE,
        ),
        (
            b"<Error><Code>AccessDenied",
            WEB_PAGE,
        ),
        (gzip.compress(b"x", mtime=0), "compressed by gzip: unpack it"),
    ],
)
def test_another_file_is_told_for_what_it_is(
    contents: bytes, told: str, network: Network, tmp_path: Path
) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(contents)
    with pytest.raises(FeedError) as caught:
        load(path, network.parameters(), network)
    assert str(caught.value) == f"{path} is no safetensors file but {told}"


@pytest.mark.parametrize("length", [ord("<"), ord("{"), 0x280, 0x8B1F])
def test_a_header_whose_length_looks_like_another_file_is_damage(
    length: int, network: Network, tmp_path: Path
) -> None:
    path = tmp_path / "cut.safetensors"
    path.write_bytes(struct.pack("<Q", length) + b'{"w":')
    with pytest.raises(FeedError, match="cannot be read as a safetensors file: "):
        load(path, network.parameters(), network)


def test_a_save_that_fails_leaves_the_old_file(
    network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "w.safetensors"
    save(path, network.parameters(), network)
    whole = path.read_bytes()

    def interrupted(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(path, changed(network.parameters()), network)
    assert path.read_bytes() == whole
    assert [each.name for each in tmp_path.iterdir()] == ["w.safetensors"]


def test_a_disk_that_is_full_leaves_the_old_file(network: Network, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    path = tmp_path / "w.safetensors"
    save(path, network.parameters(), network)
    whole, before = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) - 1, before[1]))
    try:
        with pytest.raises(OSError, match=r"w\.safetensors"):
            save(path, changed(network.parameters()), network)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_bytes() == whole
    assert [each.name for each in tmp_path.iterdir()] == ["w.safetensors"]


KILLED = """
import os, signal, sys
from tests.neural.training import regression
from topos.neural.checkpoint import save

os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
network = regression()
save(sys.argv[1], network.parameters().map(lambda own: own + 1), network)
"""


def test_a_process_killed_in_a_save_leaves_the_old_file(network: Network, tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    save(path, network.parameters(), network)
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(path)], cwd=ROOT, timeout=60, check=False
    )
    assert done.returncode == -9
    read = load(path, changed(network.parameters()), network)
    assert same_fields(read.parameters, network.parameters())


def test_a_save_keeps_links_and_modes(network: Network, tmp_path: Path) -> None:
    target, link = tmp_path / "target.safetensors", tmp_path / "link.safetensors"
    target.write_bytes(b"as it was")
    target.chmod(0o640)
    link.symlink_to(target)
    save(link, network.parameters(), network)
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert load(target, network.parameters(), network).report.missing == ()
    before = os.umask(0o027)
    try:
        save(tmp_path / "new.safetensors", network.parameters(), network)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new.safetensors").stat().st_mode) == 0o640


def test_without_the_package_the_extra_is_named(
    network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, parameters = tmp_path / "w.safetensors", network.parameters()
    save(path, parameters, network)
    monkeypatch.setitem(sys.modules, "safetensors", None)
    message = "reading a checkpoint needs safetensors: pip install 'topos-compiler[checkpoints]'"
    with pytest.raises(UnavailableError, match=exactly(message)):
        load(path, parameters, network)
    # Only reading has to distrust a file.
    save(path, parameters, network)


def test_a_large_tensor_that_lies_turned_is_written_in_parts(tmp_path: Path) -> None:
    rows = np.arange(5_000_000, dtype=np.float32).reshape(2_500, 2_000)
    for name, tensor in (("plain", Tensor(rows)), ("turned", Tensor(rows.T).transpose())):
        write_tensors(tmp_path / name, {"w": tensor}, {})
    assert (tmp_path / "turned").read_bytes() == (tmp_path / "plain").read_bytes()
