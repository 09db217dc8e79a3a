"""First-order deviation of an arm from a motion that it does not make exactly, under feedback, before any run."""

import warnings

import numpy as np

from flexarm.arrays import Array
from flexarm.control.along import Motion, linear_models
from flexarm.control.tracking_gains import Gains, samples
from flexarm.errors import NotReached
from flexarm.model import Model
from flexarm.model.local import moved_by_joints

STEPS = 256
"""Number of steps of a motion in which the linear model, the gains and the defect are constant.

With a sampled controller it is the largest number, because a step is a whole number of periods.
"""
LOOKS = 8
"""Number of evaluations of the defect in each step."""
MUCH = 0.3
"""Share of the motion's length that a deviation may reach without a warning."""
LEAST = 1e-4
"""Deviation that is always allowed in each joint [rad or m], for motions of no length."""


def deviations(
    model: Model, motion: Motion, gains: Gains, period: float | None, begun: Array | None = None
) -> tuple[Array, Array]:
    """Times (k,) and deviations x - x_ref (k, 2n), from dx/dt = (A - B K) x + (0, d).

    d is the difference between the accelerations under u_ref at x_ref and those of x_ref. Integrals are left out. The
    initial deviation is zero. With `begun`, it is that of an undeformed arm whose joints have these rates.
    """
    from scipy.linalg import expm

    n, m = model.nv, len(model.inputs)
    count = STEPS if period is None else samples(motion.end, period)
    h = motion.end / STEPS if period is None else period
    each = -(-count // STEPS)  # samples in a step
    edges = h * np.minimum(np.arange(0, count + each, each), count)
    width = np.minimum(edges[1:], motion.end) - edges[:-1]
    middle = edges[:-1] + width / 2
    A, B = linear_models(model, motion, middle)
    looked = edges[:-1, None] + width[:, None] * (np.arange(LOOKS) + 0.5) / LOOKS
    q, qd = motion.states(looked.ravel())
    free = model.forward_dynamics(q, qd, motion.inputs(looked.ravel())).reshape(-1, LOOKS, n).mean(axis=1)
    ends = motion.states(np.minimum(edges, motion.end))[1]
    defect = np.zeros((len(middle), 2 * n, 1))
    defect[:, n:, 0] = free - np.diff(ends, axis=0) / width[:, None]
    flat = gains.K.reshape(len(gains.K), -1).T
    K = np.stack([np.interp(middle, gains.times, row) for row in flat], axis=1).reshape(-1, *gains.K.shape[1:])
    K = K[:, :, : 2 * n]
    if period is None:
        steps = expm(h * _square(A - B @ K, defect))
    else:
        driven = expm(h * _square(A, B, defect))
        F, G, more = np.split(driven[:, : 2 * n], [2 * n, 2 * n + m], axis=2)
        steps = _square(F - G @ K, more)
        steps[:, -1, -1] = 1.0
    start = np.zeros(2 * n + 1)
    start[-1] = 1.0
    if begun is not None:
        start[n : 2 * n] = moved_by_joints(model.arm) @ begun - motion.qd[0]
    found = [start]
    with np.errstate(over="ignore", invalid="ignore"):
        for step, taken in zip(steps, np.round(np.diff(edges) / h).astype(int), strict=True):
            x = found[-1]
            for _ in range(taken):
                x = step @ x
            found.append(x)
    return edges, np.array(found)[:, :-1]


def _square(*parts: Array) -> Array:
    """Concatenate matrices (k, rows, columns) horizontally and add rows of zeros until the result is square."""
    wide = np.concatenate(parts, axis=2)
    return np.pad(wide, ((0, 0), (0, wide.shape[2] - wide.shape[1]), (0, 0)))


def warn_of_defects(model: Model, motion: Motion, gains: Gains, period: float | None, begun: Array | None) -> None:
    """Warn if the joints deviate far from the motion, each measured by the square root of its inertia."""
    own = list(model.arm.driven)
    times, x = deviations(model, motion, gains, period, begun)
    root = np.sqrt(np.diag(model.mass_matrix(motion.q[-1])))[own]
    way = np.linalg.norm((motion.q - motion.q[-1])[:, own] * root, axis=1).max()
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.linalg.norm(x[:, own] * root, axis=1)
    if (off <= MUCH * way + LEAST * np.linalg.norm(root)).all():
        return
    k = int(np.argmax(np.nan_to_num(off, nan=np.inf)))
    i = own[int(np.argmax(np.abs(x[k, own]) * root))]
    size = f"deviates by about {abs(x[k, i]):.2g} {model.arm.units[i]}" if np.isfinite(x[k, i]) else "diverges"
    beside = f"{model.coordinates[i]} {size} at {times[k]:.3g} s"
    must = "give a slower reference, or the states and torques of a run or of an optimal motion"
    warnings.warn(f"Tracking: the arm cannot follow this motion, {beside}; {must}", NotReached, stacklevel=2)
