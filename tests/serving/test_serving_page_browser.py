"""The status page in headless Chromium: what a person sees, does, and is told."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.serving.serving_page import (
    HEIGHT,
    MARKUP,
    WIDTH,
    exported_images,
    exported_markup,
    served,
    truth,
)

pytest.importorskip("playwright.sync_api", reason="the page is tested with playwright")
from playwright.sync_api import expect, sync_playwright

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next(filter(None, map(shutil.which, COMMANDS)), None)
TOKEN = "letmein.1"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=f"none of {', '.join(COMMANDS)} is here")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


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


Opened = Callable[..., "Page"]


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[Opened]:
    """Opens the page; at the end nothing was on the console but refusals, and nothing left."""
    contexts, complaints, foreign = [], list[str](), list[str]()

    def heard(message: ConsoleMessage) -> None:
        # Chromium tells of every 4xx; what the policy refuses or a script throws is a fault.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            complaints.append(message.text)

    def open_page(url: str = address, *, stopped: bool = False, **options: Any) -> Page:
        context = browser.new_context(**options)
        context.set_default_timeout(15000)
        contexts.append(context)
        shown = context.new_page()
        shown.on("console", heard)
        shown.on("pageerror", lambda error: complaints.append(str(error)))
        shown.on("request", lambda request: foreign.append(request.url))
        if stopped:
            shown.clock.install()
        shown.goto(url)
        return shown

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in foreign if not url.startswith(("http://127.0.0.1:", "data:"))] == []


def ready(page: Page) -> Page:
    """Waits for the form, which is the last to stand."""
    expect(page.locator("#body")).to_have_value(re.compile("inputs"))
    return page


def sent(page: Page) -> None:
    page.locator("#send").click()
    expect(page.locator("#answer .pill")).to_be_visible()
    expect(page.locator("#send")).to_be_enabled()


def image(page: Page) -> np.ndarray[Any, np.dtype[np.float32]]:
    body = json.loads(page.locator("#body").input_value())
    return np.array(body["inputs"][0]["data"], np.float32)


def scores(page: Page) -> list[float]:
    cells = page.locator("#answer .values td:nth-child(2)").all_inner_texts()
    return [float(cell) for cell in cells]


def test_every_model_is_shown_with_its_signature(opened: Opened) -> None:
    page = ready(opened())
    expect(page.locator("#state")).to_have_text("ready")
    card = page.locator("article", has=page.get_by_role("heading", name="images", exact=True))
    expect(card.locator(".pill")).to_have_text("ready")
    for text in (
        "interpreter",
        "1, 4",
        "240 B",
        f"FP32[rows, 1, {HEIGHT}, {WIDTH}]",
        "FP32[rows, 3]",
    ):
        expect(card).to_contain_text(text)


def test_text_of_the_server_is_never_markup(opened: Opened) -> None:
    page = ready(opened())
    expect(page.get_by_text(MARKUP).first).to_be_visible()
    page.locator("#try-model").select_option("markup")
    expect(page.locator("#body")).to_have_value(re.compile(re.escape(MARKUP)))
    sent(page)
    expect(page.locator("#answer .verdict.good")).to_be_visible()
    assert page.locator("img").count() == 0


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
    expect(page.locator("#answer .verdict.bad")).to_contain_text("body: JSON is malformed")
    page.locator("#body").fill('{"inputs": [{"name": "images", "shape": [1], "datatype": "FP32"}]}')
    sent(page)
    expect(page.locator("#answer .verdict.bad")).to_contain_text("inputs[0]")


def test_counters_and_plot_follow_the_requests(opened: Opened) -> None:
    page = ready(opened())
    requests = page.locator("#tiles div", has_text="Requests").locator("dd")
    before = int(requests.inner_text().replace(",", ""))
    sent(page)
    expect(requests).to_have_text(f"{before + 1:,}")
    expect(page.locator("#plot svg text.p99")).to_have_text("p99")
    expect(page.locator("#plot-caption")).to_contain_text("requests answered in the last 5 minutes")
    page.locator("label[for=plot-spread]").click()
    expect(page.locator("#plot svg line.p50")).to_have_count(1)
    assert page.locator("#plot svg rect.volume").count() > 0
    page.locator("summary", has_text="As a table").click()
    expect(page.locator("#plot-table tbody tr").first).to_contain_text("to")


def test_a_paused_page_asks_for_nothing(opened: Opened) -> None:
    page = ready(opened(stopped=True))
    page.get_by_role("button", name="Pause").click()
    requests = page.locator("#tiles div", has_text="Requests").locator("dd")
    before = requests.inner_text()
    sent(page)
    page.clock.run_for(5000)
    assert requests.inner_text() == before
    page.get_by_role("button", name="Resume").click()
    expect(requests).not_to_have_text(before)


def test_a_server_that_is_gone_is_told(opened: Opened) -> None:
    page = ready(opened(stopped=True))
    page.route("**/status.json", lambda route: route.abort())
    page.clock.run_for(2000)
    expect(page.locator("#state")).to_have_text("unreachable")
    page.unroute("**/status.json")
    page.clock.run_for(2000)
    expect(page.locator("#state")).to_have_text("ready")


def test_a_token_is_asked_for_and_kept_nowhere(opened: Opened, folder: Path) -> None:
    with served([folder / "images"], TOKEN) as address:
        page = opened(address)
        field = page.get_by_label("Bearer token")
        expect(field).to_be_focused()
        field.fill("another")
        field.press("Enter")
        expect(page.locator("#token-reason")).to_have_text("The server does not take that token.")
        field.fill(TOKEN)
        field.press("Enter")
        ready(page)
        sent(page)
        expect(page.locator("#answer .verdict.good")).to_be_visible()
        assert TOKEN not in page.content()
        kept = "() => JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])"
        assert page.evaluate(kept) == '[{},{},""]'
        assert field.input_value() == ""
        page.reload()
        expect(page.get_by_label("Bearer token")).to_be_visible()
        # Else the last requests would find the server gone.
        page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_the_whole_page(opened: Opened, scheme: str) -> None:
    page = ready(opened(color_scheme=scheme, viewport={"width": 360, "height": 740}))
    sent(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") == 360
    back = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", back)[:3])) / 3
    assert (brightness > 128) == (scheme == "light")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(opened: Opened, scheme: str) -> None:
    page = ready(opened(color_scheme=scheme))
    pairs = [("ink", "paper"), ("ink", "card"), ("quiet", "card"), ("quiet", "paper")]
    pairs += [("ink", "well"), ("accent-ink", "accent"), ("accent", "paper")]
    pairs += [(name, f"{name}-back") for name in ("good", "bad", "warn")]
    pairs += [("bad", "card"), ("p50", "card"), ("p95", "card"), ("p99", "card")]
    read = "name => getComputedStyle(document.documentElement).getPropertyValue('--' + name)"
    for text, ground in pairs:
        colours = [page.evaluate(read, name).strip() for name in (text, ground)]
        # WCAG 2.2, success criterion 1.4.3, for text of any size.
        assert _contrast(*map(_luminance, colours)) >= 4.5, (text, ground, colours)


def test_every_control_has_a_name(opened: Opened) -> None:
    page = ready(opened())
    controls = page.locator("button, select, input, textarea, canvas, summary")
    nameless = [
        control.evaluate("node => node.outerHTML")
        for control in controls.all()
        if not control.evaluate(
            "node => node.ariaLabel || node.labels?.length || node.textContent.trim()"
        )
    ]
    assert nameless == []
    levels = page.locator("h1, h2, h3").evaluate_all("nodes => nodes.map(node => node.tagName)")
    assert levels[0] == "H1"
    assert levels.count("H1") == 1


def _luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: float, other: float) -> float:
    low, high = sorted((one, other))
    return (high + 0.05) / (low + 0.05)
