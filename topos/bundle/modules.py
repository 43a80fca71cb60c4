"""Modules of a bundle: what verifiers make of the text, and whether the artifact is the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from topos import runtimes
from topos.bundle import portable
from topos.bundle.bundle import Program
from topos.bundle.judgement import State, Verdict, brief
from topos.errors import BundleError, ToposError
from topos.runtimes import ArrayType

__all__ = ["module_verdicts"]


def module_verdicts(program: Program, version: str) -> list[Verdict]:
    """Returns verdicts on a module: by our verifier, by jaxlib's, and on the artifact.

    `version` is the StableHLO version of the artifact. The last two need jaxlib.
    """
    verdicts = [_verdict("topos", program, partial(_demand_signature, program))]
    if not portable.is_ready():
        reason = "reading an artifact needs jaxlib"
        return [*verdicts, Verdict("artifact", program.name, "", State.SKIPPED, reason=reason)]
    return [
        *verdicts,
        _verdict("jaxlib", program, lambda: portable.demand_valid(program.text)),
        _verdict(
            "artifact",
            program,
            lambda: portable.demand_same(program.text, program.artifact, version),
        ),
    ]


def _verdict(judge: str, program: Program, demand: Callable[[], None]) -> Verdict:
    try:
        demand()
    except ToposError as error:
        return Verdict(judge, program.name, "", State.FAILED, reason=brief(error))
    return Verdict(judge, program.name, "", State.HOLDS)


def _demand_signature(program: Program) -> None:
    """Raises where our verifier refuses a module, or where its types are not the manifest's."""
    text = program.text
    runtimes.verify(text)
    found = runtimes.load("interpreter").compile(text).signature
    for kind, types, ports in (
        ("arguments", found.arguments, program.arguments),
        ("results", found.results, program.results),
    ):
        wanted = tuple(ArrayType(port.shape, port.dtype) for port in ports)
        if types != wanted:
            says, has = (", ".join(map(str, each)) or "none" for each in (wanted, types))
            raise BundleError(f"the manifest has {kind} {says}, and @main has {has}")
