"""The model surface over the core: modules, losses, initializers, optimizers."""

from topos.neural import checkpoint, init, schedule
from topos.neural.attention import (
    cache_step,
    causal_mask,
    rotary_embedding,
    scaled_dot_product,
)
from topos.neural.clipping import Clipped, clip_by_global_norm, global_norm
from topos.neural.images import (
    AveragePool,
    Conv2d,
    Flatten,
    MaxPool,
    average_pool,
    conv2d,
    max_pool,
)
from topos.neural.init import Initializer
from topos.neural.layers import Activation, Dropout, Embedding, Linear, Mlp, Sequential, affine
from topos.neural.loss import bce_with_logits, cross_entropy, mse
from topos.neural.module import (
    Module,
    Path,
    Segment,
    Visitor,
    label,
    named_parameters,
    parameters,
)
from topos.neural.multi_head_attention import Cache, MultiHeadAttention, merge_heads, split_heads
from topos.neural.normalization import (
    BatchNorm,
    LayerNorm,
    Normalization,
    RmsNorm,
    RunningStatistics,
    batch_norm,
    batch_norm_inference,
    layer_norm,
    rms_norm,
)
from topos.neural.optimizer import Optimizer, OptimizerState
from topos.neural.rules import Adam, AdamW, Lion, Sgd, every_parameter, matrices
from topos.neural.step import RecordedStep, record_step

__all__ = [
    "Activation",
    "Adam",
    "AdamW",
    "AveragePool",
    "BatchNorm",
    "Cache",
    "Clipped",
    "Conv2d",
    "Dropout",
    "Embedding",
    "Flatten",
    "Initializer",
    "LayerNorm",
    "Linear",
    "Lion",
    "MaxPool",
    "Mlp",
    "Module",
    "MultiHeadAttention",
    "Normalization",
    "Optimizer",
    "OptimizerState",
    "Path",
    "RecordedStep",
    "RmsNorm",
    "RunningStatistics",
    "Segment",
    "Sequential",
    "Sgd",
    "Visitor",
    "affine",
    "average_pool",
    "batch_norm",
    "batch_norm_inference",
    "bce_with_logits",
    "cache_step",
    "causal_mask",
    "checkpoint",
    "clip_by_global_norm",
    "conv2d",
    "cross_entropy",
    "every_parameter",
    "global_norm",
    "init",
    "label",
    "layer_norm",
    "matrices",
    "max_pool",
    "merge_heads",
    "mse",
    "named_parameters",
    "parameters",
    "record_step",
    "rms_norm",
    "rotary_embedding",
    "scaled_dot_product",
    "schedule",
    "split_heads",
]
