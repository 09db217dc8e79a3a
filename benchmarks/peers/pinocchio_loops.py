"""Pinocchio's constraint dynamics from Python: points of closed loops coincide, RK4 or SciPy's DOP853 integrates.

A hinge of a loop is one point in a plane, two points on its axis in space. Redundant conditions are solved by proximal
steps. Gaps that arise are corrected by Baumgarte's terms or not at all.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from benchmarks.peers import loops, pinocchio_systems
from benchmarks.peers.peer import HINGES, Setting, Solution, lines_of, loop_steps, timed
from benchmarks.peers.tasks import Array, Task

FREQUENCIES = (0.0, 10.0)
"""Of Baumgarte's correction, which is damped critically [rad/s]."""
PROXIMAL = (1e-10, 1e-10, 10)
"""Accuracy, mu and most iterations, as in Pinocchio's example of closed chains, with fewer iterations."""


def settings(task: Task) -> Iterator[Setting]:
    """DOP853 by tolerance, RK4 by steps, each with and without corrections."""
    for n, frequency in product(HINGES if task.continuum else (1,), FREQUENCIES):
        hinges = f"{n} hinges a link, " if task.continuum else ""
        each = f"Baumgarte {frequency:g} rad/s" if frequency else "no correction"
        for rtol in pinocchio_systems.TOLERANCES[1::2]:
            name = f"{hinges}DOP853, {each}, rtol {rtol:.0e}"
            yield Setting(name, f"{n} {frequency} DOP853", (frequency, "DOP853", rtol, n))
        for count in loop_steps(task.intervals):
            name = f"{hinges}RK4, {each}, {count} steps"
            yield Setting(name, f"{n} {frequency} RK4", (frequency, "RK4", count, n))


def solve(task: Task, frequency: float, method: str, number: Any, segments: int = 1) -> Solution:
    """Build, integrate."""
    equivalent = task.equivalent(segments)
    run = {"DOP853": pinocchio_systems.adaptive, "RK4": pinocchio_systems.fixed}[method]
    beside = pinocchio_systems.rk4 if method == "RK4" else pinocchio_systems.System.flow
    lines = lines_of(Loops.rate, Loops.place, run, beside)
    return timed(task, lambda: Loops(task, equivalent, frequency), lambda system: run(task, system, number), lines)


class Loops(pinocchio_systems.System):
    """The rigid tree with its closures."""

    def __init__(self, task: Task, equivalent: Any, frequency: float):
        super().__init__(task, equivalent)
        pin, model = self.pin, self.model
        self.closures = pin.StdVec_RigidConstraintModel()
        for pin_, shift in product(loops.pins(equivalent.arm), (0.0,) if task.planar else (0.0, loops.REACH)):
            ends = []
            for body, point, axis in zip(pin_.bodies, pin_.points, pin_.axes, strict=True):
                ends += [body + 1, pin.SE3(np.eye(3), point + shift * axis)]
            closure = pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, *ends, pin.ReferenceFrame.LOCAL)
            closure.m_baumgarte_parameters.Kp = frequency**2
            closure.m_baumgarte_parameters.Kd = 2 * frequency
            self.closures.append(closure)
        self.gaps = pin.StdVec_RigidConstraintData([closure.createData() for closure in self.closures])
        self.proximal = pin.ProximalSettings(*PROXIMAL)
        pin.initConstraintDynamics(model, self.data, self.closures, self.gaps)

    def rate(self, q: Array, v: Array) -> Array:
        """Acceleration, under the springs of hinges."""
        tau = self.u - self.K @ q - self.D @ v if self.soft else self.u
        return self.pin.constraintDynamics(
            self.model, self.data, q, v, tau, self.closures, self.gaps, self.proximal
        ).copy()
