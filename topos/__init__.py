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
from topos.payload import (
    Arithmetic,
    Element,
    FloatArithmetic,
    TensorType,
    bf16,
    bool_,
    f16,
    f32,
    f64,
    i32,
    i64,
)
from topos.reading import Recordable, Tensor

if TYPE_CHECKING:
    from topos import compiler, errors, model, reference, runtimes
    from topos.backend import Backend
    from topos.engine import BoundEntry, Entry, Numerics, Plan, Run, Signature
    from topos.neural import (
        Activation,
        AveragePool,
        BatchNorm,
        Cache,
        Conv2d,
        Dropout,
        Embedding,
        Flatten,
        Initializer,
        LayerNorm,
        Linear,
        MaxPool,
        Mlp,
        Module,
        MultiHeadAttention,
        Normalization,
        Path,
        RmsNorm,
        RunningStatistics,
        Segment,
        Sequential,
        Visitor,
        affine,
        average_pool,
        batch_norm,
        batch_norm_inference,
        bce_with_logits,
        cache_step,
        causal_mask,
        conv2d,
        cross_entropy,
        init,
        label,
        layer_norm,
        max_pool,
        merge_heads,
        mse,
        named_parameters,
        parameters,
        rms_norm,
        rotary_embedding,
        scaled_dot_product,
        split_heads,
    )

__all__ = [
    "Activation",
    "Adam",
    "AdamW",
    "Adjoints",
    "Arithmetic",
    "AveragePool",
    "Backend",
    "BatchNorm",
    "BoundEntry",
    "Cache",
    "Clipped",
    "Conv2d",
    "Dropout",
    "Element",
    "Embedding",
    "Entry",
    "Field",
    "Flatten",
    "FloatArithmetic",
    "Gradients",
    "Initializer",
    "LayerNorm",
    "Linear",
    "Lion",
    "MaxPool",
    "Mlp",
    "Module",
    "MultiHeadAttention",
    "Network",
    "Node",
    "Normalization",
    "Numerics",
    "Optimizer",
    "OptimizerState",
    "Parameters",
    "Path",
    "Plan",
    "Recordable",
    "RecordedStep",
    "RmsNorm",
    "Run",
    "RunningStatistics",
    "Segment",
    "Sequential",
    "Sgd",
    "Signature",
    "Symbol",
    "Tape",
    "Tensor",
    "TensorType",
    "ToposError",
    "Value",
    "Visitor",
    "absolute",
    "affine",
    "average_pool",
    "batch_norm",
    "batch_norm_inference",
    "bce_with_logits",
    "bf16",
    "bool_",
    "broadcast_to",
    "cache_step",
    "causal_mask",
    "checkpoint",
    "clip_by_global_norm",
    "compiler",
    "concat",
    "conv2d",
    "cross_entropy",
    "detach",
    "errors",
    "every_parameter",
    "f16",
    "f32",
    "f64",
    "gelu",
    "gelu_tanh",
    "global_norm",
    "i32",
    "i64",
    "init",
    "label",
    "layer_norm",
    "matrices",
    "max_pool",
    "mean",
    "merge_heads",
    "model",
    "mse",
    "named_parameters",
    "parameters",
    "record_step",
    "reference",
    "relu",
    "rms_norm",
    "rotary_embedding",
    "runtimes",
    "scaled_dot_product",
    "schedule",
    "silu",
    "softmax",
    "split_heads",
    "stack",
    "variance",
]

_SURFACES: Final = frozenset({"compiler", "errors", "model", "reference", "runtimes"})
_ENGINE: Final = frozenset({"BoundEntry", "Entry", "Numerics", "Plan", "Run", "Signature"})


def __dir__() -> list[str]:
    # What is not loaded yet is there too, and what our own files import is nobody else's.
    return __all__


def __getattr__(name: str) -> Any:
    # Surfaces, engine and backends load where they are first named, not where a tape is imported.
    if name in _SURFACES:
        return import_module(f"topos.{name}")
    if name == "Backend":
        return import_module("topos.backend").Backend
    if name in _ENGINE:
        return getattr(import_module("topos.engine"), name)
    # Of the public names, those that are neither here nor above are the model surface's.
    if name in __all__:
        return getattr(import_module("topos.neural"), name)
    raise AttributeError(f"topos has no attribute {name!r}")
