"""Refusals: what the HTTP side itself answers no to, before a model is asked."""

from __future__ import annotations

from typing import ClassVar

from topos.serving.errors import RequestError, ServingError

__all__ = [
    "BodyTimeoutError",
    "ClientGoneError",
    "EncodingError",
    "ForbiddenError",
    "MethodError",
    "OverloadedError",
    "TransferError",
    "UnauthorizedError",
    "UnknownPathError",
]


class UnauthorizedError(ServingError, PermissionError):
    """A request without the token of this server."""

    status: ClassVar[int] = 401


class ForbiddenError(ServingError, PermissionError):
    """A request for what this server was not started to do."""

    status: ClassVar[int] = 403


class UnknownPathError(ServingError, LookupError):
    """A request for a path, or for a version of a model, that is not here."""

    status: ClassVar[int] = 404


class MethodError(ServingError):
    """A request whose method its path does not take; `allowed` are those that it does."""

    status: ClassVar[int] = 405

    def __init__(self, method: str, allowed: str) -> None:
        self.allowed = allowed
        super().__init__(f"method: this path takes {allowed}, got {method}")


class BodyTimeoutError(ServingError, TimeoutError):
    """A request whose body did not arrive in time."""

    status: ClassVar[int] = 408

    def __init__(self, seconds: float) -> None:
        super().__init__(f"body: did not arrive within {seconds:g} seconds")


class EncodingError(RequestError):
    """A body in a content coding that is not known."""

    status: ClassVar[int] = 415


class ClientGoneError(ServingError, ConnectionError):
    """A client that left before its request was whole; nobody reads the answer.

    The status is the one that access logs commonly give it.
    """

    status: ClassVar[int] = 499

    def __init__(self) -> None:
        super().__init__("body: the client left before it was whole")


class TransferError(ServingError):
    """A request whose body is transferred in a way that is not known; its end is not known either.

    The status is that of RFC 9112, section 6.1.
    """

    status: ClassVar[int] = 501

    def __init__(self) -> None:
        super().__init__("Transfer-Encoding: needs chunked, in HTTP/1.1")


class OverloadedError(ServingError, RuntimeError):
    """A request that came while the bodies of others filled what the server may hold."""

    status: ClassVar[int] = 503
    retry_after: ClassVar[float] = 1.0

    def __init__(self) -> None:
        super().__init__("body: the server holds as many bodies as it may, retry in a second")
