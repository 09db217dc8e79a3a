"""Lagrange's equations of an arm from the positions of its material points alone.

This is the other opinion. It shares no code with the package: it reads the description (`arm.links[i].joint`,
`.body`, ...), places every material point as a function of q, and lets CasADi differentiate

    T = sum 1/2 m |dr/dt|^2,    p = dT/dqd,    d/dt p - dT/dq + dV/dq + D qd = B u.

A beam is a row of Gauss points. A rigid body is a point mass and six points around it whose second moments are those
of its inertia tensor. No velocity, inertia or Coriolis term is ever written by hand; the one exception is the spin of a
beam's sections about its axis, which no point on the axis can show: it is read from the derivative of a rotation
matrix. Slow, plain, and right.
"""

from functools import cache

import casadi as ca
import numpy as np
from mpmath import mp, mpf

DIRECTIONS = ("y", "z", "torsion", "axial")  # order of a beam's coordinates


class Lagrangian:
    """Equations of motion `M qdd + bias + damping + stiffness + gravity = B u` of a described arm.

    Covers revolute, prismatic, fixed and elastic joints, rigid links, clamped-free beams, hubs and payload; anything
    else raises NotImplementedError. `points` is the number of Gauss points a beam; 20 integrate products of the first
    four modes to rounding.
    """

    def __init__(self, arm, points=20):
        refuse_unknown(arm)
        self.coordinates = names(arm)
        n = len(self.coordinates)
        index = {name: i for i, name in enumerate(self.coordinates)}
        q, qd = ca.SX.sym("q", n), ca.SX.sym("qd", n)
        gravity = np.asarray(arm.gravity, float)

        def rate(expression):
            return ca.jtimes(expression, q, qd)

        masses, places = [], []  # point masses, columns of their world positions
        spin = 0  # kinetic energy of sections turning about the axis of their beam
        strain = 0
        rotors = 0
        D = np.zeros((n, n))
        columns = []  # of B

        def cloud(R, p, weights, points_local):
            masses.append(np.asarray(weights, float))
            places.append(p + R @ points_local)

        R, p = ca.SX.eye(3), ca.SX.zeros(3)  # the base
        for link in arm.links:
            # 1. The joint: placement in the previous tip frame, then motion.
            joint = link.joint
            p = p + R @ np.asarray(link.placement.xyz, float)
            R = R @ rpy(link.placement.rpy)
            if joint.type != "fixed":
                i = index[f"{link.name}.joint"]
                axis = np.asarray(joint.axis, float)
                if joint.type == "revolute":
                    R = R @ rodrigues(axis, q[i])
                else:
                    p = p + R @ (axis * q[i])
                D[i, i] += joint.damping
                actuated = i
                if joint.stiffness is not None:
                    actuated = index[f"{link.name}.motor"]
                    twist = q[actuated] - q[i]
                    strain += joint.stiffness * twist**2 / 2
                    D[np.ix_([i, actuated], [i, actuated])] += joint.spring_damping * np.array([[1, -1], [-1, 1]])
                rotors += joint.gear_ratio**2 * joint.rotor_inertia * qd[actuated] ** 2 / 2
                columns.append(np.eye(n)[actuated])

            # 2. The hub.
            cloud(R, p, *points_of(link.hub_mass, np.zeros(3), tensor(link.hub_inertia)))

            # 3. The body, in the link's base frame B = (R, p), and its tip.
            body, L = link.body, link.body.length
            if body.type == "rigid":
                com = np.array([L / 2, 0, 0]) if body.com is None else np.asarray(body.com, float)
                I = np.diag([0, 1, 1]) * body.mass * L**2 / 12 if body.inertia is None else tensor(body.inertia)
                cloud(R, p, *points_of(body.mass, com, I))
                R, p = R, p + R @ np.array([L, 0, 0])
                continue
            xi, w = gauss(points)
            x, dx = L * xi, L * w
            field, tip, slope = {}, {}, {}
            ratios = iter(body.damping_ratios)
            for d in DIRECTIONS:
                eta = [q[index[f"{link.name}.{d}{k}"]] for k in range(1, body.counts[d] + 1)]
                bends = d in ("y", "z")
                field[d], strained, tip[d], slope[d] = ca.SX.zeros(1, points), ca.SX.zeros(1, points), 0, 0
                for k, eta_k in enumerate(eta, start=1):
                    phi, phi_s, phi_tip, phi_slope = (bending if bends else stretching)(k, points)
                    phi_s = phi_s / L ** (2 if bends else 1)
                    field[d] += ca.DM(phi).T * eta_k
                    strained += ca.DM(phi_s).T * eta_k
                    tip[d] += phi_tip * eta_k
                    slope[d] += phi_slope / L * eta_k
                    mode_mass = (body.rho_Ip if d == "torsion" else body.m) * np.sum(phi**2 * dx)
                    mode_stiffness = body.stiffness[d] * np.sum(phi_s**2 * dx)
                    j = index[f"{link.name}.{d}{k}"]
                    D[j, j] += 2 * next(ratios) * np.sqrt(mode_mass * mode_stiffness)  # 2 zeta omega M
                if eta:
                    strain += body.stiffness[d] / 2 * ((strained**2) @ dx)
            cloud(R, p, body.m * dx, ca.vertcat(ca.DM(x).T + field["axial"], field["y"], field["z"]))
            if body.rho_Ip:
                for s in range(points):
                    R_section = R @ rodrigues((1, 0, 0), field["torsion"][s])
                    rate_of_turning = R_section[:, 2].T @ rate(R_section[:, 1])  # e_z . d(e_y)/dt = w_x
                    spin += body.rho_Ip * dx[s] / 2 * rate_of_turning**2
            p = p + R @ ca.vertcat(L + tip["axial"], tip["y"], tip["z"])
            R = R @ rodrigues((0, 0, 1), slope["y"]) @ rodrigues((0, 1, 0), -slope["z"])
            R = R @ rodrigues((1, 0, 0), tip["torsion"])
        if arm.payload is not None:
            cloud(R, p, *points_of(arm.payload.mass, np.zeros(3), tensor(arm.payload.inertia)))

        # 4. Energies, and Lagrange's equations.
        m, r = np.concatenate(masses), ca.horzcat(*places)
        v = ca.reshape(rate(ca.vec(r)), 3, -1)
        T = ca.sum1((v**2) @ m) / 2 + spin + rotors
        V = -ca.dot(ca.SX(gravity), r @ m)
        momentum = ca.gradient(T, qd)
        bias = rate(momentum) - ca.gradient(T, q)

        def function(inputs, *outputs):
            return ca.Function("f", inputs, [ca.SX(y) for y in outputs])

        self.D, self.B = D, np.array(columns).reshape(-1, n).T
        self._momentum = function([q, qd], momentum)
        self._bias = function([q, qd], bias)
        self._gravity = function([q], ca.gradient(ca.SX(V), q))
        self._stiffness = function([q], ca.gradient(ca.SX(strain), q))
        self._energy = function([q, qd], T, V + strain)
        self._tip = function([q], ca.vertcat(ca.horzcat(R, p), ca.DM([[0, 0, 0, 1]])))

    def mass_matrix(self, q):
        """(n, n): the momentum is linear in the rates, so its columns are the momenta of unit rates."""
        n = len(self.coordinates)
        return np.column_stack([vector(self._momentum(q, e)) for e in np.eye(n)])

    def bias(self, q, qd):
        return vector(self._bias(q, qd))

    def gravity_force(self, q):
        return vector(self._gravity(q))

    def stiffness_force(self, q):
        return vector(self._stiffness(q))

    def damping_force(self, q, qd):
        return self.D @ np.asarray(qd, float)

    def input_matrix(self, q):
        return self.B

    def residual(self, q, qd, qdd, u):
        """(n,): left side minus right side of the equations of motion."""
        return self.inverse_dynamics(q, qd, qdd) - self.B @ np.asarray(u, float)

    def inverse_dynamics(self, q, qd, qdd):
        """(n,): generalized force that gives qdd."""
        force = self.bias(q, qd) + self.damping_force(q, qd) + self.stiffness_force(q) + self.gravity_force(q)
        return self.mass_matrix(q) @ np.asarray(qdd, float) + force

    def forward_dynamics(self, q, qd, u):
        force = self.B @ np.asarray(u, float) - self.inverse_dynamics(q, qd, np.zeros(len(self.coordinates)))
        return np.linalg.solve(self.mass_matrix(q), force)

    def energy(self, q, qd):
        """Kinetic energy; potential energy of gravity, links and elastic joints."""
        T, V = self._energy(q, qd)
        return float(T), float(V)

    def tip(self, q):
        """(4, 4): pose of the last tip frame in the base frame."""
        return np.array(self._tip(q))


