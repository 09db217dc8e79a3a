"""How poles of a closed loop move with a gain, a parameter, anything."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm import style
from flexarm.analysis.loops import linear_loop, looped
from flexarm.checks import POSITIVE, Fault, checked_array, checked_instance, checked_number, refused, shown
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.simulation.closed_loop import continuous, multipliers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = np.ndarray


RIGHT = 0.2
"""How far a figure reaches to the right of the imaginary axis, as a share of what it shows on the left."""


@final
@dataclass(frozen=True, eq=False)
class PoleMigration:
    """Poles of a closed loop over some values of something.

    Attributes
    ----------
    values : (values,)
    poles : (values, k) complex
        A column is one pole on its way [1/s]; minus infinity where nothing of a deviation is left at a next sample.
    period : float or None
        Of a sampled loop [s].
    name : str
        Of what changes.
    """

    values: Array
    poles: Array
    period: float | None = None
    name: str = ""

    @property
    def stable(self) -> Array:
        """At which of the values no pole grows, (values,)."""
        size = np.abs(np.where(np.isfinite(self.poles), self.poles, 0.0)).max(axis=1)
        return self.poles.real.max(axis=1) <= 1e-9 * size

    def figure(self, size: float | None = None) -> "Figure":
        """The poles' ways in the complex plane, from a circle to a cross, no farther than `size` [1/s] if given."""
        with refused("PoleMigration.figure"):
            size = None if size is None else checked_number(size, "1/s", POSITIVE, "size")
        drawn = style.figure(6.4, 4.8, layout="constrained")
        axes = drawn.subplots()
        style.s_plane(axes)
        for i, way in enumerate(np.where(np.isfinite(self.poles), self.poles, np.nan).T):
            seen = np.isfinite(way)
            if size is not None:
                seen &= (way.real >= -size) & (way.real <= RIGHT * size) & (np.abs(way.imag) <= size)
            if seen.any():
                axes.plot(way.real, way.imag, **style.curve(i))
            for k, marker in ((0, "o"), (-1, "x")):
                if seen[k]:
                    axes.plot(way.real[k], way.imag[k], **style.points(i, marker=marker))
        if size is not None:
            axes.set_xlim(-size, RIGHT * size)
            axes.set_ylim(-size, size)
        axes.set_title(f"{self.name or 'value'} from {self.values[0]:g} to {self.values[-1]:g}")
        return style.finished(drawn)


def pole_migration(
    model: Model,
    make: Callable[[float], Any],
    values: ArrayLike,
    q: ArrayLike | None = None,
    *,
    t: float | None = None,
    w: ArrayLike | None = None,
    name: str = "",
) -> PoleMigration:
    """The poles of a closed loop, each followed from value to value.

    From one value to the next poles are paired so that the sum of the distances to where they were heading is least.
    Poles of a sampled loop are paired as those of z.

    Parameters
    ----------
    make : function of a value
        It gives the controller or, where the arm changes, (controller, p) with values of its parameters, see `Model`.
    values : (k,)
        In the order in which the poles are followed.
    q, t, w
        Where the loop is looked at: those of `closed_loop`, with the same errors.
    name : str
        What the values are, for the figure.
    """
    with refused("pole_migration"):
        if not callable(make):
            raise Fault("make", f"is {shown(make)}; it must be a function of a value that gives a controller")
        checked_instance(name, str, "name")
        given = checked_array(values, "values")
        if given.ndim != 1 or not len(given):
            raise Fault("values", f"has shape {given.shape}; it must be numbers in a row")
    ways: list[Array] = []
    period = None
    for value in given.tolist():
        made = make(value)
        controller, p = made if isinstance(made, tuple) else (made, None)
        near = looped("pole_migration", model, controller, w, p)
        found = linear_loop("pole_migration", near, q, t)
        z, period = multipliers(found.model, found.phases, found.period), found.span
        if ways and len(z) != len(ways[0]):
            raise DescriptionError(
                f"pole_migration: {len(z)} poles at {value:g}, and {len(ways[0])} before; there must be as many"
            )
        ways.append(_followed(ways, z) if ways else z[np.lexsort((z.imag, z.real))])
    poles = np.array(ways, dtype=complex)
    return PoleMigration(given, poles if period is None else continuous(poles, period), period, name)


def _followed(ways: list[Array], z: Array) -> Array:
    """The poles in the order of those before, by where they were heading."""
    from scipy.optimize import linear_sum_assignment

    heading = 2.0 * ways[-1] - ways[-2] if len(ways) > 1 else ways[-1]
    near = np.minimum(np.abs(heading[:, None] - z), np.abs(ways[-1][:, None] - z))
    return z[linear_sum_assignment(near)[1]]
