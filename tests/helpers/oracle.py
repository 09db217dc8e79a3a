"""Lagrange's equations of an arm from the positions of its material points alone.

This is the other opinion. It shares no mechanics with the package: it reads the description (`arm.links[i].joint`,
`.body`, ...), places every material point as a function of q, and lets CasADi differentiate

    T = sum 1/2 m |dr/dt|^2,    p = dT/dqd,    d/dt p - dT/dq + dV/dq + D qd = B u.

A beam is a row of Gauss points. A rigid body is a point mass and six points around it whose second moments are those
of its inertia tensor. No velocity, inertia or Coriolis term is ever written by hand; the one exception is the turning
of a beam's sections about its axis and of rotors, which no point on the axis can show: it is read from the derivative
of a rotation matrix. Clamped-free shapes, and a rod's fixed-free ones, are worked out here too; other families are data
and read as such.

A telescoping beam is a row of particles, each at its own distance sigma from the tip. Gauss points are places, not
particles: positions are differentiated with sigma held, and only then sigma = l - s is put in. T is then a function of
l, xi and their rates like any other.

Slow, plain, and right.
"""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import casadi as ca
import numpy as np
from mpmath import mp, mpf
from scipy.linalg import eigh

from flexarm import shapes

DIRECTIONS = ("y", "z", "torsion", "axial")  # order of a beam's coordinates
BENDING = ("y", "z")


class Lagrangian:
    """Equations of motion `M qdd + bias + damping + stiffness + gravity = B u` of a described arm.

    Covers revolute, prismatic, telescoping, fixed and elastic joints, both conventions of the rotor, rigid links, beams
    of any family of shapes, uniform or tapered, foreshortening, slope and chord, hubs and payload; anything else raises
    NotImplementedError. `points` is the number of Gauss points on a smooth beam; 20 integrate products of the first
    four modes to rounding. Shapes made of more than four pieces have 8 on each.
    """

    def __init__(self, arm, points=20):
        refuse_unknown(arm)
        self.coordinates = names(arm)
        parts = Parts(self.coordinates)
        R, p = ca.SX.eye(3), ca.SX.zeros(3)  # the base
        for i, link in enumerate(arm.links):
            R, p = parts.add(link, R, p, lambda i=i: load_beyond(arm, i), points)
        if arm.payload is not None:
            parts.cloud(R, p, *points_of(arm.payload.mass, np.zeros(3), tensor(arm.payload.inertia)))

        # Energies, and Lagrange's equations.
        q, qd, rate = parts.q, parts.qd, parts.rate
        m, r = ca.vertcat(*parts.masses), ca.horzcat(*parts.places)
        v = ca.reshape(rate(ca.vec(r)), 3, -1)
        T = ca.sum1(v**2) @ m / 2 + parts.turning
        V = -ca.DM(arm.gravity).T @ r @ m
        if parts.labels:
            labels, values = ca.vertcat(*parts.labels), ca.vertcat(*parts.values)
            T, V = ca.substitute([T, V], [labels], [values])
        momentum = ca.gradient(T, qd)
        bias = rate(momentum) - ca.gradient(T, q)

        def function(inputs, *outputs):
            return ca.Function("f", inputs, [ca.SX(y) for y in outputs])

        self.D, self.B = parts.D, np.array(parts.columns).reshape(-1, len(self.coordinates)).T
        self._momentum = function([q, qd], momentum)
        self._bias = function([q, qd], bias)
        self._gravity = function([q], ca.gradient(V, q))
        self._stiffness = function([q], ca.gradient(ca.SX(parts.strain), q))
        self._energy = function([q, qd], T, V + parts.strain)
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


