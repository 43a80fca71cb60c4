"""The peak memory of a process that draws weights, records a decoder of them, and exports it.

The decoder has 12 blocks and a table of words that is read at both ends, a quarter of the weights,
as GPT-2 does. The weights count once; the interpreter and jaxlib, which writes the artifact, are
in the peak. `--recorded` gives the weights to the tape as first values, `--module` exports the
text of the decoder as a module from anywhere, and `--compiled` adds machine code; `--use` also
measures the process that checks the bundle on a runtime. The command fails where a peak is above
1.5 times the weights.
"""

from __future__ import annotations

import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any, Final

# One thread for every product; read by numpy's BLAS when it is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from plan_models import attended, drawn, normalized
from timing import report

from topos import Plan, Tape, Value, bundle, gelu_tanh

BLOCKS: Final = 12
HEADS: Final = 1
# As many rows of the table as make it a quarter of the weights.
WORDS_PER_WIDTH: Final = 4 * BLOCKS
BOUND: Final = 1.5
FLAGS: Final = ("recorded", "module", "compiled")
Shapes = dict[str, tuple[int, int]]


def shapes_of(megabytes: float) -> Shapes:
    """Returns the shapes of weights that take `megabytes` in f32."""
    width = round(math.sqrt(megabytes * 1e6 / 4 / (12 * BLOCKS + WORDS_PER_WIDTH)))
    shapes = {"words": (WORDS_PER_WIDTH * width, width)}
    for block in range(BLOCKS):
        shapes |= {f"{block}.{name}": (width, width) for name in ("query", "key", "value", "out")}
        shapes |= {f"{block}.up": (width, 4 * width), f"{block}.down": (4 * width, width)}
    return shapes


def weights_of(shapes: Shapes) -> dict[str, Any]:
    """Returns normal numbers of those shapes."""
    return {
        name: drawn(*shape, seed=place, scale=shape[0 if name != "words" else 1] ** -0.5)
        for place, (name, shape) in enumerate(shapes.items())
    }


def recorded(shapes: Shapes, weights: dict[str, Any] | None) -> Plan:
    """Records the decoder over one token; its parameters begin with `weights` where given."""
    tape = Tape()
    own: dict[str, Value] = {}
    for name, shape in shapes.items():
        if weights is None:
            own[name] = tape.parameter(shape=shape, name=name)
        else:
            # What the tape has taken in is let go of here.
            own[name] = tape.parameter(weights.pop(name), name=name)
    token = tape.input(np.array([1]), name="token")
    value = own["words"].gather(token, 0)
    for block in range(BLOCKS):
        mixes = [own[f"{block}.{name}"] for name in ("query", "key", "value", "out")]
        value = value + attended(normalized(value), mixes, HEADS)
        value = value + gelu_tanh(normalized(value) @ own[f"{block}.up"]) @ own[f"{block}.down"]
    (normalized(value) @ own["words"].transpose()).named("logits")
    return tape.into_network().entry(["logits"]).lower()


def exported(chosen: Namespace) -> None:
    """Exports the decoder to the folder, in this process."""
    shapes = shapes_of(chosen.megabytes)
    weights = weights_of(shapes)
    samples = [{"token": np.array([token])} for token in (3, 5)]
    plan = recorded(shapes, weights if chosen.recorded else None)
    given = None if chosen.recorded else weights
    compiled = ("cpu",) if chosen.compiled else ()
    if chosen.module:
        text = plan.emit_stablehlo()
        bundle.export_module(chosen.folder, text, given, samples=samples, compiled=compiled)
    else:
        plan.export(chosen.folder, given, samples=samples, compiled=compiled)


def used(chosen: Namespace) -> None:
    """Loads the bundle and checks it on a runtime, in this process."""
    assert bundle.check(chosen.folder, chosen.use).passed


def measured(chosen: Namespace, title: str, *words: str) -> float:
    """Returns the peak of a process of this command as a share of the weights, once printed."""
    start = time.perf_counter()
    command = [sys.executable, __file__, "--megabytes", str(chosen.megabytes), *words]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    seconds, peak = time.perf_counter() - start, float(lines[-1])
    size = sum(4 * math.prod(shape) for shape in shapes_of(chosen.megabytes).values()) / 1e6
    figures = {"weights": f"{size:.0f} MB", "peak": f"{peak:.0f} MB", "time": f"{seconds:.1f} s"}
    report(title, figures, peak / size, f"at most {BOUND} times the weights")
    return peak / size


def main() -> int:
    """Prints the measurements; returns 1 where one is above its bound."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=2000.0)
    for flag in FLAGS:
        parser.add_argument(f"--{flag}", action="store_true")
    parser.add_argument("--use", metavar="RUNTIME")
    parser.add_argument("--folder", type=Path)
    chosen = parser.parse_args()
    if chosen.folder is not None:
        used(chosen) if chosen.use else exported(chosen)
        # Linux counts in kilobytes.
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6)
        return 0
    with tempfile.TemporaryDirectory() as place:
        folder = ("--folder", str(Path(place) / "model"))
        flags = [f"--{flag}" for flag in FLAGS if getattr(chosen, flag)]
        ratios = [measured(chosen, "an export", *folder, *flags)]
        if chosen.use is not None:
            ratios.append(
                measured(chosen, f"a check on {chosen.use}", *folder, "--use", chosen.use)
            )
    return int(max(ratios) > BOUND)


if __name__ == "__main__":
    sys.exit(main())
