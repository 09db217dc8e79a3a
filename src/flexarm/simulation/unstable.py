"""Warning before a run whose controller is unstable at the initial state.

Slopes of the law are differences of its compiled code, which a run needs anyway. Those of the arm are exact, and the
model caches them. There is no warning in three cases: the law's slopes depend on the size of the difference (because of
saturation or rounding), its reference moves at the start, or there is no equilibrium nearby. Frozen poles of a motion
do not determine its stability. External loads, contacts and backlash are taken as they are at the start.
"""

from dataclasses import replace

import numpy as np

from flexarm.arrays import Array
from flexarm.attitude import configuration, displaced, local_names
from flexarm.errors import FlexarmError
from flexarm.model import Model
from flexarm.model.linear import slopes
from flexarm.native.once import Recent
from flexarm.simulation.block import Block
from flexarm.simulation.closed_loop import ClosedLoop, Deviations, LawSlopes, chained, continuous
from flexarm.simulation.feedback import LawBlock
from flexarm.simulation.sampled import Sampled, SampledFeedback
from flexarm.trajectory import Reference, reference_motion

GROWTH = 3.0
"""Exponent of growth in a run below which an unstable pole is not reported: the deviation grows by less than e^3."""
STEPS = (1e-4, 1e-5)
"""Step sizes of the differences, in every coordinate, rate and memory."""
SMOOTH = 1e-4
"""Relative difference up to which the slopes of the two step sizes agree."""
STENCIL = ((1.0, 8.0 / 12.0), (-1.0, -8.0 / 12.0), (2.0, -1.0 / 12.0), (-2.0, 1.0 / 12.0))
"""Positions and weights of a difference of fourth order."""
FACTORS = (0.5, 0.25, 0.1, 2.0, 4.0, 10.0)
"""Factors on all gains that are tried for advice. The warning contains the first that stabilizes the loop."""
SOONER = 10.0
"""Factor by which a faster sampling is tried for advice."""
NEAR = 1e-7
"""Distance in every coordinate within which different slopes of the arm mean an imminent contact."""
NEGLIGIBLE = 1e-6
"""Growth rate relative to the fastest pole below which a growing pole is a rounding error."""


_FOUND: Recent[tuple[str]] = Recent(64)
"""Warnings, or "" for a stable start, by arm, compiled law and initial state: a study repeats runs with one controller.
"""


class Rough(FlexarmError):
    """Error for a law, or an arm, without well-defined slopes."""


def unstable_start(model: Model, drive: Block, q: Array, s: Array, until: float, w: Array | None = None) -> str:
    """Return a warning about the unstable pole of a run from this state, or "".

    Both the initial state with zero rates and a nearby equilibrium of the loop must have such a pole.
    """
    if not isinstance(drive, LawBlock) or (isinstance(drive, SampledFeedback) and drive.function is not None):
        return ""
    if _moves(drive.wanted):
        return ""
    numbers = (
        q,
        s,
        () if w is None else w,
        drive.law.memory,
        drive.kernel.constants,
        model.p,
        (until, drive.period or 0.0),
    )
    key = [model.kernel("forward_dynamics").key, drive.kernel.key]
    key += [np.asarray(x, dtype=float).tobytes().hex() for x in numbers]
    found = _FOUND("\n".join(key), lambda: (_checked(model, drive, q, s, until, w),))[0]
    return found and _checked(model, drive, q, s, until, w)  # advice also depends on the controller


def _checked(model: Model, drive: LawBlock, q: Array, s: Array, until: float, w: Array | None) -> str:
    """Return what `unstable_start` returns, for a law whose reference begins at rest."""
    loop = ClosedLoop(model, drive.law, drive.period, w, slopes_of_law=by_differences(model, drive))
    x = loop.start(q, s=s)
    try:
        with np.errstate(all="ignore"):
            if _worst(loop, x, until) is None:
                return ""
            x = loop.standing(0.0, x)
            found = _worst(loop, x, until)
            return "" if found is None else _said(loop, x, drive, *found)
    except (FlexarmError, np.linalg.LinAlgError):  # the run reports the error, if any
        return ""


def _moves(reference: Reference | None) -> bool:
    """Return True if a reference has a nonzero initial rate."""
    return reference is not None and bool(np.abs(reference_motion(reference, 0.0)[1]).max(initial=0.0) > 1e-9)


def by_differences(model: Model, drive: LawBlock) -> LawSlopes:
    """Return u, the next memory and their slopes, by differences of the law's compiled code."""
    n, m, k = model.nv, len(model.inputs), len(model.states)
    sampled = drive.period is not None
    noises, memory = len(drive.law.noise), len(drive.law.memory)

    def of_law(t: float, q: Array, x: Array) -> tuple[Array, Array, Array, Array]:
        size = n + len(x)
        moved = [h * a * e for h in STEPS for e in np.eye(size) for a, _ in STENCIL]
        dx = np.array([np.zeros(size), *moved])
        qd, s, z, qdd = np.split(x + dx[:, n:], [n, n + k, n + k + memory], axis=1)
        parts = [np.full((len(dx), 1), t), displaced(model.arm, q, dx[:, :n]), qd]
        parts += [s, z, np.zeros((len(dx), noises)), qdd] if sampled else [z]
        values = drive.kernel.few(np.hstack(parts))
        weights = np.array([b for _, b in STENCIL])
        both = [
            np.einsum("ijk,j->ki", part.reshape(size, len(STENCIL), -1), weights) / h
            for part, h in zip(np.split(values[1:], len(STEPS)), STEPS, strict=True)
        ]
        if not np.abs(both[0] - both[1]).max(initial=0.0) <= SMOOTH * np.abs(both[1]).max(initial=0.0):
            raise Rough("the slopes of the law depend on the size of the deviation")
        return values[0, :m], values[0, m:], both[0][:m], both[0][m:]

    return of_law


