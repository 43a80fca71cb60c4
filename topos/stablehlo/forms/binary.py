"""MLIR bytecode and portable artifacts, which jaxlib turns into text in a process of its own.

The reader is native code that trusts its bytes: of a thousand artifacts with a few bits flipped, it
crashes at thirty. So the process that asks never loads it: it runs this file as a worker, which
alone dies of such bytes. They come by standard input; standard output gets `text` or the name of an
error, a line feed, and the module's text or the reason.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, Final

from topos import errors
from topos.errors import ParseError, ToposError, UnavailableError, UnsupportedError, VerifyError

WORKER: Final = "topos.stablehlo.forms.binary"
# What the worker is told where its text is to have locations.
LOCATED: Final = "--locations"
NEEDS: Final = "MLIR bytecode needs jaxlib"
INSTALL: Final = "pip install 'topos-compiler[xla]'"
# jaxlib loads in seconds even on a busy machine, and reads megabytes in one.
STARTUP_SECONDS: Final = 60.0
BYTES_A_SECOND: Final = 1e6
# The name of the dialect of artifacts, as a bytecode's section of strings holds it.
VHLO: Final = b"vhlo\0"
PRODUCER: Final = b"StableHLO_v"
SHOWN: Final = 300


def bytecode_text(data: bytes, locations: bool = False) -> str:
    """Returns the module of MLIR bytecode, or of a portable artifact, as text.

    Raises `UnavailableError` without jaxlib, `VerifyError` or `UnsupportedError` where jaxlib's
    MLIR refuses the module, and `ParseError` where it cannot read the bytes or dies of them.
    """
    _demand_jaxlib()
    said = _answered(data, [LOCATED] if locations else []).decode(errors="replace")
    kind, _, rest = said.partition("\n")
    if kind == "text":
        return rest
    error: ToposError = getattr(errors, kind)(rest)
    raise error


def printed(data: bytes, locations: bool = False) -> str:
    """Returns what `bytecode_text` does, read in this process, which foreign bytes may end."""
    ir, stablehlo, context = bindings()
    said: list[tuple[str, list[str]]] = []

    def hear(diagnostic: Any) -> bool:
        said.append((diagnostic.message, [note.message for note in diagnostic.notes]))
        return True

    with context:
        handler = context.attach_diagnostic_handler(hear)
        try:
            if VHLO in data:
                module = stablehlo.deserialize_portable_artifact(context, data)
            else:
                module = ir.Module.parse(data)
        except ir.MLIRError as error:
            for each in error.error_diagnostics:
                hear(each)
            raise _refusal(data, said, stablehlo.get_current_version()) from None
        except ValueError:
            raise _refusal(data, said, stablehlo.get_current_version()) from None
        finally:
            handler.detach()
        return str(module.operation.get_asm(enable_debug_info=locations))


def _demand_jaxlib() -> None:
    try:
        found = find_spec("jaxlib") is not None
    # What is blocked in sys.modules has no specification.
    except ValueError:
        found = False
    if not found:
        raise UnavailableError(f"{NEEDS}: {INSTALL}")


def bindings() -> tuple[Any, Any, Any]:
    """Returns MLIR's classes, those of StableHLO, and a context that knows jaxlib's dialects."""
    try:
        from jaxlib.mlir import ir
        from jaxlib.mlir._mlir_libs import _jax_mlir_ext
        from jaxlib.mlir.dialects import chlo, mhlo, sdy, stablehlo
    # A broken package raises whatever stands in its way.
    except Exception as error:
        raise UnavailableError(f"{NEEDS}, which cannot be imported: {error}") from error
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    for register in (
        *(sdy.register_dialect, mhlo.register_mhlo_dialect),
        *(chlo.register_dialect, stablehlo.register_dialect),
    ):
        register(context)
    context.allow_unregistered_dialects = True
    return ir, stablehlo, context


def _refusal(data: bytes, said: list[tuple[str, list[str]]], current: str) -> ToposError:
    """Returns the error for what MLIR said of the bytes."""
    reason = "; ".join(message.strip() for message, _ in said)[:SHOWN] or "no reason told"
    written = _version_of(data)
    if written and _numbers(written) > _numbers(current):
        return UnsupportedError(
            f"the portable artifact is of StableHLO {written}, and this jaxlib reads up to "
            f"{current}; install a newer jaxlib, or export for an older version ({reason})"
        )
    # Only the verifier shows the operation that it stopped at.
    if any(note.startswith("see current operation") for _, notes in said for note in notes):
        return VerifyError(reason)
    return ParseError(f"jaxlib cannot read the MLIR bytecode: {reason}")


def _version_of(data: bytes) -> str:
    """Returns the version of StableHLO that wrote an artifact, or `""` for other bytecode."""
    # The magic number, the version of the bytecode in one byte, and the producer's name.
    if not data.startswith(PRODUCER, 5):
        return ""
    name = data[5 + len(PRODUCER) :].partition(b"\0")[0]
    return name.decode("ascii", errors="replace")


def _numbers(version: str) -> list[int]:
    return [int(each) if each.isdigit() else 0 for each in version.split(".")]


def _answered(data: bytes, options: Sequence[str]) -> bytes:
    """Returns what the worker says: a word that tells what follows, a line feed, and that."""
    if not sys.executable:
        raise UnavailableError(f"{NEEDS} in a process of its own: sys.executable is empty")
    # Python itself passes over whatever is no string here.
    folders = [os.path.abspath(folder) for folder in sys.path if isinstance(folder, str)]
    seconds = STARTUP_SECONDS + len(data) / BYTES_A_SECOND
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", WORKER, *options],
            input=data,
            capture_output=True,
            check=False,
            timeout=seconds,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        )
    except subprocess.TimeoutExpired:
        raise _damaged(f"was stopped after {seconds:.0f} seconds") from None
    except OSError as error:
        raise UnavailableError(f"{NEEDS} in a process of its own: {error}") from error
    if done.returncode < 0:
        raise _damaged(f"died of {signal.Signals(-done.returncode).name}")
    if done.returncode:
        raise _damaged(f"ended with status {done.returncode}")
    return done.stdout


def _damaged(end: str) -> ParseError:
    return ParseError(f"the MLIR bytecode is damaged: jaxlib's reader {end}")


def main() -> None:
    """Tells the module of the bytes, or why there is none."""
    try:
        kind, said = "text", printed(sys.stdin.buffer.read(), LOCATED in sys.argv)
    except ToposError as error:
        kind, said = type(error).__name__, str(error)
    sys.stdout.buffer.write(f"{kind}\n{said}".encode(errors="replace"))


if __name__ == "__main__":
    main()
