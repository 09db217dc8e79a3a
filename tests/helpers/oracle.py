"""Lagrange's equations of an arm from the positions of its material points alone.

This is the other opinion. It shares no mechanics with the package: it reads the description (`arm.links[i].joint`,
`.body`, ...), places every material point as a function of q, and lets CasADi differentiate

    T = sum 1/2 m |dr/dt|^2,    p = dT/dqd,    d/dt p - dT/dq + dV/dq + D qd = B u.

A beam is a row of Gauss points. A rigid body is a point mass and six points around it whose second moments are those
of its inertia tensor. No velocity, inertia or Coriolis term is ever written by hand; the one exception is the turning
of a beam's sections about its axis and of rotors, which no point on the axis can show: it is read from the derivative
of a rotation matrix. Clamped-free shapes, and a rod's fixed-free ones, are worked out here too; other families are data
and read as such.

A part from finite elements is a net of nodes that `solids` gives, with the mass between them: 2 T = sum m_ab v_a . v_b.

An arm is a tree: every link starts from the frame of a section, or of a place, of the one that carries it.

A free base has six coordinates more, a shift and a turn from the pose at which it stands; all is evaluated where they
are zero. There their rates are the base's velocity and angular velocity along its own axes, and forces along them are
forces and moments along these axes. Of their second rates those of the turn are the angular acceleration, and those of
the shift are v_dot + w x v, for the shift's axes do not turn with the base.

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

    Covers trees, a base that is fixed, moved or free, revolute, prismatic, telescoping, fixed and elastic joints, both
    conventions of the rotor, rigid links, beams of any family of shapes, uniform or tapered, foreshortening, slope and
    chord, hubs, payloads, struts, bushings, drags, cables (without transition), couplings and thrusters; anything else
    raises NotImplementedError. `points` is the number of Gauss points on a smooth beam; 20 integrate products of the
    first four modes to rounding. Shapes made of more than four pieces have 5 on each: there are cubic polynomials and
    short pieces.

    Forces from outside do virtual work on the place (and turning) of their station. A base that moves is given by
    `base`: acceleration of its origin, and first and second derivatives of its roll, pitch and yaw at a moment when
    these are zero; places are then functions of t too, and all is evaluated at t = 0.

    Velocities v after the paper's eq. 24 are no rates of the places r. A base with the velocity V adds V . sum m v to
    T, which is the rate of V . sum m r less V' . sum m r for rates alone; else the equations would depend on V, which
    nobody gives. So such velocities are those seen from the base's origin, whose acceleration is a force on the places.
    """

    def __init__(self, arm, points=20, solids=None, base=None):
        refuse_unknown(arm)
        self.free, self.velocities = free(arm), names(arm)
        self.coordinates = (*POSE, *self.velocities[6:]) if self.free else self.velocities
        parts = Parts(self.velocities, solids or {})
        R, p, felt = ca.SX.eye(3), ca.SX.zeros(3), ca.DM(arm.gravity)  # the base
        if base is not None:
            a, rates, more = (ca.DM(x) for x in base)
            angles = rates * parts.t + more * parts.t**2 / 2
            R = rodrigues((0, 0, 1), angles[2]) @ rodrigues((0, 1, 0), angles[1]) @ rodrigues((1, 0, 0), angles[0])
            if any(getattr(link.joint, "convection", None) == "paper" for link in arm.links):
                felt -= a
            else:
                p = a * parts.t**2 / 2
        pose, moved = ca.SX.sym("pose", 7 * self.free), parts.q[: 6 * self.free]
        if self.free:
            R = of_quaternion(pose[3:])
            R, p = R @ turned_a_little(moved[3:]), pose[:3] + R @ moved[:3]
            parts.cloud(R, p, *points_of(arm.base.mass, np.array(arm.base.com), tensor(arm.base.inertia)))
        base_turns = parts.turn_rate(R)
        parts.tips[None] = R, p
        for i in borne(arm, None):
            parts.grow(arm, i, R, p, points)
        for strut in arm.struts:
            parts.strain += parts.wound(strut)
        for drag in arm.drags:
            c = ca.DM(drag.coefficient)
            parts.lost += parts.mean(drag.link, "link", points, lambda v, c=c: c.T @ v**2 / 2)
        for bushing in arm.bushings:
            parts.cushion(bushing)
        gaps = ca.vertcat(ca.SX(0, 1), *(parts.gap(closure) for closure in arm.closures))
        spans = [parts.span(cable) for cable in arm.cables]
        for cable, L in zip(arm.cables, spans, strict=True):
            if cable.input == "none":
                parts.tighten(cable, L)

        # Energies, and Lagrange's equations.
        local, qd, rate = parts.q, parts.qd, parts.rate
        q = ca.vertcat(pose, local[6 * self.free :])
        m, r = ca.vertcat(*parts.masses), ca.horzcat(*parts.places)
        v = ca.reshape(rate(ca.vec(r)), 3, -1)
        T = ca.sum1(v**2) @ m / 2 + parts.turning
        V = -felt.T @ r @ m
        for mass, places in parts.nets:
            v = ca.reshape(rate(ca.vec(places)), 3, -1)
            T += ca.sum1(ca.sum2(v * (v @ ca.DM(mass)))) / 2
            V -= felt.T @ places @ ca.DM(mass.sum(axis=1))
        if parts.labels:
            labels, values = ca.vertcat(*parts.labels), ca.vertcat(*parts.values)
            T, V = ca.substitute([T, V], [labels], [values])
        still = ca.vertcat(parts.t, moved)

        def function(inputs, *outputs):
            outputs = [ca.SX(y) for y in outputs]
            if self.free or base is not None:
                outputs = ca.substitute(outputs, [still], [0 * still])
            return ca.Function("f", inputs, outputs)

        @cache
        def momentum():
            return ca.gradient(T, qd)

        def pulled(G):
            """Of gravity's gradient: a mass at x has the energy -1/2 m x' G x."""
            V = -ca.sum1(r * (G @ r)) @ m / 2
            for mass, places in parts.nets:
                V -= ca.sum1(ca.sum2(places * ((G @ places) @ ca.DM(mass)))) / 2
            for inertia, axis in parts.spun:
                V += inertia * axis.T @ G @ axis / 2
            return ca.substitute(V, labels, values) if parts.labels else V

        opening = [gaps, ca.jacobian(gaps, local), ca.jtimes(rate(gaps), local, qd)]
        self._closures = later(lambda: function([q, qd], *opening))
        self._lost = later(lambda: function([q, qd], ca.gradient(ca.SX(parts.lost), qd)))
        moving = [link.name for link in arm.links if link.joint.type != "fixed"]
        columns = through(arm.couplings, {name: parts.sides[name][1] for name in moving})
        pushes = [vector(function([q], ca.gradient(parts.work(each), qd))(arm.rest)) for each in thrusters(arm)]
        self.D, self.B = parts.D, np.array([*columns.values(), *pushes]).reshape(-1, len(self.velocities)).T
        self.sides = [parts.sides[name] for name in moving]
        self._momentum = later(lambda: function([q, qd], momentum()))
        self._bias = later(lambda: function([q, qd], rate(momentum()) - ca.gradient(T, local)))
        self._gravity = later(lambda: function([q], ca.gradient(V, local)))
        self._stiffness = later(lambda: function([q], ca.gradient(ca.SX(parts.strain), local)))
        self._energy = later(lambda: function([q, qd], T, V + parts.strain))
        lengths = ca.vertcat(*spans)
        self._lengths = later(lambda: function([q, qd], lengths, rate(lengths)))
        G = ca.SX.sym("G", 3, 3)
        self._pulled = later(lambda: function([q, G], V := pulled(G), ca.gradient(V, local)))
        frames = [*(parts.stood[link.name][1:3] for link in arm.links), parts.tips[tip_of(arm)]]
        poses = [ca.vertcat(ca.horzcat(*each), ca.DM([[0, 0, 0, 1]])) for each in frames]
        self._frames = later(lambda: function([q], *poses))
        ends = [ca.vertcat(ca.horzcat(*parts.tips[link.name]), ca.DM([[0, 0, 0, 1]])) for link in arm.links]
        self._tips = later(lambda: function([q], *ends))
        turns = function([q, qd], base_turns, ca.jacobian(base_turns, parts.t))
        self.base_turns = [vector(x) for x in turns(arm.rest, 0)]  # angular velocity of the base, and its rate
        work, pushes, stations = 0, [], []
        for force in arm.forces:
            R, p = parts.station(force.link, force.at)
            stations.append(p)
            turning = {"base": R, "link": ca.SX.eye(3)}[force.axes] @ parts.turn_rate(R)
            moving = {"base": ca.SX.eye(3), "link": R.T}[force.axes] @ parts.rate(p)
            if force.kind == "distributed":
                moving = parts.mean(force.link, force.axes, points, lambda v: v)
                stations[-1] = ca.SX.zeros(3)  # nowhere
            for each in {"force": [moving], "distributed": [moving], "moment": [turning], "wrench": [moving, turning]}[
                force.kind
            ]:
                pushes.append(ca.SX.sym("f", 3))
                work += pushes[-1].T @ each
        self._pushed = later(lambda: function([q, ca.vertcat(*pushes)], ca.gradient(ca.SX(work), qd)))
        self._places = later(lambda: function([q], ca.horzcat(*stations)))

    def mass_matrix(self, q):
        """(n, n): the momentum is linear in the rates, so its columns are the momenta of unit rates."""
        n = len(self.velocities)
        still = vector(self._momentum(q, np.zeros(n)))  # of a base that moves
        return np.column_stack([vector(self._momentum(q, e)) - still for e in np.eye(n)])

    def bias(self, q, qd):
        found = vector(self._bias(q, qd))
        if self.free:
            found += self.mass_matrix(q)[:, :3] @ np.cross(qd[3:6], qd[:3])
        return found

    def momentum(self, q, qd):
        """(n,): dT/dqd; a free base's six are momentum, and moment of momentum about its origin, of all there is."""
        return vector(self._momentum(q, qd))

    def gravity_force(self, q):
        return vector(self._gravity(q))

    def stiffness_force(self, q):
        return vector(self._stiffness(q))

    def damping_force(self, q, qd):
        return self.D @ np.asarray(qd, float) + vector(self._lost(q, qd))

    def input_matrix(self, q):
        return self.B

    def residual(self, q, qd, qdd, u):
        """(n,): left side minus right side of the equations of motion."""
        return self.inverse_dynamics(q, qd, qdd) - self.B @ np.asarray(u, float)

    def inverse_dynamics(self, q, qd, qdd):
        """(n,): generalized force that gives qdd."""
        force = self.bias(q, qd) + self.damping_force(q, qd) + self.stiffness_force(q) + self.gravity_force(q)
        return self.mass_matrix(q) @ np.asarray(qdd, float) + force

    def lengths(self, q):
        """(cables,): distance along the points of each cable."""
        return vector(self._lengths(q, np.zeros(len(self.velocities)))[0])

    def lengthened(self, q):
        """(n, cables): rate of each of these distances for unit rates of the arm."""
        return np.array([vector(self._lengths(q, e)[1]) for e in np.eye(len(self.velocities))])

    def pulled(self, q, G):
        """Energy in a field that grows as G x with the place x in the world, and its slope (n,)."""
        V, slope = self._pulled(q, G)
        return float(V), vector(slope)

    def pushed(self, q, forces):
        """(n,): generalized force of what acts from outside, of the components of all in a row."""
        return vector(self._pushed(q, forces))

    def places(self, q):
        """(k, 3): where the stations of the forces stand."""
        return np.array(self._places(q)).T

    def forward_dynamics(self, q, qd, u, forces=()):
        acting = self.B @ np.asarray(u, float) + self.pushed(q, forces)
        force = acting - self.inverse_dynamics(q, qd, np.zeros(len(self.velocities)))
        return np.linalg.solve(self.mass_matrix(q), force)

    def closures(self, q, qd):
        """Gaps (k,) of the closures, their slopes (k, n), and their second rates (k,) without qdd.

        Gaps are differences of points in the world and cross products of axes. Some of them follow from others.
        """
        return [
            np.array(each).squeeze(axis=1) if i != 1 else np.array(each) for i, each in enumerate(self._closures(q, qd))
        ]

    def closed_dynamics(self, q, qd, u):
        """Accelerations with the reactions of closures: the nearest to free ones, in M, that keep the gaps."""
        M, (_, J, gamma) = self.mass_matrix(q), self.closures(q, qd)
        free, back = self.forward_dynamics(q, qd, u), np.linalg.solve(M, J.T)
        return free - back @ np.linalg.lstsq(J @ back, J @ free + gamma, rcond=1e-12)[0]

    def energy(self, q, qd):
        """Kinetic energy; potential energy of gravity, links and elastic joints."""
        T, V = self._energy(q, qd)
        return float(T), float(V)

    def frames(self, q):
        """(links + 1, 4, 4): poses of the links' base frames, and that of the tip."""
        return np.array([np.array(each) for each in self._frames(q)])

    def tips(self, q):
        """(links, 4, 4): poses of the links' tips."""
        found = self._tips(q)
        return np.array([np.array(each) for each in (found if isinstance(found, tuple | list) else [found])])

    def tip(self, q):
        """(4, 4): pose of the tip frame in the base frame, in the world if the base is free."""
        return self.frames(q)[-1]


