"""The one hierarchy of exceptions that topos raises."""

from __future__ import annotations

__all__ = [
    "ArgumentError",
    "CompileError",
    "CrashError",
    "ElementError",
    "EmitError",
    "ExecutionError",
    "FeedError",
    "FlushedSubnormalsError",
    "ParseError",
    "PhaseError",
    "PostureError",
    "ReadError",
    "ShapeError",
    "SymbolError",
    "ToposError",
    "UnavailableError",
    "UnsupportedError",
    "VerifyError",
]


class ToposError(Exception):
    """The base of every exception that topos raises."""


class ShapeError(ToposError, ValueError):
    """Operands whose shapes, axes or extents an operation cannot take."""


class ElementError(ToposError, TypeError):
    """Operands or payloads whose elements an operation cannot take."""


class PhaseError(ToposError, RuntimeError):
    """A recording used outside its phase: sealed, reopened, or touched by a second thread."""


class SymbolError(ToposError, LookupError):
    """A symbol of another recording, or of a later state of this one."""


class FeedError(ToposError, ValueError):
    """A feed or a parameter payload that does not fit the source it is given for."""


class ReadError(ToposError, LookupError):
    """A read of a value that was not declared as a root or an observe."""


class PostureError(ToposError, RuntimeError):
    """A request that the declared memory posture cannot answer, such as an undeclared backward."""


class EmitError(ToposError):
    """A plan that has no form in the target text."""


class ParseError(ToposError, ValueError):
    """Text that is not a module, told with line, column, the line itself and a caret.

    `line` and `column` count from one.
    """

    def __init__(self, reason: str, line: int, column: int, source_line: str) -> None:
        self.reason, self.line, self.column, self.source_line = reason, line, column, source_line
        # A line of constants may be megabytes long; the window keeps the caret in sight.
        start = max(0, column - 1 - 60)
        window = source_line[start : start + 120]
        super().__init__(
            f"line {line}, column {column}: {reason}\n{window}\n{' ' * (column - 1 - start)}^"
        )


class VerifyError(ToposError, ValueError):
    """A module that parses but breaks a rule of its operations."""


class UnsupportedError(ToposError, NotImplementedError):
    """A construct that a runtime knows by name and does not execute."""


class UnavailableError(ToposError, RuntimeError):
    """A runtime or an optional package that this installation does not have."""


class CompileError(ToposError, RuntimeError):
    """A module that a foreign compiler refused, with its own diagnostic."""


class ArgumentError(ToposError, TypeError):
    """Arguments whose count, shapes or dtypes are not those of an executable."""


class ExecutionError(ToposError, RuntimeError):
    """A runtime that failed while it executed a module."""


class CrashError(ExecutionError):
    """A runtime process that died, hung or was interrupted."""


class FlushedSubnormalsError(ToposError, ArithmeticError):
    """A process whose arithmetic flushes subnormal numbers to zero."""
