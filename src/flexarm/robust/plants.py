"""Generalized plants and weights for H-infinity synthesis."""

from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm.analysis.balance import computing
from flexarm.checks import NOT_NEGATIVE, POSITIVE, checked_integer, checked_number, counted, refused
from flexarm.control.systems import system_of
from flexarm.errors import DescriptionError
from flexarm.robust.systems import Matrices, beside, series, wired

if TYPE_CHECKING:
    import control

HIGHEST = 20
"""Largest order of a weight."""


@computing("weight")
def weight(low: float, crossover: float, high: float, order: int = 1) -> "control.StateSpace":
    """Return a weight that changes from one gain to another, with the gain 1 at a frequency.

    W(s) = ((h s + l b) / (s + b))^order, h = high^(1 / order), l = low^(1 / order)

    Parameters
    ----------
    low, high : float
        Gains at zero frequency and at high frequencies, one below 1 and one above. The inverse of a weight is the
        desired bound: an error weight with low = 100 allows an error of 1 % at rest.
    crossover : float
        Frequency at which the gain is 1 [rad/s].
    order : int
        Number of states. The gain changes by a factor of 10^order per decade.
    """
    with refused("weight"):
        low, high = checked_number(low, "", NOT_NEGATIVE, "low"), checked_number(high, "", NOT_NEGATIVE, "high")
        crossover = checked_number(crossover, "rad/s", POSITIVE, "crossover")
        order = checked_integer(order, HIGHEST, "order", 1)
    if not min(low, high) < 1.0 < max(low, high):
        raise DescriptionError(
            f"weight: low is {low:g} and high {high:g}; one of them must be below 1 and one above, so that the gain is "
            "1 at the crossover"
        )
    l, h = low ** (1.0 / order), high ** (1.0 / order)
    b = crossover * np.sqrt((1.0 - h**2) / (l**2 - 1.0))
    one = Matrices(np.array([[-b]]), np.array([[b]]), np.array([[l - h]]), np.array([[h]]))
    found = one
    for _ in range(order - 1):
        found = series(found, one)
    return found.state_space()


@computing("four_block")
def four_block(
    plant: "control.StateSpace",
    error: Any = 1.0,
    effort: Any = 1.0,
    disturbance: Any = 1.0,
    noise: Any = 1.0,
) -> "control.StateSpace":
    """Return the generalized plant of a feedback loop with disturbances at its inputs and noise at its outputs.

        e = -(G (u + Wd d) + Wn n),    z = (We e, Wu u)

    The exogenous inputs are w = (d, n), the errors z, the controls u and the measured signals e. A controller u = K e
    is the one of `control.Linear` with a reference, which feeds back r - y. H-infinity synthesis makes all four blocks
    from w to z small: sensitivity, complementary sensitivity, and the two between them. The disturbance at the inputs
    keeps the controller from cancelling lightly damped modes, and allows plants with rigid-body modes.

    Parameters
    ----------
    plant : control.StateSpace
        G, a continuous linear model, such as `model.linearize(..., outputs=...)`.
    error, effort, disturbance, noise : float, array, StateSpace or TransferFunction
        Weights. A number or a system with one input and one output applies to each channel. An array has one gain for
        each channel. Other systems have an input and an output for each channel. `effort` and `noise` must not vanish
        at high frequencies.

    Returns
    -------
    control.StateSpace
        Inputs (d, n, u) and outputs (z, e), for `hinf_synthesis(P, measured=G.noutputs, controls=G.ninputs)`.
    """
    where = "four_block"
    G = Matrices.of(where, plant)
    p, m = G.D.shape
    We, Wu, Wd, Wn = (
        sized(where, name, given, count)
        for name, given, count in (
            ("error", error, p),
            ("effort", effort, m),
            ("disturbance", disturbance, m),
            ("noise", noise, p),
        )
    )
    # v = (into G, We, Wu, Wd, Wn), y = (outputs of the same), w = (d, n, u), z = (We e, Wu u, e)
    system = beside(G, We, Wu, Wd, Wn)
    v = np.split(np.arange(3 * m + 2 * p), np.cumsum([m, p, m, m]))
    y = np.split(np.arange(3 * p + 2 * m), np.cumsum([p, p, m, m]))
    F, Gw = np.zeros((3 * m + 2 * p, 3 * p + 2 * m)), np.zeros((3 * m + 2 * p, 2 * m + p))
    d, n, u = np.arange(m), m + np.arange(p), m + p + np.arange(m)
    F[v[0], y[3]] = 1.0
    F[v[1], y[0]] = F[v[1], y[4]] = -1.0
    Gw[v[0], u] = Gw[v[2], u] = Gw[v[3], d] = Gw[v[4], n] = 1.0
    H, J = np.zeros((2 * p + m, 3 * p + 2 * m)), np.zeros((2 * p + m, 2 * m + p))
    H[np.arange(p), y[1]] = H[p + np.arange(m), y[2]] = 1.0
    H[p + m + np.arange(p), y[0]] = H[p + m + np.arange(p), y[4]] = -1.0
    found = wired(where, system, F, Gw, H, J)
    inputs = [*(f"d_{name}" for name in plant.input_labels), *(f"n_{name}" for name in plant.output_labels)]
    outputs = [*(f"z_{name}" for name in (*plant.output_labels, *plant.input_labels))]
    return found.state_space(inputs=[*inputs, *plant.input_labels], outputs=[*outputs, *plant.output_labels])


def sized(where: str, name: str, given: Any, count: int) -> Matrices:
    """Return a weight with `count` inputs and outputs."""
    if isinstance(given, list | tuple | np.ndarray) and np.ndim(given) == 1:
        if len(given) != count:
            raise DescriptionError(f"{where}: {name} has {counted(len(given), 'number')}; it must have {count}, or one")
        given = np.diag(given)
    system = system_of(f"{where}: {name}", given)
    if system.dt:
        raise DescriptionError(f"{where}: {name} is discrete; give a continuous weight")
    found = Matrices(system.A, system.B, system.C, system.D)
    if found.D.shape == (1, 1):
        found = beside(*[found] * count)
    if found.D.shape != (count, count):
        raise DescriptionError(
            f"{where}: {name} has {counted(found.D.shape[1], 'input')} and {counted(len(found.D), 'output')}; it must "
            f"have {count} of each, or one"
        )
    return found
