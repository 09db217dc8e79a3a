"""Figures of the reproduction of Lin & Lewis."""

from pathlib import Path
from typing import Any

import numpy as np

from flexarm import style
from flexarm.plots import save_figure
from flexarm_papers.lin_lewis import compute, zeros
from flexarm_papers.lin_lewis.claims_beam import LISTED


def draw(folder: Path) -> None:
    """Draw all figures into the folder."""
    for name, figure in (("beam", beam()), ("zeros", families()), ("influence", influence())):
        save_figure(figure, folder / f"lin-lewis-{name}.svg")


def beam() -> Any:
    """Draw example 4.2: printed and computed eigenvalues, zeros with two clamped-free and two pinned-pinned modes."""
    figure, (values, free, pinned) = _panels(1, 3, (12, 4))
    k = np.arange(1, 16)
    first, third, second, *rest = (float(x) for x in LISTED.split())
    values.semilogy(k, [first, second, third, *rest], **style.PRINTED, label="printed, in order")
    values.semilogy(k, compute.eigenvalues(), **style.points(0), label="ours")
    for text, at, place in (
        ("3.70e5 for 3.70e4", (2, second), (0.6, 3e6)),
        ("2320.64 for 2312.83", (1, first), (3, 5e3)),
    ):
        values.annotate(text, at, place, arrowprops={"arrowstyle": "->", "color": style.INK}, fontsize=style.TINY)
    values.set_xticks([1, 5, 10, 15])
    values.set_title("eigenvalues of inv(M_FF) U_FF")
    values.set_xlabel("number")
    values.set_ylabel("[1/s^2]")
    _plane(free, [1.0914j, 76.98j], compute.rigid_zeros("clamped-free"), "zeros, clamped-free")
    free.text(12, 76.98, "j76.98 printed\nj76.95 ours", va="center", fontsize=style.TINY)
    free.text(12, 8, "+-j1.0914 both", fontsize=style.TINY)
    _plane(pinned, [58.89 + 76.06j], compute.rigid_zeros("pinned-pinned"), "zeros, pinned-pinned")
    halved = _both_ways(compute.zeros_with_M_RF_halved())
    pinned.plot(halved.real, halved.imag, **style.points(1, markersize=2.5 * style.DOT), label="M_RF halved")
    for axes in (values, free, pinned):
        axes.legend(loc="lower right")
    figure.suptitle("Lin & Lewis 4.2: as printed, and ours")
    return style.finished(figure)


def _both_ways(z: Any) -> np.ndarray:
    """Return the zeros with their opposites and conjugates, each once."""
    every = [s for x in np.asarray(z, complex) for s in (x, -x, x.conjugate(), -x.conjugate())]
    return np.unique(np.round(every, 9))


def _plane(axes: Any, printed: list[complex], ours: np.ndarray, title: str) -> None:
    for z, look, label in ((printed, style.PRINTED, "printed"), (ours, style.points(0), "ours")):
        s = _both_ways(z)
        axes.plot(s.real, s.imag, **look, label=label)
    axes.axhline(0, **style.RULE)
    axes.axvline(0, **style.RULE)
    axes.set_xlim(-190, 190)
    axes.set_ylim(-190, 120)
    axes.set_title(title)
    axes.set_xlabel("real part [rad/s]")
    axes.set_ylabel("imaginary part [rad/s]")


def families() -> Any:
    """Draw the zeros of the hub's angle and of the tip's position against the number of modes, in four families."""
    figure, panels = _panels(2, 2, (10, 7.5), sharex=True)
    titles = ("angle of the hub: zeros +-j omega", "position of the tip: zeros +-s, the first two by size")
    for i, ((above, below), title, limits) in enumerate(zip(panels.T, titles, zeros.exact(), strict=True)):
        for f, name in enumerate(zeros.FAMILIES):
            counts = zeros.COUNTS[name]
            z = np.abs([zeros.first_two(name, n)[i] for n in counts])
            for k, fill in ((0, style.colour(f)), (1, "none")):
                mark = style.joined(f, linewidth=style.THIN, markerfacecolor=fill)
                above.semilogy(counts, z[:, k], label=name if k == 0 else None, **mark)
                below.loglog(counts, np.maximum(np.abs(z[:, k] / limits[k] - 1), 1e-12), **mark)
        for limit in limits:
            above.axhline(limit, **style.RULE)
        above.set_title(title)
        above.set_ylabel("|s| [rad/s]; dotted: exact")
        below.set_ylabel("relative error (filled: first, open: second)")
        below.set_xlabel("number of modes (hermite: functions)")
        below.set_xticks([2, 5, 10, 20], ["2", "5", "10", "20"])
        below.set_xticks([], minor=True)
    panels[0, 0].legend()
    figure.suptitle("Lin & Lewis 4.2: zeros belong to the output, not to the family")
    return style.finished(figure)


def influence() -> Any:
    """Draw the change of the joints' terms in example 4.3 against the vibration of the barrel."""
    figure, axes = _panels(1, 1, (6, 4))
    for i, rate in enumerate(compute.RATES):
        label = f"Coriolis and centrifugal terms, joints at {rate:g} rad/s"
        axes.loglog(100 * compute.AMPLITUDES, 100 * compute.influence(rate)[:, 1], **style.joined(i), label=label)
    inertia = 100 * compute.influence(compute.RATES[0])[:, 0]
    axes.loglog(100 * compute.AMPLITUDES, inertia, **style.joined(len(compute.RATES)), label="inertia matrix")
    axes.set_xlabel("vibration of the barrel [percent of its length]")
    axes.set_ylabel("change of the joints' terms [percent]")
    axes.set_title("Lin & Lewis 4.3: what the deflections do")
    axes.legend()
    return style.finished(figure)


def _panels(rows: int, columns: int, size: tuple[float, float], **more: Any) -> tuple[Any, Any]:
    figure = style.figure(*size, layout="constrained")
    return figure, figure.subplots(rows, columns, **more)