class Parts:
    """What the links of an arm add to the sums: point masses, energies, damping D and columns of B."""

    def __init__(self, coordinates):
        n = len(coordinates)
        self.index = {name: i for i, name in enumerate(coordinates)}
        self.unit = np.eye(n)
        self.q, self.qd = ca.SX.sym("q", n), ca.SX.sym("qd", n)
        self.masses, self.places = [], []  # point masses, columns of their world positions
        self.labels, self.values = [], []  # what is held while positions are differentiated, and what it is
        self.turning = 0  # kinetic energy of turning sections and rotors
        self.strain = 0
        self.D = np.zeros((n, n))
        self.columns = []

    def rate(self, expression):
        return ca.jtimes(expression, self.q, self.qd)

    def turn_rate(self, R):
        """Angular velocity of a frame along its own axes: w_x = e_z . d(e_y)/dt, and so round."""
        rate = ca.reshape(self.rate(ca.vec(R)), 3, 3)
        return ca.vertcat(*(R[:, (i + 2) % 3].T @ rate[:, (i + 1) % 3] for i in range(3)))

    def cloud(self, R, p, weights, points_local):
        self.masses.append(ca.SX(weights))
        self.places.append(p + R @ points_local)

    def held(self, value):
        """A symbol that stands still while positions are differentiated and is `value` ever after."""
        label = ca.SX.sym("held", *value.shape)
        self.labels.append(ca.vec(label))
        self.values.append(ca.vec(value))
        return label

    def add(self, link, R, p, load, points):
        """Add a link that hangs on the frame (R, p); the pose of its tip."""
        flexible = {d: [] for d in DIRECTIONS}
        modes = {}
        if link.body.type == "beam":
            flexible = {
                d: [self.index[f"{link.name}.{d}{k}"] for k in range(1, n + 1)] for d, n in link.body.counts.items()
            }
            modes = modes_of(link.body, load, points)
        p = p + R @ np.asarray(link.placement.xyz, float)
        R = R @ rpy(link.placement.rpy)
        if link.joint.type != "fixed":
            R, p = self.joint(link, R, p, flexible, modes)

        # A hub sits on the axle: where a family's shapes have a slope at x = 0, it turns with that slope.
        roots = [ca.DM(modes[d].root).T @ self.q[flexible[d]] / link.body.length if flexible[d] else 0 for d in BENDING]
        self.cloud(R @ bent(*roots), p, *points_of(link.hub_mass, np.zeros(3), tensor(link.hub_inertia)))

        if link.body.type == "rigid":
            return self.rigid(link.body, R, p)
        for d, indices in flexible.items():
            if indices:
                self.D[np.ix_(indices, indices)] += modal_damping(link, d, modes[d])
        eta = {d: self.q[indices] for d, indices in flexible.items()}
        if link.joint.type == "telescope":
            return self.telescope(link, R, p, eta, modes)
        return self.beam(link.body, R, p, eta, modes)

    def joint(self, link, R, p, flexible, modes):
        """Motion, spring, damping, rotor and actuator of a joint; the base frame of its link."""
        joint, i = link.joint, self.index[f"{link.name}.joint"]
        axis = np.array([1.0, 0, 0]) if joint.type == "telescope" else np.asarray(joint.axis, float)
        carrier = R  # of the motor
        angle = self.unit[i].copy()  # angle @ q is what the actuator, the spring and the damper work on
        if joint.type == "revolute":
            R = R @ rodrigues(axis, self.q[i])
            for d, along in (("y", axis[2]), ("z", -axis[1])):
                if flexible[d]:
                    angle[flexible[d]] += along * modes[d].root / link.body.length
        elif joint.type == "prismatic":
            p = p + R @ (axis * self.q[i])
        motor = angle
        self.D += joint.damping * np.outer(angle, angle)
        if joint.stiffness is not None:
            motor = self.unit[self.index[f"{link.name}.motor"]]
            twist = motor - angle
            self.strain += joint.stiffness * (ca.DM(twist).T @ self.q) ** 2 / 2
            self.D += joint.spring_damping * np.outer(twist, twist)
        spin = joint.gear_ratio * (ca.DM(motor).T @ self.qd)
        if joint.rotor == "absolute":
            spin += ca.DM(axis).T @ self.turn_rate(carrier)
        self.turning += joint.rotor_inertia * spin**2 / 2
        self.columns.append(motor)
        return R, p

    def rigid(self, body, R, p):
        L = body.length
        com = np.array([L / 2, 0, 0]) if body.com is None else np.asarray(body.com, float)
        I = np.diag([0, 1, 1]) * body.mass * L**2 / 12 if body.inertia is None else tensor(body.inertia)
        self.cloud(R, p, *points_of(body.mass, com, I))
        return R, p + R @ np.array([L, 0, 0])

    def beam(self, body, R, p, eta, modes):
        L, some = body.length, modes["y"]
        x, dx = L * some.x, L * some.w
        u = {d: ca.SX(modes[d].phi) @ eta[d] for d in DIRECTIONS}
        u_tip = {d: ca.DM(modes[d].tip).T @ eta[d] for d in DIRECTIONS}
        for d in DIRECTIONS:
            strained = ca.DM(modes[d].strain / L ** modes[d].order) @ eta[d]
            self.strain += ca.DM(some.section[d] * dx).T @ strained**2 / 2
        shorter, shorter_tip = 0, 0
        if body.foreshortening:
            shorter = sum(quadratic(modes[d].folded[:-1] / L, eta[d]) for d in BENDING) / 2
            shorter_tip = sum(quadratic(modes[d].folded[-1:] / L, eta[d]) for d in BENDING) / 2
        self.cloud(R, p, some.section["m"] * dx, ca.horzcat(x + u["axial"] - shorter, u["y"], u["z"]).T)
        if some.section["rho_Ip"].any():
            cos, sin = ca.cos(u["torsion"]).T, ca.sin(u["torsion"]).T
            e_y, e_z = R[:, 1] @ cos + R[:, 2] @ sin, R[:, 2] @ cos - R[:, 1] @ sin  # of every section
            w_x = ca.sum1(e_z * ca.reshape(self.rate(ca.vec(e_y)), 3, -1))
            self.turning += w_x**2 @ (some.section["rho_Ip"] * dx) / 2
        p = p + R @ ca.vertcat(L + u_tip["axial"] - shorter_tip, u_tip["y"], u_tip["z"])
        return R @ self.tip_turn(body, L, eta, modes) @ rodrigues((1, 0, 0), u_tip["torsion"]), p

    def telescope(self, link, R, p, eta, modes):
        """A beam that slides out of a hub: places at s in (0, l), and the rest in the hub."""
        if any(modes[d].root.any() for d in BENDING):
            raise NotImplementedError(f"link '{link.name}': the oracle has no telescope bent at its hub")
        body, joint, some, l = link.body, link.joint, modes["y"], self.q[self.index[f"{link.name}.joint"]]
        bar, w, m, whole = some.x, some.w, body.m, body.length
        sigma = self.held(l * (1 - bar))  # distance of a particle from the tip
        if joint.convection == "material":
            seen = (l - sigma) / l
        else:
            seen = self.held(l * bar) / l  # eq. 24: u is differentiated at a place, s e_x at a particle
        # psi about each Gauss point: `seen` is equal to `bar` but moves, and is differentiated once
        moved = seen - bar
        u = {d: ca.SX(modes[d].phi) @ eta[d] + moved * (ca.SX(modes[d].slope) @ eta[d]) for d in BENDING}
        self.cloud(R, p, m * w * l, ca.horzcat(l - sigma, u["y"], u["z"]).T)
        t, w_hub = gauss(2)
        sigma = self.held(l + (whole - l) * t)
        self.cloud(R, p, m * w_hub * (whole - l), ca.horzcat(l - sigma, ca.SX.zeros(2, 2)).T)
        self.turning += body.rho_Ip * whole / 2 * self.turn_rate(R)[0] ** 2
        for d in BENDING:
            self.strain += ca.DM(some.section[d] * w).T @ (ca.DM(modes[d].strain) @ eta[d]) ** 2 / 2 / l**3
        p = p + R @ ca.vertcat(l, *(ca.DM(modes[d].tip).T @ eta[d] for d in BENDING))
        return R @ self.tip_turn(body, l, eta, modes), p

    def tip_turn(self, body, L, eta, modes):
        chord = body.next_joint == "chord"
        return bent(*(ca.DM(modes[d].tip if chord else modes[d].tip_slope).T @ eta[d] / L for d in BENDING))


