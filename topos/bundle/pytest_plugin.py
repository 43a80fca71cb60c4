"""The pytest plugin: fixtures that hold plans and bundles against the oracle in anyone's tests.

Where TOPOS_STABLEHLO_VALIDATOR or TOPOS_STABLEHLO_EVALUATOR names a command, it judges as well.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from topos import bundle
from topos.bundle.report import State
from topos.errors import ToposError, UnavailableError
from topos.runtimes import names

if TYPE_CHECKING:
    from topos.bundle.naming import Payloads, References
    from topos.engine import Plan
    from topos.graph import Parameters

# The judges that are commands.
EXTERNAL: Final = ("validator", "evaluator")


class BundleConforms:
    """What the fixture `bundle_conforms` is; the judges write into folders of `folders`.

    `commands` keeps their processes.
    """

    def __init__(self, folders: pytest.TempPathFactory, commands: bundle.Commands) -> None:
        self._folders, self._commands = folders, commands

    def __call__(
        self,
        path: str | os.PathLike[str] | bundle.Bundle,
        runtimes: Sequence[str] | None = None,
        *,
        numerics: str = "fast",
    ) -> bundle.Check:
        """Returns the check of a bundle, as `topos check` makes it; fails the test by its table."""
        __tracebackhide__ = True
        with _told("the bundle cannot be checked"):
            folder = self._folders.mktemp("judges")
            found = _checked(path, runtimes, numerics, folder, self._commands)
        if not found.passed:
            pytest.fail(f"the bundle does not conform\n{found}", pytrace=False)
        for verdict in found.verdicts:
            if verdict.judge in EXTERNAL and verdict.state is State.SKIPPED:
                pytest.skip(f"the {verdict.judge} cannot run: {verdict.reason}")
        return found


class StablehloConforms(BundleConforms):
    """What the fixture `stablehlo_conforms` is."""

    def __call__(  # type: ignore[override]  # It takes a plan in the place of a path.
        self,
        plan: Plan | Sequence[Plan],
        parameters: Parameters | Payloads | None = None,
        *,
        runtimes: Sequence[str] | None = None,
        numerics: str = "fast",
        resident: References | None = None,
        samples: Sequence[References] = (),
        batched: bool = False,
        seed: int = 0,
    ) -> bundle.Check:
        """Returns the check of a plan's module; fails the test where it is wrong anywhere.

        The arguments are those of `topos.bundle.export` and of `bundle_conforms`.
        """
        __tracebackhide__ = True
        folder = self._folders.mktemp("plan") / "bundle"
        with _told("the plan cannot be exported"):
            written = bundle.export(
                folder,
                plan,
                parameters,
                resident=resident,
                samples=samples,
                batched=batched,
                seed=seed,
            )
        return super().__call__(written, runtimes, numerics=numerics)


@pytest.fixture(scope="session")
def _topos_commands() -> Iterator[bundle.Commands]:
    """Keeps one process of each judge that is topos's own for all tests."""
    with bundle.Commands() as commands:
        yield commands


@pytest.fixture
def bundle_conforms(
    tmp_path_factory: pytest.TempPathFactory, _topos_commands: bundle.Commands
) -> BundleConforms:
    """Checks a bundle on every runtime that is ready, or on those that are named.

    A test that names a runtime which is not installed is skipped, and so is one whose evaluator
    needs such a runtime.
    """
    return BundleConforms(tmp_path_factory, _topos_commands)


@pytest.fixture
def stablehlo_conforms(
    tmp_path_factory: pytest.TempPathFactory, _topos_commands: bundle.Commands
) -> StablehloConforms:
    """Exports a plan into a folder of its own and checks that."""
    return StablehloConforms(tmp_path_factory, _topos_commands)


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Fails the test by the message of an error, which says more than the lines it came from."""
    __tracebackhide__ = True
    try:
        yield
    except ToposError as error:
        message = f"{what}: {type(error).__name__}: {error}"
        # Without its cause, whose lines are none of the test's.
        raise pytest.fail.Exception(message, pytrace=False) from None


def _checked(
    path: str | os.PathLike[str] | bundle.Bundle,
    runtimes: str | Sequence[str] | None,
    numerics: str,
    folder: Path,
    commands: bundle.Commands,
) -> bundle.Check:
    __tracebackhide__ = True
    try:
        found = bundle.check(path, runtimes, numerics=numerics)
    except UnavailableError as error:
        # What is not installed here says nothing of the bundle; what is no runtime is a mistake.
        chosen = (runtimes,) if isinstance(runtimes, str) else runtimes or ()
        if chosen and set(chosen) <= set(names()):
            pytest.skip(str(error))
        raise
    named = bundle.named_verdicts(os.environ, found, folder, commands)
    return found._replace(verdicts=(*found.verdicts, *named))
