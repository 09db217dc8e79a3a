"""Diagnosis of a failed run: when, where and why it failed."""

from collections.abc import Callable

import numpy as np

from flexarm.arrays import Array
from flexarm.attitude import configuration, local
from flexarm.errors import FlexarmError
from flexarm.model import Model, closures
from flexarm.model.linear import without_inertia
from flexarm.simulation.advance import Stretch
from flexarm.simulation.block import Block
from flexarm.simulation.divergence import beyond
from flexarm.simulation.layout import Layout
from flexarm.simulation.rhs import Plan

GROWN = 1e6
"""Size of a coordinate or rate, in SI units, above which a failed run counts as diverged."""

NEARLY = 0.1
"""Share of the bounds on deflections above which a failed run counts as diverged: a link bends by its own length."""

ALIGNED = 1e-4
"""Smallest eigenvalue of the scaled inertia matrix, relative to that at the start, below which axes of joints count as
parallel."""

CLOSER = 64
"""Number of times at which the last interval before a failure is sampled again."""


def diagnosis(
    model: Model,
    drive: Block,
    layout: Layout,
    plan: Plan,
    solve: Callable[[float, Array, Array], Stretch],
    stretch: Stretch,
    t: float,
    x: Array,
    start: Array,
) -> str:
    """Return a message about a run from the coordinates `start` (nq,), whose last valid state is x at t.

    It includes a remark if closures nearly lose rank at the end, or if axes of joints align there.
    """
    if isinstance(plan.failure, FlexarmError):
        said = str(plan.failure)
    else:
        end, t, x = _closer(plan, solve, stretch, t, x, 2 if model.arm.closures else 1)
        said = _cause(model, drive, layout, plan, stretch, end, t, x)
    return said + closures.singular(model, start, x[layout.q]) + aligned(model, start, x[layout.q])


def aligned(model: Model, start: Array, q: Array) -> str:
    """Return a remark if inertia hardly resists a combined motion of joints at q, unlike at the start, or "".

    Such joints have nothing between them that has mass, and their axes are parallel at q, as in a ball joint.
    """
    M = np.array([model.fixed("mass_matrix")(x) for x in (start, q)])  # not worth a compilation
    squares = np.einsum("nii->ni", M)
    if not (np.isfinite(M).all() and (squares > 0.0).all()):  # rounding makes them negative where q is huge
        return ""
    size = np.sqrt(squares)
    values, vectors = np.linalg.eigh(M / size[:, :, None] / size[:, None, :])
    if not values[1, 0] < ALIGNED * values[0, 0]:
        return ""
    share = np.abs(vectors[1, :, 0])
    some = np.flatnonzero(share > 0.3 * share.max()).tolist()
    if not {*some} <= {*model.arm.joints}:
        return ""
    names = " and ".join(model.velocities[i] for i in some)
    return f"; near there hardly any inertia resists the combined motion of {names}, whose axes become parallel"


def _closer(
    plan: Plan, solve: Callable[[float, Array, Array], Stretch], stretch: Stretch, t: float, x: Array, looks: int
) -> tuple[float, float, Array]:
    """Return the time at which a run failed, and the last valid time and state by so many closer looks.

    Singular positions of closures are narrow, so that one look may end too far from them.
    """
    end, diverged = plan.time, stretch.diverged
    if diverged is not None and not np.isfinite(diverged[1]).all():
        end, diverged = diverged[0], None
    if diverged is None and end > t:
        for _ in range(looks):
            plan.resume()
            closer = np.linspace(t, end, CLOSER + 1)[1:]
            seen = solve(t, x, closer)
            t, x = (float(closer[len(seen.x) - 1]), seen.x[-1]) if len(seen.x) else (t, x)
    elif diverged is not None:
        t, x = diverged
    return end, t, x


