"""Headless Chromium for the tests of the status page, and what they do on it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api", reason="the page is tested with playwright")
from playwright.sync_api import expect, sync_playwright

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Route

__all__ = ["Opened", "browsing", "expect", "image", "opening", "ready", "scores", "sent"]

COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next(filter(None, map(shutil.which, COMMANDS)), None)
if CHROMIUM is None:
    pytest.skip(f"none of {', '.join(COMMANDS)} is here", allow_module_level=True)

Opened = Callable[..., "Page"]
"""Opens the page, at another address where one is given, with the options of a context."""


@contextmanager
def browsing() -> Iterator[Browser]:
    """Yields a browser."""
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@contextmanager
def opening(browser: Browser, address: str) -> Iterator[Opened]:
    """Yields what opens the page; at the end nothing was on the console but refusals.

    Nor did anything ask for another server. `stopped=True` lets the test move the page's clock;
    `prefix` is that of a proxy which strips it and shows nothing else.
    """
    contexts, complaints, foreign = [], list[str](), list[str]()

    def heard(message: ConsoleMessage) -> None:
        # Chromium tells of every 4xx; what the policy refuses or a script throws is a fault.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            complaints.append(message.text)

    def open_page(
        url: str = address, *, stopped: bool = False, prefix: str = "", **options: Any
    ) -> Page:
        context = browser.new_context(**options)

        def strip(route: Route) -> None:
            path = route.request.url.removeprefix(address)
            if path.startswith(prefix):
                route.continue_(url=f"{address}/{path.removeprefix(prefix).removeprefix('/')}")
            else:
                route.abort()

        if prefix:
            context.route(f"{address}/**", strip)
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
    """Sends what stands in the form, and waits for the answer."""
    page.locator("#send").click()
    expect(page.locator("#answer .pill")).to_be_visible()
    expect(page.locator("#send")).to_be_enabled()


def image(page: Page) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Returns the first input of the request that stands in the form."""
    body = json.loads(page.locator("#body").input_value())
    return np.array(body["inputs"][0]["data"], np.float32)


def scores(page: Page) -> list[float]:
    """Returns the numbers that the answer shows."""
    cells = page.locator("#answer .values td:nth-child(2)").all_inner_texts()
    return [float(cell) for cell in cells]
