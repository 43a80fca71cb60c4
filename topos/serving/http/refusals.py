"""Refusals: what the HTTP side itself answers no to, before a model is asked."""

from __future__ import annotations

import re
from typing import ClassVar, Final

import msgspec

from topos.serving.errors import RequestError, ServingError


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


UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding a text raises that is not JSON, or not of the wanted form."""

# msgspec ends its complaint with the path of the value, which starts at `$`.
_PLACE: Final = re.compile(r"(?s)(.*) - at `(?:key in )?\$\.?([^`]*)`")
_KIND: Final = re.compile(r"Expected `([^`]*)`, got `([^`]*)`")
_MISSING: Final = re.compile(r"Object missing required field `([^`]*)`")
_KINDS: Final = {
    "array": "an array",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "null": "null",
    "object": "an object",
    "str": "a string",
}
_OTHERS: Final = {
    "Number out of range": "needs a number that a double holds",
    "Input data was truncated": "is no complete JSON",
    "Invalid UTF-8 encoded string": "is not UTF-8",
}


def faulty(error: Exception, field: str) -> RequestError:
    """Returns the error of a text that is not JSON, or not of the wanted form, under `field`.

    `error` is one of `UNREADABLE`.
    """
    if not isinstance(error, msgspec.DecodeError):
        deep = isinstance(error, RecursionError)
        return RequestError(field, "is nested too deeply" if deep else "is not UTF-8")
    found = _PLACE.fullmatch(str(error))
    if not found:
        return RequestError(field, _plain(str(error)))
    reason, place = _plain(found[1]), found[2]
    if not place or place.startswith("["):
        return RequestError(f"{field}{place}", reason)
    return RequestError(f"{field}.{place}" if field != "body" else place, reason)


def _plain(reason: str) -> str:
    """Returns msgspec's complaint in the words of JSON instead of Python's types."""
    reason = reason.replace("Invalid enum value", "needs a number, got")
    reason = reason.replace("JSON is malformed", "is no JSON")
    reason = _MISSING.sub(r"lacks '\1'", reason)
    reason = _KIND.sub(lambda kinds: _kinds(kinds[1].split(" | "), kinds[2]), reason)
    return _OTHERS.get(reason, reason.replace("`", ""))


def _kinds(wanted: list[str], got: str) -> str:
    # That a field may be null, too, is no help to one who sent something else.
    hidden = {"null", "int"} if "float" in wanted else {"null"}
    *most, last = (_KINDS.get(each, each) for each in wanted if each not in hidden)
    needs = f"{', '.join(most)} or {last}" if most else last
    if got == "float" and "int" in wanted:
        return f"needs {needs}, got one with a fraction or an exponent"
    return f"needs {needs}, got {'a number' if got == 'int' else _KINDS.get(got, got)}"
