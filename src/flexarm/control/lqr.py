"""Linear-quadratic control about an equilibrium."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm import analysis
from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.checks import POSITIVE, checked_number, refused
from flexarm.control.equilibrium import checked_joints, rest
from flexarm.control.free import Kept, kept
from flexarm.control.gains import actuators, designing, followed, motion, torques
from flexarm.control.riccati import effort, energy, linear, optimal, weights
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.model.local import deviated, moved_by_joints
from flexarm.simulation.law import Column, Law
from flexarm.trajectory import Reference, jumps_of


@final
@brief
@dataclass(frozen=True)
class LQR:
    """Linear-quadratic control u = u_eq - K (x - x_eq), x = (q, qd), about the equilibrium at given joint coordinates.

    K minimises the integral of x' Q x + u' R u of the linear model there.

    On a free base q are local coordinates about rest. Coordinates that no actuator can hold are left out of x (see
    `free.kept`). If only joints are actuated, these are the base's position and attitude, which follow from the joints.
    If wheels or thrusters turn the base, it is the position alone. The controller accepts existing momentum and does
    not oppose it.

    With a reference, the equilibrium is that of its final configuration, and x_eq moves with the reference. The joints
    and motors follow, and the deflections are always those at the end. The controller needs the complete state.

    Parameters
    ----------
    joints : (m,), (nq,) or Reference, optional
        Joint coordinates, on the links' side, of the equilibrium [rad] or [m]; default the end of the reference. With a
        whole configuration the equilibrium is the one near it that has its driven joints, such as a passive joint
        upright. A reference here, as in `LQR(slew)`, counts as `reference`.
    reference : Reference, optional
        Reference of all joints.
    Q : float, (2n,) or (2n, 2n), optional
        Weights of the deviations of q, then of qd. Default: diag(K + bandwidth^2 M, M) / 2. This is the sum of the
        kinetic energy, the energy in springs and links, and the energy in springs that alone would give all modes this
        frequency.
    R : float, (m,) or (m, m), optional
        Weights of u. Default: B' M^-1 B / bandwidth^2, which is also an energy (see `riccati.effort`).
    wheels : list of str, optional
        Links of reaction wheels, on joints without springs. Their angles are free, and the controller holds the base in
        the attitude of rest instead. Without this list a wheel is a joint like any other.
    bandwidth : float, optional
        Approximate bandwidth of the joints' motion, for the defaults [rad/s]. Default: the slowest natural frequency
        with the drives held. A rigid arm has none, so give it there, or Q and R.
    """

    joints: ArrayLike | Reference | None = None
    reference: Reference | ArrayLike | None = None
    Q: ArrayLike | None = None
    R: ArrayLike | None = None
    bandwidth: float | None = None
    wheels: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.reference is None and hasattr(self.joints, "expression"):
            object.__setattr__(self, "reference", self.joints)
            object.__setattr__(self, "joints", None)

    @designing("LQR")
    def law(self, model: Model, period: float | None = None) -> Law:
        """Return the control law for a model. With a period, it is that of the arm driven through a zero-order hold.

        Its facts are K, the closed loop's `poles` [1/s], the equilibrium `q`, `u`, the `coordinates` of x, and those
        that are `left_out`. Raises `DescriptionError` if weights or joints do not fit, and if an unstable mode is not
        controllable. Warns if a period is longer than half that of the fastest controllable mode.
        """
        actuators("LQR", model, period)
        torques("LQR", model)
        reference = None if self.reference is None else followed("LQR", self.reference, model)
        at = where("LQR", "joints", self.joints, reference, model, whole=True)
        q0, u0 = analysis.equilibrium(model, at, held="joints")
        at = q0[model.nq - model.nv + np.array(model.arm.driven)]
        seen = kept("LQR", model, q0, self.wheels)
        K, poles = regulator("LQR", model, q0, u0, self.Q, self.R, self.bandwidth, period, seen)
        moved, own = moved_by_joints(model.arm), list(seen.places)

        def expression(t: Any, q: Column, qd: Column, z: Column) -> tuple[Column, Any]:
            import casadi as ca

            r, rd = ca.DM(at), ca.DM.zeros(len(at))
            if reference is not None:
                r, rd, _ = motion(reference, t)
            e, ed = deviated(model.arm, q, q0) - moved @ (r - at), qd - moved @ rd
            return torque(K, u0, e[own], ed[own]), []

        jumps = jumps_of(reference) if reference is not None else np.empty(0)
        facts = {"K": K, "poles": poles, "q": q0, "u": u0, "coordinates": seen.names, "left_out": seen.left_out}
        return Law(expression, jumps=jumps, reference=reference, facts=facts)


def torque(K: Any, u: Any, e: Column, ed: Column) -> Column:
    """u for deviations from an equilibrium and their rates, with gains that are numbers or expressions."""
    n = e.shape[0]
    return u - K[:, :n] @ e - K[:, n:] @ ed


def where(what: str, field: str, joints: Any, reference: Reference | None, model: Model, whole: bool = False) -> Array:
    """Driven joints (m,) of a design, or if `whole` a configuration (nq,): as given, or where the reference ends."""
    if not model.inputs:
        raise DescriptionError(f"{what}: arm {model.arm.name!r} has no actuator")
    if joints is not None:
        return checked_joints(f"{what}: {field}", joints, model, whole)
    if reference is None:
        raise DescriptionError(f"{what}: give {field}, a reference, or both")
    found = rest(reference)
    if found is None:
        raise DescriptionError(f"{what}: the reference never comes to rest; give {field} for the equilibrium too")
    return checked_joints(f"{what}: the reference's end", found[1], model)


def regulator(
    what: str,
    model: Model,
    q: Array,
    u: Array,
    Q: ArrayLike | None,
    R: ArrayLike | None,
    bandwidth: float | None,
    period: float | None,
    seen: Kept | None = None,
) -> tuple[Array, Array]:
    """K (m, 2k) and the poles [1/s] about an equilibrium, for the coordinates in `seen`, default all."""
    seen = seen or kept(what, model, q)
    Z, own = seen.Z, [*seen.places, *(model.nv + i for i in seen.places)]
    M = Z.T @ model.mass_matrix(q) @ Z
    if Q is None or R is None:
        omega = pace(what, bandwidth, model, q)
        if Q is None:
            Q = energy(M, Z.T @ np.array(model.slope("stiffness_force", 0)(q)) @ Z + omega**2 * M)
        if R is None:
            R = effort(model, q, omega)
    Q, R = weights(what, Q, R, 2 * len(M), len(u))
    A, B = linear(model, q, u)
    zero = np.zeros_like(Z)
    A, B = A[own] @ np.block([[Z, zero], [zero, Z]]), B[own]
    return optimal(what, A, B, M, Q, R, seen.names, period)


def pace(what: str, given: float | None, model: Model, q: Array) -> float:
    """Bandwidth of the default weights [rad/s], as given or from the slowest frequency at q."""
    if given is not None:
        with refused(what):
            return checked_number(given, "rad/s", POSITIVE, "bandwidth")
    stiff = [omega for omega in model.frequencies(q) if omega > 0]
    if not stiff:
        message = f"arm {model.arm.name!r} has no stiffness, so there is no default bandwidth"
        raise DescriptionError(f"{what}: {message}; give bandwidth, or Q and R")
    return float(stiff[0])
