"""What the tests of commands share: no command of the environment judges beside."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_commands_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    # `make test` names some for the tests of emission, and `topos check` honours them.
    for name in ("VALIDATOR", "EVALUATOR"):
        monkeypatch.delenv(f"TOPOS_STABLEHLO_{name}", raising=False)
