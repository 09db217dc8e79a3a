"""An arm that moves in a page: equations, controllers and drawing as programs, and their parameters."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from flexarm.arrays import Array
from flexarm.attitude import local_names
from flexarm.cached import cached_property
from flexarm.checks import counted
from flexarm.closed_forms.formats.program import Program
from flexarm.control import JointPD, composite, lqr
from flexarm.control.gains import rigid_arm
from flexarm.control.shaping import controlled_vibrations
from flexarm.control.timescales import time_scales
from flexarm.description.arm import Arm
from flexarm.description.free import FreeBase
from flexarm.errors import DescriptionError, FlexarmError
from flexarm.mechanics import dynamics as dy
from flexarm.mechanics.chain import coordinate_rates, positions
from flexarm.mechanics.lean import lean
from flexarm.mechanics.parameters import Parameter
from flexarm.mechanics.quantities import acted
from flexarm.mechanics.spatial import added, dot, entries
from flexarm.model import Model
from flexarm.model.local import configured, localized
from flexarm.model.varied import variable
from flexarm.native.program import operations
from flexarm.pictures.drawing import drawing_program
from flexarm.pictures.playable import unplayable
from flexarm.pictures.targets import Targets, ToTargets, targets
from flexarm.trajectory import Shaper
from flexarm.trajectory.shapers import KINDS

STIFF = ("EI", "GJ", "EA", "stiffness")
"""Fields of links that the stiffness slider multiplies."""
DAMPING = "damping_ratio"
GRAVITY = ("gravity", "gravity.x", "gravity.y", "gravity.z")

SOFTEST, STIFFEST = 0.25, 4.0
MOST_DAMPING = 0.1
"""Largest damping ratio that the slider adds to all modes."""

KP_STOPS = tuple(2.0 ** np.arange(-4, 5))
KD_STOPS = tuple(2.0 ** np.arange(-2, 3))
BANDWIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Factors of the bandwidth of LQR and composite control. Composite control leaves out the last one, at which the
Canadarm diverges on the way to its target."""

FASTEST_JOINTS = 8.0
"""Bandwidth of controllers above which a person sees no difference [rad/s]."""

FINE, COARSE = 0.25, 1.25
"""Limits of |lambda| h. At FINE a mode loses 1/600 000 of its energy per step. COARSE is half the stability limit of
RK4, 2.8."""

LASTING = 0.3
"""Damping ratio below which a mode should keep its energy."""

LONGEST_STEP = 1e-3
"""Longest step [s]."""

BUDGET = 5e8
"""Operations per second of motion: a fifth of the speed of V8 on a laptop, and all that it does on a slow phone."""

CALMLY = 0.25
"""Acceleration and speed of a base that wheels turn, relative to those of a joint. Everything on the base swings."""

GENTLE = 0.03
"""Largest quasi-steady deflection of the tip by the acceleration of a target, as a share of the reach, under composite
control. Its design assumes a straight arm, and computed torque follows the whole acceleration."""

SETTLED = 0.005
"""Distance of the tip from its target within which it has settled, as a share of the reach, before rounding."""

WELL_DAMPED = 0.4
"""Damping ratio above which a mode needs no shaper."""

TOLERANCE = 0.05
"""Residual that the EI shapers tolerate, as in `design_shaper`."""


@final
@dataclass(frozen=True)
class Slider:
    """A value that the page changes: p[i] = offset[i] + slope[i] * value for some of the parameters."""

    key: str
    label: str
    unit: str
    value: float
    low: float
    high: float
    logarithmic: bool
    entries: tuple[int, ...]
    offset: tuple[float, ...]
    slope: tuple[float, ...]

    def at(self, p: Array, value: float) -> Array:
        """Return the parameters with this value of the slider."""
        p = p.copy()
        p[list(self.entries)] = np.array(self.offset) + np.array(self.slope) * value
        return p


