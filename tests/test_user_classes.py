"""Compiled code of classes of the user's own follows what they do, in this process and in the next one."""

import os

import casadi as ca
import numpy as np
import pytest
from programs import ran

import flexarm as fa
from flexarm.model.user_code import digest, is_foreign

START = """
import sys
sys.path.insert(0, ".")
import flexarm as fa
model = fa.Model(fa.load("subudhi-morris"))
n = len(model.coordinates)
q0 = [0.3, -0.5, *[0.0] * (n - 2)]
"""

SENSOR = """
class Sum:
    def names(self, arm):
        return ("sum",)

    def units(self, arm):
        return ("rad",)

    def expression(self, arm, chain, q, qd, qdd):
        from helper import FACTOR
        return [FACTOR * (q[0] + q[1])]

    def described(self):
        return "the sum"


print(float(fa.outputs(model, [Sum()]).values(q0, [0.0] * n, [0.0] * 2)[0]))
"""

REFERENCE = """
class Swing:
    def expression(self, t):
        from helper import FACTOR
        return [FACTOR * t**2, 0.0 * t]

    def described(self):
        return "a swing"


u = fa.PrescribedMotion(Swing())
print(float(fa.simulate(model, 0.1, u=u, samples=2, progress=False).q[-1, 0]))
"""

RIGID = (
    REFERENCE.partition("u = ")[0]
    + """
u = fa.RigidInverseDynamics(Swing())
print(float(fa.simulate(model, 0.01, u=u, samples=2, progress=False).u[0, 0]))
"""
)

JOINT = """
from dataclasses import replace
from typing import ClassVar, Literal
from flexarm.description.joints import Driven
from flexarm.mechanics.drive import driven, with_drive


class Sprung(Driven):
    turns: ClassVar[bool] = True
    type: Literal["sprung"] = "sprung"

    @property
    def direction(self):
        return (0.0, 0.0, 1.0)


@with_drive.register
def sprung(joint: Sprung, body, link, name):
    from helper import FACTOR
    made = driven(joint, body, link, name)
    return replace(made, potential=lambda q, eta: made.potential(q, eta) + FACTOR * q**2 / 2)


rod = {"type": "rigid", "length": 1.0, "mass": 3.0}
arm = fa.Arm(name="sprung", links=[{"name": "rod", "joint": {"type": "sprung"}, "body": rod}])
vary = fa.Model(arm, vary=["rod.mass"])
acceleration = [float(x.forward_dynamics([1.0], [0.0], [0.0])[0]) for x in (fa.Model(arm), vary)]
assert abs(acceleration[0] - acceleration[1]) < 1e-12
print(acceleration[0])
"""
"""Each takes a number from a module beside it, which no description and no source file of the class tells."""


@pytest.mark.parametrize("program", [SENSOR, REFERENCE, RIGID, JOINT], ids=["sensor", "reference", "rigid", "joint"])
def test_what_a_class_takes_from_elsewhere_counts(program, tmp_path):
    """The same text and description, the same time of change, another number in a module that the class imports."""
    file = tmp_path / "mine.py"
    file.write_text(START + program, encoding="utf-8")
    found = []
    for factor in (1.0, 3.0, 1.0):
        helper = tmp_path / "helper.py"
        helper.write_text(f"FACTOR = {factor:g}.0\n", encoding="utf-8")
        os.utime(helper, (1 + factor, 1 + factor))  # else Python's own cache of modules may not see it
        os.utime(file, (1, 1))
        found.append(float(ran(file, folder=tmp_path).stdout))
    assert found[1] == pytest.approx(3 * found[0], rel=1e-3) and found[2] == found[0] != 0


class Scaled:
    """A sensor whose formula changes while it is in use."""

    factor = 1.0

    def names(self, arm):
        return ("scaled",)

    def units(self, arm):
        return ("rad",)

    def expression(self, arm, chain, q, qd, qdd):
        return [self.factor * q[0]]

    def described(self):
        return "scaled"


class Line:
    """A reference whose formula changes while it is in use."""

    slope = 1.0

    def expression(self, t):
        return [self.slope * t**2, 0 * t]

    def described(self):
        return "a line"


def test_a_formula_that_changes_in_a_process_counts():
    model = fa.Model(fa.load("subudhi-morris"))
    n = len(model.coordinates)
    q = np.array([0.3, *[0.0] * (n - 1)])
    sensor, line = Scaled(), Line()
    for factor in (1.0, 2.0, 1.0):
        sensor.factor = line.slope = factor
        y = model.output_function([sensor])(q, np.zeros(n), np.zeros(n))
        assert float(y) == pytest.approx(0.3 * factor)
        linear = model.linearize(q, np.zeros(n), np.zeros(2), outputs=[sensor])
        assert linear.C[0, 0] == pytest.approx(factor)
        moved = fa.simulate(model, 0.1, u=fa.PrescribedMotion(line), samples=2, progress=False)
        assert float(moved.q[-1, 0]) == pytest.approx(0.01 * factor, rel=1e-4)


def test_what_is_the_user_s_own_is_seen_wherever_it_stands():
    ours = fa.Quintic(start=(0.0, 0.0), end=(1.0, 1.0), duration=1.0)
    model = fa.Model(fa.load("canadarm"))
    shaped = fa.trajectory.shaped(ours, fa.ZV(2.0))
    assert not is_foreign(ours, shaped, fa.Encoder(coordinate="upper.drive"), model.arm, model, [{"a": (ours,)}])
    theirs = fa.trajectory.shaped(Line(), fa.ZV(2.0))
    for each in (
        Line(),
        Line,
        lambda t: t,
        theirs,
        {"a": [Line()]},
        np.array([Line()], dtype=object),
        theirs.described,
    ):
        assert is_foreign(each)


def test_a_digest_is_that_of_the_expression():
    x = ca.SX.sym("x")
    one, same, other = (ca.Function("f", [x], [factor * ca.sin(x)]) for factor in (2.0, 2.0, 2.5))
    assert digest(one) == digest(same) != digest(other)
