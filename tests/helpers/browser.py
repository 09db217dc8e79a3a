"""A real browser for pages: Chromium without a window, drawing WebGL in software.

    def test_a_page(opened):
        tab = opened(page("An arm", data, ["view.js"]))
        assert tab.evaluate("flexarm.page.time") == 0

After the test it is seen that the page has reported no error and has asked for nothing.
"""

import os
import shutil
import time
from pathlib import Path

import pytest

try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = [
    "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--disable-gpu-rasterization", "--disable-gpu-compositing",  # only WebGL needs a GPU, which a program plays here
]  # fmt: skip
LAPTOP, PHONE = (1280, 720), (390, 844)
PATIENCE = 60_000
"""Milliseconds until what does not come is taken for missing: other tests run beside this one."""


def chromium():
    """The path of a Chromium, or None."""
    return os.environ.get("FLEXARM_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="session")
def browser():
    """A Chromium for all tests of the session; they are skipped where there is none."""
    if sync_playwright is None:
        pytest.skip("no playwright: the extra `dev` installs it")
    if chromium() is None:
        pytest.skip("no Chromium: `make browser` installs Debian's")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Opens pages from disk: `opened(html or path, size=PHONE, dark=True)` gives playwright's page."""
    contexts, errors, asked = [], [], []

    def opens(page, size=LAPTOP, dark=False, **options):
        if isinstance(page, str):
            path = tmp_path / f"page-{len(contexts)}.html"
            path.write_text(page, encoding="utf-8")
            page = path
        width, height = size
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", **options
        )
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        tab = context.new_page()
        tab.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        tab.on("pageerror", lambda error: errors.append(str(error)))
        own = Path(page).resolve().as_uri()
        tab.on("request", lambda request: asked.append(request.url) if is_foreign(request.url, own) else None)
        tab.goto(own)
        return tab

    opens.errors, opens.asked = errors, asked
    yield opens
    for context in contexts:
        context.close()
    assert errors == [] and asked == []


def is_foreign(url, own):
    """Whether a request is for something else than the page itself, or what stands in it."""
    return url.partition("#")[0] != own and not url.startswith(("data:", "blob:"))


def until(tab, condition):
    """Waits for something in the page, whose policy lets no text be evaluated there but by the debugger."""
    end = time.monotonic() + PATIENCE / 1000
    while not tab.evaluate(f"(() => {{ const page = flexarm.page, live = page && page.live; return {condition}; }})()"):
        assert time.monotonic() < end, condition
        tab.wait_for_timeout(50)


SETTLED = "async () => { for (let i = 0; i < 3; i++) await new Promise((done) => requestAnimationFrame(done)); }"
"""Until what a control has asked for is drawn."""
