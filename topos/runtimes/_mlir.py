"""Modules as MLIR bindings see them: parsed text, faults with their place, and signatures.

jaxlib and IREE each carry their own copy of the bindings. Both offer the same classes, so every
function here takes the `ir` module of either, and works in the context entered by the caller.
"""

from __future__ import annotations

import io
import re
from typing import Any, Final, NamedTuple

from topos.errors import ParseError, UnsupportedError, VerifyError
from topos.runtimes._signature import ArrayType, ModuleSignature
from topos.stablehlo.types import ELEMENTS

# A binding has no useful static type: it is a compiled module that may be absent.
Binding = Any

# The elements that pass between numpy and the bindings.
DTYPES: Final = {
    name: ELEMENTS[name]
    for name in (
        *("f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "complex<f32>", "complex<f64>"),
        *("i1", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"),
    )
}

# XLA reuses an argument's buffer where these stand, and IREE overwrites one it still has to read.
ALIASING: Final = ("tf.aliasing_output", "jax.buffer_donor")

# Half of a character, which no UTF-8 can hold.
SURROGATE: Final = re.compile("[\ud800-\udfff]")
# A name in quotes: a symbol, the key of an attribute, or what an attribute names. Where its escaped
# bytes are no UTF-8, the bindings end the process. Other strings may hold any bytes.
STRING: Final = r'"((?:[^"\\\n]|\\.)*+)"'
NAME: Final = re.compile(rf"@{STRING}|{STRING}\s*=|\b(?:sym|call_target)_name\s*=\s*{STRING}")
ESCAPE: Final = re.compile(rb"\\([0-9A-Fa-f]{2})")


# How MLIR tells of a dialect that it has not loaded: at an attribute, a type or an operation.
UNREGISTERED: Final = re.compile(
    r"""[#!]"(\w+)"<.* created with unregistered dialect|Dialect `(\w+)' not found""", re.DOTALL
)
QUOTED: Final = re.compile(r'"(\w+)\.[^"]*"\s*$')


class Fault(NamedTuple):
    """Why a text is no valid module, and where; `line` and `column` count from one.

    `verified` says that the text parsed and an operation's own rule refused it, and `foreign`
    that the text has a dialect which the bindings do not read.
    """

    reason: str
    line: int
    column: int
    source_line: str
    verified: bool
    foreign: bool = False

    def error(self) -> ParseError | VerifyError | UnsupportedError:
        """Returns the exception that tells this fault."""
        kind: type[ParseError | VerifyError | UnsupportedError]
        kind = VerifyError if self.verified else UnsupportedError if self.foreign else ParseError
        return kind(self.reason, self.line, self.column, self.source_line)


def read(ir: Binding, text: str) -> Binding | Fault:
    """Returns `text` parsed and verified, or the fault found in it."""
    unpaired = SURROGATE.search(text)
    if unpaired:
        found = f"a lone surrogate {unpaired[0]!a}"
        return _not_unicode(text, unpaired.start(), f"a module needs Unicode text, got {found}")
    strange = _strange_name(text)
    if strange:
        return _not_unicode(text, strange.start(), f"a name needs UTF-8, got {strange[0]}")
    try:
        return ir.Module.parse(text)
    except ir.MLIRError as error:
        return _fault(ir, text, error)


def parse(ir: Binding, text: str) -> Binding:
    """Returns `text` parsed and verified; raises the error of the fault found in it.

    That is `UnsupportedError` for a dialect that the bindings do not read.
    """
    module = read(ir, text)
    if isinstance(module, Fault):
        raise module.error()
    return module


def main_of(ir: Binding, module: Binding) -> Binding:
    """Returns the function `@main`; raises `VerifyError` where there is none."""
    symbols = ir.SymbolTable(module.operation)
    if "main" not in symbols:
        raise VerifyError("a module needs a function @main")
    main = symbols["main"]
    if main.operation.name != "func.func":
        raise VerifyError(f"a module needs @main to be a function, got {main.operation.name}")
    return main


def signature(ir: Binding, module: Binding) -> ModuleSignature:
    """Returns the types of `@main`; raises `UnsupportedError` for one numpy cannot hold."""
    function = main_of(ir, module).type
    return ModuleSignature(
        tuple(_array_type(ir, value) for value in function.inputs),
        tuple(_array_type(ir, value) for value in function.results),
    )


def unalias(ir: Binding, module: Binding) -> None:
    """Removes from `@main` the attributes that let a result take an argument's buffer."""
    main = main_of(ir, module)
    if "arg_attrs" not in main.attributes:
        return
    kept = [
        {entry.name: entry.attr for entry in attributes if entry.name not in ALIASING}
        for attributes in map(ir.DictAttr, ir.ArrayAttr(main.attributes["arg_attrs"]))
    ]
    main.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(each) for each in kept])


