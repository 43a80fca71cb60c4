"""A worker process that misbehaves, once for each file that stands in a folder.

The environment names the folder; the file's name says what goes wrong: at its start the worker
dies, hangs or greets with nonsense, in a call it dies, hangs, fails, or answers nonsense.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path

from topos.errors import ExecutionError
from topos.serving import worker_main
from topos.serving.description import Arena
from topos.serving.loaded import LoadedModel
from topos.serving.messages import Answer, encode

FOLDER = "STRANGE_WORKER_FOLDER"

run = LoadedModel.run


def takes(name: str) -> bool:
    """Whether this fault is due; a fault is due once."""
    try:
        (Path(os.environ[FOLDER]) / name).unlink()
    except FileNotFoundError:
        return False
    return True


def strange_run(model: LoadedModel, program: int, arena: Arena) -> None:
    """Runs the model, unless a fault is due."""
    talk = socket.socket(fileno=os.dup(int(sys.argv[1])))
    if takes("call-dies"):
        print("these are my last words", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    if takes("call-hangs"):
        signal.pause()
    if takes("call-fails"):
        raise ExecutionError("the runtime is out of sorts")
    if takes("call-other"):
        talk.sendall(encode(Answer(10**6)))
    if takes("call-garbage"):
        talk.sendall(b"\xff" * 64)
    if takes("call-closes"):
        socket.socket(fileno=int(sys.argv[1])).shutdown(socket.SHUT_RDWR)
        signal.pause()
    run(model, program, arena)
    talk.close()


def main() -> None:
    """Serves as the true worker does, but for the faults."""
    if takes("start-dies"):
        print("no such luck", flush=True)
        os._exit(3)
    if takes("start-hangs"):
        (Path(os.environ[FOLDER]) / "start-hangs-pid").write_text(str(os.getpid()))
        signal.pause()
    if takes("start-garbage"):
        socket.socket(fileno=int(sys.argv[1])).sendall(b"\xff" * 64)
        signal.pause()
    LoadedModel.run = strange_run  # type: ignore[assignment,method-assign]  # The fault stands in its place.
    worker_main.main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))


if __name__ == "__main__":
    main()
