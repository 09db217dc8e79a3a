"""Claims of section IV about the control law and stability (eqs. 34 to 43)."""

import numpy as np

from flexarm_papers.theodore_ghosal.claims_model import ROUNDING
from flexarm_papers.theodore_ghosal.compute import (
    DIRECTIONS,
    LONG,
    SHORT,
    SIGN,
    Array,
    Flexible,
    joints_along,
    motion,
)
from flexarm_papers.theodore_ghosal.energies import shapes
from flexarm_papers.theodore_ghosal.runs import Runs
from flexarm_papers.verdicts import Check, Claim, Part, above, below, near, within

DIFFERENCE = 1e-6
"""Bound of relative errors of difference quotients. They are about 1e-8."""


# -- section IV: the control law ---------------------------------------------------------------------------------------


def law(flexible: Flexible, q: Array, qd: Array, u: Array) -> Array:
    """Return Gamma by eq. 35, from M, h and K of eq. 34."""
    r = flexible.joints
    inertia, force = (flexible.model.function(name) for name in ("mass_matrix", "inverse_dynamics"))
    M, h = np.array(inertia(q)), np.array(force(q, qd, np.zeros(len(q)))).ravel()  # h + c + K q
    X = np.linalg.solve(M[r:, r:], np.column_stack([M[r:, :r], h[r:]]))
    value: Array = (M[:r, :r] - M[:r, r:] @ X[:, :r]) @ u + h[:r] - M[:r, r:] @ X[:, r]
    return value


def prescribed_against_law(runs: Runs, direction: str) -> float:
    """Return the largest difference between the forces of the simulated motion and eq. 35, over the largest force."""
    result, error = runs.simulated(direction), 0.0
    t, q, qd, u = (result[name].values for name in ("time", "q", "qd", "u"))
    for k in range(7, len(t), 97):
        wanted = joints_along(motion(direction), t[k : k + 1])[2][:, 0]
        error = max(error, float(np.abs(law(runs.model("fixed"), q[k], qd[k], wanted) - u[k]).max()))
    return error / float(np.abs(u).max())


def errors_follow_eq_37(runs: Runs) -> float:
    """Return the residual of eq. 37 under eqs. 35 and 36, over the largest acceleration.

    It is evaluated at random states with errors.
    """
    rng, flexible, left = np.random.default_rng(37), runs.model("fixed"), 0.0
    forward = flexible.model.function("forward_dynamics")
    G_v, G_p = np.array([4.0, 6.0, 8.0]), np.array([20.0, 30.0, 40.0])
    for _ in range(5):
        q = np.r_[rng.uniform(-2, 2, 2), rng.uniform(SHORT, LONG), rng.uniform(-0.01, 0.01, 4)]
        qd, wanted = np.r_[rng.uniform(-3, 3, 3), rng.uniform(-1, 1, 4)], rng.uniform(-9, 9, 3)
        e, e_rate = rng.uniform(-0.1, 0.1, (2, 3))
        u = wanted - G_v * e_rate - G_p * e
        qdd = np.array(forward(q, qd, law(flexible, q, qd, u))).ravel()[:3]
        left = max(left, float(np.abs((qdd - wanted) + G_v * e_rate + G_p * e).max() / np.abs(u).max()))
    return left


def control_law(runs: Runs) -> Part:
    """Return the claims of eqs. 34 to 39."""
    by_35 = max(prescribed_against_law(runs, d) for d in DIRECTIONS)
    left = errors_follow_eq_37(runs)
    return Part(
        "Eqs. 34 to 39",
        "The control law takes the joints out of the dynamics: they follow, and the beam vibrates on its own.",
        [
            Claim(
                "Eqs. 35, 38",
                "Without initial error the joints follow their reference exactly; the law gives the forces.",
                "d2q_r/dt2 = u",
                f"forces of the motion of Fig. 4 and eq. 35 agree to {by_35:.0e} of the largest",
                [below(by_35, ROUNDING)],
                note="So our runs prescribe the joints' motion. Gains do not matter then, and are not printed.",
            ),
            Claim(
                "Eqs. 36, 37",
                "Errors of the joints decay by d2e/dt2 + G_v de/dt + G_p e = 0, whatever the beam does.",
                "0",
                f"{left:.0e} of the largest acceleration, at random states",
                [below(left, ROUNDING)],
                note="The law is put into the forward dynamics; the joints have errors, the beam is bent and moves.",
            ),
        ],
    )


# -- section IV: stability ---------------------------------------------------------------------------------------------


def not_skew(runs: Runs, name: str, factor: float) -> float:
    """Return the symmetric part of dM/dt - factor N of the flexible block, over dM/dt.

    Joints 1 and 2 are at rest, and l has a steady rate.
    """
    t, h = np.array([0.3, 0.5, 0.7]), 1e-6
    model, reference = runs.model(name), motion("extension", slewing=False)
    N = model.along(reference, t)[1]
    rate = (model.along(reference, t + h)[0] - model.along(reference, t - h)[0]) / (2 * h)
    X = rate - factor * N
    return float(np.abs(X + X.swapaxes(1, 2)).max() / (2 * np.abs(rate).max()))


def stiffness_rate(runs: Runs, length: float = 0.7) -> tuple[Array, Array, Array]:
    """Return dK/dl over -EI / l^4, int psi''^2, and int eta psi'' psi''' of modes 1 and 2."""
    model, h = runs.model("fixed"), 1e-5
    K = [np.diag(model.standing(x)[1])[model.in_y] for x in (length - h, length + h)]
    slope = (K[1] - K[0]) / (2 * h)
    basis, (x, w) = shapes(runs.arm), np.polynomial.legendre.leggauss(40)
    eta = (x + 1) / 2
    second, third = (basis.values(eta, n) for n in (2, 3))
    return slope / (-1165.4916 / length**4), w / 2 @ second**2, w / 2 @ (eta[:, None] * second * third)


