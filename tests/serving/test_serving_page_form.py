"""The form of the status page in headless Chromium: examples, drawings, answers, refusals."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.serving.serving_page import (
    HEIGHT,
    WIDTH,
    exported_images,
    exported_markup,
    served,
    truth,
)
from tests.serving.serving_page_browser import (
    Opened,
    browsing,
    expect,
    image,
    opening,
    ready,
    scores,
    sent,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser

TOKEN = "letmein.1"
SLOW_EXAMPLES = """() => {
    const read = Response.prototype.json;
    Response.prototype.json = async function () {
        if (this.url.includes("example.json"))
            await new Promise((resolve) => setTimeout(resolve, 2000));
        return read.call(this);
    };
}"""
"""Lets the page take its time over an example that has arrived."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as browser:
        yield browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundles")
    exported_images(path / "images")
    exported_markup(path / "markup")
    return path


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with served([folder / "images", folder / "markup"]) as address:
        yield address


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[Opened]:
    with opening(browser, address) as opened:
        yield opened


def test_an_example_agrees_with_the_oracle(opened: Opened) -> None:
    page = ready(opened())
    sent(page)
    expect(page.locator("#answer .pill")).to_have_text("200 OK")
    told = "Equal to the oracle's answer, number by number."
    expect(page.locator("#answer .verdict")).to_have_text(told)
    assert scores(page) == truth(image(page)).ravel().tolist()
    page.locator("#example-row").fill("3")
    page.locator("#example-row").press("Tab")
    expect(page.locator("#body")).to_have_value(re.compile(r"\n      6\.0, 7\.0, 8\.0, 9\.0,\n"))
    sent(page)
    assert scores(page) == truth(image(page)).ravel().tolist()


def test_an_answer_beside_the_oracles_is_told(opened: Opened) -> None:
    page = ready(opened())

    def lie(route: Any) -> None:
        answer = route.fetch()
        content = answer.json()
        content["outputs"][0]["data"][1] += 0.5
        route.fulfill(response=answer, json=content)

    page.route("**/infer", lie)
    sent(page)
    expect(page.locator("#answer .verdict.bad")).to_contain_text(
        "Outside the envelope: scores is 0.5"
    )


def test_a_changed_request_is_answered_without_a_verdict(opened: Opened) -> None:
    page = ready(opened())
    body = json.loads(page.locator("#body").input_value())
    body["inputs"][0]["data"] = list(range(HEIGHT * WIDTH))
    page.locator("#body").fill(json.dumps(body))
    sent(page)
    expect(page.locator("#answer .verdict")).to_have_count(0)
    assert scores(page) == truth(np.arange(HEIGHT * WIDTH, dtype=np.float32)).ravel().tolist()
    page.locator("#restore").click()
    sent(page)
    expect(page.locator("#answer .verdict.good")).to_be_visible()


def test_a_drawing_is_the_request(opened: Opened) -> None:
    page = ready(opened())
    page.get_by_role("button", name="Clear").click()
    assert not image(page).any()
    page.get_by_label("soft brush").uncheck()
    grid = page.locator("canvas")
    grid.scroll_into_view_if_needed()
    box = grid.bounding_box()
    assert box is not None
    column = box["x"] + box["width"] * 2.5 / WIDTH
    page.mouse.move(column, box["y"] + 2)
    page.mouse.down()
    page.mouse.move(column, box["y"] + box["height"] - 2, steps=25)
    page.mouse.up()
    wanted = np.zeros((HEIGHT, WIDTH), np.float32)
    wanted[:, 2] = 16
    assert image(page).tolist() == wanted.ravel().tolist()
    sent(page)
    assert scores(page) == truth(wanted).ravel().tolist()


def test_a_drawing_is_made_by_keyboard(opened: Opened) -> None:
    page = ready(opened())
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("soft brush").uncheck()
    page.locator("canvas").focus()
    for key in ("ArrowDown", "Space", "ArrowRight", "Space", "ArrowLeft", "Backspace"):
        page.keyboard.press(key)
    wanted = np.zeros((HEIGHT, WIDTH), np.float32)
    wanted[1, 1] = 16
    assert image(page).tolist() == wanted.ravel().tolist()
    expect(page.locator(".drawing [aria-live]")).to_have_text("row 2, column 1: 0")


def test_a_malformed_request_shows_the_servers_own_words(opened: Opened) -> None:
    page = ready(opened())
    page.locator("#body").fill('{"inputs": [}')
    sent(page)
    expect(page.locator("#answer .pill")).to_have_text("400 Bad Request")
    expect(page.locator("#answer .verdict.bad")).to_contain_text("body: is no JSON")
    page.locator("#body").fill('{"inputs": [{"name": "images", "shape": [1], "datatype": "FP32"}]}')
    sent(page)
    expect(page.locator("#answer .verdict.bad")).to_contain_text("inputs[0]")


def test_an_example_follows_a_reload(opened: Opened, tmp_path: Path) -> None:
    exported_images(tmp_path / "images")
    with served([tmp_path / "images"], TOKEN) as address:
        page = opened(address)
        page.get_by_label("Bearer token").fill(TOKEN)
        page.get_by_label("Bearer token").press("Enter")
        ready(page)
        # What is sent meanwhile would be held against the answer of the old example.
        page.evaluate(SLOW_EXAMPLES)
        bundle = exported_images(tmp_path / "images", scale=3)
        load = f"{address}/v2/repository/models/images/load"
        assert page.request.post(load, headers={"Authorization": f"Bearer {TOKEN}"}).ok
        with page.expect_response("**/example.json*"):
            expect(page.locator("article code").first).to_have_text(bundle.version)
        sent(page)
        expect(page.locator("#answer .verdict.good")).to_be_visible()
        assert scores(page) == (3 * truth(image(page))).ravel().tolist()
        page.close()
