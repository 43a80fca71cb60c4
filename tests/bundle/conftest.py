"""What tests of bundles share: the bundle of one model at two numbers of rows."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.bundle.bundled_models import mlp
from topos.bundle import export


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle that nobody may change."""
    folder = tmp_path_factory.mktemp("exported") / "model"
    export(folder, [mlp(1), mlp(4)], batched=True)
    return folder


@pytest.fixture
def folder(exported: Path, tmp_path: Path) -> Path:
    """A copy of the bundle, to change."""
    return Path(shutil.copytree(exported, tmp_path / "model"))
