"""Batchers: requests in the order they came, gathered into calls."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable

from topos.serving.request import BatchSlice, Request
from topos.serving.settings import Settings


class Batcher:
    """A queue bounded in requests and in bytes, first in, first out.

    A request larger than the largest program waits in slices. One that is answered, cancelled or
    out of time takes no place in a call.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        # Those with rows that no call has taken yet.
        self._queue: OrderedDict[Request, bool] = OrderedDict()
        self._again: deque[BatchSlice] = deque()
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

    def enter(self, request: Request) -> None:
        """Puts `request` at the end."""
        self._requests[request] = None
        self._bytes += request.size
        self.rows += request.rows
        self._queue[request] = True

    def leave(self, request: Request) -> None:
        """Forgets `request`, which is done, with whatever of it still waits."""
        self._requests.pop(request, None)
        self._bytes -= request.size
        if self._queue.pop(request, False):
            self.rows -= request.rows - request.taken
        request.inputs = ()

    def again(self, slices: Iterable[BatchSlice]) -> None:
        """Puts slices whose call failed before everything else, in their order."""
        self._again.extend(slices)

    def begin_again(self) -> None:
        """Puts every request back whole, whatever part of it was answered."""
        unanswered = [each for each in self._requests if not each.future.done()]
        self._again.clear()
        for each in unanswered:
            each.begin()
        self._queue = OrderedDict.fromkeys(unanswered, True)
        self.rows = sum(each.rows for each in unanswered)

    def due(self, now: float, largest: int) -> float:
        """Returns how long the first that waits may still wait for others to share its call."""
        delay = self._settings.max_delay
        if not delay or self._again or self.rows >= largest or not self._settings.batching:
            return 0.0
        return max(0.0, next(iter(self._queue)).came + delay - now)

    def take(self, largest: int) -> list[BatchSlice]:
        """Returns the slices of the next call: `largest` rows at most, in the order they came.

        What failed before goes by itself, and so does everything where batching is off.
        """
        while self._again:
            batch_slice = self._again.popleft()
            if not batch_slice.request.future.done():
                return [batch_slice]
        taken: list[BatchSlice] = []
        queue, room = self._queue, largest
        while queue:
            request = next(iter(queue))
            left = request.rows - request.taken
            rows = min(left, largest)
            if rows > room:
                break
            taken.append(request.take(rows))
            room -= rows
            if rows == left:
                del queue[request]
            if not self._settings.batching:
                break
        self.rows -= largest - room
        return taken
