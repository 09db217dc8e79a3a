"""Random arms with ball joints, and the same arms with three Cardan angles at each of them; one seed a case.

    case = BallArm(7)
    case.ball, case.angled         # both models
    case.q, case.qd, case.u, ...   # a state of the arm with angles
    case.p, case.v                 # the same state of the arm with quaternions

R = Rx(a) Ry(b) Rz(c), and the angular velocity along the link's axes is W(a, b, c) times the rates of the angles.
"""

import loops
import numpy as np
from random_arms import numbers, random_hub, random_state, unit
from random_trees import random_tree
from scipy.spatial.transform import Rotation

import flexarm as fa
from flexarm.model import closures

KINDS = (
    {},
    {"rigid": True},
    {"elastic": True},
    {"telescope": True},
    {"foreshortening": True, "chord": True},
    {"rotor": "absolute"},
    {"telescope": True, "twisting": True, "elastic": True},
    {"tapered": True},
    {"telescope": True, "convection": "paper"},
)
BASES = ("fixed", "free", "moving", "orbit")
PARTS = ("none", "laced", "cables", "contacts", "drags", "gears", "closure", "segments", "bushings", "distributed")
JOINTS = ("revolute", "ball", "fixed", "prismatic", "planar", "universal")
SPRINGS = {"stiffness": (30, 20, 10), "angular_stiffness": (3, 5, 9), "damping": (1, 2, 0.5), "angular_damping": 0.4}


def choice_of(seed):
    """The kind of links, the base and the parts of a case."""
    rng = np.random.default_rng([seed, 4711])
    return tuple(some[rng.integers(len(some))] for some in (KINDS, BASES, PARTS))


def with_parts(arm, part, rng, balls):
    """The arm with parts that act on its links, or with another body of its first one."""
    links = list(arm.links)
    plain = [x for x in links if x.joint.type != "telescope"]
    others = [x for x in links if x.name not in balls and x.joint.type in ("revolute", "prismatic")]

    def on(link):
        return {"link": link.name, "at": 1.0 if link.joint.type == "telescope" else float(rng.choice([0.25, 0.5, 1.0]))}

    def bare(link, **more):
        return link.replace(joint=link.joint.replace(stiffness=None, spring_damping=0.0, **more))

    if part == "laced":
        first, last = links[0], links[-1]
        far = {f"to{'_' * (a == 'at')}{a * (a == 'at')}": x for a, x in on(last).items()}
        struts = [
            fa.Strut(**on(first), point=(1.5, -2.0, 0.7), stiffness=30.0, length=0.4),
            fa.Strut(**on(first), **far, stiffness=20.0),
        ]
        kinds = ("force", "moment", "wrench")
        forces = [
            fa.Force(name=f"push{i}", kind=kinds[i % 3], axes=("base", "link")[i % 2], **on(x))
            for i, x in enumerate(links)
        ]
        if len(others) > 1:
            pair = {x.name: bare(x, rotor_inertia=0.0, rotor="relative") for x in others[:2]}
            arm = arm.replace(
                links=[pair.get(x.name, x) for x in links],
                couplings=[fa.Coupling(links=list(pair), matrix=[[1.0, 0.5], [-0.3, 1.2]])],
            )
        return arm.replace(struts=struts, forces=forces)
    if part == "cables":
        ways = (
            {"stiffness": 31.0, "damping": 2.3, "transition": 0.0, "length": 0.3},
            {"EA": 37.0, "damping": 1.7, "transition": 0.0, "length": 0.4, "input": "rate"},
            {"input": "tension"},
        )
        paths = [[*map(on, rng.permutation(np.array(links, dtype=object))), {"point": (1.0, -1.5, 0.4)}] for _ in ways]
        cables = [
            fa.Cable(name=f"c{i}", points=path, **way) for i, (path, way) in enumerate(zip(paths, ways, strict=True))
        ]
        return arm.replace(cables=cables)
    if part == "contacts":
        kinds = ({}, {"model": "lugre", "bristle_stiffness": 40.0})
        floors = [
            fa.Contact(
                name=f"k{i}", **on(x), normal=numbers(unit(rng)), point=numbers(rng.uniform(5, 6, 3)), stiffness=50.0,
                damping=0.2, friction=0.3, **kinds[i % 2]
            )
            for i, x in enumerate(links)
        ]  # fmt: skip
        return arm.replace(contacts=floors)
    if part == "drags":
        return arm.replace(drags=[fa.Drag(link=x.name, coefficient=(0.1, 0.3, 0.4)) for x in plain[:1]])
    if part == "gears" and len(others) > 1:
        lead, led = others[0], bare(others[1])
        gear = led.replace(joint=fa.Gear(joint=led.joint, follows=lead.name, ratio=-1.3, offset=0.2))
        return arm.replace(links=[gear if x.name == led.name else x for x in links])
    if part == "segments":
        body = fa.Beam(
            length=0.9, mass=0.7, EI={"y": 20.0, "z": 30.0}, GJ=12.0, polar_inertia=0.004,
            modes={"y": 2, "z": 2, "torsion": 2}, segments=2, damping=0.02
        )  # fmt: skip
        return arm.replace(links=[x.replace(body=body) if x is plain[0] else x for x in links])
    if part == "bushings":
        frame = {"xyz": numbers(rng.uniform(-0.5, 0.5, 3)), "rpy": numbers(rng.uniform(-1, 1, 3))}
        ends = {"name": "foot", "link": plain[-1].name, "at": frame, "place": frame}
        mount = {"name": "mount", "link": plain[0].name, "at": 0.5, "to": plain[1].name}
        return arm.replace(bushings=[mount | SPRINGS, ends | SPRINGS])
    if part == "distributed":
        forces = [
            fa.Force(name=f"w{i}", link=x.name, kind="distributed", axes=("base", "link")[i % 2])
            for i, x in enumerate(plain)
        ]
        return arm.replace(forces=forces)
    return arm


