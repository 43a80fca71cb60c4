"""The status page in headless Chromium: what a person sees and is told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.serving.serving_page import (
    HEIGHT,
    MARKUP,
    WIDTH,
    exported_images,
    exported_markup,
    served,
)
from tests.serving.serving_page_browser import Opened, browsing, expect, opening, ready, sent

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

TOKEN = "letmein.1"
CUT = """[...document.querySelectorAll("#plot svg text")].filter((each) => {
  const [inner, outer] = [each, each.ownerSVGElement].map((one) => one.getBoundingClientRect());
  const others = [...each.ownerSVGElement.querySelectorAll("text")].filter((one) => one !== each);
  return inner.width && (inner.top < outer.top || inner.bottom > outer.bottom
    || inner.left < outer.left || inner.right > outer.right
    || others.some((one) => {
      const box = one.getBoundingClientRect();
      // Boxes of text have room above and below what is drawn.
      return box.width && box.left < inner.right && inner.left < box.right
        && box.top + 4 < inner.bottom && inner.top + 4 < box.bottom;
    }));
}).map((each) => each.textContent)"""
"""The labels of the plot that are not whole inside it, or lie on others."""


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


def test_one_row_is_no_several(browser: Browser, folder: Path) -> None:
    with served([folder / "images"]) as address, opening(browser, address) as opened:
        page = ready(opened())
        sent(page)
        card = page.locator("article")
        expect(card).to_contain_text(re.compile("1 of 1 row, 0 rows of padding"))


@pytest.mark.parametrize("end", ["", "/"])
def test_the_page_works_behind_a_proxy_that_strips_a_prefix(
    opened: Opened, address: str, end: str
) -> None:
    page = ready(opened(f"{address}/our/models{end}", prefix="/our/models"))
    sent(page)
    expect(page.locator("#answer .pill")).to_have_text("200 OK")
    expect(page.locator("#shell")).to_contain_text(f"curl -s {address}/our/models/v2/models/")
    links = page.locator("footer a").evaluate_all("links => links.map((link) => link.href)")
    assert links == [f"{address}/our/models/{each}" for each in ("v2", "metrics")]


def test_text_of_the_server_is_never_markup(opened: Opened) -> None:
    page = ready(opened())
    expect(page.get_by_text(MARKUP).first).to_be_visible()
    page.locator("#try-model").select_option("markup")
    expect(page.locator("#body")).to_have_value(re.compile(re.escape(MARKUP)))
    sent(page)
    expect(page.locator("#answer .verdict.good")).to_be_visible()
    assert page.locator("img").count() == 0


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


def test_no_label_of_the_plot_is_cut_or_overlaps(opened: Opened) -> None:
    def at_the_top(route: Route) -> None:
        """Answers with percentiles so near each other and a tick that their labels crowd there."""
        status = route.fetch().json()
        series = status["timeline"]["all"]
        series["slots"][-1] = [9, 0, 4.98e-4, 4.99e-4, 5e-4]
        route.fulfill(json=status)

    page = ready(opened(viewport={"width": 1200, "height": 900}))
    sent(page)
    page.route("**/status.json", at_the_top)
    page.reload()
    for form in ("time", "spread"):
        page.locator(f"label[for=plot-{form}]").click()
        expect(page.locator("#plot svg text.p99")).to_have_text("p99")
        assert page.evaluate(CUT) == []


def test_one_request_is_told_as_one_and_no_line_leaves_its_box(
    browser: Browser, folder: Path
) -> None:
    with served([folder / "images"]) as address, opening(browser, address) as opened:
        page = ready(opened(viewport={"width": 1200, "height": 900}))
        sent(page)
        caption = page.locator("#plot-caption")
        expect(caption).to_contain_text("1 request answered in the last 5 minutes")
        half, *others = re.findall(r"p\d\d ([^,]+)", caption.inner_text())
        assert others == [half, half]
        # A line of the request that is longer than its box goes on below.
        assert page.evaluate("byId('body').scrollWidth <= byId('body').clientWidth")


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
