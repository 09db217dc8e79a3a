"""When, where and why a run has failed."""

from collections.abc import Callable
from functools import partial

import numpy as np

from flexarm.errors import FlexarmError
from flexarm.model import Model
from flexarm.model.linear import without_inertia
from flexarm.simulation.layout import Layout
from flexarm.simulation.protocol import Input
from flexarm.simulation.rhs import Plan
from flexarm.simulation.solvers import Stretch

Array = np.ndarray

GROWN = 1e6
"""A run that failed from a coordinate or a rate beyond this, in SI units, has diverged."""

CLOSER = 64
"""Times at which the way to a failure is looked at again."""


def diagnosis(
    model: Model,
    drive: Input,
    layout: Layout,
    plan: Plan,
    solve: Callable[[float, Array, Array], Stretch],
    look: Callable[[Callable[[], Stretch]], Stretch],
    stretch: Stretch,
    t: float,
    x: Array,
) -> str:
    """What to say of a run that was last well at t in the state x; `look` does the solving once more."""
    if isinstance(plan.failure, FlexarmError):
        return str(plan.failure)
    reason = f" ({stretch.message})" if stretch.message else ""
    end, diverged = plan.time, stretch.diverged
    if diverged is not None and not np.isfinite(diverged[1]).all():
        end, diverged = diverged[0], None
    if diverged is None and end > t:
        plan.resume()
        closer = np.linspace(t, end, CLOSER + 1)[1:]
        seen = look(partial(solve, t, x, closer))
        t, x = (float(closer[len(seen.x) - 1]), seen.x[-1]) if len(seen.x) else (t, x)
    elif diverged is not None:
        t, x = diverged
    if np.abs(x[layout.motion]).max() > GROWN:
        names = [*model.coordinates, *(f"the rate of {name}" for name in model.coordinates)]
        largest = int(np.argmax(np.abs(x[layout.motion])))
        return f"diverged by t = {t:.6g} s: {names[largest]} had grown to {x[largest]:.3g}{reason}"
    q, qd = x[layout.q], x[layout.qd]
    for i, (low, total) in telescope_ranges(model).items():
        length = q[i] + qd[i] * max(end - t, 0.0)
        if min(length - low, total - length) < 1e-4 * total:
            allowed = f"its range from {low:g} to {total:g} m"
            return f"stopped at t = {end:.6g} s: {model.coordinates[i]}, a free length, would leave {allowed}"
    if fault := drive.fault(plan, model, t, x):
        return f"stopped at t = {end:.6g} s: {fault}"
    u = plan.u[: len(model.inputs)]
    rate = model.kernel(drive.quantity).one(np.concatenate([q, qd, u]))[layout.qd]
    bad = np.flatnonzero(~np.isfinite(rate))
    why = without_inertia(model, q)
    if why or len(bad):
        why = why or f"the acceleration of {model.coordinates[bad[0]]} is not a number"
        return f"stopped at t = {end:.6g} s: {why}{reason}"
    fastest = int(np.argmax(np.abs(rate)))
    name = model.coordinates[fastest]
    return f"could not meet the tolerance at t = {end:.6g} s: {name} accelerates at {rate[fastest]:.3g}{reason}"


def telescope_ranges(model: Model) -> dict[int, tuple[float, float]]:
    """Of every telescope the position of its free length among the coordinates, and the range of that [m]."""
    from flexarm.mechanics.chain import positions

    return {
        positions(own[1:])[position]: (low, high)
        for body, own in zip(model.chain.bodies, model.chain.own, strict=True)
        for position, low, high in body.limits
    }
