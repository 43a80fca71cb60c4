"""Decoding: tokens chosen one by one, over a whole context or over a cache of what was read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from everywhere import Forward

from topos import Cache, Network, Parameters, Plan, Symbol, Tape, Value, i64

__all__ = ["Decoded", "Decoder", "Language", "decoder", "record_decoding"]

Array = npt.NDArray[Any]
Choice = Callable[[Array], int]
"""The next token, from the logits of every token, `[vocabulary]`."""


class Language(Protocol):
    """A model of what follows each token: it expresses a whole context, or steps over caches."""

    def express(self, tape: Tape, tokens: Value) -> Value:
        """Records tokens `[batch, length]` to logits `[batch, length, vocabulary]`."""

    def step(
        self, tape: Tape, tokens: Value, caches: Sequence[Cache], position: Value
    ) -> tuple[Value, list[Cache]]:
        """Records the logits of new tokens from `position` on, and the caches after them."""

    def caches(self, tape: Tape, batch: int, capacity: int) -> list[Cache]:
        """Records the inputs of empty caches."""


class Decoded(NamedTuple):
    """The prompt with the tokens chosen after it, and the logits `[read, vocabulary]`."""

    tokens: list[int]
    logits: Array


class Decoder(NamedTuple):
    """Two plans of one network: a whole context of `capacity` tokens, and one token's step.

    `grown` names the input that each result of the step is fed to next time. Nothing is chosen
    after the token `end`.
    """

    whole: Plan
    single: Plan
    capacity: int
    grown: dict[str, Symbol]
    end: int | None = None

    def over_context(
        self, forward: Forward, parameters: Parameters, prompt: Sequence[int], choose: Choice
    ) -> Decoded:
        """Returns what follows the prompt, up to the capacity, every token read again each time."""

        def logits(tokens: list[int]) -> Array:
            context = np.zeros((1, self.capacity), np.int64)
            context[0, : len(tokens)] = tokens
            run = forward(parameters, {"context": context})
            return np.asarray(run.of("context_logits").numpy()[0, len(tokens) - 1])

        tokens, seen = list(prompt), []
        for length in range(1, self.capacity):
            seen.append(logits(tokens[:length]))
            if length >= len(tokens) and self._ended(tokens, choose(seen[-1])):
                break
        return Decoded(tokens, np.stack(seen))

    def over_cache(
        self, forward: Forward, parameters: Parameters, prompt: Sequence[int], choose: Choice
    ) -> Decoded:
        """Returns what follows the prompt, up to the capacity, every token read once."""
        tokens, seen = list(prompt), []
        held: dict[Symbol | str, Any] = {}
        for position in range(self.capacity - 1):
            held |= {"token": np.array([[tokens[position]]]), "position": np.array(position)}
            run = forward(parameters, held)
            held = {name: run.of(symbol) for name, symbol in self.grown.items()}
            seen.append(run.of("token_logits").numpy()[0, 0])
            if position + 1 == len(tokens) and self._ended(tokens, choose(seen[-1])):
                break
        return Decoded(tokens, np.stack(seen))

    def _ended(self, tokens: list[int], chosen: int) -> bool:
        """Appends the token that was chosen; returns whether nothing follows it."""
        tokens.append(chosen)
        return chosen == self.end


def record_decoding(tape: Tape, model: Language, capacity: int) -> dict[str, Symbol]:
    """Records the logits of a whole context and of one token over caches of the same capacity.

    Returns what the caches become by the names of their inputs.
    """
    context = tape.input(shape=[1, capacity], element=i64, name="context")
    model.express(tape, context).named("context_logits")
    token = tape.input(shape=[1, 1], element=i64, name="token")
    position = tape.input(shape=[], element=i64, name="position")
    logits, after = model.step(tape, token, model.caches(tape, 1, capacity), position)
    logits.named("token_logits")
    return {
        f"cache.{place}.{part}": value.symbol
        for place, cache in enumerate(after)
        for part, value in cache._asdict().items()
    }


def decoder(
    network: Network, grown: dict[str, Symbol], capacity: int, numerics: str = "exact"
) -> Decoder:
    """Returns the two plans of a network that `record_decoding` was recorded in."""
    whole = network.entry(["context_logits"], numerics=numerics).lower()
    single = network.entry(["token_logits", *grown.values()], numerics=numerics).lower()
    return Decoder(whole, single, capacity, grown)
