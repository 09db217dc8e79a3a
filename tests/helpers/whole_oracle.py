"""All quantities of an arm with drives, contacts, couplings and whatever else a description has, by an other opinion.

    other = Whole(arm)
    other.values(q, qd, s, u, w, qdd)        # a dict: every quantity of the package by its name

Inertia, weight, strain and the places of stations are the `Lagrangian`'s, of material points. What acts beside them is
written down again here from its equations, in plain numbers: motors, friction, brakes, springs, play, stops, contacts.
"""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from oracle import Lagrangian, load_beyond
from part_files import solid_of
from rubbing import of_brake, of_friction, steady
from scipy.spatial.transform import Rotation

import flexarm as fa

LOOSE = 1.0
"""Stiffness that the Lagrangian is given where a spring stands in the drive, for a motor with a coordinate of its own;
what it adds is taken away again."""


@dataclass
class Acting:
    """What acts beside the Lagrangian's own forces: forces (n,), powers, energies, rates of states."""

    n: int
    potential: np.ndarray = field(init=False)  # force of what has a potential, -dV/dq
    other: np.ndarray = field(init=False)
    V: float = 0.0
    stored: float = 0.0
    lost: float = 0.0
    s_dot: dict = field(default_factory=dict)

    def __post_init__(self):
        self.potential, self.other = np.zeros(self.n), np.zeros(self.n)


@dataclass
class Joint:
    """A joint with its rows over the rates: its own, that of its actuator, and that behind the actuator's spring."""

    link: fa.Link
    moved: np.ndarray
    turned: np.ndarray
    through: np.ndarray


