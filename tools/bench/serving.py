"""Servers measured from outside: batching on and off, a bare handler, and the memory of weights.

Every server runs in a process of its own and its models in theirs, the clients in another; all
share the machine. Rivals stand side by side, the rounds of load go to them in turn, and each counts
with the round in which it answered most, or soonest. Every answer is held against the oracle's.
"""

from __future__ import annotations

import argparse
import asyncio
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
from serving_load import Clients, Figures, Load
from serving_parts import parts
from serving_process import Memory, ServerProcess, memory, serving, topos_serve
from timing import report

CLIENTS: Final = 64
RIVAL: Final = Path(__file__).with_name("serving_rival.py")
INFER: Final = "/v2/models/{}/infer"
WIRES: Final = ("json", "binary", "raw")
QUIET: Final = ("--access-log", "none")


class Measured(NamedTuple):
    """A round of load: its figures, microseconds of processors for an answer, rows in a call."""

    figures: Figures
    server: float
    worker: float
    clients: float
    rows: float


def main() -> None:
    """Prints every figure with what it must reach."""
    parser = argparse.ArgumentParser(description=__doc__)
    sections: dict[str, Callable[[argparse.Namespace, Path], None]] = {
        "batching": batching,
        "rival": rival,
        "rates": rates,
        "parts": in_parts,
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
    bundle = folder / "digits"
    bundles.digits(bundle)
    for runtime in chosen.runtimes:
        with ExitStack() as stack:
            on, off = (
                stack.enter_context(
                    serving(topos_serve(str(bundle), "--runtime", runtime, *QUIET, *flags), folder)
                )
                for flags in ((), ("--no-batching",))
            )
            clients = stack.enter_context(Clients(bundle))
            for wire in WIRES:
                best = rounds(chosen, clients, {"on": on, "off": off}, wire)
                tell_batching(runtime, wire, best)


def rounds(
    chosen: argparse.Namespace, clients: Clients, servers: Mapping[str, ServerProcess], wire: str
) -> dict[str, Measured]:
    """Returns the round of each server in which it answered most."""
    best: dict[str, Measured] = {}
    for _ in range(chosen.rounds):
        for name, server in servers.items():
            load = Load(
                port=server.port,
                clients=CLIENTS,
                seconds=chosen.seconds,
                path=INFER.format("digits"),
                wire=wire,
            )
            found = measured(clients, server, load)
            if name not in best or found.figures.rate > best[name].figures.rate:
                best[name] = found
    return best


def measured(clients: Clients, server: ServerProcess, load: Load) -> Measured:
    """Returns a round of load with what it took of the processors, outside the clients too."""
    before, counted = server.processor_seconds(), statistics(server)
    figures = clients.run(load)
    after, counts = server.processor_seconds(), statistics(server)
    spent = [(late - soon) * 1e6 for late, soon in zip(after, before, strict=True)]
    rows, calls = (late - soon for late, soon in zip(counts, counted, strict=True))
    return Measured(
        figures,
        spent[0] / rows,
        sum(spent[1:]) / rows,
        figures.processor / figures.rate * 1e6,
        rows / calls,
    )


def statistics(server: ServerProcess) -> tuple[int, int]:
    """Returns how many rows the server has answered, in how many calls."""
    url = f"http://127.0.0.1:{server.port}/v2/models/digits/stats"
    with urllib.request.urlopen(url, timeout=10) as answer:
        (stats,) = json.load(answer)["model_stats"]
    return stats["inference_count"], stats["execution_count"]


def tell_batching(runtime: str, wire: str, best: Mapping[str, Measured]) -> None:
    """Prints what batching brought, and where the time of a request goes."""
    figures: dict[str, str] = {}
    for name, found in best.items():
        each = found.figures
        figures[f"{name}: requests a second"] = f"{each.rate:,.0f}"
        figures[f"{name}: p50, p99"] = f"{each.p50 * 1e3:.1f}, {each.p99 * 1e3:.1f} ms"
        figures[f"{name}: rows a call"] = f"{found.rows:.1f}"
        spent = f"{found.server:.0f} + {found.worker:.0f} + {found.clients:.0f} us"
        figures[f"{name}: server, worker, client"] = spent
    on, off = best["on"].figures, best["off"].figures
    title = f"batching, {CLIENTS} clients, {runtime}, {wire}: requests a second, on over off"
    report(title, figures, on.rate / off.rate, "at least 5")
    off_spent, on_spent = (best[name].server + best[name].worker for name in ("off", "on"))
    title = f"batching, {runtime}, {wire}: processor time of server and worker, off over on"
    report(title, {}, off_spent / on_spent, "")
    report(f"batching, {runtime}, {wire}: p99 over p50, on", {}, on.p99 / on.p50, "at most 5")


def rival(chosen: argparse.Namespace, folder: Path) -> None:
    """Compares one client's p50 with that of a bare handler which calls jax.jit."""
    bundle = folder / "digits"
    bundles.digits(bundle)
    commands = {
        "bare handler, json": [sys.executable, str(RIVAL), str(bundle)],
        "topos, json": topos_serve(str(bundle), *QUIET),
        "topos in a thread, json": topos_serve(str(bundle), *QUIET, "--isolation", "thread"),
    }
    with ExitStack() as stack:
        started = {
            name: stack.enter_context(serving(command, folder))
            for name, command in commands.items()
        }
        clients = stack.enter_context(Clients(bundle))
        for rows in (1, 8, 64):
            tell_rival(rows, soonest(chosen, clients, started, rows))


def soonest(
    chosen: argparse.Namespace, clients: Clients, started: Mapping[str, ServerProcess], rows: int
) -> dict[str, float]:
    """Returns the least p50 of each server and wire in any round."""
    loads = dict(started)
    loads |= {
        name.replace("json", "binary"): server
        for name, server in started.items()
        if name.startswith("topos")
    }
    best = dict.fromkeys(loads, float("inf"))
    for _ in range(chosen.rounds * 3):
        for name, server in loads.items():
            load = Load(
                port=server.port,
                clients=1,
                seconds=chosen.seconds / 4,
                path="/infer" if name.startswith("bare") else INFER.format("digits"),
                wire=name.rpartition(" ")[2],
                rows=rows,
            )
            best[name] = min(best[name], clients.run(load).p50)
    return best


def tell_rival(rows: int, best: Mapping[str, float]) -> None:
    """Prints the p50 of each, and how they compare."""
    figures = {name: f"{seconds * 1e6:.0f} us" for name, seconds in best.items()}
    bare = best["bare handler, json"]
    for name in best:
        if name != "bare handler, json":
            title = (
                f"p50 of one client, {rows} row{'s' * (rows > 1)}: {name}, over the bare handler"
            )
            report(title, figures, best[name] / bare, "at most 1.15")
            figures = {}


def rates(chosen: argparse.Namespace, folder: Path) -> None:
    """Compares the requests a second of one client and of 64 with those of the bare handler."""
    bundle = folder / "digits"
    bundles.digits(bundle)
    commands = {
        "bare": [sys.executable, str(RIVAL), str(bundle)],
        "topos in a thread": topos_serve(str(bundle), *QUIET, "--isolation", "thread"),
        "topos": topos_serve(str(bundle), *QUIET),
    }
    with ExitStack() as stack:
        started = {
            name: stack.enter_context(serving(command, folder))
            for name, command in commands.items()
        }
        clients = stack.enter_context(Clients(bundle))
        for count in (1, CLIENTS):
            tell_rates(count, fastest(chosen, clients, started, count))


def fastest(
    chosen: argparse.Namespace, clients: Clients, started: Mapping[str, ServerProcess], count: int
) -> dict[str, float]:
    """Returns the most requests a second of each server in any round."""
    best = dict.fromkeys(started, 0.0)
    for _ in range(chosen.rounds):
        for name, server in started.items():
            path = "/infer" if name == "bare" else INFER.format("digits")
            load = Load(port=server.port, clients=count, seconds=chosen.seconds, path=path)
            best[name] = max(best[name], clients.run(load).rate)
    return best


def tell_rates(count: int, best: Mapping[str, float]) -> None:
    """Prints the rate of each, and how they compare."""
    figures = {name: f"{rate:,.0f} a second" for name, rate in best.items()}
    for name in ("topos in a thread", "topos"):
        title = f"requests a second, {count} client{'s' * (count > 1)}: {name}, over bare"
        due = "at least 2" if count > 1 else "at least 0.8" if name.endswith("thread") else ""
        report(title, figures, best[name] / best["bare"], due)
        figures = {}


def in_parts(chosen: argparse.Namespace, folder: Path) -> None:
    """Prints what the parts of one client's request take, beside those of the bare handler."""
    bundles.digits(folder / "digits")
    found = asyncio.run(parts(folder / "digits", chosen.rounds * 10))
    figures = {name: f"{seconds * 1e6:.0f} us" for name, seconds in found.items()}
    ratio = found["session, worker process"] / found["call of jax.jit"]
    report("parts of one request of one row, JSON: session over jax.jit", figures, ratio, "")


def weights(chosen: argparse.Namespace, folder: Path) -> None:
    """Compares what a model of 90 MB takes beyond a tiny one with the size of its weights."""
    found: dict[str, Memory] = {}
    size = 0.0
    for name, widths in {"tiny": [4] * len(bundles.WIDE), "wide": bundles.WIDE}.items():
        bundle = bundles.layers(folder / name, widths, name)
        size = sum(array.nbytes for array in bundle.weights().values()) / 1e6
        with served(bundle.path, folder, name, chosen) as server:
            found[name] = memory(server.processes())
    figures = {"weights": f"{size:.1f} MB"}
    for part in Memory._fields:
        tiny, wide = (getattr(found[name], part) for name in ("tiny", "wide"))
        figures[f"{part}: tiny, wide"] = f"{tiny:.0f}, {wide:.0f} MB"
    beyond = [wide - tiny for tiny, wide in zip(found["tiny"], found["wide"], strict=True)]
    title = "memory of the weights, beyond a tiny model"
    # The one may be lessened by others that map the same libraries, the other by mapped weights.
    report(f"{title}: resident", figures, max(beyond[:2]) / size, "at most 1.3")
    report(f"{title}: peak", {}, beyond[2] / size, "")


@contextmanager
def served(
    bundle: Path, folder: Path, name: str, chosen: argparse.Namespace
) -> Iterator[ServerProcess]:
    """Gives a server of the bundle that has answered with every number of rows."""
    with serving(topos_serve(str(bundle), *QUIET), folder) as server, Clients(bundle) as clients:
        for rows in bundles.LAYER_ROWS:
            path = INFER.format(name)
            clients.run(Load(port=server.port, clients=2, seconds=0.5, path=path, rows=rows))
        yield server


if __name__ == "__main__":
    main()
