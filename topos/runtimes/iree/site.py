"""An operation that is rewritten for IREE, in its module."""

from __future__ import annotations

from functools import cached_property

from topos.errors import UnsupportedError
from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import Writer


class Site:
    """An operation in its module; the bindings' `ir` comes with it."""

    def __init__(self, ir: Binding, operation: Binding) -> None:
        self.ir, self.operation = ir, operation
        self.operands, self.results = [*operation.operands], [*operation.results]

    @property
    def element(self) -> str:
        """The element of the first result."""
        return str(self.results[0].type.element_type)

    def require_static(self) -> None:
        """Raises `UnsupportedError` where an operand or a result has no fixed shape."""
        for value in (*self.operands, *self.results):
            if not value.type.has_static_shape:
                raise UnsupportedError(
                    f"iree takes {self.operation.name} of fixed shapes alone, got {value.type}"
                )

    @cached_property
    def write(self) -> Writer:
        """What writes in front of the operation, which has to be static."""
        self.require_static()
        return Writer(self.ir, self.operation)