def later(make):
    """A function that is made when it is first called: most arms are asked for a few of their equations."""
    made = cache(make)
    return lambda *given: made()(*given)


class Parts:
    """What the links of an arm add to the sums: point masses, energies, damping D and columns of B."""

    def __init__(self, coordinates, solids=()):
        n = len(coordinates)
        self.solids, self.nets = solids, []  # mass between the nodes of a net, columns of their places
        self.index = {name: i for i, name in enumerate(coordinates)}
        self.unit = np.eye(n)
        self.q, self.qd, self.t = ca.SX.sym("q", n), ca.SX.sym("qd", n), ca.SX.sym("t")
        self.stood, self.tips = {}, {}  # of each link: its base frame and what bends there; its tip, None the base's
        self.curves = {}  # of each beam of segments: frames along it
        self.ends = {}  # of each telescope: the frame of its last section, which the next joint's may not be
        self.masses, self.places = [], []  # point masses, columns of their world positions
        self.labels, self.values = [], []  # what is held while positions are differentiated, and what it is
        self.rotors = []  # of those of them that are absolute: inertia and axis
        self.spun = []  # inertia about one axis alone, of rotors and of sections about the beam's, and that axis
        self.turning = 0  # kinetic energy of turning sections and rotors
        self.strain = 0
        self.lost = 0  # half the power lost where D follows q
        self.D = np.zeros((n, n))
        self.sides = {}  # of each joint that moves: rows of its link side and of its motor

    def rate(self, expression):
        expression = ca.SX(expression)
        return ca.jtimes(expression, self.q, self.qd) + ca.jtimes(expression, self.t, ca.SX(1.0))

    def grow(self, arm, i, R, p, points):
        """Add link i, which hangs on the frame (R, p), and all that it carries."""
        link = arm.links[i]
        tip = self.tips[link.name] = self.add(link, R, p, lambda: load_of_shapes(arm, i), points)
        for load in payloads(arm, i):
            self.cloud(*tip, *points_of(load.mass, np.zeros(3), tensor(load.inertia)))
        for k in borne(arm, link.name):
            self.grow(arm, k, *self.carried(link.name, arm.links[k].at), points)

    def carried(self, name, at):
        """(R, p) of what carries a link: the tip of another, a section of it, or a place that its base frame carries.

        A place is that: it does not bend.
        """
        if at == 1.0:
            return self.tips[name]
        if isinstance(at, float):
            return self.station(name, at)
        _, R, p, *_ = self.stood[name]
        return R @ rpy(at.rpy), p + R @ np.array(at.xyz)

    def station(self, name, at):
        """(R, p) of a section."""
        if name == "base" and name not in self.stood:
            return self.tips[None]
        link, R, p, flexible, modes = self.stood[name]
        body, x = link.body, np.array([at])
        if link.joint.type == "telescope":
            return self.ends[name]
        if body.type == "rigid":
            return R, p + R @ np.array([at * body.length, 0, 0])
        if body.type == "finite-element":
            raise NotImplementedError(f"link '{name}': the oracle has no section of a part")
        if name in self.curves:
            if round(at, 9) not in self.curves[name]:
                raise NotImplementedError(f"link '{name}': the oracle has no frame at {at}")
            return self.curves[name][round(at, 9)]
        eta = {d: ca.reshape(self.q[indices], len(indices), 1) for d, indices in flexible.items()}
        u = {d: ca.DM(modes[d].values(x, 0)) @ eta[d] for d in DIRECTIONS}
        slopes = [ca.DM(modes[d].psi(x, 0)) @ eta[d] / body.length for d in BENDING]
        here = ca.vertcat(body.length * at + u["axial"], u["y"], u["z"], *slopes, u["torsion"])
        if body.foreshortening and at > 0.0:
            every = ca.vertcat(*(eta[d] for d in DIRECTIONS))
            here += ca.vertcat(*(quadratic([G], every) for G in second_order_at(body.length, modes, at)))
        return R @ bent(here[3], here[4]) @ rodrigues((1, 0, 0), here[5]), p + R @ here[:3]

    def mean(self, name, axes, points, of):
        """Mean over a link of a function of the velocities of its sections, along the axes of the base or their own."""
        modes = self.stood[name][4]
        if any(len(each.x) > points for d, each in modes.items() if d in DIRECTIONS):
            raise NotImplementedError(f"link '{name}': the oracle has no mean over shapes in pieces")
        total = 0
        for x, w in zip(*gauss(points), strict=True):
            R, p = self.station(name, float(x))
            total += w * of({"base": ca.SX.eye(3), "link": R.T}[axes] @ self.rate(p))
        return total

    def wound(self, strut):
        """Energy of a spring between two points."""
        there = self.station(strut.to, strut.to_at)[1] if strut.to else ca.DM(strut.point)
        across = ca.norm_2(self.station(strut.link, strut.at)[1] - there)
        return strut.stiffness * (across - strut.length) ** 2 / 2

    def gap(self, closure):
        """Return numbers that are all zero if the two frames of a closure meet as its joint allows."""
        (R, p), (S, r) = self.frames_of(closure)
        a, b = R @ ca.DM(closure.axis), S @ ca.DM(closure.axis_to or closure.axis)
        away, turned = r - p, R.T @ S
        level = ca.cross(a, b)
        same = ca.inv_skew(turned - turned.T)
        return {
            "revolute": lambda: ca.vertcat(away, level),
            "ball": lambda: away,
            "fixed": lambda: ca.vertcat(away, same),
            "prismatic": lambda: ca.vertcat(ca.cross(a, away), same),
            "planar": lambda: ca.vertcat(a.T @ away, level),
            "universal": lambda: ca.vertcat(away, a.T @ b),
        }[closure.joint]()

    def frames_of(self, connection):
        """The two frames of a closure or a bushing: sections, whose last one is not the frame of a chord, or places."""

        def end(name, at):
            solid = self.stood[name][0].body.type == "finite-element"
            return self.station(name, at) if isinstance(at, float) and not solid else self.carried(name, at)

        first = end(connection.link, connection.at)
        if connection.to != "base":
            return first, end(connection.to, connection.end)
        (B, o), there = self.tips[None], connection.end
        return first, (B @ rpy(there.rpy), o + B @ np.array(there.xyz))

    def cushion(self, bushing):
        """Energy and loss of a bushing, whose angles are those of a vector: 2 sin(a / 2) along the axis."""
        (R, p), (S, r) = self.frames_of(bushing)
        away, turned = R.T @ (r - p), R.T @ S
        phi = ca.inv_skew(turned - turned.T) / ca.sqrt(1 + ca.trace(turned))
        w = self.turn_rate(turned.T)  # along the axes of the second frame; opposite
        for k, c, x, v in (
            (bushing.stiffness, bushing.damping, away, self.rate(away)),
            (bushing.angular_stiffness, bushing.angular_damping, phi, w),
        ):
            self.strain += ca.DM(k).T @ x**2 / 2
            self.lost += ca.DM(c).T @ v**2 / 2

    def span(self, cable):
        """Distance along the points of a cable."""
        places = [self.station(x.link, x.at)[1] if x.link else ca.DM(x.point) for x in cable.points]
        return sum(ca.norm_2(b - a) for a, b in pairwise(places))

    def tighten(self, cable, L):
        """Energy and loss of a cable: a spring and a damper where it is taut, no tension where they would push."""
        k = cable.stiffness or cable.EA / cable.length
        beyond, rate = L - cable.length, self.rate(L)
        self.strain += ca.if_else(beyond > 0, k * beyond**2 / 2, 0)
        pulls = k * beyond + cable.damping * rate > 0
        lost = ca.if_else(pulls, cable.damping * rate**2 / 2, -k * beyond * rate)
        self.lost += ca.if_else(beyond > 0, lost, 0)

    def work(self, thruster):
        """Rate of the work of a thruster's unit force or torque."""
        R, p = self.tips[None]
        d = ca.DM(thruster.direction)
        if thruster.kind == "torque":
            return d.T @ self.turn_rate(R)
        return (R @ d).T @ self.rate(p + R @ ca.DM(thruster.at))

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
        if link.body.type == "beam" and link.body.segments is None:
            flexible = {
                d: [self.index[f"{link.name}.{d}{k}"] for k in range(1, n + 1)] for d, n in link.body.counts.items()
            }
            modes = modes_of(at_nominal_length(link), load, points)
        p = p + R @ np.asarray(link.placement.xyz, float)
        R = R @ rpy(link.placement.rpy)
        if link.joint.type != "fixed":
            R, p = self.joint(link, R, p, flexible, modes)

        self.stood[link.name] = link, R, p, flexible, modes

        # A hub sits on the axle: where a family's shapes have a slope at x = 0, it turns with that slope.
        roots = [ca.DM(modes[d].root).T @ self.q[flexible[d]] / link.body.length if flexible[d] else 0 for d in BENDING]
        self.cloud(R @ bent(*roots), p, *points_of(link.hub_mass, np.zeros(3), tensor(link.hub_inertia)))

        if link.body.type == "rigid":
            return self.rigid(link.body, R, p)
        if link.body.type == "finite-element":
            if link.name not in self.solids:  # where only its weight is asked for
                raise NotImplementedError(f"link '{link.name}': the oracle has no weight of a part")
            own = [self.index[f"{link.name}.mode{j}"] for j in range(1, link.body.modes + 1)]
            return self.solid(self.solids[link.name], R, p, own)
        if link.body.segments is not None:
            along, parts = self.curves.setdefault(link.name, {}), link.body.parts
            for i, part in enumerate(parts, start=1):
                eta = {
                    d: self.q[[self.index[f"{link.name}.s{i}.{d}{k}"] for k in range(1, n + 1)]]
                    for d, n in part.counts.items()
                }
                found = self.curved(part, R, p, eta, points)
                along |= {round((i - 1 + x) / len(parts), 9): frame for x, frame in found}
                R, p = found[-1][1]
            return R, p
        if any(flexible.values()):
            self.damped(link, flexible, modes)
        eta = {d: ca.reshape(self.q[indices], len(indices), 1) for d, indices in flexible.items()}
        if link.joint.type == "telescope":
            return self.telescope(link, R, p, eta, modes)
        return self.beam(link.body, R, p, eta, modes)

    def damped(self, link, flexible, modes):
        """Damping of a link: by the ratios of its modes alone, half its loss factor among them, and by material."""
        body, counts = link.body, list(link.body.counts.values())
        ratios = np.array(body.damping_ratios) + body.loss_factor / 2
        mine = [i for indices in flexible.values() for i in indices]
        if link.joint.type != "telescope":
            M, K = alone(body, modes)
            along, whole = (body.tau, 0.0) if body.rayleigh is None else (
                body.tau + body.rayleigh.stiffness, body.rayleigh.mass
            )  # fmt: skip
            self.D[np.ix_(mine, mine)] += along * K + whole * M
        first = 0
        for d, count in zip(DIRECTIONS, counts, strict=True):
            here = slice(first, first + count)
            if link.joint.type == "telescope":
                self.D[np.ix_(flexible[d], flexible[d])] += modal_damping(link, d, modes[d])
            elif ratios[here].any():
                self.D[np.ix_(flexible[d], flexible[d])] += proportioned(M[here, here], K[here, here], ratios[here])
            first += count

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
            self.rotors.append((joint.rotor_inertia, carrier @ axis))
            self.spun.append(self.rotors[-1])
        self.turning += joint.rotor_inertia * spin**2 / 2
        self.sides[link.name] = angle, motor
        return R, p

    def rigid(self, body, R, p):
        L = body.length
        com = np.array([L / 2, 0, 0]) if body.com is None else np.asarray(body.com, float)
        I = np.diag([0, 1, 1]) * body.mass * L**2 / 12 if body.inertia is None else tensor(body.inertia)
        self.cloud(R, p, *points_of(body.mass, com, I))
        for lump in body.lumps:
            self.cloud(R, p + R @ np.array([lump.at * L, 0, 0]), *lump_points(lump))
        return R, p + R @ np.array([L, 0, 0])

    def solid(self, some, R, p, own):
        eta = self.q[own]
        moved = ca.horzcat(*(ca.DM(at) + ca.DM(phi) @ eta for at, phi in zip(some.x, some.phi, strict=True)))
        self.nets.append((some.mass, p + R @ moved))
        self.strain += eta.T @ ca.DM(some.K) @ eta / 2
        self.D[np.ix_(own, own)] += some.D
        about_x, about_y, about_z = (ca.DM(row).T @ eta for row in some.tip[3:])
        p = p + R @ (ca.DM(some.place) + ca.DM(some.tip[:3]) @ eta)
        return R @ bent(about_z, -about_y) @ rodrigues((1, 0, 0), about_x), p

    def beam(self, body, R, p, eta, modes):
        L, some = body.length, modes["y"]
        x, dx = L * some.x, L * some.w
        u = {d: ca.SX(modes[d].phi) @ eta[d] for d in DIRECTIONS}
        u_tip = {d: ca.DM(modes[d].tip).T @ eta[d] for d in DIRECTIONS}
        for d in DIRECTIONS:
            strained = ca.DM(modes[d].strain / L ** modes[d].order) @ eta[d]
            self.strain += ca.DM(some.section[d] * dx).T @ strained**2 / 2
        places = ca.horzcat(x + u["axial"], u["y"], u["z"])
        slopes = self.tip_slopes(body.next_joint == "chord", L, eta, modes)
        end = ca.vertcat(L + u_tip["axial"], u_tip["y"], u_tip["z"], *slopes, u_tip["torsion"])
        for d in BENDING:
            sheared = ca.DM((modes[d].slope - modes[d].turned) / L) @ eta[d]
            self.strain += ca.DM(some.section["kGA", d] * dx).T @ sheared**2 / 2
            if some.section["rho_I", d].any():
                self.spun.append((float(np.sum(some.section["rho_I", d] * dx)), R[:, 2 if d == "y" else 1]))
                turned = ca.SX(modes[d].turned / L) @ eta[d]
                w = self.turn_rate(R)[2] if d == "y" else -self.turn_rate(R)[1]
                self.turning += ca.DM(some.section["rho_I", d] * dx).T @ (w + self.rate(turned)) ** 2 / 2
        if body.foreshortening:
            every = ca.vertcat(*(eta[d] for d in DIRECTIONS))
            more = ca.horzcat(*(quadratic(modes["second"][:, c], every) for c in range(6)))
            places += more[:-1, :3]
            end += more[-1, :].T
            if body.next_joint == "chord":
                end[3:5] = end[1:3] / L
        self.cloud(R, p, some.section["m"] * dx, places.T)
        if some.section["rho_Ip"].any():
            self.turning += self.spin(R, u["torsion"]) ** 2 @ (some.section["rho_Ip"] * dx) / 2
            self.spun.append((float(np.sum(some.section["rho_Ip"] * dx)), R[:, 0]))
        for lump in body.lumps:
            at = np.array([lump.at])
            y, z, torsion, axial = (ca.DM(modes[d].values(at, 0)) @ eta[d] for d in DIRECTIONS)
            slopes = (ca.DM(modes[d].psi(at, 0)) @ eta[d] / L for d in BENDING)
            here = ca.vertcat(lump.at * L + axial, y, z, *slopes, torsion)
            if body.foreshortening:
                here += ca.vertcat(*(quadratic([G], every) for G in second_order_at(L, modes, lump.at)))
            turn = bent(here[3], here[4]) @ rodrigues((1, 0, 0), here[5])
            self.cloud(R @ turn, p + R @ here[:3], *lump_points(lump))
        return R @ bent(end[3], end[4]) @ rodrigues((1, 0, 0), end[5]), p + R @ end[:3]

    def curved(self, part, R, p, eta, steps):
        """A segment of given curvature: R' = R [kappa x], r' = (1 + eps) R e_x by Runge and Kutta, masses by Simpson.

        Returns stations from 0 to 1 with the frames there.

        Nothing is cut off: what is left falls with the fourth power of the steps. Where the section has a step, one
        of ours ends and the next begins.
        """
        L, ends = part.length, stations(part.breaks, steps)
        x = inside(ends)
        strains = {d: values_of(part, d, n, lambda: (0.0, np.zeros(3), np.eye(3)))[0] for d, n in part.counts.items()}
        order = {"y": 2, "z": 2, "torsion": 1, "axial": 1}
        bend = {d: ca.SX(strains[d](x, order[d]) / L ** order[d]) @ eta[d] for d in DIRECTIONS}
        local, profile = section(part, x), part.profile(x)
        shears = self.shear_strains(part, x, eta, strains, bend)
        weights = L * (np.diff(ends)[:, None] / 6 * [1, 4, 1]).ravel()
        for d in DIRECTIONS:
            self.strain += ca.DM(local[d] * weights).T @ bend[d] ** 2 / 2
        for d in BENDING:
            self.strain += ca.DM(local["kGA", d] * weights).T @ shears[d] ** 2 / 2

        def rate(i, Q, r):
            y, z, t = (bend[d][i] + part.initial_angles.get(d, 0.0) / L for d in ("y", "z", "torsion"))
            skew = ca.vertcat(ca.horzcat(0, -y, -z), ca.horzcat(y, 0, -t), ca.horzcat(z, t, 0))
            return Q @ skew, Q @ ca.vertcat(1 + bend["axial"][i], shears["y"][i], shears["z"][i])

        def climbed(i, Q, r, h):  # from the point i to i + 2
            k1 = rate(i, Q, r)
            k2 = rate(i + 1, Q + h / 2 * k1[0], r + h / 2 * k1[1])
            k3 = rate(i + 1, Q + h / 2 * k2[0], r + h / 2 * k2[1])
            k4 = rate(i + 2, Q + h * k3[0], r + h * k3[1])
            return [a + h / 6 * (b + 2 * c + 2 * d + e) for a, b, c, d, e in zip((Q, r), k1, k2, k3, k4, strict=True)]

        found, (Q, r) = [], (ca.SX.eye(3), ca.SX.zeros(3))
        for step, h in enumerate(L * np.diff(ends)):
            i = 3 * step
            k1, k4 = rate(i, Q, r), climbed(i, Q, r, h)
            end = rate(i + 2, *k4)
            middle = [(a + b) / 2 + h / 8 * (u - v) for a, b, u, v in zip((Q, r), k4, k1, end, strict=True)]  # Hermite
            found += [(Q, r), tuple(middle), tuple(k4)]
            Q, r = k4
        for i, (Q, r) in enumerate(found):
            self.cloud(R, p, np.array([local["m"][i] * weights[i]]), r)
            about = [along[i] for along in (profile.rho_Ip, profile.rho_I_z, profile.rho_I_y)]
            if any(about):
                self.turning += weights[i] / 2 * ca.DM(about).T @ self.turn_rate(R @ Q) ** 2
                axes = ca.horzsplit(R @ Q)
                self.spun += [(weights[i] * some, axis) for some, axis in zip(about, axes, strict=True) if some]
        for lump in part.lumps:
            self.cloud(R, p, np.array([lump.mass]), found[int(np.argmin(np.abs(x - lump.at)))][1])
        return [(at, (R @ Q, p + R @ r)) for at, (Q, r) in zip(x, found, strict=True)]

    def shear_strains(self, part, x, eta, strains, bend):
        """Shear of a segment along y and z, from the balance of moments between its ends."""
        L, step, moments = part.length, 1e-4, {}
        rest = {d: part.initial_angles.get(d, 0.0) / L for d in DIRECTIONS}
        EI = {d: section(part, x)[d] for d in DIRECTIONS}
        for d in BENDING:
            a, b = (section(part, np.clip(x + h, 0, 1))[d] for h in (-step, step))
            growth = (b - a) / (np.clip(x + step, 0, 1) - np.clip(x - step, 0, 1)) / L
            slope = ca.SX(strains[d](x, 3) / L**3) @ eta[d]
            moments[d] = ca.DM(EI[d]) * slope + ca.DM(growth) * bend[d]
        y, z, twist = (bend[d] + rest[d] for d in ("y", "z", "torsion"))
        My, Mz, Mx = (ca.DM(EI[d]) * bend[d] for d in ("y", "z", "torsion"))  # about z, about -y, about x
        force = {"y": -(moments["y"] - twist * Mz + z * Mx), "z": -(moments["z"] + twist * My - y * Mx)}
        found = {}
        for d in BENDING:
            kGA = section(part, x)["kGA", d]
            found[d] = force[d] / kGA if kGA.any() and part.counts[d] else ca.SX.zeros(len(x))
        return found

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
        u = {d: ca.SX(modes[d].phi) @ eta[d] + moved * (ca.SX(modes[d].slope) @ eta[d]) for d in DIRECTIONS}
        self.cloud(R, p, m * w * l, ca.horzcat(l - sigma + u["axial"], u["y"], u["z"]).T)
        t, w_hub = gauss(2)
        sigma = self.held(l + (whole - l) * t)
        self.cloud(R, p, m * w_hub * (whole - l), ca.horzcat(l - sigma, ca.SX.zeros(2, 2)).T)
        spun = body.rho_Ip * w * l
        self.turning += self.spin(R, u["torsion"]) ** 2 @ spun / 2
        self.turning += body.rho_Ip * (whole - l) / 2 * self.turn_rate(R)[0] ** 2
        self.spun.append((body.rho_Ip * whole, R[:, 0]))
        along, mass = body.tau, 0.0
        if body.rayleigh is not None:
            along, mass = along + body.rayleigh.stiffness, body.rayleigh.mass
        for d in DIRECTIONS:
            EI = ca.DM(some.section[d] * w).T * l ** (1 - 2 * modes[d].order)
            rates, strain = self.rate(eta[d]), ca.DM(modes[d].strain)
            self.strain += EI @ (strain @ eta[d]) ** 2 / 2
            self.lost += along * EI @ (strain @ rates) ** 2 / 2
            density = spun if d == "torsion" else m * w * l
            self.lost += mass * ca.SX(density).T @ (ca.DM(modes[d].phi) @ rates) ** 2 / 2
        y, z, torsion, axial = (ca.DM(modes[d].tip).T @ eta[d] for d in DIRECTIONS)
        place, twisted = p + R @ ca.vertcat(l + axial, y, z), rodrigues((1, 0, 0), torsion)
        self.ends[link.name] = R @ bent(*self.tip_slopes(False, l, eta, modes)) @ twisted, place
        return R @ bent(*self.tip_slopes(body.next_joint == "chord", l, eta, modes)) @ twisted, place

    def spin(self, R, torsion):
        """The rates at which sections turn about x of the frame R in which they are turned by `torsion`: a row."""
        cos, sin = ca.cos(torsion).T, ca.sin(torsion).T
        e_y, e_z = R[:, 1] @ cos + R[:, 2] @ sin, R[:, 2] @ cos - R[:, 1] @ sin  # of every section
        return ca.sum1(e_z * ca.reshape(self.rate(ca.vec(e_y)), 3, -1))

    def tip_slopes(self, chord, L, eta, modes):
        """Slopes at the tip, or those of the chord."""
        return [ca.DM(modes[d].tip if chord else modes[d].tip_slope).T @ eta[d] / L for d in BENDING]


