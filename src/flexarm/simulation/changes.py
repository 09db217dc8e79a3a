"""Sudden changes of an arm's parameters in a run: payloads that are picked up and released.

When the arm picks up a body, both stick together: the impact is perfectly inelastic. Other forces are finite, so the
impact conserves the generalized momentum,

    M_new qd_new = M_old qd_old + J' I V ,

where I is the inertia of the body, V its velocity and angular velocity before the impact, and J qd those of the tip
that grips the body. The reactions of closures act as impulses that keep the loops closed. The impact dissipates kinetic
energy (Featherstone, Rigid Body Dynamics Algorithms, 2008, chapter 11). A body that is released keeps the velocity of
the tip, so the rates of the arm do not jump.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, final

import numpy as np
from pydantic import BeforeValidator

from flexarm import checks
from flexarm.arrays import Array
from flexarm.checks import POSITIVE, Described, Fault, Vector, checked_number, shown, takes, vector
from flexarm.errors import DescriptionError, errors_in
from flexarm.model import Model, closures, payloads
from flexarm.model.tracing import Traced

ROUNDING = 1e-12
"""Eigenvalue of a change of a payload's inertia, relative to the largest, below which it is zero."""


def _at(value: object) -> Any:
    if not callable(value):
        return checked_number(value, "s", POSITIVE)
    if not takes(value, 0.0, np.zeros(1), np.zeros(1)):
        raise Fault("", f"is {shown(value)}; a function must take t, q and qd")
    return value


def _values(value: object) -> dict[str, float]:
    if not isinstance(value, Mapping) or not value:
        raise Fault("", f"is {shown(value)}; it must be a dict of numbers by the names of parameters")
    return {str(name): checked_number(x, part=f"[{name!r}]") for name, x in value.items()}


@final
class Change(Described):
    """A sudden change of parameters in a run: `simulate(model, ..., changes=[fa.Change(...)])`.

    The model must vary these parameters, as in `fa.Model(arm, vary=["payload.mass"])`. If the mass or inertia of a
    payload increases, the arm picks up a body. The arm and the body stick together, and the rates jump so that the
    generalized momentum is conserved. If the mass or inertia decreases, the arm releases a body, and the rates do not
    jump. Other parameters change without a jump of the rates: additional or removed mass has the velocity of its place
    on the arm.

    Parameters
    ----------
    at : float or function
        Time of the change [s], or a function of t, q and qd. With a function, the change happens when the value of the
        function first rises from negative to zero. flexarm evaluates the function at the times of the result, and then
        locates the zero between two of these times.
    values : dict
        New values of parameters by their names, for example {"payload.mass": 3.0}.
    velocity : (3,)
        Velocity of the centre of mass of a body that is picked up, before the impact, along the axes of the world
        [m/s]. Default: the body is at rest. The frame of a fixed base is the world.
    angular_velocity : (3,)
        Angular velocity of this body before the impact, along the axes of the world [rad/s].
    impact : bool
        False: the body has the velocity of the tip that grips it, so that the rates do not jump.
    """

    at: Annotated[Any, BeforeValidator(_at)]
    values: Annotated[dict[str, float], BeforeValidator(_values)]
    velocity: Annotated[Vector, vector("m/s")] = (0.0, 0.0, 0.0)
    angular_velocity: Annotated[Vector, vector("rad/s")] = (0.0, 0.0, 0.0)
    impact: Annotated[bool, checks.flag] = True

    @property
    def time(self) -> float | None:
        """Time of the change [s], or None if a condition determines it."""
        return None if callable(self.at) else float(self.at)

    def value(self, t: float, q: Array, qd: Array) -> float:
        """Return the value of the condition. Raise `DescriptionError` if there is none, or if it is not a number."""
        if not callable(self.at):
            raise DescriptionError(f"changes: at is {shown(self.at)}, a time; only a function at(t, q, qd) has a value")
        found = self.at(t, q.copy(), qd.copy())
        try:
            number = float(found)
        except (TypeError, ValueError):
            number = np.nan
        if not np.isfinite(number):
            raise DescriptionError(
                f"changes: at(t, q, qd) gave {shown(found)} at t = {t:.6g} s; it must give a finite number"
            )
        return number


def checked_changes(changes: Any, model: Model, until: float) -> tuple[Change, ...]:
    """Return the changes of a run of a model. Raise `DescriptionError` for a change that does not fit."""
    if not isinstance(changes, list | tuple) or not all(isinstance(each, Change) for each in changes):
        raise DescriptionError(f"changes is {shown(changes)}; it must be a list of fa.Change")
    for i, each in enumerate(changes):
        with errors_in(f"changes[{i}]"):
            if each.time is not None and each.time >= until:
                raise DescriptionError(f"at is {each.time:g} s; it must be before the end of the run, {until:g} s")
            model.parameter_values(each.values)
    return tuple(changes)


