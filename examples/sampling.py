"""Sampling: the next token of every row, from its logits and a generator of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from topos.errors import ArgumentError, ExecutionError

__all__ = ["Sampler"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Sampler:
    """A choice of tokens: the likeliest at a temperature of zero, else drawn by their logits.

    `top_k` keeps the likeliest tokens, zero all of them; `top_p` then keeps the likeliest of those
    until their shares reach it (Holtzman et al., 2020), the one that reaches it among them.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0.0 <= self.temperature < np.inf:
            raise ArgumentError(f"a temperature needs to be zero or more, got {self.temperature}")
        if self.top_k < 0:
            raise ArgumentError(f"top-k needs to be zero or more, got {self.top_k}")
        if not 0.0 < self.top_p <= 1.0:
            raise ArgumentError(f"top-p needs to be above 0 and at most 1, got {self.top_p}")

    def generators(self, rows: int) -> list[np.random.Generator]:
        """Returns a generator a row: what one row draws never depends on the others."""
        return [np.random.default_rng((self.seed, row)) for row in range(rows)]

    def choose(self, logits: Array, generators: Sequence[np.random.Generator]) -> Array:
        """Returns a token for each row of logits `[batch, vocabulary]`.

        Raises `ExecutionError` where a row has none that is the largest: NaN, or infinities.
        """
        if not np.isfinite(logits.max(-1)).all():
            raise ExecutionError(
                "the logits hold NaN or infinities: a weight does, or is too large"
            )
        if self.temperature == 0.0:
            return np.asarray(logits.argmax(-1))
        rows = zip(logits, generators, strict=True)
        return np.array([self._drawn(row, own) for row, own in rows])

    def _drawn(self, logits: Array, generator: np.random.Generator) -> int:
        """Returns a token, each as likely as its share of what is kept."""
        wide = logits.astype(np.float64)
        # The least of temperatures leaves nothing but the likeliest.
        with np.errstate(over="ignore"):
            scaled = (wide - wide.max()) / self.temperature
        kept = np.arange(len(scaled))
        if 0 < self.top_k < len(scaled):
            kept = np.argpartition(-scaled, self.top_k - 1)[: self.top_k]
        # Equal logits are in the order of their tokens, so that a draw is reproducible.
        kept = kept[np.lexsort((kept, -scaled[kept]))]
        shares = np.exp(scaled[kept] - scaled[kept[0]])
        totals = np.cumsum(shares / shares.sum())
        if self.top_p < 1.0:
            count = int(np.searchsorted(totals, self.top_p)) + 1
            totals = totals[:count]
        place = int(np.searchsorted(totals, generator.random() * totals[-1], side="right"))
        return int(kept[min(place, len(totals) - 1)])
