"""The Canadarm's slew of Mohan & Saha's section 7.1, by the recursion and by the dense path of section 7.2."""

from collections.abc import Callable
from functools import cache
from typing import Any

import casadi as ca
import numpy as np

from flexarm import Arm, Beam, Cycloidal, Model, RigidInverseDynamics, load, simulate
from flexarm.arrays import Array
from flexarm.cached import cached_property
from flexarm.model.tracing import Traced
from flexarm.simulation.advance import Stretch
from flexarm.simulation.butcher import METHODS
from flexarm.simulation.explicit import Explicit
from flexarm.simulation.rhs import Plan

Solve = Callable[[Plan, float, Array, Array], Stretch]
"""Function (plan, t0, x0, times) -> states at the times."""

UNTIL = 10.0
REFERENCE = Cycloidal((0.075, 0.05, 0.1), (10.0, 5.0, 5.0))
STEP = 2.5e-3
"""Step of RK4 [s]. For the Canadarm, RK4 is stable to |h omega| = 2 sqrt(2), which is 2.73 ms."""
PATHS = ("forward_dynamics", "forward_dynamics_dense")
"""Functions of the recursion of section 5 and of the factors of the whole inertia matrix of section 7.2."""


def solver(method: str, rtol: float = 1.0, atol: float = 1.0, step: float = 0.0) -> Solve:
    """Return a solver with these tolerances, or with a fixed step."""
    return lambda plan, t0, x0, times: Explicit(METHODS[method], plan, rtol, np.full(len(x0), atol), step)(
        t0, x0, times
    )


SOLVERS: dict[str, Solve] = {
    "tight": solver("dop853", 1e-8, 1e-10),
    "rk4": solver("rk4", step=STEP),
    "loose": solver("rk45", 1e-3, 1e-6),
}


