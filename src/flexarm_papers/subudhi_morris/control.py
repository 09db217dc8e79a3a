"""Subudhi & Morris 2002, Figs. 7 and 8: the runs under the composite controller, as printed and corrected.

`Composite` contains two terms that the paper leaves out. The printed controller is in `gains`.
"""

import warnings
from functools import cache
from typing import Any, Literal

import numpy as np

from flexarm import Solver, simulate
from flexarm.control import Composite, ComputedTorque, Sampled
from flexarm.errors import UnstableStart
from flexarm.trajectory import reference_motion
from flexarm_papers.subudhi_morris.compute import KS, PULSE, Array, Rotor, apart, arm, model, response, tip_deflections
from flexarm_papers.subudhi_morris.gains import (
    ARRIVAL,
    END,
    KD,
    KP,
    NATURAL,
    REFERENCE,
    Printed,
    least_stiffness,
    reading,
)

LATE, UNTIL, PERIOD = ARRIVAL + 1.0, 4.0, 1e-3
STEADY = 0.01
"""Damping of the links with which eq. 69 with the links' angles is stable."""

LawName = Literal["corrected", "light", "slow", "rotors", "gains", "links"]
AS_PRINTED: tuple[LawName, ...] = ("rotors", "links", "gains")


# -- runs --------------------------------------------------------------------------------------------------------------


@cache
def design() -> Any:
    """Return the facts of the composite controller's design for the sampled arm."""
    return Composite(REFERENCE, KP, KD).law(model(arm("relative", KS)), PERIOD).facts


@cache
def tracked(name: LawName = "corrected", period: float | None = PERIOD) -> Any:
    """Return the run under a named controller.

    - `corrected`: the corrected composite controller
    - `light`: the same with a tenth of R
    - `slow`: the slow controller alone
    - `rotors`: as printed, the slow controller on the rotors' angles
    - `links`: as printed, on the links' angles, with 1 percent of damping in the links
    - `gains`: as printed, with the printed fast gains
    """
    K_p, K_d = design()["K_p"], design()["K_d"]
    laws: dict[LawName, Any] = {
        "corrected": Composite(REFERENCE, KP, KD),
        "light": Composite(REFERENCE, KP, KD, R=0.027),
        "slow": ComputedTorque(REFERENCE, KP, KD),
        "rotors": Printed(K_p, K_d, rotors=True),
        "links": Printed(K_p, K_d),
        "gains": Printed(*reading(*NATURAL, "zeta", least_stiffness("relative")[1], "relative")),
    }
    return follow(laws[name], period, STEADY if name == "links" else 0.0)


@cache
def on_absolute_rotors() -> Any:
    """Return the run of the corrected controller on an arm with absolute rotors, which Figs. 4 to 6 require."""
    return follow(Composite(REFERENCE, KP, KD), rotor="absolute")


def follow(law: Any, period: float | None = PERIOD, damping: float = 0.0, rotor: Rotor = "relative") -> Any:
    """Return the run under a controller."""
    law = Sampled(law, period) if period else law
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnstableStart)  # the study includes gains that do not stabilise the arm
        return simulate(model(arm(rotor, KS, damping=damping)), UNTIL, law, samples=2001, progress=False)


@cache
def off_by_eq_69(f1: bool) -> float:
    """Return the largest angle error of the rigid arm under eq. 69 as printed, or with f_1 of eq. 66 [rad]."""
    rigid = model(arm().rigid())

    def slow(t: float, q: Array, qd: Array) -> Array:
        r, rd, rdd = (x * END for x in eq_71(t))
        u = rigid.mass_matrix(q) @ (rdd + KD * (rd - qd) + KP * (r - q))
        return u + rigid.bias(q, qd) if f1 else u

    result = simulate(rigid, UNTIL, slow, samples=201, solver=Solver(method="rk4", step=0.02), progress=False)
    wanted = np.array([eq_71(t)[0] for t in result.time.values])[:, None] * END
    return float(np.abs(result.q.values - wanted).max())


def eq_71(t: float) -> tuple[float, float, float]:
    """Return the fraction of the distance, its rate [1/s] and its acceleration [1/s^2]."""
    s = min(t / ARRIVAL, 1.0)
    rate, acceleration = 30 * s**2 * (1 - s) ** 2, 60 * s * (1 - s) * (1 - 2 * s)
    return s**3 * (6 * s**2 - 15 * s + 10), rate / ARRIVAL, acceleration / ARRIVAL**2


# -- measures ----------------------------------------------------------------------------------------------------------


def off(result: Any) -> tuple[Array, Array, Array]:
    """Return the link angles' errors: at 2 s, the largest from 3 s on, and the largest overall [rad]."""
    t, error = result.time.values, np.abs(result.q.values[:, :2] - result.q_ref.values)
    return error[np.searchsorted(t, ARRIVAL - 1e-9)], error[t >= LATE].max(axis=0), error.max(axis=0)


def largest(result: Any, values: Array) -> tuple[Array, Array]:
    """Return the largest sizes overall and from 3 s on."""
    return np.abs(values).max(axis=0), np.abs(values[result.time.values >= LATE]).max(axis=0)


def left_over(result: Any, values: Array) -> Array:
    """Return the largest sizes from 3 s on, over the largest overall."""
    most, late = largest(result, values)
    return np.asarray(late / most)


def residual(result: Any, damping: float = 0.0, rotor: Rotor = "relative") -> Array:
    """Return the tips' largest deflections from 3 s on, over those that the bang-bang torque leaves."""
    free = tip_deflections(response(rotor, KS, damping), 2 * PULSE, UNTIL)
    return np.asarray(largest(result, result.deflection.values[..., 1])[1] / free)


def astray(result: Any) -> float:
    """Return the largest distance of the tip from that of a rigid arm on the reference [mm]."""
    there = model(arm().rigid()).tip(result.q_ref.values)[:, :3, 3]
    return 1e3 * float(np.linalg.norm(result.tip.values - there, axis=1).max())


def needed() -> Array:
    """Return the largest torques of the rigid arm on the reference [N m]."""
    rigid = model(arm().rigid())
    times = np.linspace(0.0, ARRIVAL, 101)
    return np.abs([rigid.inverse_dynamics(*reference_motion(REFERENCE, t)) for t in times]).max(axis=0)


def off_continuous() -> float:
    """Return the largest distance of the tip under the sampled controller from that under the continuous one [mm]."""
    return float(apart(tracked(), tracked(period=None)).max())
