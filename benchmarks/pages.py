"""Pages and films: how large they are, how long they take, and how fast they run in a real browser."""

import os
import shutil
import statistics
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import flexarm as fa
from benchmarks.report import Table, judged, spread

PLAYED = ("subudhi-morris", "canadarm", "spatial-6r", "theodore-ghosal", "satellite", "canadarm-bus")
LARGEST, LIVELY = 3e6, 60.0
"""Bytes of a page with 10 s of the six-joint arm in 1000 samples; pictures a second."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SOFTWARE = ["--no-sandbox", "--disable-background-networking", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
SIZE = {"width": 1280, "height": 720}

PICTURES = """(seconds) => new Promise((done) => {
  const scene = flexarm.page.scene, before = scene.frames, began = performance.now();
  setTimeout(() => done(1000 * (scene.frames - before) / (performance.now() - began)), 1000 * seconds);
})"""
FACTOR = "(seconds) => flexarm.page.measure(seconds, 5)"


def measure(quick: bool) -> list[Table]:
    """Sizes and times of pages and films; pictures a second, and real-time factors of live arms."""
    with tempfile.TemporaryDirectory(prefix="flexarm-bench-") as name:
        folder = Path(name)
        sizes, pages = _written(folder, 2 if quick else 5)
        return [sizes, _films(folder, 1 if quick else 3), *_in_a_browser(folder, pages, 1.0 if quick else 6.0)]


def _results() -> dict[str, Any]:
    """Ten seconds in 1000 samples: of the six-joint arm, and of the Canadarm."""
    found = {}
    for name in ("spatial-6r", "canadarm"):
        scenario = fa.load_scenario(name).replace(until=10.0, samples=1000)
        found[name] = scenario.run()
    return found


def _written(folder: Path, times: int) -> tuple[Table, list[Path]]:
    table = Table("Pages of results", ("10 s in 1000 samples", "size", "target", "met", "written in"))
    paths = []
    for name, result in _results().items():
        path, taken = folder / f"{name}.html", []
        for _ in range(times):
            began = perf_counter()
            fa.view(result, path, show=False)
            taken.append(perf_counter() - began)
        size = path.stat().st_size
        goal = judged(size, LARGEST, f"{LARGEST / 1e6:g} MB") if name == "spatial-6r" else ("", "")
        table.add(name, f"{size / 1e6:.2f} MB", *goal, spread(taken))
        paths.append(path)
    return table, paths


def _films(folder: Path, times: int) -> Table:
    table = Table("Films and strips of the Canadarm's 10 s", ("file", "size", "written in"))
    result = fa.load_scenario("canadarm").run()
    for suffix in (".gif", ".mp4", ".png", ".svg"):
        if suffix == ".mp4" and shutil.which("ffmpeg") is None:
            table.add(suffix, "no ffmpeg", "")
            continue
        path, taken = folder / f"canadarm{suffix}", []
        for _ in range(times):
            began = perf_counter()
            fa.animate(result, path)
            taken.append(perf_counter() - began)
        table.add(suffix, f"{path.stat().st_size / 1e6:.2f} MB", spread(taken))
    table.notes.append("A film has 301 frames, and a strip has six poses.")
    return table


def _in_a_browser(folder: Path, pages: list[Path], seconds: float) -> list[Table]:
    drawn = Table("Frames per second in a browser", ("page", "frames per second", "target", "met"))
    alive = Table("Live arms in a browser", ("arm", "coordinates", "step", "page", "real-time factor", "target", "met"))
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        drawn.notes.append("Not measured: there is no playwright; the extra `dev` installs it.")
        return [drawn]
    chromium = os.environ.get("FLEXARM_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if chromium is None:
        drawn.notes.append("Not measured: there is no Chromium; `make browser` installs Debian's.")
        return [drawn]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=SOFTWARE)

        def asked(path: Path, question: str, argument: float) -> Any:
            tab = browser.new_page(viewport=SIZE)
            tab.goto(path.resolve().as_uri())
            tab.wait_for_timeout(2000)
            answer = tab.evaluate(question, argument)
            tab.close()
            return answer

        for path in pages:
            rates = [asked(path, PICTURES, seconds) for _ in range(3)]
            rate = statistics.median(rates)
            met = "yes" if rate >= LIVELY else "**no**"
            drawn.add(path.stem, f"{rate:.0f} ({min(rates):.0f} .. {max(rates):.0f})", f">= {LIVELY:g}", met)
        for name in PLAYED:
            path = fa.play(name, folder / f"{name}-live.html", show=False)
            factor = asked(path, FACTOR, 0.2 * min(seconds, 1.0))
            step = asked(path, "() => flexarm.page.data.live.step", 0.0)
            n, size = len(fa.load(name).velocities), path.stat().st_size / 1e6
            met = "yes" if factor >= 1.0 else "**no**"
            alive.add(name, n, f"{1e3 * step:.3g} ms", f"{size:.2f} MB", f"{factor:.3g}", ">= 1", met)
        browser.close()
    drawn.notes.append(f"The page plays a result at {SIZE['width']} x {SIZE['height']}, drawn in software by Chromium.")
    alive.notes.append(
        "The real-time factor is the number of seconds of motion per second of computing, the best of five intervals."
    )
    return [drawn, alive]