@dataclass
class Solid:
    """A net of nodes x (P, 3) that modes move by phi (P, 3, k), the mass (P, P) between them, K and D of the modes.

    The tip stands at `place` and is moved by tip (6, k), along and about x, y, z.
    """

    x: np.ndarray
    mass: np.ndarray
    phi: np.ndarray
    K: np.ndarray
    D: np.ndarray
    tip: np.ndarray
    place: np.ndarray


POSE = tuple(f"base.{name}" for name in ("x", "y", "z", "qw", "qx", "qy", "qz"))
TWIST = tuple(f"base.{name}" for name in ("vx", "vy", "vz", "wx", "wy", "wz"))


def free(arm):
    return arm.base is not None and arm.base.type == "free"


def thrusters(arm):
    return arm.base.thrusters if free(arm) else ()


def borne(arm, name):
    """Positions of the links that a link carries, or the base (None)."""
    names = {link.name for link in arm.links}
    before = [None, *(link.name for link in arm.links)]
    parents = [link.parent or before[i] for i, link in enumerate(arm.links)]
    return [i for i, parent in enumerate(parents) if (parent if parent in names else None) == name]


def tip_of(arm):
    """Name of the link whose tip is the arm's."""
    return arm.links[-1].name if arm.tip is None else arm.tip


