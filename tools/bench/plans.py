"""Plans beside numpy by hand: training steps, forward passes, their memory, and small nodes.

A training step is one plan, whose roots are the loss and every parameter after the step; the
caller hands the new payloads to the next run. The hand-written rivals update in place.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import plan_models as models
import plan_rivals as rivals
from timing import Figures, interleaved

from topos import Numerics, Tensor, f32

ROUNDS: Final = 31
IN_A_ROW: Final = 5
NODES: Final = 10_000
STEPS: Final = 20
Step = Callable[[], Any]


class Workload(NamedTuple):
    """What is measured: its recording, what numpy does, what it is fed, the most each may take."""

    title: str
    model: Callable[[], models.Model]
    rival: Callable[[models.Array], Step]
    shape: tuple[int, ...]
    fast: float
    exact: float


IMAGES, FEW_IMAGES = (models.BATCH, 1, 28, 28), (8, 1, 28, 28)
WORKLOADS: Final = {
    "mlp": Workload(
        "MLP SGD step, batch 64",
        lambda: models.perceptron(adam=False),
        lambda x: rivals.perceptron(x, with_adam=False),
        (models.BATCH, models.WIDTHS[0]),
        *(1.10, 2.5),
    ),
    "adam": Workload(
        "MLP Adam step, batch 64",
        lambda: models.perceptron(adam=True),
        lambda x: rivals.perceptron(x, with_adam=True),
        (models.BATCH, models.WIDTHS[0]),
        *(1.10, 2.2),
    ),
    "cnn": Workload(
        "CNN SGD step, batch 64",
        lambda: models.convolutional(models.BATCH, training=True),
        lambda x: rivals.convolutional(x, training=True),
        IMAGES,
        *(1.15, 3.0),
    ),
    "cnn8": Workload(
        "CNN forward, batch 8",
        lambda: models.convolutional(8, training=False),
        lambda x: rivals.convolutional(x, training=False),
        FEW_IMAGES,
        *(1.10, 2.5),
    ),
    "attention64": Workload(
        "attention, 256 tokens, d 64, 1 head",
        lambda: models.attention(64, 1),
        lambda x: rivals.attention(x, 64, 1),
        (models.TOKENS, 64),
        *(1.05, 4.0),
    ),
    "attention128": Workload(
        "attention, 256 tokens, d 128, 4 heads",
        lambda: models.attention(128, 4),
        lambda x: rivals.attention(x, 128, 4),
        (models.TOKENS, 128),
        *(1.05, 4.0),
    ),
    "block": Workload(
        "block with feed-forward, d 128, 4 heads",
        lambda: models.block(128, 4),
        lambda x: rivals.block(x, 128, 4),
        (models.TOKENS, 128),
        *(1.05, 4.0),
    ),
}


def stepper(
    model: models.Model,
    posture: Numerics,
    x: models.Array | None,
    weights: Iterable[models.Array] = (),
) -> Step:
    """Returns the step of a plan of `model`, which carries its parameters from run to run.

    `weights` are the first of a model that declares its parameters.
    """
    plan = model.network.entry([model.result, *model.updates.values()], numerics=posture).lower()
    first = zip(model.updates, weights, strict=False)
    state = model.network.parameters({own: Tensor.wrap(array, f32) for own, array in first})
    feeds = {} if x is None else {"x": x}

    def step() -> models.Array:
        nonlocal state
        run = plan.forward(state, feeds)
        if model.updates:
            state = state.with_payloads({own: run.of(new) for own, new in model.updates.items()})
        return run.of(model.result).numpy()

    return step


def least(steps: Mapping[str, Step]) -> Figures:
    """Returns the least seconds of processor time of each step, of some in a row in each round.

    In a row, as training takes them, each step finds what the last one left in the caches.
    """
    best = dict.fromkeys(steps, float("inf"))
    for _ in range(ROUNDS):
        for name, step in steps.items():
            for _ in range(IN_A_ROW):
                start = time.process_time()
                step()
                best[name] = min(best[name], time.process_time() - start)
    return best


def compare(work: Workload) -> None:
    """Prints the milliseconds of numpy and the ratio of each posture to it."""
    x = models.drawn(*work.shape, seed=9)
    model, by_hand = work.model(), work.rival(x)
    steps = {each.value: stepper(model, each, x) for each in Numerics}
    for _ in range(3):
        wanted = by_hand()
        for name, step in steps.items():
            assert np.allclose(step(), wanted, rtol=2e-3, atol=1e-4), f"{work.title}: {name}"
    best = least({"numpy": by_hand, **steps})
    fast, exact = (best[each.value] / best["numpy"] for each in (Numerics.FAST, Numerics.EXACT))
    print(
        f"| {work.title:<40} | {best['numpy'] * 1e3:8.3f} | {fast:6.2f}x of {work.fast:.2f}x"
        f" | {exact:6.2f}x of {work.exact:.2f}x |",
        flush=True,
    )


def small_nodes() -> None:
    """Prints what a node of [8, 8] costs beside the numpy call that it makes."""
    model = models.chain(NODES)
    steps = {each.value: stepper(model, each, None) for each in Numerics}
    best = interleaved({"numpy": rivals.chain(NODES), **steps}, 9)
    each = {name: seconds / NODES * 1e6 for name, seconds in best.items()}
    above = {name: each[name] - each["numpy"] for name in steps}
    print(f"\n{NODES} nodes of [8, 8]: numpy {each['numpy']:.3f} us a call, above it", end=" ")
    print(", ".join(f"{name} {more:+.3f} us" for name, more in above.items()), "(at most 1.0)")


def peak_of(name: str, who: str) -> int:
    """Returns the kilobytes that twenty steps add to this process at their peak."""
    work = WORKLOADS[name]
    x = models.drawn(*work.shape, seed=9)
    # What a process loads or sets aside once, whatever it runs: modules, the library's buffer.
    small = models.perceptron(adam=False, widths=(8, 8, models.CLASSES))
    stepper(small, Numerics.FAST, models.drawn(models.BATCH, 8))()
    np.ones((64, 64), np.float32) @ np.ones((64, 64), np.float32)
    before = high_water()
    if who == "numpy":
        step = work.rival(x)
    elif who == "declared":
        model = models.perceptron(adam=False, declared=True)
        step = stepper(model, Numerics.FAST, x, models.weights_of(models.WIDTHS))
    else:
        step = stepper(work.model(), Numerics(who), x)
    for _ in range(STEPS):
        step()
    return high_water() - before


def high_water() -> int:
    """Returns the most kilobytes that this process ever had in memory."""
    # `ru_maxrss` would begin with what the parent of this process had.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0])


def memory() -> None:
    """Prints the peak of the training steps beyond the import, each in a process of its own."""
    print("\n| peak memory beyond the import, kB        |    numpy |     fast |    ratio |")
    for name, who, note in (
        ("mlp", "declared", ""),
        ("mlp", "fast", ", first weights kept"),
        ("cnn", "fast", ""),
    ):
        by_hand, ours = (_peak(name, each) for each in ("numpy", who))
        title = WORKLOADS[name].title + note
        ratio = f"{ours / by_hand:7.2f}x"
        print(f"| {title:<40} | {by_hand:8d} | {ours:8d} | {ratio} | (at most 1.1x)")


def _peak(name: str, who: str) -> int:
    command = [sys.executable, __file__, "--peak", name, who]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


ONE_THREAD: Final = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)

if __name__ == "__main__":
    if not ONE_THREAD.items() <= os.environ.items():
        # The libraries read it when they load, which they have done by now.
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ONE_THREAD})
    if sys.argv[1:2] == ["--peak"]:
        print(peak_of(*sys.argv[2:]))
        raise SystemExit
    chosen = sys.argv[1:] or [*WORKLOADS, "nodes", "memory"]
    print(f"| {'workload':<40} | numpy ms |    fast          |   exact          |")
    for name in chosen:
        if name in WORKLOADS:
            compare(WORKLOADS[name])
    if "nodes" in chosen:
        small_nodes()
    if "memory" in chosen:
        memory()
