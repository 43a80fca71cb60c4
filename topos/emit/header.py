"""The head of a module: the names of its arguments and results, its version and its digest.

A name stands in three places, since no place is kept by every tool. `topos.name` is an attribute of
the argument or result: jaxlib, IREE and portable artifacts keep it, and an IREE binary shows it in
the reflection of `main`. XLA drops attributes of functions; it keeps `mhlo.frontend_attributes` of
the module, and calls a parameter after its location.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from topos.emit.text import quoted, tensor_type
from topos.engine import Port, Signature
from topos.graph import Symbol

DISTRIBUTION: Final = "topos-compiler"


def function_head(signature: Signature, donated: Mapping[Symbol, int]) -> str:
    """Returns the line that opens `@main`; `donated` are the results that take a buffer."""
    arguments = ", ".join(
        f"%v{port.symbol.position}: {_typed(port, donated.get(port.symbol))}{_located(port.name)}"
        for port in signature.arguments
    )
    results = ", ".join(map(_typed, signature.results))
    return f"  func.func public @main({arguments}) -> ({results}) {{"


def module_text(signature: Signature, lines: Sequence[str]) -> str:
    """Returns the module with the `lines` of its function, and with its digest.

    The digest is the SHA-256 of the text in UTF-8 without `, topos.digest = "sha256:..."`.
    """
    attributes = ", ".join([*_listed(signature), f"topos.version = {quoted(_version())}"])
    start = f"module @topos attributes {{{attributes}"
    rest = "\n".join(["} {", *lines, "}", ""])
    digest = sha256(start.encode())
    digest.update(rest.encode())
    return f'{start}, topos.digest = "sha256:{digest.hexdigest()}"{rest}'


def _typed(port: Port, place: int | None = None) -> str:
    """Returns the type of an argument or a result, with its attributes."""
    attributes = [] if place is None else [f"tf.aliasing_output = {place} : i32"]
    if port.name is not None:
        attributes.append(f"topos.name = {quoted(port.name)}")
    return tensor_type(port.type) + (f" {{{', '.join(attributes)}}}" if attributes else "")


def _located(name: str | None) -> str:
    return "" if name is None else f" loc({quoted(name)})"


def _listed(signature: Signature) -> list[str]:
    """Returns the attribute that lists the names by place, unless there is none."""
    names = [*_places("arg", signature.arguments), *_places("result", signature.results)]
    return [f"mhlo.frontend_attributes = {{{', '.join(names)}}}"] if names else []


def _places(kind: str, ports: Iterable[Port]) -> list[str]:
    return [
        f"{kind}{place} = {quoted(port.name)}"
        for place, port in enumerate(ports)
        if port.name is not None
    ]


@cache
def _version() -> str:
    # Looking it up reads files, which takes as long as writing a hundred nodes.
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"
