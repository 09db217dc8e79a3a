"""Migration of a closed loop's poles with a gain, a parameter, or any other value."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm import style
from flexarm.analysis.loops import linear_loop, looped
from flexarm.arrays import Array
from flexarm.axes import checked_axes, finished, single
from flexarm.brief import brief
from flexarm.checks import POSITIVE, Fault, checked_array, checked_instance, checked_number, counted, refused, shown
from flexarm.errors import DescriptionError
from flexarm.model import ModelLike, as_model
from flexarm.simulation.closed_loop import continuous, multipliers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


RIGHT = 0.2
"""Reach of a figure to the right of the imaginary axis, as a share of its reach to the left."""


@final
@brief
@dataclass(frozen=True, eq=False)
class PoleMigration:
    """Poles of a closed loop as functions of a value.

    Attributes
    ----------
    values : (values,)
    poles : (values, k) complex
        Each column is one pole [1/s]; minus infinity if a deviation vanishes at the next sample.
    period : float or None
        Period of a sampled loop [s].
    name : str
        Name of the value.
    """

    values: Array
    poles: Array
    period: float | None = None
    name: str = ""

    @property
    def stable(self) -> Array:
        """True for each value at which no pole is unstable, (values,)."""
        size = np.abs(np.where(np.isfinite(self.poles), self.poles, 0.0)).max(axis=1)
        return self.poles.real.max(axis=1) <= 1e-9 * size

    def figure(self, size: float | None = None) -> "Figure":
        """Return the figure of `plot`, which replaces this function."""
        warnings.warn("PoleMigration.figure is deprecated; use plot", DeprecationWarning, stacklevel=2)
        return self.plot(size).figure  # type: ignore[return-value]

    def plot(self, size: float | None = None, *, ax: Any = None) -> "Axes":
        """Draw the poles' paths in the complex plane, from a circle to a cross, and return the axes.

        Parameters
        ----------
        size : float, optional
            Largest distance from the origin to show [1/s].
        ax : Axes, optional
            Axes of the plane. Default: a new figure.
        """
        with refused("PoleMigration.plot"):
            size = None if size is None else checked_number(size, "1/s", POSITIVE, "size")
            given = checked_axes(ax)
        axes = single(given, 6.4, 4.8)
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
        return finished(axes, given)  # type: ignore[no-any-return]


def pole_migration(
    model: ModelLike,
    make: Callable[[float], Any],
    values: ArrayLike,
    q: ArrayLike | None = None,
    *,
    t: float | None = None,
    w: ArrayLike | None = None,
    name: str = "",
) -> PoleMigration:
    """Poles of a closed loop, each followed from value to value.

    From one value to the next, poles are paired so that the sum of their distances from the extrapolated poles is
    least. Poles of a sampled loop are paired in z.

    Parameters
    ----------
    make : function of a value
        Returns the controller or, if the arm changes, (controller, p) with values of its parameters, see `Model`.
    values : (k,)
        Values in the order in which the poles are followed.
    q, t, w
        State of the loop: those of `closed_loop`, with the same errors.
    name : str
        Name of the values, for the figure.
    """
    with refused("pole_migration"):
        model = as_model(model)
        if not callable(make):
            raise Fault("make", f"is {shown(make)}; it must be a function from a value to a controller")
        checked_instance(name, str, "name")
        given = checked_array(values, "values")
        if given.ndim != 1 or not len(given):
            raise Fault("values", f"has shape {given.shape}; it must be a list of numbers")
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
                f"pole_migration: {counted(len(z), 'pole')} at {value:g}, "
                f"and {len(ways[0])} before; the number must not change"
            )
        ways.append(_followed(ways, z) if ways else z[np.lexsort((z.imag, z.real))])
    poles = np.array(ways, dtype=complex)
    return PoleMigration(given, poles if period is None else continuous(poles, period), period, name)


def _followed(ways: list[Array], z: Array) -> Array:
    """The poles in the order of the previous ones, by their extrapolation."""
    from scipy.optimize import linear_sum_assignment

    heading = 2.0 * ways[-1] - ways[-2] if len(ways) > 1 else ways[-1]
    near = np.minimum(np.abs(heading[:, None] - z), np.abs(ways[-1][:, None] - z))
    return z[linear_sum_assignment(near)[1]]
