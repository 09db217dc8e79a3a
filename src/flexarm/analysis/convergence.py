"""Convergence of an arm in its number of modes: the change when each direction gets one more."""

from dataclasses import dataclass
from typing import final

import numpy as np

from flexarm.analysis.equilibrium import equilibrium
from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.checks import checked_instance, refused
from flexarm.description.arm import Arm, FiniteElement
from flexarm.description.beams import DIRECTIONS, MOST_SEGMENT_MODES, Beam
from flexarm.description.bodies import MOST_MODES
from flexarm.errors import DescriptionError
from flexarm.model import Model, closures
from flexarm.model.linear import held
from flexarm.shapes import family

UNMOVED = 1e-12
"""Share of the tip's largest slope below which a motion does not move the tip: closures may hold it."""


@final
@brief
@dataclass(frozen=True, eq=False)
class Convergence:
    """Comparison of an arm with the same arm with one more mode in every direction that has modes; `str` is a table.

    A quantity that changes little has converged. One that changes much had not, and may still not have. If the larger
    set of shapes includes the smaller one, frequencies converge from above and compliances from below.

    Attributes
    ----------
    modes : dict of (int, int)
        Number of modes in each direction that has some, "upper.y", and the larger number.
    kept : dict of str
        Directions that are not refined, with the reasons.
    locked, free : (k,), (k,)
        Natural frequencies with the drives held and free, as in `Model.frequencies` [rad/s].
    sag : (3,)
        Displacement of the tip by gravity with the drives held [m]; zero without gravity and on a free base.
    compliance : float
        Displacement of the tip along a force of 1 N in the softest direction, with the drives and a free base held
        [m/N].
    more_locked, more_free, more_sag, more_compliance
        The same with more modes; as many frequencies as without.
    """

    arm: Arm
    modes: dict[str, tuple[int, int]]
    kept: dict[str, str]
    locked: Array
    free: Array
    sag: Array
    compliance: float
    more_locked: Array
    more_free: Array
    more_sag: Array
    more_compliance: float

    @property
    def rows(self) -> list[tuple[str, str, str, str]]:
        """Rows of the table without its head: quantity, value, value with more modes, change."""
        found = []
        for label, few, more in (("locked", self.locked, self.more_locked), ("free", self.free, self.more_free)):
            for i, (a, b) in enumerate(zip(few, more, strict=True), start=1):
                if a == b == 0:
                    continue  # a rigid motion of the arm
                found.append((f"drives {label}, frequency {i} [rad/s]", f"{a:.5g}", f"{b:.5g}", _percent(b - a, a)))
        if any(self.arm.gravity) and not self.arm.free:
            size, larger, moved = (
                float(np.linalg.norm(x)) for x in (self.sag, self.more_sag, self.more_sag - self.sag)
            )
            change = f"{_percent(moved, size).lstrip('+')}, {moved:.2g} m"
            found.append(("sag of the tip [m]", f"{size:.5g}", f"{larger:.5g}", change))
        soft, softer = self.compliance, self.more_compliance
        found.append(("tip under 1 N, softest way [m]", f"{soft:.5g}", f"{softer:.5g}", _percent(softer - soft, soft)))
        return found

    @property
    def notes(self) -> list[str]:
        """Compared numbers of modes, and directions that are not refined."""
        numbers = ", ".join(f"{where} {few} -> {more}" for where, (few, more) in self.modes.items())
        return [f"modes: {numbers}", *(f"{where} is unchanged: {why}" for where, why in self.kept.items())]

    def __str__(self) -> str:
        rows = [("", "now", "with more modes", "change"), *self.rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            row[0].ljust(widths[0]) + "".join(f"  {x:>{w}}" for x, w in zip(row[1:], widths[1:], strict=True))
            for row in rows
        ]
        return "\n".join(line.rstrip() for line in [*lines, *self.notes])


def _percent(change: float, of: float) -> str:
    """Text of a relative change in percent; "-" if the reference is zero."""
    if abs(change) <= 1e-12 * abs(of):
        return "0 %"
    return f"{100 * change / abs(of):+.2g} %" if of else "-"


