"""Checkpoints in Hugging Face's layout: a folder of settings, weights and a tokenizer."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from topos import Element, Module, Network, Parameters, Tensor, checkpoint
from topos.errors import ArgumentError, FeedError, UnavailableError

__all__ = ["MOST_LAYERS", "Settings", "Text", "ends", "loaded", "settings", "text"]

T = TypeVar("T")

POINTER: Final = "version https://git-lfs"
# Recording what is far beyond any model would take for ever.
MOST_LAYERS: Final = 1000
# What says where a model comes from, how it is trained, stored or sampled, not what it computes.
NEUTRAL: Final = frozenset(
    (
        *("architectures", "model_type", "transformers_version", "_name_or_path", "auto_map"),
        *("torch_dtype", "dtype", "use_cache", "initializer_range", "task_specific_params"),
        *("bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id", "is_encoder_decoder"),
        *("output_past", "gradient_checkpointing", "attention_dropout", "resid_pdrop", "id2label"),
        *("label2id", "_attn_implementation", "attn_implementation", "is_llama_config"),
        *("return_dict", "output_attentions", "output_hidden_states", "problem_type", "max_length"),
        *("do_sample", "temperature", "top_k", "top_p", "vocab_size", "chunk_size_feed_forward"),
    )
)


class Settings:
    """What a `config.json` states; each entry has to be read, demanded or skipped."""

    def __init__(self, path: Path, stated: Mapping[str, Any]) -> None:
        self.path, self._stated = path, stated
        self._seen: set[str] = set()

    def has(self, name: str) -> bool:
        """Returns whether there is an entry, which may be null."""
        return name in self._stated

    def get(self, name: str, default: Any = None) -> Any:
        """Returns an entry, or the default where it is missing or null."""
        self._seen.add(name)
        own = self._stated.get(name)
        return default if own is None else own

    def count(self, name: str, default: int | None = None, most: int | None = None) -> int:
        """Returns a positive integer."""
        own = self.get(name, default)
        if type(own) is not int or own < 1 or (most is not None and own > most):
            ends = "1 or more" if most is None else f"1 to {most}"
            raise FeedError(f"{self.path} needs {name} of {ends}, got {own!r}")
        return own

    def number(self, name: str, default: float) -> float:
        """Returns a positive number that is finite."""
        own = self.get(name, default)
        if type(own) not in (int, float) or not 0 < own <= sys.float_info.max:
            raise FeedError(f"{self.path} needs a positive, finite {name}, got {own!r}")
        return float(own)

    def flag(self, name: str, default: bool = False) -> bool:
        """Returns true or false."""
        own = self.get(name, default)
        if type(own) is not bool:
            raise FeedError(f"{self.path} needs {name} of true or false, got {own!r}")
        return own

    def choice(self, name: str, known: Mapping[str, T], default: str) -> T:
        """Returns what an entry stands for among those known."""
        own = self.get(name, default)
        if not isinstance(own, str) or own not in known:
            raise FeedError(f"{self.path} needs {name} of {', '.join(known)}, got {own!r}")
        return known[own]

    def demand(self, name: str, *wanted: Any, default: Any = None) -> None:
        """Raises `FeedError` unless an entry is one of those wanted: this model has no other."""
        own = self.get(name, default)
        if own not in wanted:
            known = " or ".join(json.dumps(each) for each in wanted)
            raise FeedError(f"{self.path} needs {name} of {known}, got {json.dumps(own)}")

    def divides(self, name: str, divisor: int, whole: str, dividend: int) -> None:
        """Raises `FeedError` unless one number divides another."""
        if dividend % divisor:
            raise FeedError(
                f"{self.path} needs {name} that divides {whole}, got {divisor} and {dividend}"
            )

    def skip(self, *names: str) -> None:
        """Leaves out entries that change no logit."""
        self._seen.update(names)

    def finish(self, ignored: frozenset[str]) -> None:
        """Raises `FeedError` where an entry was not looked at that may change what is computed."""
        for name, own in self._stated.items():
            # What is off, as null, false or empty, asks for nothing.
            is_known = name in self._seen or name in NEUTRAL or name in ignored
            if own and not is_known:
                raise FeedError(
                    f"{self.path} states {name} of {json.dumps(own)}, which this model does not"
                    f" know; --ignore {name} where it changes no logit"
                )


class Text(NamedTuple):
    """The tokenizer of a checkpoint: text to tokens and back."""

    tokenizer: Any

    def encode(self, prompt: str) -> list[int]:
        """Returns a prompt's tokens, those that its tokenizer begins every text with among them."""
        try:
            prompt.encode()
        except UnicodeEncodeError:
            raise ArgumentError(f"a prompt needs text of UTF-8, got {prompt!a}") from None
        return list(self.tokenizer.encode(prompt).ids)

    def decode(self, tokens: list[int]) -> str:
        """Returns the text of tokens, without those that stand for no text."""
        return str(self.tokenizer.decode(tokens, skip_special_tokens=True))


