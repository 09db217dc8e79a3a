"""The house style: how every figure of the package looks, on paper, on a white page and on a dark one.

A figure lies on a white card of its own, so that it can be read wherever it is put; as SVG the card is dark where the
reader's pages are. Curves have colours that stand out from both cards, and dashes, widths or marks that tell them apart
without colour. What is drawn in several figures looks the same in all of them: the i-th link, joint or run has the i-th
colour and dashes, what is wanted is thin and dashed in the colour of the text, what was measured is broad and grey.

Nothing here changes matplotlib's own settings, which are the user's, and matplotlib is imported by the first figure.
"""

import io
import os
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER, INK = "#ffffff", "#1f2328"
DARK_PAPER, DARK_INK = "#16181d", "#d7dae0"
SOFT = "#808080"
"""Of the cards and what is written on them; grey for what lies beneath."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#997a00", "#7a6fc9")
"""Those of Okabe and Ito, for readers who see fewer colours, the light ones darkened."""

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
"""Widths of lines, in points: FINE is what stands around the curves."""

DOT = 4.0
"""Size of a mark, in points."""

SMALL, TINY, MEDIUM = 9.0, 8.0, 11.0
"""Sizes of letters, in points: the axes', a legend's, a title's."""

MANY = 240
"""Samples of a curve, where nobody says how many it has."""

WANTED: dict[str, Any] = {"color": INK, "linewidth": THIN, "linestyle": (0, (5, 3))}
"""A reference, what is exact."""

PRINTED: dict[str, Any] = {"color": INK, "linestyle": "", "marker": "x", "markersize": 5.2}
"""Numbers that a paper has printed."""

MEASURED: dict[str, Any] = {"color": SOFT, "linewidth": BROAD, "linestyle": "solid"}
"""What another curve is laid upon."""

BAND: dict[str, Any] = {"color": SOFT, "alpha": 0.35, "linewidth": 0.0}
"""Between which bounds something should be."""

MODEL: dict[str, Any] = {"color": INK, "linewidth": THIN, "linestyle": "solid"}
"""What is computed beside what was measured."""

RULE: dict[str, Any] = {"color": SOFT, "linewidth": THIN, "linestyle": (0, (1, 2))}
"""A line across the axes: zero, a limit."""


def colour(i: int) -> str:
    """Of the i-th of several things."""
    return COLOURS[i % len(COLOURS)]


def curve(i: int, samples: int = MANY, **more: Any) -> dict[str, Any]:
    """How the i-th of several curves is drawn: colour, dashes and, once these have all been used, marks.

    `samples` says of how many points it is; what is in `more` stands for what it would have: `linewidth`, `color`.
    """
    look: dict[str, Any] = {"color": colour(i), "linewidth": CURVE, "linestyle": DASHES[i % len(DASHES)]}
    return look | marked(i // len(DASHES), i, samples) | more


def marked(k: int, i: int = 0, samples: int = MANY) -> dict[str, Any]:
    """The k-th mark at a dozen of a curve's samples, the i-th curve's beside the others'; none for k = 0."""
    if not k % len(MARKS):
        return {}
    places = (samples * (i % 6) // 72, max(1, samples // 12))
    return {"marker": MARKS[k % len(MARKS)], "markersize": DOT, "markerfacecolor": "none", "markevery": places}


def points(i: int, **more: Any) -> dict[str, Any]:
    """How the i-th of several sets of points is drawn."""
    look: dict[str, Any] = {"color": colour(i), "linestyle": "", "markersize": DOT}
    return look | {"marker": MARKS[1 + i % (len(MARKS) - 1)], "markerfacecolor": "none"} | more


def pole(i: int) -> dict[str, Any]:
    """How the poles of the i-th of several systems are drawn."""
    return points(i) | {"marker": POLES[i % len(POLES)], "markersize": 1.6 * DOT}


def zero(i: int) -> dict[str, Any]:
    """How the zeros of the i-th of several systems are drawn."""
    return points(i) | {"marker": ZEROS[i % len(ZEROS)], "markersize": 1.4 * DOT}


def cloud(i: int, count: int) -> dict[str, Any]:
    """How a cloud of so many points is drawn, where many lie above each other."""
    return points(i) | {"marker": ".", "markersize": DOT / 2 if count > 300 else DOT, "alpha": 0.5}


def joined(i: int, **more: Any) -> dict[str, Any]:
    """How the i-th of several curves through few points is drawn: a mark at each."""
    return curve(i) | {"marker": MARKS[1 + i % (len(MARKS) - 1)], "markersize": DOT, "markevery": 1} | more


def upright(i: int) -> dict[str, Any]:
    """How the i-th of several sets of upright lines is drawn."""
    return {"colors": colour(i), "linestyles": [DASHES[i % len(DASHES)]], "linewidths": CURVE}


def bar(i: int, **more: Any) -> dict[str, Any]:
    """How the i-th of several bars is filled."""
    return {"facecolor": colour(i), "edgecolor": PAPER, "hatch": HATCHES[i % len(HATCHES)], "linewidth": FINE} | more


# -- figures -----------------------------------------------------------------------------------------------------------


def figure(width: float, height: float, dark: bool = False, **options: Any) -> "Figure":
    """An empty card [inches]; options are those of matplotlib's `Figure`."""
    from matplotlib.figure import Figure

    paper = DARK_PAPER if dark else PAPER
    return Figure(figsize=(width, height), facecolor=paper, gid="flexarm-dark" if dark else "flexarm", **options)


def s_plane(axes: Any) -> None:
    """Axes on which poles of continuous systems, or of sampled ones as such, are drawn."""
    axes.axhline(0.0, **RULE)
    axes.axvline(0.0, **RULE)
    axes.set(xlabel="real part [1/s]", ylabel="imaginary part [rad/s]")


def finished(figure: "Figure") -> "Figure":
    """The same figure, all that stands around its curves in the house style."""
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
    """Texts among these get the colour of the ink, and this size if they are larger."""
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
"""Matplotlib takes how it writes SVG and PDF from settings of the process."""

if hasattr(os, "register_at_fork"):  # a child that is forked meanwhile would find it held for ever
    os.register_at_fork(before=_SAVING.acquire, after_in_parent=_SAVING.release, after_in_child=_SAVING.release)

SETTINGS: Any = {"svg.fonttype": "none", "svg.hashsalt": "flexarm", "pdf.fonttype": 42, "ps.fonttype": 42}
"""Letters stay letters, which can be searched for and marked; the same figure is the same file."""

DATES = {"svg": "Date", "pdf": "CreationDate", "eps": "CreationDate", "ps": "CreationDate"}

TURNED = {PAPER: DARK_PAPER, INK: DARK_INK}


def rendered(figure: "Figure", suffix: str, dpi: float = 120) -> bytes:
    """A figure as a file of this kind, "png", "svg", "pdf", ...; raises `ValueError` for one matplotlib cannot write.

    Letters and curves of SVG and PDF are letters and curves. An SVG of a figure in the house style turns dark where the
    reader's pages are.
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
    """Rules of CSS that exchange the card's colours."""
    rules = [
        f'#flexarm [style*="{what}: {light}"] {{{what}: {dark} !important}}'
        for light, dark in TURNED.items()
        for what in ("fill", "stroke")
    ]
    return "\n@media (prefers-color-scheme: dark) {\n" + "\n".join(rules) + "\n}\n"