class Whole:
    """The opinion on one arm; raises `NotImplementedError` where there is none.

    `base` has the acceleration of a moving base, and its angular velocity and acceleration, as `Lagrangian` takes them.
    """

    def __init__(self, arm, part=None, points=20, base=None):
        self.arm, self.n = arm, len(arm.velocities)
        for link in arm.links:
            body = link.body
            if body.pieces and (any(body.damping_ratios) or body.tau or body.loss_factor or body.rayleigh):
                raise NotImplementedError(f"link '{link.name}': the oracle has no damping of segments")
        self.bare = bare(arm)
        solids = {link.name: _solid(arm, i, part) for i, link in enumerate(arm.links) if _is_part(link)}
        self.still = Lagrangian(self.bare, points=points, solids=solids)
        self.lagrangian = self.still if base is None else Lagrangian(self.bare, points, solids, base)
        turns = self.lagrangian.base_turns
        self.base_motion = [] if base is None else [*base[0], *turns[0], *turns[1]]
        self.joints = self._joints()

    def _joints(self):
        moving = [link for link in self.arm.links if link.joint.type != "fixed"]
        moved = {link.name: side[0] for link, side in zip(moving, self.still.sides, strict=True)}
        through = dict(moved)
        for coupling in self.arm.couplings:
            rows = np.array(coupling.matrix) @ [moved[name] for name in coupling.links]
            through.update(zip(coupling.links, rows, strict=True))
        turned = {
            link.name: side[1] if link.joint.elastic else through[link.name]
            for link, side in zip(moving, self.still.sides, strict=True)
        }
        return [Joint(link, moved[link.name], turned[link.name], through[link.name]) for link in moving]

    @property
    def driven(self):
        """The coordinate that each joint's actuator moves; None where one moves a sum of several."""
        found = [np.flatnonzero(joint.turned) for joint in self.joints]
        return [int(row[0]) for row in found] if all(len(row) == 1 for row in found) else None

    def input_matrix(self):
        pushes = self.still.B[:, len(self.joints) :]
        return np.column_stack([*[joint.turned for joint in self.joints], pushes]).reshape(self.n, -1)

    # -- what acts

    def acting(self, q, qd, s, u, w):
        """All that acts on the arm; without u the motors are away."""
        local = self._local(q)
        found = Acting(self.n)
        for i, joint in enumerate(self.joints):
            self._drive(found, joint, local, qd, s, None if u is None else u[i], w)
        self._outside(found, q, qd, s, w)
        return found

    def _drive(self, found, joint, q, qd, s, u, w):
        name, described = joint.link.name, joint.link.joint
        drive = described.drive or fa.Drive()
        stretch = joint.turned - joint.through
        y, y_dot = stretch @ q, stretch @ qd
        wound, elastic, slope = y, 0.0, 1.0
        if described.elastic:
            k, d = described.stiffness or 0.0, described.spring_damping
            spring = drive.spring or fa.Spring(stiffness=1e-300)
            k, d = k + spring.stiffness, d + spring.damping
            wound, slope = (y, 1.0) if drive.backlash is None else _play(drive.backlash, y)
            V, elastic = _spring(spring, k, wound)
            found.potential -= joint.turned * slope * elastic - joint.through * slope * elastic
            found.V += V
            drag, rate = d * slope * y_dot, slope * y_dot
            if drive.backlash is not None:  # a side pushes and never pulls
                drag = max(drag, min(-elastic, 0)) if elastic > 0 else min(drag, max(-elastic, 0))
            more = 0.0
            if spring.hysteresis is not None:
                state = f"{name}.spring.hysteresis"
                more, found.s_dot[state], heat, held = _yields(spring.hysteresis, s[state], rate)
                found.lost, found.stored = found.lost + heat, found.stored + held
            if spring.variable:
                more += w[f"{name}.spring.stiffness"] * wound
            found.other -= stretch * slope * (drag + more)
            found.lost += drag * rate
        self._motor(found, joint, drive, qd, s, u)
        load = slope * elastic if described.elastic else self._torque(joint, drive, qd, u)
        for part, row, where in (
            (drive.friction, joint.turned, "friction"),
            (drive.link_friction, joint.moved, "link_friction"),
        ):
            if part is not None:
                state = f"{name}.{where}.bristle"
                v = float(row @ qd)
                mine = [s[state]] if part.states else []
                if part.states and mine[0] is None:  # in steady sliding
                    mine = [np.sign(v) * steady(part, v, load)]
                F, rates, lost = of_friction(part, v, mine, load)
                found.other, found.lost = found.other - row * F, found.lost + lost
                if rates:
                    found.s_dot[state] = rates[0]
                    found.stored += mine[0] ** 2 / 2 / part.bristle_stiffness
        if drive.brake is not None:
            state = f"{name}.brake.bristle"
            bristle = 0.0 if s[state] is None else s[state]
            F, rates, lost = of_brake(drive.brake, float(joint.turned @ qd), [bristle], w[f"{name}.brake.engaged"])
            found.other, found.lost = found.other - joint.turned * F, found.lost + lost
            found.s_dot[state] = rates[0]
            found.stored += bristle**2 / 2 / (drive.brake.bristle_stiffness or drive.brake.holding / 1e-3)
        at, rate = joint.moved @ q, joint.moved @ qd
        if drive.stops is not None:
            self._stops(found, drive.stops, joint.moved, at, rate)
        if drive.parallel is not None:
            k, rest, d = drive.parallel.stiffness, drive.parallel.rest, drive.parallel.damping
            found.potential -= joint.moved * k * (at - rest)
            found.other -= joint.moved * d * rate
            found.V, found.lost = found.V + k * (at - rest) ** 2 / 2, found.lost + d * rate**2
        push = [x for x in self.arm.forces if x.kind == "drive" and x.link == name]
        for each in push:
            found.other += joint.turned * w[f"{each.name}.drive"]

    def _stops(self, found, stops, row, at, rate):
        for end, sign in ((stops.upper, 1.0), (stops.lower, -1.0)):
            if end is not None:
                deep, steep = _beyond(sign * (at - end), stops.transition or 0.0)
                drag = max(stops.damping * sign * steep * rate, -stops.stiffness * deep)
                found.potential -= row * sign * steep * stops.stiffness * deep
                found.other -= row * sign * steep * drag
                found.V += stops.stiffness * deep**2 / 2
                found.lost += drag * sign * steep * rate

    def _motor(self, found, joint, drive, qd, s, u):
        """The actuator's push, behind its motor where there is one."""
        if drive.motor is None:
            found.other += joint.turned * (0.0 if u is None else u)
            return
        state = f"{joint.link.name}.motor.current"
        if drive.motor.states:
            found.s_dot[state] = 0.0
            found.stored += drive.motor.inductance * (s[state] or 0.0) ** 2 / 2
        if u is None:
            return
        torque, output, current, current_rate, lost = _motor(
            drive.motor, joint, u, s.get(state), float(joint.turned @ qd)
        )
        found.other += joint.turned * output
        found.lost += lost
        if drive.motor.states:
            found.s_dot[state] = current_rate

    def _torque(self, joint, drive, qd, u):
        if u is None:
            return 0.0
        return u if drive.motor is None else _motor(drive.motor, joint, u, 0.0, float(joint.turned @ qd))[0]

    def _outside(self, found, q, qd, s, w):
        given, k = [], 0
        pushed = list(self.bare.forces)
        sizes = [6 if x.kind == "wrench" else 3 for x in pushed]
        for force, size in zip(pushed, sizes, strict=True):
            contact = next((x for x in self.arm.contacts if x.name == force.name), None)
            if contact is None:
                kind = {"force": "fff", "distributed": "fff", "moment": "mmm", "wrench": "fffmmm"}[force.kind]
                given += [w[f"{force.name}.{a}{b}"] for a, b in zip(kind, "xyzxyz", strict=False)]
            else:
                place = self._stations(q)[len(pushed) - len(self.arm.contacts) + self.arm.contacts.index(contact)]
                unit = [np.eye(sum(sizes))[k + j] for j in range(3)]
                rows = np.array([self._pushed(q, e) for e in unit])
                given += [0.0] * 3
                self._contact(found, contact, place, rows, qd, s)
            k += size
        if given:
            found.other += self._pushed(q, np.array(given))
        if self.arm.orbit:
            V, slope = self.still.pulled(q, self._gradient(s["base.orbit"]))
            found.s_dot["base.orbit"] = self.arm.orbit.rate
            if s["base.orbit"] is not None:
                found.other -= slope
                found.stored += V

    def _stations(self, q):
        return self.lagrangian.places(q)

    def _pushed(self, q, forces):
        return self.lagrangian.pushed(q, forces)

    def _gradient(self, angle):
        orbit = self.arm.orbit
        r = Rotation.from_rotvec((angle or 0.0) * np.array(orbit.normal)).apply(orbit.radial)
        return orbit.rate**2 * (3 * np.outer(r, r) - np.eye(3))

    def _contact(self, found, wall, place, rows, qd, s):
        n, v = np.array(wall.normal), rows @ qd
        deep = max(wall.radius - n @ (place - np.array(wall.point)), 0.0)
        spring = wall.stiffness * deep**wall.exponent
        N = max(spring * (1 - wall.damping * (n @ v)), 0.0)
        found.potential += rows.T @ (spring * n)
        found.V += spring * deep / (wall.exponent + 1)
        slip = v - n * (n @ v)
        rubbing = np.zeros(3)
        if wall.model == "lugre":
            along = _tangents(n)
            speeds = along @ slip
            speed, sigma_0, mu = np.linalg.norm(speeds), wall.bristle_stiffness, wall.friction
            states = [f"{wall.name}.bristle_1", f"{wall.name}.bristle_2"]
            z = np.array([s[x] for x in states], dtype=object)
            z = mu / sigma_0 * speeds / speed if z[0] is None else z.astype(float)
            z_dot = speeds - sigma_0 * speed * z / mu
            rubbing = along.T @ (N * (sigma_0 * z + wall.bristle_damping * z_dot))
            found.s_dot |= dict(zip(states, z_dot, strict=True))
        elif wall.friction:
            rubbing = wall.friction * N * slip / np.sqrt(slip @ slip + wall.creep_rate**2)
        force = (N - spring) * n - rubbing
        found.other += rows.T @ force
        found.lost -= force @ v

    # -- the quantities

    def values(self, q, qd, s, u, w, qdd):
        """Every quantity of the package that this has an opinion on, by its name, without rates of work."""
        arm, still, moved = self.arm, self.still, self.lagrangian
        s, w = dict(zip(arm.states, s, strict=True)), dict(zip(arm.exogenous, w, strict=True))
        idle = self.acting(q, qd, dict.fromkeys(s), None, dict.fromkeys(w, 0.0))
        full = self.acting(q, qd, s, u, w)
        away = self.acting(q, qd, s, None, w)
        M, B = still.mass_matrix(q), self.input_matrix()
        gravity, bias = still.gravity_force(q), still.bias(q, qd)
        stiffness = still.stiffness_force(q) - self._loose(q) - full.potential
        bare_damping = still.damping_force(q, qd)
        damping = bare_damping - idle.other
        thrust = B[:, len(self.joints) :] @ u[len(self.joints) :]
        inertial = moved.bias(q, qd) + moved.gravity_force(q)
        force = full.other + thrust - stiffness - bare_damping
        passive = away.other + thrust - stiffness - bare_damping
        T, V = still.energy(q, qd)
        V += full.V + full.stored - self._loose_energy(q)
        tips, straight = still.tips(q), still.tips(self._straight(q))
        frames, frames0 = still.frames(q), still.frames(self._straight(q))
        s_dot = [full.s_dot[name] for name in arm.states]
        found = {
            "mass_matrix": M,
            "bias": bias,
            "gravity_force": gravity,
            "stiffness_force": stiffness,
            "restoring_force": stiffness + gravity,
            "damping_force": damping,
            "input_matrix": B,
            "inverse_dynamics": M @ qdd + bias + gravity + stiffness + damping,
            "energy": np.array([T, V]),
            "frames": frames,
            "tip": frames[-1],
            "deflections": np.array(
                [_deflection(frames[i], tips[i], frames0[i], straight[i]) for i in range(len(arm.links))]
            ),
            "motors": self._motors(qd, s, u),
            "forward_dynamics": np.linalg.solve(M, force - inertial),
            "residual": force - inertial - M @ qdd,
            "s_dot": np.array(s_dot),
            "lost": full.lost + qd @ bare_damping,
            "pose": pose_rates(q, qd) if arm.free else qd,
        }
        if arm.free:
            found["momentum"] = self._momentum(q, qd)
        if self.driven is not None:
            found |= self._prescribed(M, inertial - passive, u, [away.s_dot[name] for name in arm.states])
        return found

    def _momentum(self, q, qd):
        p, R = self.still.momentum(q, qd)[:6], Rotation.from_quat([*q[4:7], q[3]])
        linear = R.apply(p[:3])
        return np.concatenate([linear, R.apply(p[3:]) + np.cross(q[:3], linear)])

    def _prescribed(self, M, force, u, s_dot):
        """The driven coordinates accelerate by u, the others follow."""
        driven = self.driven
        free = [i for i in range(self.n) if i not in driven]
        qdd = np.zeros(self.n)
        qdd[driven] = u[: len(driven)]
        if free:
            qdd[free] = np.linalg.solve(M[np.ix_(free, free)], -(force + M @ qdd)[free])
        needed = (M @ qdd + force)[driven]
        return {
            "prescribed acceleration": qdd,
            "prescribed s_dot": np.array(s_dot),
            "prescribed_force": np.concatenate([needed, u[len(driven) :]]),
        }

    def _motors(self, qd, s, u):
        rows = [[x, 0.0] for x in u]
        for i, joint in enumerate(self.joints):
            motor = joint.link.joint.drive and joint.link.joint.drive.motor
            if motor:
                current = s.get(f"{joint.link.name}.motor.current")
                torque, _, amperes, *_ = _motor(motor, joint, u[i], current, float(joint.turned @ qd))
                rows[i] = [torque, amperes]
        return np.array(rows, dtype=float).reshape(-1, 2)

    def _loosened(self):
        """Rows of the springs that the Lagrangian has been given and the arm has not."""
        sides = zip(self.joints, self.still.sides, strict=True)
        return [motor - angle for joint, (angle, motor) in sides if joint.link.joint.elastic]

    def _loose(self, q):
        local = self._local(q)
        return sum((LOOSE * row * (row @ local) for row in self._loosened()), np.zeros(self.n))

    def _loose_energy(self, q):
        local = self._local(q)
        return sum(LOOSE * (row @ local) ** 2 / 2 for row in self._loosened())

    def _local(self, q):
        """The coordinates over the rates: a free base's six are zero."""
        return np.concatenate([np.zeros(6), q[7:]]) if self.arm.free else q

    def _straight(self, q):
        """The configuration with nothing bent."""
        q = q.copy()
        q[np.array(self.arm.flexible, dtype=int) + self.arm.free] = 0.0
        return q


