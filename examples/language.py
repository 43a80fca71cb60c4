"""Text in, text out: a checkpoint's folder, its prompts, and what follows them, for a command."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from generation import ENGINES, RESIDENT, Decoder, Recorded, decoder, recorded
from language_model import Language
from pretrained import Settings, Text, ends, loaded, settings, text
from sampling import Sampler
from terminal import Console

from topos import Initializer, Parameters, Tape, ToposError, bf16, f32, init
from topos.errors import ArgumentError, FeedError

__all__ = ["Job", "Kind", "Started", "add_options", "generated", "job", "run", "started"]

ELEMENTS: Final = {"f32": f32, "bf16": bf16}

Array = npt.NDArray[Any]


class Kind(NamedTuple):
    """A family of models: how its settings, its modules and its files' entries are read.

    `positions` is the most tokens of a text that a configuration has room for.
    """

    configuration: Callable[[Settings], Any]
    make: Callable[[Tape, Any, Initializer], Language]
    named: Callable[[str], str | None]
    positions: Callable[[Any], int | None]
    turned: bool


class Job(NamedTuple):
    """What is asked of a checkpoint."""

    folder: Path
    tokens: int = 64
    engine: str = "plan"
    numerics: str = "fast"
    weights: str = "f32"
    sampler: Sampler = Sampler()
    ignored: frozenset[str] = frozenset()


class Started(NamedTuple):
    """A model that is loaded for prompts of one shape, with the prompts that it reads first.

    `loading` and `lowering` are seconds: of the weights, and of making programs of the recording.
    """

    recorded: Recorded
    decoder: Decoder
    parameters: Parameters
    prompts: Array
    pads: Array
    ends: frozenset[int]
    loading: float = 0.0
    lowering: float = 0.0


def started(kind: Kind, job: Job, prompts: Sequence[Sequence[int]]) -> Started:
    """Returns a checkpoint's model on an engine, for prompts of tokens.

    Raises `ArgumentError` where a prompt has no token, or leaves no room in the model, and
    `FeedError` where it has a token that the model has not.
    """
    start = time.perf_counter()
    stated = settings(job.folder)
    sizes = kind.configuration(stated)
    stated.finish(job.ignored)
    length = max(map(len, prompts), default=0)
    _demand_room(prompts, length, job.tokens, kind.positions(sizes))
    _demand_words(job.folder, prompts, sizes.vocabulary)
    element = ELEMENTS[job.weights]
    # Nothing is written for the last token, and so there is no place for it.
    own = recorded(
        lambda tape: kind.make(tape, sizes, init.unset),
        (len(prompts), length),
        length + job.tokens - 1,
        element,
        writes=job.engine in RESIDENT,
    )
    parameters = loaded(job.folder, own.network, own.model, kind.named, element, kind.turned)
    middle = time.perf_counter()
    pads = np.array([length - len(each) for each in prompts])
    rows = [[0] * (length - len(each)) + list(each) for each in prompts]
    engine = decoder(own, parameters, job.engine, job.numerics)
    seconds = middle - start, time.perf_counter() - middle
    return Started(own, engine, parameters, np.array(rows), pads, ends(job.folder), *seconds)


def generated(own: Started, tokens: int, sampler: Sampler) -> Iterator[list[int | None]]:
    """Yields the next token of every row, up to a number of them; None where a row has ended."""
    draws = sampler.generators(len(own.prompts))
    logits = own.decoder.read(own.prompts, own.pads)
    is_over = [False] * len(draws)
    for slot in range(own.prompts.shape[1], own.prompts.shape[1] + tokens):
        chosen = sampler.choose(logits, draws)
        told = [None if over else int(each) for over, each in zip(is_over, chosen, strict=True)]
        yield told
        is_over = [each is None or each in own.ends for each in told]
        if all(is_over) or slot + 1 == own.prompts.shape[1] + tokens:
            return
        logits = own.decoder.step(chosen, slot)


def _demand_room(
    prompts: Sequence[Sequence[int]], length: int, tokens: int, positions: int | None
) -> None:
    if not prompts or not min(map(len, prompts)):
        raise ArgumentError("a prompt needs one token or more, got none")
    if positions is not None and length + tokens > positions:
        raise ArgumentError(
            f"the model has {positions} positions, and {length} tokens of prompt with"
            f" {tokens} after them need {length + tokens}"
        )


def _demand_words(folder: Path, prompts: Sequence[Sequence[int]], words: int) -> None:
    largest = max(map(max, prompts))
    if largest >= words:
        raise FeedError(
            f"{folder} has a model of {words} tokens, and its tokenizer makes token {largest} of a"
            " prompt: they are of two checkpoints"
        )


class Rates(NamedTuple):
    """How long the parts of a run took, and how many tokens each was for."""

    prompt_seconds: float
    prompt_tokens: int
    seconds: float
    tokens: int


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds what every command of a language model takes."""
    parser.add_argument(
        "--prompt", action="append", help="text to go on from; several are read as one batch"
    )
    parser.add_argument("--tokens", type=int, default=64, help="how many tokens follow at most")
    parser.add_argument(
        "--engine", choices=ENGINES, default="plan", help="tape is the oracle: exact, and slow"
    )
    parser.add_argument(
        "--numerics", choices=("exact", "fast"), default="fast", help="of every engine but tape"
    )
    parser.add_argument(
        "--weights", choices=tuple(ELEMENTS), default="f32", help="the element of the whole model"
    )
    parser.add_argument(
        "--temperature", type=float, default=0.0, help="0 takes the likeliest token"
    )
    parser.add_argument("--top-k", type=int, default=0, help="draw among so many; 0: all")
    parser.add_argument("--top-p", type=float, default=1.0, help="draw among this share")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn")
    parser.add_argument(
        "--ignore", action="append", default=[], help="an entry of config.json to pass over"
    )


