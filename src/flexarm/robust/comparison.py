"""A controller that is designed on a reduced model, compared with the complete arm."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm.analysis import Stability, Together, stability, together
from flexarm.analysis.balance import computing, eigenvalues
from flexarm.analysis.margins import is_stable
from flexarm.analysis.stability import shown_pole
from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.checks import NOT_NEGATIVE, POSITIVE, checked_number, counted, refused
from flexarm.control import Linear, Sampled
from flexarm.errors import DescriptionError
from flexarm.model import ModelLike, as_model
from flexarm.robust.systems import Matrices, series, wired
from flexarm.simulation.performance import Performance, performance
from flexarm.simulation.run import simulate
from flexarm.trajectory import Reference

if TYPE_CHECKING:
    import control
    import xarray

NONE = Together(*4 * (float("nan"),))
"""Margins of a loop that is not stable."""


@final
@brief
@dataclass(frozen=True, eq=False)
class Comparison:
    """A controller on a reduced model and on the complete arm; `str` is a table.

    Attributes
    ----------
    reduced_poles : (k,) complex
        Poles of the controller's continuous loop with the reduced model, the rightmost first [1/s].
    reduced_margins : Together
        Margins of this loop, with simultaneous changes at all inputs; NaN if it is not stable.
    full : Stability
        Poles and margins of the complete arm at the end of the reference, under the controller as it runs.
    run : Dataset or None
        Nonlinear run of the complete arm along the reference, or None if its loop is not stable.
    performance : Performance or None
        Performance of the run.
    """

    reduced_poles: Array
    reduced_margins: Together
    full: Stability
    run: "xarray.Dataset | None"
    performance: Performance | None

    def __str__(self) -> str:
        rows = [
            ("reduced model", self.reduced_poles[0], self.reduced_margins),
            ("complete arm", self.full.end.poles[0], self.full.end.together),
        ]
        lines = ["                rightmost pole [1/s]     disk margin   |S|      |T|"]
        for name, pole, each in rows:
            numbers = "   ".join(f"{x:<6.4g}" for x in (each.sensitivity, each.complementary))
            lines.append(f"{name:<15} {shown_pole(pole):<24} {each.disk:<13.4g} {numbers.rstrip()}")
        if self.performance is None:
            lines.append(f"no run: the loop with the complete arm is {self.full.end.verdict}")
        else:
            found = self.performance
            lines.append(
                f"run: error at arrival {found.error:.3g}, overshoot {100 * found.overshoot:.3g} %, residual vibration "
                f"of the tip {1e3 * found.residual:.3g} mm, peak input {found.peak:.4g}"
            )
        return "\n".join(lines)


@computing("compare_reduced")
def compare_reduced(
    model: ModelLike,
    controller: "control.StateSpace",
    reduced: "control.StateSpace",
    sensors: Sequence[Any],
    reference: Reference | ArrayLike,
    until: float,
    period: float | None = None,
    delay: float = 0.0,
) -> Comparison:
    """Return a controller's loop with the reduced model of its design, with the complete arm, and a nonlinear run.

    The complete arm has the modes that the reduced model lacks, its loop has the sampling and the delay, and the run
    has its nonlinear motion. A controller that excites a missing mode (spillover) shows as a loop that is not stable.

    Parameters
    ----------
    model : Model, Arm, str or path
        The complete arm.
    controller : control.StateSpace
        K with u = K (r - y), continuous.
    reduced : control.StateSpace
        Model for which the controller was designed, from all inputs to the readings y.
    sensors : list of Sensor
        Sensors that the controller reads, in the order of the reduced model's outputs.
    reference : Reference, float or (m,)
        Reference of all joints, from rest to rest.
    until : float
        Duration of the run [s], longer than the reference.
    period, delay : float
        Period and delay of the sampled controller [s]; without a period it is continuous.

    Raises
    ------
    DescriptionError
        If the systems do not fit each other or the arm.
    """
    where = "compare_reduced"
    with refused(where):
        model = as_model(model)
        until = checked_number(until, "s", POSITIVE, "until")
        delay = checked_number(delay, "s", NOT_NEGATIVE, "delay")
        period = None if period is None else checked_number(period, "s", POSITIVE, "period")
    if delay and period is None:
        raise DescriptionError(f"{where}: delay needs a period; give both")
    G, K = Matrices.of(where, reduced), Matrices.of(where, controller)
    if K.D.shape != G.D.T.shape:
        has = f"{counted(K.D.shape[1], 'input')} and {counted(len(K.D), 'output')}"
        raise DescriptionError(
            f"{where}: the controller has {has}; it must have {len(G.D)} and {G.D.shape[1]}, for the outputs and inputs"
            " of the reduced model"
        )
    signals = model.output_names(sensors)
    if len(signals) != len(G.D):
        raise DescriptionError(
            f"{where}: the sensors have {counted(len(signals), 'signal')}; the reduced model has "
            f"{counted(len(G.D), 'output')}: give the sensors of its outputs"
        )
    poles, found = _closed(where, G, K)
    law: Any = Linear(controller, sensors, reference)
    law = law if period is None else Sampled(law, period=period, delay=delay)
    full = stability(model, law)
    if not full.stable:
        return Comparison(poles, found, full, None, None)
    run = simulate(model, until, u=law, progress=False)
    return Comparison(poles, found, full, run, performance(run))


def _closed(where: str, G: Matrices, K: Matrices) -> tuple[Array, Together]:
    """Return the poles and the margins of the loop of K and G."""
    m = G.D.shape[1]
    L = series(G, K)
    closed = wired(where, L, -np.eye(m), np.eye(m), np.eye(m), np.zeros((m, m)))
    s, error = eigenvalues(closed.A)
    order = np.lexsort((s.imag, -s.real))
    stable = is_stable(s, error)
    # the margins need a loop without D: a static part is behind a filter far above all poles
    return s[order], together(_proper(L).state_space()) if stable else NONE


def _proper(L: Matrices) -> Matrices:
    """Return a loop without feedthrough matrix, by a filter a thousand times faster than its poles."""
    if not L.D.any():
        return L
    fastest = 1e3 * float(np.abs(np.linalg.eigvals(L.A)).max(initial=1.0))
    one = np.eye(len(L.D))
    return series(L, Matrices(-fastest * one, fastest * one, one, 0.0 * one))
