"""Computes the same digests on this machine and on an emulated aarch64, and compares them.

It lays an aarch64 Python with numpy in a build folder: Debian's packages, fetched from where this
machine's apt has its own, unpacked and run under qemu. It needs root and Debian on x86-64, and
installs one package, qemu-user-static; everything else lies in the build folder. Emulation is 10 to
30 times slower, so that the shared conformance cases take some ten minutes.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.conformance.interpreted import FAMILIES  # noqa: E402  # The root is on the path now.
from tests.conformance.test_dispatch import ENVIRONMENTS  # noqa: E402

EPILOG: Final = """\
exit status: 0 every digest is the same on all machines; 1 some digest differs, which is told; 2 the
machine could not be laid.
"""
ARCHITECTURE: Final = "arm64"
EMULATOR: Final = "qemu-aarch64-static"
PACKAGES: Final = ("python3", "libgcc-s1", "libstdc++6")
WHEELS: Final = ("numpy", "ml_dtypes", "lark")
PLATFORMS: Final = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")
ORACLE: Final = "oracle"
PLAIN: Final = "no dispatched kernels, plain C library"
# What is run for each name that the command line may state, and what the table calls it.
COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    ORACLE: ("-m", "tests.conformance.digest"),
    **{name: ("-m", "tests.conformance.interpreted", name) for name in sorted(FAMILIES)},
}
TITLES: Final = {
    ORACLE: "kernels of the oracle, and a training run",
    "cases": "shared conformance cases",
    "elementwise": "elementwise operations, each element",
    "gallery": "modules of the gallery",
    "orders": "operations that are sums",
}


class Machine(NamedTuple):
    """A command that runs Python, and the environment that it runs in."""

    name: str
    python: tuple[str, ...]
    environment: Mapping[str, str]

    def digests(self, command: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yields the name and the digest in each line that the command prints, as it comes."""
        with subprocess.Popen(
            [*self.python, *command],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, **self.environment},
        ) as running:
            assert running.stdout, "it is a pipe"
            for line in running.stdout:
                name, _, digest = line.rstrip("\n").rpartition(" ")
                yield name, digest
        if running.returncode:
            raise SystemExit(f"{self.name}: {' '.join(command)} ended with {running.returncode}")


def run(*command: str, directory: Path | None = None) -> None:
    """Runs a command that must succeed; its output goes to standard error."""
    print("+", " ".join(command), file=sys.stderr)
    ended = subprocess.run(command, cwd=directory, stdout=sys.stderr, check=False)
    if ended.returncode:
        print(f"{command[0]} ended with {ended.returncode}", file=sys.stderr)
        raise SystemExit(2)


def laid(build: Path) -> Machine:
    """Returns the emulated machine, laid in `build` where it is not there yet."""
    root, site = build / "root", build / "site"
    if not (build / "complete").exists():
        shutil.rmtree(build, ignore_errors=True)
        if shutil.which(EMULATOR) is None:
            run("apt-get", "update", "-q")
            run("apt-get", "install", "-qy", "--no-install-recommends", "qemu-user-static")
        unpack_system(build / "apt", root)
        unpack_wheels(build / "wheels", site, python_of(root).name.removeprefix("python"))
        (build / "complete").touch()
    return Machine(
        "aarch64",
        (EMULATOR, "-L", str(root), str(python_of(root))),
        {"PYTHONPATH": f"{site}:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"},
    )


def python_of(root: Path) -> Path:
    """Returns the interpreter itself, not the link to it."""
    return (root / "usr/bin/python3").resolve()


def unpack_system(apt: Path, root: Path) -> None:
    """Unpacks Debian's Python and what it needs, by an apt that knows of no installed package."""
    for folder in ("lists/partial", "archives/partial"):
        (apt / folder).mkdir(parents=True)
    (apt / "status").touch()
    settings = {
        "Dir::State": apt,
        "Dir::State::lists": apt / "lists",
        "Dir::State::status": apt / "status",
        "Dir::Cache": apt,
        "Dir::Cache::archives": apt / "archives",
        "APT::Architecture": ARCHITECTURE,
        "APT::Architectures": ARCHITECTURE,
        "APT::Sandbox::User": "root",
    }
    options = [part for key, value in settings.items() for part in ("-o", f"{key}={value}")]
    run("apt-get", *options, "update", "-q")
    run(
        *("apt-get", *options, "install", "-qy"),
        *("--no-install-recommends", "--download-only", *PACKAGES),
    )
    root.mkdir(parents=True)
    for archive in sorted((apt / "archives").glob("*.deb")):
        run("dpkg", "-x", str(archive), str(root))


def unpack_wheels(wheels: Path, site: Path, python: str) -> None:
    """Unpacks the wheels of the versions that this environment has."""
    platforms = [part for each in PLATFORMS for part in ("--platform", f"{each}_aarch64")]
    run(
        *(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-cache-dir"),
        *("--only-binary=:all:", "--python-version", python, *platforms, "-d", str(wheels)),
        *(f"{name}=={version(name)}" for name in WHEELS),
    )
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)


def compared(what: str, machines: Sequence[Machine]) -> tuple[int, dict[str, list[str]]]:
    """Returns how many digests there are, and for each machine but the first those that differ."""
    found: dict[str, dict[str, str]] = {}
    for machine in machines:
        started, found[machine.name] = time.monotonic(), {}
        for name, digest in machine.digests(COMMANDS[what]):
            found[machine.name][name] = digest
            if len(found[machine.name]) % 100 == 0:
                spent = time.monotonic() - started
                count = len(found[machine.name])
                print(f"{what} on {machine.name}: {count}, {spent:.0f} s", file=sys.stderr)
    first, *others = machines
    due = found[first.name]
    return len(due), {
        other.name: [name for name in due if found[other.name].get(name) != due[name]]
        for other in others
    }


def main(arguments: list[str] | None = None) -> int:
    """Parses the command line, prints the table, and returns 1 where a digest differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "what", nargs="*", metavar="WHAT", help=f"of {', '.join(COMMANDS)} (default: all)"
    )
    parser.add_argument(
        "--build", type=Path, default=ROOT / "build/other_machine", help="default: %(default)s"
    )
    parser.add_argument("--lay-only", action="store_true", help="lay the machine, compare nothing")
    chosen = parser.parse_args(arguments)
    unknown = sorted(set(chosen.what) - set(COMMANDS))
    if unknown:
        parser.error(f"nothing is called {', '.join(unknown)}")
    plain = "the same without fused and vector instructions"
    machines = [
        Machine(platform.machine(), (sys.executable,), {"PYTHONDONTWRITEBYTECODE": "1"}),
        Machine(plain, (sys.executable,), ENVIRONMENTS[PLAIN]),
        laid(chosen.build.resolve()),
    ]
    if chosen.lay_only:
        return 0
    return show(chosen.what or list(COMMANDS), machines)


def show(names: Sequence[str], machines: Sequence[Machine]) -> int:
    """Prints a row for each of `names`, and on standard error what differs."""
    first, *others = machines
    print(f"| what | digests | {' | '.join(f'differ on {other.name}' for other in others)} |")
    print("|---" * (2 + len(others)) + "|")
    failed = False
    for what in names:
        count, differing = compared(what, machines)
        cells = " | ".join(str(len(differing[other.name])) for other in others)
        print(f"| {TITLES[what]} | {count} | {cells} |", flush=True)
        for name, digests in differing.items():
            failed = failed or bool(digests)
            for digest in digests:
                print(f"{digest} differs between {first.name} and {name}", file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
