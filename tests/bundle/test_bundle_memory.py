"""An export takes little memory beside the weights, which are read where they lie."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np

from topos import Tape, bundle

LAYERS, WIDTH = 12, 512


def test_an_export_holds_one_weight_beside_those_that_are_given(tmp_path: Path) -> None:
    tape = Tape()
    weights = [tape.parameter(shape=(WIDTH, WIDTH), name=str(place)) for place in range(LAYERS)]
    value = tape.input(shape=(1, WIDTH), name="x")
    for weight in weights:
        value = (value @ weight).tanh()
    value.named("y")
    plan = tape.into_network().entry(["y"]).lower()
    draw = np.random.default_rng(0).standard_normal
    given = {str(place): draw((WIDTH, WIDTH), np.float32) / 16 for place in range(LAYERS)}
    # What an export imports and compiles is no part of its own memory.
    bundle.export(tmp_path / "model", plan, given)
    tracemalloc.start()
    try:
        bundle.export(tmp_path / "model", plan, given)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * WIDTH * WIDTH * 4 + (1 << 20)
