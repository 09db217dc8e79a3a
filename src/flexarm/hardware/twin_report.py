"""Report of a twin as Markdown or HTML."""

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from io import BytesIO
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Section:
    """A section of a report: a text, and a table whose first row is its head."""

    title: str
    text: str
    rows: tuple[tuple[str, ...], ...]


def sections(twin: Any) -> list[Section]:
    """Return the sections of a twin's report."""
    found, check = twin.identification, twin.validation
    values = [
        (name, f"{value:.5g}", f"{found.errors[name]:.2g}", f"{100 * found.errors[name] / abs(value):.2g} %")
        for name, value in found.values.items()
    ]
    return [
        Section("Identification", "", (("parameter", "estimate", "standard error", "relative"), *values)),
        Section("Fit", "100 % is perfect, 0 % is no better than the mean of the data.", _fits(found.fit, check.fit)),
        Section("Residuals", *_residuals(twin)),
        _shaper(twin),
        _controller(twin),
    ]


def _fits(fitted: Any, withheld: Any) -> tuple[tuple[str, ...], ...]:
    rows: list[tuple[str, ...]] = [("output", "fitted data", "withheld data")]
    for output in fitted.output.values:
        a, b = (f"{float(x.sel(output=output).mean()):.1f} %" for x in (fitted, withheld))
        rows.append((str(output), a, b))
    return tuple(rows)


def _residuals(twin: Any) -> tuple[str, tuple[tuple[str, ...], ...]]:
    rows: list[tuple[str, ...]] = [("output", "largest correlation at another time", "bound", "white")]
    for (_, output), each in twin.identification.whiteness.items():
        most = np.abs(each.correlation[1:]).max()
        rows.append((output, f"{most:.3f}", f"{each.bound:.3f}", "yes" if each.white else "no"))
    text = "The residuals of a frequency response have no order in time."
    if len(rows) > 1:
        text = "White residuals have no correlation in time above the bound. Otherwise the model misses an effect."
    indistinct = twin.identification.indistinct
    if indistinct:
        text += " The data hardly determine: " + "; ".join(each.text for each in indistinct) + "."
    return text, tuple(rows) if len(rows) > 1 else ()


def _shaper(twin: Any) -> Section:
    hertz, error = twin.frequency / (2 * np.pi), twin.frequency_error / (2 * np.pi)
    text = (
        f"The slowest mode with the drives held has {hertz:.4g} Hz ({twin.frequency:.4g} rad/s), standard error "
        f"{error:.2g} Hz, and a damping ratio of {100 * twin.damping_ratio:.2g} %. At two "
        f"standard errors below and above, the ZVD shaper leaves {100 * twin.residual[0]:.2g} % "
        f"and {100 * twin.residual[2]:.2g} % of the vibration without shaper."
    )
    pairs = zip(twin.shaper.times, twin.shaper.amplitudes, strict=True)
    return Section("Shaper", text, (("time [s]", "amplitude"), *((f"{t:.4g}", f"{a:.4g}") for t, a in pairs)))


def _controller(twin: Any) -> Section:
    motion = ("end of the reference [s]", "residual vibration of the tip [mm]", "settling of the tip [s]")
    rows: list[tuple[str, ...]] = [("reference", *motion, "largest input")]
    for name, each in (("plain", twin.unshaped), ("shaped", twin.shaped)):
        settled = "never" if np.isinf(each.tip_settling) else f"{each.tip_settling:.3g}"
        rows.append((name, f"{each.arrival:.3g}", f"{1e3 * each.residual:.3g}", settled, f"{each.peak:.3g}"))
    text = (
        f"LQR with the torques of the slow motion, on the estimates of a Kalman filter, sampled every "
        f"{twin.controller.period:g} s, in a simulation of the twin. Vibration and settling count from the end of each "
        "reference. This controller damps the vibration actively; the shaper also lowers the inputs."
    )
    return Section("Controller", text, tuple(rows))


def markdown(title: str, parts: Sequence[Section]) -> str:
    """Return a report as Markdown."""
    lines = [f"# {title}"]
    for part in parts:
        lines += ["", f"## {part.title}"] + (["", part.text] if part.text else [])
        if part.rows:
            head, *rows = part.rows
            lines += ["", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(r)} |" for r in rows)]
    return "\n".join(lines) + "\n"


STYLE = "body{font:16px system-ui,sans-serif;max-width:60em;margin:2em auto}td,th{padding:.2em 1em;text-align:left}"


def html(title: str, parts: Sequence[Section], figures: Mapping[str, Callable[[], Any]]) -> str:
    """Return a report as an HTML page that contains its figures."""
    lines = ["<!doctype html>", '<html lang="en"><head><meta charset="utf-8">', f"<title>{escape(title)}</title>"]
    lines += [f"<style>{STYLE}</style></head><body>", f"<h1>{escape(title)}</h1>"]
    for part in parts:
        lines += [f"<h2>{escape(part.title)}</h2>"] + ([f"<p>{escape(part.text)}</p>"] if part.text else [])
        if part.rows:
            head, *rows = part.rows
            lines.append("<table><tr>" + "".join(f"<th>{escape(x)}</th>" for x in head) + "</tr>")
            lines += ["<tr>" + "".join(f"<td>{escape(x)}</td>" for x in row) + "</tr>" for row in rows]
            lines.append("</table>")
    for name, plot in figures.items():
        lines.append(f'<h2>{escape(name)}</h2><img alt="{escape(name)}" src="data:image/png;base64,{_picture(plot)}">')
    return "\n".join([*lines, "</body></html>"]) + "\n"


def _picture(plot: Callable[[], Any]) -> str:
    axes = np.ravel(np.asarray(plot(), dtype=object))
    figure, file = axes[0].figure, BytesIO()
    figure.savefig(file, format="png", dpi=90)
    return base64.b64encode(file.getvalue()).decode()
