"""Weights that do not fit are refused whatever their digest; those that fit are read once."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.bundle.bundled_models import mlp, rewritten
from topos import Tape
from topos.bundle import Bundle
from topos.errors import BundleError

Change = Callable[[Path], object]
WEIGHTS = "weights.safetensors"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "model"
    mlp().export(folder)
    return folder


@pytest.fixture
def folder(exported: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(exported, tmp_path / "model"))


def header_with(**changes: Any) -> Change:
    """Returns the change of the first weight's entry, with lengths and digests that fit."""

    def change(folder: Path) -> None:
        data = (folder / WEIGHTS).read_bytes()
        length = int.from_bytes(data[:8], "little")
        header, rest = json.loads(data[8 : 8 + length]), data[8 + length :]
        name = "layers.0.bias"
        entry = header.pop(name) | changes
        header[entry.pop("name", name)] = entry
        header |= entry.pop("besides", {})
        text = json.dumps(header).encode()
        (folder / WEIGHTS).write_bytes(len(text).to_bytes(8, "little") + text + rest)
        rewritten(folder)

    return change


UNFIT: dict[str, tuple[Change, str]] = {
    "another name": (header_with(name="bias"), "no 'layers.0.bias'"),
    "one more": (
        header_with(besides={"x": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}}),
        "an unexpected 'x'",
    ),
    "another shape": (header_with(shape=[4, 2]), "needs layers.0.bias: f32[8] in"),
    "another element": (header_with(dtype="I32"), "got I32[8]"),
    "an unknown element": (header_with(dtype="F4"), "got F4[8]"),
    "overlapping": (header_with(data_offsets=[16, 48]), "is not where it belongs"),
    "outside": (header_with(data_offsets=[1 << 60, (1 << 60) + 32]), "is not where it belongs"),
    "backwards": (header_with(data_offsets=[32, 0]), "is not where it belongs"),
    "text as place": (header_with(data_offsets=["0", "32"]), "whose header is none"),
    "an unknown field": (header_with(strides=[4]), "whose header is none"),
}


@pytest.mark.parametrize("fault", UNFIT)
def test_weights_that_do_not_fit_are_refused_whatever_their_digest(
    folder: Path, fault: str
) -> None:
    change, reason = UNFIT[fault]
    change(folder)
    with pytest.raises(BundleError) as refused:
        Bundle.load(folder)
    assert reason in str(refused.value)


def test_bytes_of_no_tensor_are_refused(folder: Path) -> None:
    with open(folder / WEIGHTS, "ab") as file:
        file.write(b"\0" * 4)
    rewritten(folder)
    with pytest.raises(BundleError, match="with 4 bytes of no tensor"):
        Bundle.load(folder)


MEASURE = """
import sys
import numpy
from topos import Tape
from topos.bundle import Bundle
Bundle, before = Bundle, int(open("/proc/self/statm").read().split()[1])
bundle = Bundle.load(sys.argv[1])
weights = bundle.weights()
held = sum(array.nbytes for array in weights.values())
line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
peak = int(line.split()[1]) * 1024
print(held, peak - before * 4096, *sorted(sys.modules))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read as Linux tells it")
def test_a_load_needs_no_more_memory_than_the_weights_and_no_runtime(tmp_path: Path) -> None:
    tape = Tape()
    weight = tape.parameter(np.zeros((1000, 5000), np.float32), name="w")
    (tape.input(shape=[1, 1000], name="x") @ weight).named("y")
    tape.into_network().entry(["y"]).lower().export(tmp_path / "b")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", MEASURE, str(tmp_path / "b")],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    held, peak, *modules = done.stdout.split()
    assert int(held) == 20_000_000
    assert int(peak) <= 1.15 * int(held)
    assert not {"jax", "jaxlib", "iree", "lark", "topos.engine"} & set(modules)