@final
class Live:
    """An arm as a page runs it. Wheels on a free base control the rotation of the base, and its thrusters are off.

    Parameters
    ----------
    arm : Arm
    q : (nq,)
        Initial configuration, at rest.
    target : (m,)
        Target of each joint. For a wheel it is the rotation of the base about its axis, see `Targets`.
    gains : (Kp, Kd), optional
        Gains of the joint controller, (m,) each.

    Raises
    ------
    DescriptionError
        If a joint has no actuator, or a drive has states or exogenous inputs.
    """

    def __init__(self, arm: Arm, q: ArrayLike, target: ArrayLike, gains: tuple[Array, Array] | None = None):
        if not arm.driven:
            raise DescriptionError(f"play: arm {arm.name!r} has no actuated joint, which the live page needs")
        if why := unplayable(arm):
            raise DescriptionError(f"play: arm {arm.name!r}{why}")
        self.described = arm
        self.target = np.array(target, dtype=float)
        self._gains = gains
        start = dict(zip(arm.coordinates, np.array(q, dtype=float).tolist(), strict=True))
        base = arm.base
        self.arm = arm.replace(base=base.replace(thrusters=())) if isinstance(base, FreeBase) else arm
        self._fewer_modes: dict[str, str] = {}
        while True:
            self.model = Model(self.arm, _varied(self.arm))
            self.rigid = rigid_arm("a live page with computed torques", self.model)
            self.led: Targets = targets(self.model)
            self.q = np.array([start[name] for name in self.arm.coordinates])
            self._forget()
            if self.bearable or not (less := self._fewer()):
                break
            self.arm, what, left = less
            self._fewer_modes[what] = left

    def _forget(self) -> None:
        for name, made in vars(type(self)).items():
            if isinstance(made, cached_property):
                self.__dict__.pop(name, None)

    @cached_property
    def plain(self) -> Model:
        """The arm as described, for controller design."""
        return Model(self.arm)

    # -- sliders

    @cached_property
    def sliders(self) -> tuple[Slider, ...]:
        """Sliders of payload, stiffness, damping and gravity, as far as the arm has them."""
        names = [x.name for x in self.model.varied]
        fields = [_field(self.arm, x) for x in self.model.varied]
        p = self.model.p
        found = []
        if "payload.mass" in names:
            i = names.index("payload.mass")
            mass, total = float(p[i]), _total_mass(self.arm)
            high = 5.0 * mass if mass else _rounded(0.5 * total)
            found.append(Slider("payload", "Payload", "kg", mass, 0.1 * mass, high, False, (i,), (0.0,), (1.0,)))
        stiff = tuple(i for i, field in enumerate(fields) if field in STIFF)
        if stiff:
            zeros, slopes = (0.0,) * len(stiff), tuple(p[list(stiff)].tolist())
            found.append(Slider("stiffness", "Stiffness", "x", 1.0, SOFTEST, STIFFEST, True, stiff, zeros, slopes))
        damped = tuple(i for i, field in enumerate(fields) if field == DAMPING)
        if damped:
            offsets, ones = tuple(p[list(damped)].tolist()), (1.0,) * len(damped)
            found.append(Slider("damping", "More damping", "", 0.0, 0.0, MOST_DAMPING, False, damped, offsets, ones))
        pulled = tuple(i for i, name in enumerate(names) if name in GRAVITY)
        if pulled:
            g = np.array(self.arm.gravity)
            size = float(np.linalg.norm(g))
            down = p[list(pulled)] / size if size else np.array([-1.0])
            zeros = (0.0,) * len(pulled)
            found.append(
                Slider("gravity", "Gravity", "m/s^2", size, 0.0, 20.0, False, pulled, zeros, tuple(down.tolist()))
            )
        return tuple(found)

    def _corners(self) -> Iterator[Array]:
        """Yield parameters with the fastest modes: stiff, well damped, with the lightest and the heaviest load."""
        by_key = {slider.key: slider for slider in self.sliders}
        p = self.model.p
        for key in ("stiffness", "damping"):
            if key in by_key:
                p = by_key[key].at(p, by_key[key].high)
        load = by_key.get("payload")
        yield from [p] if load is None else [load.at(p, load.low), load.at(p, load.high)]

    # -- controllers

    @cached_property
    def pace(self) -> float:
        """Bandwidth of the controllers [rad/s]: that of the slowest mode with locked drives, with an upper limit."""
        slow = [omega for omega in self.plain.frequencies(self.led.standing(self.target)) if omega > 0]
        return float(min([FASTEST_JOINTS, *slow[:1]]))

    @cached_property
    def Kp(self) -> Array:
        """Proportional gains of the joint controller, (m,): as given, or for this bandwidth of the rigid arm."""
        return self._gains[0] if self._gains else self._inertia * self.pace**2

    @cached_property
    def Kd(self) -> Array:
        """Derivative gains, (m,): as given, or for a damping ratio of 0.7."""
        return self._gains[1] if self._gains else 1.4 * self._inertia * self.pace

    @cached_property
    def _inertia(self) -> Array:
        """Inertia of the rigid arm at the target, (m,), along the motion of each target alone."""
        led = targets(self.rigid)
        M = self.rigid.mass_matrix(led.standing(self.target))
        return np.einsum("im,ij,jm->m", led.moved, M, led.moved)

    @cached_property
    def _designs(self) -> tuple[list[Array], str]:
        try:
            joints, wheels = (self.led.moved @ self.target)[list(self.arm.driven)], self.led.wheels
            designs = [lqr.LQR(joints=joints, bandwidth=x * self.pace, wheels=wheels) for x in BANDWIDTHS]
            facts = [design.law(self.plain).facts for design in designs]
        except FlexarmError as error:
            return [], str(error).removeprefix("LQR: ")
        return [self._of_all(x["K"], x["coordinates"]) for x in facts], ""

    def _of_all(self, K: Array, names: tuple[str, ...]) -> Array:
        """Return gains (m, 2n) from the gains of some coordinates."""
        n, names_of_all = self.model.nv, local_names(self.arm)
        own = [names_of_all.index(name) for name in names]
        found = np.zeros((len(K), 2 * n))
        found[:, own + [n + i for i in own]] = K
        return found

    @property
    def regulators(self) -> list[Array]:
        """Gains K (m, 2n) of the LQR about the target for each of its stops, or an empty list if no design exists."""
        return self._designs[0]

    @property
    def without_regulator(self) -> str:
        """Reason why there is no LQR design, or ""."""
        return self._designs[1]

    @cached_property
    def composites(self) -> tuple[dict[float, Array], str]:
        """Gains (m, 2k) of the fast part of composite control for each bandwidth [rad/s] with a stable design.

        The second entry is the reason why a design failed, or "". The slow part is critically damped.
        """
        joints, found, why = tuple(self.target.tolist()), {}, ""
        for omega in (factor * self.pace for factor in BANDWIDTHS[:-1]):
            try:
                controller = composite.Composite(joints, omega**2, 2.0 * omega, configuration=joints)
                facts = controller.law(self.plain).facts
            except FlexarmError as error:
                why = str(error).removeprefix("Composite: ")
                continue
            found[omega] = np.hstack([facts["K_p"], facts["K_d"]])
        return found, why

    @cached_property
    def shapers(self) -> dict[str, list[Shaper | str]]:
        """Shapers of the slowest vibrations by kind, for each pair of stops of Kp and Kd (Kd varies fastest).

        Instead of a shaper there is the reason why there is none, or "" if no slow mode swings.
        """
        slow = [self._swinging(kp, kd) for kp in KP_STOPS for kd in KD_STOPS]
        return {kind: [_shaper(kind, modes) for modes in slow] for kind in KINDS}

    def _swinging(self, kp: float, kd: float) -> list[tuple[float, float]] | str:
        """Return frequency and damping ratio of up to two slow vibrations, or the reason why there are none."""
        target = tuple(self.target.tolist())
        try:
            if self.arm.free:  # it falls with everything on it, so that there is no weight to carry
                controller = ToTargets(target, kp * self.Kp, kd * self.Kd)
                omega, zeta = controlled_vibrations(self.plain, controller, self.led.standing(self.target))
            else:
                omega, zeta = controlled_vibrations(self.plain, JointPD(target, kp * self.Kp, kd * self.Kd))
        except FlexarmError as error:
            return str(error).removeprefix("shaper: ")
        slow = [(w, z) for w, z in zip(omega.tolist(), zeta.tolist(), strict=True) if z < WELL_DAMPED]
        return slow[:1] + [each for each in slow if each[0] > 1.2 * slow[0][0]][:1]

    @property
    def push(self) -> float:
        """Stiffness of a push on the tip [N/m]: the lowest stiffness of the controlled arm at the tip.

        A free base is fixed for this value, and coordinates without stiffness of their own are left out.
        """
        q = self.led.standing(self.target)
        K = np.array(self.plain.slope("restoring_force", 0)(q)) + self._fed_back(self.Kp)
        J = np.array(self.plain.slope("tip", 0)(q))[12:15]  # the last column of the pose
        own = np.arange(self.led.base, len(K))
        own = own[K[own][:, own].any(axis=1)]
        K, J = K[np.ix_(own, own)], J[:, own]
        softest = float(np.linalg.eigvals(J @ np.linalg.solve(K, J.T)).real.max())
        return 1.0 / softest if softest > 0 else 1.0

    def _fed_back(self, gains: Array) -> Array:
        """Return the derivative (n, n) of the joint controller's forces with respect to local coordinates, or their
        rates."""
        B = self.plain.input_matrix(np.array(self.arm.rest))
        return np.asarray(B @ ((self.led.acting * gains)[:, None] * self.led.seen))

    # -- the step

    @cached_property
    def poles(self) -> Array:
        """Eigenvalues [1/s] of the arm, free and controlled, at the ends of the ranges of all sliders."""
        B, n = self.model.input_matrix(self.q), self.model.nv
        hardest = self._fed_back(KP_STOPS[-1] * self.Kp), self._fed_back(KD_STOPS[-1] * self.Kd)
        feedback = [(np.zeros((n, n)), np.zeros((n, n))), hardest]
        feedback += [(B @ K[:, :n], B @ K[:, n:]) for K in self.regulators[-1:]]
        found = []
        for p in self._corners():
            model = self.model.at(p)
            for q in self._configurations():
                M, D = model.mass_matrix(q), np.array(model.slope("damping_force", 1)(q, np.zeros(n)))
                K = np.array(model.slope("restoring_force", 0)(q))
                for Kq, Kqd in feedback:
                    lower = -np.linalg.solve(M, np.hstack([K + Kq, D + Kqd]))
                    found.append(np.linalg.eigvals(np.vstack([np.eye(n, 2 * n, n), lower])))
        return np.concatenate(found)

    @property
    def fastest(self) -> tuple[float, float]:
        """Largest magnitude of a pole, and of a pole with little damping [1/s]."""
        size = np.abs(self.poles)
        lasting = size[-self.poles.real < LASTING * size]
        return float(size.max()), float(lasting.max(initial=0.0))

    @property
    def step(self) -> float:
        """Step of RK4 [s]: fine if the budget allows it, and never longer than half the stability limit."""
        fastest, lasting = self.fastest
        affordable = self._costs / BUDGET
        usual = min(LONGEST_STEP, FINE / max(lasting, 1e-9))
        return min(max(usual, affordable), LONGEST_STEP, COARSE / max(fastest, 1e-9))

    @property
    def bearable(self) -> bool:
        """True if the budget is sufficient for a stable step."""
        affordable = self._costs / BUDGET
        return affordable <= min(LONGEST_STEP, COARSE / max(self.fastest[0], 1e-9))

    @property
    def operations(self) -> float:
        """Number of additions and multiplications per second of motion."""
        return self._costs / self.step

    @cached_property
    def _costs(self) -> int:
        """Number of operations of an RK4 step."""
        return 4 * sum(operations(self.motion.function))

    def _configurations(self) -> list[Array]:
        """Return the configurations at which the fastest modes are computed: start, target, and some random ones."""
        rng = np.random.default_rng(1)
        low, high = self.ranges
        joints = [self.target, *(rng.uniform(low, high, len(low)) for _ in range(3)), low]
        return [self.q, *(self.led.standing(r) for r in joints)]

    @property
    def ranges(self) -> tuple[Array, Array]:
        """Lower and upper ends of the target ranges, (m,) each. They include the first target."""
        low, high = self.led.ranges
        return np.minimum(low, self.target), np.maximum(high, self.target)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Directions in which the arm has fewer modes than its description, with their number."""
        return tuple(f"{what}: {left}" for what, left in self._fewer_modes.items())

    def _fewer(self) -> tuple[Arm, str, str] | None:
        """Return the arm without its fastest mode, the place of the mode, and what remains there, or None if no mode is
        left."""
        model = self.plain
        q = self.led.standing(self.target)
        omega, shapes = model.modes(q, locked=False)
        K = np.array(model.slope("stiffness_force", 0)(q))
        if not len(omega) or not K.any():
            return None
        strain = np.abs(shapes[:, -1] * (K @ shapes[:, -1]))
        coordinate = self.arm.layout[int(np.argmax(strain))]
        link = self.arm.links[coordinate.link]
        if coordinate.role == "flexible":
            counts = dict(link.body.counts)
            own = [x for x in self.arm.layout if x.link == coordinate.link and x.role == "flexible"]
            direction = link.body.amplitudes[own.index(coordinate)].direction
            counts[direction] -= 1
            before = next(x for x in self.described.links if x.name == link.name).body.counts[direction]
            changed = link.replace(body=link.body.replace(modes={d: c for d, c in counts.items() if c}))
            what, left = f"{link.name} {direction}", f"{counts[direction]} of {counted(before, 'mode')}"
        else:
            changed, what, left = link.replace(joint=link.joint.rigid()), f"{link.name} joint", "rigid"
        links = [changed if x is link else x for x in self.arm.links]
        return self.arm.replace(links=links), what, left

    @property
    def limits(self) -> list[tuple[int, float, float]]:
        """Indices in q with a limited range, and its ends. The equations of a telescope are not valid beyond."""
        found, before = [], self.model.nq - self.model.nv
        for body, own in zip(self.model.chain.bodies, self.model.chain.own, strict=True):
            eta = positions(own[1:])
            found += [(before + eta[place], float(low), float(high)) for place, low, high in body.limits]
        return found

    @property
    def path(self) -> tuple[Array, Array]:
        """Acceleration and speed at which targets are approached, (m,) each. The slowest mode swings just visibly."""
        reach = sum(link.body.length for link in self.arm.links)
        moving = [link for link in self.arm.links if link.joint.actuated]
        size = np.array([1.0 if link.joint.unit == "rad" else reach / 4 for link in moving])
        size[[link.name in self.led.wheels for link in moving]] = CALMLY
        a = min(4.0, self.pace**2 / 4)
        return a * size, 0.6 * math.sqrt(a) * size

    @property
    def calm(self) -> float:
        """Factor of the path's acceleration, at most 1, with which composite control bends the arm by `GENTLE`."""
        scales, r = time_scales(self.plain), self.target
        x = [ca.SX.sym(name, len(r)) for name in ("q_r", "v")]
        bent = ca.Function("bent", x, [scales.slow_motion(x[0], ca.DM.zeros(len(r)), x[1])[1]])
        zeta = np.array(bent(r, self.path[0])).ravel()
        places = (self.plain.tip(scales.T @ np.concatenate([r, each]))[:3, 3] for each in (0.0 * zeta, zeta))
        moved = float(np.linalg.norm(np.subtract(*places)))
        return min(1.0, GENTLE * self.reach / max(moved, 1e-300))

    @property
    def reach(self) -> float:
        """Sum of the lengths of the links [m]."""
        return sum(link.body.length for link in self.arm.links)

    @property
    def tolerance(self) -> float:
        """Distance of the tip from its target within which it has settled, with one digit [m]."""
        return float(f"{SETTLED * self.reach:.0e}")

    @cached_property
    def bends(self) -> tuple[tuple[int, int, str], ...]:
        """Link, axis (1 for y, 2 for z) and name of each direction in which a link bends."""
        found = []
        for i, link in enumerate(self.arm.links):
            found += [(i, c, f"{link.name} {axis}") for c, axis in enumerate("xyz") if c and link.body.counts.get(axis)]
        return tuple(found)

    # -- programs

    @cached_property
    def motion(self) -> Program:
        """Program (q, qd, u, f, p) -> q', qdd, and power [W]: of the inputs, lost in dampers, and of the push f on the
        tip [N]."""
        model = self.model
        q, qd = ca.SX.sym("q", model.nq), ca.SX.sym("qd", model.nv)
        u, f = ca.SX.sym("u", len(model.inputs)), ca.SX.sym("f", 3)
        (chain, x), v = model.posed(entries(q)), entries(qd)
        rates = ca.vertcat(*coordinate_rates(chain, v))
        place = ca.vertcat(*dy.frames(chain, x)[-1].p)
        work = ca.dot(f, ca.jtimes(place, q, rates))
        pushed = entries(ca.densify(ca.gradient(work, qd)))
        done = acted(chain, x, v, [], entries(u), [])
        qdd = ca.vertcat(*dy.forward_dynamics(lean(chain), x, v, added(done.force, pushed)))
        power = ca.vertcat(done.supplied, done.lost, dot(pushed, v))
        return self._program("motion", {"q": q, "qd": qd, "u": u, "f": f}, {"rates": rates, "qdd": qdd, "power": power})

    def programs(self) -> list[Program]:
        """Return all programs of the page: motion, drawing, energy, seen, measured, rigid, joint_pd, regulator,
        statics, and composite if there is a design of it."""
        model, led, n, m = self.model, self.led, self.model.nv, len(self.model.inputs)
        q, qd, x0 = ca.SX.sym("q", model.nq), ca.SX.sym("qd", n), ca.SX.sym("x0", n)
        r, rd, at, u0 = (ca.SX.sym(name, m) for name in ("r", "rd", "at", "u0"))
        followed = {"q": q, "qd": qd, "r": r, "rd": rd}
        x = localized(self.arm, q)
        p = model.symbols
        given = [] if p is None else [p]

        energy = ca.vec(model.function("energy")(q, qd, *given))
        aimed = led.aimed(q, r)
        joints = aimed[[*range(led.base), *self.arm.driven]]
        place = self.rigid.function("tip")(configured(self.rigid.arm, joints))[:3, 3]
        rigid = {"there": configured(self.arm, aimed), "place": place, "J": ca.jacobian(place, r)}

        Kp, Kd = ca.SX.sym("Kp", m), ca.SX.sym("Kd", m)
        pd = {"u": led.torque(x, qd, r, rd, Kp, Kd), "carried": self._carried(ca.DM(led.seen) @ x)}

        K = ca.SX.sym("K", m * 2 * n)
        e, ed = x - x0 - ca.DM(led.moved) @ (r - at), qd - ca.DM(led.moved) @ rd
        held = lqr.torque(ca.reshape(K, 2 * n, m).T, u0, e, ed)

        local = ca.SX.sym("x", n)
        restoring = model.function("restoring_force")(configured(self.arm, local), *given)
        return [
            self.motion,
            drawing_program(model),
            self._program("energy", {"q": q, "qd": qd}, {"E": energy}),
            _plain("seen", "Where what is led to a target stands", {"q": q}, {"y": ca.DM(led.shown) @ x}),
            self._program("measured", {"q": q}, self._measured(q, given)),
            _plain("rigid", "The rigid arm at targets: its tip, and its Jacobian", {"q": q, "r": r}, rigid),
            self._program("joint_pd", followed | {"Kp": Kp, "Kd": Kd}, pd),
            _plain("regulator", "u of the LQR", followed | {"at": at, "x0": x0, "u0": u0, "K": K}, {"u": held}),
            self._program("statics", {"x": local}, {"force": restoring, "slope": ca.jacobian(restoring, local)}),
            *([self._composite()] if self.composites[0] else []),
        ]

    def _measured(self, q: Any, given: list[Any]) -> dict[str, Any]:
        """Return the position of the tip, and the deflections of links at their ends, each with its sign."""
        found = {"tip": self.model.function("tip")(q, *given)[:3, 3]}
        if self.bends:
            deflections = self.model.function("deflections")(q, *given)
            found["deflection"] = ca.vertcat(*(deflections[i, c] for i, c, _ in self.bends))
        return found

    def _composite(self) -> Program:
        """Return the program of composite control along a reference without jerk.

        The equilibrium (x0, u0) at the goal `at` completes u_s and zeta_s, as `Composite` does at points of its
        reference.
        """
        scales, n, m = time_scales(self.plain), self.model.nv, len(self.model.inputs)
        sizes = {"q": n, "qd": n, "r": m, "rd": m, "rdd": m, "at": m, "x0": n, "u0": m, "Kp": 1, "Kd": 1}
        sizes["K"] = 2 * m * len(scales.names)
        given = {name: ca.SX.sym(name, size) for name, size in sizes.items()}
        q, qd, r, rd, rdd, at, x0, u0, Kp, Kd, K = given.values()
        zeta_s = scales.slow_motion(r, rd, rdd)[1]
        rate = ca.jtimes(zeta_s, r, rd) + ca.jtimes(zeta_s, rd, rdd)
        u_at, zeta_at = scales.slow_motion(at, ca.DM.zeros(m), ca.DM.zeros(m))

        def slow(p: Any, pd: Any) -> Any:
            return rdd + Kd * (rd - pd) + Kp * (r - p)

        def fast(state: Any) -> Any:
            return ca.reshape(K, state.numel(), m).T @ state

        shift = u0 - u_at, scales.split(x0)[1] - zeta_at
        u = composite.torque(scales, q, qd, slow, fast, shift, composite.FirstOrder(scales.sag(r), rate))
        return _plain("composite", "u of composite control", given, {"u": u})

    def _carried(self, y: Any) -> Any:
        """Return the gravity torque of the rigid arm at y, with load and gravity from the sliders. On a free base it is
        zero."""
        names = [x.name for x in self.model.varied if x.name in ("payload.mass", *GRAVITY)]
        p = self.model.symbols
        if self.arm.free:
            return ca.SX.zeros(y.numel())
        if p is None or not names:
            return self.rigid.function("gravity_force")(y)
        rigid = Model(self.rigid.arm, names)
        places = [[x.name for x in self.model.varied].index(x.name) for x in rigid.varied]
        return rigid.function("gravity_force")(y, p[places])

    def _program(self, name: str, given: dict[str, Any], results: dict[str, Any]) -> Program:
        model = self.model
        dense = {key: ca.cse(ca.densify(ca.SX(x))) for key, x in results.items()}
        return Program(name, f"{model.arm.name}: {name}", model.over_parameters(name, given, dense), model.varied)