def names(arm):
    """Names of the coordinates: joints, flexible coordinates link by link, motors."""
    moving = [link for link in arm.links if link.joint.type != "fixed"]
    beams = [link for link in arm.links if link.body.type == "beam"]
    return (
        *(f"{link.name}.joint" for link in moving),
        *(f"{link.name}.{d}{k}" for link in beams for d in DIRECTIONS for k in range(1, link.body.counts[d] + 1)),
        *(f"{link.name}.motor" for link in moving if link.joint.stiffness is not None),
    )


def load_beyond(arm, i):
    """Mass, first moment (3,) and inertia (3, 3) of all that hangs on the tip of link i, straight and at rest.

    Seen in the tip frame, from the places of the masses and the sections of beams; rotors are left out.
    """
    stiff = [
        link.replace(body=link.body.replace(modes={}, damping=0.0)) if link.body.type == "beam" else link
        for link in arm.links[i + 1 :]
    ]
    arm = arm.replace(links=[*arm.links[: i + 1], *stiff])
    parts, sections = Parts(names(arm)), 0
    R, p = ca.SX.eye(3), ca.SX.zeros(3)
    for link in stiff:
        R, p = parts.add(link, R, p, None, points=20)
        if link.body.type == "beam":
            x, w = gauss(20)
            sections += w @ link.body.profile(x).rho_Ip * link.body.length * R[:, 0] @ R[:, 0].T
    if arm.payload is not None:
        parts.cloud(R, p, *points_of(arm.payload.mass, np.zeros(3), tensor(arm.payload.inertia)))
    sums = ca.vertcat(0, *parts.masses), ca.horzcat(ca.SX.zeros(3), *parts.places), ca.SX.zeros(3, 3) + sections
    if parts.labels:
        sums = ca.substitute(sums, [ca.vertcat(*parts.labels)], [ca.vertcat(*parts.values)])
    m, r, sections = (np.array(a) for a in ca.Function("f", [parts.q], sums)(arm.rest))
    second = (r * m.T) @ r.T
    return m.sum(), (r @ m).ravel(), np.trace(second) * np.eye(3) - second + sections


