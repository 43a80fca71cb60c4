"""`topos status`: what is ready here."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from topos import runtimes
from topos.backend import Backend
from topos.cli._shared import table

HELP = "print what is ready here, or why not"
EPILOG = ""


def add_arguments(parser: ArgumentParser) -> None:
    """Adds what the command line takes."""


def run(chosen: Namespace) -> int:
    """Runs the command and returns the exit status."""
    backends = {each.value: each.status() for each in Backend.ALL}
    kinds = {"runtime": runtimes.status(), "backend": backends}
    print(
        table(
            (kind, name, "ready" if answer.ready else "not ready", answer.detail)
            for kind, answers in kinds.items()
            for name, answer in answers.items()
        )
    )
    return 0
