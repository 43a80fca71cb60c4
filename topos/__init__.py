"""An autodiff compiler stack: record once on a tape, read it many ways."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final

from topos.engine import BoundEntry, Entry, Numerics, Plan, Run, Signature
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

__all__ = [
    "Adjoints",
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


def __getattr__(name: str) -> ModuleType:
    # `topos.runtimes` and the maps of the two surfaces load where they are first named.
    if name not in _SURFACES:
        raise AttributeError(f"topos has no attribute {name!r}")
    return import_module(f"topos.{name}")
