"""Closed loops of a model: assembly, reactions, and the coordinates that can be chosen freely."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from flexarm.arrays import Array
from flexarm.description.arm import Arm
from flexarm.errors import DescriptionError
from flexarm.model.tracing import Traced
from flexarm.native.kernel import Kernel

if TYPE_CHECKING:
    import casadi as ca

FITS = 1e-6
"""Largest gap of a start [m or 1, and per second]; a smaller one is closed before the run."""
CLOSED = 1e-12
"""Gap at which an assembly ends [m or 1]."""
MOST_STEPS = 200
"""Largest number of steps of an assembly from one guess."""
SHARES = tuple(0.5**k for k in range(12))
"""Shares of Newton's step that are tried in turn, until the gaps become smaller."""
NEARBY = (0.1,) * 3 + (0.4,) * 6 + (1.0,) * 12
"""Largest changes of the joints' angles [rad] in guesses that are tried if an assembly fails."""
FLAT = 0.02
"""Size of a singular value of the conditions, relative to that at the start of a run, below which a failure names it.
"""
ARGUMENTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("gaps", "facing", "slopes"), ("q",)),
    **dict.fromkeys(("rates", "correction", "rate_slopes"), ("q", "qd")),
    "stiffening": ("q", "reactions"),
}
"""Arguments of the functions of the module `mechanics.closures`."""
INDEPENDENT = 1e-9
"""Size of a singular value of the conditions, relative to the largest, below which one condition depends on others."""


def _function(model: Traced, name: str) -> "ca.Function":
    """Return a function of the module `mechanics.closures` of its arguments and, if the model varies, of p."""

    def trace() -> "ca.Function":
        import casadi as ca

        from flexarm.mechanics import closures
        from flexarm.mechanics.spatial import entries

        sizes = {"q": model.nq, "qd": model.nv, "reactions": len(owners(model.arm))}
        given = {argument: ca.SX.sym(argument, sizes[argument]) for argument in ARGUMENTS[name]}
        chain, local = model.posed(entries(given["q"]))
        value = getattr(closures, name)(chain, local, *(entries(x) for a, x in given.items() if a != "q"))
        rows = [ca.horzcat(*row) if isinstance(row, list) else row for row in value]
        return model.over_parameters(name, given, {name: ca.cse(ca.densify(ca.SX(ca.vertcat(*rows))))})

    return model.traced(f"closures {name}", trace)


def kernel(model: Traced) -> Kernel:
    """Return the compiled correction of a state, from the concatenated q and qd."""
    return model.compiled("closures correction", lambda model: _function(model, "correction"))


def _evaluated(model: Traced, name: str, *given: Array) -> Array:
    """Return the value of a function by CasADi, since compiling would take longer than the few calls."""
    return np.array(model.with_numbers(_function(model, name))(*given))


def gaps(model: Traced, q: Array) -> Array:
    """Return the gaps of all conditions, (k,)."""
    return _evaluated(model, "gaps", q).ravel()


def rates(model: Traced, q: Array, qd: Array) -> Array:
    """Return the rates of all gaps, (k,)."""
    return _evaluated(model, "rates", q, qd).ravel()


def facing(model: Traced, q: Array) -> Array:
    """Return numbers that must be positive in addition to the conditions, which also hold for other orientations."""
    return _evaluated(model, "facing", q).ravel()


def jacobian(model: Traced, q: Array) -> Array:
    """Return J of all conditions, (k, n): the rates of the gaps are J qd."""
    return _evaluated(model, "slopes", q)


def stiffening(model: Traced, q: Array, reactions: Array) -> Array:
    """Return d(J' lambda)/dq, (n, n), of constant reactions of all conditions, which adds to the stiffness with -1."""
    return _evaluated(model, "stiffening", q, reactions)


def rate_slopes(model: Traced, q: Array, qd: Array) -> Array:
    """Return d(J qd)/dq of all conditions, (k, n), q in local coordinates."""
    return _evaluated(model, "rate_slopes", q, qd)


def owners(arm: Arm) -> list[str]:
    """Return the name of the closure to which each condition belongs."""
    return [closure.name for closure in arm.closures for _ in range(closure.conditions)]


def corrected(model: Traced, q: Array, qd: Array) -> tuple[Array, Array]:
    """Return coordinates and rates after one correction."""
    found = _evaluated(model, "correction", q, qd).ravel()
    return found[: model.nq], found[model.nq : -1]


