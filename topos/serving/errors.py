"""What a session refuses, or fails to do, for a request: each error knows its HTTP status."""

from __future__ import annotations

from typing import ClassVar

from topos.errors import ToposError


class ServingError(ToposError):
    """The base of what a session raises for one request; `status` is the HTTP status it means."""

    status: ClassVar[int] = 500


class RequestError(ServingError, ValueError):
    """A request that does not fit the model; `field` is the name of what does not."""

    status: ClassVar[int] = 400

    def __init__(self, field: str, reason: str) -> None:
        self.field, self.reason = field, reason
        super().__init__(f"{field}: {reason}")


class UnknownModelError(ServingError, LookupError):
    """A request for a model that the session does not serve."""

    status: ClassVar[int] = 404

    def __init__(self, model: str, served: tuple[str, ...]) -> None:
        self.model = model
        super().__init__(f"no model is called {model!r}; there are {', '.join(served) or 'none'}")


class TooLargeError(RequestError):
    """A request with more rows or bytes than the settings admit."""

    status: ClassVar[int] = 413


class BusyError(ServingError, RuntimeError):
    """A request that found the queue full; `retry_after` is in seconds."""

    status: ClassVar[int] = 429

    def __init__(self, model: str, retry_after: float) -> None:
        self.model, self.retry_after = model, retry_after
        super().__init__(f"the queue of {model} is full, retry in {retry_after:.1f} seconds")


class WorkerError(ServingError, RuntimeError):
    """A request that its model's worker failed on, as often as it may be tried."""

    status: ClassVar[int] = 500


class NotReadyError(WorkerError):
    """A request to a model that no worker has been able to load yet, with the reason."""

    status: ClassVar[int] = 503

    def __init__(self, model: str, reason: str) -> None:
        self.model, self.reason = model, reason
        super().__init__(f"{model} is not ready: {reason}")


class DrainingError(ServingError, RuntimeError):
    """A request to a session that takes no more, or that was closed before it could answer."""

    status: ClassVar[int] = 503


class DeadlineError(ServingError, TimeoutError):
    """A request whose answer did not stand within its deadline."""

    status: ClassVar[int] = 504

    def __init__(self, model: str, seconds: float) -> None:
        self.model, self.seconds = model, seconds
        super().__init__(f"{model} had no answer within the deadline of {seconds:g} seconds")
