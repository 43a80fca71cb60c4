"""What tests of sessions and servers share: small bundles, and a session that serves one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.serving_bundles import exported_mlp, exported_total, truth
from tests.serving.serving_http import INFER, ROWS, Server, binary, exchanged, request, running
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


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, two_rows: Path) -> Iterator[Server]:
    """A server with the `LIMITS` and the `TOKEN` of the module that asks for it."""
    limits, token = (getattr(request.module, name, None) for name in ("LIMITS", "TOKEN"))
    with running([two_rows], limits=limits, token=token) as server:
        yield server


@pytest.fixture
def still_serves(server: Server) -> Iterator[None]:
    """Whatever a test does to the server, a well-formed request is answered after it."""
    yield
    body, headers = binary(ROWS)
    answer = exchanged(server.port, request("POST", INFER, body, headers))
    assert answer.status == 200
    assert answer.body.endswith(truth(ROWS).tobytes())