def bare(arm):
    """The arm that the Lagrangian knows: without drives, couplings and walls, with a force where a wall is."""
    links = []
    for link in arm.links:
        joint = link.joint
        if joint.type != "fixed":
            springs = {"stiffness": LOOSE if joint.elastic else None, "spring_damping": 0.0}
            joint = joint.replace(drive=None, **springs)
        links.append(link.replace(joint=joint))
    walls = [fa.Force(name=x.name, link=x.link, at=x.at) for x in arm.contacts]
    forces = [*(x for x in arm.forces if x.kind != "drive"), *walls]
    base = arm.base.replace(orbit=None) if arm.free else None
    return arm.replace(links=links, couplings=(), contacts=(), forces=forces, base=base)


def _is_part(link):
    return link.body.type == "finite-element"


def _solid(arm, i, part):
    body = arm.links[i].body
    if body.shapes not in ("clamped-loaded", "clamped-free") or not body.modes:
        raise NotImplementedError(f"the oracle has no part with shapes {body.shapes} and {body.modes} modes")
    load = None
    if body.shapes == "clamped-loaded":
        mass, first, inertia = load_beyond(bare(arm), i)
        load = (mass, np.array([first[0], 0, 0]), np.diag(np.diag(inertia)))
    return solid_of(part, body.modes, load, body.damping_ratios)