def convergence(arm: Arm, q: Array | None = None) -> Convergence:
    """Return the changes of frequencies and of the static tip with one more mode in every direction that has modes.

    A family that does not accept one more mode gets two (elements in bending). A direction that accepts neither is not
    refined.

    Parameters
    ----------
    arm : Arm
    q : (nq,), optional
        Configuration of the joints, the motors and a free base. The links are undeformed. Default: `arm.rest`, or the
        position nearby that satisfies the closures.

    Raises
    ------
    DescriptionError
        If the arm has no modes, or none of its directions accepts more.
    FlexarmError
        If the arm is too soft to hold itself against gravity.
    """
    with refused("convergence"):
        checked_instance(arm, Arm, "arm")
    larger, modes, kept = _with_more(arm)
    few, more = Model(arm), Model(larger)
    given = few.argument("q", closures.rest(few) if q is None else q)
    if given.ndim != 1:
        raise DescriptionError("convergence: q has more than one axis; give one configuration")
    bends = {arm.velocities[i] for i in arm.flexible}
    stays = {name: x for name, x in zip(arm.coordinates, given.tolist(), strict=True) if name not in bends}
    places = [np.array([stays.get(name, 0.0) for name in model.coordinates]) for model in (few, more)]
    closures.check_closed("convergence", few, places[0])
    here, there = (_measured(model, place) for model, place in zip((few, more), places, strict=True))
    locked, free = len(here[0]), len(here[1])
    return Convergence(arm, modes, kept, *here, there[0][:locked], there[1][:free], *there[2:])


def _with_more(arm: Arm) -> tuple[Arm, dict[str, tuple[int, int]], dict[str, str]]:
    """The arm with more modes, the numbers before and after, and the directions that are not refined, with reasons."""
    modes: dict[str, tuple[int, int]] = {}
    kept: dict[str, str] = {}
    links = []
    for link in arm.links:
        body = link.body
        if isinstance(body, Beam):
            counts = dict(body.counts)
            for direction in DIRECTIONS:
                n, where = counts[direction], f"{link.name}.{direction}"
                larger, why = _larger(body, direction) if n else (n, "")
                if larger > n:
                    modes[where], counts[direction] = (n, larger), larger
                elif n:
                    kept[where] = why
            body = body.replace(modes=counts, damping=0.0)  # damping may be given for each mode
        elif isinstance(body, FiniteElement) and body.modes:
            where = f"{link.name}.mode"
            body, why = _with_another_mode(body)
            if why:
                kept[where] = why
            else:
                modes[where] = body.modes - 1, body.modes
        links.append(link.replace(body=body))
    if not modes:
        reasons = "; ".join(f"{where}: {why}" for where, why in kept.items()) or "no link has modes"
        raise DescriptionError(f"arm {arm.name!r}: no mode can be added; {reasons}")
    return arm.replace(links=links), modes, kept


def _larger(body: Beam, direction: str) -> tuple[int, str]:
    """The next number of modes that the direction accepts; if there is none, the same number and the reason."""
    n = body.counts[direction]
    if direction == "torsion" and not body.rho_Ip:
        return n, "without polar_inertia another mode has no inertia"
    refusal = getattr(family(body.families[direction], direction), "refusal", None)
    most = MOST_MODES if body.segments is None else MOST_SEGMENT_MODES
    for larger in range(n + 1, min(n + 2, most) + 1):
        if refusal is None or not refusal(larger):
            return larger, ""
    return n, f"{n} is the largest number" if n == most or refusal is None else refusal(n + 1)


def _with_another_mode(body: FiniteElement) -> tuple[FiniteElement, str]:
    """The part with one more mode from its file; if there is none, the same part and the reason."""
    if body.file is None:
        return body, "its file is unknown"
    try:
        return body.replace(modes=body.modes + 1, damping=0.0), ""
    except DescriptionError as error:
        return body, error.message


def _bending(model: Model, q: Array) -> Array:
    """Return the motions (n, k) that closures, held drives, and a held base allow."""
    drives, base = model.input_matrix(q)[:, : len(model.arm.driven)], 6 * model.arm.free
    if not model.arm.closures:
        return held(drives)[:, base:]
    return closures.free_directions(np.vstack([closures.jacobian(model, q), drives.T, np.eye(model.nv)[:base]]))[0]


def _measured(model: Model, q: Array) -> tuple[Array, Array, Array, float]:
    """Frequencies with the drives held and free, the sag, and the compliance."""
    straight = model.tip(q)[:3, 3]
    weighs = any(model.gravity) and not model.arm.free  # an arm in free fall does not sag
    sagged = model.tip(equilibrium(model, q)[0])[:3, 3] if weighs else straight
    N = _bending(model, q)
    K = N.T @ np.array(model.slope("stiffness_force", 0)(q)) @ N
    slopes = np.array(model.slope("tip", 0)(q))[12:15]  # a pose is stored column by column
    J = slopes @ N
    J[np.abs(J) < UNMOVED * np.abs(slopes).max(initial=0.0)] = 0.0
    try:
        compliance = float(np.linalg.eigvalsh(J @ np.linalg.solve(K, J.T))[-1])
    except np.linalg.LinAlgError:
        why = "a motion has no stiffness there, as within backlash and at a passive joint; leave these out"
        raise DescriptionError(f"convergence: arm {model.arm.name!r}: {why}") from None
    return model.frequencies(q), model.frequencies(q, locked=False), sagged - straight, compliance
