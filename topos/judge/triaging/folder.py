"""The modules of a folder, each with its arguments and a key that tells whether it is done."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, Final, NamedTuple

from topos.engine import Numerics
from topos.errors import ArgumentError, UnavailableError
from topos.judge.case import GIVEN
from topos.judge.target import Target, TargetLike
from topos.runtimes._inputs import EXTENT

SUFFIXES: Final = (".mlir", ".mlirbc", ".stablehlo", ".jaxexport")
ARCHIVE: Final = ".npz"


class Subject(NamedTuple):
    """One module of a folder: its path from there, its file, and its arguments' file or `None`.

    Two files with the same content have the same key, and so has a file in another run of the same
    version with the same terms.
    """

    name: str
    path: Path
    arguments: Path | None
    key: str


class Terms(NamedTuple):
    """What all modules of a triage share: the runtime, and how cases are made and judged."""

    runtime: TargetLike
    numerics: Numerics | str
    options: dict[str, Any]
    inputs: tuple[str, ...]
    extent: int
    seed: int
    samples: int

    @property
    def named(self) -> str:
        """The runtime's name, its command line, or the name of the function."""
        return str(Target(self.runtime))

    def words(self, given: bool) -> list[str]:
        """Returns the arguments of a command of the judge that say the same.

        `given` tells that the module has arguments, which stand in the words before these.
        """
        inputs = [each for each in self.inputs if given or each != GIVEN]
        posture = Numerics.of(self.numerics)
        stated = {
            "--inputs": ",".join(inputs),
            "--extent": "" if self.extent == EXTENT else str(self.extent),
            "--seed": str(self.seed or ""),
            "--numerics": "" if posture is Numerics.FAST else posture.value,
            "--runtime": self.named,
        }
        words = [word for name, value in stated.items() if value for word in (name, value)]
        return words + [
            word for name, value in self.options.items() for word in ("--option", f"{name}={value}")
        ]

    def described(self) -> str:
        """Returns the terms as a text that is equal where they are."""
        runtime = self.runtime
        if not isinstance(runtime, str):
            runtime = f"{runtime.__module__}.{getattr(runtime, '__qualname__', '')}"
        stated = self._replace(runtime=runtime, numerics=Numerics.of(self.numerics).value)
        return json.dumps([*stated, _version()], sort_keys=True, default=str)


def subjects(folder: Path, terms: Terms) -> Iterator[Subject]:
    """Yields the modules of a folder and the folders in it, by name.

    A module is a file of one of `SUFFIXES`; an archive of the same name beside it has its
    arguments. Raises `UnavailableError` where the folder is none, `ArgumentError` where it has no
    module.
    """
    if not folder.is_dir():
        raise UnavailableError(f"{folder}: there is no such folder")
    paths = sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES and path.is_file())
    if not paths:
        raise ArgumentError(f"{folder}: no file here ends with {', '.join(SUFFIXES)}")
    described = terms.described()
    for path in paths:
        archive = path.with_suffix(ARCHIVE)
        arguments = archive if archive.is_file() else None
        key = _key(path, arguments, described)
        # A report is UTF-8, whatever bytes the system takes for a name.
        name = path.relative_to(folder).as_posix().encode(errors="backslashreplace").decode()
        yield Subject(name, path, arguments, key)


def _key(path: Path, arguments: Path | None, described: str) -> str:
    digest = hashlib.sha256(described.encode())
    for each in (path, arguments):
        content = b"" if each is None else each.read_bytes()
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()[:32]


def _version() -> str:
    try:
        return metadata.version("topos-compiler")
    # A folder that was never installed.
    except metadata.PackageNotFoundError:
        return ""
