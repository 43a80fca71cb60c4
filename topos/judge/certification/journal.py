"""Journals: what a certification has done, kept in a file so that another goes on from there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from topos.errors import ArgumentError
from topos.judge.certification.cells import Found
from topos.runtimes._certificate import Key
from topos.runtimes._certificate_files import parsed_cell


@dataclass(frozen=True)
class Done:
    """What was found of one instance: why it is refused, else a cell for each class of inputs.

    `said` is what the runtime said where it died of some inputs.
    """

    refusal: str = ""
    classes: Mapping[str, Found] = field(default_factory=dict)
    said: str = ""


class Journal:
    """What is done of a certification; with a `path`, each finding is a line of that file.

    `title` says which certification the file is of. Raises `ArgumentError` where it is of another.
    """

    def __init__(self, path: Path | None, title: str) -> None:
        self._path = path
        self.done: dict[Key, Done] = {}
        if path is None:
            return
        if path.is_file():
            self.done.update(_read(path, title))
        else:
            path.write_text(json.dumps(title) + "\n", encoding="utf-8")

    def keep(self, key: Key, done: Done) -> None:
        """Keeps what was found of an instance."""
        self.done[key] = done
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(_line(key, done) + "\n")


def _line(key: Key, done: Done) -> str:
    classes = {
        name: [str(each.cell), each.result, each.place] for name, each in done.classes.items()
    }
    return json.dumps([key, done.refusal, classes, done.said])


def _read(path: Path, title: str) -> Iterator[tuple[Key, Done]]:
    head, *lines = path.read_text(encoding="utf-8").splitlines()
    if head != json.dumps(title):
        raise ArgumentError(f"{path} is the journal of {head}, not of {title!r}")
    for line in lines:
        try:
            (operation, variant, element), refusal, classes, said = json.loads(line)
        except ValueError:
            # The last line of a certification that was interrupted.
            continue
        found = {
            name: Found(parsed_cell(cell), result, tuple(index))
            for name, (cell, result, index) in classes.items()
        }
        yield (operation, variant, element), Done(refusal, found, said)
