"""Generation: a prompt is read in one call, then every call takes a token and gives the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from language_model import Language, read, step, written

from topos import Element, Network, Numerics, Parameters, Run, Tape, Tensor, i64, label
from topos.errors import ArgumentError

__all__ = ["ENGINES", "Decoder", "Recorded", "decoder", "recorded"]

ENGINES: Final = ("tape", "plan", "xla", "iree")

Array = npt.NDArray[Any]
Forward = Callable[[Parameters, Any], Run]


class Recorded(NamedTuple):
    """A model's two programs over one set of parameters, for prompts of one shape.

    `reading` takes prompts and gives logits and caches; `stepping` takes a token and caches, and
    gives logits, the rows to write into the caches, or the caches with them in.
    """

    network: Network
    model: Language
    shape: tuple[int, int]
    capacity: int

    def roots(self, kind: str) -> list[str]:
        """Returns the names of the caches, or of their rows, as recorded."""
        places = range(len(self.model.blocks))
        return [f"{kind}.{place}.{part}" for place in places for part in ("keys", "values")]


def recorded(
    make: Callable[[Tape], Language], shape: tuple[int, int], capacity: int, element: Element
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
    for place, cache in enumerate(caches):
        cache.keys.named(f"read.{place}.keys")
        cache.values.named(f"read.{place}.values")
    tokens = tape.input(shape=[batch, 1], element=i64, name="tokens")
    slot = tape.input(shape=[], element=i64, name="slot")
    each = batch, model.groups, capacity, model.depth
    held = [
        type(cache)(
            *(tape.input(shape=each, name=f"cache.{place}.{part}") for part in cache._fields)
        )
        for place, cache in enumerate(caches)
    ]
    logits, rows = step(tape, model, tokens, pads, slot, held)
    logits.named("logits")
    for place, (cache, row) in enumerate(zip(held, rows, strict=True)):
        for part in cache._fields:
            own = getattr(row, part).named(f"row.{place}.{part}")
            written(getattr(cache, part), own, slot).named(f"grown.{place}.{part}")
    return Recorded(tape.into_network(), model, shape, capacity)


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
        names = zip(*(own.roots(kind) for kind in ("read", "cache", "row")), strict=True)
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
        for _, cache, row in self._names:
            self._feeds[cache][:, :, slot] = run.of(row).numpy()[:, :, 0]
        return run.of("logits").numpy()


class ResidentDecoder:
    """A decoder whose caches, like the weights, stay in the runtime and are updated in place."""

    def __init__(
        self, own: Recorded, parameters: Parameters, runtime: str, numerics: Numerics
    ) -> None:
        network, names = own.network, own.roots("cache")
        reading = network.entry(["prompt_logits", *own.roots("read")], numerics=numerics).lower()
        stepping = network.entry(["logits", *own.roots("grown")], numerics=numerics).lower()
        self._reading = reading.compile(runtime).bind(parameters)
        inputs = {port.name: port.type for port in stepping.signature().inputs}
        empty = {
            name: Tensor(0.0, inputs[name].element).broadcast(inputs[name].shape) for name in names
        }
        after = dict(zip(names, own.roots("grown"), strict=True))
        self._loop = stepping.compile(runtime).loop(after, parameters, empty)
        self._pairs = list(zip(names, own.roots("read"), strict=True))
        self._pads: Array = np.zeros(0, np.int64)

    def read(self, prompts: Array, pads: Array) -> Array:
        """Returns the logits after prompts, and begins their caches."""
        run = self._reading.forward({"prompt": prompts, "pads": pads})
        self._pads = pads
        self._loop.restart(feeds={cache: run.of(read) for cache, read in self._pairs})
        return run.of("prompt_logits").numpy()

    def step(self, tokens: Array, slot: int) -> Array:
        """Returns the logits after one more token a row."""
        feeds = {"tokens": tokens[:, None], "pads": self._pads, "slot": np.array(slot)}
        return self._loop.forward(feeds).of("logits").numpy()


def decoder(own: Recorded, parameters: Parameters, engine: str, numerics: str) -> Decoder:
    """Returns a recorded model on an engine: the oracle, a plan, or a runtime by its name."""
    if engine not in ENGINES:
        raise ArgumentError(f"an engine is one of {', '.join(ENGINES)}, got {engine!r}")
    chosen = Numerics.of(numerics)
    if engine in ("xla", "iree"):
        return ResidentDecoder(own, parameters, engine, chosen)
    entries = [
        own.network.entry(roots, numerics=chosen)
        for roots in (["prompt_logits", *own.roots("read")], ["logits", *own.roots("row")])
    ]
    reading, stepping = (
        each.interpret if engine == "tape" else each.lower().forward for each in entries
    )
    return HostDecoder(own, parameters, reading, stepping)