def payloads(arm, i):
    """What link i carries at its tip."""
    here = arm.links[i]
    return [load for load in (here.payload, arm.payload if here.name == tip_of(arm) else None) if load is not None]


def through(couplings, moved):
    """Rows of what each actuator moves, of those of the joints."""
    found = dict(moved)
    for coupling in couplings:
        rows = np.array(coupling.matrix) @ [moved[name] for name in coupling.links]
        found.update(zip(coupling.links, rows, strict=True))
    return found


def names(arm):
    """Names of the rates: a free base's, joints, flexible coordinates link by link, motors."""
    moving = [link for link in arm.links if link.joint.type not in ("fixed", "gear")]
    bending = [link for link in arm.links if link.body.type in ("beam", "finite-element")]
    return (
        *(TWIST if free(arm) else ()),
        *(f"{link.name}.joint" for link in moving),
        *(
            f"{link.name}.{part}{d}{k}"
            for link in bending
            for part in pieces(link.body)
            for d, n in link.body.counts.items()
            for k in range(1, n + 1)
        ),
        *(f"{link.name}.motor" for link in moving if link.joint.stiffness is not None),
    )


def pieces(body):
    """What stands before the names of amplitudes: the segments of a beam."""
    count = body.segments if body.type == "beam" else None
    return [""] if count is None else [f"s{i}." for i in range(1, count + 1)]


