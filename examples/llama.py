"""Trains a small Llama on a sonnet and decodes from it, or decodes from a checkpoint.

Every token is chosen twice: over the whole context, and over a cache of keys and values. Both are
recordings of one network, and under Exact both have the same bits.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from decoding import Decoded, Decoder, decoder, record_decoding
from everywhere import Feeds, Forward, others, rows, trial
from llama_model import Configuration, Llama, configuration, loaded
from terminal import Console, Progress, Table, bounded, progress, runtimes_table

from topos import (
    AdamW,
    Clipped,
    Network,
    Parameters,
    RecordedStep,
    Symbol,
    Tape,
    ToposError,
    cross_entropy,
    i64,
    init,
    label,
    matrices,
    parameters,
    record_step,
    schedule,
)

# Shakespeare, sonnet 18 (1609).
SONNET: Final = """\
Shall I compare thee to a summer's day?
Thou art more lovely and more temperate:
Rough winds do shake the darling buds of May,
And summer's lease hath all too short a date;
Sometime too hot the eye of heaven shines,
And often is his gold complexion dimm'd;
And every fair from fair sometime declines,
By chance or nature's changing course untrimm'd;
But thy eternal summer shall not fade,
Nor lose possession of that fair thou ow'st;
Nor shall death brag thou wander'st in his shade,
When in eternal lines to time thou grow'st:
So long as men can breathe or eyes can see,
So long lives this, and this gives life to thee.
"""
LETTERS: Final = sorted(set(SONNET))
SIZES: Final = Configuration(vocabulary=len(LETTERS))
BATCH, CAPACITY, PROMPT = 8, 24, "So long "
CAPTION: Final = (
    "Step: of training on one window; token: of decoding. Both say how far an element is from the"
    " oracle's at most, beside the largest of its result. The same: of the tokens that decoding"
    " over the cache chooses on the runtime, fed its own results."
)

Array = npt.NDArray[Any]


class Toy(NamedTuple):
    """The small model: one step of its training, and the caches of its decoding."""

    network: Network
    step: RecordedStep
    grown: dict[str, Symbol]


def record(seed: int, steps: int, size: int = BATCH) -> Toy:
    """Records the training step over `size` windows, and both ways to decode, on one tape."""
    tape = Tape()
    model = Llama(tape, SIZES, init.scaled(seed))
    label(tape, model)
    tokens = tape.input(shape=[size, CAPACITY], element=i64, name="tokens")
    following = tape.input(shape=[size, CAPACITY], element=i64, name="following")
    loss = cross_entropy(model.express(tape, tokens), following).named("loss")
    rate = schedule.warm_up(max(1, steps // 10), schedule.cosine(2e-2, steps))
    optimizer = Clipped(AdamW(rate, policy=matrices), 1.0)
    step = record_step(tape, loss, parameters(model), optimizer)
    grown = record_decoding(tape, model, CAPACITY)
    return Toy(tape.into_network(), step, grown)


def batch(random: np.random.Generator, size: int = BATCH) -> Feeds:
    """Returns windows of the sonnet, and what follows each of their letters."""
    letters = encoded(SONNET)
    starts = random.integers(len(letters) - CAPACITY, size=size)
    windows = letters[starts[:, None] + np.arange(CAPACITY + 1)]
    return {"tokens": windows[:, :-1].copy(), "following": windows[:, 1:].copy()}


def encoded(text: str) -> Array:
    """Returns the letters of a text as tokens."""
    return np.array([LETTERS.index(letter) for letter in text])


def train(toy: Toy, chosen: argparse.Namespace, bar: Progress) -> Parameters:
    """Returns the parameters, the optimizer's state among them, after the recorded steps."""
    plan = toy.network.entry(toy.step.roots(), numerics="exact").lower()
    random, held = np.random.default_rng(chosen.seed), toy.network.parameters()
    task = bar.add_task("training", total=chosen.steps, loss=float("nan"))
    for _ in range(chosen.steps):
        run = plan.forward(held, batch(random))
        held = toy.step.advanced(held, run)
        bar.update(task, advance=1, loss=run.of("loss").item())
    return held


def best(logits: Array) -> int:
    """Returns the token of the largest logit, the first of several."""
    return int(logits.argmax())