class Frames:
    """What `loops.closing` asks of the oracle: frames and tips, which other tests compare with it."""

    def __init__(self, arm):
        self.arm = arm.replace(payload=None)

    def frames(self, q):
        return np.array(fa.Model(self.arm).fixed("frames")(q)).reshape(4, -1, 4).swapaxes(0, 1)

    def tips(self, q):
        return [np.array(fa.Model(self.arm.replace(tip=x.name)).fixed("tip")(q)) for x in self.arm.links]


class BallArm:
    """An arm with ball joints and with angles, and the map between their states."""

    def __init__(self, seed):
        kind, base, part = choice_of(seed)
        rng = np.random.default_rng([seed, 11])
        geared = part == "gears"
        tree = random_tree(seed, free=base in ("free", "orbit"), links=3 + geared, **kind)
        can = [x.name for x in tree.links if x.joint.type != "telescope"]
        self.names = rng.choice(can, 1 if geared else int(rng.integers(1, len(can) + 1)), replace=False).tolist()
        links = [x.replace(**random_hub(rng, False)) if x.name in self.names else x for x in tree.links]
        tree = with_parts(tree.replace(links=links), part, rng, self.names)
        if base == "moving":
            tree = tree.replace(base=fa.MovingBase())
        if base == "orbit":
            orbit = fa.Orbit(rate=0.3, radial=(0.6, 0.0, 0.8), normal=(0.0, 1.0, 0.0))
            tree = tree.replace(base=tree.base.replace(orbit=orbit))
        self.tree, self.free = tree, 6 * tree.free
        angled, ball = self.of(fa.Ball(angles=True)), self.of(fa.Ball())
        self.shift = int(tree.free)
        rates = angled.velocities
        links = [ball.links[i].name for i in ball.balls]
        self.angles = [[rates.index(f"{x}_{i}.joint") for i in (1, 2)] + [rates.index(f"{x}.joint")] for x in links]
        self.rest = np.array([rates.index(x) for x in ball.velocities[ball.twists :]], dtype=int)
        self.q, self.qd, _ = random_state(angled, seed)
        self.q = self.q[: len(angled.coordinates)]
        for a in self.angles:
            self.q[np.array(a) + self.shift] = rng.uniform(-1.2, 1.2, 3)
        self.qd = rng.normal(size=len(rates))
        if part == "closure":
            ball = loops.closing(ball, self.of_q(self.q), str(rng.choice(JOINTS)), seed, opinion=Frames)
            angled = angled.replace(closures=ball.closures)
            J = closures.jacobian(fa.Model(angled), self.q)
            self.qd -= np.linalg.pinv(J, rcond=1e-10) @ (J @ self.qd)
        self.angled, self.ball = fa.Model(angled), fa.Model(ball)
        self.u, self.w = (rng.normal(size=len(x)) for x in (ball.inputs, ball.exogenous))
        self.s = 0.1 * rng.normal(size=len(ball.states))
        self.p, self.T = self.of_q(self.q), self.rates(self.q)
        self.v, self.drift = self.T @ self.qd, self.rates(self.q + 1e-30j * self.moved).imag @ self.qd / 1e-30

    def of(self, joint):
        """The arm with this ball joint at some links."""
        links = [x.replace(joint=joint) if x.name in self.names else x for x in self.tree.links]
        return self.tree.replace(links=links)

    @property
    def moved(self):
        """The rates of the coordinates other than a free base's."""
        return np.concatenate([np.zeros(self.free + self.shift), self.qd[self.free :]])

    def of_q(self, q):
        """The coordinates with quaternions."""
        some = [Rotation.from_euler("XYZ", q[np.array(a) + self.shift]).as_quat() for a in self.angles]
        quaternions = [np.roll(e, 1) for e in some]
        return np.concatenate([q[: self.free + self.shift], *quaternions, q[self.rest + self.shift]])

    def rates(self, q):
        """Rates of the arm with quaternions per rate of the arm with angles; also of complex q."""
        found, n = np.zeros((len(self.rest) + self.free + 3 * len(self.angles), len(self.qd)), dtype=q.dtype), self.free
        found[:n, :n] = np.eye(n)
        for a in self.angles:
            _, b, c = q[np.array(a) + self.shift]
            found[n : n + 3, a] = [
                [np.cos(b) * np.cos(c), np.sin(c), 0],
                [-np.cos(b) * np.sin(c), np.cos(c), 0],
                [np.sin(b), 0, 1],
            ]
            n += 3
        for r, i in enumerate(self.rest, start=n):
            found[r, i] = 1.0
        return found

    def values(self, name, angled=None, ball=None):
        """A quantity of both arms at the state, with some arguments given for each."""
        both = []
        for model, q, qd, more in ((self.angled, self.q, self.qd, angled), (self.ball, self.p, self.v, ball)):
            given = {"q": q, "qd": qd, "u": self.u, "s": self.s, "w": self.w} | (more or {})
            both.append(np.array(model.function(name)(*(given[a] for a in model.arguments(name)))))
        return [x.ravel() if x.shape[1] == 1 else x for x in both]