def _cause(
    model: Model, drive: Block, layout: Layout, plan: Plan, stretch: Stretch, end: float, t: float, x: Array
) -> str:
    """Return a message about a run that failed at `end`, whose last valid state is x at t."""
    reason = f" ({stretch.message})" if stretch.message else ""
    if drive.period is None and (fault := beyond(model, x[layout.q], NEARLY)):
        return f"diverged by t = {t:.6g} s: {fault}{reason}"
    if fault := bent_too_far(model, x[layout.q]):
        return f"stopped at t = {end:.6g} s: {fault}"
    grown = plan.shared.passed > 0 and stretch.diverged is not None
    if grown or np.abs(x[layout.motion]).max() > GROWN:
        names = motion_names(model)
        largest = int(np.argmax(np.abs(x[layout.motion])))
        return f"diverged by t = {t:.6g} s: {names[largest]} reached {x[largest]:.3g}{reason}"
    q, qd = x[layout.q], x[layout.qd]
    lengths = local(model.arm, q)
    for i, (low, total) in telescope_ranges(model).items():
        length = lengths[i] + qd[i] * max(end - t, 0.0)
        if min(length - low, total - length) < 1e-4 * total:
            allowed = f"its range from {low:g} to {total:g} m"
            return f"stopped at t = {end:.6g} s: {model.velocities[i]}, a free length, leaves {allowed}"
    if fault := wound_up(model, x[layout.s]):
        return f"stopped at t = {end:.6g} s: {fault}"
    if fault := undefined(drive, plan, model, layout, t, x):
        return f"stopped at t = {end:.6g} s: {fault}"
    parts = {"q": q, "qd": qd, "s": x[layout.s], "u": plan.u[: len(model.inputs)], "w": plan.w}
    given = np.concatenate([parts[name] for name in model.arguments(drive.quantity)])
    rate = model.kernel(drive.quantity).one(given)[layout.qd]
    bad = np.flatnonzero(~np.isfinite(rate))
    why = without_inertia(model, q)
    if why or len(bad):
        why = why or f"the acceleration of {model.velocities[bad[0]]} is not a number"
        return f"stopped at t = {end:.6g} s: {why}{reason}"
    fastest = int(np.argmax(np.abs(rate)))
    name = model.velocities[fastest]
    there = f"at t = {end:.6g} s, where the acceleration of {name} is {rate[fastest]:.3g}"
    if stretch.spent:
        return f"the solver used up its evaluations {there}{reason}; use a larger rtol, or method 'radau5'"
    return f"the solver could not meet the tolerance {there}{reason}"


def wound_up(model: Model, s: Array) -> str:
    """Return a message about a cable whose whole length a winch has wound up, else ""."""
    for cable in model.arm.cables:
        for name, _ in cable.states:
            length = cable.length or 0.0
            if length + s[model.states.index(f"{cable.name}.{name}")] < 1e-3 * length:
                return f"its winch has wound up the whole length of cable {cable.name!r}, {length:g} m"
    return ""


def undefined(drive: Block, plan: Plan, model: Model, layout: Layout, t: float, x: Array) -> str:
    """Return a message about a number of a compiled block that is not finite at or shortly after t, or ""."""
    kernel, m = None if drive.period is not None else drive.kernel_for(model), len(model.inputs)
    if kernel is None:
        return ""
    q, qd, z = x[layout.q], x[layout.qd], x[layout.z]
    ahead = np.append(0.0, 10.0 ** np.arange(-12, -2))
    ahead *= max(2 * (plan.time - t), 1e-9) / ahead[-1]  # a solver stops short of the time at which the block fails
    for dt in ahead:
        moved = configuration(model.arm, local(model.arm, q, q) + dt * qd, q)
        given = np.concatenate([[t + dt], moved, qd, z])[: kernel.code.facts["n_in"] - len(kernel.constants)]
        bad = np.flatnonzero(~np.isfinite(value := kernel.one(given)))
        if len(bad):
            what = f"for {model.inputs[bad[0]]}" if bad[0] < m else "in its memory"
            return f"{drive.label} gave {value[bad[0]]} {what}"
    return ""


def motion_names(model: Model) -> list[str]:
    """Return the names of the numbers of a motion (q, qd). The rates of a free base have their own names."""
    own = {*model.velocities} - {*model.coordinates}
    return [*model.coordinates, *(name if name in own else f"the rate of {name}" for name in model.velocities)]


def telescope_ranges(model: Model) -> dict[int, tuple[float, float]]:
    """Return the range [m] of each telescope's free length, by its index in the local coordinates."""
    from flexarm.mechanics.chain import positions

    return {
        positions(own[1:])[position]: (low, high)
        for body, own in zip(model.chain.bodies, model.chain.own, strict=True)
        for position, low, high in body.limits
    }


BENT, ROLLED = 1.0, 10.0
"""Rotations [rad] of a segment's sections relative to its root between which a failed run is attributed to too few
segments. Above the second value the run has diverged."""


def bent_too_far(model: Model, q: Array) -> str:
    """Return a message if a segment of a beam bends so far that its truncated inertia is not valid, else ""."""
    from flexarm.mechanics.chain import chain, taken

    if not any(link.body.pieces for link in model.arm.links):
        return ""
    worst, where, straight, inner = BENT, "", chain(model.arm), local(model.arm, q).tolist()
    for i, link in enumerate(model.arm.links):
        if not link.body.pieces:
            continue
        for segment, member in enumerate(straight.links[i], start=1):
            body, eta = straight.bodies[member], taken(inner, straight.own[member])[1:]
            turn = max(abs(float(angle)) for x in (0.25, 0.5, 0.75, 1.0) for angle in body.section(x, eta)[3:])
            if worst < turn < ROLLED:
                worst, where = turn, f"segment {segment} of link {link.name!r} bends by {turn:.2g} rad"
    return where and f"{where}, too much for one segment; use more segments"