def load_beyond(arm, i):
    """Mass, first moment (3,) and inertia (3, 3) of what the shapes of link i take to hang on its tip.

    What does hang there, straight and at rest, seen in the tip frame; and what hangs at a station, seen in the frame
    there, by the square of how far a cantilever with a force at its tip bends there. Of rotors the absolute ones count:
    they turn with what carries them.
    """
    own, sums = arm.links[i].name, [np.zeros(()), np.zeros(3), np.zeros((3, 3))]
    for load in payloads(arm, i):
        sums[0], sums[2] = sums[0] + load.mass, sums[2] + tensor(load.inertia)
    for k in borne(arm, own):
        at = arm.links[k].at
        if isinstance(at, float):
            sums = [a + (at**2 * (3 - at) / 2) ** 2 * b for a, b in zip(sums, weight(arm, k), strict=True)]
    return sums


def load_of_shapes(arm, i):
    """The load beyond a link; a shaft with joints beyond its tip has about x the sum of m r^2, half the trace."""
    mass, first, inertia = load_beyond(arm, i)
    if arm.links[i].body.type == "beam" and moves_beyond(arm, arm.links[i].name):
        inertia[0, 0] = np.trace(inertia) / 2
    return mass, first, inertia


def moves_beyond(arm, name):
    """Return True if a joint moves a load of a link, other than loads at its root or beside its line."""
    hanging = [arm.links[k] for k in borne(arm, name) if isinstance(arm.links[k].at, float) and arm.links[k].at > 0.0]
    return any(link.joint.type != "fixed" or moves_beyond(arm, link.name) for link in hanging)