def pose_rates(q, qd):
    """Rates of a free base's coordinates, then those of the others: e' = e (0, w) / 2."""
    w, x, y, z = q[3:7]
    R = Rotation.from_quat([x, y, z, w])
    a, b, c = qd[3:6]
    e = [-x * a - y * b - z * c, w * a + y * c - z * b, w * b + z * a - x * c, w * c + x * b - y * a]
    return np.concatenate([R.apply(qd[:3]), np.array(e) / 2, qd[6:]])


def _deflection(frame, tip, frame0, tip0):
    """The tip's displacement in its link's frame, and the angles of Rz(a) Ry(-b) Rx(c), without those at rest."""
    R, R0 = frame[:3, :3], frame0[:3, :3]
    moved = R.T @ (tip[:3, 3] - frame[:3, 3]) - R0.T @ (tip0[:3, 3] - frame0[:3, 3])
    turned = [Rotation.from_matrix(x[:3, :3].T @ y[:3, :3]).as_euler("ZYX") for x, y in ((frame, tip), (frame0, tip0))]
    a, b, c = turned[0] - turned[1]
    return [*moved, a, -b, c]


# -- drives


def _beyond(y, transition):
    """max(y, 0) with a slope that goes from 0 to 1 as x^2 (3 - 2 x) over the transition."""
    if transition == 0.0:
        return max(y, 0.0), float(y > 0)
    x = min(max(y / transition + 0.5, 0.0), 1.0)
    return (transition * (x**3 - x**4 / 2) if x < 1 else y), x**2 * (3 - 2 * x)


