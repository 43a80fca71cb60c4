"""The model surface over the core: modules, losses, initializers, optimizers."""

from topos.neural import checkpoint, init, schedule
from topos.neural.activation import Activation
from topos.neural.adam import Adam, AdamW
from topos.neural.attention import cache_step, causal_mask, scaled_dot_product
from topos.neural.batch_normalization import (
    BatchNorm,
    Normalization,
    RunningStatistics,
    batch_norm,
    batch_norm_inference,
)
from topos.neural.clipping import Clipped, clip_by_global_norm, global_norm
from topos.neural.convolution import Conv2d, conv2d
from topos.neural.decay import every_parameter, matrices
from topos.neural.dropout import Dropout
from topos.neural.embedding import Embedding
from topos.neural.init import Initializer
from topos.neural.linear import Linear, affine
from topos.neural.lion import Lion
from topos.neural.loss import bce_with_logits, cross_entropy, mse
from topos.neural.mlp import Mlp
from topos.neural.module import Module, Visitor, label, named_parameters, parameters
from topos.neural.multi_head_attention import Cache, MultiHeadAttention, merge_heads, split_heads
from topos.neural.normalization import LayerNorm, RmsNorm, layer_norm, rms_norm
from topos.neural.optimizer import Optimizer, OptimizerState
from topos.neural.path import Path, Segment
from topos.neural.pooling import AveragePool, Flatten, MaxPool, average_pool, max_pool
from topos.neural.rotary import rotary_embedding
from topos.neural.sequential import Sequential
from topos.neural.sgd import Sgd
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
