"""The modules of the examples, which stand beside each other and import by their bare names."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from tests.examples.commands import EXAMPLES


def example(name: str) -> Any:
    """Returns a module of the examples, imported once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLES))
        return importlib.import_module(name)