KINDS = ("revolute", "prismatic", "fixed", "beam", "rigid")
FIELDS = set(
    "name description links payload gravity joint body placement hub_mass hub_inertia xyz rpy type axis rotor_inertia"
    " gear_ratio damping stiffness spring_damping length mass mass_per_length EI GJ EA polar_inertia modes material"
    " section com inertia".split()
)


def refuse_unknown(arm):
    """Raise NotImplementedError where a description asks for more than the oracle knows.

    A field it has never heard of may be there as long as it has its default, which is taken to change nothing.
    """
    parts = [("arm", arm)] if arm.payload is None else [("arm", arm), ("payload", arm.payload)]
    for link in arm.links:
        parts += [(f"link '{link.name}'", part) for part in (link, link.joint, link.body, link.placement)]
    for where, part in parts:
        kind = getattr(part, "type", None)
        if kind is not None and kind not in KINDS:
            raise NotImplementedError(f"{where}: the oracle has no {kind}")
        for name, field in type(part).model_fields.items():
            if name not in FIELDS and getattr(part, name) != field.default:
                raise NotImplementedError(f"{where}: the oracle has no {name}")


def names(arm):
    """Names of the coordinates: joints, flexible coordinates link by link, motors."""
    moving = [link for link in arm.links if link.joint.type != "fixed"]
    beams = [link for link in arm.links if link.body.type == "beam"]
    return (
        *(f"{link.name}.joint" for link in moving),
        *(f"{link.name}.{d}{k}" for link in beams for d in DIRECTIONS for k in range(1, link.body.counts[d] + 1)),
        *(f"{link.name}.motor" for link in moving if link.joint.stiffness is not None),
    )


