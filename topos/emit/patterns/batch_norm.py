"""Batch normalization as the operations of that name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from topos.emit.text import number, tensor_type
from topos.emit.writer import Site, Ssa, functional
from topos.engine.catalog.batch_norm import BatchNorm
from topos.payload import TensorType, f32, f64


def refusal(form: BatchNorm, types: Sequence[TensorType]) -> str:
    """Returns why the operation has another meaning: its epsilon is of f32, whatever the element.

    The 16-bit floats round every step of the recorded formula.
    """
    element = types[0].element
    if element not in (f32, f64):
        return f"{element} rounds every step of the recorded formula, and the operation does not"
    if element is f64 and float(np.float32(form.epsilon)) != form.epsilon:
        return f"the operation's epsilon is of f32, which cannot hold {form.epsilon}"
    return ""


def inference(form: BatchNorm, site: Site) -> Ssa:
    """Writes the normalization by given statistics."""
    text = _text("stablehlo.batch_norm_inference", form, site.operands)
    return site.write(text, functional(site.operands, site.type), site.type)


def training(form: BatchNorm, site: Site) -> Ssa:
    """Writes the normalization by the batch's own statistics, which are results beside it."""
    value = Ssa(site.fresh(), site.type)
    feature = tensor_type(site.operands[1].type)
    operands = ", ".join(tensor_type(operand.type) for operand in site.operands)
    text = _text("stablehlo.batch_norm_training", form, site.operands)
    results = f"({tensor_type(site.type)}, {feature}, {feature})"
    site.lines.append(f"{value.name}:3 = {text} : ({operands}) -> {results}")
    return value


def _text(operation: str, form: BatchNorm, operands: Sequence[Ssa]) -> str:
    names = ", ".join(operand.name for operand in operands)
    epsilon = number(np.float32(form.epsilon))
    attributes = f"epsilon = {epsilon} : f32, feature_index = {form.feature} : i64"
    return f'"{operation}"({names}) <{{{attributes}}}>'
