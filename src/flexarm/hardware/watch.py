"""Plots of a run in real time in a browser, which another process serves from shared memory."""

import json
import subprocess  # noqa: TID251  (Python itself, with a program of this package)
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self, final

from flexarm.arrays import Array
from flexarm.errors import FlexarmError
from flexarm.exports.controller.library import Board
from flexarm.hardware import serve
from flexarm.hardware.transports import address, mapped
from flexarm.pictures.page import page
from flexarm.pictures.view import has_windows

SAFE = 16
"""Flag of the status of a sample with safe outputs."""

MOST_CURVES = 6
"""Curves of a plot, which are as many as there are colours."""


@final
class Watched:
    """Rows of a run, and the process that shows them: a context within which the run takes place.

    Attributes
    ----------
    rows : (count, width)
        State, inputs, latency, lateness and status of each sample, in shared memory.
    url : str
        Address of the page.
    """

    def __init__(self, found: Board, count: int, width: int, folder: Path, bridge: Any):
        words = mapped(folder / "rows", serve.HEAD + count * width)
        self.rows: Array = words[serve.HEAD :].view(float).reshape(count, width)
        self._count, self._finished, self._bridge = address(words), address(words, 1), bridge
        layout = {"width": width, "period": found.feedback.period, "safe": SAFE}
        (folder / "layout.json").write_text(json.dumps(layout), encoding="utf-8")
        (folder / "page.html").write_text(_page(found, width), encoding="utf-8")
        command = [sys.executable, "-I", serve.__file__, str(folder), *(["open"] if has_windows() else [])]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        port = self._process.stdout.readline().strip() if self._process.stdout else ""
        if not port:
            self._process.wait()
            raise FlexarmError("run_in_real_time: the page of the plots cannot be served; run without watch")
        self.url = f"http://127.0.0.1:{port}/"

    def published(self, count: int) -> None:
        """Show the rows up to this number, which no longer change."""
        self._bridge.flexarm_store(self._count, count)

    def __enter__(self) -> Self:
        sys.stderr.write(f"plots: {self.url}\n")
        sys.stderr.flush()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._bridge.flexarm_store(self._finished, 1)
        try:
            if kind is None:
                self._process.wait(2.0 * serve.PATIENCE)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self._process.kill()
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()


def _page(found: Board, width: int) -> str:
    """Return the page, which asks for rows."""
    model, arm = found.model, found.model.arm
    m = len(model.inputs)
    ns = width - m - 3
    delays = {"Latency": "outputs after the readings", "Lateness": "the arm's own samples"}
    plots = [
        *_plots("Coordinates", model.coordinates, arm.units, 1),
        *_plots("Inputs", model.inputs, arm.input_units, 1 + ns),
        *(_plot(title, "us", [name], [1 + ns + m + i], 1e6) for i, (title, name) in enumerate(delays.items())),
    ]
    data = {"title": f"{arm.name}: in real time", "period": float(found.feedback.period), "plots": plots}
    scripts = ["controls.js", "strips.js", "loop.js", "loop.css"]
    return page(f"{arm.name}: in real time", data, scripts, connects=True)


def _plots(title: str, names: Sequence[str], units: Sequence[str], first: int) -> list[dict[str, Any]]:
    """Return a plot for each unit, or more where there are many curves."""
    found = []
    for unit in dict.fromkeys(units):
        columns = [i for i, each in enumerate(units) if each == unit]
        for start in range(0, len(columns), MOST_CURVES):
            some = columns[start : start + MOST_CURVES]
            found.append(_plot(title, unit, [names[i] for i in some], [first + i for i in some]))
    return found


def _plot(title: str, unit: str, curves: list[str], columns: list[int], factor: float = 1.0) -> dict[str, Any]:
    return {"title": title, "unit": unit, "curves": curves, "columns": columns, "factor": factor}