def weight(arm, i):
    """Mass, first moment (3,) and inertia (3, 3) of link i and all that hangs on it, in the frame that carries it."""
    links = [
        link.replace(body=link.body.replace(modes={}, damping=0.0)) if link.body.type == "beam" else link
        for link in arm.links
    ]
    arm, sections = arm.replace(links=links), 0
    parts = Parts(names(arm))
    parts.grow(arm, i, ca.SX.eye(3), ca.SX.zeros(3), points=20)
    for link, R, *_ in parts.stood.values():
        if link.body.type == "beam":
            x, w = panels(link.body.breaks, 20)
            along = link.body.profile(x)
            for inertia, axis in ((along.rho_Ip, 0), (along.rho_I_z, 1), (along.rho_I_y, 2)):
                sections += w @ inertia * link.body.length * R[:, axis] @ R[:, axis].T
    for inertia, axis in parts.rotors:
        sections += inertia * axis @ axis.T
    sums = ca.vertcat(0, *parts.masses), ca.horzcat(ca.SX.zeros(3), *parts.places), ca.SX.zeros(3, 3) + sections
    if parts.labels:
        sums = ca.substitute(sums, [ca.vertcat(*parts.labels)], [ca.vertcat(*parts.values)])
    m, r, sections = (np.array(a) for a in ca.Function("f", [parts.q], sums)(rest_of(arm)))
    second = (r * m.T) @ r.T
    return m.sum(), (r @ m).ravel(), np.trace(second) * np.eye(3) - second + sections


