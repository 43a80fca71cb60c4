"""What tests of sessions and servers share: small bundles, and a session that serves one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.serving_bundles import exported_mlp, exported_total
from topos.serving import Session


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundles") / "mlp"
    exported_mlp(path, rows=(1, 4))
    return path


@pytest.fixture(scope="session")
def two_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle for calls of one row and of two, which nobody may change."""
    path = tmp_path_factory.mktemp("two rows") / "mlp"
    exported_mlp(path, rows=(1, 2))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundles")
    exported_mlp(path / "mlp")
    exported_total(path / "total")
    return path


@pytest.fixture(scope="module")
def session(bundle: Path) -> Iterator[Session]:
    with Session(bundle, runtime="interpreter") as session:
        yield session
