"""Learns the given names of the US census letter by letter, by three models, and invents more.

A table of letter pairs, a perceptron over three letters and a transformer take the same batches;
`demo/names.png` has their losses. The transformer then decodes over a cache of keys and values.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from artifacts import figure, write_figure
from everywhere import Feeds, Forward, others, rows, trial
from generation import HostDecoder, decoder, recorded
from language import Started, generated
from names_models import CAPACITY, LETTERS, Bigram, Perceptron, Transformer
from sampling import Sampler
from terminal import Console, Progress, Table, bounded, progress, runtimes_table, unwritable

from topos import (
    AdamW,
    Network,
    Parameters,
    RecordedStep,
    Tape,
    cross_entropy,
    f32,
    i64,
    label,
    matrices,
    named_parameters,
    parameters,
    record_step,
    schedule,
)

MODELS: Final[dict[str, Callable[[Tape, int], Any]]] = {
    "bigram": Bigram,
    "perceptron": Perceptron,
    "transformer": Transformer,
}
# A table is trained by larger steps than a deep model.
RATES: Final = {"bigram": 0.1, "perceptron": 0.02, "transformer": 0.01}
BATCH, TESTED_ON, INVENTED, END = 32, 512, 12, 0
# The slowest runtime takes a second for every name of a step.
GRADED_ON: Final = 2
CAPTION: Final = (
    "Step: of training on two names; token: of decoding. Both say how far an element is from the"
    " oracle's at most, beside the largest of its result. The same: of the names that the"
    " transformer invents on the runtime, over its own caches."
)

Array = npt.NDArray[Any]


class Names(NamedTuple):
    """Tokens `[names, 12]` from the sign before a name on, and what follows each, or -1."""

    tokens: Array
    following: Array

    def taken(self, chosen: Array | slice) -> Feeds:
        """Returns some of the names as a batch."""
        return {"tokens": self.tokens[chosen], "following": self.following[chosen]}

    def batches(self, seed: int, steps: int) -> Iterator[Feeds]:
        """Yields batches of names drawn anew each time."""
        random = np.random.default_rng(seed)
        for _ in range(steps):
            yield self.taken(random.integers(len(self.tokens), size=BATCH))


class Model(NamedTuple):
    """One recorded model: its training step and its loss over the tests."""

    network: Network
    step: RecordedStep


class Trained(NamedTuple):
    """What a model became: its state, its losses, and its loss over the tests."""

    state: Parameters
    losses: list[float]
    tested: float


def load(seed: int) -> tuple[Names, Names]:
    """Returns the census' given names, those to train on and those to test with."""
    try:
        # Not imported: this file has the package's name.
        package = distribution("names")
    except PackageNotFoundError:
        print(
            "the names need their package: pip install 'topos-compiler[examples]'", file=sys.stderr
        )
        raise SystemExit(2) from None
    found: set[str] = set()
    for kind in ("female", "male"):
        text = Path(str(package.locate_file(f"names/dist.{kind}.first"))).read_text("utf-8")
        found |= {line.split()[0].lower() for line in text.splitlines() if line.strip()}
    order = np.random.default_rng(seed).permutation(len(found))
    rows = encoded(sorted(found))
    tokens, following = (part[order] for part in rows)
    first, last = slice(None, -TESTED_ON), slice(-TESTED_ON, None)
    return Names(tokens[first], following[first]), Names(tokens[last], following[last])


def encoded(names: list[str]) -> Names:
    """Returns names as tokens; what follows the sign after a name is nothing."""
    tokens = np.zeros((len(names), CAPACITY), np.int64)
    following = np.full(tokens.shape, -1, np.int64)
    for place, name in enumerate(names):
        letters = [LETTERS.index(letter) for letter in name]
        tokens[place, 1 : len(name) + 1] = letters
        following[place, : len(name) + 1] = [*letters, END]
    return Names(tokens, following)