def check_changing(model: Traced, names: set[str]) -> None:
    """Raise `DescriptionError` if parameters with these names, or symbols, must not change in a run.

    No link and no stop may move when a parameter changes. The momentum of a moving base is unknown, so the arm must not
    be on a moving base.
    """
    if model.arm.base is not None and not model.arm.free:
        raise DescriptionError(
            f"arm {model.arm.name!r}: parameters cannot change in a run on a moving base; use a free base"
        )
    for each, moves in zip(model.varied, model.derived("what p moves", lambda: _moving(model)), strict=True):
        if moves and names & {each.name, each.symbol}:
            must = "a change would move parts of the arm; move them by a joint"
            raise DescriptionError(f"{each.name} cannot change in a run, because {must}")


def _moving(model: Traced) -> list[bool]:
    """Return for each parameter whether positions of parts depend on it."""
    import casadi as ca

    from flexarm.simulation.crossings import crossings

    functions = [model.function("frames")]
    functions += [closures.function(model, "gaps")] if model.arm.closures else []
    functions += [crossings(model)] if model.arm.sharp else []
    found = np.zeros(len(model.varied), dtype=bool)
    for function in functions:
        x = function.sx_in()
        slope = ca.jacobian(ca.vec(function(*x)), x[-1])
        found |= np.array([slope[:, i].nnz() > 0 for i in range(len(found))])
    return [bool(x) for x in found]


@final
@dataclass(frozen=True)
class Jump:
    """The rates after a change (n,), the energy that came with it, and the energy that an impact lost [J]."""

    qd: Array
    brought: float
    lost: float


def jump(before: Model, after: Model, change: Change | None, q: Array, qd: Array, s: Array) -> Jump:
    """Return the jump at a change from one set of parameters to another, at a state (q, qd) and states s of drives.

    Without a `change`, mass arrives and leaves with the velocity of its place.
    """
    stored = _energy(after, q, qd, s) - _energy(before, q, qd, s)
    gripped = {} if change is None or not change.impact else _gripped(before, after)
    if not gripped:
        return Jump(qd, stored, 0.0)
    p = np.array(after.p)
    for i, each in enumerate(after.varied):
        if any(each.name.startswith(f"{owner}.") for owner in gripped):
            p[i] = before.p[i]
    carried = _mass_matrix(before.at(p), q)
    momentum, kinetic = carried @ qd, qd @ carried @ qd / 2.0
    for owner, more in gripped.items():
        J, R = payloads.tip_motion(before, payloads.owners(before)[owner], q)
        V = np.concatenate([R.T @ change.velocity, R.T @ change.angular_velocity])  # type: ignore[union-attr]
        momentum, kinetic = momentum + J.T @ more @ V, kinetic + V @ more @ V / 2.0
    M = _mass_matrix(after, q)
    N = closures.free_directions(closures.jacobian(after, q))[0] if after.arm.closures else np.eye(len(qd))
    new = N @ np.linalg.solve(N.T @ M @ N, N.T @ momentum)
    lost = float(kinetic - new @ M @ new / 2.0)
    return Jump(new, _energy(after, q, new, s) - _energy(before, q, qd, s) + lost, lost)


def _gripped(before: Model, after: Model) -> dict[str, Array]:
    """Return the inertia (6, 6) that each payload gains. A payload that loses inertia is not included."""
    found = {}
    for owner in payloads.owners(before):
        more = payloads.inertia(after, owner) - payloads.inertia(before, owner)
        sizes = np.linalg.eigvalsh(more)
        least = ROUNDING * np.abs(sizes).max()
        if sizes[0] < -least and sizes[-1] > least:
            must = "release one body by a first change and pick up the other by a second one"
            raise DescriptionError(f"changes: {owner} gains inertia in some directions and loses it in others; {must}")
        if sizes[-1] > least:
            found[owner] = more
    return found


def _mass_matrix(model: Model, q: Array) -> Array:
    return np.array(model.fixed("mass_matrix")(q))


def _energy(model: Model, q: Array, qd: Array, s: Array) -> float:
    """Return the kinetic and potential energy [J]."""
    energy = model.fixed("energy")
    return float(np.array(energy(q, qd, *([s] if len(s) else []))).sum())