def stability(runs: Runs) -> Part:
    """Return the claims of eqs. 40 to 43."""
    printed = max(not_skew(runs, name, 2.0) for name in ("fixed", "eq. 24"))
    whole = max(not_skew(runs, name, 1.0) for name in ("fixed", "eq. 24"))
    rates = {d: runs.energy_rate(d) for d in DIRECTIONS}
    shares = [rates[d].shares for d in DIRECTIONS]
    sign = {d: SIGN[d] * rates[d].rate for d in DIRECTIONS}
    slope, a, b = stiffness_rate(runs)
    return Part(
        "Eqs. 40 to 43",
        "The energy of the beam's vibration falls while it extends and rises while it retracts.",
        [
            Claim(
                "Eq. 40",
                "With h_f = N dq_f/dt, the matrix dM_ff/dt - 2 N is skew.",
                "no symmetric part",
                f"symmetric part {printed:.3f} of dM_ff/dt",
                [below(printed, DIFFERENCE)],
                "For the flexible block it is dM_ff/dt - N that is skew.",
                [below(whole, DIFFERENCE)],
                "As printed it is true of all coordinates together, not of the block of the flexible ones.",
            ),
            Claim(
                "Eq. 42",
                "dV/dt = 1/2 q_f' dK/dt q_f.",
                "100 percent of dV/dt",
                ", ".join(f"{x:.1f} percent ({d})" for d, (x, _) in zip(DIRECTIONS, shares, strict=True)),
                [near(x, 100, 0.5) for x, _ in shares],
                "Add -1/2 dq_f/dt' dM_ff/dt dq_f/dt.",
                [*(near(x + y, 100, 0.1) for x, y in shares), *(below(rates[d].missed, 1e-3) for d in DIRECTIONS)],
                f"It makes {shares[0][1]:.1f} percent. Free vibration in the first mode, joints 1 and 2 at rest.",
            ),
            Claim(
                "Section IV, dV/dt",
                "dV/dt is negative at all times of an extension, positive in a retraction.",
                "negative; positive",
                ", ".join(f"{d}: {rates[d].rate.min():.2g} to {rates[d].rate.max():.2g}" for d in DIRECTIONS)
                + " of the largest",
                [above(sign[d].min(), 0.0) for d in DIRECTIONS],
                note="Both parts of the corrected eq. 42 have the sign of -dl/dt, so the conclusion stands.",
            ),
            Claim(
                "Eq. 43",
                "dK/dt over -(EI / l^4) dl/dt int psi''^2 is 3 + 2 int eta psi'' psi''' / int psi''^2.",
                ", ".join(f"{x:.3f}" for x in 3 + 2 * b / a),
                ", ".join(f"{x:.3f}" for x in slope / a),
                [within(s, p, 1e-3) for s, p in zip(slope, 3 * a + 2 * b, strict=True)],
                "Leave out the second term.",
                [within(s, p, DIFFERENCE) for s, p in zip(slope, 3 * a, strict=True)],
                f"Modes 1 and 2. That term is negative ({', '.join(f'{x:.3f}' for x in 2 * b / a)}), not positive as "
                "the text says; the sign of dK/dt is right all the same.",
            ),
        ],
    )


def free_vibration(runs: Runs) -> Part:
    """Return the claims of section IV about amplitudes."""
    found = {d: runs.vibration(d) for d in DIRECTIONS}
    out, back = (found[d] for d in DIRECTIONS)
    frequency = [float(v.omega[-1] / v.omega[0]) for v in (out, back)]
    squared = [v.last_over_first(2.0) for v in (out, back)]
    off = [float(np.abs((v.tip[v.peaks] / v.adiabatic[v.peaks]) ** 2 - 1).max()) for v in (out, back)]
    return Part(
        "Section IV, amplitude",
        "How amplitude, frequency and energy of a free vibration change while the beam slides.",
        [
            Claim(
                "Section IV, extension",
                "The amplitude rises while the frequency falls.",
                "rises; falls",
                f"amplitude times {out.amplitude:.2f}, frequency times {frequency[0]:.3f}",
                [above(out.amplitude, 1.0), Check(frequency[0], 0.0, 1.0)],
                note="First mode, from 0.3 to 1 m, joints 1 and 2 at rest. The same in the next two rows.",
            ),
            Claim(
                "Section IV, retraction",
                "The amplitude falls while the frequency rises.",
                "falls; rises",
                f"amplitude times {back.amplitude:.2f}, frequency times {frequency[1]:.2f}",
                [Check(back.amplitude, 0.0, 1.0), above(frequency[1], 1.0)],
            ),
            Claim(
                "Section IV, energy",
                "The elastic energy, proportional to A omega^2, is conserved.",
                "A omega^2 last over first: 1",
                f"{squared[0]:.3f} out, {squared[1]:.1f} back; energy itself {out.energy:.3f} and {back.energy:.2f}",
                [near(x, 1.0, 0.02) for x in squared],
                "Energy over frequency is conserved, M omega A^2.",
                [below(x, 0.02) for x in off],
                f"It stays the same to {100 * max(off):.1f} percent during the motion; such an invariant is "
                "conserved to the order of the change in a period.",
            ),
        ],
        "theodore-ghosal-amplitude.svg",
    )
