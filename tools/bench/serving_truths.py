"""Truths: what the oracle answered for the rows that clients send, held against what came back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.bundle import Bundle

__all__ = ["Truths"]

Array = npt.NDArray[Any]

# How many times the envelope the rows have to be apart, so that one cannot pass for another.
APART: Final = 100.0


@dataclass(frozen=True, slots=True)
class Truths:
    """The sample of a batched bundle's largest program, row by row.

    A result may be off by its envelope, which is a share of the largest magnitude among the
    oracle's answers.
    """

    model: str
    version: str
    inputs: Mapping[str, Array]
    results: Mapping[str, Array]
    allowed: Mapping[str, float]

    @classmethod
    def of(cls, bundle: Bundle) -> Truths:
        """Returns the truths of a bundle; raises `ValueError` where two rows are too alike."""
        program = bundle.programs[-1]
        calls = program.sample()
        inputs = {
            port.name: _joined([call.inputs[port.name] for call in calls])
            for port in program.inputs
        }
        results = {
            port.name: _joined([call.results[port.name] for call in calls])
            for port in program.results
        }
        allowed = {
            port.name: port.envelope * float(np.abs(results[port.name]).max())
            for port in program.results
        }
        for name, result in results.items():
            _require_apart(name, result, allowed[name])
        return cls(bundle.name, bundle.version, inputs, results, allowed)

    def __len__(self) -> int:
        """Returns how many rows there are."""
        return len(next(iter(self.inputs.values())))

    def feeds(self, rows: Sequence[int]) -> dict[str, Array]:
        """Returns the inputs of those rows."""
        return {name: array[list(rows)] for name, array in self.inputs.items()}

    def fault(self, rows: Sequence[int], results: Mapping[str, Array]) -> str:
        """Returns what is wrong with the results of those rows, or nothing."""
        if results.keys() != self.results.keys():
            return f"answers {sorted(results)}, {sorted(self.results)} were due"
        for name, result in results.items():
            due = self.results[name][list(rows)]
            if result.shape != due.shape or result.dtype != due.dtype:
                return f"{name} is {result.dtype} {result.shape}, {due.dtype} {due.shape} was due"
            off = float(np.abs(result.astype(np.float64) - due).max())
            if not off <= self.allowed[name]:
                return f"{name} is off by {off:.3g}, {self.allowed[name]:.3g} is allowed"
        return ""

    def same_bits(self, rows: Sequence[int], results: Mapping[str, Array]) -> bool:
        """Returns whether the results of those rows are the oracle's to the bit."""
        return all(
            result.tobytes() == self.results[name][list(rows)].tobytes()
            for name, result in results.items()
        )


def _joined(arrays: Sequence[Array]) -> Array:
    return np.concatenate(arrays)


def _require_apart(name: str, result: Array, allowed: float) -> None:
    rows = result.reshape(len(result), -1).astype(np.float64)
    apart = np.abs(rows[:, None] - rows[None]).max(axis=2)
    np.fill_diagonal(apart, np.inf)
    if not apart.min() > APART * allowed:
        raise ValueError(
            f"{name} has rows that are {apart.min():.3g} apart, which tells too little"
        )
