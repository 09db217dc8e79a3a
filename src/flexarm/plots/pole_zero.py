"""Figures of poles and zeros."""

from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm import analysis, escape, style
from flexarm.arrays import Array
from flexarm.axes import checked_axes, finished, single
from flexarm.checks import Fault, refused, shown
from flexarm.errors import DescriptionError
from flexarm.plots.systems import named_systems

if TYPE_CHECKING:
    from collections.abc import Sequence

    from control.lti import LTI
    from matplotlib.axes import Axes

DAMPING = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
SPIRALS = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Damping ratios of the lines in the figure: for continuous systems those that can be told apart, and for discrete
systems."""

APART = np.radians(9.0)
"""Smallest angle between two lines on the paper [rad]."""


def draw_poles(
    systems: Any,
    *,
    sensors: "Sequence[Any] | None" = None,
    q: Any = None,
    ax: Any = None,
) -> "Axes":
    """Draw the poles and zeros of linear systems, with lines of equal damping ratio, and return the axes.

    For discrete systems the figure has the unit circle. Zeros are those from all inputs to all outputs. For those of
    one channel give `system["tip_y", "u_joint"]`.

    Parameters
    ----------
    systems : StateSpace, TransferFunction, Model, list of them or dict of them by name
        At most six systems of python-control, all continuous or all discrete. A `Model` is linearised about an
        equilibrium.
    sensors : list of Sensor, optional
        Measurements of a `Model`. Default: its coordinates and rates, from which there are no zeros.
    q : (n,), optional
        Configuration near which the equilibrium of a `Model` is sought. Default: at rest.
    ax : Axes, optional
        Axes of the figure. Default: a new figure.

    Raises
    ------
    DescriptionError
        If an argument is not a system, or if continuous and discrete systems are combined.
    """
    with refused("draw_poles"):
        found = named_systems(systems, sensors, q)
        kinds = {bool(each.dt) for each in found.values()}
        if len(kinds) > 1:
            raise Fault("systems", "has continuous and discrete systems; draw them separately")
        axes = checked_axes(ax)
        places = {name: (each.poles(), _zeros(name, each)) for name, each in found.items()}
    discrete = kinds.pop()
    plane: Any = single(axes, 5.4, 4.6)
    for i, (name, (s_p, s_z)) in enumerate(places.items()):
        for s, look, what in ((s_p, style.pole(i), "poles"), (s_z, style.zero(i), "zeros")):
            if len(s):
                plane.plot(s.real, s.imag, **look, label=escape.label(f"{name}: {what}"))
    if discrete:
        _draw_circle(plane)
        plane.set(xlabel="real part", ylabel="imaginary part", aspect="equal")
    else:
        style.s_plane(plane)
        _draw_rays(plane, np.concatenate([s for pair in places.values() for s in pair]))
    if plane.get_legend_handles_labels()[0]:
        plane.legend(loc="best")
    return finished(plane, axes)  # type: ignore[no-any-return]


def _zeros(name: str, system: "LTI") -> Array:
    import control

    if isinstance(system, control.StateSpace):
        try:
            return analysis.zeros(system)
        except DescriptionError:  # no output depends on an input
            return np.empty(0, dtype=complex)
    if max(system.ninputs, system.noutputs) > 1:
        must = "choose a channel, system[output, input], or give a StateSpace"
        raise Fault("systems", f"has {shown(name)}, a TransferFunction of several channels; {must}")
    return np.asarray(system.zeros(), dtype=complex)


def _draw_rays(plane: Any, s: Array) -> None:
    """Draw lines of equal damping in the left half plane, as far as they can be told apart at this scale."""
    across = np.abs(s.real).max(initial=0.0) or np.abs(s).max(initial=0.0) or 1.0
    upward = np.abs(s.imag).max(initial=0.0) or across
    left, right = -1.15 * across, 0.15 * across if s.real.max(initial=0.0) <= 0 else 1.15 * s.real.max()
    top = 1.15 * upward
    plane.set(xlim=(left, right), ylim=(-top, top))
    last = -np.inf
    for ratio in DAMPING:
        slope = np.sqrt(1 - ratio**2) / ratio
        angle = np.arctan2(1.0, slope * -left / top)  # from the imaginary axis, on the paper
        if not last + APART < angle < np.pi / 2 - APART or angle < APART:
            continue
        last = angle
        x = min(-left, top / slope)
        for side in (1, -1):
            plane.plot([0.0, -x], [0.0, side * x * slope], **style.RULE)
        _note(plane, ratio, -0.93 * x, 0.93 * x * slope)


def _draw_circle(plane: Any) -> None:
    """Draw the unit circle, and lines of equal damping ratio in it."""
    turn = np.linspace(0.0, 2 * np.pi, 361)
    plane.plot(np.cos(turn), np.sin(turn), **style.WANTED)
    plane.axhline(0.0, **style.RULE)
    plane.axvline(0.0, **style.RULE)
    for ratio in SPIRALS:
        w = np.linspace(0.0, np.pi / np.sqrt(1 - ratio**2), 200)
        z = np.exp((-ratio + 1j * np.sqrt(1 - ratio**2)) * w)
        for side in (1, -1):
            plane.plot(z.real, side * z.imag, **style.RULE)
        k = int(np.argmin(np.abs(np.angle(z) - 1.9)))
        _note(plane, ratio, z[k].real, z[k].imag)


def _note(plane: Any, ratio: float, x: float, y: float) -> None:
    plane.annotate(f"{ratio:g}", (x, y), color=style.SOFT, fontsize=style.TINY, ha="center", va="center")
