"""A bundle that is given over links: followed once, and called as it was given."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bundle.bundled_models import mlp
from topos.bundle import Bundle
from topos.bundle.replacement import present_manifest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return mlp(1).export(tmp_path / "model").path


def laid_out(folder: Path, layout: str) -> Path:
    """Puts links before a bundle as `layout` says, and returns the path that is given."""
    top = folder.parent
    above = {"a link": "scorer", "a link above": "current/model", "a volume": "scorer"}[layout]
    if layout == "a volume":
        # As Kubernetes lays out the files of a ConfigMap.
        (top / "scorer").mkdir()
        folder.rename(top / "scorer" / "..1")
        (top / "scorer" / "..data").symlink_to("..1")
        for path in (top / "scorer" / "..1").iterdir():
            (top / "scorer" / path.name).symlink_to(f"..data/{path.name}")
    else:
        (top / above.split("/")[0]).symlink_to(folder if layout == "a link" else top)
    return top / above


@pytest.mark.parametrize("layout", ["a link", "a link above", "a volume"])
def test_links_on_the_path_are_followed_and_the_name_is_that_of_the_path(
    folder: Path, layout: str
) -> None:
    (folder / "README").write_text("ours")
    given = laid_out(folder, layout)
    assert Bundle.load(given).name == Bundle.glance(given).name == given.name
    assert Bundle.load(given / ".").name == given.name
    if layout == "a link above":
        assert Bundle.load(given / ".." / "model").name == "model"


def test_a_folder_that_goes_as_its_link_leads_elsewhere_is_not_missed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, later = folder.parent / "current", folder.parent / "later"
    given.symlink_to(folder)

    def swapped(place: Path) -> bytes:
        monkeypatch.undo()
        folder.rename(later)
        given.unlink()
        given.symlink_to(later)
        return present_manifest(place)

    monkeypatch.setattr("topos.bundle.bundle.present_manifest", swapped)
    assert Bundle.load(given).path == later
