"""Iterative learning control: a run is repeated, and its feedforward improves."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.attitude import local
from flexarm.brief import brief
from flexarm.checks import POSITIVE, Fault, checked_instance, checked_number, checked_whole, counted, refused
from flexarm.control.equilibrium import equilibrium, rest
from flexarm.control.gains import actuated, actuators, designing
from flexarm.control.sum import Sum
from flexarm.errors import DescriptionError
from flexarm.model import Model, ModelLike, as_model
from flexarm.simulation.closed_loop import ClosedLoop
from flexarm.simulation.feedback import initial
from flexarm.simulation.inputs import Piecewise
from flexarm.simulation.law import Controller, Law, law_of
from flexarm.simulation.run import simulate
from flexarm.simulation.sampled import Sampled
from flexarm.trajectory import reference_values

if TYPE_CHECKING:
    import xarray as xr

LARGEST = 2000
"""Largest number of rows of G. Its decomposition then takes some seconds and 100 MB."""


@final
@brief
@dataclass(frozen=True, eq=False)
class Learned:
    """Result of `learn`.

    Attributes
    ----------
    feedforward : Piecewise
        Torques of the last run, to be added to the controller: `Sampled(Sum(feedforward, controller), period)`.
    errors : (trials + 1,)
        Root mean square of the error r - y in each run [rad or m]. The first run has no feedforward.
    expected : (trials + 1,)
        The same for the linear loop of the design, which begins with the error of the first run.
    result : Dataset
        The last run.
    """

    feedforward: Piecewise
    errors: Array
    expected: Array
    result: "xr.Dataset"


def learn(
    model: ModelLike,
    controller: Controller,
    until: float,
    period: float,
    trials: int = 10,
    weight: float = 1e-3,
    design: Model | None = None,
) -> Learned:
    """Repeat a run under a sampled controller, and learn the feedforward that makes the joints follow its reference.

    The error of a run at the samples is e = r - y, with the positions y of the actuators. The next run has the
    feedforward u + (G' G + rho)^-1 G' e, which minimises the expected e' e and rho times the squared change of u
    (norm-optimal learning, Amann, Owens & Rogers 1996). G is the response of the samples of y to those of u, from the
    linear model of the closed loop. If the loop is G, the errors are (1 + G G' / rho)^-1 e, so that each run is better
    than the one before.

    Parameters
    ----------
    model : Model, Arm, str or path
        The arm that moves.
    controller : Controller
        Controller with a reference, not yet `Sampled`. A run begins on this reference.
    until, period : float
        Duration of a run, a whole number of periods, and sampling period [s].
    trials : int
        Number of improvements.
    weight : float
        rho divided by the square of the largest singular value of G.
    design : Model, optional
        Model for G, if it differs from the arm that moves.

    Raises
    ------
    DescriptionError
        If the controller has no reference or several sampling periods, if the joints have couplings, or if the samples
        of all joints are more than 2000 numbers.
    """
    with refused("learn"):
        model = as_model(model)
        design = model if design is None else checked_instance(design, Model, "design")
        checked_number(period, "s", POSITIVE, "period")
        checked_number(until, "s", POSITIVE, "until")
        trials = checked_whole(trials, 1, "trials")
        checked_number(weight, "", POSITIVE, "weight")
        samples = round(until / period)
        given: Any = controller
        if isinstance(given, Sampled):
            raise Fault("controller", "is a Sampled; give the controller in it, which `learn` samples by its `period`")
    if abs(samples * period - until) > 1e-9 * until:
        raise DescriptionError(f"learn: until is {until} s; it must be a whole number of periods of {period} s")
    m = actuators("learn", model, period)
    if not 0 < samples * m <= LARGEST:
        given = f"{samples} samples of {counted(m, 'joint')}"
        raise DescriptionError(
            f"learn: a run has {given}; at most {LARGEST} numbers are allowed: choose a longer period"
        )
    law = law_of("learn: controller", controller, design, period)
    if law.reference is None or law.cycle > 1:
        why = "has no reference" if law.reference is None else "has several sampling periods"
        raise DescriptionError(f"learn: the controller {why}; give another one")
    times, B_T = period * np.arange(samples + 1), actuated(model)
    r = reference_values(law.reference, times[1:])
    with designing("learn"):
        G = response(design, law, period, samples)
        U, sizes, Vt = np.linalg.svd(G)
    rho = weight * sizes[0] ** 2
    gains = sizes / (sizes**2 + rho)
    u, runs, expected = np.zeros((samples, m)), [], []
    share, left = np.ones(len(sizes)), np.zeros(len(sizes))
    for trial in range(trials + 1):
        feedforward = Piecewise(times[:-1], u)
        both: Any = Sampled(Sum(feedforward, controller), period=period)
        result = simulate(model, until, u=both, samples=samples + 1, progress=False)
        e = (r - local(model.arm, result.q.values[1:]) @ B_T.T).ravel()
        runs.append(np.sqrt(np.mean(e**2)))
        parts = U.T @ e
        left = parts if not trial else left
        expected.append(np.sqrt(np.mean((share * left) ** 2)))
        share = share * rho / (sizes**2 + rho)
        if trial < trials:
            u = u + (Vt.T @ (gains * parts)).reshape(u.shape)
    return Learned(feedforward, np.array(runs), np.array(expected), result)


def response(model: Model, law: Law, period: float, samples: int) -> Array:
    """Return G, (samples m, samples m): the response of y at the samples 1, 2, ... to torques at the samples 0, 1, ....

    The closed loop is linear about the equilibrium at the end of the reference, or about its beginning if the reference
    does not come to rest. Joints are the fastest index.
    """
    assert law.reference is not None
    end = rest(law.reference)
    loop, (q, _) = ClosedLoop(model, law, period), initial(model, law.reference)
    t, x = 0.0, loop.start(q)
    if end is not None:
        t, x = end[0], loop.standing(end[0], loop.start(equilibrium(model, end[1])[0]))
    at = loop.deviations(t, x)
    A, B = at.closed(period)
    C = np.zeros((len(model.arm.driven), len(A)))
    C[:, : len(at.A)] = actuated(model) @ at.all_of[: model.nv]
    m, step = len(C), B[:, : len(C)]
    G = np.zeros((samples, m, samples, m))
    for k in range(samples):
        pulse = C @ step
        for i in range(k, samples):
            G[i, :, i - k] = pulse
        step = A @ step
    return G.reshape(samples * m, samples * m)
