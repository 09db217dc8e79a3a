"""Study of faults in the dense path. One of them gives the failure of the paper's Figs. 6 to 8."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import casadi as ca
import numpy as np
from scipy import linalg

from flexarm.analysis.factorization import columns, order
from flexarm.arrays import Array
from flexarm.model.tracing import Traced
from flexarm_papers.mohan_saha.compute import PATHS, STEP, UNTIL, Slew, solver
from flexarm_papers.verdicts import Claim, Part, above, below, near

Dense = Callable[[Array, Array, Array], Array]
"""Function (q, M, phi) -> qdd with M and phi of eq. 31."""

TOO_LONG = (2.9e-3, 2.99e-3, 3.0e-3, 3.01e-3)
"""Steps beyond the limit of RK4 for the Canadarm's fastest mode, 2.73 ms."""


@dataclass(frozen=True)
class Broken:
    """Run with a fault: times, q, qd, qdd of joint 1, and the reason if it ended early."""

    t: Array
    q: Array
    qd: Array
    qdd: Array
    why: str

    @property
    def fate(self) -> str:
        """Outcome of the run as text."""
        return f"{self.why} at {self.t[-1]:.2f} s" if self.why else f"no failure in {UNTIL:g} s"

    @property
    def end(self) -> float:
        """Time of the failure [s], or infinity."""
        return float(self.t[-1]) if self.why else float("inf")


def equations(slew: Slew) -> Callable[[Array], Array]:
    """Return the function from (q, qd, u) to phi and the columns of M, of M qdd = phi (eq. 31)."""

    def trace(model: Traced) -> ca.Function:
        q, qd, u = x = [ca.SX.sym(name, size) for name, size in (("q", slew.n), ("qd", slew.n), ("u", slew.m))]
        phi = model.function("input_matrix")(q) @ u
        phi -= model.function("inverse_dynamics")(q, qd, ca.DM.zeros(slew.n))
        both = ca.cse(ca.densify(ca.vertcat(phi, ca.vec(model.function("mass_matrix")(q)))))
        return ca.Function("equations", x, [both])

    return slew.model.compiled("Mohan & Saha, M and phi", trace).one


def run(slew: Slew, solve: Dense) -> Broken:
    """Return the slew by RK4 with a dense solution."""
    n, count, at = slew.n, round(UNTIL / STEP), equations(slew)
    u = slew.torques(np.arange(2 * count + 1) * (STEP / 2))

    def rate(k: int, x: Array) -> Array:
        both = at(np.concatenate([x, u[k]]))
        return np.concatenate([x[n:], solve(x[:n], both[n:].reshape(n, n), both[:n])])

    x, rows, why = np.zeros(2 * n), [], ""
    try:
        for k in range(0, 2 * count, 2):
            k1 = rate(k, x)
            rows.append(np.concatenate([x, k1[n : n + 1]]))
            k2 = rate(k + 1, x + STEP / 2 * k1)
            k3 = rate(k + 1, x + STEP / 2 * k2)
            x = x + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + rate(k + 2, x + STEP * k3))
    except np.linalg.LinAlgError:
        why = "M not positive definite"
    table = np.array(rows)
    return Broken(np.arange(len(rows)) * STEP, table[:, :n], table[:, n : 2 * n], table[:, 2 * n], why)


def factored(M: Array, phi: Array) -> Array:
    """Return the solution by Cholesky factors, in the precision of M."""
    solver = linalg.lapack.sposv if M.dtype == np.float32 else linalg.lapack.dposv
    _, x, failed = solver(M, phi)
    if failed:
        raise np.linalg.LinAlgError
    return x


def inertia(slew: Slew) -> Callable[[Array], Array]:
    """Return M(q), without the checks of `Model`."""
    at, n = slew.model.kernel("mass_matrix").one, slew.n
    return lambda q: at(q).reshape(n, n)


def other_blocks(slew: Slew, pairs: list[tuple[int, int]], other: Callable[[Array], Array]) -> Dense:
    """Return the dense solution with the blocks I_ij of some links at another configuration."""
    own = [list(order(slew.model)[own]) for own in columns(slew.model)]
    places = [(np.ix_(own[i], own[j]), np.ix_(own[j], own[i])) for i, j in pairs]
    M_at = inertia(slew)

    def solve(q: Array, M: Array, phi: Array) -> Array:
        W = M_at(other(q))
        for one, mirrored in places:
            M[one] = W[one]
            M[mirrored] = W[mirrored]
        return factored(M, phi)

    return solve


def faulty(slew: Slew) -> dict[str, Dense]:
    """Return dense solutions with a fault in the arithmetic or in blocks of the inertia matrix."""
    rng = np.random.default_rng(5)
    bends, M_at = np.isin(np.arange(slew.n), slew.model.arm.flexible), inertia(slew)

    def single(q: Array, M: Array, phi: Array) -> Array:
        return factored(M.astype(np.float32), phi.astype(np.float32)).astype(float)

    def noise(q: Array, M: Array, phi: Array) -> Array:
        return factored(M, phi) * (1 + 0.1 * rng.standard_normal(len(q)))

    def undeformed(q: Array) -> Array:
        return np.where(bends, 0.0, q)

    def straight(q: Array) -> Array:
        return np.where(np.arange(len(q)) == 2, 0.0, q)

    return {
        "single": single,
        "noise": noise,
        "deformation": other_blocks(slew, [(1, 0), (2, 0), (2, 1)], undeformed),
        "angle in I_31": other_blocks(slew, [(2, 0)], straight),
        "angle in I_22": other_blocks(slew, [(1, 1)], straight),
        "all undeformed": lambda q, M, phi: factored(M_at(undeformed(q)), phi),
    }


