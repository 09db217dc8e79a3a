"""Runs that go nowhere: they have diverged, slide along a discontinuity of their law, or take too many evaluations.

All of it is judged by numbers of the motion and by counts of evaluations; no decision depends on how fast a machine is.
"""

from collections.abc import Callable, Sequence
from typing import final

import numpy as np

from flexarm.attitude import configuration, local, local_names
from flexarm.description.arm import Arm
from flexarm.mechanics.body import Body
from flexarm.model import Model
from flexarm.simulation.breakpoints import jump_between
from flexarm.simulation.layout import Layout
from flexarm.simulation.protocol import Input
from flexarm.simulation.rhs import Plan

Array = np.ndarray

LENGTHS = 10.0
"""Times its own length by which no link is bent, whatever describes it: a beam that is bent into a full circle has its
tip at a distance of one length."""

FAST = 1e6
"""A rate [rad/s or m/s] that no machine has, at which a run that takes many evaluations has diverged: the fastest
turbines turn at 1e4 rad/s, and a body in orbit moves at 1e4 m/s."""

FIRST = 200_000
"""Evaluations, a fraction of a second, after which a run is looked at for the first time; then after twice as many."""

SLOWER = 10
"""Times as long as an evaluation in machine code takes one that calls Python, or longer."""

LONG = 5e6
"""Evaluations for the rest of a run, some seconds, from which the law is looked at: where it jumps, steps end."""

MOST = 1e11
"""Evaluations, days of them, that no run is left to take for the rest of its time."""

ACROSS = 1e-4
"""Deviation of a coordinate or a rate, about its size, within which a law may jump where a motion slides along."""

AGAIN, OFTEN = 1009, 5
"""Evaluations until a law that jumps is looked at again, and looks in a row that show a motion which slides along the
jump: one that merely passes is elsewhere by then."""

SMALL, STATIONS, TINY = 1e-6, (0.25, 0.5, 0.75, 1.0), 1e-15
"""An amplitude whose squares do not matter; stations of a body that are looked at; a share of a run that is no time."""


@final
class Bends:
    """How far the flexible coordinates of an arm may go; see `Traced.of_arm`.

    Attributes
    ----------
    bounds : (nq,)
        Where a link is bent by `LENGTHS` of its lengths; infinite for what bends no link.
    links : (nq,) of str
        The link's name, or "".
    """

    def __init__(self, arm: Arm):
        from flexarm.mechanics.chain import chain

        straight, first = chain(arm), len(arm.coordinates) - len(arm.velocities)
        self.bounds = np.full(len(arm.coordinates), np.inf)
        self.links = [""] * len(arm.coordinates)
        for link, members in zip(arm.links, straight.links, strict=True):
            length = float(getattr(link.body, "length", 0.0))
            for member in members if length > 0.0 else ():
                body, own = straight.bodies[member], straight.own[member][1:]
                for i in body.flexible:
                    place, away = own[i], _deflection(body, i)
                    if place is not None and away > 0.0:
                        self.bounds[first + place] = LENGTHS * length / away
                        self.links[first + place] = link.name


def _deflection(body: Body, i: int) -> float:
    """Return how far a unit of an amplitude moves a section of a body [m]."""
    rest = list(body.rest) or [0.0] * body.size
    bent = [x + SMALL * (j == i) for j, x in enumerate(rest)]
    places = [np.array([[float(x) for x in body.section(at, eta)[:3]] for eta in (rest, bent)]) for at in STATIONS]
    return max(float(np.linalg.norm(b - a)) for a, b in places) / SMALL


def bounds(model: Model) -> Array:
    """Return sizes of the coordinates (nq,) beyond which a motion has diverged, with the lengths of this model."""
    bends = model.of_arm(Bends)
    found = bends.bounds.copy()
    for link in model.arm.links if model.varied else ():
        length = float(getattr(link.body, "length", 0.0))
        if length > 0.0:
            ratio = model.number(f"{link.name}.length", length) / length
            found[[name == link.name for name in bends.links]] *= ratio
    return found


def beyond(model: Model, q: Array, share: float = 1.0) -> str:
    """Return which link is bent beyond a share of the bounds, and how far; "" for none."""
    sizes = np.abs(q) / bounds(model)
    worst = int(np.argmax(sizes))
    if not sizes[worst] >= share:
        return ""
    link = model.of_arm(Bends).links[worst]
    bent = f"which bends link {link!r} by {LENGTHS * sizes[worst]:.2g} times its length"
    return f"{model.coordinates[worst]} had grown to {q[worst]:.3g}, {bent}"