class Slew:
    """Slew of section 7.1: the desired motion, the rigid arm's torques, and runs by either path.

    Attributes
    ----------
    n, m : number of coordinates, of joints
    t : (times,)
    u, theta, thetad, thetadd : (times, joints)
    """

    def __init__(self, model: Model):
        self.model = model
        self.n, self.m = len(model.coordinates), len(model.inputs)
        self.drive = RigidInverseDynamics(REFERENCE)
        self.t = np.linspace(0.0, UNTIL, 1001)
        self.u = self.torques(self.t)
        s = ca.SX.sym("t")
        theta = ca.vertcat(*REFERENCE.expression(s))
        rate = ca.jacobian(theta, s)
        motion = ca.Function("motion", [s], [ca.horzcat(theta, rate, ca.jacobian(rate, s))])
        self.theta, self.thetad, self.thetadd = np.array([np.array(motion(t)) for t in self.t]).transpose(2, 0, 1)

    def torques(self, t: Array) -> Array:
        """Return the torques of the rigid arm, (times, joints)."""
        return self.drive.output(self.model, t, *(np.empty(0),) * 3)

    def simulated(self, arm: Arm) -> Any:
        """Return the result of `simulate` for the slew of an arm with the same joints and lengths."""
        return simulate(Model(arm), until=UNTIL, u=self.drive, progress=False)

    @cached_property
    def result(self) -> Any:
        """Result of the Canadarm's slew."""
        return self.simulated(self.model.arm)

    @cached_property
    def deviation(self) -> Array:
        """Deviation of the joints from eq. 44, (times, joints)."""
        return self.result.q.values[:, : self.m] - self.theta

    @cached_property
    def tips(self) -> Array:
        """Deflections of the links' tips along y, (times, links)."""
        return self.result.deflection.values[..., 1]

    @cached_property
    def quasi_static(self) -> Array:
        """Tip deflections (times, links) under the inertia of the rigid motion alone: K eta = -(M qdd + h), eta = 0."""
        eta = slice(self.m, self.n)
        states = np.zeros((3, len(self.t), self.n))
        states[..., : self.m] = self.theta, self.thetad, self.thetadd
        q, needed = states[0], mapped(self.model.function("inverse_dynamics"), *states)
        K = np.array(self.model.function("stiffness_force").map(self.n)(np.eye(self.n)))[eta, eta]
        q[:, eta] = -np.linalg.solve(K, needed[:, eta].T).T
        return self.model.deflections(q)[..., 1]

    # -- both paths

    def run(self, path: str, solve: Solve, times: Array | None = None) -> Array:
        """Return the states (times, 2n) from rest, with qdd by one of PATHS. A run that fails has fewer rows."""

        def trace(model: Traced) -> ca.Function:
            f = model.function(path)
            x = f.sx_in()
            return ca.Function("rate", x, [ca.densify(ca.vertcat(x[1], f(*x)))])

        rate = self.model.compiled(f"Mohan & Saha, {path}", trace).code
        plan = Plan(rate.addresses["evaluate"], 2 * self.n, self.m, powers=0)
        x0 = np.zeros(2 * self.n)
        self.drive.feed(plan, self.model, 0.0, x0)
        return np.vstack([x0, solve(plan, 0.0, x0, (self.t if times is None else times)[1:]).x])

    @cached_property
    def both(self) -> dict[str, list[Array]]:
        """States of both PATHS by each of SOLVERS."""
        return {name: [self.run(path, solve) for path in PATHS] for name, solve in SOLVERS.items()}

    def apart(self, name: str) -> tuple[float, float]:
        """Return the largest difference of the paths by a solver, in coordinates and in rates."""
        a, b = self.both[name]
        rows = min(len(a), len(b))
        d = np.abs(a[:rows] - b[:rows]).max(axis=0)
        return float(d[: self.n].max()), float(d[self.n :].max())

    @cached_property
    def power(self) -> tuple[Array, Array, Array]:
        """Torque times rate, summed over the joints: desired, and of both paths (times,)."""
        rates = [self.thetad, *(x[:, self.n : self.n + self.m] for x in self.both["tight"])]
        desired, recursion, dense = (np.einsum("tj,tj->t", self.u[: len(x)], x) for x in rates)
        return desired, recursion, dense

    @cached_property
    def accelerations(self) -> list[Array]:
        """Accelerations of all coordinates, by both paths (times, n)."""
        functions = [self.model.function(path) for path in PATHS]
        return [
            mapped(f, x[:, : self.n], x[:, self.n :], self.u[: len(x)])
            for f, x in zip(functions, self.both["tight"], strict=True)
        ]

    def first(self, happens: Array) -> float:
        """Return the first time at which a condition is true [s], or infinity."""
        return float(self.t[np.argmax(happens)]) if happens.any() else float("inf")


@cache
def slew() -> Slew:
    """Return the slew of the bundled Canadarm."""
    return Slew(Model(load("canadarm")))


def mapped(function: Any, *arguments: Array) -> Array:
    """Return the values of a CasADi function of columns at the rows of arrays: (times, size of its value)."""
    return np.array(function.map(len(arguments[0]))(*(x.T for x in arguments))).T


def scaled(arm: Arm, EI: float = 1.0, modes: int | None = None, hand: float = 1.0) -> Arm:
    """Return the Canadarm with another stiffness, number of modes, or mass of the last link."""
    links = []
    for link in arm.links:
        body = link.body
        assert isinstance(body, Beam)
        mass = body.total_mass * (hand if link is arm.links[-1] else 1.0)
        count = body.modes if modes is None else {"y": modes}
        links.append(link.replace(body=body.replace(EI=1e5 * EI, modes=count, mass=mass)))
    return arm.replace(links=links)


def shortened(arm: Arm) -> Arm:
    """Return the arm with the foreshortening of eq. 1b, which the paper leaves out."""
    links = []
    for link in arm.links:
        body = link.body
        assert isinstance(body, Beam)
        links.append(link.replace(body=body.replace(foreshortening=True)))
    return arm.replace(links=links)
