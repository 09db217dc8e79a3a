"""Study of the rounding errors of the recursion and of the dense path, each against itself at 50 digits."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import mpmath as mp  # type: ignore[import-untyped]
import numpy as np
from scipy import linalg

from flexarm import Arm, Model
from flexarm.arrays import Array
from flexarm.native.precise import precise
from flexarm.native.program import instructions
from flexarm_papers.mohan_saha.compute import Slew, scaled
from flexarm_papers.verdicts import Claim, Part, above, below

EPS = float(np.finfo(float).eps)
State = tuple[Array, Array, Array]
"""State and input (q, qd, u)."""


def solved(M: Array, b: Array) -> Array:
    """Return the solution of M x = b for a symmetric positive definite M, in the number type of the arrays."""
    M, b = M.copy(), b.copy()
    for n in reversed(range(len(b))):
        l = M[n, :n] / M[n, n]
        M[:n, :n] -= np.outer(l, M[n, :n])
        b[:n] -= l * b[n]
    x = b / M.diagonal()
    for n in range(len(b)):
        x[n] -= M[n, :n] @ x[:n] / M[n, n]
    return x


@dataclass(frozen=True)
class Rounding:
    """Relative errors of one evaluation of qdd in double precision, medians over states.

    Attributes
    ----------
    recursion, dense : float
        Error of each path against itself at 50 digits.
    constants : float
        Difference between the two paths at 50 digits. CasADi multiplies constants in double precision while it traces,
        so the paths belong to arms that differ in the last bit.
    condition : float
        Condition number of M scaled to a diagonal of 1, which bounds the error of Cholesky factors.
    """

    recursion: float
    dense: float
    constants: float
    condition: float


def measured(arm: Arm, states: Iterable[State]) -> Rounding:
    """Return the errors of both paths of an arm in double precision against 50 digits.

    The dense path is the paper's.
    """
    model = Model(arm)
    recursion, inertia, rest = (model.function(f) for f in ("forward_dynamics", "mass_matrix", "inverse_dynamics"))
    B = np.array(model.function("input_matrix")(np.zeros(len(model.coordinates))))
    recursion_code, inertia_code, rest_code = (instructions(f) for f in (recursion, inertia, rest))
    rows: list[list[float]] = []
    for q, qd, u in states:
        n, at_rest = len(q), np.zeros(len(q))
        M = np.array(inertia(q))
        phi = B @ u - np.array(rest(q, qd, at_rest)).ravel()
        doubles = [np.array(recursion(q, qd, u)).ravel(), linalg.cho_solve(linalg.cho_factor(M), phi)]
        with mp.workdps(50):
            exact = [precise(recursion_code, q, qd, u)]
            exact.append(solved(precise(inertia_code, q).reshape(n, n), B @ u - precise(rest_code, q, qd, at_rest)))
            size = np.linalg.norm(exact[1].astype(float))
            # subtract before rounding to double
            apart = [a - b for a, b in zip([*doubles, exact[0]], [*exact, exact[1]], strict=True)]
            rows.append([*(float(np.linalg.norm(x.astype(float)) / size) for x in apart), condition(M)])
    return Rounding(*(float(x) for x in np.median(rows, axis=0)))


def condition(M: Array) -> float:
    """Return the condition number of M scaled to a diagonal of 1."""
    d = np.sqrt(np.diag(M))
    return float(np.linalg.cond(M / np.outer(d, d)))


def random_states(arm: Arm, count: int = 5, seed: int = 8) -> list[State]:
    """Return states with any joint angles, links bent by centimetres, moderate rates and torques."""
    rng = np.random.default_rng(seed)
    m, n = len(arm.inputs), len(arm.coordinates)
    return [
        (
            np.concatenate([rng.uniform(-np.pi, np.pi, m), rng.uniform(-0.05, 0.05, n - m)]),
            0.3 * rng.standard_normal(n),
            100.0 * rng.standard_normal(m),
        )
        for _ in range(count)
    ]


def lengthened(arm: Arm, n: int) -> Arm:
    """Return an arm of n links, the Canadarm's three in turn."""
    return arm.replace(links=[arm.links[i % 3].replace(name=f"link{i + 1}") for i in range(n)])


