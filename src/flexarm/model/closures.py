"""Closed loops of a model: assembly, reactions, and the coordinates that can be chosen freely."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from flexarm.arrays import Array
from flexarm.attitude import displaced
from flexarm.checks import counted
from flexarm.description.arm import Arm
from flexarm.errors import DescriptionError
from flexarm.model.tracing import Traced
from flexarm.native.kernel import Kernel

if TYPE_CHECKING:
    import casadi as ca

FITS = 1e-6
"""Largest gap of a start [m or 1, and per second]; a smaller one is closed before the run."""
APART = 1e-3
"""Largest gap [m or 1, and per second] in the solver of another program. One correction leaves about its square."""
CLOSED = 1e-12
"""Gap at which an assembly ends [m or 1]."""
MET = 1e-9
"""Gap of a closure [m or 1, and their rates] in a run after which one more correction leaves rounding alone."""
CORRECTIONS = 5
"""Largest number of corrections of a state in a run."""
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
    **dict.fromkeys(("rates", "bias", "correction", "prescribed_correction", "rate_slopes"), ("q", "qd")),
    "stiffening": ("q", "reactions"),
}
"""Arguments of the functions of the module `mechanics.closures`."""
INDEPENDENT = 1e-9
"""Size of a singular value of the conditions, relative to the largest, below which one condition depends on others."""


def function(model: Traced, name: str) -> "ca.Function":
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


def kernel(model: Traced, quantity: str = "state_rate") -> Kernel:
    """Return the compiled correction of a state, from the concatenated q and qd, in runs that integrate a quantity.

    A prescribed motion determines the driven coordinates, and their correction is zero.
    """
    name = "prescribed_correction" if quantity.startswith("prescribed") else "correction"
    return model.compiled(f"closures {name}", lambda model: function(model, name))


def _evaluated(model: Traced, name: str, *given: Array, p: Array | None = None) -> Array:
    """Return the value of a function by CasADi, since compiling would take longer than the few calls.

    Many states have a row each, also of p, and the value has a column for each.
    """
    more = () if model.symbols is None else ((model.p if p is None else p).T,)
    return np.array(function(model, name)(*(x.T for x in given), *more))


def _numbers(model: Traced, name: str, *given: Array, p: Array | None = None) -> Array:
    """Return numbers (k,) of a state, or (N, k) of many."""
    found = _evaluated(model, name, *given, p=p)
    return found.T if given[0].ndim > 1 else found.ravel()


def gaps(model: Traced, q: Array, p: Array | None = None) -> Array:
    """Return the gaps of all conditions, (k,), or (N, k) of many positions, each with its row of p."""
    return _numbers(model, "gaps", q, p=p)


def rates(model: Traced, q: Array, qd: Array, p: Array | None = None) -> Array:
    """Return the rates of all gaps, (k,) or (N, k)."""
    return _numbers(model, "rates", q, qd, p=p)


def facing(model: Traced, q: Array, p: Array | None = None) -> Array:
    """Return numbers that must be positive in addition to the conditions, which also hold for other orientations."""
    return _numbers(model, "facing", q, p=p)


def jacobian(model: Traced, q: Array) -> Array:
    """Return J of all conditions, (k, n): the rates of the gaps are J qd."""
    return _evaluated(model, "slopes", q)


def stiffening(model: Traced, q: Array, reactions: Array) -> Array:
    """Return d(J' lambda)/dq, (n, n), of constant reactions of all conditions, which adds to the stiffness with -1."""
    return _evaluated(model, "stiffening", q, reactions)


def rate_slopes(model: Traced, q: Array, qd: Array) -> Array:
    """Return d(J qd)/dq of all conditions, (k, n), q in local coordinates."""
    return _evaluated(model, "rate_slopes", q, qd)


def bias(model: Traced, q: Array, qd: Array) -> Array:
    """Return (dJ/dt) qd of all conditions, (k,): the accelerations of the gaps are J qdd + (dJ/dt) qd."""
    return _numbers(model, "bias", q, qd)


def restricting(model: Traced) -> list[int]:
    """Return the indices of the conditions that do not hold in every position."""
    import casadi as ca

    from flexarm.mechanics.closures import restricting as found
    from flexarm.mechanics.closures import symbolic

    _, rates, every = symbolic(model.chain)
    return found(ca.jacobian(every, rates))


def owners(arm: Arm) -> list[str]:
    """Return the name of the closure to which each condition belongs."""
    return [closure.name for closure in arm.closures for _ in range(closure.conditions)]


def corrected(model: Traced, q: Array, qd: Array, p: Array | None = None) -> tuple[Array, Array]:
    """Return coordinates and rates after one correction, of one state or of many."""
    found = _numbers(model, "correction", q, qd, p=p)
    return found[..., : model.nq], found[..., model.nq : -1]


def closed(model: Traced, q: Array, qd: Array) -> tuple[Array, Array]:
    """Return a state on the closures, as a run moves it there."""
    for _ in range(CORRECTIONS if model.arm.closures else 0):
        found = _numbers(model, "correction", q, qd)
        q, qd = found[: model.nq], found[model.nq : -1]
        if found[-1] < MET**2:
            break
    return q, qd


def widest(model: Traced, sizes: Array) -> str:
    """Return the largest of the conditions' numbers with the name of its closure, and its row if there are many."""
    row, i = np.unravel_index(int(np.argmax(np.abs(sizes))), np.atleast_2d(sizes).shape)
    said = f"{np.abs(sizes).max():.3g} at closure {owners(model.arm)[i]!r}"
    return f"{said} in row {row}" if np.ndim(sizes) > 1 else said


def assembled(model: Traced, guess: Array, held: Sequence[int] = ()) -> tuple[Array, str]:
    """Return the coordinates nearest to a guess that satisfy the closures, and "" or why there are none.

    The `held` ones, by their indices in `layout`, keep their values. If the guess itself leads nowhere, as a mechanism
    whose links are all in one line, guesses near it are tried. They are the same in every call.
    """
    layout = model.arm.layout
    q, why, size = _led(model, guess, held)
    joints = [i for i in model.arm.joints if layout[i].unit == "rad"]
    turns = [i for i in (*joints, *range(6 * model.arm.free, model.arm.twists)) if i not in held]
    rng = np.random.default_rng(0)
    for reach in NEARBY if why else ():
        step = np.zeros(model.nv)
        step[turns] = rng.uniform(-reach, reach, len(turns))
        found, left, gap = _led(model, displaced(model.arm, np.asarray(guess, dtype=float), step), held)
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
    size = _size(model, q)
    for _ in range(MOST_STEPS):
        if size < CLOSED:
            break
        step = np.zeros(model.nv)
        step[some] = -np.linalg.lstsq(jacobian(model, q)[:, some], gaps(model, q), rcond=INDEPENDENT)[0]
        tried = (displaced(model.arm, q, k * step) for k in SHARES)
        better = next(((x, s) for x in tried if (s := _size(model, x)) < size), None)
        if better is None:
            break
        q, size = better
    return q


def _least_squares(model: Traced, q: Array, some: Array) -> Array:
    """Return where some coordinates have the least gaps near q, from where Newton's steps reach it."""
    from scipy.optimize import least_squares  # here, since it takes long to import

    def at(x: Array) -> Array:
        step = np.zeros(model.nv)
        step[some] = x
        return displaced(model.arm, q, step)

    def slope(x: Array) -> Array:
        return jacobian(model, at(x))[:, some]

    found = least_squares(lambda x: gaps(model, at(x)), np.zeros(len(some)), jac=slope)
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
    slopes = [jacobian(model, x) for x in (start, q)]
    if not np.isfinite(slopes).all():
        return ""
    before, there = np.linalg.svd(slopes, compute_uv=False)
    rank = int((before > INDEPENDENT * before.max()).sum())
    if not (rank and there[rank - 1] < FLAT * before[rank - 1]):
        return ""
    least = there[rank - 1] / there[0]
    return (
        f"; near there the closures lose rank (from {rank} to {rank - 1}; ratio of singular values {least:.1e}), "
        "where a mechanism can change its way of moving: a larger rtol steps over such a position"
    )


def started(
    where: str,
    model: Traced,
    q: Array,
    qd: Array,
    given: tuple[bool, bool],
    p: Array | None = None,
    led: bool | Sequence[bool] = False,
) -> tuple[Array, Array]:
    """Return a start that satisfies the closures, or many of them: (N, nq), (N, nv), each with its row of p if given.

    If coordinates, or rates, are not `given`, they are assembled from those at rest or on a reference. Driven joints
    that are `led` by a reference keep their values. Raises `DescriptionError` for a start that does not fit.
    """
    if not model.arm.closures:
        return q, qd
    if not given[0] or (not given[1] and qd.any()):
        q, qd = _begun_rows(where, model, q, qd, given, p, led)
    check_closed(where, model, q, qd, ("q0", "qd0"), p)
    for _ in range(2):
        q, qd = corrected(model, q, qd, p)
    return q, qd


def _begun_rows(
    where: str,
    model: Traced,
    q: Array,
    qd: Array,
    given: tuple[bool, bool],
    p: Array | None,
    led: bool | Sequence[bool],
) -> tuple[Array, Array]:
    """Return the starts to which one state or many lead; equal rows are assembled once."""
    rows, rates = np.atleast_2d(q), np.atleast_2d(qd)
    own = [model.p] * len(rows) if p is None else list(np.atleast_2d(p))
    keys, found = [], dict[tuple[bytes, bytes, bytes, bool], tuple[Array, Array]]()
    for row, rate, values, follows in zip(rows, rates, own, np.broadcast_to(led, len(rows)).tolist(), strict=True):
        keys.append((row.tobytes(), rate.tobytes(), values.tobytes(), follows))
        if keys[-1] not in found:
            plant = model.at(values) if values.size else model
            found[keys[-1]] = _begun(where, plant, row, rate, given, model.arm.driven if follows else ())
    starts = [found[key] for key in keys]
    return np.array([x for x, _ in starts]).reshape(q.shape), np.array([x for _, x in starts]).reshape(qd.shape)


def _begun(
    where: str, model: Traced, q: Array, qd: Array, given: tuple[bool, bool], held: Sequence[int]
) -> tuple[Array, Array]:
    """Return the start to which a state leads. The `held` coordinates and their rates keep their values."""
    if not given[0]:
        q, why = assembled(model, q, held)
        if why:
            raise DescriptionError(f"{where}: without q0 the closures are assembled from the rest position, but {why}")
    if not given[1]:
        J, others, qd = jacobian(model, q), [i for i in range(model.nv) if i not in held], qd.copy()
        qd[others] -= np.linalg.lstsq(J[:, others], J @ qd, rcond=INDEPENDENT)[0]
    return q, qd


def check_closed(
    where: str,
    model: Traced,
    q: Array,
    qd: Array | None = None,
    names: tuple[str, str] = ("q", "qd"),
    p: Array | None = None,
) -> None:
    """Raise `DescriptionError` for a state that does not satisfy the closures, or for one of many."""
    qd = np.zeros(model.nv) if qd is None else qd
    away, opening = gaps(model, q, p), rates(model, q, qd, p)
    if not (np.abs(away) <= FITS).all():
        said = f"{names[0]} does not satisfy the closures; the gap is {widest(model, away)}"
        raise DescriptionError(f"{where}: {said}: use fa.assemble(arm, {names[0]})")
    if (facing(model, q, p) <= 0.0).any():
        raise DescriptionError(
            f"{where}: at {names[0]} the axes of a closure are opposite; start from another position"
        )
    allowed = FITS * np.maximum(1.0, np.abs(qd).max(axis=-1, initial=0.0, keepdims=True))
    if not (np.abs(opening) <= allowed).all():
        said = f"{names[1]} does not satisfy the closures; a gap opens with {widest(model, opening)} per second"
        raise DescriptionError(f"{where}: {said}: use fa.assemble(arm, {', '.join(names)})")


def check_independent(what: str, model: Traced, q: Array) -> None:
    """Raise an error if closures couple the driven joints, for a function that prescribes all their accelerations."""
    if not model.arm.closures:
        return
    J, driven = jacobian(model, q), model.arm.driven
    if rank(np.delete(J, driven, axis=1)) < rank(J):
        must = "make some of them passive"
        raise DescriptionError(f"{what}: closures couple the {counted(len(driven), 'joint')} with a motor; {must}")


def independent_rows(model: Traced, q: Array) -> list[int]:
    """Return the indices of independent conditions that determine all others, none without closures."""
    if not model.arm.closures:
        return []
    from scipy.linalg import qr  # here, since it takes long to import

    J = jacobian(model, q)
    return sorted(qr(J.T, mode="r", pivoting=True)[1][: rank(J)].tolist())


def rank(J: Array) -> int:
    """Return the number of independent conditions."""
    sizes = np.linalg.svd(J, compute_uv=False)
    return int((sizes > INDEPENDENT * sizes.max(initial=0.0)).sum())


def shared(model: Traced, q: Array, B: Array, force: Array) -> Array:
    """Return the inputs (m,) with the least sum of squares that balance a force together with the reactions."""
    if not model.arm.closures:
        return np.asarray(np.linalg.lstsq(B, force, rcond=None)[0])
    N = independent(model, q)[0]
    return np.asarray(np.linalg.lstsq(N.T @ B, N.T @ force, rcond=INDEPENDENT)[0])


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
