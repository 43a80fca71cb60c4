"""Reloading: models whose bundles have changed are loaded again while the old ones serve on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from watchfiles import awatch

from topos.bundle import Bundle
from topos.errors import ToposError, UnavailableError
from topos.serving.session import Session

__all__ = ["Reloading"]

Announce = Callable[[str], None]

_PAUSE_SECONDS = 2.0
_MOMENT_SECONDS = 0.1


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
        folders = {*self._paths, *(path.parent for path in self._paths)}
        watched = [folder for folder in folders if folder.is_dir()]
        async for changes in awatch(*watched, recursive=False, yield_on_timeout=True, debounce=200):
            await self.reload_changed(bool(changes))
            if changes:
                return

    async def reload_changed(self, again: bool) -> None:
        """Loads the models whose bundles have a version that does not serve.

        One that was refused is tried again only where `again` says that files have changed.
        """
        for path in self._paths:
            try:
                bundle = Bundle.glance(path)
                name, version = bundle.name, bundle.version
                served = self._session.model(name).version
            except (ToposError, OSError):
                # A bundle may be on its way; the next change tells.
                continue
            if version == served or (not again and self._refused.get(path) == version):
                continue
            error = await self._reload(name)
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
        return None


def _told(error: Exception) -> str:
    return str(error) if isinstance(error, ToposError) else f"{type(error).__name__}: {error}"