def widest(model: Traced, sizes: Array) -> str:
    """Return the largest of the conditions' numbers with the name of its closure."""
    i = int(np.argmax(np.abs(sizes)))
    return f"{abs(sizes[i]):.3g} at closure {owners(model.arm)[i]!r}"


def assembled(model: Traced, guess: Array, held: Sequence[int] = ()) -> tuple[Array, str]:
    """Return the coordinates nearest to a guess that satisfy the closures, and "" or why there are none.

    The `held` ones, by their indices in `layout`, keep their values. If the guess itself leads nowhere, as a mechanism
    whose links are all in one line, guesses near it are tried. They are the same in every call.
    """
    layout, joints = model.arm.layout, [i for i in model.arm.joints if i not in held]
    q, why, size = _led(model, guess, held)
    rng, turns = np.random.default_rng(0), [i for i in joints if layout[i].unit == "rad"]
    for reach in NEARBY if why else ():
        other = np.array(guess, dtype=float)
        other[np.array(turns, dtype=int) + model.nq - model.nv] += rng.uniform(-reach, reach, len(turns))
        found, left, gap = _led(model, other, held)
        if not left:
            return found, ""
        if gap < size:
            q, why, size = found, left, gap
    return q, why


def _led(model: Traced, guess: Array, held: Sequence[int]) -> tuple[Array, str, float]:
    """Return the result of an assembly from one guess, why it is none, and the size of the gaps that are left.

    Joints move first. Links bend only where the joints alone cannot close the loops.
    """
    q, size = np.array(guess, dtype=float), np.inf
    every = np.array([i for i in range(6 * model.arm.free, model.nv) if i not in held], dtype=int)
    joints = np.array([i for i in every if model.arm.layout[i].role != "flexible"], dtype=int)
    for some in (joints, every):
        for search in (_newton, _least_squares):
            if some.size and not size < FITS:
                found = search(model, q, some)
                if (left := _size(model, found)) < size:
                    q, size = found, left
    if not size < FITS:
        return q, f"a gap of {widest(model, gaps(model, q))} is left; start from another guess", size
    if (facing(model, q) <= 0.0).any():
        return q, "axes of a closure are opposite there; start from another guess, or reverse axis_to", np.inf
    return q, "", size


def _newton(model: Traced, q: Array, some: Array) -> Array:
    """Return where Newton's steps of some coordinates lead, shortened until the gaps become smaller."""
    places, size = some + model.nq - model.nv, _size(model, q)
    for _ in range(MOST_STEPS):
        if size < CLOSED:
            break
        step = np.zeros(model.nq)
        step[places] = -np.linalg.lstsq(jacobian(model, q)[:, some], gaps(model, q), rcond=INDEPENDENT)[0]
        better = next(((x, s) for k in SHARES if (s := _size(model, x := q + k * step)) < size), None)
        if better is None:
            break
        q, size = better
    return q


def _least_squares(model: Traced, q: Array, some: Array) -> Array:
    """Return where some coordinates have the least gaps near q, from where Newton's steps reach it."""
    from scipy.optimize import least_squares  # here, since it takes long to import

    places = some + model.nq - model.nv

    def at(x: Array) -> Array:
        moved = q.copy()
        moved[places] = x
        return moved

    def slope(x: Array) -> Array:
        return jacobian(model, at(x))[:, some]

    found = least_squares(lambda x: gaps(model, at(x)), q[places], jac=slope)
    return _newton(model, at(found.x), some)


def _size(model: Traced, q: Array) -> float:
    return float(np.linalg.norm(gaps(model, q)))


def rest(model: Traced) -> Array:
    """Return the position of rest of an arm, (nq,); with closures, the one to which they lead from there."""
    found = np.array(model.arm.rest)
    if not model.arm.closures:
        return found
    return model.derived("closures at rest", lambda: assembled(model, found)[0]).copy()  # type: ignore[no-any-return]


def singular(model: Traced, start: Array, q: Array) -> str:
    """Return a remark if the conditions nearly lose rank at q, compared with the start of a run, or ""."""
    if not model.arm.closures:
        return ""
    before, there = (np.linalg.svd(jacobian(model, x), compute_uv=False) for x in (start, q))
    rank = int((before > INDEPENDENT * before.max()).sum())
    if not (rank and there[rank - 1] < FLAT * before[rank - 1]):
        return ""
    least = there[rank - 1] / there[0]
    return (
        f"; near there the closures lose rank (from {rank} to {rank - 1}; ratio of singular values {least:.1e}), "
        "where a mechanism can change its way of moving: a larger rtol steps over such a position"
    )


