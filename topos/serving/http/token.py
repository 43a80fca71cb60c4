"""Tokens: the bearer token that a server may want."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from typing import Final

from topos.errors import ArgumentError
from topos.serving.http.refusals import ForbiddenError, UnauthorizedError

# RFC 6750, section 2.1: what a bearer token is made of.
_BEARER: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")


class Token:
    """The token of a server, or none: then everyone may ask, and nobody may change anything."""

    def __init__(self, text: str | None) -> None:
        if text is not None and not _BEARER.fullmatch(text):
            got = "" if text else ", got an empty one"
            needs = "the token needs letters, digits and . _ ~ + / - only, then any ="
            raise ArgumentError(f"{needs}{got}")
        self._expected = None if text is None else text.encode("ascii")

    def __repr__(self) -> str:
        return "Token(None)" if self._expected is None else "Token(...)"

    def admit(self, headers: Mapping[bytes, bytes]) -> None:
        """Raises `UnauthorizedError` unless the headers have the token or none is wanted."""
        if self._expected is None:
            return
        scheme, _, sent = headers.get(b"authorization", b"").partition(b" ")
        # The comparison takes as long for any token of this length.
        if scheme.lower() != b"bearer" or not hmac.compare_digest(sent.strip(), self._expected):
            raise UnauthorizedError("Authorization: this server needs its bearer token")

    def require(self) -> None:
        """Raises `ForbiddenError` where there is no token to tell an operator by."""
        if self._expected is None:
            raise ForbiddenError("load: needs a server that was started with a token")
