"""Servers measured from outside: batching on and off, a bare handler, and the memory of weights.

Every server runs in a process of its own and its models in theirs, the clients in another; all
share the machine. Rivals stand side by side, the rounds of load go to them in turn, and each counts
with the round in which it answered most, or soonest. Every answer is held against the oracle's.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

# One thread for every rival; read by numpy's BLAS when it is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import serving_bundles as bundles
from serving_load import INFER, Clients, Figures, Load
from serving_process import Memory, ServerProcess, memory, serving, topos_serve
from timing import report

BARE: Final = "bare handler"
BARE_PATH: Final = "/infer"
THREAD: Final = "topos in a thread"
RIVAL: Final = Path(__file__).with_name("serving_rival.py")
QUIET: Final = ("--access-log", "none")


class Measured(NamedTuple):
    """A round of load: its figures, microseconds of processors for an answer, rows in a call."""

    figures: Figures
    server: float
    worker: float
    rows: float


def main() -> None:
    """Prints every figure with what it must reach."""
    parser = argparse.ArgumentParser(description=__doc__)
    sections: dict[str, Callable[[argparse.Namespace, Path], None]] = {
        "batching": batching,
        "rival": rival,
        "rates": rates,
        "memory": weights,
    }
    parser.add_argument(
        "sections", nargs="*", metavar="SECTION", help=f"{', '.join(sections)}; default: all"
    )
    parser.add_argument(
        "--rounds", type=int, default=3, help="rounds of each load; default: %(default)s"
    )
    parser.add_argument(
        "--seconds", type=float, default=2.0, help="of a round; default: %(default)s"
    )
    parser.add_argument(
        "--runtimes",
        nargs="+",
        default=["xla", "interpreter"],
        metavar="RUNTIME",
        help="that batching is measured with",
    )
    chosen = parser.parse_args()
    unknown = set(chosen.sections) - set(sections)
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(sections)}")
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen.sections or sections:
            sections[name](chosen, Path(folder))


def batching(chosen: argparse.Namespace, folder: Path) -> None:
    """Compares one server that gathers requests with one that runs each by itself."""
    bundle = bundles.digits(folder / "digits").path
    for runtime in chosen.runtimes:
        served = topos_serve(str(bundle), "--runtime", runtime, *QUIET)
        commands = {"on": served, "off": [*served, "--no-batching"]}
        with rivals(commands, bundle, folder) as (servers, clients):
            for wire in ("json", "binary", "raw"):
                loads = {
                    name: (server, Load(seconds=chosen.seconds, wire=wire))
                    for name, server in servers.items()
                }
                found = best(clients, loads, chosen.rounds, most)
                tell_batching(f"{runtime}, {wire}", found["on"], found["off"])


def tell_batching(title: str, on: Measured, off: Measured) -> None:
    """Prints what batching brought, and where the time of a request goes."""
    figures: dict[str, str] = {}
    for name, found in {"on": on, "off": off}.items():
        figures[f"{name}: requests a second"] = f"{found.figures.rate:,.0f}"
        p50, p99 = found.figures.p50, found.figures.p99
        figures[f"{name}: p50, p99"] = f"{p50 * 1e3:.1f}, {p99 * 1e3:.1f} ms"
        figures[f"{name}: rows a call"] = f"{found.rows:.1f}"
        figures[f"{name}: server, worker"] = f"{found.server:.0f} + {found.worker:.0f} us"
    heading = f"batching, 64 clients, {title}: requests a second, on over off"
    report(heading, figures, on.figures.rate / off.figures.rate, "at least 5")
    ratio = (off.server + off.worker) / (on.server + on.worker)
    report(f"batching, {title}: processor time of server and worker, off over on", {}, ratio, "")
    ratio = on.figures.p99 / on.figures.p50
    report(f"batching, {title}: p99 over p50, on", {}, ratio, "at most 5")


def rival(chosen: argparse.Namespace, folder: Path) -> None:
    """Compares one client's p50 with that of a bare handler which calls jax.jit."""
    with bare_and_topos(folder) as (servers, clients):
        seconds = chosen.seconds / 4
        for rows in (1, 8, 64):
            loads = {
                f"{name}, {wire}": (
                    server,
                    Load(clients=1, seconds=seconds, path=path(name), wire=wire, rows=rows),
                )
                for name, server in servers.items()
                for wire in (("json",) if name == BARE else ("json", "binary"))
            }
            found = best(clients, loads, chosen.rounds * 3, soonest)
            title = f"p50 of one client, {rows} row{'s' * (rows > 1)}"
            figures = {
                name: f"{each.figures.p50 * 1e6:.0f} us, {each.server:.0f} us of processor"
                for name, each in found.items()
            }
            bare = found.pop(f"{BARE}, json")
            for name, each in found.items():
                ratio = each.figures.p50 / bare.figures.p50
                report(f"{title}: {name}, over the bare handler", figures, ratio, "at most 1.15")
                figures = {}


