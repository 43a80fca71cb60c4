"""The StableHLO reference interpreter in this very process, which it may end: for the worker."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from topos.backend import Status
from topos.engine import Numerics
from topos.errors import CompileError
from topos.runtimes._archive import Array, restored, stored
from topos.runtimes._packages import imported, installed
from topos.runtimes._packing import packed, unpacked
from topos.runtimes._placed import Placed
from topos.runtimes._runtime import Executable, Runtime, requested
from topos.stablehlo.forms import ModuleLike, text_of

NAME: Final = "reference"


class ReferenceInside(Runtime):
    """What the worker of the reference interpreter serves; it has no options."""

    name = NAME

    def status(self) -> Status:
        """Returns whether jax and jaxlib are installed, with their versions."""
        return installed(self.name, "xla", {"jax": "jax", "jaxlib": "jaxlib"})

    def compile(
        self,
        module: ModuleLike,
        *,
        numerics: Numerics | str = Numerics.FAST,
        options: Mapping[str, Any] | None = None,
        cache: Path | None = None,
    ) -> ReferenceExecutable:
        """Returns `module` checked and decomposed."""
        self._demand_no_options(options)
        with imported(self.status()):
            from topos.runtimes.reference.module import ReferenceModule
        text = text_of(module)
        return ReferenceExecutable(ReferenceModule(text), text)

    def place(self, array: Any, *, options: Mapping[str, Any] | None = None) -> Placed:
        """Returns `array` held on the host, once jax is loaded."""
        self._demand_no_options(options)
        with imported(self.status()):
            import topos.runtimes.reference.module  # noqa: F401
        return super().place(array)

    def deserialize(
        self, data: bytes | bytearray | memoryview, *, options: Mapping[str, Any] | None = None
    ) -> ReferenceExecutable:
        """Returns what `ReferenceExecutable.serialize` gave, compiled again."""
        kept = unpacked(self.name, data)
        try:
            text = None if kept is None else kept.code.decode()
        # A checksum does not say who wrote the rest.
        except ValueError:
            text = None
        if text is None:
            raise CompileError(
                "the reference runtime cannot load these bytes: they are damaged or none of its own"
            )
        return self.compile(text, options=options)

    def _demand_no_options(self, options: Mapping[str, Any] | None) -> None:
        unknown = requested(options)
        if unknown:
            raise CompileError(
                f"the reference runtime has the option timeout, got {min(unknown)!r}"
            )


class ReferenceExecutable(Executable):
    """A module of the reference interpreter."""

    def __init__(self, module: Any, text: str) -> None:
        super().__init__(module.signature)
        self._module, self._text = module, text

    def execute(self, arguments: list[Array]) -> tuple[Array, ...]:
        """Returns the results, of the caller's own."""
        results = self._module.run([*map(stored, arguments)])
        return tuple(
            restored(array, wanted.dtype)
            for array, wanted in zip(results, self.signature.results, strict=True)
        )

    def serialize(self) -> bytes:
        """Returns the text, for any machine."""
        return packed(NAME, self.signature, {}, self._text.encode())


RUNTIME = ReferenceInside()
