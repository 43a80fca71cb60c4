"""Loading a bundle that a runtime refuses: which bundle it is, and what shows more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.serving.serving_bundles import exported_mlp
from topos.errors import BundleError, ToposError, UnavailableError, UnsupportedError
from topos.runtimes.interpreter import Interpreter
from topos.serving.loaded import LoadedModel
from topos.serving.messages import Origin


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundles") / "mlp"
    exported_mlp(path, rows=(1,))
    return path


def raising(error: Exception) -> Callable[..., Any]:
    def place(*_: Any) -> Any:
        raise error

    return place


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (
            ValueError("of all things"),
            BundleError,
            "{path}: the bundle cannot be loaded: ValueError: of all things;"
            " topos check {path} shows all",
        ),
        (
            MemoryError(),
            UnavailableError,
            "{path}: the bundle cannot be loaded: MemoryError: MemoryError",
        ),
        (
            RuntimeError("a\nb\nc\nd\ne\nf\ng"),
            BundleError,
            "{path}: the bundle cannot be loaded: RuntimeError: a\nb\nc\nd\ne\nf"
            "\ntopos check {path} shows all",
        ),
        (UnavailableError("no such runtime"), UnavailableError, "{path}: no such runtime"),
        (
            UnsupportedError("not here", 2, 3, "  %0 = x"),
            UnsupportedError,
            "{path}: line 2, column 3: not here\n  %0 = x\n  ^\ntopos check {path} shows all",
        ),
    ],
)
def test_a_bundle_that_is_refused_is_named_with_what_shows_more(
    bundle: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    kind: type[ToposError],
    told: str,
) -> None:
    monkeypatch.setattr(Interpreter, "place", raising(error))
    with pytest.raises(kind) as caught:
        LoadedModel.load(Origin(str(bundle), "interpreter", "fast", {}, None))
    assert type(caught.value) is kind
    assert str(caught.value) == told.format(path=bundle)


def test_a_damaged_bundle_is_told_as_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "mlp"
    exported_mlp(path, rows=(1,))
    (path / "rows1.mlir").unlink()
    with pytest.raises(BundleError) as caught:
        LoadedModel.load(Origin(str(path), "interpreter", "fast", {}, None))
    told = f"{path} needs rows1.mlir: No such file or directory; copy or export it again"
    assert str(caught.value) == told