def rates(chosen: argparse.Namespace, folder: Path) -> None:
    """Compares the requests a second of one client and of 64 with those of the bare handler."""
    with bare_and_topos(folder) as (servers, clients):
        for count in (1, 64):
            loads = {
                name: (server, Load(clients=count, seconds=chosen.seconds, path=path(name)))
                for name, server in servers.items()
            }
            found = best(clients, loads, chosen.rounds, most)
            title = f"requests a second, {count} client{'s' * (count > 1)}"
            figures = {
                name: f"{each.figures.rate:,.0f} a second, {each.server:.0f} us of processor"
                for name, each in found.items()
            }
            bare = found.pop(BARE)
            for name, each in found.items():
                due = "at least 2" if count > 1 else "at least 0.8" if name == THREAD else ""
                report(
                    f"{title}: {name}, over bare",
                    figures,
                    each.figures.rate / bare.figures.rate,
                    due,
                )
                figures = {}


def weights(chosen: argparse.Namespace, folder: Path) -> None:
    """Compares what a model of 90 MB takes beyond a tiny one with the size of its weights."""
    found: dict[str, Memory] = {}
    size = 0.0
    for name, widths in {"tiny": [4] * len(bundles.WIDE), "wide": bundles.WIDE}.items():
        bundle = bundles.layers(folder / name, widths, name)
        size = sum(array.nbytes for array in bundle.weights().values()) / 1e6
        commands = {name: topos_serve(str(bundle.path), *QUIET)}
        with rivals(commands, bundle.path, folder) as (servers, clients):
            # The server has to have answered with every number of rows.
            for rows in bundles.LAYER_ROWS:
                sent = Load(clients=2, seconds=0.5, path=INFER.format(name), rows=rows)
                clients.run(servers[name].port, sent)
            found[name] = memory(servers[name].processes())
    figures = {"weights": f"{size:.1f} MB"}
    for part in Memory._fields:
        tiny, wide = (getattr(found[name], part) for name in ("tiny", "wide"))
        figures[f"{part}: tiny, wide"] = f"{tiny:.0f}, {wide:.0f} MB"
    beyond = [wide - tiny for tiny, wide in zip(found["tiny"], found["wide"], strict=True)]
    title = "memory of the weights, beyond a tiny model"
    # The one may be lessened by others that map the same libraries, the other by mapped weights.
    report(f"{title}: resident", figures, max(beyond[:2]) / size, "at most 1.3")
    report(f"{title}: peak", {}, beyond[2] / size, "")


def most(found: Measured) -> float:
    """Returns the requests a second."""
    return found.figures.rate


def soonest(found: Measured) -> float:
    """Returns what is the larger the sooner half of the answers came."""
    return -found.figures.p50


def best(
    clients: Clients,
    loads: Mapping[str, tuple[ServerProcess, Load]],
    rounds: int,
    merit: Callable[[Measured], float],
) -> dict[str, Measured]:
    """Returns the round of each load with the most merit; they take turns."""
    found: dict[str, Measured] = {}
    for _ in range(rounds):
        for name, (server, load) in loads.items():
            each = measured(clients, server, load)
            if name not in found or merit(each) > merit(found[name]):
                found[name] = each
    return found


def measured(clients: Clients, server: ServerProcess, load: Load) -> Measured:
    """Returns a round of load with what it took of the processors, outside the clients too."""
    before, counted = server.processor_seconds(), statistics(server, load)
    figures = clients.run(server.port, load)
    after, counts = server.processor_seconds(), statistics(server, load)
    spent = [(late - soon) * 1e6 for late, soon in zip(after, before, strict=True)]
    rows, calls = (late - soon for late, soon in zip(counts, counted, strict=True))
    own, workers = spent[0] / figures.answers, sum(spent[1:]) / figures.answers
    return Measured(figures, own, workers, rows / calls if calls else load.rows)


def statistics(server: ServerProcess, load: Load) -> tuple[int, int]:
    """Returns how many rows a server has answered, in how many calls; a bare one tells nothing."""
    if load.path == BARE_PATH:
        return 0, 0
    url = f"http://127.0.0.1:{server.port}{load.path.removesuffix('/infer')}/stats"
    with urllib.request.urlopen(url, timeout=10) as answer:
        (stats,) = json.load(answer)["model_stats"]
    return stats["inference_count"], stats["execution_count"]


def path(name: str) -> str:
    """Returns where the server of that name takes requests for the digits."""
    return BARE_PATH if name == BARE else INFER.format("digits")


@contextmanager
def bare_and_topos(folder: Path) -> Iterator[tuple[dict[str, ServerProcess], Clients]]:
    """Gives a bare handler and our servers of the digits, and their clients."""
    bundle = bundles.digits(folder / "digits").path
    commands = {
        BARE: [sys.executable, str(RIVAL), str(bundle)],
        THREAD: topos_serve(str(bundle), *QUIET, "--isolation", "thread"),
        "topos": topos_serve(str(bundle), *QUIET),
    }
    with rivals(commands, bundle, folder) as given:
        yield given


@contextmanager
def rivals(
    commands: Mapping[str, list[str]], bundle: Path, folder: Path
) -> Iterator[tuple[dict[str, ServerProcess], Clients]]:
    """Gives the servers that the commands start, by name, and clients that know the bundle."""
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(serving(command, folder))
            for name, command in commands.items()
        }
        yield servers, stack.enter_context(Clients(bundle))


if __name__ == "__main__":
    main()