def both(plans: Decoder, held: Parameters, prompt: Sequence[int]) -> tuple[str, Decoded]:
    """Returns what decoding over the cache chose, and how decoding over the context compares."""
    start = time.perf_counter()
    cached = plans.over_cache(plans.single.forward, held, prompt, best)
    middle = time.perf_counter()
    whole = plans.over_context(plans.whole.forward, held, prompt, best)
    end = time.perf_counter()
    tokens = "the same tokens" if whole.tokens == cached.tokens else "other tokens"
    equal = whole.logits.tobytes() == cached.logits.tobytes()
    bits = "equal bits" if equal else f"{np.abs(whole.logits - cached.logits).max():.0e} apart"
    count = len(cached.logits)
    return (
        f"over the whole context {tokens}, logits of {bits};"
        f" {(middle - start) / count * 1e3:.1f} ms a token over the cache,"
        f" {(end - middle) / count * 1e3:.1f} ms over the context"
    ), cached


def table(held: Parameters, plans: Decoder, decoded: Decoded, seed: int) -> Table:
    """Returns what every runtime makes of the training step and of decoding over the cache."""

    def agreement(forward: Forward) -> str:
        own = plans.over_cache(forward, held, encoded(PROMPT).tolist(), best).tokens
        equal = sum(own == ours for own, ours in zip(own, decoded.tokens, strict=True))
        return f"{equal} of {len(own)}"

    # One window: the slowest runtime takes seconds for it.
    small = record(seed, 1, size=1)
    step = small.network.entry(small.step.roots(), numerics="exact").lower()
    first: Feeds = {"token": encoded("S")[None], "position": np.array(0)}
    trials = [
        trial(step, small.network.parameters(), batch(np.random.default_rng(seed), 1)),
        trial(plans.single, held, first, agreement),
    ]
    headings = "step", "ms", "token", "ms", "the same"
    return runtimes_table(rows(trials), headings, "the small Llama on every runtime", CAPTION)


def run_toy(chosen: argparse.Namespace, console: Console) -> None:
    """Trains the small model, decodes both ways, and runs it on every runtime."""
    toy = record(chosen.seed, chosen.steps)
    with progress(console, "steps") as bar:
        held = train(toy, chosen, bar)
    plans = decoder(toy.network, toy.grown, CAPACITY)
    verdict, decoded = both(plans, held, encoded(PROMPT).tolist())
    console.print(repr("".join(LETTERS[token] for token in decoded.tokens)), markup=False)
    console.print(verdict, soft_wrap=True)
    console.print(table(held, plans, decoded, chosen.seed))
    console.print(others(), markup=False, soft_wrap=True)


def run_checkpoint(chosen: argparse.Namespace, console: Console) -> None:
    """Decodes both ways from the weights of a checkpoint: a file, or a folder of several."""
    folder = chosen.checkpoint if chosen.checkpoint.is_dir() else chosen.checkpoint.parent
    files = sorted(folder.glob("*.safetensors")) if folder == chosen.checkpoint else []
    sizes = configuration(folder / "config.json")
    tape = Tape()
    model = Llama(tape, sizes, init.zeros)
    grown = record_decoding(tape, model, chosen.capacity)
    network = tape.into_network()
    with console.status("reading weights"):
        held = loaded(files or [chosen.checkpoint], network.parameters(), model)
    console.print(f"{sizes}, {sum(each.numpy().size for _, each in held.items()):,} weights")
    plans = decoder(network, grown, chosen.capacity, chosen.numerics)
    with console.status("decoding"):
        verdict, decoded = both(plans, held, chosen.prompt)
    console.print(" ".join(map(str, decoded.tokens)), soft_wrap=True)
    console.print(verdict, soft_wrap=True)


def options(arguments: list[str] | None) -> argparse.Namespace:
    """Returns the options of the command line; ends the process where one makes no sense."""
    parser = argparse.ArgumentParser(
        description="Train a small Llama on a sonnet, or read the weights of a real one; decode.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--steps", type=int, default=100, help="training steps of the small model")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the batches")
    parser.add_argument("--checkpoint", type=Path, help="safetensors, config.json beside them")
    parser.add_argument("--prompt", type=int, nargs="+", default=[1], help="a checkpoint's tokens")
    parser.add_argument("--capacity", type=int, default=32, help="tokens of a checkpoint's context")
    parser.add_argument(
        "--numerics", choices=("exact", "fast"), default="fast", help="its numerics"
    )
    limits = {"steps": (1, 10_000), "seed": (0, 2**63), "capacity": (2, 2**20)}
    chosen = bounded(parser, arguments, limits)
    if len(chosen.prompt) >= chosen.capacity:
        parser.error(f"--prompt needs fewer tokens than {chosen.capacity}, the capacity")
    return chosen


def main(arguments: list[str] | None = None) -> int:
    """Runs the small model, or decodes from a checkpoint; returns the exit status."""
    chosen, console = options(arguments), Console(highlight=False)
    if chosen.checkpoint is None:
        run_toy(chosen, console)
        return 0
    try:
        run_checkpoint(chosen, console)
    except (ToposError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
