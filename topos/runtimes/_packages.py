"""The optional packages behind the foreign adapters, and what to say of a missing one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec

from topos.backend import Status
from topos.errors import UnavailableError


def installed(runtime: str, extra: str, packages: Mapping[str, str]) -> Status:
    """Returns whether every one of `packages` is here, without importing one.

    `packages` maps the name that is imported to the name that is installed. The detail of a
    ready status lists their versions; otherwise it is what `missing` tells.
    """
    absent = missing(runtime, extra, packages)
    if absent is not None:
        return absent
    return Status(True, ", ".join(f"{name} {_version(name)}" for name in packages.values()))


def missing(runtime: str, extra: str, packages: Mapping[str, str]) -> Status | None:
    """Returns the status that names the first of `packages` which is not here, if one is not.

    It also names the extra, which is empty for a package that topos itself needs.
    """
    for module, distribution in packages.items():
        try:
            found = find_spec(module) is not None
        except (ImportError, ValueError):
            # A missing parent package raises the first, a module blocked in sys.modules the
            # second.
            found = False
        # The parent package, or a finder that someone installed, may raise anything.
        except Exception as error:
            return Status(
                False, f"the {runtime} runtime cannot find {distribution}: {_told(error)}"
            )
        if not found:
            return Status(
                False,
                f"the {runtime} runtime needs {distribution}: pip install '{_package(extra)}'",
            )
    return None


@contextmanager
def imported(status: Status) -> Iterator[None]:
    """Imports of optional packages: one that is missing or broken raises `UnavailableError`."""
    if not status.ready:
        raise UnavailableError(status.detail)
    try:
        yield
    # A broken package raises whatever stands in its way: OSError of a library, AttributeError.
    except Exception as error:
        raise UnavailableError(f"{status.detail} cannot be imported: {_told(error)}") from error


def _package(extra: str) -> str:
    return f"topos-compiler[{extra}]" if extra else "topos-compiler"


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _version(distribution: str) -> str:
    # It loads what reads e-mail, and a run of the interpreter asks for no version.
    metadata = import_module("importlib.metadata")
    try:
        return str(metadata.version(distribution))
    except metadata.PackageNotFoundError:
        return "of unknown version"
    # Metadata that cannot be read must not hide a package that can.
    except Exception:
        return "of unreadable version"
