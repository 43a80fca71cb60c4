"""`topos serve`: answers requests for bundles over HTTP."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO

from topos import bundle
from topos.cli._limits import add_limits, limits_of, settings_of
from topos.cli._reporting import DONE, FAILED
from topos.cli._shared import add_compiled, add_runtime_arguments, naming, whole
from topos.engine import Numerics
from topos.errors import ArgumentError, BundleError, UnavailableError
from topos.runtimes._compile_cache import demand_folder

HELP = "serve bundles over HTTP"
EPILOG = """\
Speaks the Open Inference Protocol, version 2, in JSON and with binary tensors: any client of
Triton or KServe will do. The first line printed for each model has its URL.

  GET  /v2/health/live, /v2/health/ready       a probe's questions
  GET  /v2/models/M[/versions/V]               inputs and outputs of a model
  POST /v2/models/M[/versions/V]/infer         an inference
  POST /v2/repository/models/M/load            load a changed bundle again; needs --token-file
  GET  /metrics                                for Prometheus
  GET  /                                       a page for people

A request may set its own deadline: X-Request-Timeout in seconds, or the parameter timeout in
microseconds. SIGTERM ends the server once every request under way is answered, SIGINT after it at
once; SIGHUP loads every bundle again. The token may also stand in the environment, as TOPOS_TOKEN.

exit status: 0 ended, every request answered; 1 a bundle is refused, or requests were left
unanswered; 2 wrong usage, an address that cannot be had, or something that this installation
lacks.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Adds what the command line takes."""
    # Short for --token-file, --token would take a token for the name of a file, and print it.
    parser.allow_abbrev = False
    parser.add_argument(
        "bundles", metavar="BUNDLE", type=_folder, nargs="+", help="the folder of a bundle"
    )
    add_runtime_arguments(parser, "xla", Numerics.FAST)
    add_compiled(parser)
    place = parser.add_argument_group("where")
    place.add_argument("--host", type=_host, default="127.0.0.1", help="default: %(default)s")
    place.add_argument("--port", type=_port, default=8000, help="0: any; default: %(default)s")
    place.add_argument("--token-file", metavar="FILE", help="the bearer token to ask for")
    place.add_argument(
        "--access-log", metavar="FILE", default="-", help="- is standard error, none is none"
    )
    place.add_argument("--cache", metavar="FOLDER", help="where compiled modules are kept")
    place.add_argument("--watch", action="store_true", help="load a bundle that changes again")
    add_limits(parser)


def run(chosen: Namespace) -> int:
    """Runs the command and returns the exit status."""
    with _log(chosen.access_log) as log:
        return _serve(chosen, log)


def _serve(chosen: Namespace, log: BinaryIO | None) -> int:
    try:
        from topos.serving.http import Serving, serve
    except ModuleNotFoundError as error:
        raise UnavailableError(
            f"serving needs {error.name}: pip install 'topos-compiler[serve]'"
        ) from error
    paths = _distinct(chosen.bundles)
    answered = serve(
        Serving(
            bundles=paths,
            runtime=chosen.runtime,
            numerics=chosen.numerics,
            host=chosen.host,
            port=chosen.port,
            settings=settings_of(chosen),
            limits=limits_of(chosen),
            token=_token(chosen.token_file),
            log=log,
            watch=chosen.watch,
            cache=_cache(chosen.cache),
            compiled=chosen.compiled,
            announce=_announce,
        )
    )
    return DONE if answered else FAILED


def _distinct(paths: list[str]) -> list[Path]:
    """Returns the folders of bundles; raises `ArgumentError` where two have the same name."""
    known: dict[str, str] = {}
    for path in paths:
        # What is wrong with a bundle is for the session to say, which verifies it.
        with suppress(BundleError, OSError):
            name = bundle.Bundle.glance(path).name
            if name in known:
                both = f"{known[name]} and {path}"
                raise ArgumentError(f"a server needs each model once, got {name} as {both}")
            known[name] = path
    return [Path(each).absolute() for each in paths]


def _cache(path: str | None) -> Path | None:
    if path is None:
        return None
    # A worker would only warn of it, where nobody looks.
    demand_folder(Path(path))
    return Path(path)


def _announce(line: str) -> None:
    if sys.stdout is None:
        return
    # Whoever waits for the first line reads a pipe; one that is closed ends no server.
    with suppress(OSError, ValueError):
        left = f"{line}\n".encode(errors="backslashreplace")
        while left:
            left = left[_unbuffered(sys.stdout).write(left) or len(left) :]


def _unbuffered(stream: TextIO) -> BinaryIO:
    """Returns a stream without its buffer.

    A thread that waits for a reader would hold the lock of the buffer, and with it up the end of
    the process.
    """
    raw: BinaryIO = getattr(stream.buffer, "raw", stream.buffer)
    return raw


def _token(path: str | None) -> str | None:
    if path is None:
        return os.environ.get("TOPOS_TOKEN")
    try:
        with naming(path):
            token = Path(path).read_text(encoding="utf-8").strip()
    except UnicodeDecodeError as error:
        raise ArgumentError(f"{path}: a token needs UTF-8 text") from error
    if not token:
        raise ArgumentError(f"{path}: a token needs one character or more, and the file is empty")
    return token


@contextmanager
def _log(path: str) -> Iterator[BinaryIO | None]:
    if path == "none" or (path == "-" and sys.stderr is None):
        yield None
    elif path == "-":
        yield _unbuffered(sys.stderr)
    else:
        with naming(f"--access-log {path}"):
            file = open(path, "ab", buffering=0)  # noqa: SIM115 - what follows is not about this file.
        with file:
            yield file


def _folder(text: str) -> str:
    return _plain(text, "the folder of a bundle")


def _host(text: str) -> str:
    if not (text.isascii() and text.isprintable() and " " not in text):
        raise ArgumentTypeError(f"needs an address or the name of a host, got {text!r}")
    return _plain(text, "an address or the name of a host")


def _plain(text: str, what: str) -> str:
    """Returns a text that is there and is UTF-8; argparse tells of any other."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ArgumentTypeError(f"needs {what} in UTF-8, got {text!r}") from None
    if not text:
        raise ArgumentTypeError(f"needs {what}, got nothing")
    return text


def _port(text: str) -> int:
    return whole(text, 0, 65535)