def record(name: str, seed: int, steps: int, batch: int = BATCH) -> Model:
    """Records a model's loss over a batch and over the tests, and its training step."""
    tape = Tape()
    model = MODELS[name](tape, seed)
    label(tape, model)
    losses = {}
    for kind, size in (("", batch), ("tests/", TESTED_ON)):
        tokens = tape.input(shape=[size, CAPACITY], element=i64, name=f"{kind}tokens")
        following = tape.input(shape=[size, CAPACITY], element=i64, name=f"{kind}following")
        loss = cross_entropy(model.express(tape, tokens), following)
        losses[kind] = loss.named(f"{kind}loss")
    rate = schedule.warm_up(max(1, steps // 20), schedule.cosine(RATES[name], steps))
    step = record_step(tape, losses[""], parameters(model), AdamW(rate, policy=matrices))
    return Model(tape.into_network(), step)


def train(
    name: str, model: Model, names: Names, tests: Names, chosen: argparse.Namespace, bar: Progress
) -> Trained:
    """Returns what a model became after the recorded steps."""
    plan = model.network.entry(model.step.roots(), numerics=chosen.numerics).lower()
    state, losses = model.network.parameters(), []
    task = bar.add_task(name, total=chosen.steps, loss=float("nan"))
    for feeds in names.batches(chosen.seed, chosen.steps):
        run = plan.forward(state, feeds)
        state = model.step.advanced(state, run)
        losses.append(a_letter(run.of("loss").item(), feeds["following"]))
        bar.update(task, advance=1, loss=losses[-1])
    feeds = {f"tests/{own}": array for own, array in tests._asdict().items()}
    plan = model.network.entry(["tests/loss"], numerics=chosen.numerics).lower()
    tested = plan.forward(state, feeds).of("tests/loss").item()
    return Trained(state, losses, a_letter(tested, tests.following))


def a_letter(loss: float, following: Array) -> float:
    """Returns a loss as the mean over what follows; nothing that follows has cost nothing."""
    return loss * following.size / np.count_nonzero(following >= 0)


def counted(names: Names, tests: Names) -> float:
    """Returns the loss of the pairs of letters counted, each once more: the bigram's best."""
    counts = np.ones((len(LETTERS), len(LETTERS)))
    seen = names.following >= 0
    np.add.at(counts, (names.tokens[seen], names.following[seen]), 1.0)
    shares = counts / counts.sum(1, keepdims=True)
    seen = tests.following >= 0
    return float(-np.log(shares[tests.tokens[seen], tests.following[seen]]).mean())


def decoding(state: Parameters, seed: int) -> Started:
    """Returns the trained transformer over caches, with the sign before a name as every prompt."""

    def make(tape: Tape) -> Transformer:
        return Transformer(tape, seed)

    own = recorded(make, (INVENTED, 1), CAPACITY, f32, writes=True)
    held = own.network.parameters(
        {at: state.of(str(path)) for path, at in named_parameters(own.model)}
    )
    prompts, pads = np.full((INVENTED, 1), END), np.zeros(INVENTED, np.int64)
    plans = decoder(own, held, "plan", "exact")
    return Started(own, plans, held, prompts, pads, frozenset((END,)))


def invented(own: Started, seed: int) -> Array:
    """Returns the letters `[names, 12]` that the transformer draws over its caches."""
    texts = np.full((INVENTED, CAPACITY), END)
    drawn = generated(own, CAPACITY - 1, Sampler(temperature=1.0, seed=seed))
    for place, told in enumerate(drawn, 1):
        texts[:, place] = [END if each is None else each for each in told]
    return texts


def spelled(texts: Array) -> list[str]:
    """Returns names as text."""
    return ["".join(LETTERS[token] for token in row).strip(".") for row in texts]


def agrees(own: Started, seed: int, texts: Array) -> bool:
    """Returns whether the whole names, read in one call, have the bits of those over the caches."""
    tape = Tape()
    model = Transformer(tape, seed)
    label(tape, model)
    context = tape.input(shape=texts.shape, element=i64, name="context")
    model.express(tape, context).named("whole")
    network = tape.into_network()
    names = [str(path) for path, _ in named_parameters(model)]
    held = network.parameters({name: own.parameters.of(name) for name in names})
    plan = network.entry(["whole"], numerics="exact").lower()
    whole = plan.forward(held, {"context": texts}).of("whole").numpy()
    seen = [own.decoder.read(own.prompts, own.pads)]
    seen += [own.decoder.step(texts[:, slot], slot) for slot in range(1, CAPACITY)]
    return np.stack(seen, 1).tobytes() == whole.tobytes()


def drawn(trained: dict[str, Trained], pairs: float) -> Any:
    """Returns the picture of the losses: means over neighbouring steps, and the tests dashed."""
    picture = figure(7.0, 4.5)
    axes = picture.subplots()
    for name, own in trained.items():
        window = max(1, len(own.losses) // 40)
        means = np.convolve(own.losses, np.full(window, 1 / window), "valid")
        (line,) = axes.plot(np.arange(len(means)) + window, means, label=name)
        axes.axhline(own.tested, color=line.get_color(), linestyle="--", linewidth=0.8)
    axes.axhline(pairs, color="black", linestyle=":", linewidth=0.8, label="counted pairs, tests")
    axes.set(xlabel="step", ylabel="nats a letter", title="dashed: names not trained on")
    axes.legend()
    return picture


def everywhere(own: Started, names: Names, seed: int) -> Table:
    """Returns what every runtime makes of the transformer's step, and of its decoding."""
    wanted, recorded = spelled(invented(own, seed)), own.recorded
    reading, stepping = (
        recorded.network.entry(roots, numerics="exact").lower()
        for roots in (recorded.reading(), recorded.stepping())
    )

    def agreement(forward: Forward) -> str:
        there = HostDecoder(recorded, own.parameters, reading.forward, forward)
        found = spelled(invented(own._replace(decoder=there), seed))
        return f"{sum(map(str.__eq__, found, wanted))} of {len(wanted)}"

    small = record("transformer", seed, 1, GRADED_ON)
    step = small.network.entry(small.step.roots(), numerics="exact").lower()
    trials = [
        trial(step, small.network.parameters(), names.taken(slice(GRADED_ON))),
        trial(stepping, own.parameters, recorded.first(), agreement),
    ]
    headings = "step", "ms", "token", "ms", "the same"
    return runtimes_table(rows(trials), headings, "the transformer on every runtime", CAPTION)


def options(arguments: list[str] | None) -> argparse.Namespace:
    """Returns the options of the command line; ends the process where one makes no sense."""
    parser = argparse.ArgumentParser(
        description="Learn the names of the US census by three models, and invent more.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--steps", type=int, default=400, help="steps of each model")
    parser.add_argument("--seed", type=int, default=0, help="of the split, weights and batches")
    parser.add_argument(
        "--numerics", choices=("exact", "fast"), default="exact", help="of training"
    )
    parser.add_argument("--out", type=Path, default=Path("demo/names.png"), help="the picture")
    return bounded(parser, arguments, {"steps": (1, 100_000), "seed": (0, 2**62)})


def main(arguments: list[str] | None = None) -> int:
    """Trains the models, draws their losses, and invents names; returns the exit status."""
    chosen, console = options(arguments), Console(highlight=False)
    names, tests = load(chosen.seed)
    models = {name: record(name, chosen.seed, chosen.steps) for name in MODELS}
    trained = {}
    for name, model in models.items():
        with progress(console, f"steps of the {name}") as bar:
            trained[name] = train(name, model, names, tests, chosen, bar)
    pairs = counted(names, tests)
    for name, own in trained.items():
        console.print(f"{name}: {own.tested:.4f} nats a letter, on {TESTED_ON} names not seen")
    console.print(f"counted pairs: {pairs:.4f}")
    try:
        write_figure(drawn(trained, pairs), chosen.out)
    except OSError as error:
        return unwritable(chosen.out, error)
    console.print(f"{chosen.out} has the losses")

    started = decoding(trained["transformer"].state, chosen.seed)
    texts = invented(started, chosen.seed)
    console.print(", ".join(spelled(texts)))
    same = "the same bits" if agrees(started, chosen.seed, texts) else "other bits"
    console.print(f"read whole, the names have {same}")
    console.print(everywhere(started, names, chosen.seed))
    console.print(others(), markup=False, soft_wrap=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
