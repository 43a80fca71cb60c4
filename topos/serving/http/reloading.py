"""Reloading: models whose bundles have changed are loaded again while the old ones serve on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from watchfiles import awatch

from topos.bundle import Bundle
from topos.errors import ToposError, UnavailableError
from topos.serving.session import Session

Announce = Callable[[str], None]

_PAUSE_SECONDS = 2.0
_MOMENT_SECONDS = 0.1
# As many as Linux follows.
_LINKS = 40


class Reloading:
    """Loads models again, when told to or when their bundles change."""

    def __init__(self, session: Session, paths: Sequence[Path], announce: Announce) -> None:
        self._session, self._paths, self._announce = session, paths, announce
        self._refused: dict[Path, str] = {}

    async def reload_all(self) -> None:
        """Loads every model again and announces each; one that is refused serves on as it was."""
        for model in self._session.models():
            await self._reload(model.name)

    async def watch(self) -> None:
        """Loads a model again as soon as its bundle is another whole one, until cancelled."""
        told = ""
        while True:
            try:
                await self._watch_once()
                told = ""
            except FileNotFoundError:
                # A folder may go between the look at it and the watch.
                await asyncio.sleep(_MOMENT_SECONDS)
            # The system may be short of anything for a while, and whoever watches has time.
            except Exception as error:
                reason = _told(error)
                if reason != told:
                    self._announce(f"cannot watch the bundles, and will try again: {reason}")
                told = reason
                await asyncio.sleep(_PAUSE_SECONDS)

    async def _watch_once(self) -> None:
        # A bundle is replaced as a whole, and a watch stays with the folder that it was put on:
        # the parents are watched too, and everything anew after each change.
        folders = {folder for path in self._paths for folder in watched_folders(path)}
        watched = [folder for folder in folders if folder.is_dir()]
        # Without its own filter, which passes over what lies below a folder like `.git`.
        options: dict[str, Any] = {"watch_filter": None, "yield_on_timeout": True}
        async for changes in awatch(*watched, recursive=False, debounce=200, **options):
            await self.reload_changed(bool(changes))
            if changes:
                return

    async def reload_changed(self, again: bool) -> None:
        """Loads the models whose bundles have a version that does not serve.

        One that was refused is tried again only where `again` says that files have changed.
        """
        for path, model in zip(self._paths, self._session.models(), strict=True):
            try:
                version = Bundle.glance(path).version
            except (ToposError, OSError):
                # A bundle may be on its way; the next change tells.
                continue
            if version == model.version or (not again and self._refused.get(path) == version):
                continue
            error = await self._reload(model.name)
            if error is None:
                self._refused.pop(path, None)
            elif isinstance(error, ToposError) and not isinstance(error, UnavailableError):
                self._refused[path] = version

    async def _reload(self, name: str) -> Exception | None:
        try:
            model = await self._session.reload_async(name)
        # Whatever a reload fails on, the other models are still to be loaded.
        except Exception as error:
            self._announce(f"{name} serves on as it was: {_told(error)}")
            return error
        self._announce(f"{name} is loaded again, version {model.version}")
        for note in model.notes:
            self._announce(f"{name}: {note}")
        return None


def watched_folders(path: Path) -> set[Path]:
    """Returns the folders in which a change may put another bundle at `path`.

    They are the bundle's own, its parent, and that of every link on the way there: of those on
    the path itself, and of those that a link leads through.
    """
    found, left = {path, path.parent}, [*reversed(path.parts)]
    place, links = Path(), 0
    while left:
        step = place / left.pop()
        if step.is_symlink() and links < _LINKS:
            links += 1
            found.add(place)
            left += reversed(step.readlink().parts)
        else:
            # What is before `..` has no links any more.
            place = place.parent if step.name == ".." else step
    return found | {place, place.parent}


def _told(error: Exception) -> str:
    return str(error) if isinstance(error, ToposError) else f"{type(error).__name__}: {error}"