def settings(folder: Path) -> Settings:
    """Returns what the `config.json` of a checkpoint states."""
    path = folder / "config.json"
    return Settings(path, _object(path))


def text(folder: Path) -> Text:
    """Returns the tokenizer of a checkpoint; raises `FeedError` where it has none."""
    try:
        # Optional: everything else about a checkpoint can be read without the package.
        from tokenizers import Tokenizer
    except ImportError:
        raise UnavailableError(
            "text needs the package tokenizers: pip install 'topos-compiler[examples]'"
        ) from None
    path = folder / "tokenizer.json"
    content = _content(path)
    try:
        return Text(Tokenizer.from_str(content))
    # The package raises plain exceptions.
    except Exception as error:
        raise FeedError(f"{path} is no tokenizer: {error}") from error


def ends(folder: Path) -> frozenset[int]:
    """Returns the tokens after which nothing follows, by the folder's generation defaults."""
    stated: Any = None
    for name in ("generation_config.json", "config.json"):
        if stated is None and (folder / name).exists():
            stated = _object(folder / name).get("eos_token_id")
    if stated is None:
        return frozenset()
    found = stated if isinstance(stated, list) else [stated]
    if not all(type(each) is int for each in found):
        raise FeedError(f"{folder} needs eos_token_id of integers, got {stated!r}")
    return frozenset(found)


def loaded(
    folder: Path,
    network: Network,
    model: Module,
    rename: Callable[[str], str | None],
    element: Element,
    turned: bool,
) -> Parameters:
    """Returns a network's parameters with the weights of a checkpoint, in `element`.

    `turned` tells that linear weights are `[outputs, inputs]` in the files. Raises `FeedError`
    where a weight is missing, or an entry is nobody's.
    """

    def adapted(name: str, tensor: Tensor) -> Tensor:
        # Integers are quantized weights, whose scales no entry here has.
        own = tensor.convert(element) if tensor.element.differentiable else tensor
        return own.transpose() if turned and name.endswith(".weights") else own

    held: Parameters
    held, *_ = checkpoint.load(folder, network, model, rename=rename, adapt=adapted)
    return held


def _object(path: Path) -> dict[str, Any]:
    """Returns the object that a JSON file holds."""
    content = _content(path)
    try:
        held = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise FeedError(f"{path} is no JSON: {error}") from error
    if not isinstance(held, dict):
        raise FeedError(f"{path} needs an object, got {type(held).__name__}")
    return held


def _content(path: Path) -> str:
    """Returns a file's text; raises `FeedError` for a Git LFS pointer or a file that is missing."""
    try:
        content = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        kind = "file" if path.parent.is_dir() else "folder"
        needs = "a checkpoint is a folder with config.json, safetensors and tokenizer.json"
        missing = path if kind == "file" else path.parent
        raise FeedError(f"{needs}, and there is no {kind} {missing}") from None
    except UnicodeDecodeError as error:
        raise FeedError(f"{path} is no text: {error}") from error
    if content.startswith(POINTER):
        raise FeedError(f"{path} is a Git LFS pointer and not the file: run git lfs pull")
    return content