def bent(slope_y, slope_z):
    return rodrigues((0, 0, 1), slope_y) @ rodrigues((0, 1, 0), -slope_z)


def quadratic(G, eta):
    """eta' G[i] eta for every i."""
    return ca.vertcat(*(eta.T @ ca.DM(g) @ eta for g in G))


KINDS = ("revolute", "prismatic", "telescope", "fixed", "beam", "rigid")
FIELDS = set(
    "name description links payload gravity joint body placement hub_mass hub_inertia xyz rpy type axis rotor_inertia"
    " gear_ratio damping stiffness spring_damping length mass mass_per_length EI GJ EA polar_inertia modes material"
    " section com inertia rotor section_tip next_joint foreshortening shapes total_length free_length"
    " convection".split()
)


def refuse_unknown(arm):
    """Raise NotImplementedError where a description asks for more than the oracle knows.

    A field it has never heard of may be there as long as it has its default, which is taken to change nothing.
    """
    parts = [("arm", arm)] if arm.payload is None else [("arm", arm), ("payload", arm.payload)]
    for link in arm.links:
        if link.joint.type == "telescope" and getattr(link.body.shapes, "follow", "none") != "none":
            raise NotImplementedError(f"link '{link.name}': the oracle has no shapes that follow the length")
        parts += [(f"link '{link.name}'", part) for part in (link, link.joint, link.body, link.placement)]
    for where, part in parts:
        kind = getattr(part, "type", None)
        if kind is not None and kind not in KINDS:
            raise NotImplementedError(f"{where}: the oracle has no {kind}")
        for name, field in type(part).model_fields.items():
            if name not in FIELDS and getattr(part, name) != field.default:
                raise NotImplementedError(f"{where}: the oracle has no {name}")


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


# Mode shapes on the unit interval


@dataclass(frozen=True)
class Modes:
    """The shapes of a beam in one direction, at Gauss points x with weights w; derivatives are d/dx on (0, 1)."""

    x: np.ndarray
    w: np.ndarray
    section: dict  # "m", "rho_Ip" and the stiffness of every direction, at the Gauss points
    order: int  # of the derivative that strains: 2 in bending, else 1
    phi: np.ndarray  # (len(x), count)
    slope: np.ndarray
    strain: np.ndarray
    tip: np.ndarray  # (count,), at x = 1
    tip_slope: np.ndarray
    root: np.ndarray  # slope at x = 0
    folded: np.ndarray  # (len(x) + 1, count, count): integrals of phi_j' phi_k' from 0 to x, and to 1


def modes_of(body, load, points):
    """The shapes of every direction of a beam, at Gauss points common to all."""
    families = {d: values_of(body, d, n, load) for d, n in body.counts.items()}
    breaks = np.unique([0.0, 1.0, *(b for _, some in families.values() for b in some)])
    x, w = panels(breaks, points if len(breaks) <= 5 else 8)
    knots = np.unique([*x, *breaks])
    fine_x, fine_w = panels(knots, 8)
    modes, here = {}, section(body, x)
    for d, (values, _) in families.items():
        order = 2 if d in BENDING else 1
        slopes = values(fine_x, 1)
        pieces = np.einsum("s,sj,sk->sjk", fine_w, slopes, slopes).reshape(len(knots) - 1, 8, *[body.counts[d]] * 2)
        folded = np.cumsum(pieces.sum(axis=1), axis=0)  # up to every knot but the first, which is 0
        root = values(np.zeros(1), 1)[0]
        modes[d] = Modes(
            x, w, here, order, values(x, 0), values(x, 1), values(x, order), values(np.ones(1), 0)[0],
            values(np.ones(1), 1)[0], np.where(np.abs(root) < 1e-10, 0, root),
            folded[np.searchsorted(knots, [*x, 1.0]) - 1],
        )  # fmt: skip
    return modes


