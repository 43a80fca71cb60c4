"""Examples: rows of a bundle's oracle sample as requests that anyone may send and change."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import EllipsisType
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from topos.bundle import Bundle, Call, Port, Result
from topos.errors import BundleError
from topos.serving.errors import RequestError
from topos.serving.http.numbers import DATATYPES, datatype, written_numbers
from topos.serving.status import ModelStatus

Array = npt.NDArray[Any]

MOST_ELEMENTS: Final = 16384
"""How many numbers an example may have that is meant for a form."""
SMALLEST_SIDE, LARGEST_SIDE = 3, 32
"""What inputs are drawn: those whose last two axes are within these, and whose others are one."""


_EMPTY: Final[dict[str, Any]] = {
    "number": 0,
    "count": 0,
    "body": "",
    "results": [],
    "drawings": [],
    "note": "",
}


class Example(NamedTuple):
    """One call of a sample, or one row of it where rows are apart."""

    call: Call
    part: slice | EllipsisType


class _Sample:
    """What is kept of a bundle: itself, its examples, and how its images are drawn."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        # The program of the most rows has the most of them in its sample.
        program = bundle.programs[-1]
        self.results = program.results
        self.inputs = program.inputs
        calls = program.sample()
        self.examples = _distinct(calls, program.rows)
        self.drawings = [
            _drawing(each, [call.inputs[each.name] for call in calls])
            for each in bundle.inputs
            if _is_image(each)
        ]


class Examples:
    """The oracle samples of the bundles at `paths`, one row at a time where rows are apart.

    A bundle's manifest and sample are read when they are asked for, and kept while the served
    version is theirs. Safe to ask from several threads.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        # Links on them are followed anew each time: they may lead to another version.
        self._paths = tuple(Path(path).absolute() for path in paths)
        self._bundles: dict[str, Bundle] = {}
        self._samples: dict[str, _Sample] = {}

    def weights(self, model: ModelStatus) -> int | None:
        """Returns the bytes of a model's weights; None where the folder has another version."""
        try:
            bundle = self._bundle(model)
        except (BundleError, OSError):
            return None
        return sum(each.nbytes for each in bundle.programs[0].arguments if each.resident)

    def example(self, model: ModelStatus, number: int) -> dict[str, Any]:
        """Returns example `number` of a model for JSON.

        `body` is a request of the protocol as text, `results` what the oracle answered to it, each
        with the distance that a runtime may be from it, `drawings` the inputs that are images.
        Where there is no example for a form, `note` says why and `body` is empty. Raises
        `RequestError` for a number beyond the last.
        """
        unknown = [each.name for each in model.inputs if each.dtype not in DATATYPES.values()]
        if unknown:
            return _without(model, f"the protocol has no name for the elements of {unknown[0]}")
        size = sum(math.prod(each.shape) for each in model.inputs)
        if size > MOST_ELEMENTS:
            return _without(model, f"a request has {size:,} numbers, too many for a form")
        try:
            sample = self._sample(model)
        except (BundleError, OSError) as error:
            return _without(model, f"there is no example: {error}")
        count = len(sample.examples)
        if number >= count:
            raise RequestError("number", f"needs one of {count} examples, from 0 on, got {number}")
        example = sample.examples[number]
        return _without(model, "") | {
            "number": number,
            "count": count,
            "body": _body(sample.inputs, example),
            "results": [_result(each, example) for each in sample.results],
            "drawings": sample.drawings,
        }

    def _sample(self, model: ModelStatus) -> _Sample:
        bundle = self._bundle(model)
        known = self._samples.get(model.name)
        if known is None or known.bundle is not bundle:
            known = self._samples[model.name] = _Sample(bundle)
        return known

    def _bundle(self, model: ModelStatus) -> Bundle:
        """Returns the bundle of a model by its manifest alone: its worker verified the rest."""
        known = self._bundles.get(model.name)
        if known is None or known.version != model.version:
            known = self._bundles[model.name] = self._read(model)
        return known

    def _read(self, model: ModelStatus) -> Bundle:
        if not model.version:
            raise BundleError(f"{model.name} is not served yet")
        for path in self._paths:
            # A folder that is no bundle just now may be that of another model.
            with suppress(BundleError, OSError):
                bundle = Bundle.glance(path)
                if (bundle.name, bundle.version) == (model.name, model.version):
                    return bundle
        raise BundleError(
            f"{model.name} is served as version {model.version}, and no folder has that now"
        )


def _distinct(calls: Sequence[Call], rows: int | None) -> list[Example]:
    """Returns every call, or every row of all calls, but those with the inputs of one before."""
    # Unlike a slice, the ellipsis takes the whole of an array of rank 0, too.
    parts = [...] if rows is None else [slice(row, row + 1) for row in range(rows)]
    found: dict[bytes, Example] = {}
    for call in calls:
        for part in parts:
            key = b"".join(array[part].tobytes() for array in call.inputs.values())
            found.setdefault(key, Example(call, part))
    return list(found.values())


def _without(model: ModelStatus, note: str) -> dict[str, Any]:
    return {"model": model.name, "version": model.version, **_EMPTY, "note": note}


def _body(ports: Iterable[Port], example: Example) -> str:
    """Returns the request as text of which each line holds a row of an input's last axis."""
    inputs = []
    for port in ports:
        array = example.call.inputs[port.name][example.part]
        head = {"name": port.name, "shape": array.shape, "datatype": datatype(array.dtype)}
        start = msgspec.json.encode(head).decode()[:-1]
        inputs.append(f'    {start}, "data": [{_lines(array)}]}}')
    return '{\n  "inputs": [\n' + ",\n".join(inputs) + "\n  ]\n}"


def _lines(array: Array) -> str:
    numbers = bytes(written_numbers(array)).decode()[1:-1].split(",")
    width = array.shape[-1] if array.ndim > 1 and array.size else len(numbers)
    lines = [", ".join(numbers[at : at + width]) for at in range(0, len(numbers), max(width, 1))]
    if len(lines) < 2:
        return "".join(lines)
    return "\n" + ",\n".join(f"      {line}" for line in lines) + "\n    "


def _result(port: Result, example: Example) -> dict[str, Any]:
    # An envelope is a share of what is largest in the whole call.
    whole = example.call.results[port.name]
    array = whole[example.part]
    return {
        "name": port.name,
        "datatype": datatype(array.dtype),
        "shape": array.shape,
        "data": written_numbers(array),
        "allowed": port.envelope * _largest(whole),
    }


def _largest(array: Array) -> float:
    """Returns the largest finite magnitude, which an envelope is a share of."""
    magnitudes = np.abs(array.astype(np.float64))
    return float(np.max(magnitudes, initial=0.0, where=np.isfinite(magnitudes)))


def _is_image(port: Port) -> bool:
    if len(port.shape) < 2 or port.dtype.kind not in "fui":
        return False
    sides = port.shape[-2:]
    fits = all(SMALLEST_SIDE <= side <= LARGEST_SIDE for side in sides)
    return fits and math.prod(port.shape) == math.prod(sides)


def _drawing(port: Port, arrays: list[Array]) -> dict[str, Any]:
    """Returns how an input is drawn: its sides, and what the sample's pixels lie between."""
    values = np.concatenate([each.astype(np.float64).ravel() for each in arrays])
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    whole = bool(np.all(finite == np.round(finite)))
    height, width = port.shape[-2:]
    return {
        "name": port.name,
        "rows": height,
        "columns": width,
        "low": low,
        "high": high if high > low else low + 1.0,
        "whole": whole,
    }
