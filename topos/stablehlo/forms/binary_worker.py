"""The binary worker: a process that reads MLIR bytecode which nobody vouches for.

Its reader is native code that foreign bytes may kill, and this process alone then dies of them.
The bytes come by standard input. Standard output gets `text` or the name of an error, a line feed,
and the module's text or the reason.
"""

from __future__ import annotations

import sys

from topos.errors import ToposError
from topos.stablehlo.forms.binary import printed


def main() -> None:
    """Tells the module of the bytes, or why there is none."""
    try:
        kind, said = "text", printed(sys.stdin.buffer.read())
    except ToposError as error:
        kind, said = type(error).__name__, str(error)
    sys.stdout.buffer.write(f"{kind}\n{said}".encode(errors="replace"))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
