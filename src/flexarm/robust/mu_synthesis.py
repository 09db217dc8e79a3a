"""Controllers for uncertain plants by D-K iteration."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from scipy import linalg

from flexarm.analysis.balance import computing
from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.checks import checked_integer, counted, refused
from flexarm.errors import DescriptionError, NotReached
from flexarm.robust.mu import Block, Scaled, bounded, checked_blocks
from flexarm.robust.peaks import Peak, proven_peak
from flexarm.robust.synthesis import Synthesis, hinf_synthesis
from flexarm.robust.systems import Matrices, beside, series

if TYPE_CHECKING:
    import control

MOST_ITERATIONS, MOST_ORDER = 50, 12
"""Largest numbers of iterations, and of states of a scaling."""
PER_DECADE = 12
"""Frequencies per decade at which the scalings are computed."""
BEYOND = 1.0
"""Decades below the slowest and above the fastest pole that these frequencies cover."""
SLOWEST = 1e-6
"""Size of a pole, in units of the fastest, below which it does not extend the frequencies."""
IMPROVED = 1e-3
"""Relative decrease of mu that counts as one."""
FAILURES = 2
"""Number of iterations without such a decrease after which the iteration ends."""
FITTED = 0.005
"""Largest error of a fitted scaling as a logarithm, weighted by mu over its peak, with which no state is added."""
SIZE = 10.0
"""Logarithm by which the gain of a scaling at rest may exceed those at the frequencies."""


@final
@brief
@dataclass(frozen=True, eq=False)
class MuSynthesis:
    """A controller of `mu_synthesis` and the loop that it closes.

    Attributes
    ----------
    controller : control.StateSpace
        K with u = K y.
    closed : control.StateSpace
        Closed loop from w to z.
    mu : float
        Upper bound of mu of the closed loop, proven for all frequencies. Below 1 the loop is stable for all
        perturbations up to 1, and the gain of each performance block is below 1.
    frequency : float
        Frequency of the largest mu [rad/s].
    initial : float
        The same bound for the H-infinity controller, with which the iteration begins.
    peaks, norms : (k,)
        Largest mu after each iteration, and the H-infinity norm of the scaled loop.
    states : (k,)
        Number of states of the controller in each iteration.
    omega, values : (N,)
        Frequencies [rad/s], and an upper bound of mu of the closed loop there.
    """

    controller: "control.StateSpace"
    closed: "control.StateSpace"
    mu: float
    frequency: float
    initial: float
    peaks: Array
    norms: Array
    states: Array
    omega: Array
    values: Array


@computing("mu_synthesis")
def mu_synthesis(
    plant: "control.StateSpace",
    measured: int,
    controls: int,
    blocks: Sequence[int | tuple[int, int]],
    iterations: int = 4,
    order: int = 4,
) -> MuSynthesis:
    """Return a controller for all perturbations of a plant, by D-K iteration.

    The generalized plant is that of `hinf_synthesis`, with perturbations w = Delta z. The last block is usually a full
    one for the performance, from the exogenous inputs to the errors. Each iteration computes an H-infinity controller
    for the scaled plant D P D^-1, then scalings D that minimise the bound of mu at frequencies, and fits their sizes by
    stable transfer functions with stable inverses, one for each block. The result is the best of all iterations: G.
    Balas, J. C. Doyle, K. Glover, A. Packard and R. Smith, mu-Analysis and Synthesis Toolbox, 1993; S. Skogestad and I.
    Postlethwaite, Multivariable Feedback Control, 2005, section 8.12. The iteration finds no global optimum.

    Parameters
    ----------
    plant : control.StateSpace
        Continuous, with the inputs (w, u) and the outputs (z, y).
    measured, controls : int
        Numbers of measured signals y and of controls u.
    blocks : list of int or (int, int)
        Perturbations in the order of w and z, as in `mu_bound`: the size of a complex number times an identity matrix,
        or the numbers of rows and columns of a full matrix. Real parameters count as complex numbers.
    iterations : int
        Largest number of controllers after the first. The iteration ends early if mu no longer decreases.
    order : int
        Largest number of states of the scaling of a block. The controller has two more states for each of them and for
        each signal of the block.

    Raises
    ------
    DescriptionError
        As in `hinf_synthesis`, or if the blocks do not fit the plant.

    Warns
    -----
    NotReached
        If an iteration finds no controller, as rounding prevents it.
    """
    where = "mu_synthesis"
    given = Matrices.of(where, plant)
    first = hinf_synthesis(plant, measured, controls)
    z, w = len(given.D) - measured, given.D.shape[1] - controls
    with refused(where):
        structure, rows, columns = checked_blocks(blocks, "complex", (z, w))
        iterations = checked_integer(iterations, MOST_ITERATIONS, "iterations")
        order = checked_integer(order, MOST_ORDER, "order")
    if len(structure) < 2:
        raise DescriptionError(f"{where}: blocks has {counted(1, 'block')}, which needs no scaling; use hinf_synthesis")
    owners = np.repeat(np.arange(len(structure)), [each.size for each in structure])

    def analysed(found: Synthesis) -> Peak:
        closed = _padded(Matrices.of(where, found.closed).balanced, rows, columns, len(owners))
        return proven_peak(
            closed, lambda M, enough: bounded(M, structure, enough), lambda D, level: level**2 * D, 0.0, _grid(closed.A)
        )

    found, peak = first, analysed(first)
    best, lowest = found, peak
    peaks, norms, states = [peak.values.max()], [first.norm], [first.controller.nstates]
    initial, failures = peak.upper, 0
    for _ in range(iterations):
        closed = _padded(Matrices.of(where, found.closed).balanced, rows, columns, len(owners))
        omega = peak.omega[(peak.omega > 0.0) & np.isfinite(peak.omega)]
        sizes, mu = _scalings(closed, structure, omega)
        filters = [_fitted(omega, each, mu / mu.max(), order) for each in sizes]
        scaled = _scaled(where, given, filters, owners, rows, columns, measured, controls)
        try:
            next_found = hinf_synthesis(scaled.state_space(), measured, controls)
        except DescriptionError as error:
            warnings.warn(
                f"{where}: iteration {len(peaks)} found no controller for the scaled plant; the best earlier one is "
                "returned; remove states without effect and very slow poles from the plant, or lower the order "
                f"({error})",
                NotReached,
                stacklevel=2,
            )
            break
        K = next_found.controller
        loop = plant.lft(K)
        found = Synthesis(K, loop, next_found.gamma, next_found.best, next_found.norm, next_found.frequency)
        peak = analysed(found)
        peaks.append(peak.values.max())
        norms.append(next_found.norm)
        states.append(K.nstates)
        failures = 0 if peak.values.max() < (1.0 - IMPROVED) * lowest.values.max() else failures + 1
        if peak.upper < lowest.upper:
            best, lowest = found, peak
        if failures == FAILURES:
            break
    K = best.controller
    names = first.controller
    K = Matrices.of(where, K).state_space(inputs=names.input_labels, outputs=names.output_labels)
    history = [np.array(each) for each in (peaks, norms, states)]
    return MuSynthesis(
        K,
        best.closed,
        lowest.upper,
        lowest.frequency,
        initial,
        history[0],
        history[1],
        history[2],
        lowest.omega,
        lowest.values,
    )


def _padded(G: Matrices, rows: Array, columns: Array, n: int) -> Matrices:
    """Return the system with empty inputs and outputs, so that each block is square."""
    B, C, D = np.zeros((G.order, n)), np.zeros((n, G.order)), np.zeros((n, n))
    B[:, columns], C[rows], D[np.ix_(rows, columns)] = G.B, G.C, G.D
    return Matrices(G.A, B, C, D)


def _grid(A: Array) -> Array:
    size = np.abs(linalg.eigvals(A))
    size = size[size > SLOWEST * size.max(initial=0.0)]
    low, high = (size.min(), size.max()) if len(size) else (1.0, 1.0)
    count = int(PER_DECADE * (np.log10(high / low) + 2.0 * BEYOND)) + 1
    return np.geomspace(low / 10.0**BEYOND, high * 10.0**BEYOND, count)


def _scalings(closed: Matrices, blocks: Sequence[Block], omega: Array) -> tuple[Array, Array]:
    """Return the sizes of the scalings of each block but the last (blocks - 1, N), in units of the last, and mu."""
    # one number for each block, which is what the transfer functions have
    simple = [Block(each.size, "full") for each in blocks]
    found: list[Scaled] = [bounded(closed.frequency(w), simple) for w in omega]
    ends = np.cumsum([0, *(each.size for each in blocks)])[:-1]
    d = np.sqrt(np.array([np.diagonal(each.D).real[ends] for each in found]))
    return (d[:, :-1] / d[:, -1:]).T, np.array([each.upper for each in found])


def _fitted(omega: Array, size: Array, weight: Array, order: int) -> Matrices:
    """Return a stable system with a stable inverse, whose gain has given sizes at the frequencies.

    The logarithm of the size is fitted with the fewest states for which the weighted error is small.
    """
    from scipy.optimize import least_squares

    wanted = np.log(size)
    center = float(np.exp(np.mean(np.log(omega))))
    s = 1j * omega / center
    spread = float(np.log(omega.max() / center)) or 1.0
    parameters = np.array([float(np.average(wanted, weights=weight))])

    def logarithm(x: Array) -> Array:
        found = np.full(len(s), x[0])
        for sign, roots in ((1.0, x[1::2]), (-1.0, x[2::2])):
            for a in np.exp(roots):
                found += sign * np.log(np.abs(s / a + 1.0))
        return found

    def residual(x: Array) -> Array:
        return weight * (logarithm(x) - wanted)

    for _ in range(order):
        error = residual(parameters)
        if np.abs(error).max() < FITTED:
            break
        tries = []
        for at in np.linspace(-spread, spread, 7):
            for step in (-0.5, 0.5):
                start = np.append(parameters, [at + step, at - step])
                # roots beyond the frequencies would only make the matrices stiff
                most = np.append(np.abs(wanted).max() + SIZE, np.full(len(start) - 1, spread))
                found = least_squares(residual, np.clip(start, -most, most), bounds=(-most, most), max_nfev=60)
                tries.append((found.cost, found.x))
        parameters = min(tries, key=lambda each: each[0])[1]
    k, zeros, poles = np.exp(parameters[0]), np.exp(parameters[1::2]), np.exp(parameters[2::2])
    system = Matrices.gain(np.array([[k]]))
    for a, b in zip(zeros * center, poles * center, strict=True):
        # (s / a + 1) / (s / b + 1) = b / a + (1 - b / a) b / (s + b)
        system = series(system, Matrices(*(np.array([[x]]) for x in (-b, b, 1.0 - b / a, b / a))))
    return system


def _inverse(G: Matrices) -> Matrices:
    D = np.linalg.inv(G.D)
    return Matrices(G.A - G.B @ D @ G.C, G.B @ D, -D @ G.C, D)


def _scaled(
    where: str,
    P: Matrices,
    filters: Sequence[Matrices],
    owners: Array,
    rows: Array,
    columns: Array,
    measured: int,
    controls: int,
) -> Matrices:
    """Return D P D^-1 with the filters on the signals of their blocks."""

    def all_of(places: Array, more: int, systems: Sequence[Matrices]) -> Matrices:
        one = Matrices.gain(np.eye(1))
        chosen = [systems[i] if i < len(systems) else one for i in owners[places]]
        return beside(*chosen, *[one] * more)

    right = all_of(columns, controls, [_inverse(each) for each in filters])
    left = all_of(rows, measured, filters)
    return series(series(right, P), left).balanced
