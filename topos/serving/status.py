"""What a session says: of a model, to a page, a probe or a client, and of a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from topos.payload import Shape


@dataclass(frozen=True, slots=True)
class ModelPort:
    """An input or a result of a model; `shape` is that of one row where the model is batched."""

    name: str
    shape: Shape
    dtype: np.dtype[np.generic]


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """A model as it stands: `reason` says why it is not ready, or why its last reload was refused.

    `rows` are the declared batch sizes, ascending; it is empty where no program has rows.
    `waiting` counts the requests in the queue. `process` is the number of the worker's own process,
    None where it has none. `notes` tell what became of compiled forms in the bundle.
    """

    name: str
    version: str
    ready: bool
    reason: str
    batched: bool
    rows: tuple[int, ...]
    inputs: tuple[ModelPort, ...]
    results: tuple[ModelPort, ...]
    runtime: str
    waiting: int
    process: int | None = None
    notes: tuple[str, ...] = ()


class Outcome(NamedTuple):
    """Results by name, all of them computed by that version of the model and no other."""

    results: dict[str, npt.NDArray[Any]]
    version: str