def rest_of(arm):
    """The coordinates at rest, a free base's six among them."""
    return [*np.zeros(6), *arm.rest[7:]] if free(arm) else arm.rest


def bent(slope_y, slope_z):
    return rodrigues((0, 0, 1), slope_y) @ rodrigues((0, 1, 0), -slope_z)


def quadratic(G, eta):
    """eta' G[k] eta for every k; each product of two amplitudes is taken once for all of them."""
    G, (i, j) = np.asarray(G), np.triu_indices(eta.shape[0])
    weights = np.where(i == j, G[:, i, j], G[:, i, j] + G[:, j, i])
    return ca.DM(weights) @ ca.vertcat(*(eta[a] * eta[b] for a, b in zip(i.tolist(), j.tolist(), strict=True)))


KINDS = ("revolute", "prismatic", "telescope", "fixed", "beam", "rigid", "finite-element", "moving", "free")
FIELDS = set(
    "name description links payload gravity joint body placement hub_mass hub_inertia xyz rpy type axis rotor_inertia"
    " gear_ratio damping stiffness spring_damping length mass mass_per_length EI GJ EA polar_inertia modes material"
    " section com inertia rotor section_tip next_joint foreshortening shapes total_length free_length"
    " convection file unit origin part sections tau loss_factor rayleigh lumps shear shear_coefficient"
    " rotary_inertia forces base segments parent at tip thrusters struts couplings closures cables bushings drags"
    " initial_angles".split()
)


def refuse_unknown(arm):
    """Raise NotImplementedError where a description asks for more than the oracle knows.

    A field it has never heard of may be there as long as it has its default, which is taken to change nothing.
    """
    loads = [arm.payload, *(link.payload for link in arm.links)]
    parts = [("arm", arm), *(("payload", load) for load in loads if load is not None)]
    parts += [("base", arm.base)] if arm.base is not None else []
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


def turned_a_little(turn):
    """A turn about its direction by its length, exact to second order: slopes of places need no more."""
    x, y, z = ca.vertsplit(turn)
    K = ca.vertcat(ca.horzcat(0, -z, y), ca.horzcat(z, 0, -x), ca.horzcat(-y, x, 0))
    return ca.SX.eye(3) + K + K @ K / 2


def of_quaternion(e):
    """The rotation matrix of a quaternion (w, x, y, z) of any length."""
    w, x, y, z = ca.vertsplit(e)
    K = ca.vertcat(ca.horzcat(0, -z, y), ca.horzcat(z, 0, -x), ca.horzcat(-y, x, 0))
    return ca.SX.eye(3) + 2 * (w * K + K @ K) / ca.sumsqr(e)


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


def lump_points(lump):
    """Masses and places of a lump, from its section's centre and along its axes."""
    return points_of(lump.mass, np.array(lump.offset), tensor(lump.inertia))


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
    turned: np.ndarray  # by how much sections turn: the slope, unless the beam shears
    strain: np.ndarray
    tip: np.ndarray  # (count,), at x = 1
    tip_slope: np.ndarray
    root: np.ndarray  # slope at x = 0
    values: object  # (x, derivative) -> (len(x), count), and the same of what sections turn
    psi: object
    breaks: np.ndarray


def at_nominal_length(link):
    """The beam of a link, of a telescope what is out of the hub nominally: that has the shapes' wave numbers."""
    if link.joint.type != "telescope":
        return link.body
    body, share = link.body, link.free_length / link.body.length
    return body.replace(length=link.free_length, mass=None if body.mass is None else body.mass * share)


def modes_of(body, load, points):
    """The shapes of every direction of a beam, at Gauss points common to all."""
    families = {d: values_of(body, d, n, load) for d, n in body.counts.items()}
    breaks = np.unique([0.0, 1.0, *body.breaks, *(b for _, _, some in families.values() for b in some)])
    x, w = panels(breaks, points if len(breaks) <= 5 else 5)
    modes, here = {}, section(body, x)
    for d, (values, psi, _) in families.items():
        order = 2 if d in BENDING else 1
        root = psi(np.zeros(1), 0)[0]
        strain = psi(x, 1) if d in BENDING else values(x, 1)
        modes[d] = Modes(
            x, w, here, order, values(x, 0), values(x, 1), psi(x, 0), strain, values(np.ones(1), 0)[0],
            psi(np.ones(1), 0)[0], np.where(np.abs(root) < 1e-10, 0, root), values, psi, breaks,
        )  # fmt: skip
    if body.foreshortening:
        modes["families"] = {d: (values, psi) for d, (values, psi, _) in families.items()}
        modes["second"] = second_order(body.length, modes["families"], x, breaks)
    return modes


