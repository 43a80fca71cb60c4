"""An autodiff compiler stack: record once on a tape, read it many ways."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

# numpy goes first: loaded from deep inside our own imports it takes a fifth longer.
import numpy  # noqa: F401  # As the comment above says.

from topos.errors import ToposError
from topos.graph import (
    Adjoints,
    Field,
    Gradients,
    Network,
    Node,
    Parameters,
    Symbol,
    Tape,
    Value,
    detach,
)
from topos.graph.composite import (
    absolute,
    broadcast_to,
    concat,
    gelu,
    gelu_tanh,
    mean,
    relu,
    silu,
    softmax,
    stack,
    variance,
)
from topos.payload import Element, TensorType, bf16, bool_, f16, f32, f64, i32, i64
from topos.reading import Recordable, Tensor

if TYPE_CHECKING:
    from topos import compiler, errors, model, reference, runtimes
    from topos.backend import Backend
    from topos.engine import BoundEntry, Entry, Numerics, Plan, Run, Signature

__all__ = [
    "Adjoints",
    "Backend",
    "BoundEntry",
    "Element",
    "Entry",
    "Field",
    "Gradients",
    "Network",
    "Node",
    "Numerics",
    "Parameters",
    "Plan",
    "Recordable",
    "Run",
    "Signature",
    "Symbol",
    "Tape",
    "Tensor",
    "TensorType",
    "ToposError",
    "Value",
    "absolute",
    "bf16",
    "bool_",
    "broadcast_to",
    "compiler",
    "concat",
    "detach",
    "errors",
    "f16",
    "f32",
    "f64",
    "gelu",
    "gelu_tanh",
    "i32",
    "i64",
    "mean",
    "model",
    "reference",
    "relu",
    "runtimes",
    "silu",
    "softmax",
    "stack",
    "variance",
]

_SURFACES: Final = frozenset({"compiler", "errors", "model", "reference", "runtimes"})
_ENGINE: Final = frozenset({"BoundEntry", "Entry", "Numerics", "Plan", "Run", "Signature"})


def __getattr__(name: str) -> Any:
    # Surfaces, engine and backends load where they are first named, not where a tape is imported.
    if name in _SURFACES:
        return import_module(f"topos.{name}")
    if name == "Backend":
        return import_module("topos.backend").Backend
    if name in _ENGINE:
        return getattr(import_module("topos.engine"), name)
    raise AttributeError(f"topos has no attribute {name!r}")
