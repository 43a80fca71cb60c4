"""What the bench of engines runs: each workload on a plan, on a runtime, and by hand."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples"))

import engine_rivals
import plan_models as models
import plan_rivals
from generation import HostDecoder, Recorded, ResidentDecoder, recorded
from llama_model import Configuration, Llama

from topos import Numerics, f32, init, named_parameters

__all__ = ["WORKLOADS", "Workload"]

Array = Any
Call = Callable[[], Array]


class Workload(Protocol):
    """A computation that every engine makes; a call returns what it gives as an array."""

    @property
    def title(self) -> str:
        """What the workload is called."""

    @property
    def unit(self) -> str:
        """What a call makes one of."""

    def plan(self, numerics: Numerics) -> Call:
        """Returns the call of a plan."""

    def runtime(self, name: str) -> Call:
        """Returns the call of the emitted module on a runtime, its weights bound."""

    def in_numpy(self) -> Call:
        """Returns the call of the same in numpy, its buffers made once."""

    def in_jax(self) -> Call:
        """Returns the call of the same under jax.jit, its weights on the device."""


class Forward(NamedTuple):
    """A model of one input `x`: its recording, and the same by hand.

    `jitted` takes the weights and `x`.
    """

    title: str
    model: models.Model
    x: Array
    by_hand: Callable[[Array], Call]
    jitted: Callable[[list[Array], Array], Array]
    weights: list[Array]
    unit: str = "calls"

    def plan(self, numerics: Numerics) -> Call:
        plan = self.model.network.entry([self.model.result], numerics=numerics).lower()
        parameters = self.model.network.parameters()
        return lambda: plan.forward(parameters, {"x": self.x}).of(self.model.result).numpy()

    def runtime(self, name: str) -> Call:
        plan = self.model.network.entry([self.model.result], numerics="fast").lower()
        bound = plan.compile(name).bind()
        return lambda: bound.forward({"x": self.x}).of(self.model.result).numpy()

    def in_numpy(self) -> Call:
        return self.by_hand(self.x)

    def in_jax(self) -> Call:
        import jax

        run, held = jax.jit(self.jitted), jax.device_put(self.weights)
        return lambda: np.asarray(run(held, self.x))


class Decoding(NamedTuple):
    """One more token of a model over a cache; slots go round, and each call takes the next."""

    title: str
    sizes: Configuration
    capacity: int
    unit: str = "tokens"

    def plan(self, numerics: Numerics) -> Call:
        own = self._recorded(writes=False)
        reading, stepping = (
            own.network.entry(roots, numerics=numerics).lower().forward
            for roots in (own.reading(), own.stepping())
        )
        return self._decoded(HostDecoder(own, own.network.parameters(), reading, stepping))

    def runtime(self, name: str) -> Call:
        own = self._recorded(writes=True)
        return self._decoded(ResidentDecoder(own, own.network.parameters(), name, Numerics.FAST))

    def in_numpy(self) -> Call:
        return self._stepped(engine_rivals.llama_in_numpy)

    def in_jax(self) -> Call:
        return self._stepped(engine_rivals.llama_in_jax)

    def _decoded(self, decoder: HostDecoder | ResidentDecoder) -> Call:
        decoder.read(np.zeros((1, 1), np.int64), np.zeros(1, np.int64))
        return self._called(lambda token, slot: decoder.step(np.array([token]), slot)[0])

    def _stepped(self, make: Callable[..., Callable[[int, int], Array]]) -> Call:
        own = self._recorded(writes=False)
        parameters = own.network.parameters()
        named = {
            str(path): parameters.of(symbol).numpy() for path, symbol in named_parameters(own.model)
        }
        shape = self.sizes.groups, self.capacity, self.sizes.depth
        caches = [
            (np.zeros(shape, np.float32), np.zeros(shape, np.float32))
            for _ in range(self.sizes.layers)
        ]
        step = make(self.sizes, _nested(named, self.sizes.layers), caches)
        # What the other decoders have read as their prompt.
        step(0, 0)
        return self._called(step)

    def _called(self, step: Callable[[int, int], Array]) -> Call:
        numbers = count()

        def call() -> Array:
            number = next(numbers)
            return step(number % self.sizes.vocabulary, 1 + number % (self.capacity - 1))

        return call

    def _recorded(self, *, writes: bool) -> Recorded:
        weights = init.xavier(0)
        return recorded(
            lambda tape: Llama(tape, self.sizes, weights), (1, 1), self.capacity, f32, writes=writes
        )


def _nested(named: Mapping[str, Array], layers: int) -> dict[str, Any]:
    """Returns weights by name, those of the blocks in a list of their own."""
    prefixes = [f"blocks.{layer}." for layer in range(layers)]
    blocks = [
        {name.removeprefix(each): own for name, own in named.items() if name.startswith(each)}
        for each in prefixes
    ]
    outer = {name: own for name, own in named.items() if not name.startswith("blocks.")}
    return {**outer, "blocks": blocks}


BATCH, WIDTH, HEADS, CAPACITY = 8, 64, 4, 128
SIZES: Final = Configuration(
    vocabulary=2048, features=128, layers=4, heads=8, groups=4, depth=16, hidden=352
)


def convolutional() -> Workload:
    """Returns the forward pass of two convolutions, two poolings and a layer, over 28x28."""
    return Forward(
        f"CNN, batch {BATCH}",
        models.convolutional(BATCH, training=False),
        models.drawn(BATCH, 1, 28, 28, seed=9),
        partial(plan_rivals.convolutional, training=False),
        engine_rivals.convolutional,
        models.convolution_weights(),
    )


def attention() -> Workload:
    """Returns self-attention with its four projections."""
    return Forward(
        f"attention, {models.TOKENS} tokens",
        models.attention(WIDTH, HEADS),
        models.drawn(models.TOKENS, WIDTH, seed=9),
        partial(plan_rivals.attention, width=WIDTH, heads=HEADS),
        partial(engine_rivals.attention, heads=HEADS),
        models.attention_weights(WIDTH),
    )


def decoding() -> Workload:
    """Returns one token of a small Llama over a cache of 128."""
    return Decoding("decoding, small Llama", SIZES, CAPACITY)


WORKLOADS: Final[Mapping[str, Callable[[], Workload]]] = {
    "cnn": convolutional,
    "attention": attention,
    "decode": decoding,
}
