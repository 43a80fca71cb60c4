"""An export takes little memory beside the weights, which are read where they lie."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from topos import Tape, bundle

LAYERS, WIDTH = 16, 256


@pytest.mark.parametrize(("is_module", "most"), [(False, 3), (True, 5)])
def test_an_export_holds_few_weights_beside_those_that_are_given(
    tmp_path: Path, is_module: bool, most: int
) -> None:
    tape = Tape()
    weights = [tape.parameter(shape=(WIDTH, WIDTH), name=str(place)) for place in range(LAYERS)]
    value = tape.input(shape=(1, WIDTH), name="x")
    for weight in weights:
        value = (value @ weight).tanh()
    value.named("y")
    plan = tape.into_network().entry(["y"]).lower()
    draw = np.random.default_rng(0).standard_normal
    given = {str(place): draw((WIDTH, WIDTH), np.float32) / 16 for place in range(LAYERS)}
    export: Any = bundle.export_module if is_module else bundle.export
    program = plan.emit_stablehlo() if is_module else plan
    # What an export imports and compiles is no part of its own memory.
    export(tmp_path / "model", program, given)
    tracemalloc.start()
    try:
        export(tmp_path / "model", program, given)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < most * WIDTH * WIDTH * 4 + (1 << 20)
