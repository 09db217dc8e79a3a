"""An arm in two time scales: its joints on the links' side, slow, and its elastic deflections, fast.

The coordinates are q = T [q_r; zeta]. zeta are the amplitudes of the links and, for each elastic joint, the
deflection of its spring, sigma = theta - q_r. With M' = T' M T = [[A, C'], [C, E]], the equations of motion are

    A q_r'' + C' zeta''                      + h_r = B_r u
    C q_r'' + E  zeta'' + D_z zeta' + K_z zeta + h_z = B_z u

and K_z is the only stiffness. An actuator acts on its joint or, at an elastic one, on theta = q_r + sigma: B_r = 1.
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.control.equilibrium import equilibrium
from flexarm.control.gains import motion
from flexarm.description.closures import refuse_closures
from flexarm.description.joints import refuse_balls, refuse_passive
from flexarm.model import Model
from flexarm.model.adrift import solved
from flexarm.model.local import moved_by_joints
from flexarm.simulation.law import Column, parted
from flexarm.trajectory import Reference


@final
@dataclass(frozen=True, eq=False)
class TimeScales:
    """Change of coordinates q = T [q_r; zeta] of a model, with the slow and fast equations; vectors are CasADi columns.

    Attributes
    ----------
    T : (n, n)
    names : of zeta: amplitudes, then `.spring` for the deflection of each elastic joint
    """

    model: Model
    T: Array
    names: tuple[str, ...]

    @property
    def slow(self) -> int:
        """Number of joints."""
        return len(self.T) - len(self.names)

    def split(self, q: Column) -> tuple[Column, Column]:
        """q_r and zeta of coordinates, or of their rates."""
        return parted(np.linalg.inv(self.T) @ q, self.slow)

    def slow_motion(self, q_r: Column, q_rd: Column, v: Column) -> tuple[Column, Column]:
        """Inputs u_s that give the rigid arm's joints the accelerations v, and the quasi-steady deflection zeta_s.

        Both follow from one inverse dynamics of the undeformed arm, with zeta = 0 and accelerations (v, 0). Its rows of
        the joints are u_s, the computed torque of `arm.rigid()`. Its rows of zeta are Q_z. The springs' equations then
        give K_z zeta_s = B_z u_s - Q_z.
        """
        undeformed = (self.straight(x) for x in (q_r, q_rd, v))
        u_s, Q_z = parted(self.T.T @ self.model.fixed("inverse_dynamics")(*undeformed), self.slow)
        return u_s, self._deflection(q_r, self.input_rows @ u_s - Q_z)

    @property
    def input_rows(self) -> Array:
        """B_z, (k, m): 1 where an actuator acts on a spring's motor."""
        return (self.T.T @ self.model.input_matrix(np.array(self.model.arm.rest)))[self.slow :]

    def _deflection(self, q_r: Column, load: Column) -> Column:
        """Solve K_z zeta = load; a telescope's K_z depends on its length."""
        import casadi as ca

        r, k = self.slow, len(self.names)
        zeta, joints = ca.SX.sym("zeta", k), ca.SX.sym("q_r", r)
        force = self.T.T @ self.model.fixed("stiffness_force")(self.T @ ca.vertcat(joints, zeta))
        K = ca.substitute(ca.densify(ca.jacobian(force[r:], zeta)), zeta, ca.DM.zeros(k))
        if not ca.depends_on(K, joints):
            compliance = np.linalg.inv(np.array(ca.evalf(K)))
            d = np.sqrt(np.abs(np.diag(compliance)))
            compliance[np.abs(compliance) < 1e-13 * np.outer(d, d)] = 0.0  # rounding between uncoupled coordinates
            return compliance @ load
        return solved(ca.substitute(K, joints, q_r), load)

    def beside(self, q: Column, zeta: Column) -> Column:
        """A^-1 C' zeta with A and C at q. Applied to zeta', it turns q_r' into p' = q_r' + A^-1 C' zeta'.

        A p' = A q_r' + C' zeta' is the momentum on which the joints' actuators act. Vibrations have no part in it, and
        A p'' = u if nothing else acts. With A and C of the undeformed arm this holds for a straight arm only. If rotors
        follow the links' rotation (absolute rotors), the vibrations of a deformed arm then enter the slow motion, and
        grow.
        """
        r, T = self.slow, self.T
        rows = T[:, :r].T @ self.model.fixed("mass_matrix")(q) @ T
        return solved(rows[:, :r], rows[:, r:] @ zeta)

    def straight(self, q_r: Column) -> Column:
        """Coordinates of the undeformed arm."""
        return self.T[:, : self.slow] @ q_r

    def along(self, reference: Reference, t: Any, momentum: bool = True) -> tuple[Column, Column]:
        """u_s along a reference, and the state (q, qd) that belongs to it, with zeta = zeta_s.

        With `momentum`, p follows the reference: the joints deviate from it by the effect of the deflection, without
        that of gravity. Otherwise the joints follow the reference.
        """
        import casadi as ca

        s = ca.SX.sym("t")
        r, rd, rdd = motion(reference, s)
        u_s, zeta_s = self.slow_motion(r, rd, rdd)
        q_r = r - self.beside(self.straight(r), zeta_s - self.sag(r)) if momentum else r
        q = self.T @ ca.vertcat(q_r, zeta_s)
        found = [u_s, ca.vertcat(q, ca.jacobian(q, s))]
        u, x = ca.substitute([ca.densify(y) for y in found], [s], [ca.SX(t)])
        return u, x

    def sag(self, q_r: Column) -> Column:
        """zeta_s with the joints at rest."""
        import casadi as ca

        still = ca.DM.zeros(self.slow)
        return self.slow_motion(q_r, still, still)[1] if any(self.model.gravity) else ca.SX.zeros(len(self.names))

    def coupling(self, q: Array) -> Array:
        """A^-1 C', (m, k), at a configuration."""
        r = self.slow
        M = self.T.T @ self.model.mass_matrix(q) @ self.T
        return np.linalg.solve(M[:r, :r], M[:r, r:])

    def fast(self, joints: Array) -> tuple[Array, Array, Array, Array]:
        """M_z, D_z, K_z (k, k) and B_z (k, m) of the vibrations with free joints.

            (E - C A^-1 C') zeta'' + (D_z - C A^-1 D_rz) zeta' + K_z zeta = (B_z - C A^-1 B_r) u

        This is M' with q_r'' eliminated, for zeta = 0 and slow variables at rest (Subudhi & Morris eq. 67).
        """
        r, T = self.slow, self.T
        q = T[:, :r] @ joints
        M = T.T @ self.model.mass_matrix(q) @ T
        K = T.T @ np.array(self.model.slope("stiffness_force", 0)(q)) @ T
        D = T.T @ np.array(self.model.slope("damping_force", 1)(q, 0 * q)) @ T
        B = T.T @ self.model.input_matrix(q)
        carried = M[r:, :r] @ np.linalg.inv(M[:r, :r])  # C A^-1
        inertia = M[r:, r:] - carried @ M[:r, r:]
        return (inertia + inertia.T) / 2, D[r:, r:] - carried @ D[:r, r:], K[r:, r:], B[r:] - carried @ B[:r]

    def slow_slopes(self, joints: Array) -> tuple[list[Array], list[Array]]:
        """Slopes of u_s and of zeta_s in q_r, q_rd and v, with the joints at rest."""
        import casadi as ca

        x = [ca.SX.sym(name, self.slow) for name in ("q_r", "q_rd", "v")]
        slopes = ca.Function("slopes", x, [ca.densify(ca.jacobian(y, s)) for y in self.slow_motion(*x) for s in x])
        found = [np.array(y) for y in slopes(joints, np.zeros(self.slow), np.zeros(self.slow))]
        return found[:3], found[3:]

    def standing(self, joints: Array) -> tuple[Array, Array]:
        """u_s and zeta_s with the joints at rest."""
        import casadi as ca

        x, still = ca.SX.sym("q_r", self.slow), ca.DM.zeros(self.slow)
        both = ca.Function("standing", [x], [ca.densify(y) for y in self.slow_motion(x, still, still)])(joints)
        u_s, zeta_s = (np.array(y).ravel() for y in both)
        return u_s, zeta_s

    def beyond_first_order(self, joints: Array) -> tuple[Array, Array]:
        """Difference between the equilibrium and u_s, zeta_s, which are those of the undeformed arm.

        It is of second order in gravity, and zero without it.
        """
        if not any(self.model.gravity):
            return np.zeros(self.slow), np.zeros(len(self.names))
        q, u = equilibrium(self.model, joints)
        u_s, zeta_s = self.standing(joints)
        return u - u_s, np.linalg.solve(self.T, q)[self.slow :] - zeta_s


def time_scales(model: Model) -> TimeScales:
    """Return the time scales of a model."""
    refuse_passive(model.arm, "a division into slow and fast motions")
    refuse_closures(model, "a division into slow and fast motions")
    refuse_balls(model, "a division into slow and fast motions")
    elastic = (*model.arm.flexible, *model.arm.motors)
    # at an elastic joint theta = q_r + sigma, so the column of its motor is that of sigma
    T = np.hstack([moved_by_joints(model.arm), np.eye(len(model.coordinates))[:, list(elastic)]])
    springs = {i: f"{model.arm.links[model.arm.layout[i].link].name}.spring" for i in model.arm.motors}
    names = [springs.get(i, model.coordinates[i]) for i in elastic]
    return TimeScales(model, T, tuple(names))