def vector(dm):
    return np.array(dm).ravel()


# Rotations


def rodrigues(axis, angle):
    x, y, z = (float(a) for a in axis)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return ca.SX.eye(3) + ca.sin(angle) * ca.SX(K) + (1 - ca.cos(angle)) * ca.SX(K @ K)


def rpy(angles):
    """Rz(yaw) Ry(pitch) Rx(roll), as numbers."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(angles), np.sin(angles)
    Rx = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    Ry = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    Rz = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    return Rz @ Ry @ Rx


# Rigid bodies


def tensor(inertia):
    """3 x 3 tensor from one number (the same about every axis), three principal values, or itself."""
    I = np.asarray(inertia, float)
    return I * np.eye(3) if I.ndim == 0 else np.diag(I) if I.ndim == 1 else I


def points_of(mass, com, inertia):
    """Seven masses and places (3, 7) with this mass, centre and inertia about the centre.

    The second moments `Sigma = 1/2 tr(I) 1 - I` are laid out as pairs of points one metre from the centre along its
    eigenvectors. A thin or unphysical tensor asks for negative masses, which the formulas do not mind.
    """
    sigma, axes = np.linalg.eigh(np.trace(inertia) / 2 * np.eye(3) - inertia)
    masses = np.concatenate([[mass - sigma.sum()], sigma / 2, sigma / 2])
    places = np.column_stack([com, com[:, None] + axes, com[:, None] - axes])
    return masses, places


# Mode shapes on the unit interval: values and strains at the Gauss points, value and slope at the tip


@cache
def gauss(points):
    x, w = np.polynomial.legendre.leggauss(points)
    return (1 + x) / 2, w / 2


@cache
def bending(k, points):
    """Clamped-free mode k of a uniform beam, 1 at the tip: phi, phi'', phi(1), phi'(1)."""
    with mp.workdps(40):
        low, high = (k - 1) * mp.pi, k * mp.pi  # one root of cos b cosh b = -1 between them
        sign = (-1) ** (k - 1)
        for _ in range(140):
            b = (low + high) / 2
            if sign * (mp.cos(b) * mp.cosh(b) + 1) > 0:
                low = b
            else:
                high = b
        sigma = (mp.cosh(b) + mp.cos(b)) / (mp.sinh(b) + mp.sin(b))

        def phi(x):
            return mp.cosh(b * x) - mp.cos(b * x) - sigma * (mp.sinh(b * x) - mp.sin(b * x))

        def phi_s(x):
            return b * (mp.sinh(b * x) + mp.sin(b * x) - sigma * (mp.cosh(b * x) - mp.cos(b * x)))

        def phi_ss(x):
            return b**2 * (mp.cosh(b * x) + mp.cos(b * x) - sigma * (mp.sinh(b * x) + mp.sin(b * x)))

        one = phi(mpf(1))
        x = gauss(points)[0]
        values = np.array([float(phi(mpf(s)) / one) for s in x])
        curvatures = np.array([float(phi_ss(mpf(s)) / one) for s in x])
        return values, curvatures, 1.0, float(phi_s(mpf(1)) / one)


@cache
def stretching(k, points):
    """Clamped-free torsion or axial mode k, 1 at the tip: psi, psi', psi(1), and no slope."""
    a = (2 * k - 1) * np.pi / 2
    sign = (-1) ** (k - 1)
    x = gauss(points)[0]
    return sign * np.sin(a * x), sign * a * np.cos(a * x), 1.0, 0.0
