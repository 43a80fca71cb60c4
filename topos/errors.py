"""The one hierarchy of exceptions that topos raises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

__all__ = [
    "ArgumentError",
    "BundleError",
    "CompileError",
    "CopyWarning",
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
    "TextError",
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
    """A request that the declared memory posture does not allow, such as an undeclared backward."""


class EmitError(ToposError):
    """A plan that has no form in the target text."""


class DerivedText(str, ABC):
    """A text that was made from another one, which its user knows."""

    __slots__ = ()

    @abstractmethod
    def origin(self, line: int, column: int) -> tuple[str, int, int]:
        """Returns the other text, with the line and column there that a place comes from."""


class TextError(ToposError, ValueError):
    """A text that is refused, told with line, column, the line itself and a caret where known.

    `line` and `column` count from one; a fault of the whole text has neither and both are zero.
    """

    def __init__(self, reason: str, line: int = 0, column: int = 0, source_line: str = "") -> None:
        self.reason, self.line, self.column, self.source_line = reason, line, column, source_line
        super().__init__(f"{self._place()}{reason}{self.excerpt()}")

    def excerpt(self) -> str:
        """Returns the line with a caret under the column, on lines of their own."""
        if not self.source_line:
            return ""
        # A line of constants may be megabytes long; the window keeps the caret in sight.
        start = max(0, self.column - 1 - 60)
        window = self.source_line[start : start + 120]
        # What a terminal would obey or cannot show takes one column as well.
        shown = "".join(each if each.isprintable() or each == "\t" else "\ufffd" for each in window)
        return f"\n{shown}\n{' ' * (self.column - 1 - start)}^"

    def located(self, text: str) -> Self:
        """Returns this error with its line taken from `text`, at its first word by default.

        A text that is derived from another has it told at the place of the other.
        """
        if isinstance(text, DerivedText) and not self.source_line:
            origin, line, column = text.origin(self.line, self.column)
            return type(self)(self.reason, line, column).located(origin)
        lines = text.split("\n")
        if self.source_line or not 0 < self.line <= len(lines):
            return self
        source_line = lines[self.line - 1]
        column = self.column or len(source_line) - len(source_line.lstrip()) + 1
        return type(self)(self.reason, self.line, column, source_line)

    def _place(self) -> str:
        if not self.line:
            return ""
        return f"line {self.line}, column {self.column}: " if self.column else f"line {self.line}: "


class ParseError(TextError):
    """Text that is not a module."""


class VerifyError(TextError):
    """A module that parses but breaks a rule of its operations."""


class UnsupportedError(TextError, NotImplementedError):
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


class CopyWarning(ToposError, UserWarning):
    """An argument that every call copies: a warning, raised where Python is told to raise those."""


class BundleError(ToposError, ValueError):
    """A bundle that is incomplete, altered, or whose parts do not fit each other."""


class FlushedSubnormalsError(ToposError, ArithmeticError):
    """A process whose arithmetic flushes subnormal numbers to zero."""
