"""What every run of the tests has: shared bytecode, and processes that keep to whole folders."""

from __future__ import annotations

import os
import sys

import pytest

# Hundreds of tests start a Python of their own, which takes twice as long where each compiles the
# package anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Lets each process of `-n` run neighbours, whose fixtures then stand once, until one is idle.

    A choice of `--dist` goes before.
    """
    if getattr(config.option, "numprocesses", None) and config.option.dist == "no":
        config.option.dist = "worksteal"
