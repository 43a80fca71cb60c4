"""The forms in which an emitted module leaves: text, bytecode, a portable artifact."""

from __future__ import annotations

from typing import Any, Final, Literal, overload

from topos.bundle.portable import bytecode_of, serialized, version_of
from topos.errors import ArgumentError, BundleError, EmitError
from topos.runtimes import printed

TextForm = Literal["text", "generic"]
BinaryForm = Literal["bytecode", "artifact"]
FORMS: Final = ("text", "generic", "bytecode", "artifact")
# Whom an artifact is for where nobody says: readers of the last twelve weeks, as in a bundle.
READERS: Final = "week-12"


@overload
def emitted(text: str, form: TextForm, version: str | None) -> str: ...
@overload
def emitted(text: str, form: BinaryForm, version: str | None) -> bytes: ...
@overload
def emitted(text: str, form: str, version: str | None) -> str | bytes: ...
def emitted(text: str, form: str, version: str | None) -> str | bytes:
    """Returns a module in a form, once StableHLO `version` is known to have all that is in it.

    Raises `ArgumentError` for another form or no version, `EmitError` where the version lacks an
    operation or a type, `UnavailableError` where jaxlib is needed and absent: for a binary form
    and for a version.
    """
    demand_form(form)
    if form == "artifact" or version is not None:
        artifact = _artifact(text, version_of(READERS if version is None else version))
        if form == "artifact":
            return artifact
    if form == "bytecode":
        return bytecode_of(text)
    return text if form == "text" else printed(text, generic=True)


def demand_form(form: Any) -> None:
    """Raises `ArgumentError` for what is none of the forms."""
    if form not in FORMS:
        raise ArgumentError(f"a form is one of {', '.join(FORMS)}, got {form!r}")


def _artifact(text: str, version: str) -> bytes:
    try:
        return serialized(text, version)
    except BundleError as error:
        raise EmitError(str(error)) from error
