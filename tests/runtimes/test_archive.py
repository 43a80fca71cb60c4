"""Archives of arrays: bits kept, files replaced whole, damage told."""

from __future__ import annotations

import errno
import os
import stat
import zipfile
from pathlib import Path
from typing import IO

import ml_dtypes
import numpy as np
import pytest

from topos.errors import ArgumentError
from topos.runtimes import ArrayType, _archive

TYPES = (ArrayType((2,), np.dtype(ml_dtypes.bfloat16)), ArrayType((), np.dtype(np.float64)))
HALVES = np.array([1.5, -2.0], ml_dtypes.bfloat16)
NUMBER = np.array(0.1)


def test_archives_keep_the_bits_of_every_element(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    _archive.save(path, [HALVES, NUMBER], "arg")
    halves, number = _archive.load(path, TYPES, "arg")
    assert (halves.dtype, halves.tobytes()) == (HALVES.dtype, HALVES.tobytes())
    assert (number.dtype, number.shape, number.tobytes()) == (
        NUMBER.dtype,
        (),
        NUMBER.tobytes(),
    )


def test_archives_with_other_names_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, arg0=HALVES.view(np.uint16), extra=NUMBER)
    with pytest.raises(ArgumentError, match="must hold arg0, arg1, and holds arg0, extra"):
        _archive.load(path, TYPES, "arg")


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(ArgumentError, match=r"no \.npz archive"):
        _archive.load(path, TYPES, "arg")
    np.save(tmp_path / "b.npy", NUMBER)
    with pytest.raises(ArgumentError, match=r"no \.npz archive"):
        _archive.load(tmp_path / "b.npy", TYPES, "arg")


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(b"as it was")
    with pytest.raises(ArgumentError, match=r"needs the elements of a tensor, got \|O$"):
        _archive.save(path, [np.array([object()])], "arg")

    def filled(file: IO[bytes], **arrays: object) -> None:
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "savez", filled)
    with pytest.raises(OSError, match="No space left"):
        _archive.save(path, [np.ones(3)], "arg")
    assert path.read_bytes() == b"as it was"
    assert [each.name for each in tmp_path.iterdir()] == ["a.npz"]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_saved_archive_keeps_links_and_modes(tmp_path: Path) -> None:
    target, link, new = (tmp_path / name for name in ("target.npz", "link.npz", "new.npz"))
    target.write_bytes(b"as it was")
    target.chmod(0o640)
    link.symlink_to(target)
    _archive.save(link, [NUMBER], "result")
    assert link.is_symlink()
    assert mode(target) == 0o640
    with np.load(target) as archive:
        assert archive["result0"].tobytes() == NUMBER.tobytes()
    before = os.umask(0o027)
    try:
        _archive.save(new, [NUMBER], "result")
    finally:
        os.umask(before)
    assert mode(new) == 0o640


def test_a_saved_archive_may_have_the_longest_name(tmp_path: Path) -> None:
    path = tmp_path / f"{'n' * 251}.npz"
    _archive.save(path, [NUMBER], "result")
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def header(description: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(description).to_bytes(2, "little") + description.encode()


DAMAGED = {
    "nested": header("(" * 500),
    "unclosed": header("((((((((((((("),
    "huge": header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999,), }"),
    "larger": header("{'descr': '<f4', 'fortran_order': False, 'shape': (1 << 70,), }"),
    "overflow": header(f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({10**30},), }}"),
    "negative": header("{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }"),
    "dtype": header("{'descr': 'no such', 'fortran_order': False, 'shape': (3,), }"),
    "short": header("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"),
    "text": b"no array at all",
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_member_is_told_with_file_and_name(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("arg0.npy", DAMAGED[kind])
    with pytest.raises(ArgumentError, match=rf"{path} holds arg0(\.npy)?[ ,]"):
        _archive.load(path, TYPES[:1], "arg")


def test_a_damaged_stream_is_told_with_file_and_name(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, arg0=np.arange(1000))
    data = bytearray(path.read_bytes())
    data[60:200] = b"\xff" * 140
    path.write_bytes(data)
    with pytest.raises(ArgumentError, match=rf"{path} holds arg0 that cannot be read: "):
        _archive.load(path, TYPES[:1], "arg")


@pytest.mark.parametrize(
    ("field", "value"), [("encrypted", b"\x01\x00"), ("method", b"\x63\x00"), ("checksum", b"crc!")]
)
def test_an_archive_that_zipfile_cannot_read_is_refused(
    tmp_path: Path, field: str, value: bytes
) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, arg0=NUMBER)
    data = bytearray(path.read_bytes())
    # Places in a local header and in the central directory, by the specification of zip.
    local, central = {"encrypted": (6, 8), "method": (8, 10), "checksum": (14, 16)}[field]
    for start in (local, data.index(b"PK\x01\x02") + central):
        data[start : start + len(value)] = value
    path.write_bytes(data)
    with pytest.raises(ArgumentError, match=rf"{path} holds arg0 that cannot be read: "):
        _archive.load(path, TYPES[:1], "arg")


@pytest.mark.parametrize("element", [ml_dtypes.int4, ml_dtypes.uint2, ml_dtypes.float6_e2m3fn])
def test_bits_that_no_element_has_are_refused(tmp_path: Path, element: type) -> None:
    path, dtype = tmp_path / "a.npz", np.dtype(element)
    types = (ArrayType((2,), dtype),)
    np.savez(path, arg0=np.array([1, 3], np.uint8))
    assert _archive.load(path, types, "arg")[0].view(np.uint8).tolist() == [1, 3]
    np.savez(path, arg0=np.array([1, 200], np.uint8))
    with pytest.raises(ArgumentError, match=rf"holds arg0, whose elements of {dtype.name} need"):
        _archive.load(path, types, "arg")
