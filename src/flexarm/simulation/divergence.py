"""Runs that have diverged, slide along a discontinuity of their law, or take too many evaluations.

The motion and counts of evaluations decide this. No decision depends on the speed of the machine.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, final

import numpy as np

from flexarm.arrays import Array
from flexarm.attitude import configuration, local, local_names
from flexarm.checks import counted
from flexarm.description.arm import Arm
from flexarm.model import Model
from flexarm.simulation.block import Block
from flexarm.simulation.breakpoints import jump_between
from flexarm.simulation.layout import Layout
from flexarm.simulation.rhs import Plan

if TYPE_CHECKING:
    from flexarm.mechanics.body import Body


LENGTHS = 10.0
"""Deflection of a link over its length from which a run has diverged. The tip of a beam that is bent into a full circle
deflects by one length."""

FAST = 1e6
"""Rate [rad/s or m/s] above which a run that takes many evaluations has diverged. The fastest turbines turn at
1e4 rad/s, and a body in orbit moves at 1e4 m/s."""

FIRST = 200_000
"""Evaluations after which a run is first checked, a fraction of a second; each next check is after twice as many."""

SLOWER = 10
"""Smallest ratio of the time of an evaluation that calls Python to that of one in machine code."""

LONG = 5e6
"""Evaluations for the rest of a run, some seconds, above which the law is checked for jumps."""

MOST = 1e11
"""Evaluations for the rest of a run, some days, above which the run ends."""

ACROSS = 1e-4
"""Relative deviation of a coordinate or a rate within which a law jumps if the motion slides along the jump."""

AGAIN, OFTEN = 1009, 5
"""Evaluations until a law that jumps is checked again, and number of checks in a row that show a motion which slides
along the jump. A motion that crosses the jump has left it by then."""

SMALL, STATIONS, TINY = 1e-6, (0.25, 0.5, 0.75, 1.0), 1e-15
"""Amplitude with negligible squares; stations of a body for its deflection; negligible share of a run's time."""


@final
class Bends:
    """Bounds on the flexible coordinates of an arm; see `Traced.of_arm`.

    Attributes
    ----------
    bounds : (nq,)
        Amplitudes that bend a link by `LENGTHS` of its lengths; infinite for coordinates that bend no link.
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


def _deflection(body: "Body", i: int) -> float:
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
    return f"{model.coordinates[worst]} reached {q[worst]:.3g}, {bent}"


@final
class Judge:
    """Checks a run after many evaluations, and ends a run that has diverged or will not end.

    Parameters
    ----------
    model, drive, layout
        Model, input and layout of the run.
    until : float
        End of the run [s].
    """

    def __init__(self, model: Model, drive: Block, layout: Layout, until: float):
        self._model, self._drive, self._layout, self._until = model, drive, layout, until
        self._t, self._n, self._sharp, self._hopeless = 0.0, 0, 0, 0

    @property
    def first(self) -> int:
        """Evaluations after which to look for the first time."""
        return FIRST // SLOWER if self._drive.computed else FIRST

    def __call__(self, t: float, x: Array, n: int) -> tuple[int, str]:
        """Return after how many evaluations to look again, and why to end the run, or ""; it is at t in x after n."""
        if t < self._t:  # a part of the run is computed once more, up to a contact
            self._t, self._n = t, n
            return 2 * n, ""
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
                said = (
                    f"stopped at t = {t:.6g} s: the rest would need {rest:.1g} evaluations; look for a very fast "
                    "motion or a discontinuous input there"
                )
        self._t, self._n = t, n
        return following, said or jump

    def _fast(self, t: float, x: Array, n: int) -> str:
        """Return a message about a rate that no machine has, else ""."""
        rates = np.abs(x[self._layout.qd])
        joints = list(self._model.arm.joints)
        worst = max(joints, key=lambda i: rates[i], default=None)
        if worst is None or not rates[worst] > FAST:
            return ""
        name = self._model.velocities[worst]
        return f"diverged by t = {t:.6g} s: the rate of {name} reached {rates[worst]:.3g} in {counted(n, 'evaluation')}"

    def _jump(self, t: float, x: Array) -> str:
        """Return a message about a law that jumps near a state, or "" if it does not jump or depends only on time."""
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
                return drive.output(model, np.full(len(s), t), there, rows[:, model.nv :], np.tile(z, (len(s), 1)))

            if said := _jump_of(law, model.inputs):
                return (
                    f"stopped at t = {t:.6g} s: {drive.described()} is discontinuous, and the motion stays at the "
                    "discontinuity:"
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
    jumps = jump_between(law, -1.0, 1.0) is not None
    return f"{inputs[worst]} jumps from {a[worst]:.3g} to {b[worst]:.3g}" if jumps else ""


def end_if_diverged(model: Model, drive: Block, layout: Layout, plan: Plan, until: float) -> None:
    """End a run that has diverged or will not end."""
    judge = Judge(model, drive, layout, until)
    if drive.period is None:  # with samples, a single interval stays cheap even if the motion grows
        plan.bound(bounds(model))
    plan.call_after(judge.first, judge)
