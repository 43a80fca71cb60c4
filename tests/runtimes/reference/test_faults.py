"""What the reference interpreter gets wrong: made right, or refused."""

from __future__ import annotations

import pytest

from tests.runtimes.faults import TOOL, right_or_refused
from tests.runtimes.require import require

FAULTS = TOOL.faults("reference")


@pytest.mark.parametrize("name", FAULTS)
def test_a_module_is_right_through_the_adapter_or_refused(name: str) -> None:
    require("reference")
    right_or_refused("reference", FAULTS[name])
