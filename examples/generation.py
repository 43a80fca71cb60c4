"""Generation: a prompt is read in one call, then every call takes a token and gives the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from language_model import Language, read, step

from topos import (
    Cache,
    Element,
    Network,
    Numerics,
    Parameters,
    Run,
    Symbol,
    Tape,
    Tensor,
    i64,
    label,
)
from topos.errors import ArgumentError

__all__ = ["ENGINES", "RESIDENT", "Decoder", "Recorded", "decoder", "recorded"]

# Those that keep the caches themselves; the others are called with arrays of this process.
RESIDENT: Final = ("xla", "iree")
ENGINES: Final = ("tape", "plan", *RESIDENT)

Array = npt.NDArray[Any]
Forward = Callable[[Parameters, Any], Run]


class Recorded(NamedTuple):
    """A model's two programs over one set of parameters, for prompts of one shape.

    One takes prompts and gives logits and caches. The other takes a token and caches, and gives
    logits and the caches with the token in them; of one that `writes` nothing, the rows to write.
    """

    network: Network
    model: Language
    shape: tuple[int, int]
    capacity: int
    element: Element
    writes: bool

    def reading(self) -> list[str]:
        """Returns the roots of the program that reads prompts."""
        return ["prompt_logits", *self.roots("read")]

    def stepping(self) -> list[str]:
        """Returns the roots of a step."""
        return ["logits", *self.roots("next")]

    def roots(self, kind: str) -> list[str]:
        """Returns the names of what belongs to each cache."""
        places = range(len(self.model.blocks))
        return [f"{kind}.{place}.{part}" for place in places for part in Cache._fields]

    def empty(self) -> dict[str, Tensor]:
        """Returns empty caches by the names of their inputs."""
        shape = self.shape[0] * self.model.groups, self.capacity, self.model.depth
        zeros = Tensor(0.0, self.element).broadcast(shape).row_major()
        return dict.fromkeys(self.roots("cache"), zeros)

    def first(self) -> Mapping[Symbol | str, Any]:
        """Returns the feeds of a step over empty caches."""
        batch = self.shape[0]
        feeds: dict[Symbol | str, Any] = {"slot": np.array(0)}
        feeds.update(self.empty())
        feeds["pads"], feeds["tokens"] = np.zeros(batch, np.int64), np.zeros((batch, 1), np.int64)
        return feeds


def recorded(
    make: Callable[[Tape], Language],
    shape: tuple[int, int],
    capacity: int,
    element: Element,
    *,
    writes: bool,
) -> Recorded:
    """Records how prompts `[batch, length]` are read, and one step over caches of a capacity."""
    tape = Tape(element=element)
    model = make(tape)
    label(tape, model)
    batch, length = shape
    pads = tape.input(shape=[batch], element=i64, name="pads")
    prompt = tape.input(shape=[batch, length], element=i64, name="prompt")
    logits, caches = read(tape, model, prompt, pads, capacity)
    logits.named("prompt_logits")
    _name("read", caches)
    tokens = tape.input(shape=[batch, 1], element=i64, name="tokens")
    slot = tape.input(shape=[], element=i64, name="slot")
    held = [
        Cache(*(tape.input(shape=own.shape, name=f"cache.{place}.{part}") for part, own in pairs))
        for place, pairs in enumerate(cache._asdict().items() for cache in caches)
    ]
    logits, after = step(tape, model, tokens, pads, slot, held, writes=writes)
    logits.named("logits")
    _name("next", after)
    return Recorded(tape.into_network(), model, shape, capacity, element, writes)


def _name(kind: str, caches: Sequence[Cache]) -> None:
    for place, cache in enumerate(caches):
        for part, own in cache._asdict().items():
            own.named(f"{kind}.{place}.{part}")


class Decoder(Protocol):
    """A recorded model on one engine, with the caches that belong to its last prompts."""

    def read(self, prompts: Array, pads: Array) -> Array:
        """Returns the logits after prompts `[batch, length]`, and begins their caches."""

    def step(self, tokens: Array, slot: int) -> Array:
        """Returns the logits after one more token a row, and writes it to `slot` of the caches."""


class HostDecoder:
    """A decoder whose caches are arrays of this process, in which each step writes its rows."""

    def __init__(self, own: Recorded, parameters: Parameters, reading: Forward, stepping: Forward):
        self._own, self._parameters = own, parameters
        self._reading, self._stepping = reading, stepping
        self._feeds: dict[str, Any] = {}
        names = zip(*(own.roots(kind) for kind in ("read", "cache", "next")), strict=True)
        self._names = list(names)

    def read(self, prompts: Array, pads: Array) -> Array:
        """Returns the logits after prompts, and begins their caches."""
        run = self._reading(self._parameters, {"prompt": prompts, "pads": pads})
        self._feeds = {"pads": pads}
        self._feeds |= {cache: run.of(read).numpy().copy() for read, cache, _ in self._names}
        return run.of("prompt_logits").numpy()

    def step(self, tokens: Array, slot: int) -> Array:
        """Returns the logits after one more token a row."""
        feeds = self._feeds | {"tokens": tokens[:, None], "slot": np.array(slot)}
        run = self._stepping(self._parameters, feeds)
        for _, cache, after in self._names:
            if self._own.writes:
                self._feeds[cache] = run.of(after)
            else:
                self._feeds[cache][:, slot] = run.of(after).numpy()[:, 0]
        return run.of("logits").numpy()


class ResidentDecoder:
    """A decoder whose caches, like the weights, stay in the runtime and are updated in place."""

    def __init__(
        self, own: Recorded, parameters: Parameters, runtime: str, numerics: Numerics
    ) -> None:
        names = own.roots("cache")
        reading = own.network.entry(own.reading(), numerics=numerics).lower()
        stepping = own.network.entry(own.stepping(), numerics=numerics).lower()
        self._reading = reading.compile(runtime).bind(parameters)
        after = dict(zip(names, own.roots("next"), strict=True))
        self.loop = stepping.compile(runtime).loop(after, parameters, own.empty())
        self._pairs = list(zip(names, own.roots("read"), strict=True))
        self._pads: Array = np.zeros(0, np.int64)

    def read(self, prompts: Array, pads: Array) -> Array:
        """Returns the logits after prompts, and begins their caches."""
        run = self._reading.forward({"prompt": prompts, "pads": pads})
        self._pads = pads
        self.loop.restart(feeds={cache: run.of(read) for cache, read in self._pairs})
        return run.of("prompt_logits").numpy()

    def step(self, tokens: Array, slot: int) -> Array:
        """Returns the logits after one more token a row."""
        feeds = {"tokens": tokens[:, None], "pads": self._pads, "slot": np.array(slot)}
        return self.loop.forward(feeds).of("logits").numpy()


def decoder(own: Recorded, parameters: Parameters, engine: str, numerics: str) -> Decoder:
    """Returns a recorded model on an engine: the oracle, a plan, or a runtime by its name."""
    if engine not in ENGINES:
        raise ArgumentError(f"an engine is one of {', '.join(ENGINES)}, got {engine!r}")
    chosen = Numerics.of(numerics)
    if engine in RESIDENT:
        return ResidentDecoder(own, parameters, engine, chosen)
    entries = [
        own.network.entry(roots, numerics=chosen) for roots in (own.reading(), own.stepping())
    ]
    if engine == "tape":
        return HostDecoder(own, parameters, *(each.interpret for each in entries))
    plans = [each.lower() for each in entries]
    for plan in plans:
        # A plan makes its schedule when it is first asked for it: here, and not by a prompt.
        plan.memory()
    return HostDecoder(own, parameters, *(plan.forward for plan in plans))
