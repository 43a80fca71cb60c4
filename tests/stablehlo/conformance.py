"""The shared conformance cases: what they hold, and how a result is compared with what is due."""

from __future__ import annotations

import base64
import json
import zlib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tests.project.paths import ROOT

Array = npt.NDArray[Any]

FOLDER = ROOT.parent / "shared" / "conformance"
# Formats of fewer than eight bits lie in the low ones of a byte.
SHORT = {"float4_e2m1fn": 4, "float6_e2m3fn": 6, "float6_e3m2fn": 6}


class Case(NamedTuple):
    """A module with its arguments, what is due, and how each result is compared."""

    name: str
    text: str
    arguments: list[Array]
    results: list[Array]
    comparisons: list[dict[str, Any]]


def listed(name: str) -> list[str]:
    """Returns the names in a list of cases; none where the folder is absent."""
    path = FOLDER / name
    return path.read_text("utf-8").split() if path.exists() else []


def held(archive: str, suffix: str) -> set[str]:
    """Returns the names of the cases that `archive` holds a file of `suffix` for."""
    return {Path(name).stem for name in _archive(archive).namelist() if name.endswith(suffix)}


def text_of(archive: str, name: str) -> str:
    return _archive(archive).read(f"{name}.mlir").decode("utf-8")


def facts_of(archive: str, name: str) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(_archive(archive).read(f"{name}.json"))
    return facts


def case_of(name: str, texts: str = "corpus.zip") -> Case:
    """Returns a case of the corpus, its text taken from the archive `texts`."""
    facts = facts_of("corpus.zip", name)
    return Case(
        name,
        text_of(texts, name),
        [_decoded(each) for each in facts["args"]],
        [_decoded(each) for each in facts["results"]],
        [each["cmp"] for each in facts["results"]],
    )


@cache
def _archive(name: str) -> ZipFile:
    return ZipFile(FOLDER / name)


def _decoded(stored: dict[str, Any]) -> Array:
    name = stored["dtype"]
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    raw = zlib.decompress(base64.b64decode(stored["data"]))
    return np.frombuffer(raw, dtype).reshape(stored["shape"])


def agrees(got: Array, due: Array, comparison: dict[str, Any]) -> bool:
    """Returns whether `got` is `due` by the comparison's kind; complex numbers go by parts."""
    if got.dtype != due.dtype or got.shape != due.shape:
        return False
    parts = [(got, due)]
    if due.dtype.kind == "c":
        parts = [(got.real, due.real), (got.imag, due.imag)]
    return all(_agree(np.ravel(one), np.ravel(other), comparison) for one, other in parts)


def _agree(got: Array, due: Array, comparison: dict[str, Any]) -> bool:
    match comparison["kind"]:
        case "eq":
            loose = comparison.get("equal_nan", False)
            return bool(np.all((got == due) | (loose & (got != got) & (due != due))))
        case "almost_eq":
            one, other = got.astype(np.float64), due.astype(np.float64)
            with np.errstate(invalid="ignore"):
                near = np.abs(one - other) <= comparison["tolerance"]
            return bool(np.all((one == other) | near | (np.isnan(one) & np.isnan(other))))
        case "close":
            reach = range(comparison.get("min_ulp", 0), comparison["max_ulp"] + 1)
            return all(distance in reach for distance in _distances(got, due))
    raise AssertionError(f"no comparison is called {comparison['kind']}")


def _distances(got: Array, due: Array) -> list[int]:
    """Returns how many numbers of the format lie between each two; the most for one that is none.

    Any two NaN are at no distance, and so are zeros of either sign.
    """
    ranks, others = _ranks(got), _ranks(due)
    one, other = got.astype(np.float64), due.astype(np.float64)
    alike = (np.isnan(one) & np.isnan(other)) | (one == other)
    finite = np.isfinite(one) & np.isfinite(other)
    return [
        0 if same else abs(left - right) if known else 2**64 - 1
        for left, right, same, known in zip(ranks, others, alike, finite, strict=True)
    ]


def _ranks(array: Array) -> list[int]:
    """Returns integers that count the numbers of a format upward through zero."""
    width = SHORT.get(array.dtype.name, 8 * array.dtype.itemsize)
    bits = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").tolist()
    sign = 1 << (width - 1)
    return [-(each & (sign - 1)) if each & sign else each for each in bits]