def job(chosen: argparse.Namespace, folder: Path) -> Job:
    """Returns what the options ask for; raises `ArgumentError` where one makes no sense."""
    if chosen.tokens < 1:
        raise ArgumentError(f"--tokens needs 1 or more, got {chosen.tokens}")
    if chosen.seed < 0:
        raise ArgumentError(f"--seed needs 0 or more, got {chosen.seed}")
    return Job(
        folder=folder,
        tokens=chosen.tokens,
        engine=chosen.engine,
        numerics=chosen.numerics,
        weights=chosen.weights,
        sampler=Sampler(chosen.temperature, chosen.top_k, chosen.top_p, chosen.seed),
        ignored=frozenset(chosen.ignore),
    )


def run(kind: Kind, asked: Job, prompts: Sequence[str], console: Console) -> None:
    """Prints what follows the prompts, then how long it took; raises what loading raises."""
    words = text(asked.folder)
    with console.status("reading weights, and compiling"):
        own = started(kind, asked, [words.encode(each) for each in prompts])
    count = sum(each.numpy().size for _, each in own.parameters.items())
    console.print(
        f"{count:,} parameters of {asked.weights}, loaded in {own.loading:.1f} s,"
        f" lowered in {own.lowering:.1f} s"
    )
    rates = _streamed(own, asked, words) if len(prompts) == 1 else _batched(own, asked, words)
    console.print(_summary(rates, asked.engine), soft_wrap=True)


def _streamed(own: Started, asked: Job, words: Text) -> Rates:
    """Prints one prompt and what follows it, as it comes."""
    tokens = own.prompts[0].tolist()
    shown = words.decode(tokens)
    print(shown, end="", flush=True)
    clock = Clock(own)
    for (token,) in clock.timed(generated(own, asked.tokens, asked.sampler)):
        tokens.append(token)
        whole = words.decode(tokens)
        # The bytes of one letter may be several tokens.
        if not whole.endswith("\N{REPLACEMENT CHARACTER}"):
            print(whole[len(shown) :], end="", flush=True)
            shown = whole
    print(words.decode(tokens)[len(shown) :])
    return clock.rates()


def _batched(own: Started, asked: Job, words: Text) -> Rates:
    """Prints each prompt of a batch with what follows it, once all have ended."""
    rows = [row[pad:].tolist() for row, pad in zip(own.prompts, own.pads, strict=True)]
    clock = Clock(own)
    for told in clock.timed(generated(own, asked.tokens, asked.sampler)):
        for row, token in zip(rows, told, strict=True):
            row.extend([] if token is None else [token])
    for place, row in enumerate(rows, 1):
        print(f"{place}: {words.decode(row)}")
    return clock.rates()


class Clock:
    """What takes the time of the first result, which waits for the prompt, and of the others."""

    def __init__(self, own: Started) -> None:
        self._read = int(own.prompts.size - own.pads.sum())
        self._times = [time.perf_counter()]
        self._rows = 0

    def timed(self, results: Iterator[list[int | None]]) -> Iterator[list[int | None]]:
        """Yields results, and takes the time of each."""
        for told in results:
            self._times.append(time.perf_counter())
            self._rows += sum(each is not None for each in told) if len(self._times) > 2 else 0
            yield told

    def rates(self) -> Rates:
        """Returns the times taken so far."""
        first, last = self._times[1], self._times[-1]
        return Rates(first - self._times[0], self._read, last - first, self._rows)


def _summary(rates: Rates, engine: str) -> str:
    told = f"{rates.prompt_tokens} tokens of prompts in {rates.prompt_seconds:.2f} s"
    told += f" ({rates.prompt_tokens / rates.prompt_seconds:.0f} a second)"
    if rates.tokens:
        told += f", {rates.tokens / rates.seconds:.1f} tokens a second after the first"
    return f"{engine}: {told}"


def main(kind: Kind, description: str, arguments: list[str] | None) -> int:
    """Runs a command whose only work is to go on from prompts; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument(
        "--checkpoint", type=Path, required=True, help="a folder in Hugging Face's layout"
    )
    add_options(parser)
    chosen, console = parser.parse_args(arguments), Console(highlight=False)
    try:
        asked = job(chosen, chosen.checkpoint)
        run(kind, asked, chosen.prompt or ["Hello"], console)
    except (ToposError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0
