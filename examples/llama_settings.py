"""What the `config.json` of a Llama, a Mistral or a Qwen2 states, as the sizes of our modules."""

from __future__ import annotations

import math
from typing import Final

from llama_model import Configuration, Stretch
from pretrained import MOST_LAYERS, Settings

from topos.errors import FeedError

__all__ = ["configuration"]

FAMILIES: Final = ("llama", "mistral", "qwen2")


def configuration(settings: Settings) -> Configuration:
    """Returns the sizes that a `config.json` states; raises `FeedError` at what we have not."""
    settings.demand("model_type", *FAMILIES, default="llama")
    family = settings.get("model_type", "llama")
    heads, features = settings.count("num_attention_heads"), settings.count("hidden_size")
    groups = settings.count("num_key_value_heads", heads)
    settings.divides("num_key_value_heads", groups, "num_attention_heads", heads)
    if settings.get("head_dim") is None:
        settings.divides("num_attention_heads", heads, "hidden_size", features)
    depth = settings.count("head_dim", features // heads)
    settings.divides("2", 2, "head_dim", depth)
    settings.demand("hidden_act", "silu", default="silu")
    settings.demand("pretraining_tp", 1, default=1)
    settings.demand("rope_interleaved", False, default=False)
    base, stretch = _rotary(settings)
    return Configuration(
        vocabulary=settings.count("vocab_size"),
        features=features,
        layers=settings.count("num_hidden_layers", most=MOST_LAYERS),
        heads=heads,
        groups=groups,
        depth=depth,
        hidden=settings.count("intermediate_size"),
        base=base,
        epsilon=settings.number("rms_norm_eps", 1e-6),
        positions=_positions(settings, family),
        stretch=stretch,
        biased=_biased(settings, family),
        tied=settings.flag("tie_word_embeddings"),
    )


def _biased(settings: Settings, family: str) -> frozenset[str]:
    """Returns which projections have a bias."""
    if family == "qwen2":
        return frozenset(("query", "key", "value"))
    attention = ("query", "key", "value", "mixed") if settings.flag("attention_bias") else ()
    gated = ("gate", "up", "down") if settings.flag("mlp_bias") else ()
    return frozenset((*attention, *gated))


def _positions(settings: Settings, family: str) -> int | None:
    """Returns the most tokens of a text, all of which its last one sees.

    Some models let a token see a window of those before it. A text within the window is the same.
    """
    most = settings.get("max_position_embeddings")
    limits = [] if most is None else [settings.count("max_position_embeddings")]
    kinds = settings.get("layer_types", [])
    if not isinstance(kinds, list):
        raise FeedError(f"{settings.path} needs a list of layer_types, got {kinds!r}")
    if others := [each for each in kinds if each not in ("full_attention", "sliding_attention")]:
        raise FeedError(f"{settings.path} needs layer_types of full_attention, got {others[0]!r}")
    settings.skip("max_window_layers")
    is_on = settings.flag("use_sliding_window", default=family == "mistral")
    # Null is no window. Where a file of mistral says nothing, transformers takes this one.
    window = settings.get("sliding_window", None if settings.has("sliding_window") else 4096)
    if window is not None and (is_on or "sliding_attention" in kinds):
        limits.append(settings.count("sliding_window", window))
    return min(limits, default=None)


def _rotary(settings: Settings) -> tuple[float, Stretch | None]:
    """Returns the base of the rotary positions and their stretch; older files keep them apart."""
    held = settings.get("rope_parameters") or settings.get("rope_scaling") or {}
    if not isinstance(held, dict):
        raise FeedError(f"{settings.path} needs an object of rope_scaling, got {held!r}")
    own = dict(held)
    settings.skip("rope_scaling", "rope_parameters")
    base = own.pop("rope_theta", None)
    base = settings.number("rope_theta", 10000.0 if base is None else base)
    kind = own.pop("rope_type", own.pop("type", "default"))
    own.pop("type", None)
    if kind not in ("default", "llama3"):
        raise FeedError(f"{settings.path} needs rope_scaling of default or llama3, got {kind!r}")
    if kind == "default":
        wanted: tuple[str, ...] = ()
    else:
        wanted = ("factor", "low_freq_factor", "high_freq_factor")
        wanted += ("original_max_position_embeddings",)
    if {*own} != {*wanted}:
        told = ", ".join(wanted) or "nothing else"
        raise FeedError(f"{settings.path} needs {told} in rope_scaling of {kind}, got {own}")
    if not wanted:
        return base, None
    stretch = Stretch(*(own[name] for name in wanted))
    are_numbers = all(type(each) in (int, float) for each in stretch)
    # Otherwise frequencies are divided by zero, or are those of no wave.
    if not (are_numbers and min(stretch) > 0 and stretch.low < stretch.high < math.inf):
        needs = "positive numbers in rope_scaling, the low factor below the high one"
        raise FeedError(f"{settings.path} needs {needs}, got {own}")
    return base, stretch
