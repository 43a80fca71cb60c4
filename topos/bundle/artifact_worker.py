"""The artifact worker: a process that reads a portable artifact which nobody vouches for.

Its reader is native code that foreign bytes may kill, and this process alone then dies of them.
The bytes come by standard input, and the module's text goes to standard output.
"""

from __future__ import annotations

import sys

from topos.bundle.portable import printed
from topos.errors import BundleError

__all__ = ["main"]


def main() -> int:
    """Prints the module of the artifact, or why there is none; returns the exit status."""
    try:
        text = printed(sys.stdin.buffer.read())
    except BundleError as error:
        sys.stderr.buffer.write(str(error).encode())
        return 1
    sys.stdout.buffer.write(text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