@cache
def along(slew: Slew) -> Rounding:
    """Return the errors at ten states of the slew."""
    x = slew.both["tight"][0]
    return measured(slew.model.arm, [(x[k, : slew.n], x[k, slew.n :], slew.u[k]) for k in range(50, 1001, 100)])


@cache
def conditions(slew: Slew) -> Array:
    """Return the condition number of M along the slew, (times,)."""
    return np.array([condition(M) for M in slew.model.mass_matrix(slew.both["tight"][0][:, : slew.n])])


@cache
def sweep(slew: Slew) -> dict[str, dict[float, Rounding]]:
    """Return the errors over numbers of modes and links, stiffness, and mass of the last link, at random states."""
    arm = slew.model.arm
    groups: dict[str, dict[float, Arm]] = {
        "modes a link": {m: scaled(arm, modes=m) for m in range(1, 7)},
        "links": {n: lengthened(arm, n) for n in range(3, 9)},
        "EI over the Canadarm's": {f: scaled(arm, EI=f) for f in (1e-3, 1.0, 1e3)},
        "mass of the last link over the Canadarm's": {f: scaled(arm, hand=f) for f in (1e-3, 1.0, 1e3)},
    }
    known: dict[str, Rounding] = {}
    for arms in groups.values():
        for each in arms.values():
            if each.canonical() not in known:
                known[each.canonical()] = measured(each, random_states(each))
    return {name: {x: known[each.canonical()] for x, each in arms.items()} for name, arms in groups.items()}


def study(slew: Slew) -> Part:
    """Return the study of the errors of one evaluation."""
    at, condition, found = along(slew), conditions(slew), sweep(slew)
    cases = [case for group in found.values() for case in group.values()]
    gain = [case.dense / case.recursion for case in cases]
    links, stiff = found["links"], list(found["EI over the Canadarm's"].values())
    return Part(
        "Rounding",
        "How wrong one evaluation of the accelerations is, by either path, against 50 digits.",
        [
            Claim(
                "Rounding, both paths",
                "at 50 digits the two paths are one",
                "",
                f"they differ by {at.constants:.0e} along the slew",
                [below(at.constants, 1e-13)],
                note="The rest is rounding while the programs are generated, not while they run.",
            ),
            Claim(
                "Rounding, sweep",
                "1 to 6 modes, 3 to 8 links, stiffness and last link's mass times 1/1000 to 1000",
                "",
                f"recursion {min(c.recursion for c in cases):.0e} to {max(c.recursion for c in cases):.0e}, dense "
                f"{min(c.dense for c in cases):.0e} to {max(c.dense for c in cases):.0e}; dense over recursion: median "
                f"{np.median(gain):.0f}, most {max(gain):.0f}",
                [above(float(np.median(gain)), 3.0), above(links[8].dense / links[8].recursion, 30.0)],
                note=f"8 links: {links[8].recursion:.0e} and {links[8].dense:.0e}. Stiffness does not matter.",
            ),
            Claim(
                "Rounding, bound",
                "the dense path's error is bounded by the condition of M",
                "",
                f"at most {max(c.dense / (EPS * c.condition) for c in cases):.2f} of 2.2e-16 times the condition",
                [
                    *(below(c.dense, EPS * c.condition) for c in cases),
                    below(stiff[0].condition / stiff[2].condition - 1, 1e-9),
                ],
            ),
            Claim(
                "Rounding, in time",
                "rounding is worst at the start",
                "",
                f"condition of M at 0, 4 and 10 s: {', '.join(f'{condition[k]:.1e}' for k in (0, 400, 1000))}",
                [below(condition.max() / condition[0] - 1, 1e-3), below(condition[400] / condition[0], 0.9)],
                note="The arm is straight there. Rounding would affect this arm at once, not after 3.5 s.",
            ),
        ],
        "mohan-saha-rounding.svg",
        study=True,
    )
