"""Runs replayed step by step in NumPy, and derivatives of their results along one direction, by differences.

The rates are evaluated by CasADi's interpreter at many states at once: neither the compiled rates, nor their reverse
derivative, nor the package's loops take part. Steps are fixed, so the differences converge to rounding.
"""

from itertools import pairwise

import casadi as ca
import numpy as np
from every_option import arm_of, choice_of, state_of
from varied_arms import free_of

import flexarm as fa
from flexarm.attitude import displaced
from flexarm.simulation import methods, solvers

SIZES = tuple(10.0 ** np.arange(-1, -6, -0.5))
"""Sizes of the differences; the one that agrees best with its neighbour is taken."""
STENCIL = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
"""Central differences of order 8."""
MULTIPLES = np.array([sign * j for j in STENCIL for sign in (1, -1)])
WEIGHTS = np.array([sign * c for c in STENCIL.values() for sign in (1, -1)])
VARIED = np.concatenate([size * MULTIPLES for size in SIZES])


def replayed(model, tableau, times, start, u, integral):
    """State (nq + nv + s, N) at the end of steps between times, and the integral (N,), of N runs at once.

    `start` has q, qd, s, w and p in columns; u(t, at) gives (m, N) at a time of a step that begins at `at`.
    """
    nq, nv = model.nq, model.nv
    rate = model.function("state_rate")
    many, names = rate.map(start["q"].shape[1]), rate.name_in()

    def rates(t, x, at):
        values = start | {"q": x[:nq], "qd": x[nq : nq + nv], "s": x[nq + nv :], "u": u(t, at)}
        return np.array(many(*(values[name] for name in names)))[: len(x)], integral(t, values)

    def of_implicit_stages(t, x, h):
        """Rates of all stages of an implicit method, by fixed-point iteration: the steps are short."""
        k, before = np.array([rates(t, x, t)[0]] * len(tableau.c)), np.inf
        for _ in range(200):
            places = x + h * np.einsum("ij,jnk->ink", tableau.a1, k)
            found = [rates(t + c * h, place, t) for c, place in zip(tableau.c, places, strict=True)]
            change, k = np.abs(k - [dx for dx, _ in found]).max() / np.abs(k).max(), np.array([dx for dx, _ in found])
            if change >= before and change < 1e-12:
                break
            before = change
        return k, [cost for _, cost in found]

    x, total = np.vstack([start["q"], start["qd"], start["s"]]), 0.0
    if hasattr(tableau, "b1"):
        for t, end in pairwise(times):
            k, spent = of_implicit_stages(t, x, end - t)
            x = x + (end - t) * np.einsum("j,jnk->nk", tableau.b1, k)
            total = total + (end - t) * sum(b * y for b, y in zip(tableau.b1, spent, strict=True))
        return x, total
    rows = [np.zeros(0), *tableau.matrix]
    for t, end in pairwise(times):
        h, k, spent = end - t, [], []
        for row, c in zip(rows[:-1], tableau.c, strict=False):
            dx, cost = rates(t + c * h, x + h * sum((a * y for a, y in zip(row, k, strict=False)), 0.0), t)
            k.append(dx)
            spent.append(cost)
        x = x + h * sum(b * y for b, y in zip(rows[-1], k, strict=True))
        total = total + h * sum(b * y for b, y in zip(rows[-1], spent, strict=True))
    return x, total


def columns(x, dx):
    """A point varied along a direction, in columns."""
    return x[:, None] + dx[:, None] * VARIED


def posed(arm, q, dx):
    """Configurations varied along a direction in local coordinates, in columns."""
    return np.array([displaced(arm, q, size * dx) for size in VARIED]).T


def difference(y):
    """Derivative of a function from its values at all VARIED, and how far its two best estimates are apart."""
    found = y.reshape(len(SIZES), -1) @ WEIGHTS / np.array(SIZES)
    apart = np.abs(np.diff(found))
    best = int(np.nanargmin(apart))
    return found[best + 1], apart[best]


def quantity(model, name, values):
    """A quantity of many states in columns."""
    names = [*model.arguments(name), *(["p"] if model.varied else [])]
    return np.array(model.function(name).map(values["q"].shape[1])(*(values[each] for each in names)))


def kinetic(model, values):
    """Kinetic energy of many states in columns."""
    return quantity(model, "energy", values).reshape(2, -1, order="F")[0]


def tips(model, values):
    """Positions of the tip (3, N) of many states in columns."""
    return quantity(model, "tip", values).reshape(4, -1, 4)[:3, :, 3]