def section(body, x):
    """Mass, stiffness and section inertia of a beam at x in (0, 1)."""
    found = body.profile(x)
    wanted = {"m": found.m, "rho_Ip": found.rho_Ip, "y": found.EI_y, "z": found.EI_z}
    return wanted | {"torsion": found.GJ, "axial": found.EA}


def modal_damping(link, direction, modes):
    """D of one direction: the modes of the link alone, clamped and without load, in the order of their frequencies.

    A telescope has the D of its beam at one length, `free_length` of its joint or, without that, the whole of it.
    """
    body, counts = link.body, list(link.body.counts.values())
    first = sum(counts[: DIRECTIONS.index(direction)])
    ratios = np.array(body.damping_ratios[first : first + body.counts[direction]])
    if not ratios.any():
        return 0.0
    L = body.length if link.free_length is None else link.free_length
    density = modes.section["rho_Ip" if direction == "torsion" else "m"]
    M = L * (modes.phi.T * modes.w * density) @ modes.phi
    K = L ** (1 - 2 * modes.order) * (modes.strain.T * modes.w * modes.section[direction]) @ modes.strain
    omega2, Phi = eigh(K, M)
    return M @ Phi @ np.diag(2 * ratios * np.sqrt(np.maximum(omega2, 0))) @ Phi.T @ M


def values_of(body, direction, count, load):
    """values(x, derivative) -> (len(x), count) of the shapes of a beam, and the places where they are not smooth."""
    family = body.families[direction]
    own = {"clamped-free": bending, "fixed-free": stretching}.get(family) if isinstance(family, str) else None
    if direction in BENDING and body.section_tip is not None:
        own = None
    if own is not None or count == 0:
        return lambda x, n: np.array([own(k, n, tuple(x)) for k in range(1, count + 1)]).reshape(count, len(x)).T, ()
    mass, first, inertia = load()
    about = {"y": 2, "z": 1, "torsion": 0, "axial": 0}[direction]  # the axis about which the tip turns
    tip_load = shapes.TipLoad(mass=mass, inertia=inertia[about, about], first_moment=first[0])
    basis = shapes.fitted(family, body, direction, tip_load).basis(count)
    return basis.values, basis.breaks


@cache
def gauss(points):
    x, w = np.polynomial.legendre.leggauss(points)
    return (1 + x) / 2, w / 2


def panels(breaks, points):
    x, w = gauss(points)
    pairs = list(pairwise(breaks))
    return np.concatenate([a + (b - a) * x for a, b in pairs]), np.concatenate([(b - a) * w for a, b in pairs])


@cache
def clamped_free_root(k):
    """Root k of cos b cosh b = -1, and sigma."""
    with mp.workdps(40):
        low, high = (k - 1) * mp.pi, k * mp.pi  # one root between them
        sign = (-1) ** (k - 1)
        for _ in range(140):
            b = (low + high) / 2
            if sign * (mp.cos(b) * mp.cosh(b) + 1) > 0:
                low = b
            else:
                high = b
        return b, (mp.cosh(b) + mp.cos(b)) / (mp.sinh(b) + mp.sin(b))


@cache
def bending(k, derivative, x):
    """Clamped-free mode k of a uniform beam, 1 at the tip, or a derivative of order 1 or 2."""
    b, sigma = clamped_free_root(k)
    with mp.workdps(40):

        def phi(x):
            C, S, c, s = mp.cosh(b * x), mp.sinh(b * x), mp.cos(b * x), mp.sin(b * x)
            return C - c - sigma * (S - s), S + s - sigma * (C - c), C + c - sigma * (S + s)

        scale = b**derivative / phi(mpf(1))[0]
        return tuple(float(scale * phi(mpf(s))[derivative]) for s in x)


@cache
def stretching(k, derivative, x):
    """Clamped-free torsion or axial mode k, 1 at the tip, or its first derivative."""
    a = (2 * k - 1) * np.pi / 2
    sign = (-1) ** (k - 1)
    return tuple(sign * (a * np.cos(a * np.array(x)) if derivative else np.sin(a * np.array(x))))
