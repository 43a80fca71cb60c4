"""Trains a small Llama on a sonnet and goes on from a prompt, or does so from a checkpoint.

Without `--checkpoint` the trained model is written in Hugging Face's layout and read again, so that
both ways decode by one path: text in, text out, on any engine.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from everywhere import Feeds, Forward, others, rows, trial
from generation import HostDecoder
from language import Job, Kind, Started, add_options, generated, job, run, started
from llama_model import Configuration, Llama, entry_of, named
from llama_settings import configuration
from pretrained import text
from safetensors.numpy import save_file
from sampling import Sampler
from terminal import Console, Progress, Table, bounded, progress, runtimes_table
from tokenizers import Tokenizer, decoders, models

from topos import (
    AdamW,
    Clipped,
    Network,
    Parameters,
    RecordedStep,
    Tape,
    ToposError,
    cross_entropy,
    i64,
    init,
    label,
    matrices,
    named_parameters,
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
SIZES: Final = Configuration(vocabulary=len(LETTERS), positions=64)
BATCH, WINDOW, PROMPT, TOKENS = 8, 24, "So long ", 16
CAPTION: Final = (
    "Step: of training on one window; token: of decoding. Both say how far an element is from the"
    " oracle's at most, beside the largest of its result. The same: of the tokens that follow the"
    " prompt on the runtime."
)
LLAMA: Final = Kind(configuration, Llama, named, lambda sizes: sizes.positions, turned=True)

Array = npt.NDArray[Any]


class Toy(NamedTuple):
    """The small model, and one step of its training."""

    network: Network
    model: Llama
    step: RecordedStep


def record(seed: int, steps: int, size: int = BATCH) -> Toy:
    """Records the training step over `size` windows."""
    tape = Tape()
    model = Llama(tape, SIZES, init.scaled(seed))
    label(tape, model)
    tokens = tape.input(shape=[size, WINDOW], element=i64, name="tokens")
    following = tape.input(shape=[size, WINDOW], element=i64, name="following")
    loss = cross_entropy(model.express(tape, tokens), following).named("loss")
    rate = schedule.warm_up(max(1, steps // 10), schedule.cosine(2e-2, steps))
    optimizer = Clipped(AdamW(rate, policy=matrices), 1.0)
    step = record_step(tape, loss, parameters(model), optimizer)
    return Toy(tape.into_network(), model, step)


def batch(random: np.random.Generator, size: int = BATCH) -> Feeds:
    """Returns windows of the sonnet, and what follows each of their letters."""
    letters = np.array([LETTERS.index(letter) for letter in SONNET])
    starts = random.integers(len(letters) - WINDOW, size=size)
    windows = letters[starts[:, None] + np.arange(WINDOW + 1)]
    return {"tokens": windows[:, :-1].copy(), "following": windows[:, 1:].copy()}


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


def write(folder: Path, toy: Toy, held: Parameters) -> None:
    """Writes the small model in Hugging Face's layout: settings, weights and a tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    stated = {
        "model_type": "llama",
        "vocab_size": SIZES.vocabulary,
        "hidden_size": SIZES.features,
        "num_hidden_layers": SIZES.layers,
        "num_attention_heads": SIZES.heads,
        "num_key_value_heads": SIZES.groups,
        "intermediate_size": SIZES.hidden,
        "max_position_embeddings": SIZES.positions,
        "rms_norm_eps": SIZES.epsilon,
        "rope_theta": SIZES.base,
    }
    (folder / "config.json").write_text(json.dumps(stated, indent=2), encoding="utf-8")
    weights = {str(path): held.of(at).numpy() for path, at in named_parameters(toy.model)}
    # A linear layer is stored as [outputs, inputs].
    turned = {name: own.T if name.endswith(".weights") else own for name, own in weights.items()}
    entries = {entry_of(name): np.ascontiguousarray(own) for name, own in turned.items()}
    save_file(entries, folder / "model.safetensors")
    letters = Tokenizer(models.BPE({letter: at for at, letter in enumerate(LETTERS)}, []))
    letters.decoder = decoders.Fuse()
    letters.save(str(folder / "tokenizer.json"))


def tokens_of(own: Started) -> list[int | None]:
    """Returns the likeliest tokens after the prompt."""
    return [token for (token,) in generated(own, TOKENS, Sampler())]


def table(toy: Toy, folder: Path, seed: int) -> Table:
    """Returns what every runtime makes of the training step and of decoding over the cache."""
    prompt = text(folder).encode(PROMPT)
    own = started(LLAMA, Job(folder, TOKENS, numerics="exact"), [prompt])
    wanted, recorded = tokens_of(own), own.recorded
    reading, stepping = (
        recorded.network.entry(roots, numerics="exact").lower()
        for roots in (recorded.reading(), recorded.stepping())
    )

    def agreement(forward: Forward) -> str:
        decoder = HostDecoder(recorded, own.parameters, reading.forward, forward)
        found = tokens_of(own._replace(decoder=decoder))
        equal = sum(own == its for own, its in zip(wanted, found, strict=True))
        return f"{equal} of {len(wanted)}"

    # One window: the slowest runtime takes seconds for it.
    small = record(seed, 1, size=1)
    step = small.network.entry(small.step.roots(), numerics="exact").lower()
    trials = [
        trial(step, small.network.parameters(), batch(np.random.default_rng(seed), 1)),
        trial(stepping, own.parameters, recorded.first(), agreement),
    ]
    headings = "step", "ms", "token", "ms", "the same"
    return runtimes_table(rows(trials), headings, "the small Llama on every runtime", CAPTION)


def run_toy(chosen: argparse.Namespace, console: Console) -> None:
    """Trains the small model, goes on from prompts, and runs it on every runtime."""
    toy = record(chosen.seed, chosen.steps)
    with progress(console, "steps") as bar:
        held = train(toy, chosen, bar)
    write(chosen.out, toy, held)
    console.print(f"{chosen.out} holds the trained model in Hugging Face's layout")
    run(LLAMA, job(chosen, chosen.out), chosen.prompt or [PROMPT], console)
    if chosen.compare:
        console.print(table(toy, chosen.out, chosen.seed))
        console.print(others(), markup=False, soft_wrap=True)


def options(arguments: list[str] | None) -> argparse.Namespace:
    """Returns the options of the command line; ends the process where one makes no sense."""
    parser = argparse.ArgumentParser(
        description="Train a small Llama on a sonnet, or read the weights of a real one; decode.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--checkpoint", type=Path, help="a folder in Hugging Face's layout")
    parser.add_argument("--steps", type=int, default=100, help="training steps of the small model")
    parser.add_argument(
        "--out", type=Path, default=Path("demo/llama"), help="the folder of the small model"
    )
    parser.add_argument(
        "--compare",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="run the small model on every runtime",
    )
    add_options(parser)
    parser.set_defaults(tokens=40)
    limits = {"steps": (1, 10_000), "seed": (0, 2**63)}
    return bounded(parser, arguments, limits)


def main(arguments: list[str] | None = None) -> int:
    """Runs the small model, or decodes from a checkpoint; returns the exit status."""
    chosen, console = options(arguments), Console(highlight=False)
    try:
        if chosen.checkpoint is None:
            run_toy(chosen, console)
        else:
            run(LLAMA, job(chosen, chosen.checkpoint), chosen.prompt or ["Hello"], console)
    except (ToposError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