def _play(backlash, y):
    given = 0.1 * backlash.width if backlash.transition is None else backlash.transition
    transition = 0.0 if backlash.sharp else given
    above, below = (_beyond(x - backlash.width / 2, transition) for x in (y, -y))
    return above[0] - below[0], above[1] + below[1]


def _spring(spring, k, p):
    """Energy and force of k p + cubic p^3 and the table, which is integrated piece by piece."""
    V, F = k * p**2 / 2 + spring.cubic * p**4 / 4, k * p + spring.cubic * p**3
    if spring.table:
        x, y = np.array(spring.table).T

        def force(at):
            i = int(np.clip(np.searchsorted(x, at) - 1, 0, len(x) - 2))
            return y[i] + (at - x[i]) * (y[i + 1] - y[i]) / (x[i + 1] - x[i])

        knots = sorted({0.0, p, *(a for a in x if min(0, p) < a < max(0, p))})
        area = sum((force(a) + force(b)) / 2 * (b - a) for a, b in pairwise(knots))
        V, F = V + np.sign(p) * area, F + force(p)
    return V, F


def _yields(described, z, rate):
    """Bouc and Wen: force, z', power lost, energy held; without a state at z = 0."""
    z = 0.0 if z is None else z
    x = z * described.stiffness / described.force
    slip = described.shape * abs(rate) * x * abs(x) ** (described.exponent - 1)
    slip += (1 - described.shape) * rate * abs(x) ** described.exponent
    k = described.stiffness
    return k * z, rate - slip, k * z * slip, k * z**2 / 2


