"""Text on its way into XLA: read, refused where XLA would die of it, and its buffers shared."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from topos.engine import Numerics
from topos.errors import CompileError, UnsupportedError
from topos.runtimes._admission import admit, refuse_folded_zero_divisors
from topos.runtimes._mlir import Binding, bytecode, main_of, parse, signature, unalias
from topos.runtimes._runtime import no_option
from topos.runtimes._signature import ModuleSignature
from topos.runtimes.xla.custom_calls import admit_custom_calls
from topos.runtimes.xla.rewrites import needed_flags, rewrite

# XLA rewrites x / 3 as x * (1 / 3) in the one pass and contracts a * b + c in the other; without
# both, every elementwise operation rounds for itself. The third leaves pairs of transposes for the
# first to cancel, and adds such pairs to pairs where that is away.
SIMPLIFIER: Final = "algsimp"
INEXACT_PASSES: Final = f"{SIMPLIFIER},fusion,reshape-mover"
PASSES: Final = "xla_disable_hlo_passes"
# XLA computes in f32 what a text has in bf16, and by this leaves out roundings in between.
EXCESS: Final = "xla_allow_excess_precision"
# Of the status codes that start a message of XLA, those that say "known, and not here".
LACKING: Final = ("UNIMPLEMENTED", "NOT_FOUND")
# How it tells of an option that it does not have, and of a value that the option does not take.
UNKNOWN: Final = re.compile(r"No such compile option: '(.*)'")
UNSET: Final = ": While setting option "
ALIASING: Final = "tf.aliasing_output"


class Program(NamedTuple):
    """A module that XLA may compile, its types, and XLA's options to compile it with."""

    code: bytes
    signature: ModuleSignature
    flags: Mapping[str, Any]


def bindings() -> tuple[Binding, Any]:
    """Returns MLIR's classes and jax's maker of contexts, once all that compiling needs is here."""
    from jax import enable_x64  # noqa: F401
    from jax.extend.backend import get_compile_options, get_default_device  # noqa: F401
    from jax.extend.mlir import ir
    from jax.interpreters.mlir import make_ir_context

    return ir, make_ir_context


def program(
    text: str, carried: Mapping[int, int], flags: Mapping[str, Any], platform: str
) -> Program:
    """Returns `text` read, each carried argument giving its buffer to the result that it maps to.

    What XLA gets wrong under the options `flags` is rewritten, or they are changed. Custom calls
    are looked at where `platform` is a CPU; XLA knows those of any other itself.
    Raises `ParseError`, `VerifyError` or `UnsupportedError`.
    """
    ir, make_context = bindings()
    with make_context():
        module = parse(ir, text)
        admit(ir, module)
        refuse_folded_zero_divisors(ir, module)
        if platform == "cpu":
            admit_custom_calls(ir, module)
        unalias(ir, module)
        types = signature(ir, module)
        rewrite(ir, module, text, SIMPLIFIER not in flags.get(PASSES, "").split(","))
        if carried:
            _alias(ir, main_of(ir, module), carried)
        return Program(bytecode(module), types, {**flags, **needed_flags(ir, module)})


def flags_of(numerics: Numerics | str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns XLA's options: those chosen, and under exact numerics what keeps every rounding."""
    flags = dict(options)
    if Numerics.of(numerics) is Numerics.EXACT:
        flags.setdefault(EXCESS, False)
        chosen = flags.get(PASSES)
        flags[PASSES] = f"{INEXACT_PASSES},{chosen}" if chosen else INEXACT_PASSES
    return flags


def refusal(error: Exception) -> CompileError | UnsupportedError:
    """Returns what to raise for an exception of XLA's compiler."""
    if str(error).startswith(LACKING):
        return UnsupportedError(f"xla lacks what the module asks for: {brief(error)}")
    unknown = UNKNOWN.search(str(error))
    if unknown:
        return no_option("xla", unknown[1])
    if UNSET in str(error):
        return CompileError(f"xla refused an option: {brief(error)}")
    return CompileError(f"xla refused the module: {brief(error)}")


def brief(error: Exception) -> str:
    """Returns the first lines of a message, which say what is wrong; a dump may follow."""
    return "\n".join(str(error).strip().splitlines()[:6]) or type(error).__name__


def _alias(ir: Binding, main: Binding, carried: Mapping[int, int]) -> None:
    kept = [ir.DictAttr.get({})] * len(main.type.inputs)
    if "arg_attrs" in main.attributes:
        kept = [*map(ir.DictAttr, ir.ArrayAttr(main.attributes["arg_attrs"]))]
    number = ir.IntegerType.get_signless(32)
    for argument, result in carried.items():
        named = {entry.name: entry.attr for entry in kept[argument]}
        named[ALIASING] = ir.IntegerAttr.get(number, result)
        kept[argument] = ir.DictAttr.get(named)
    main.attributes["arg_attrs"] = ir.ArrayAttr.get(kept)
