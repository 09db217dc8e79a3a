"""House style of all figures, on paper, on a white page and on a dark one.

A figure has a white background of its own, so that it is readable on any page. As SVG the background is dark on dark
pages. The colours of curves contrast with both backgrounds. Dashes, widths or marks distinguish curves without colour.
The i-th link, joint or run has the same colour and dashes in all figures. Desired values are thin and dashed in the
colour of the text, and measured values are broad and grey.

This module does not change matplotlib's settings, which belong to the user. The first figure imports matplotlib.
"""

import io
import threading
from typing import TYPE_CHECKING, Any

from flexarm.forks import hold_at_forks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER, INK = "#ffffff", "#1f2328"
DARK_PAPER, DARK_INK = "#16181d", "#d7dae0"
SOFT = "#808080"
"""Colours of backgrounds and texts, and grey for elements in the background."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#997a00", "#7a6fc9")
"""Colours of Okabe and Ito for colour-blind readers, with the light ones darkened."""

DASHES: tuple[Any, ...] = (
    "solid",
    (0, (5, 1.6)),
    (0, (1, 1.3)),
    (0, (7, 1.5, 1, 1.5)),
    (0, (3, 1.2, 1, 1.2, 1, 1.2)),
    (0, (2.4, 1.3)),
)
HATCHES = ("", "///", "...", "xxx", "---")
POLES, ZEROS = ("x", "+", "1", "2", "3", "4"), ("o", "s", "D", "^", "v", "p")
MARKS = ("", "o", "s", "^", "D", "v", "X", "P", "<", ">", "p", "h")

CURVE, THIN, BROAD, FINE = 1.6, 0.9, 3.2, 0.6
"""Widths of lines, in points. FINE is for everything around the curves."""

DOT = 4.0
"""Size of a mark, in points."""

SMALL, TINY, MEDIUM = 9.0, 8.0, 11.0
"""Sizes of text, in points: of axes, legends and titles."""

MANY = 240
"""Default number of samples of a curve."""

WANTED: dict[str, Any] = {"color": INK, "linewidth": THIN, "linestyle": (0, (5, 3))}
"""Style of a reference or an exact value."""

PRINTED: dict[str, Any] = {"color": INK, "linestyle": "", "marker": "x", "markersize": 5.2}
"""Style of values printed in a paper."""

MEASURED: dict[str, Any] = {"color": SOFT, "linewidth": BROAD, "linestyle": "solid"}
"""Style of a curve on which another curve is drawn."""

BAND: dict[str, Any] = {"color": SOFT, "alpha": 0.35, "linewidth": 0.0}
"""Style of an area between bounds."""

MODEL: dict[str, Any] = {"color": INK, "linewidth": THIN, "linestyle": "solid"}
"""Style of computed values beside measured ones."""

RULE: dict[str, Any] = {"color": SOFT, "linewidth": THIN, "linestyle": (0, (1, 2))}
"""Style of a line across the axes, such as zero or a limit."""


def colour(i: int) -> str:
    """Return the colour of the i-th of several things."""
    return COLOURS[i % len(COLOURS)]


def curve(i: int, samples: int = MANY, **more: Any) -> dict[str, Any]:
    """Return the style of the i-th curve: colour, dashes and, after all dashes have been used, marks.

    `samples` is its number of points. Values in `more` override others: `linewidth`, `color`.
    """
    look: dict[str, Any] = {"color": colour(i), "linewidth": CURVE, "linestyle": DASHES[i % len(DASHES)]}
    return look | marked(i // len(DASHES), i, samples) | more


def marked(k: int, i: int = 0, samples: int = MANY) -> dict[str, Any]:
    """Return the k-th mark at about twelve samples of the i-th curve, at other places than those of other curves.

    There is no mark for k = 0.
    """
    if not k % len(MARKS):
        return {}
    places = (samples * (i % 6) // 72, max(1, samples // 12))
    return {"marker": MARKS[k % len(MARKS)], "markersize": DOT, "markerfacecolor": "none", "markevery": places}


def points(i: int, **more: Any) -> dict[str, Any]:
    """Return the style of the i-th of several sets of points."""
    look: dict[str, Any] = {"color": colour(i), "linestyle": "", "markersize": DOT}
    return look | {"marker": MARKS[1 + i % (len(MARKS) - 1)], "markerfacecolor": "none"} | more


def pole(i: int) -> dict[str, Any]:
    """Return the style of the poles of the i-th of several systems."""
    return points(i) | {"marker": POLES[i % len(POLES)], "markersize": 1.6 * DOT}


def zero(i: int) -> dict[str, Any]:
    """Return the style of the zeros of the i-th of several systems."""
    return points(i) | {"marker": ZEROS[i % len(ZEROS)], "markersize": 1.4 * DOT}


def cloud(i: int, count: int) -> dict[str, Any]:
    """Return the style of a cloud with this number of points, many of them overlapping."""
    return points(i) | {"marker": ".", "markersize": DOT / 2 if count > 300 else DOT, "alpha": 0.5}


def joined(i: int, **more: Any) -> dict[str, Any]:
    """Return the style of the i-th of several curves through few points, with a mark at each."""
    return curve(i) | {"marker": MARKS[1 + i % (len(MARKS) - 1)], "markersize": DOT, "markevery": 1} | more


def upright(i: int) -> dict[str, Any]:
    """Return the style of the i-th of several sets of vertical lines."""
    return {"colors": colour(i), "linestyles": [DASHES[i % len(DASHES)]], "linewidths": CURVE}


def bar(i: int, **more: Any) -> dict[str, Any]:
    """Return the style of the i-th of several bars."""
    return {"facecolor": colour(i), "edgecolor": PAPER, "hatch": HATCHES[i % len(HATCHES)], "linewidth": FINE} | more


# -- figures -----------------------------------------------------------------------------------------------------------


def figure(width: float, height: float, dark: bool = False, **options: Any) -> "Figure":
    """Return an empty figure of this size [inches]. Options are those of matplotlib's `Figure`."""
    from flexarm.figure import Figure

    paper = DARK_PAPER if dark else PAPER
    return Figure(figsize=(width, height), facecolor=paper, gid="flexarm-dark" if dark else "flexarm", **options)


