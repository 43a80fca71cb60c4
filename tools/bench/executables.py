"""Executables of XLA beside jax.jit: calls, residents, training steps, and a second start.

Each rival is the same computation as a function under jax.jit, called from numpy to numpy. The
training steps are recorded, emitted and looped over; jax's own are written in jax and donate their
state too. The rounds of rivals are interleaved and the fastest tenth counts. Where the parameters
of a step happen to lie moves its time by some percent, so both are made anew a few times, and the
middle ratio counts. A start is a process of its own that compiles the step of the CNN, the folder
of compiled modules empty or full.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

# One thread for every rival; read by numpy's BLAS when it is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import engine_rivals
import numpy as np
import plan_models as models
from timing import report

from topos import Numerics, runtimes

Array = Any
Step = Callable[[], object]

ROUNDS: Final = 200
STARTS: Final = 4
PLACEMENTS: Final = 5
CALLS_IN_A_ROW: Final = 8
LAYERS: Final = 9


def main() -> None:
    """Prints every ratio with what it must reach."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rounds",
        type=int,
        default=ROUNDS,
        help="rounds of a training step, a tenth of those of a call",
    )
    parser.add_argument("--starts", type=int, default=STARTS, help="processes of each kind")
    parser.add_argument("--start", nargs=2, metavar=("TEXT", "CACHE"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.start:
        print(json.dumps(started(*map(Path, chosen.start))))
        return
    small_call(chosen.rounds)
    residents(chosen.rounds)
    perceptron_step(chosen.rounds)
    convolutional_step(chosen.rounds)
    starts(chosen.starts)


def compared(title: str, ours: Step, rival: Step, rounds: int, row: int, target: str) -> None:
    """Prints the microseconds that a call of each takes, and their ratio."""
    seconds = undisturbed({"topos": ours, "jax.jit": rival}, rounds, row)
    figures = {name: f"{each * 1e6:.1f} us" for name, each in seconds.items()}
    report(title, figures, seconds["topos"] / seconds["jax.jit"], target)


def undisturbed(rivals: dict[str, Step], rounds: int, row: int) -> dict[str, float]:
    """Returns the seconds a call that a tenth of the rounds stay under.

    A round is so few calls that other processes miss some; the single best is a matter of luck.
    The rivals of a round run in a drawn order, each once before it is timed, for what ran before
    leaves the caches of a processor to itself.
    """
    order, drawn = [*rivals], random.Random(0)
    seconds: dict[str, list[float]] = {name: [] for name in rivals}
    gc.collect()
    gc.disable()
    for _ in range(rounds):
        drawn.shuffle(order)
        for name in order:
            call = rivals[name]
            call()
            start = time.perf_counter()
            for _ in range(row):
                call()
            seconds[name].append((time.perf_counter() - start) / row)
    gc.enable()
    return {name: sorted(times)[rounds // 10] for name, times in seconds.items()}


def small_call(rounds: int) -> None:
    """Compares one product of 64x64 matrices and a map, two arguments."""
    import jax

    function = jax.jit(lambda a, b: jax.numpy.tanh(a @ b))
    a, b = models.drawn(64, 64, seed=1), models.drawn(64, 64, seed=2)
    ours = runtimes.load("xla").compile(function.lower(a, b).as_text())
    require_same(ours(a, b)[0], np.asarray(function(a, b)))
    title = "call of a 64x64 module, numpy to numpy"
    rival = lambda: np.asarray(function(a, b))  # noqa: E731
    compared(title, lambda: ours(a, b), rival, 10 * rounds, CALLS_IN_A_ROW, "at most 1.10")


def residents(rounds: int) -> None:
    """Compares twenty arguments, all but one of them held on the device."""
    import jax

    def layers(x: Array, scale: Array, *parameters: Array) -> Array:
        for weight, bias in zip(parameters[::2], parameters[1::2], strict=True):
            x = jax.numpy.tanh(x @ weight + bias)
        return x * scale

    function = jax.jit(layers)
    x = models.drawn(64, 64, seed=1)
    parameters = [np.float32(2.0), *models.weights_of((64,) * (LAYERS + 1))]
    whole = runtimes.load("xla").compile(function.lower(x, *parameters).as_text())
    ours = whole.bind(dict(enumerate(parameters, start=1)))
    held = [jax.device_put(each) for each in parameters]
    require_same(ours(x)[0], np.asarray(function(x, *held)))
    title = "20 arguments, 19 of them resident"
    rival = lambda: np.asarray(function(x, *held))  # noqa: E731
    compared(title, lambda: ours(x), rival, 10 * rounds, CALLS_IN_A_ROW, "at most 1.05")


def perceptron_step(rounds: int) -> None:
    """Compares the training step of the perceptron."""
    import jax

    def logits(parameters: list[Array], x: Array) -> Array:
        first, second, last = zip(parameters[::2], parameters[1::2], strict=True)
        for weight, bias in (first, second):
            x = jax.numpy.maximum(x @ weight + bias, 0)
        return x @ last[0] + last[1]

    def steps() -> tuple[Step, Step]:
        x = models.drawn(models.BATCH, models.WIDTHS[0], seed=9)
        model = models.perceptron(adam=False)
        ours = recorded_step(model, models.weights_of(models.WIDTHS), x)
        return ours, jax_step(logits, models.weights_of(models.WIDTHS), x)

    compared_steps("MLP SGD step, batch 64", steps, rounds)


def convolutional_step(rounds: int) -> None:
    """Compares the training step of the convolutional network."""

    def steps() -> tuple[Step, Step]:
        x = models.drawn(models.BATCH, 1, 28, 28, seed=9)
        model = models.convolutional(models.BATCH, training=True)
        ours = recorded_step(model, models.convolution_weights(), x)
        return ours, jax_step(engine_rivals.convolutional, models.convolution_weights(), x)

    compared_steps("CNN SGD step, batch 64", steps, rounds)


def compared_steps(title: str, steps: Callable[[], tuple[Step, Step]], rounds: int) -> None:
    """Prints the microseconds of both steps, made anew for each placement, and the middle ratio."""
    found = []
    for _ in range(PLACEMENTS):
        ours, rival = steps()
        seconds = undisturbed({"topos": ours, "jax.jit": rival}, -(-rounds // PLACEMENTS), 1)
        found.append((seconds["topos"] / seconds["jax.jit"], seconds))
    found.sort(key=itemgetter(0))
    ratio, middle = found[PLACEMENTS // 2]
    figures = {name: f"{each * 1e6:.1f} us" for name, each in middle.items()}
    figures["ratio: least, most"] = f"{found[0][0]:.2f}x, {found[-1][0]:.2f}x"
    report(title, figures, ratio, "at most 1.05")


def emitted(model: models.Model) -> str:
    """Returns the module of a model's loss and next parameters."""
    roots = [model.result, *model.updates.values()]
    return model.network.entry(roots, numerics=Numerics.FAST).lower().emit_stablehlo()


def recorded_step(model: models.Model, weights: list[Array], x: Array) -> Step:
    """Returns a step of the emitted module, its parameters carried from call to call."""
    executable = runtimes.load("xla").compile(emitted(model))
    carried = {position: position + 1 for position in range(len(weights))}
    loop = executable.loop(carried, dict(enumerate(weights)))
    targets = models.one_hot()
    return lambda: float(loop(x, targets)[0])


def jax_step(logits: Callable[..., Array], weights: list[Array], x: Array) -> Step:
    """Returns a step of jax's own gradient, its parameters donated."""
    import jax

    def loss(parameters: list[Array], x: Array, targets: Array) -> Array:
        logarithms = jax.nn.log_softmax(logits(parameters, x), axis=1)
        return -(targets * logarithms).sum() / models.BATCH

    def stepped(parameters: list[Array], x: Array, targets: Array) -> tuple[Array, list[Array]]:
        value, slopes = jax.value_and_grad(loss)(parameters, x, targets)
        pairs = zip(parameters, slopes, strict=True)
        return value, [own - models.RATE * slope for own, slope in pairs]

    function = jax.jit(stepped, donate_argnums=0)
    held, targets = [jax.numpy.array(each, copy=True) for each in weights], models.one_hot()

    def step() -> float:
        nonlocal held
        value, held = function(held, x, targets)
        return float(value)

    return step


def starts(count: int) -> None:
    """Compares processes that compile with an empty folder and with a full one."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "step.mlir")
        text.write_text(emitted(models.convolutional(models.BATCH, training=True)))
        cold = [process(text, Path(folder, f"cold{number}")) for number in range(count)]
        warm = [process(text, Path(folder, "cold0")) for _ in range(count)]
    best = {
        kind: {part: min(each[part] for each in runs) for part in runs[0]}
        for kind, runs in (("cold", cold), ("warm", warm))
    }
    figures = {
        f"{kind}: {part}": f"{seconds * 1e3:.0f} ms"
        for kind, parts in best.items()
        for part, seconds in parts.items()
    }
    ratio = best["warm"]["compile"] / best["cold"]["compile"]
    report("second start: compile of the CNN step, after the imports", figures, ratio, "0.30")


def process(text: Path, cache: Path) -> dict[str, float]:
    """Returns the seconds of the parts of one start in a process of its own."""
    command = [sys.executable, __file__, "--start", str(text), str(cache)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    parts: dict[str, float] = json.loads(done.stdout)
    return parts


def started(text: Path, cache: Path) -> dict[str, float]:
    """Returns the seconds of importing jax, of compiling, and of the first call."""
    begun = time.perf_counter()
    import jax.extend.backend  # noqa: F401

    imported = time.perf_counter()
    executable = runtimes.load("xla").compile(text.read_text(), cache=cache)
    compiled = time.perf_counter()
    executable(*(np.zeros(*each) for each in executable.signature.arguments))
    called = time.perf_counter()
    return {
        "import of jax": imported - begun,
        "compile": compiled - imported,
        "first call": called - compiled,
    }


def require_same(ours: Array, theirs: Array) -> None:
    """Refuses to compare functions that differ."""
    if ours.tobytes() != theirs.tobytes():
        raise SystemExit("the rivals have different results")


if __name__ == "__main__":
    main()
