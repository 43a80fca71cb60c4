"""Coverage: whether a backend has a kernel for a formula, and under what terms."""

from __future__ import annotations

from typing import Final, NamedTuple

from topos.backend.dispatch import Dispatch
from topos.backend.fidelity import Fidelity
from topos.backend.precision import Precision

__all__ = ["NOT_COVERED", "Coverage"]


class Coverage(NamedTuple):
    """The precisions that a backend may serve a formula at, how near to the oracle, and where.

    It says what the backend has a kernel for; a tally says what it did serve. `bound` states the
    envelope in words. Without a kernel there are no precisions, and the terms are `None`.
    """

    precisions: tuple[Precision, ...]
    fidelity: Fidelity | None
    dispatch: Dispatch | None
    bound: str = ""

    def admits(self, *, exact: bool) -> bool:
        """Returns whether a run of that posture may use the kernel."""
        return self.fidelity is not None and (self.fidelity.exact or not exact)


NOT_COVERED: Final = Coverage((), None, None)