def s_plane(axes: Any) -> None:
    """Set up axes for the poles of continuous systems, or for those of sampled systems in the s plane."""
    axes.axhline(0.0, **RULE)
    axes.axvline(0.0, **RULE)
    axes.set(xlabel="real part [1/s]", ylabel="imaginary part [rad/s]")


def finished(figure: "Figure") -> "Figure":
    """Return the same figure, with everything around its curves in the house style."""
    dark = figure.get_gid() == "flexarm-dark"
    paper, ink = (DARK_PAPER, DARK_INK) if dark else (PAPER, INK)
    for axes in figure.axes:
        axes.set_facecolor("none")
        axes.tick_params(which="both", colors=ink, labelsize=TINY, width=FINE)
        for spine in axes.spines.values():
            spine.set(color=ink, linewidth=FINE)
        if axes.axison:
            axes.grid(True, color=SOFT, alpha=0.3, linewidth=FINE, linestyle="-")
            axes.set_axisbelow(True)
        _write([axes.xaxis.label, axes.yaxis.label, *axes.get_children()], SMALL, ink)
        _write([axes.xaxis.get_offset_text(), axes.yaxis.get_offset_text()], TINY, ink)
        _dress([axes.get_legend()], paper, ink)
    _write(figure.get_children(), MEDIUM, ink)
    _dress(figure.legends, paper, ink)
    return figure


def _write(things: Any, size: float, ink: str) -> None:
    """Set the text colour, and reduce larger texts to this size."""
    from matplotlib.text import Text

    for text in things:
        if isinstance(text, Text):
            text.set_color(text.get_color() if text.get_color() in (SOFT, *COLOURS) else ink)
            text.set_fontsize(min(size, text.get_fontsize()))


def _dress(legends: Any, paper: str, ink: str) -> None:
    for legend in legends:
        if legend is not None:
            legend.get_frame().set(facecolor=paper, edgecolor=SOFT, alpha=0.75, linewidth=FINE)
            _write([*legend.get_texts(), legend.get_title()], TINY, ink)


# -- files -------------------------------------------------------------------------------------------------------------

_SAVING = threading.RLock()
"""Lock for writing SVG and PDF, since matplotlib's settings for them belong to the process."""

hold_at_forks(_SAVING)

SETTINGS: Any = {"svg.fonttype": "none", "svg.hashsalt": "flexarm", "pdf.fonttype": 42, "ps.fonttype": 42}
"""Settings with which texts stay texts that can be searched and selected, and equal figures give equal files."""

DATES = {"svg": "Date", "pdf": "CreationDate", "eps": "CreationDate", "ps": "CreationDate"}

TURNED = {PAPER: DARK_PAPER, INK: DARK_INK}


def rendered(figure: "Figure", suffix: str, dpi: float = 120) -> bytes:
    """Return a figure as a file of this kind, "png", "svg", "pdf", ... Raises `ValueError` for an unsupported kind.

    SVG and PDF contain texts and curves, not pixels. An SVG of a figure in the house style is dark on dark pages.
    """
    from matplotlib import rc_context

    content = io.BytesIO()
    metadata = {DATES[suffix]: None} if suffix in DATES else None
    with _SAVING, rc_context(SETTINGS):
        figure.savefig(content, format=suffix, dpi=dpi, metadata=metadata)
    if suffix != "svg" or figure.get_gid() != "flexarm":
        return content.getvalue()
    return content.getvalue().replace(b"</style>", _turning().encode() + b"</style>", 1)


def _turning() -> str:
    """Return CSS rules that exchange the colours of the background and of texts."""
    rules = [
        f'#flexarm [style*="{what}: {light}"] {{{what}: {dark} !important}}'
        for light, dark in TURNED.items()
        for what in ("fill", "stroke")
    ]
    return "\n@media (prefers-color-scheme: dark) {\n" + "\n".join(rules) + "\n}\n"