def _rounded(x, width):
    return max(x, 0.0) if width == 0.0 else (x + np.sqrt(x**2 + width**2)) / 2


def _clipped(x, low, high, width):
    return low + _rounded(x - low, width) - _rounded(x - high, width)


def _motor(motor, joint, u, current, v):
    """Torque before the gear, behind it, current, its rate, power lost, as the docstring of `Motor` has them."""
    G, width = joint.link.joint.gear_ratio, motor.saturation_width if motor.saturation == "smooth" else 0.0
    kt, most = motor.torque_constant, motor.torque_limit
    rate, heat = 0.0, 0.0
    if motor.input == "voltage":
        ke = kt if motor.back_emf_constant is None else motor.back_emf_constant
        emf, top = ke * G * v, motor.voltage_limit
        V = u if top is None else _clipped(u, -top, top, width * top)
        if motor.inductance is None:
            i = (V - emf) / motor.resistance
            if most is not None:
                cut = most / abs(kt * G)
                i = _clipped(i, -cut, cut, width * cut)
        else:
            i = current or 0.0
            rate = (V - motor.resistance * i - emf) / motor.inductance
        torque = kt * G * i
        heat = motor.resistance * i**2 + emf * i - torque * v
    else:
        torque = _limited(motor, u, v, width)
        i = torque / (kt * G) if kt else 0.0
    e, back = motor.efficiency, motor.efficiency if motor.back_efficiency is None else motor.back_efficiency
    sigma = np.tanh(v / motor.efficiency_rate)
    driving, driven = (1 - e) * abs(torque), (1 / back - 1) * abs(torque)
    # the share of each goes with how much the torque drives: (1 + sign(torque) sigma) / 2
    share = (1 + np.sign(torque) * sigma) / 2
    resisting = sigma * (share * driving + (1 - share) * driven)
    return torque, torque - resisting, i, rate, heat + resisting * v


def _limited(motor, u, v, width):
    most = motor.torque_limit
    if motor.torque_speed is not None:
        x, y = motor.torque_speed.speed, motor.torque_speed.torque
        available = lambda speed: np.interp(speed, x, y)  # noqa: E731
        top = y[0] if most is None else most
    elif motor.speed_limit is not None:
        stall = most if motor.stall_torque is None else motor.stall_torque
        top = stall if most is None else most
        most = top
        available = lambda speed: stall * _rounded(1 - speed / motor.speed_limit, width)  # noqa: E731
    elif most is not None:
        return _clipped(u, -most, most, width * most)
    else:
        return u
    high, low = available(v), available(-v)
    if most is not None:
        high, low = (most - _rounded(most - x, width * top) for x in (high, low))
    return _clipped(u, -low, high, width * top)


def _tangents(n):
    """Two unit vectors along a plane, the first as near as can be to the axis that its normal is farthest from."""
    k = int(np.argmin(np.abs(n)))
    first = np.eye(3)[k] - n[k] * n
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(n, first)])
