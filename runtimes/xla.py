"""XLA through jax: the module becomes one primitive of a jitted function.

jax's own dispatch then serves the call: it is as fast as a function written in jax, checks what it
is given, and holds no lock while the module runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from topos.engine import Numerics
from topos.errors import CompileError, ExecutionError, UnsupportedError
from topos.runtimes._admission import admit, refuse_folded_zero_divisors
from topos.runtimes._mlir import bytecode, parse, signature, unalias
from topos.runtimes._packages import imported, installed
from topos.runtimes._runtime import Executable, ModuleSignature, Runtime, Status, requested

__all__ = ["RUNTIME", "Xla"]

Array = npt.NDArray[Any]

# XLA rewrites x / 3 as x * (1 / 3) in the one pass and contracts a * b + c in the other; without
# both, every elementwise operation rounds for itself.
INEXACT_PASSES: Final = "algsimp,fusion"
PASSES: Final = "xla_disable_hlo_passes"
# Of the status codes that start a message of XLA, those that say "known, and not here".
LACKING: Final = ("UNIMPLEMENTED", "NOT_FOUND")


class Xla(Runtime):
    """XLA for the default device of jax; safe to compile and to call from several threads.

    Arithmetic on the CPU flushes subnormal numbers to zero, whatever the numerics. `EXACT`
    turns off the passes that merge or rewrite float operations.
    """

    name = "xla"

    def status(self) -> Status:
        """Returns whether jax and jaxlib are installed, with their versions."""
        return installed(self.name, "xla", {"jax": "jax", "jaxlib": "jaxlib"})

    def compile(
        self,
        text: str,
        *,
        numerics: Numerics | str = Numerics.FAST,
        options: Mapping[str, Any] | None = None,
    ) -> Executable:
        """Returns `text` compiled; `options` are XLA's compiler options by name.

        Raises `ParseError`, `VerifyError`, `UnsupportedError` or `CompileError` with the
        diagnostic; an option that XLA does not know is a `CompileError`.
        """
        flags = _flags(numerics, requested(text, options))
        with imported(self.status()):
            jax = _jax()
            enable_x64, bindings = jax.enable_x64, _bindings()
        program = _program(*bindings, text)
        placeholders = [jax.ShapeDtypeStruct(*each) for each in program.signature.arguments]
        try:
            # Without this jax cuts 64-bit types to 32 bits; the context is the thread's own.
            with enable_x64(True):
                lowered = jax.jit(partial(_apply, program)).lower(*placeholders)
                compiled = lowered.compile(compiler_options=flags)
        except Exception as error:
            raise _refusal(error) from error
        return XlaExecutable(program.signature, compiled)


class XlaExecutable(Executable):
    """A module compiled by XLA; the results are read-only arrays over XLA's own memory."""

    def __init__(self, signature: ModuleSignature, compiled: Any) -> None:
        super().__init__(signature)
        self._compiled = compiled

    def execute(self, arguments: list[Array]) -> tuple[Array, ...]:
        """Returns the results once all of them are ready."""
        jax = _jax()
        try:
            with jax.enable_x64(True):
                results = self._compiled(*arguments)
            # XLA may read an argument's memory until the last result stands, so the caller
            # gets control back only then: the conversion waits.
            return tuple(np.asarray(result) for result in results)
        except (jax.errors.JaxRuntimeError, ValueError, TypeError) as error:
            raise ExecutionError(f"xla failed to run the module: {_brief(error)}") from error

    def __reduce__(self) -> NoReturn:
        raise ExecutionError("an executable of xla lives in its process: pickle the text")


def _jax() -> Any:
    # Parts of jax carry no types, and a machine without it has none of them.
    import jax

    return jax


class _Program(NamedTuple):
    """A module as a parameter of the primitive: hashable, and read again while lowering."""

    code: bytes
    signature: ModuleSignature


def _bindings() -> tuple[Any, Any]:
    """Returns MLIR's classes and jax's maker of contexts, with all else that compiling loads."""
    from jax.extend.mlir import ir
    from jax.interpreters.mlir import make_ir_context

    _primitive()
    return ir, make_ir_context


def _program(ir: Any, make_context: Any, text: str) -> _Program:
    with make_context():
        module = parse(ir, text)
        admit(ir, module)
        refuse_folded_zero_divisors(ir, module)
        unalias(ir, module)
        return _Program(bytecode(module), signature(ir, module))


def _apply(program: _Program, *arguments: Any) -> Any:
    return _primitive().bind(*arguments, program=program)


@cache
def _primitive() -> Any:
    from jax.extend.core import Primitive
    from jax.interpreters.mlir import register_lowering

    primitive: Any = Primitive("topos_module")
    primitive.multiple_results = True
    primitive.def_abstract_eval(_results)
    register_lowering(primitive, _lower)
    return primitive


def _results(*_: Any, program: _Program) -> list[Any]:
    from jax.core import ShapedArray

    return [ShapedArray(*each) for each in program.signature.results]


def _lower(context: Any, *arguments: Any, program: _Program) -> Any:
    """Returns the results of a call of the module's `@main`, merged into the module in making."""
    from jax.extend.mlir import ir
    from jax.extend.mlir.dialects import func
    from jax.interpreters.mlir import merge_mlir_modules

    target = context.module_context
    module = ir.Module.parse(program.code, context=target.context)
    name = merge_mlir_modules(target.module, "topos_main", module, dst_symtab=target.symbol_table)
    function = target.symbol_table[name]
    symbol = ir.FlatSymbolRefAttr.get(name)
    return func.CallOp(function.type.results, symbol, list(arguments)).results


def _flags(numerics: Numerics | str, flags: dict[str, Any]) -> dict[str, Any]:
    if Numerics.of(numerics) is Numerics.EXACT:
        chosen = flags.get(PASSES)
        flags[PASSES] = f"{INEXACT_PASSES},{chosen}" if chosen else INEXACT_PASSES
    return flags


def _refusal(error: Exception) -> CompileError | UnsupportedError:
    if str(error).startswith(LACKING):
        return UnsupportedError(f"xla lacks what the module asks for: {_brief(error)}")
    return CompileError(f"xla refused the module: {_brief(error)}")


def _brief(error: Exception) -> str:
    # The first lines say what is wrong; a dump of the module follows.
    return "\n".join(str(error).strip().splitlines()[:6]) or type(error).__name__


RUNTIME = Xla()
