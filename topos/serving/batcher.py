"""Batchers: requests in the order they came, gathered into calls."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import NamedTuple

from topos.serving.arena import Arena
from topos.serving.description import Description
from topos.serving.request import Piece, Request
from topos.serving.settings import Settings

__all__ = ["Batch", "Batcher"]


class Batch(NamedTuple):
    """What one call of a program serves: `rows` that were asked for, and the rest is padding."""

    program: int
    rows: int
    pieces: list[Piece]

    def fill(self, description: Description, arena: Arena) -> None:
        """Puts the inputs of all pieces into `arena`, one after the other, and zeros behind."""
        for place, target in enumerate(arena.inputs[self.program]):
            if not description.batched:
                target[...] = self.pieces[0].request.inputs[place]
                continue
            start = 0
            for piece in self.pieces:
                stop = start + piece.rows
                target[start:stop] = piece.request.inputs[place][piece.start : piece.stop]
                start = stop
            target[start:] = 0

    def fulfil(self, description: Description, arena: Arena) -> None:
        """Gives each piece the rows of the results in `arena` that are its own."""
        results = arena.results[self.program]
        start = 0
        for piece in self.pieces:
            stop = start + piece.rows
            own = [each[start:stop] for each in results] if description.batched else results
            piece.request.fulfil(piece, own, description)
            start = stop


class Batcher:
    """A queue bounded in requests and in bytes, first in, first out.

    A request larger than the largest program waits in pieces. One that is answered, cancelled or
    out of time takes no place in a call.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._queue: OrderedDict[Request, deque[Piece]] = OrderedDict()
        self._again: deque[Piece] = deque()
        # In the order they came; a dict keeps it, and forgets one of them at once.
        self._requests: dict[Request, None] = {}
        self._bytes = 0
        self.rows = 0
        """The rows that wait for their first call."""

    def __len__(self) -> int:
        """Returns how many requests wait for a call or run in one."""
        return len(self._requests)

    @property
    def waits(self) -> bool:
        """Whether anything waits for a call."""
        return bool(self._queue or self._again)

    def requests(self) -> tuple[Request, ...]:
        """Returns those that wait for a call or run in one, in the order they came."""
        return tuple(self._requests)

    def has_room(self, size: int) -> bool:
        """Returns whether a request of `size` bytes may enter."""
        fits = not self._requests or self._bytes + size <= self._settings.queue_bytes
        return fits and len(self._requests) < self._settings.queue_requests

    def enter(self, request: Request, largest: int) -> None:
        """Puts `request` at the end, in pieces of `largest` rows at most."""
        self._requests[request] = None
        self._bytes += request.size
        self.rows += request.rows
        self._queue[request] = deque(request.pieces(largest))

    def leave(self, request: Request) -> None:
        """Forgets `request`, which is done, with whatever of it still waits."""
        self._requests.pop(request, None)
        self._bytes -= request.size
        self.rows -= sum(piece.rows for piece in self._queue.pop(request, ()))
        request.inputs = ()

    def again(self, pieces: Iterable[Piece]) -> None:
        """Puts pieces whose call failed before everything else, in their order."""
        self._again.extend(pieces)

    def begin_again(self, largest: int) -> None:
        """Puts every request back whole, whatever part of it was answered."""
        unanswered = [each for each in self._requests if not each.future.done()]
        self._again.clear()
        self._queue = OrderedDict((each, deque(each.pieces(largest))) for each in unanswered)
        self.rows = sum(each.rows for each in unanswered)

    def due(self, now: float, largest: int) -> float:
        """Returns how long the first that waits may still wait for others to share its call."""
        delay = self._settings.max_delay
        if not delay or self._again or self.rows >= largest or not self._settings.batching:
            return 0.0
        return max(0.0, next(iter(self._queue)).began + delay - now)

    def take(self, largest: int) -> list[Piece]:
        """Returns the pieces of the next call: `largest` rows at most, in the order they came.

        What failed before goes by itself, and so does everything where batching is off.
        """
        while self._again:
            piece = self._again.popleft()
            if not piece.request.future.done():
                return [piece]
        taken: list[Piece] = []
        while self._queue:
            request, pieces = next(iter(self._queue.items()))
            if pieces[0].rows > largest:
                break
            taken.append(pieces.popleft())
            largest -= taken[-1].rows
            if not pieces:
                del self._queue[request]
            if not self._settings.batching:
                break
        self.rows -= sum(piece.rows for piece in taken)
        return taken
