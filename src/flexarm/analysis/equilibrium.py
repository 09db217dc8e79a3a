"""Equilibrium of an arm with its drives or its joints held."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from flexarm import attitude
from flexarm.arrays import Array
from flexarm.checks import Fault, checked_array, counted, refused, shown
from flexarm.description.arm import Arm
from flexarm.description.closures import refuse_closures
from flexarm.description.joints import refuse_balls
from flexarm.errors import DescriptionError, FlexarmError
from flexarm.model import Model, ModelLike, as_model, closures
from flexarm.model.adrift import BASE
from flexarm.model.attitudes import checked_unit
from flexarm.model.linear import held as free_motions
from flexarm.model.local import moved_by_joints

UNHELD, TINY = 1e-9, 1e-12
"""Largest residual force in an equilibrium that may not exist, relative to the largest one in the iteration, and its
limit without load [N or N m]."""


def equilibrium(
    model: ModelLike,
    q: ArrayLike,
    held: Literal["drives", "joints"] = "drives",
    w: Mapping[str, float] | ArrayLike | None = None,
    qd: ArrayLike | None = None,
) -> tuple[Array, Array]:
    """Return the equilibrium near q and its inputs: (nq,), (m,). The held coordinates have their values of q.

    Newton's method solves dV/dq = B u for the coordinates that are not held: links sag under gravity, and joint springs
    deflect. The equilibrium may be unstable; some of `model.frequencies` are then negative. The input of a voltage
    motor is that of a settled current. Limits of motors and friction are left out.

    A free base keeps its position and attitude unless springs hold it. Its thrusters carry the load with the least sum
    of squares. So do the drives of an arm with closures, which can have more drives than it needs.

    Parameters
    ----------
    q : (nq,) or (m,)
        A configuration; or the joints alone, see `configuration`.
    held : "drives" or "joints"
        Coordinates that keep their values: those of the drives, at an elastic joint the motor; or the joints, on the
        links' side.
    w : (exogenous,) or dict, optional
        Exogenous inputs, see `Model.exogenous`, or some of them by name with the others zero; default zero.
    qd : (m,), optional
        Constant rates of the joints that have a drive [rad/s or m/s], for a relative equilibrium: links that turn are
        stretched and bent by centrifugal forces. Default: the arm is at rest.

    Raises
    ------
    DescriptionError
        If q does not fit the arm, or `held` is an unknown word. If rates are given for an arm with closures, on a free
        base or with states in its drives, or if its motion at these rates is not steady.
    FlexarmError
        If no equilibrium is found, or if nothing holds a free base against its load.
    """
    with refused("equilibrium"):
        model = as_model(model)
    if not isinstance(held, str) or held not in ("drives", "joints"):
        raise DescriptionError(f"equilibrium: held is {shown(held)}; it must be 'drives' or 'joints'")
    x, arm = configuration(model, q), model.arm
    B, u, reactions = model.input_matrix(x), np.zeros(len(model.inputs)), np.zeros(len(closures.owners(arm)))
    N = free_motions(B[:, : len(arm.driven)] if held == "drives" else np.eye(model.nv)[:, list(arm.driven)])
    rates = joint_rates(model, qd)
    force, slope = _resisting(model, w, rates)
    loose = arm.free and not np.array(model.slope("stiffness_force", "q")(x))[:, :BASE].any()
    if loose:
        N = N[:, BASE:]
    unique = not (arm.quaternions or arm.closures or len(arm.driven) < len(arm.joints))
    k, largest = N.shape[1], 0.0
    for _ in range(50):
        K, J, gaps = _constrained(model, x, np.array(slope(x)), reactions)
        matrix = np.block([[K @ N, -B, -J.T], [J @ N, np.zeros((len(J), B.shape[1] + len(J)))]])
        lacking = np.concatenate([B @ u + J.T @ reactions - force(x), -gaps])
        largest = max(largest, np.abs(force(x)).max())
        try:
            step = np.linalg.solve(matrix, lacking) if unique else np.linalg.lstsq(matrix, lacking)[0]
        except np.linalg.LinAlgError:
            break
        x, (du, more) = _moved(arm, x, N @ step[:k]), np.split(step[k:], [B.shape[1]])
        u, reactions = u + du, reactions + more
        if not np.isfinite(x).all():
            break
        if np.abs(step[:k]).max(initial=0.0) <= 1e-12 * (1 + np.abs(x).max()):
            left = np.abs(B @ u + J.T @ reactions - force(x)).max()
            if not unique and left > UNHELD * largest + TINY:
                if arm.free:
                    raise _unheld(arm)
                break
            if rates.any():
                _check_steady(model, x, rates, N, force)
            return x, _inputs(model, closures.shared(model, x, B, force(x)) if arm.closures else u)
    if held == "drives" and model.arm.touches and not arm.closures:
        x = configuration(model, q)
        settled = _settled(arm, x, N, model.mass_matrix(x), force, slope)
        if settled is not None:
            return settled, _inputs(model, np.linalg.lstsq(B, force(settled), rcond=None)[0])
    acting = force(configuration(model, q))
    if loose and np.abs((B @ np.linalg.lstsq(B[:BASE], acting[:BASE])[0] - acting)[:BASE]).max() > UNHELD * largest:
        raise _unheld(arm)
    where = ", ".join(f"{value:.4g}" for value in np.asarray(q, dtype=float))
    message = f"no equilibrium found near {where} with the {held} held; the arm may be too soft for its load"
    raise FlexarmError(f"arm {model.arm.name!r}: {message}")


def _constrained(model: Model, x: Array, K: Array, reactions: Array) -> tuple[Array, Array, Array]:
    """Stiffness with the closures' reactions, and Jacobian and gaps of the closures' conditions, none without any."""
    if not model.arm.closures:
        return K, np.empty((0, model.nv)), np.empty(0)
    J, gaps = closures.jacobian(model, x), closures.gaps(model, x)
    return K - closures.stiffening(model, x, reactions), J, gaps


def equilibrium_slope(model: Model, q: ArrayLike) -> Array:
    """Derivative of an equilibrium's coordinates in its joints: (n, m), in local coordinates for a free base.

    From dV/dq = B u with the slope K of dV/dq: dq = J + N x, K dq = B du. J are the motions of the joints, and N those
    of all other coordinates. A free base that nothing holds keeps its pose.

    Parameters
    ----------
    q : (nq,)
        An equilibrium that `equilibrium` returns.
    """
    refuse_closures(model, "equilibrium_slope")
    x, arm = configuration(model, q), model.arm
    B, J = model.input_matrix(x), np.eye(model.nv)[:, list(arm.driven)]
    N = free_motions(J)
    if arm.free and not np.array(model.slope("stiffness_force", "q")(x))[:, :BASE].any():
        N = N[:, BASE:]
    K = np.array(model.slope("restoring_force", 0)(x))
    found = np.linalg.lstsq(np.hstack([K @ N, -B]), -K @ J)[0]
    return np.asarray(J + N @ found[: N.shape[1]])


def _unheld(arm: Arm) -> FlexarmError:
    message = "nothing balances the load on its free base, so there is no equilibrium"
    return FlexarmError(f"arm {arm.name!r}: {message}; set gravity to zero, or add thrusters")


def _moved(arm: Arm, q: Array, dx: Array) -> Array:
    """Coordinates (nq,) after a small displacement in local coordinates."""
    return attitude.configuration(arm, attitude.local(arm, q, q) + dx, q)


MOST_TRIED = 400
"""Largest number of steps in which an arm with backlash must settle."""


def _settled(
    arm: Arm, x: Array, N: Array, M: Array, force: Callable[[Array], Array], slope: Callable[[Array], Any]
) -> Array | None:
    """Return where the arm settles from x along the motions N, or None.

    A backlash has no stiffness, so Newton's method fails there. The steps are those of a motion without inertia,
    (K + mu M) dx = -F. A step is accepted if the force still points along it, or if the force decreases. Then mu
    decreases, otherwise it increases.
    """
    M, mu, F = N.T @ M @ N, 1.0, N.T @ force(x)
    scale = np.abs(force(x)).max()
    for _ in range(MOST_TRIED):
        if np.abs(F).max(initial=0.0) <= 1e-12 * scale:
            return x
        K = N.T @ np.array(slope(x)) @ N
        dx = np.linalg.solve(K + mu * M, -F)
        there = N.T @ force(beyond := _moved(arm, x, N @ dx))
        if np.isfinite(there).all() and (there @ dx <= 0 or np.abs(there).max() < np.abs(F).max()):
            x, F, mu = beyond, there, max(mu / 4, 1e-6)  # keeps the matrix regular
            scale = max(scale, np.abs(force(x)).max())
        else:
            mu *= 8
    return None


def joint_rates(model: Model, qd: ArrayLike | None) -> Array:
    """Return the rates (n,) of all coordinates while the joints move at rates (m,); None means that they are at rest.

    Raises `DescriptionError` for rates that do not fit the arm, and for arms that have no relative equilibrium here.
    """
    if qd is None:
        return np.zeros(model.nv)
    arm, count = model.arm, len(model.arm.driven)
    refuse_closures(model, "equilibrium with qd")
    refuse_balls(model, "equilibrium with qd")
    with refused("equilibrium"):
        given = checked_array(qd, "qd")
        if given.shape != (count,):
            raise Fault("qd", f"has shape {given.shape}; give {counted(count, 'rate')}, one per joint")
        if arm.free and given.any():
            raise Fault("qd", f"is given, but the base of arm {arm.name!r} is free; rates need a base that is not free")
        if model.states and given.any():
            raise Fault("qd", f"is given, but drives of arm {arm.name!r} have states; use model.linearize")
    return np.asarray(moved_by_joints(arm) @ given)


STEADY = 1e-7
"""Largest relative change of inertia and forces along a steady motion. Rounding reaches 1e-12."""
FORWARD = 0.37
"""Motion of the fastest joint after which inertia and forces are compared [rad or m]: not a part of a turn."""


def _check_steady(model: Model, q: Array, rates: Array, N: Array, force: Callable[[Array], Array]) -> None:
    """Raise `DescriptionError` if inertia or forces on the coordinates that are not held change along the motion."""
    later = q + FORWARD / np.abs(rates).max() * rates
    (M, F), (M_later, F_later) = ((N.T @ model.mass_matrix(x) @ N, N.T @ force(x)) for x in (q, later))
    scale = max(np.abs(force(q)).max(), np.abs(force(later)).max(), np.abs(M).max() * np.abs(rates).max() ** 2)
    changed = np.abs(M_later - M).max(initial=0.0) > STEADY * np.abs(M).max(initial=0.0)
    if changed or np.abs(F_later - F).max(initial=0.0) > STEADY * scale:
        what = "inertia" if changed else "forces"
        raise DescriptionError(
            f"equilibrium: qd is no steady motion of arm {model.arm.name!r}: its {what} change as the joints move; "
            "turn only a joint about which the arm keeps its shape, and set gravity across that axis to zero"
        )


def _resisting(
    model: Model, w: Mapping[str, float] | ArrayLike | None, rates: Array
) -> tuple[Callable[[Array], Array], Callable[[Array], Any]]:
    """Return the force against a steady motion, as a function of q, and its slope.

    At rest without exogenous inputs it follows from the potential.
    """
    if w is None and not rates.any():
        return lambda x: model.evaluate("restoring_force", x), model.slope("restoring_force", 0)
    values, n = steady_values(model, w, rates), model.nv
    slope = model.slope("state_residual", "q")
    return lambda x: -model.evaluate("state_residual", *values(x))[:n], lambda x: -np.array(slope(*values(x)))[:n]


def steady_values(
    model: Model, w: Mapping[str, float] | ArrayLike | None, rates: Array
) -> Callable[[Array], list[Array]]:
    """Return the arguments of `state_residual` as a function of q: without accelerations and inputs."""
    exogenous = np.zeros(len(model.exogenous))
    acting = exogenous if w is None else model.single("equilibrium", "w", w)
    still, u, s = np.zeros(model.nv), np.zeros(len(model.inputs)), np.zeros(len(model.states))
    names = model.arguments("state_residual")

    def given(x: Array) -> list[Array]:
        at = {"q": x, "qd": rates, "s": s, "u": u, "w": acting, "qdd": still}
        return [at[name] for name in names]

    return given


def _inputs(model: Model, efforts: Array) -> Array:
    """Inputs (m,) for forces and torques of the actuators at rest; a thruster's input is its force."""
    joints = [link.joint for link in model.arm_at().links if link.joint.actuated]
    given = [joint.input_at_rest(x) for joint, x in zip(joints, efforts.tolist(), strict=False)]
    return np.concatenate([given, efforts[len(given) :]])


