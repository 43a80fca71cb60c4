"""Lets the processes that tests start share the package's bytecode."""

from __future__ import annotations

import os
import sys

# Hundreds of tests start a Python of their own, which takes twice as long where each compiles the
# package anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