def _worst(loop: ClosedLoop, x: Array, until: float) -> tuple[complex, str, tuple[Deviations, ...]] | None:
    """Return the pole of fastest growth, the coordinate that it moves most, and the deviations, or None."""
    phases = loop.cycle(0.0, x)
    if loop.model.arm.touches:
        _check_sides(loop, x, phases[0].u)
    s, shapes = _poles(loop, phases, 1.0)
    i = int(np.argmax(s.real))
    reads = any(slopes[:, : len(at.A)].any() for at in phases for slopes in (at.to_u, at.to_z))
    if not reads or not _grows(s, until):  # a law that does not depend on the arm cannot stabilize it
        return None
    M = loop.model.fixed("mass_matrix")(configuration(loop.model.arm, x[: loop.model.nv]))
    moved = phases[0].all_of[: loop.model.nv] @ shapes[: len(phases[0].A), i]
    sizes = np.abs(moved) * np.sqrt(np.diag(np.array(M)))
    return complex(s[i]), local_names(loop.model.arm)[int(np.argmax(sizes))], phases


def _check_sides(loop: ClosedLoop, x: Array, u: Array) -> None:
    """Raise `Rough` if parts touch on one side of x, and not on the other."""
    model, n = loop.model, loop.model.nv
    k = 2 * n + len(model.states)
    q, away = configuration(model.arm, x[:n]), NEAR * np.cos(1.0 + np.arange(n))  # different values in all coordinates
    sides = [displaced(model.arm, q, sign * away) for sign in (1.0, -1.0)]
    A, B = (slopes(model, side, x[n : 2 * n], u, s=x[2 * n : k], w=loop.w)[0] for side in sides)
    if not np.abs(A - B).max() <= SMOOTH * np.abs(A).max():
        raise Rough("a contact is about to close")


def _grows(s: Array, until: float) -> bool:
    return bool(s.real.max() * until > GROWTH) and _is_unstable(s)


def _poles(loop: ClosedLoop, phases: tuple[Deviations, ...], factor: float) -> tuple[Array, Array]:
    """Return the poles [1/s] and modes with all gains multiplied by a factor."""
    stronger = [
        replace(at, to_u=factor * at.to_u, to_z=at.to_z + (factor - 1.0) * at.felt @ at.to_u).closed(loop.period)
        for at in phases
    ]
    s, shapes = np.linalg.eig(chained(stronger)[0])
    return (s if loop.period is None else continuous(s, len(phases) * loop.period)), shapes


def _said(
    loop: ClosedLoop,
    x: Array,
    drive: LawBlock,
    s: complex,
    name: str,
    phases: tuple[Deviations, ...],
) -> str:
    turning = f" +- {abs(s.imag):.4g}j" if abs(s.imag) > NEGLIGIBLE * abs(s) else ""
    what = (
        f"controller {drive.described()}: the closed loop is unstable at the start: a pole at {s.real:.4g}{turning} 1/s"
    )
    return f"{what} moves {name} most; {_advice(loop, x, phases, drive)}; see flexarm stability"


def _advice(loop: ClosedLoop, x: Array, phases: tuple[Deviations, ...], drive: LawBlock) -> str:
    """Return advice about the first simple remedy that stabilizes the loop."""
    given = drive.controller
    if drive.period is not None and given is not None:
        if given.delay and _holds(loop, x, replace(given, delay=0.0), drive.model):
            return f"without its delay of {given.delay:g} s the loop would be stable"
        sooner = drive.period / SOONER
        if _holds(loop, x, replace(given, delay=0.0, period=sooner), drive.model):
            return (
                f"called every {sooner:g} s" + (", without delay," if given.delay else "") + " the loop would be stable"
            )
    for factor in FACTORS:
        if not _is_unstable(_poles(loop, phases, factor)[0]):
            return f"with gains {factor:g} times as large the loop would be stable"
    return "no common factor of its gains makes the loop stable"


def _holds(loop: ClosedLoop, x: Array, controller: Sampled, designed_on: Model) -> bool:
    """Return True if another controller, with its initial memory, stabilizes the arm there."""
    model, n = loop.model, 2 * loop.model.nv + len(loop.model.states)
    drive = controller.feedback(designed_on)
    other = ClosedLoop(model, drive.law, drive.period, loop.w)
    phases = other.cycle(0.0, np.concatenate([x[:n], other.memory]))
    return not _is_unstable(_poles(other, phases, 1.0)[0])


def _is_unstable(s: Array) -> bool:
    return bool(s.real.max() > NEGLIGIBLE * np.abs(s[np.isfinite(s)]).max(initial=0.0))
