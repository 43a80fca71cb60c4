"""Modules of a bundle: what verifiers make of the text, and whether the artifact is the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from topos import runtimes
from topos.bundle import portable
from topos.bundle.bundle import Program
from topos.bundle.portable import serialized
from topos.bundle.report import VERIFIER, State, Verdict, brief, told
from topos.errors import BundleError, TextError, ToposError, UnsupportedError
from topos.runtimes import ArrayType
from topos.runtimes.interpreter.custom_calls import kernel_of
from topos.stablehlo.forms.binary import bytecode_text, printed
from topos.stablehlo.ir import Module, Operation, Region
from topos.stablehlo.read import read, told_of


def demand_runnable(program: Program) -> None:
    """Raises `BundleError` where no runtime may be given the text of a program.

    That is where our verifier refuses it, where `@main` has not the very types of the manifest's
    arguments and results in their order, or where the text, be it in a function that nothing
    calls, has a custom call for which our interpreter has no kernel: a runtime would call what
    its process has under that name.
    """
    try:
        _demand_signature(program)
    except ToposError as error:
        raise BundleError(f"{program.name} is no module to run: {error}") from error


def module_verdicts(program: Program, version: str) -> list[Verdict]:
    """Returns verdicts on a module: by our verifier, by jaxlib's, and on the artifact.

    The first is whether it may be run at all. `version` is the StableHLO version of the artifact.
    The last two need jaxlib.
    """
    verdicts = [_verdict(VERIFIER, program, partial(_demand_signature, program))]
    if not portable.is_ready():
        reason = "reading an artifact needs jaxlib"
        return [*verdicts, told("artifact", program, State.SKIPPED, reason)]
    return [
        *verdicts,
        _verdict("jaxlib", program, lambda: portable.demand_valid(program.text)),
        _verdict("artifact", program, lambda: demand_same(program.text, program.artifact, version)),
    ]


def _verdict(judge: str, program: Program, demand: Callable[[], None]) -> Verdict:
    try:
        demand()
    except ToposError as error:
        return told(judge, program, State.FAILED, brief(error))
    return told(judge, program, State.HOLDS)


def _demand_signature(program: Program) -> None:
    """Raises where our verifier refuses a module, or where its types are not the manifest's."""
    text = program.text
    with told_of(text):
        demand_known_targets(read(text))
    found = runtimes.load("interpreter").compile(text).signature
    for kind, types, ports in (
        ("arguments", found.arguments, program.arguments),
        ("results", found.results, program.results),
    ):
        wanted = tuple(ArrayType(port.shape, port.dtype) for port in ports)
        if types != wanted:
            says, has = (", ".join(map(str, each)) or "none" for each in (wanted, types))
            raise BundleError(f"the manifest has {kind} {says}, and @main has {has}")


def demand_known_targets(module: Module) -> None:
    """Raises `UnsupportedError` for a custom call anywhere in a module that has no kernel here."""
    bodies = [function.body for function in module.functions if function.body is not None]
    beside = (region for operation in module.others for region in operation.regions)
    for operation in _operations([*bodies, *beside]):
        if operation.name != "stablehlo.custom_call":
            continue
        target = operation.attributes.get("call_target_name")
        if not isinstance(target, str) or kernel_of(target) is None:
            reason = f"custom_call @{target}, whose target is not known to be harmless"
            raise UnsupportedError(reason, operation.line, operation.column)


def _operations(regions: list[Region]) -> Iterator[Operation]:
    """Yields every operation in some regions, however deep."""
    waiting = list(regions)
    while waiting:
        for block in waiting.pop().blocks:
            for operation in block.operations:
                waiting += operation.regions
                yield operation


def demand_same(text: str, artifact: bytes, version: str) -> None:
    """Raises `BundleError` where an artifact does not hold the module of a text.

    Bytes that an export here would write are right. Any others, of another jaxlib or of whoever
    changed them, are read by a process of their own.
    """
    own = serialized(text, version)
    if artifact == own:
        return
    try:
        held = bytecode_text(artifact)
    except TextError as error:
        raise BundleError(f"the artifact cannot be read: {error}") from error
    if held != printed(own):
        raise BundleError("the artifact holds another module than the text")