def bytecode(module: Binding) -> bytes:
    """Returns `module` in MLIR's binary form, which reads back six times faster than text."""
    stream = io.BytesIO()
    module.operation.write_bytecode(stream)
    return stream.getvalue()


def _array_type(ir: Binding, value: Binding) -> ArrayType:
    if not isinstance(value, ir.RankedTensorType) or not value.has_static_shape:
        raise UnsupportedError(f"@main needs tensors of fixed shape, got {value}")
    name = str(value.element_type)
    if name not in DTYPES:
        raise UnsupportedError(f"@main needs elements that numpy can hold, got {value}")
    return ArrayType(tuple(value.shape), DTYPES[name])


def _strange_name(text: str) -> re.Match[str] | None:
    """Returns the first name whose escaped bytes are no UTF-8."""
    if "\\" not in text:
        return None
    for match in NAME.finditer(text):
        name = next((each for each in match.groups() if each), "").encode()
        try:
            ESCAPE.sub(lambda each: bytes.fromhex(each[1].decode()), name).decode()
        except UnicodeDecodeError:
            return match
    return None


def _not_unicode(text: str, position: int, reason: str) -> Fault:
    before = text[:position].split("\n")
    # The excerpt must be printable wherever the fault is told.
    source_line = text.split("\n")[len(before) - 1].encode(errors="replace").decode().rstrip("\r")
    return Fault(reason, len(before), len(before[-1]) + 1, source_line, verified=False)


def _fault(ir: Binding, text: str, error: Any) -> Fault:
    diagnostics = error.error_diagnostics
    reason = "; ".join(each.message.strip() for each in diagnostics) or error.message
    # Only the verifier shows the operation that it stopped at.
    notes = (note.message for each in diagnostics for note in each.notes)
    verified = any(note.startswith("see current operation") for note in notes)
    # MLIR ends a line at a line feed alone; str.splitlines would count form feeds too.
    lines = text.split("\n")
    line, column = _place(ir, diagnostics)
    if line > len(lines):
        # Text with locations of its own says where it was made, which is no line of this text.
        line, column = 1, 1
    source_line = lines[line - 1].rstrip("\r")
    # MLIR counts bytes from the line's start; the caret wants characters.
    column = len(source_line.encode()[: column - 1].decode(errors="ignore")) + 1
    dialect = _foreign(reason, source_line[: column - 1])
    if dialect:
        reason = f"the dialect {dialect} is not read by this runtime"
    return Fault(reason, line, column, source_line, verified, bool(dialect))


def _foreign(reason: str, before: str) -> str:
    """Returns the dialect that a reason says to be unknown, or `""` for any other reason."""
    named = UNREGISTERED.search(reason)
    if named:
        return named[1] or named[2]
    # Of an operation in its generic form the reason has no name, and the text has it.
    quoted = QUOTED.search(before) if "with an unregistered dialect" in reason else None
    return quoted[1] if quoted else ""


def _place(ir: Binding, diagnostics: Any) -> tuple[int, int]:
    for each in diagnostics:
        try:
            location = ir.FileLineColLoc(each.location)
        except ValueError:
            # A location that the text itself gives, by a name: the next diagnostic may do better.
            continue
        return max(location.start_line, 1), max(location.start_col, 1)
    return 1, 1