@final
class Judge:
    """Looks at a run after many evaluations, and ends one that has diverged or will not end.

    Parameters
    ----------
    model, drive, layout
        Of the run.
    until : float
        Its end [s].
    """

    def __init__(self, model: Model, drive: Input, layout: Layout, until: float):
        self._model, self._drive, self._layout, self._until = model, drive, layout, until
        self._t, self._n, self._sharp, self._hopeless = 0.0, 0, 0, 0

    @property
    def first(self) -> int:
        """Evaluations after which to look for the first time."""
        return FIRST // SLOWER if self._drive.computed else FIRST

    def __call__(self, t: float, x: Array, n: int) -> tuple[int, str]:
        """Return after how many evaluations to look again, and why to end the run, or ""; it is at t in x after n."""
        rest = (self._until - t) * (n - self._n) / max(t - self._t, TINY * self._until)
        said, jump, following = self._fast(t, x, n), "", 2 * n
        if not said and (self._sharp or rest > LONG):
            jump = self._jump(t, x)
        self._sharp = self._sharp + 1 if jump else 0
        if jump and self._sharp < OFTEN:
            return n + AGAIN, ""
        if not said and not jump:
            self._hopeless = self._hopeless + 1 if rest > MOST else 0
            if self._hopeless > 1:
                said = f"stopped at t = {t:.6g} s: the rest would take {rest:.1g} evaluations; what is so fast there?"
        self._t, self._n = t, n
        return following, said or jump

    def _fast(self, t: float, x: Array, n: int) -> str:
        """Return what to say of a rate that no machine has; else ""."""
        rates = np.abs(x[self._layout.qd])
        joints = list(self._model.arm.joints)
        worst = max(joints, key=lambda i: rates[i], default=None)
        if worst is None or not rates[worst] > FAST:
            return ""
        name = self._model.velocities[worst]
        return f"diverged by t = {t:.6g} s: the rate of {name} had grown to {rates[worst]:.3g} in {n} evaluations"

    def _jump(self, t: float, x: Array) -> str:
        """Return what to say of a law that jumps next to a state; "" where it does not, or depends on time alone."""
        model, layout, drive = self._model, self._layout, self._drive
        if drive.period is not None or not drive.of_state:
            return ""
        q, qd, z = x[layout.q], x[layout.qd], x[layout.z]
        state = np.concatenate([local(model.arm, q, q), qd])
        names = [*local_names(model.arm), *(f"the rate of {name}" for name in model.velocities)]
        for i, name in enumerate(names):
            along = ACROSS * max(1.0, abs(float(state[i]))) * (np.arange(len(state)) == i)

            def law(s: Array, along: Array = along) -> Array:
                rows = state + np.outer(s, along)
                there = configuration(model.arm, rows[:, : model.nv], q)
                return drive.values(model, np.full(len(s), t), there, rows[:, model.nv :], np.tile(z, (len(s), 1)))

            if said := _jump_of(law, model.inputs):
                return (
                    f"stopped at t = {t:.6g} s: {drive.described()} is discontinuous, and the motion stays there:"
                    f" {said} where {name} is {state[i]:.3g}; sample the law (Sampled), or smooth the jump:"
                    " tanh(s / width) for sign(s)"
                )
        return ""


def _jump_of(law: Callable[[Array], Array], inputs: Sequence[str]) -> str:
    """Return which input jumps between -1 and 1 of a law along a line, and from where to where; "" for none."""
    a, b = law(np.array([-1.0, 1.0]))
    worst = int(np.argmax(np.abs(b - a)))
    if not abs(b[worst] - a[worst]) > ACROSS * max(abs(a[worst]), abs(b[worst])):
        return ""
    return (
        f"{inputs[worst]} jumps from {a[worst]:.3g} to {b[worst]:.3g}"
        if jump_between(law, -1.0, 1.0) is not None
        else ""
    )


def judged(model: Model, drive: Input, layout: Layout, plan: Plan, until: float) -> None:
    """Let a run end where it has diverged, or will not end."""
    judge = Judge(model, drive, layout, until)
    if drive.period is None:  # a stretch between samples costs no more where the motion grows
        plan.bound(bounds(model))
    plan.judged(judge.first, judge)