def started(
    where: str, model: Traced, q: Array, qd: Array, given: tuple[bool, bool], held: Sequence[int] = ()
) -> tuple[Array, Array]:
    """Return a start that satisfies the closures.

    If coordinates, or rates, are not `given`, they are assembled from those at rest or on a reference, and the `held`
    ones keep their values. Raises `DescriptionError` for a start that does not fit.
    """
    if not model.arm.closures:
        return q, qd
    if not given[0]:
        q, why = assembled(model, q, held)
        if why:
            raise DescriptionError(f"{where}: without q0 the closures are assembled from the rest position, but {why}")
    if not given[1]:
        J, others, qd = jacobian(model, q), [i for i in range(model.nv) if i not in held], qd.copy()
        qd[others] -= np.linalg.lstsq(J[:, others], J @ qd, rcond=INDEPENDENT)[0]
    check_closed(where, model, q, qd, ("q0", "qd0"))
    for _ in range(2):
        q, qd = corrected(model, q, qd)
    return q, qd


def check_closed(
    where: str, model: Traced, q: Array, qd: Array | None = None, names: tuple[str, str] = ("q", "qd")
) -> None:
    """Raise `DescriptionError` for a state that does not satisfy the closures."""
    qd = np.zeros(model.nv) if qd is None else qd
    away, opening = gaps(model, q), rates(model, q, qd)
    if not (np.abs(away) <= FITS).all():
        said = f"{names[0]} does not satisfy the closures; the gap is {widest(model, away)}"
        raise DescriptionError(f"{where}: {said}: use fa.assemble(arm, {names[0]})")
    if (facing(model, q) <= 0.0).any():
        raise DescriptionError(
            f"{where}: at {names[0]} the axes of a closure are opposite; start from another position"
        )
    if not (np.abs(opening) <= FITS * max(1.0, float(np.abs(qd).max(initial=0.0)))).all():
        said = f"{names[1]} does not satisfy the closures; a gap opens with {widest(model, opening)} per second"
        raise DescriptionError(f"{where}: {said}: use fa.assemble(arm, {', '.join(names)})")


def check_independent(what: str, model: Traced, q: Array) -> None:
    """Raise an error if closures couple the driven joints, for a function that prescribes all their accelerations."""
    if not model.arm.closures:
        return
    J, driven = jacobian(model, q), model.arm.driven
    if rank(np.delete(J, driven, axis=1)) < rank(J):
        must = "make some of them passive"
        raise DescriptionError(f"{what}: closures couple the {len(driven)} joints with a motor; {must}")


def rank(J: Array) -> int:
    """Return the number of independent conditions."""
    sizes = np.linalg.svd(J, compute_uv=False)
    return int((sizes > INDEPENDENT * sizes.max(initial=0.0)).sum())


def independent(model: Traced, q: Array) -> tuple[Array, list[int]]:
    """Return the motions that the closures allow, and the coordinates that determine them; see `free_directions`.

    Driven coordinates are chosen first, and amplitudes of links before passive joints.
    """
    first = 2.0 * (np.abs(model.evaluate("input_matrix", q)).sum(axis=1) > 0.0)
    first[list(model.arm.flexible)] += 1.0
    return free_directions(jacobian(model, q), first)


def free_directions(J: Array, first: Array | None = None) -> tuple[Array, list[int]]:
    """Return N (n, n - rank) with J N = 0, and the independent coordinates, whose rows of N are the unit matrix.

    Coordinates with a larger number in `first` (n,) are chosen before others, if they can be.
    """
    n = J.shape[1]
    preferred = np.zeros(n) if first is None else first
    order = np.lexsort((-np.arange(n), preferred))  # candidates for dependent coordinates, the last ones first
    left, dependent = J[:, order].copy(), []
    for _ in range(rank(J)):  # the first column with a part that is independent of the columns taken before
        sizes = np.linalg.norm(left, axis=0)
        able = np.flatnonzero(sizes > 1e-3 * sizes.max())
        c = int(next(i for i in able if i not in dependent))
        dependent.append(c)
        unit = left[:, c] / sizes[c]
        left -= np.outer(unit, unit @ left)
    taken = [int(order[c]) for c in dependent]
    free = [i for i in range(n) if i not in taken]
    N = np.zeros((n, len(free)))
    N[free] = np.eye(len(free))
    N[taken] = -np.linalg.lstsq(J[:, taken], J[:, free], rcond=None)[0]
    return N, free
