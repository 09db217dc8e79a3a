"""Motions and sensors of the user's own: expressions of odd kinds and numbers, in whatever takes a reference."""

import numpy as np

import flexarm as fa
from flexarm import control, trajectory

from . import right
from .arms import whole
from .judge import Found


class Odd:
    """A reference whose expression is drawn; its words are the same for all."""

    def __init__(self, joints, shapes, jumps):
        self.shapes, self.joints, self._jumps = shapes, joints, jumps

    def expression(self, t):
        import casadi as ca

        return [shape(ca, t) for shape in self.shapes]

    def described(self):
        return "odd"

    def jumps(self):
        return self._jumps


SHAPES = (
    lambda ca, t: 0.1 * t,
    lambda ca, t: 0.1 * ca.sin(50 * t),
    lambda ca, t: ca.if_else(t < 0.005, 0.0, 0.01),
    lambda ca, t: 0.1 * t**2,
    lambda ca, t: 1e-300 * t,
    lambda ca, t: 1e6 * t**3,
    lambda ca, t: ca.sqrt(t),
    lambda ca, t: ca.sqrt(t - 0.005),
    lambda ca, t: 1 / (t - 0.005),
    lambda ca, t: ca.log(t),
    lambda ca, t: 1e308 * t * 10,
    lambda ca, t: float("nan"),
    lambda ca, t: 1,
    lambda ca, t: np.float64(0.1),
    lambda ca, t: ca.DM(0.1),
    lambda ca, t: ca.fabs(t - 0.005),
    lambda ca, t: ca.exp(-1000 * t),
    lambda ca, t: None,
    lambda ca, t: "x",
    lambda ca, t: [t, t],
)
JUMPS = (
    lambda: (),
    lambda: [0.005],
    lambda: [np.nan],
    lambda: [np.inf, -1.0],
    lambda: None,
    lambda: "x",
    lambda: [[0.1]],
)


def case(rng, folder, note):
    c = right.context(rng, folder)
    count = c.joints if rng.random() < 0.9 else rng.choice((0, 1, c.joints + 1))
    chosen = [rng.randrange(len(SHAPES)) for _ in range(count)]
    good = rng.random() < 0.6
    chosen = [i % 6 for i in chosen] if good else chosen
    odd = Odd(count, [SHAPES[i] for i in chosen], rng.choice(JUMPS)() if rng.random() < 0.3 else [0.005])
    wrap = rng.choice(("", "shaped", "rigid", "prescribed", "pd", "sampled"))
    note(f"{c.name}: shapes {chosen}, jumps {odd.jumps()!r}, {wrap}")
    reference = trajectory.shaped(odd, fa.ZV(frequency=50.0)) if wrap == "shaped" else odd
    if wrap == "rigid":
        u = fa.RigidInverseDynamics(reference)
    elif wrap == "pd":
        u = control.JointPD(reference, Kp=1.0, Kd=0.1)
    elif wrap == "sampled":
        u = control.Sampled(control.JointPD(reference, Kp=1.0, Kd=0.1), 1e-3)
    else:
        u = fa.PrescribedMotion(reference)
    result = fa.simulate(c.model, 0.01, u=u, samples=5, progress=False)
    whole(result)
    if wrap in ("", "prescribed") and good and count == c.joints:
        _follows(c, odd, result)
    return "run"


def _follows(c, reference, result):
    """A prescribed motion is that of the reference in use, whatever another one with the same words was."""
    jumps = any(shape in SHAPES[2:3] for shape in reference.shapes)
    if result.attrs["status"] != "completed" or jumps or c.arm.motors:  # of an elastic joint the motor is moved
        return
    wanted = trajectory.reference_values(reference, result.time.values)
    moved = [list(c.model.coordinates).index(c.model.velocities[i]) for i in c.arm.joints]
    found = result.q.values[:, moved]
    if np.abs(found - wanted).max() > 1e-6 + 1e-3 * np.abs(wanted).max():
        raise Found("wrong", "a prescribed motion is not that of its reference")