def _shaper(kind: str, modes: list[tuple[float, float]] | str) -> Shaper | str:
    """Return the product of a shaper for each mode, or the reason why there is none."""
    if isinstance(modes, str):
        return modes
    if not modes:
        return ""
    try:
        return math.prod((KINDS[kind](*each, TOLERANCE) for each in modes[1:]), start=KINDS[kind](*modes[0], TOLERANCE))
    except FlexarmError as error:
        return str(error)


def _plain(name: str, title: str, given: dict[str, Any], results: dict[str, Any]) -> Program:
    """Return a program without the arm's parameters."""
    dense = [ca.cse(ca.densify(ca.SX(x))) for x in results.values()]
    return Program(name, title, ca.Function(name, [*given.values()], dense, [*given], [*results]))


def _varied(arm: Arm) -> list[str]:
    """Return the names of the parameters that the sliders change."""
    known = variable(arm)
    found = [x.name for x in known if x.name == "payload.mass" or _field(arm, x) in (*STIFF, DAMPING)]
    pulls = [x.name for x in known if x.name in GRAVITY]
    if any(arm.gravity):
        size = dict(zip(("gravity.x", "gravity.y", "gravity.z"), arm.gravity, strict=True))
        found += [x for x in pulls if size.get(x, 1.0)]
    elif not arm.free:  # it would fall out of sight
        found += [x for x in pulls if x == ("gravity.y" if _planar(arm) else "gravity.z")]
    return found


def _planar(arm: Arm) -> bool:
    """Return True if all motion is in the plane x y."""
    model = Model(arm)
    rng = np.random.default_rng(1)
    q = np.array(arm.rest) + 0.3 * rng.normal(size=(4, len(arm.coordinates)))
    return bool(np.abs(model.tip(q)[:, 2, 3]).max() < 1e-9)


def _field(arm: Arm, number: Parameter) -> str:
    """Return the field of a link to which a parameter belongs, "EI" for `upper.EI` and `upper.EI.y`, or ""."""
    if not number.link:
        return ""
    owner = arm.links[number.link - 1].name
    known = (*STIFF, DAMPING, "mass")
    return next((kind for kind in known if f"{number.name}.".startswith(f"{owner}.{kind}.")), "")


def _total_mass(arm: Arm) -> float:
    """Return the mass of all links [kg]."""
    return sum(x.value for x in variable(arm) if _field(arm, x) == "mass")


def _rounded(value: float) -> float:
    """Return a value rounded up to two digits."""
    scale = 10.0 ** math.floor(math.log10(value))
    return math.ceil(value / scale * 10) / 10 * scale