def second_order(L, families, x, breaks):
    """(len(x) + 1, 6, n, n): what n modes do to second order at x, and at the tip: x, y, z, slopes, torsion.

    The turn R of a section and its place r follow its strains, R' = R K and r' = R (1 + eps, gamma), gamma its shear.
    With R = 1 + R1 + R2 and R1 linear in the amplitudes, R2' = R1 K, r2' = R1 (eps, gamma) + R2 e_x. No angle is
    needed: of Rz(a) Ry(-b) Rx(phi) the entries (1, 0), (2, 0) and (2, 1) are a, b and phi to second order.
    """
    knots, ends = np.unique([*x, *breaks]), np.array([*x, 1.0])
    points = 8 if len(knots) < 100 else 4  # between two neighbours of very many points little changes
    s, w = panels(knots, points)
    about_x, about_y, about_z = (np.cross(e, np.eye(3)).T for e in np.eye(3))
    turn = {"y": about_z, "z": -about_y, "torsion": about_x, "axial": np.zeros((3, 3))}
    K, R1, eps, root = [], [], [], []
    axes = {"y": 1, "z": 2, "axial": 0}
    for d, (values, psi) in families.items():
        order = 1 if d in BENDING else 0
        turned = psi if d in BENDING else values
        here, there = (np.moveaxis(turned(s, more), 1, 0)[:, :, None, None] for more in (0, 1))
        R1 += list(here * turn[d] / L**order)
        K += list(there * turn[d] / L ** (order + 1))
        strained = (values(s, 1) - order * turned(s, 0)).T / L * (d != "torsion")
        eps += list(strained[:, :, None] * np.eye(3)[axes.get(d, 0)])
        root += [[v * (d == "y"), v * (d == "z")] for v in turned(np.zeros(1), 0)[0] / L]
    K, R1, eps = (
        np.array(each).reshape(len(root), len(s), *shape) for each, shape in ((K, (3, 3)), (R1, (3, 3)), (eps, (3,)))
    )
    a, b = np.reshape(root, (-1, 2)).T

    def running(f):
        """Integrals of f (n, n, points, ...) from 0 to every end."""
        f = np.moveaxis(f, 2, 0) * (L * w).reshape(-1, *[1] * (f.ndim - 1))
        pieces = f.reshape(len(knots) - 1, points, *f.shape[1:]).sum(axis=1)
        return np.cumsum(pieces, axis=0)[np.searchsorted(knots, ends) - 1]

    at_root = np.zeros((len(a), len(a), 3, 3))  # Rz(a) Ry(-b) where the shapes have a slope at the hub
    at_root[..., 0, 0], at_root[..., 1, 2] = -(np.outer(a, a) + np.outer(b, b)) / 2, -np.outer(a, b)
    at_root[..., 1, 1], at_root[..., 2, 2] = -np.outer(a, a) / 2, -np.outer(b, b) / 2
    rate = np.einsum("isab,jsbc->ijsac", R1, K)
    R2 = running(rate) + at_root
    lever = running(rate[..., 0] * (L * s)[:, None])  # int int f = x int f - int s f
    stretched = running(np.einsum("isb,jsab->ijsa", eps, R1))
    x_ = (L * ends)[:, None, None, None]
    r2 = stretched + x_ * (running(rate[..., 0]) + at_root[..., 0]) - lever
    return np.stack([*np.moveaxis(r2, -1, 0), R2[..., 1, 0], R2[..., 2, 0], R2[..., 2, 1]], axis=1)


def second_order_at(L, modes, at):
    """(6, n, n): the same at one station, integrated on short pieces of the way to it."""
    way = at * np.arange(1, 21) / 20
    return second_order(L, modes["families"], way, modes["y"].breaks)[19]


def section(body, x):
    """Mass, stiffness and section inertia of a beam at x in (0, 1)."""
    found = body.profile(x)
    wanted = {"m": found.m, "rho_Ip": found.rho_Ip, "y": found.EI_y, "z": found.EI_z}
    shear = {("kGA", "y"): found.kGA_y, ("kGA", "z"): found.kGA_z}
    turn = {("rho_I", "y"): found.rho_I_y, ("rho_I", "z"): found.rho_I_z}
    return wanted | {"torsion": found.GJ, "axial": found.EA} | shear | turn


def alone(body, modes):
    """M and K of a beam that is clamped and carries nothing but its lumps, over all its coordinates, at rest."""
    counts = list(body.counts.values())
    n = sum(counts)
    parts = Parts([str(i) for i in range(n + 1)])  # one to spare: CasADi takes nothing of a scalar for a row
    edges = np.cumsum([0, *counts])
    eta = {d: parts.q[list(range(a, b))] for d, (a, b) in zip(DIRECTIONS, pairwise(edges), strict=True)}
    parts.beam(body, ca.SX.eye(3), ca.SX.zeros(3), eta, modes)
    v = ca.reshape(parts.rate(ca.vec(ca.horzcat(*parts.places))), 3, -1)
    T = ca.sum1(v**2) @ ca.vertcat(*parts.masses) / 2 + parts.turning
    both = ca.Function(
        "f", [parts.q, parts.qd], [ca.hessian(T, parts.qd)[0], ca.hessian(ca.SX(parts.strain), parts.q)[0]]
    )
    return (np.array(A)[:n, :n] for A in both(0, 0))


def proportioned(M, K, ratios):
    """D by ratios of critical damping in the order of the frequencies; none where nothing moves."""
    if not M.any():
        return np.zeros(M.shape)
    omega2, Phi = eigh(K, M)
    return M @ Phi @ np.diag(2 * ratios * np.sqrt(np.maximum(omega2, 0))) @ Phi.T @ M


def modal_damping(link, direction, modes):
    """D of one direction of a telescope: its beam's at one length, `free_length` or, without that, the whole of it."""
    body, counts = link.body, list(link.body.counts.values())
    first = sum(counts[: DIRECTIONS.index(direction)])
    ratios = np.array(body.damping_ratios[first : first + body.counts[direction]]) + body.loss_factor / 2
    if not ratios.any():
        return 0.0
    L = body.length if link.free_length is None else link.free_length
    density = modes.section["rho_Ip" if direction == "torsion" else "m"]
    M = L * (modes.phi.T * modes.w * density) @ modes.phi
    K = L ** (1 - 2 * modes.order) * (modes.strain.T * modes.w * modes.section[direction]) @ modes.strain
    return proportioned(M, K, ratios)


def values_of(body, direction, count, load):
    """(x, derivative) -> (len(x), count) of a beam's shapes and of what sections turn; where they are not smooth."""
    family = body.families[direction]
    own = {"clamped-free": bending, "fixed-free": stretching}.get(family) if isinstance(family, str) else None
    if direction in BENDING and not body.classical:
        own = None
    if own is not None or count == 0:

        def values(x, n):
            return np.array([own(k, n, tuple(x)) for k in range(1, count + 1)]).reshape(count, len(x)).T

        return values, lambda x, n: values(x, n + 1), ()
    mass, first, inertia = load()
    about = {"y": 2, "z": 1, "torsion": 0, "axial": 0}[direction]  # the axis about which the tip turns
    tip_load = shapes.TipLoad(mass=mass, inertia=inertia[about, about], first_moment=first[0])
    basis = shapes.fitted(family, body, direction, tip_load).basis(count)
    return basis.values, basis.turned, basis.breaks


@cache
def gauss(points):
    x, w = np.polynomial.legendre.leggauss(points)
    return (1 + x) / 2, w / 2


def stations(breaks, steps):
    """Ends of about so many integration steps from 0 to 1. One ends wherever the section changes abruptly."""
    counts = [max(1, round(steps * (b - a))) for a, b in pairwise(breaks)]
    pieces = zip(pairwise(breaks), counts, strict=True)
    return np.concatenate([[0.0], *(np.linspace(a, b, n + 1)[1:] for (a, b), n in pieces)])


def inside(ends):
    """Beginning, middle and end of every step: just inside it, as a section may have a step there."""
    a, b = ends[:-1], ends[1:]
    edge = 1e-13 * (b - a)
    return np.stack([a + edge, (a + b) / 2, b - edge], axis=1).ravel()


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
