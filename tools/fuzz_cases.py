"""What the fuzz tries: texts by name, some with the arguments that lie beside them."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple
from zipfile import ZipFile

import ml_dtypes
import numpy as np
import numpy.typing as npt

__all__ = ["Case", "cases_of"]

Array = npt.NDArray[Any]

# Mutation of megabytes of constants finds nothing that a short text does not show.
LONGEST: Final = 20_000


class Case(NamedTuple):
    """A module, and its arguments where somebody gave them: else they are drawn."""

    name: str
    text: str
    arguments: list[Array] | None = None


def cases_of(paths: Iterable[str]) -> list[Case]:
    """Returns the texts of files, folders and zip archives of `.mlir` files, in order.

    The arguments of NAME.mlir lie in a NAME.json beside it, as in the conformance cases.
    """
    found = [case for path in map(Path, paths) for case in _cases(path)]
    return [case for case in found if len(case.text) <= LONGEST]


def _cases(path: Path) -> Iterator[Case]:
    if path.suffix == ".zip":
        with ZipFile(path) as archive:
            names = {*archive.namelist()}
            for name in sorted(each for each in names if each.endswith(".mlir")):
                yield _case(name, lambda each: archive.read(each) if each in names else None)
        return
    for file in sorted(path.rglob("*.mlir")) if path.is_dir() else [path]:
        yield _case(
            str(file), lambda each: Path(each).read_bytes() if Path(each).exists() else None
        )


def _case(name: str, read: Callable[[str], bytes | None]) -> Case:
    text = (read(name) or b"").decode()
    facts = read(f"{name.removesuffix('.mlir')}.json")
    if facts is None:
        return Case(Path(name).stem, text)
    given = json.loads(facts)["args"]
    return Case(Path(name).stem, text, [_decoded(each) for each in given])


def _decoded(stored: dict[str, Any]) -> Array:
    dtype = np.dtype(getattr(ml_dtypes, stored["dtype"], stored["dtype"]))
    raw = zlib.decompress(base64.b64decode(stored["data"]))
    return np.frombuffer(raw, dtype).reshape(stored["shape"])