INPUTS = ("piecewise", "linear", "cubic")
STEPS = 10


class RandomRun:
    """A short run of a random arm under random inputs, some of its numbers as parameters, and a random scalar of it."""

    def __init__(self, number: int, method: str = "rk4", longest: float = 0.02, steps: int = STEPS):
        rng = np.random.default_rng([number, 5])
        arm, self.at = arm_of(choice_of(number), number), state_of(arm_of(choice_of(number), number), number, 0.3)
        names = free_of(arm)
        model = fa.Model(arm, vary=list(rng.choice(names, size=min(4, len(names)), replace=False)))
        self.model, self.method, self.kind = model, method, INPUTS[number % 3]
        until = steps * min(0.5 / max(methods.fastest_of(model, self.at["q"]), 1.0), longest)
        self.starts = np.arange(4) * until / 4
        self.values = rng.normal(size=(4, len(model.inputs))) + self.at["u"]
        self.weights = [rng.normal(size=len(self.at[name])) for name in ("q", "qd", "s")]
        given = {"s0": self.at["s"], "w": self.at["w"], "p": model.p}
        self.run = {"model": model, "until": until, "u": self.input(self.values), "q0": self.at["q"]}
        self.run |= {"qd0": self.at["qd"], "method": method, "samples": 2, "progress": False}
        self.run |= {name: x for name, x in given.items() if len(x)}
        if solvers.fixed(method) or method in solvers.IMPLICIT:
            self.run["solver"] = fa.Solver(method=method, step=until / steps, rtol=1e-13, atol=1e-15)
        share = {"q0": 0.1 * np.ones(model.nv), "qd0": np.ones(model.nv), "s0": 0.3 * np.ones(len(self.at["s"]))}
        share |= {
            "w": 0.1 * np.ones(len(self.at["w"])),
            "u": np.ones_like(self.values),
            "p": 0.1 * np.where(model.p == 0.0, 0.1, np.abs(model.p)),
        }
        self.direction = {name: x * rng.normal(size=x.shape) for name, x in share.items() if x.size}

    def input(self, values):
        """The inputs with these values."""
        if self.kind == "piecewise":
            return fa.Piecewise(self.starts, values)
        return fa.Table(self.starts, values, self.kind)

    def found(self):
        """The gradient."""
        a, b, c = self.weights

        def of(q, qd, s, kinetic, tip, p):
            return ca.dot(a, ca.sin(q)) + ca.dot(b, ca.tanh(qd)) + ca.dot(c, s) + kinetic + tip[0] * tip[1] + p[0] ** 2

        def integral(t, q, qd, u):
            return ca.sumsqr(u) * (1 + t) + ca.sumsqr(q) + ca.dot(b, qd)

        return fa.gradient(self.run, list(self.direction), of=of, integral=integral)

    def apart(self):
        """How far the derivative along the direction is from differences, and how far these are apart themselves.

        Both are relative to the sum of the sizes of all contributions to the derivative.
        """
        found, (a, b, c), model, d = self.found(), self.weights, self.model, self.direction
        none = np.zeros(0)
        start = {"q": posed(model.arm, self.at["q"], d["q0"]), "qd": columns(self.at["qd"], d["qd0"])}
        start |= {"s": columns(self.at["s"], d.get("s0", none)), "p": columns(model.p, d["p"])}
        start["w"] = columns(self.at["w"], d.get("w", none))
        ways = [self.input(x) for x in (self.values, d.get("u", self.values))]

        def u(t, at):
            seen = at if self.kind == "piecewise" else t
            return columns(*(way.output(model, np.array([seen]), none, none, none)[0] for way in ways))

        def integral(t, at):
            return (at["u"] ** 2).sum(axis=0) * (1 + t) + (at["q"] ** 2).sum(axis=0) + b @ at["qd"]

        tableau = {**solvers.EXPLICIT, **solvers.IMPLICIT}[self.method]
        with np.errstate(all="ignore"):  # the largest differences may leave the range of a joint
            x, total = replayed(model, tableau, found.times, start, u, integral)
        q, qd, s = np.split(x, [model.nq, model.nq + model.nv])
        end = start | {"q": q, "qd": qd, "s": s}
        tip = tips(model, end)
        y = a @ np.sin(q) + b @ np.tanh(qd) + c @ s + kinetic(model, end) + tip[0] * tip[1] + end["p"][0] ** 2 + total
        expected, uncertain = difference(y)
        parts = [float((found[name] * d[name]).sum()) for name in d]
        scale = sum(map(abs, parts))
        return abs(sum(parts) - expected) / scale, uncertain / scale
