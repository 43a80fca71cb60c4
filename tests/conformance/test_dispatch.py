"""Every kernel and operation has one digest, whatever processor and libraries it runs with."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from tests.conformance import interpreted
from tests.conformance.digest import digest_of
from tests.project.paths import ROOT

PINNED: Final = Path(__file__).with_name("digests.txt")
dispatch = import_module("numpy._core._multiarray_umath")
# What numpy has kernels of its own for and this processor has.
FEATURES: Final = tuple(
    feature for feature in dispatch.__cpu_dispatch__ if dispatch.__cpu_features__[feature]
)
WIDEST: Final = tuple(name for name in FEATURES if "AVX512" in name or name == "X86_V4")
# A C library whose functions go without the vector and fused instructions of the processor.
PLAIN_LIBRARY: Final = ",".join(
    f"-{feature}" for feature in ("AVX2", "FMA", "FMA4", "AVX512F", "AVX2_Usable", "FMA_Usable")
)
LIBRARY: Final = {"GLIBC_TUNABLES": f"glibc.cpu.hwcaps={PLAIN_LIBRARY}"}


def without(features: tuple[str, ...]) -> dict[str, str]:
    return {"NPY_DISABLE_CPU_FEATURES": " ".join(features)}


PLAIN: Final = "no dispatched kernels, plain C library, OpenBLAS Zen with two threads"
ENVIRONMENTS: Final = {
    "native, OpenBLAS SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX", "PYTHONHASHSEED": "1"},
    "no 512-bit kernels, OpenBLAS Haswell": {
        **without(WIDEST),
        "OPENBLAS_CORETYPE": "Haswell",
        "PYTHONHASHSEED": "2",
    },
    PLAIN: {
        **without(FEATURES),
        **LIBRARY,
        "OPENBLAS_CORETYPE": "Zen",
        "OPENBLAS_NUM_THREADS": "2",
    },
}
CHANGED: Final = (
    "NPY_DISABLE_CPU_FEATURES",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_NUM_THREADS",
    "GLIBC_TUNABLES",
    "PYTHONHASHSEED",
)


def output(command: list[str], changes: dict[str, str]) -> str:
    """Returns what a Python command prints in an environment of its own; warnings are errors."""
    kept = {name: value for name, value in os.environ.items() if name not in CHANGED}
    return subprocess.run(
        [sys.executable, "-W", "error", *command],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**kept, **changes},
        timeout=120,
    ).stdout


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_environment_has_the_pinned_digests(name: str) -> None:
    # `python -m tests.conformance.digest` writes the file anew.
    assert output(["-m", "tests.conformance.digest"], ENVIRONMENTS[name]) == PINNED.read_text()


def test_the_interpreter_needs_no_fused_or_vector_instructions() -> None:
    # Products and sums of complex numbers, transforms and logarithms among them.
    command = ["-m", "tests.conformance.interpreted", "orders"]
    plain = ENVIRONMENTS[PLAIN]
    here = [
        f"{subject.name} {interpreted.digest(subject)}\n"
        for family in command[2:]
        for subject in interpreted.FAMILIES[family]()
    ]
    assert "".join(here) == output(command, plain)


def test_a_disabled_feature_is_really_off() -> None:
    if not FEATURES:
        pytest.skip("this processor has none of the kernels to go without")
    code = (
        "from numpy._core import _multiarray_umath as m;"
        f"print([f for f in {FEATURES!r} if m.__cpu_features__[f]])"
    )
    assert output(["-c", code], {}) == f"{list(FEATURES)}\n"
    assert output(["-c", code], without(FEATURES)) == "[]\n"


def test_a_digest_tells_numbers_apart_that_differ_in_one_bit() -> None:
    ones = np.ones(3, np.float32)
    moved = np.nextafter(ones, np.float32(2))
    assert digest_of([ones]) == digest_of([ones.copy()])
    assert digest_of([ones]) != digest_of([moved])
    assert digest_of([ones]) != digest_of([ones.reshape(1, 3)])
    assert digest_of([-0.0 * ones]) != digest_of([0.0 * ones])