@cache
def failures(slew: Slew) -> dict[str, Broken]:
    """Return the run with each fault."""
    return {name: run(slew, solve) for name, solve in faulty(slew).items()}


def drift(slew: Slew, broken: Broken) -> float:
    """Return the largest distance of joint 1 from the faultless run with the same step, at common times [rad]."""
    theirs = broken.q[::4, 0]
    return float(np.abs(theirs - slew.both["rk4"][0][: len(theirs), 0]).max())


@dataclass(frozen=True)
class Late:
    """Outcome of a run with too long a step.

    `off` is the time from which joint 1's rate is off by 0.1 rad/s, `end` the time of divergence, or infinity.
    """

    off: float
    end: float

    def __str__(self) -> str:
        return f"{self.off:.2g} s, " + (f"diverges at {self.end:.1f} s" if np.isfinite(self.end) else "never diverges")


@cache
def too_long(slew: Slew) -> dict[float, tuple[Late, Late]]:
    """Return the outcomes of RK4 with each of TOO_LONG, by both paths."""
    sound = slew.both["tight"][0]

    def late(path: str, step: float) -> Late:
        times = np.arange(int(UNTIL / step) + 1) * step
        x = slew.run(path, solver("rk4", step=1.001 * step), times)  # one step from each time to the next
        off = np.abs(x[:, slew.n] - np.interp(times[: len(x)], slew.t, sound[:, slew.n])) > 0.1
        first = float(times[np.argmax(off)]) if off.any() else float("inf")
        return Late(first, float(times[len(x)]) if len(x) < len(times) else float("inf"))

    return {h: (late(PATHS[0], h), late(PATHS[1], h)) for h in TOO_LONG}


def study(slew: Slew) -> Part:
    """Return the study of faults in the dense path."""
    runs, late = failures(slew), too_long(slew)
    off = {name: drift(slew, run) for name, run in runs.items()}
    shown, n = runs["deformation"], slew.n
    sound = np.abs(shown.q[::4, 0] - slew.both["rk4"][0][: len(shown.q[::4]), 0]) < 1e-3
    good = float(slew.t[len(sound) - 1] if sound.all() else slew.t[np.argmin(sound)])
    peak = float(np.abs(shown.qdd).max() / np.abs(slew.accelerations[0][:, 0]).max())
    loose = [float(np.abs(x[:, n:] - slew.both["tight"][0][: len(x), n:]).max()) for x in slew.both["loose"]]
    return Part(
        "Faults",
        "What must be wrong for the dense path to fail after seconds.",
        [
            Claim(
                "Faults, single precision",
                "M, phi and the factors in single precision",
                "",
                f"{runs['single'].fate}; joint 1 is off by {off['single']:.0e} rad",
                [above(runs["single"].end, UNTIL), below(off["single"], 1e-5)],
            ),
            Claim(
                "Faults, noise",
                "every acceleration wrong by 10 percent, at random",
                "",
                f"{runs['noise'].fate}; joint 1 is off by {off['noise']:.2f} rad",
                [above(runs["noise"].end, UNTIL), below(off["noise"], 0.1)],
                note="So rounding is not the cause.",
            ),
            Claim(
                "Faults, long steps",
                "RK4 with steps beyond 2.73 ms",
                "",
                "; ".join(f"{1e3 * h:g} ms: recursion {a}, dense {b}" for h, (a, b) in late.items()),
                [below(max(max(a.off, b.off) for a, b in late.values()), 0.2)],
                note="First, when joint 1's rate is off by 0.1 rad/s. The motion is noise at once, in both paths; the "
                "last digit decides which of them diverges, and when.",
            ),
            Claim(
                "Faults, loose tolerances",
                "a 5(4) pair with rtol 1e-3, atol 1e-6",
                "",
                f"rates are off by {loose[0]:.2g} and {loose[1]:.2g} rad/s; the paths differ by "
                f"{slew.apart('loose')[1]:.0e} rad/s",
                [near(loose[1] / loose[0], 1.0, 0.1)],
                note="Both look alike.",
            ),
            Claim(
                "Faults, blocks",
                "blocks I_ij, i > j, for undeformed links, the diagonal ones for bent links",
                "",
                f"{shown.fate}; until {good:.2f} s joint 1 is right to 1e-3 rad, then its acceleration is {peak:.0f} "
                "times too large",
                [near(shown.end, 4.2, 0.8), above(good, 3.0), above(peak, 5.0)],
                note="This looks like the paper's figures.",
            ),
            Claim(
                "Faults, one angle",
                "joint 3 taken as straight in one block only",
                "",
                f"in I_31: {runs['angle in I_31'].fate}; in I_22: {runs['angle in I_22'].fate}",
                [below(runs[name].end, UNTIL) for name in ("angle in I_31", "angle in I_22")],
            ),
            Claim(
                "Faults, all of M",
                "all blocks for undeformed links",
                "",
                f"{runs['all undeformed'].fate}; joint 1 is off by {off['all undeformed']:.0e} rad",
                [above(runs["all undeformed"].end, UNTIL), below(off["all undeformed"], 5e-3)],
                note="A wrong matrix that is positive definite does not fail. It fails where it contradicts itself.",
            ),
        ],
        "mohan-saha-faults.svg",
        study=True,
    )
