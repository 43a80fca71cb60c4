"""Small models that the tests export: recordings of one function at several numbers of rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

import topos
from topos import (
    Activation,
    BatchNorm,
    Element,
    Embedding,
    LayerNorm,
    Mlp,
    MultiHeadAttention,
    Plan,
    Tape,
    Value,
    f32,
    init,
)
from topos.bundle.folder import entry_of
from topos.bundle.manifest import MANIFEST, Manifest, decoded, encoded

WIDTHS = (5, 8, 3)
Body = Callable[[Tape, Value], Value]


def recorded(body: Body, rows: int, features: int = 5, element: Element = f32) -> Plan:
    """Returns the plan of `scores`, which `body` records from `features`."""
    tape = Tape(element=element)
    body(tape, tape.input(shape=[rows, features], name="features")).named("scores")
    return tape.into_network().entry(["scores"]).lower()


def mlp(
    rows: int = 2,
    *,
    seed: int = 1,
    element: Element = f32,
    activation: Activation = Activation.RELU,
) -> Plan:
    """Returns a labelled multilayer perceptron with biases that are not zero."""

    def body(tape: Tape, features: Value) -> Value:
        weights, bias = init.kaiming(seed), init.normal(seed + 1, 0.3)
        model = Mlp(tape, WIDTHS, weights=weights, bias=bias, activation=activation)
        topos.label(tape, model)
        return model.express(tape, features)

    return recorded(body, rows, element=element)


def normalized(rows: int) -> Plan:
    """Returns a normalization by the statistics of the batch, which couples its rows."""

    def body(tape: Tape, features: Value) -> Value:
        return BatchNorm(tape, 5).express(tape, features).output

    return recorded(body, rows)


def inferred(rows: int) -> Plan:
    """Returns a normalization by statistics that are inputs."""
    tape = Tape()
    norm = BatchNorm(tape, 5)
    topos.label(tape, norm)
    mean, variance = (tape.input(shape=[5], name=name) for name in ("mean", "variance"))
    features = tape.input(shape=[rows, 5], name="features")
    norm.inference(tape, features, mean, variance).named("scores")
    return tape.into_network().entry(["scores"]).lower()


def attention(rows: int = 2, element: Element = f32) -> Plan:
    """Returns a transformer block over `[rows, 6, 8]`."""
    tape = Tape(element=element)
    norm, weights = LayerNorm(tape, 8), init.scaled(4)
    attend = MultiHeadAttention(tape, 8, 2, weights=weights.split(0), bias=init.normal(3, 0.1))
    feed = Mlp(tape, (8, 16, 8), weights=weights.split(1), activation=Activation.GELU)
    hidden = tape.input(shape=[rows, 6, 8], name="hidden")
    attended = hidden + attend.express(tape, norm.express(tape, hidden))
    (attended + feed.express(tape, attended)).named("hidden after")
    return tape.into_network().entry(["hidden after"]).lower()


def tokens(rows: int) -> Plan:
    """Returns the mean of the embeddings of four tokens of 11 in each row."""
    tape = Tape()
    table = Embedding(tape, 11, 3, table=init.normal(2))
    topos.label(tape, table)
    words = tape.input(shape=[rows, 4], element=topos.i64, name="tokens")
    topos.mean(table.express(tape, words), 1).named("embeddings")
    return tape.into_network().entry(["embeddings"]).lower()


def rewritten(folder: Path, change: Callable[[Manifest], Manifest] = lambda own: own) -> None:
    """Changes the manifest of a bundle, and makes every entry say what its file is."""
    manifest = change(decoded((folder / MANIFEST).read_bytes()))
    programs = tuple(
        msgspec.structs.replace(
            each,
            module=entry_of(folder, each.module.name),
            artifact=entry_of(folder, each.artifact.name),
            sample=entry_of(folder, each.sample.name),
            compiled=tuple(
                msgspec.structs.replace(form, file=entry_of(folder, form.file.name))
                for form in each.compiled
            ),
        )
        for each in manifest.programs
    )
    weights = entry_of(folder, manifest.weights.name)
    (folder / MANIFEST).write_bytes(
        encoded(msgspec.structs.replace(manifest, programs=programs, weights=weights))
    )


def altered(folder: Path, name: str, old: str, new: str) -> None:
    """Changes a text, and the manifest with it, so that every digest fits."""
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1))
    rewritten(folder)
