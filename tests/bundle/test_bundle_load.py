"""A bundle that is incomplete, altered or does not fit is refused at load, with the reason."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from topos.bundle import Bundle, Port
from topos.bundle.manifest import decoded
from topos.errors import BundleError

Change = Callable[[Path], object]


def manifest_with(*keys: str | int, value: Any) -> Change:
    """Returns the change of one entry of the manifest."""

    def change(folder: Path) -> None:
        path = folder / "manifest.json"
        document = json.loads(path.read_text())
        place = document
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value
        path.write_text(json.dumps(document))

    return change


def flipped(name: str, at: int = -1) -> Change:
    def change(folder: Path) -> None:
        data = bytearray((folder / name).read_bytes())
        data[at] ^= 1
        (folder / name).write_bytes(data)

    return change


def cut(name: str, by: int = 1) -> Change:
    return lambda folder: os.truncate(folder / name, (folder / name).stat().st_size - by)


def linked(name: str) -> Change:
    def change(folder: Path) -> None:
        outside = folder.parent / "outside"
        (folder / name).rename(outside)
        (folder / name).symlink_to(outside)

    return change


def removed(name: str) -> Change:
    return lambda folder: (folder / name).unlink()


def test_a_glance_reads_the_manifest_and_nothing_else(folder: Path) -> None:
    whole = Bundle.load(folder)
    for file in folder.iterdir():
        if file.name != "manifest.json":
            file.unlink()
    glanced = Bundle.glance(folder)
    assert (glanced.name, glanced.version) == (whole.name, whole.version)
    assert glanced.inputs == whole.inputs
    (folder / "manifest.json").write_text("[]")
    with pytest.raises(BundleError, match=f"^{folder}: "):
        Bundle.glance(folder)


def filed(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_bytes(b"")


def nested(folder: Path) -> None:
    (folder / TEXT).unlink()
    (folder / TEXT).mkdir()


def piped(folder: Path) -> None:
    (folder / "rows1.mlir").unlink()
    os.mkfifo(folder / "rows1.mlir")


def overwritten(data: bytes, name: str = "manifest.json") -> Change:
    return lambda folder: (folder / name).write_bytes(data)


WEIGHTS, TEXT, SAMPLE = "weights.safetensors", "rows4.mlir", "rows1.sample.safetensors"
FIRST = ("programs", 0)
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2\nsize 12345\n"
CODE = {"name": "a.xla", "bytes": 1, "sha256": "0" * 64}
COMPILED = {"runtime": "xla", "device": "cpu\n", "file": CODE, "fits": {}}
DAMAGES: dict[str, tuple[Change, str]] = {
    **{
        f"without {name}": (removed(name), f"needs {name}: No such file")
        for name in (WEIGHTS, TEXT, "rows1.mlirbc", SAMPLE)
    },
    "without a manifest": (
        removed("manifest.json"),
        "has no manifest.json: it is no bundle, or still being written",
    ),
    "a file instead": (filed, "a bundle is a folder"),
    **{
        f"a bit of {name}": (flipped(name), f"{name} whose digest is another")
        for name in (WEIGHTS, TEXT, "rows1.mlirbc", SAMPLE)
    },
    "a bit of a header": (flipped(WEIGHTS, 12), "weights.safetensors"),
    "a bit of a header's length": (flipped(WEIGHTS, 7), "is no header"),
    "cut weights": (cut(WEIGHTS, 4), "needs a weights.safetensors of"),
    "cut text": (cut(TEXT), f"needs a {TEXT} of"),
    "empty weights": (overwritten(b"", WEIGHTS), "needs a weights.safetensors of"),
    **{
        f"a link for {name}": (linked(name), f"holds {name} as a link, which is not followed")
        for name in (WEIGHTS, TEXT, "manifest.json")
    },
    "a pipe": (piped, "needs rows1.mlir as a regular file"),
    "a folder for a file": (nested, "needs rows4.mlir as a regular file"),
    "no JSON": (overwritten(b"\x00\xff{"), "manifest.json cannot be read"),
    "an empty manifest": (overwritten(b""), "manifest.json cannot be read"),
    "a list": (overwritten(b"[]"), "manifest.json cannot be read"),
    "deep nesting": (overwritten(b"[" * 100_000), "manifest.json cannot be read"),
    "a surrogate": (manifest_with("name", value="\ud800"), "manifest.json"),
    "the largest manifest": (
        lambda folder: os.truncate(folder / "manifest.json", 1 << 24),
        "manifest.json cannot be read",
    ),
    "a huge manifest": (
        lambda folder: os.truncate(folder / "manifest.json", (1 << 24) + 1),
        "too many for one",
    ),
    "an unknown format": (manifest_with("format", value=2), "needs format 1, which this topos"),
    "no format": (manifest_with("format", value=None), "needs format 1"),
    "a true format": (manifest_with("format", value=True), "needs format 1"),
    **{
        f"an unknown field {place}": (
            manifest_with(*place, "license", value="none"),
            "unknown field `license`",
        )
        for place in (
            *((), ("weights",), FIRST, (*FIRST, "module")),
            *((*FIRST, "arguments", 0), (*FIRST, "results", 0)),
        )
    },
    "the longest name": (manifest_with("weights", "name", value="x" * 128), f"needs {'x' * 128}: "),
    "too long a name": (manifest_with("weights", "name", value="x" * 129), "names a file outside"),
    "no programs": (manifest_with("programs", value=[]), "needs one program or more"),
    "rows of text": (manifest_with(*FIRST, "rows", value="1"), "Expected `int | null`, got `str`"),
    "rows of none": (manifest_with(*FIRST, "rows", value=None), "needs rows of rows1"),
    "other rows": (manifest_with(*FIRST, "rows", value=2), "needs 2 rows in rows1"),
    "no batches": (manifest_with("batched", value=False), "needs rows of rows1 just where batched"),
    "twice the rows": (manifest_with("programs", 1, "rows", value=1), "needs 1 row in rows4"),
    "no calls": (manifest_with(*FIRST, "calls", value=0), "needs a sample of 1 to 10000 calls"),
    "the most calls": (manifest_with(*FIRST, "calls", value=10_000), "no '2/inputs/features'"),
    "too many calls": (manifest_with(*FIRST, "calls", value=10_001), "got 10001"),
    "more calls": (manifest_with(*FIRST, "calls", value=3), "no '2/inputs/features'"),
    "a thousand million calls": (manifest_with(*FIRST, "calls", value=10**9), "got 1000000000"),
    "a path up": (
        manifest_with("weights", "name", value="../outside"),
        "names a file outside its folder: '../outside'",
    ),
    "an absolute path": (
        manifest_with(*FIRST, "module", "name", value="/etc/passwd"),
        "names a file outside its folder: '/etc/passwd'",
    ),
    "a device of lines": (
        manifest_with(*FIRST, "compiled", value=[COMPILED]),
        "needs words for the compiled form of rows1, got ('xla', 'cpu\\n')",
    ),
    "a hidden name": (manifest_with("weights", "name", value=".x"), "names a file outside"),
    "a name of lines": (manifest_with("weights", "name", value="x\n"), "names a file outside"),
    "a program's path": (manifest_with(*FIRST, "name", value="a/b"), "as name of a program"),
    "a bundle's path": (manifest_with("name", value="../b"), "needs a plain word as name"),
    "itself": (manifest_with("weights", "name", value="manifest.json"), "names itself"),
    "one file twice": (
        manifest_with(*FIRST, "module", "name", value="rows4.mlir"),
        "names one file for two purposes",
    ),
    "a huge length": (manifest_with("weights", "bytes", value=1 << 60), "of 1152921504606846976"),
    "a negative length": (manifest_with("weights", "bytes", value=-1), "needs a length"),
    "no digest": (manifest_with("weights", "sha256", value="0"), "needs a SHA-256"),
    "another digest": (manifest_with("weights", "sha256", value="0" * 64), "digest is another"),
    "an unknown element": (
        manifest_with(*FIRST, "arguments", 0, "element", value="f8"),
        "has no known element for 'layers.0.weights' in rows1, got 'f8'",
    ),
    "another element": (
        manifest_with(*FIRST, "arguments", 0, "element", value="i32"),
        "differs from rows1 in more than its rows",
    ),
    "a huge shape": (
        manifest_with(*FIRST, "arguments", 0, "shape", value=[1 << 40, 1 << 40]),
        "has no possible shape for 'layers.0.weights'",
    ),
    **{
        f"{kind} possible shape": (
            manifest_with(*FIRST, "arguments", 0, "shape", value=shape),
            "differs from rows1 in more than its rows",
        )
        for kind, shape in {"the largest": [1 << 60], "the deepest": [1] * 64}.items()
    },
    **{
        f"{kind} by one": (
            manifest_with(*FIRST, "arguments", 0, "shape", value=shape),
            "has no possible shape",
        )
        for kind, shape in {"too large": [(1 << 60) + 1], "too deep": [1] * 65}.items()
    },
    "a negative shape": (
        manifest_with(*FIRST, "arguments", 0, "shape", value=[-1, -40]),
        "has no possible shape",
    ),
    "a pointer for the weights": (
        overwritten(LFS, WEIGHTS),
        f"has a Git LFS pointer in the place of {WEIGHTS}: run git lfs pull",
    ),
    "a pointer for a text": (
        overwritten(LFS, TEXT),
        f"has a Git LFS pointer in the place of {TEXT}: run git lfs pull",
    ),
    "an infinite envelope": (
        manifest_with(*FIRST, "results", 0, "envelope", value=1e999),
        "manifest.json",
    ),
    "a negative envelope": (
        manifest_with(*FIRST, "results", 0, "envelope", value=-1.0),
        "needs an envelope of scores",
    ),
    "a name twice": (
        manifest_with(*FIRST, "arguments", 0, "name", value="layers.0.bias"),
        "needs names of their own in rows1",
    ),
    "another resident": (
        manifest_with(*FIRST, "arguments", 0, "resident", value=False),
        "needs 1 row in rows1",
    ),
}


# Another export would not help here, or there may be none at all.
NO_DAMAGES = {
    *("without a manifest", "a file instead", "an unknown format", "no format", "a true format"),
    *("a pointer for the weights", "a pointer for a text"),
    *(f"a link for {name}" for name in (WEIGHTS, TEXT, "manifest.json")),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_bundle_is_refused_with_the_reason(folder: Path, damage: str) -> None:
    change, reason = DAMAGES[damage]
    assert Bundle.load(folder).programs
    change(folder)
    with pytest.raises(BundleError) as refused:
        Bundle.load(folder)
    assert reason in str(refused.value)
    assert str(folder) in str(refused.value)
    assert str(refused.value).endswith("; copy or export it again") == (damage not in NO_DAMAGES)


def test_what_a_manifest_says_stays_as_it_was_read(folder: Path) -> None:
    manifest = decoded((folder / "manifest.json").read_bytes())
    (program, _) = manifest.programs
    facts: list[Any] = [manifest, program, program.module, *program.arguments, *program.results]
    for fact in (*facts, Port("x", (), "f32")):
        with pytest.raises(AttributeError):
            fact.name = "another"


def test_a_file_for_a_bundle_is_told_with_the_folder_that_is_meant(folder: Path) -> None:
    told = f"^a bundle is a folder, and {folder / TEXT} is none, but a file in the bundle {folder}$"
    with pytest.raises(BundleError, match=told):
        Bundle.load(folder / TEXT)
    (folder / "manifest.json").unlink()
    with pytest.raises(BundleError, match=f"{TEXT} is none, but a file$"):
        Bundle.load(folder / TEXT)
    with pytest.raises(BundleError, match=r"^a bundle is a folder, and there is no .*nowhere$"):
        Bundle.load(folder / "nowhere")


def test_what_changes_after_the_load_is_refused_where_it_is_read(folder: Path) -> None:
    bundle = Bundle.load(folder)
    for name in (WEIGHTS, "rows1.mlir", "rows1.mlirbc", SAMPLE):
        flipped(name)(folder)
    program = bundle.programs[0]
    for read in (bundle.weights, lambda: program.text, lambda: program.artifact, program.sample):
        with pytest.raises(BundleError, match="whose digest is another"):
            read()
    shutil.rmtree(folder)
    with pytest.raises(BundleError, match="No such file"):
        bundle.weights()