def configuration(model: ModelLike, q: ArrayLike, name: str = "q") -> Array:
    """Return a configuration (nq,) from a configuration, or from the joints alone, (m,).

    With the joints alone, motors are where their joints are. A free base, the deflections and passive joints are those
    of `arm.rest`. With closures, passive joints and deflections follow from the driven ones. Raises `DescriptionError`
    for anything else, which calls it `name`.
    """
    with refused():
        model = as_model(model)
        given = checked_array(q, name)
    n, m = model.nq, len(model.arm.driven)
    if given.ndim > 1:
        raise DescriptionError(f"{name} has more than one axis; give one configuration")
    if given.shape not in ((n,), (m,)):
        joints = ", ".join(model.velocities[i] for i in model.arm.driven)
        allowed = f"{counted(n, 'number')}: {', '.join(model.coordinates)}; or the joints alone: {joints}"
        raise DescriptionError(f"{name} has shape {given.shape}; it must have {allowed}")
    if given.shape == (n,):
        checked_unit(name, given, model.arm)
        return given
    T, arm = moved_by_joints(model.arm), model.arm
    x = attitude.configuration(arm, np.where(T.any(axis=1), T @ given, attitude.local(arm, np.array(arm.rest))))
    if not arm.closures:
        return x
    x, why = closures.assembled(model, x, arm.driven)
    if why:
        raise DescriptionError(f"{name}: with these joints the closures do not close: {why}")
    return x
