"""Theodore & Ghosal, an arm with a flexible link that slides out of its hub: eqs. 6 to 13, Figs. 4 to 8, eqs. 24, 43.

The joints follow their reference exactly, which is what eqs. 35 and 36 amount to without initial error. What remains,
M xi_ddot + C xi_dot + K xi = g in the bending amplitudes (eq. 39), is then linear: a straight beam with a point mass.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from scipy.integrate import quad, solve_ivp

from flexarm.arm import Arm, Beam, Telescope
from flexarm.catalogue import load
from flexarm.inputs import PrescribedMotion
from flexarm.model import Model
from flexarm.papers.claims import Claim, Verdict
from flexarm.plots import save_figure
from flexarm.shapes import ClampedMass
from flexarm.shapes.loaded import f1, f2, frequency_equation
from flexarm.simulate import group_velocity_ratio, simulate
from flexarm.trajectory import ParabolicBlends, Reference

Array = np.ndarray

SHORT, LONG, DURATION, BLEND = 0.3, 1.0, 1.0, 0.1
"""Free lengths [m], and times [s]; the blend's follows from the rate U = 0.778 m/s of section II: 0.7 / (1 - 0.1)."""
BLENDS = (0.05, BLEND, 0.2)
AFTER = 0.2
"""Time shown after the motion [s]."""
DIRECTIONS = ("extension", "retraction")


def reproduce(folder: Path) -> list[Claim]:
    """Draw Figs. 4 to 8 and three of our own into the folder; check what the paper says."""
    arm = load("theodore-ghosal")
    flexible = Flexible(arm)
    fixed = Flexible(varied(arm, wave_numbers="fixed"))
    paper = Flexible(varied(arm, wave_numbers="fixed", convection="paper"))
    return [
        *wave_numbers(folder, arm),
        *simulated(folder, flexible),
        *eigenvalues(folder, flexible, fixed, paper),
        *free_vibration(folder, flexible),
        *elements(folder, arm, flexible, fixed),
        *convection(folder, arm, flexible, fixed, paper),
        *stability_analysis(),
    ]


# -- the arm and its motion -------------------------------------------------------------------------------------------


def motion(direction: str, duration: float = DURATION, blend: float = BLEND, slewing: bool = True) -> ParabolicBlends:
    """Joint 1 by 180 degrees, joint 2 by -90, unless they stand; the length from 0.3 to 1.0 m or back."""
    lengths = (SHORT, LONG) if direction == "extension" else (LONG, SHORT)
    turn = (np.pi, -np.pi / 2) if slewing else (0.0, 0.0)
    return ParabolicBlends((0.0, 0.0, lengths[0]), (*turn, lengths[1]), duration, blend)


def sliding(arm: Arm) -> tuple[Telescope, Beam]:
    """The joint and the beam of the last link."""
    joint, body = arm.links[-1].joint, arm.links[-1].body
    assert isinstance(joint, Telescope) and isinstance(body, Beam)
    return joint, body


def varied(arm: Arm, shapes: Any = None, modes: int | None = None, **changes: Any) -> Arm:
    """The arm with other shapes, modes in each plane, or fields of its telescope."""
    joint, body = sliding(arm)
    count = body.modes if modes is None else {"y": modes, "z": modes}
    body = body.replace(modes=count, shapes=body.shapes if shapes is None else shapes)
    return arm.replace(links=[*arm.links[:-1], arm.links[-1].replace(joint=joint.replace(**changes), body=body)])


class Flexible:
    """The bending amplitudes xi of an arm whose joints move as prescribed: M xi_ddot + C xi_dot + K xi = g."""

    def __init__(self, arm: Arm):
        self.model = Model(arm)
        self.joints = len(self.model.inputs)
        self.size = len(self.model.coordinates) - self.joints

    @cached_property
    def matrices(self) -> Any:
        """CasADi Function: motion of the joints (q, qd, qdd) -> M, C, K, g, and the tip's deflection by xi (2, k)."""
        n, r = self.size, self.joints
        given = [ca.SX.sym(name, r) for name in ("q", "qd", "qdd")]
        xi = [ca.SX.sym(name, n) for name in ("xi", "xid", "xidd")]
        force = self.model.function("inverse_dynamics")
        demand = force(*(ca.vertcat(a, b) for a, b in zip(given, xi, strict=True)))[r:]
        tip = self.model.function("deflections")(ca.vertcat(given[0], xi[0]))[-1, 1:3]
        K, C, M, D = (ca.jacobian(a, b) for a, b in zip((*[demand] * 3, tip), (*xi, xi[0]), strict=True))
        rest = [ca.DM.zeros(n)] * 3
        values = ca.substitute([M, C, K, -demand, D], xi, rest)
        return ca.Function("matrices", given, [ca.densify(x) for x in values])

    def along(self, reference: Reference, t: Array) -> list[Array]:
        """M, C, K, g and the tip's deflection by xi along a motion, times first."""
        n, count = self.size, len(t)
        values = self.matrices.map(count)(*joints_along(reference, t))
        widths = (n, n, n, 1, n)
        blocks = [np.array(v).reshape(v.shape[0], count, w) for v, w in zip(values, widths, strict=True)]
        return [np.moveaxis(b, 1, 0) for b in blocks]

    def system(self, reference: Reference, t: Array) -> Array:
        """A of (xi, xi_dot, 1)' = A (xi, xi_dot, 1): (times, 2k + 1, 2k + 1)."""
        n = self.size
        M, C, K, g, _ = self.along(reference, t)
        solved = np.linalg.solve(M, np.concatenate([-K, -C, g], axis=2))
        A = np.zeros((len(t), 2 * n + 1, 2 * n + 1))
        A[:, :n, n : 2 * n] = np.eye(n)
        A[:, n : 2 * n] = solved
        return A

    def eigenvalues(self, reference: Reference, t: Array) -> Array:
        """At each time those of positive frequency, lowest first: (times, k)."""
        found = np.linalg.eigvals(self.system(reference, t)[:, :-1, :-1])
        found = np.take_along_axis(found, np.argsort(found.imag, axis=1), axis=1)
        return found[:, self.size :]

    def run(
        self, reference: Reference, until: float = DURATION, steps: int = 10_000, every: int = 10, xi0: Any = None
    ) -> tuple[Array, Array, Array]:
        """Times, xi and the tip's deflections (times, 2), from rest or from xi0 without rates.

        Each step solves the equations frozen at its middle by the Pade approximant (2, 2) of the exponential: it is
        exact to fourth order in omega h, adds no damping however fast a mode is, and what the matrices change in a step
        enters at second order. Corners of the motion must lie between steps.
        """
        h, n = until / steps, self.size
        z = np.zeros(2 * n + 1)
        z[-1] = 1.0
        z[:n] = 0.0 if xi0 is None else xi0
        found = [z]
        for block in np.array_split(h * (np.arange(steps) + 0.5), max(1, steps * n // 20_000)):
            A = h * self.system(reference, block)
            even, odd = np.eye(2 * n + 1) + A @ A / 12, A / 2
            for P in np.linalg.solve(even - odd, even + odd):
                z = P @ z
                found.append(z)
        t = np.linspace(0.0, until, steps + 1)[::every]
        xi = np.array(found)[::every, :n]
        D = self.tips(reference, t)
        return t, xi, (D @ xi[:, :, None])[..., 0]

    def tips(self, reference: Reference, t: Array) -> Array:
        """The tip's deflection by xi along a motion: (times, 2, k)."""
        return self.along(reference, t)[4]

    def follows(self, reference: Reference, t: Array) -> Array:
        """The tip's deflection without vibration, D K^-1 g: (times, 2)."""
        _, _, K, g, D = self.along(reference, t)
        return (D @ np.linalg.solve(K, g))[..., 0]


def joints_along(reference: Reference, t: Array) -> list[Array]:
    """q, qd, qdd of the joints, (joints, times) each."""
    s = ca.SX.sym("t")
    q = ca.vertcat(*reference.expression(s))
    qd = ca.jacobian(q, s)
    function = ca.Function("motion", [s], [ca.densify(x) for x in (q, qd, ca.jacobian(qd, s))])
    return [np.array(x) for x in function(t[None, :])]


def apart(a: Array, b: Array) -> float:
    """Largest difference in percent of the largest deflection of b."""
    return float(100 * np.abs(a - b).max() / np.abs(b).max())


# -- eqs. 6 to 13 and Fig. 8: wave numbers -----------------------------------------------------------------------------

PRINTED_BETA = {SHORT: (1.29367839, 4.04874205), LONG: (1.57363066, 4.22500170)}
"""Roots of eq. 8 for Table I, found elsewhere."""


def ratio(arm: Arm, length: Array | float) -> Array:
    """M_L / (rho A l)."""
    assert arm.payload is not None
    return arm.payload.mass / (sliding(arm)[1].m * np.asarray(length))


def integrated(arm: Arm, reference: Reference, t: Array) -> Array:
    """Eq. 11 in time, from the roots of eq. 9 at the start: (times, 2)."""
    assert arm.payload is not None
    M_L, m = arm.payload.mass, sliding(arm)[1].m

    def rate(time: float, beta: Array) -> Array:
        q, qd, _ = joints_along(reference, np.array([time]))
        l = float(q[2, 0])
        value: Array = f1(beta, l, M_L, 0.0, m) / f2(beta, l, M_L, 0.0, m) * qd[2, 0]
        return value

    start = joints_along(reference, t[:1])[0][2, 0]
    first = ClampedMass(mass_ratio=float(ratio(arm, start))).roots(2)
    found: Array = solve_ivp(rate, (t[0], t[-1]), first, "DOP853", t, rtol=1e-10, atol=1e-12, max_step=0.05).y.T
    return found


def wave_numbers(folder: Path, arm: Arm) -> list[Claim]:
    """Eqs. 6 to 13, Fig. 8."""
    roots = {l: ClampedMass(mass_ratio=float(ratio(arm, l))).roots(2) for l in PRINTED_BETA}
    error = max(float(np.abs(roots[l] - b).max()) for l, b in PRINTED_BETA.items())

    rng = np.random.default_rng(8)
    beta, l, M, J, m = rng.uniform((0.5, 0.3, 0.05, 0.001, 0.2), (5.0, 1.3, 0.5, 0.05, 0.5), (20, 5)).T

    def f(b: Array, x: Array) -> Array:
        return np.asarray(frequency_equation(b, M / (m * x), J / (m * x**3)))

    step = 1e-5
    slopes = (f(beta + step, l) - f(beta - step, l), -(f(beta, l + step) - f(beta, l - step)))
    formulas = (f2(beta, l, M, J, m), f1(beta, l, M, J, m))
    differences = max(
        float(np.abs(s / (2 * step) - x).max() / np.abs(x).max()) for s, x in zip(slopes, formulas, strict=True)
    )

    t = np.linspace(0.0, DURATION, 101)
    curves, drift = {}, 0.0
    for direction in DIRECTIONS:
        lengths = joints_along(motion(direction), t)[0][2]
        curves[direction] = integrated(arm, motion(direction), t)
        exact = np.array([ClampedMass(mass_ratio=float(ratio(arm, x))).roots(2) for x in lengths])
        drift = max(drift, float(np.abs(curves[direction] - exact).max()))
    panels = [
        Panel(f"mode {i + 1}", "beta", [Curve(t, curves[d][:, i], s, d) for d, s in zip(DIRECTIONS, LINES, strict=True)])
        for i in range(2)
    ]
    draw(folder, "fig8", 2, (7, 2.6), panels)
    rise = curves["extension"][-1] / curves["extension"][0] - 1
    residue = boundary_residue(roots[SHORT], float(ratio(arm, SHORT)))
    return [
        Claim(
            "Eqs. 6, 7",
            "boundary conditions and differential equation of the shapes, l = 0.3 m",
            "clamped, with the mass at the tip",
            f"satisfied to {residue:.0e}",
            _verdict(residue < 1e-9),
            "eq. 6 with nu of eq. 7, as printed",
        ),
        Claim(
            "Eqs. 8, 9",
            "beta at l = 0.3 and 1.0 m",
            "Fig. 8, no numbers; found elsewhere: 1.29367839, 4.04874205; 1.57363066, 4.22500170",
            "; ".join(", ".join(f"{b:.8f}" for b in r) for r in roots.values()),
            _verdict(error < 1e-8),
        ),
        Claim(
            "Eqs. 12, 13",
            "f1 and f2 against differences of eq. 9, J_L > 0 too",
            "-df/dl, df/dbeta",
            f"agree to {differences:.0e}",
            _verdict(differences < 1e-8),
        ),
        Claim(
            "Eq. 11, Fig. 8",
            "beta(t) by the differential form against the roots of eq. 9",
            "the same",
            f"agree to {drift:.0e}",
            _verdict(drift < 1e-7),
            f"extension and retraction; over the way of 0.7 m they rise by {_row(100 * rise)} percent, "
            "`slowly changing`: mode 1 not so slowly",
        ),
    ]


def boundary_residue(beta: Array, mu: float) -> float:
    """What is left of psi''(1) = 0 and psi'''(1) = -mu beta^4 psi(1) by eqs. 6 and 7, over beta^2 and beta^3."""
    s, c, S, C = np.sin(beta), np.cos(beta), np.sinh(beta), np.cosh(beta)
    nu = (s - S + mu * beta * (c - C)) / (c + C - mu * beta * (s - S))
    bending = -c - C + nu * (-s - S)
    shear = s - S + nu * (-c - C)
    deflection = c - C + nu * (s - S)
    return float(np.abs([bending, shear + mu * beta * deflection]).max())


# -- Figs. 4 and 5: the motion and what it does to the beam ------------------------------------------------------------


def simulated(folder: Path, flexible: Flexible) -> list[Claim]:
    """Fig. 4, Fig. 5 and the joints' torques."""
    model = flexible.model
    runs = {
        d: simulate(model, DURATION + AFTER, PrescribedMotion(motion(d)), samples=1201, progress=False)
        for d in DIRECTIONS
    }
    t = runs["extension"].time.values
    panels = []
    for i, (name, unit) in enumerate((("joint 1", "rad"), ("joint 2", "rad"), ("length of link 3", "m"))):
        for quantity, suffix in (("q", ""), ("qd", "/s")):
            shown = DIRECTIONS if i == 2 else DIRECTIONS[:1]
            curves = [Curve(t, runs[d][quantity].values[:, i], LINES[DIRECTIONS.index(d)], d) for d in shown]
            panels.append(Panel(name, unit + suffix, curves))
    draw(folder, "fig4", 2, (6.5, 5.5), panels)
    panels = []
    for d in DIRECTIONS:
        for j in (1, 2):
            names = [f"slide.{plane}{j}" for plane in "zy"]
            labels = ("in-plane", "out-of-plane")
            curves = [
                Curve(t, 1e3 * runs[d].q.sel(coordinate=n).values, s, label)
                for n, s, label in zip(names, LINES, labels, strict=True)
            ]
            panels.append(Panel(f"{d}, mode {j}", "amplitude [mm]", curves))
    draw(folder, "fig5", 2, (7.5, 5), panels)
    panels = []
    for i, (name, unit) in enumerate((("joint 1", "N m"), ("joint 2", "N m"), ("link 3", "N"))):
        curves = [Curve(t, runs[d].u.values[:, i], s, d) for d, s in zip(DIRECTIONS, LINES, strict=True)]
        panels.append(Panel(name, f"effort [{unit}]", curves))
    draw(folder, "efforts", 3, (9, 2.6), panels)

    by_35 = max(decoupled(flexible, runs[d], motion(d)) for d in DIRECTIONS)
    audit = max(runs[d].attrs["energy_drift"] for d in DIRECTIONS)
    ratio_ = runs["extension"].attrs["group_velocity_ratio"]
    joint, body = sliding(model.arm)
    U_g = float(np.sqrt(body.stiffness["y"] / body.m) / LONG)
    peaks, blends, early, late, fast = [], [], [], [], []
    for d in DIRECTIONS:
        tip = runs[d].deflection.values[:, -1, 1:]
        peaks.append(1e3 * np.abs(tip).max(axis=0))
    for b in BLENDS:
        rows = [np.abs(flexible.run(motion(d, blend=b), steps=2000, every=4)[2]).max() for d in DIRECTIONS]
        blends.append(f"b = {b:g} s: {_row(1e3 * np.array(rows))}")
    d = "retraction"
    vibration = runs[d].deflection.values[:, -1, 1:] - flexible.follows(motion(d), t)
    for window, sink in (((0.1, 0.3), early), ((0.7, 0.9), late)):
        inside = (t > window[0]) & (t < window[1])
        sink.append(1e3 * np.ptp(vibration[inside], axis=0) / 2)
    omega = flexible.eigenvalues(motion(d), np.array([0.2, 0.8])).imag[:, [0, 2]]
    fast = omega[1] / omega[0]
    falls = bool((late[0] < early[0]).all() and (fast > 1).all())
    return [
        Claim(
            "Section II",
            "U_g [m/s]; U [m/s]; their ratio",
            "59.34; 0.778; not said",
            f"{U_g:.2f}; {U_g * ratio_:.3f}; {ratio_:.4f}",
            _verdict(abs(U_g - 59.34) < 0.005 and abs(U_g * ratio_ - 0.778) < 5e-4),
            "U_g with l = 1 m, the longest free length. U = 0.7 / (1 - b) gives away the blend time that is not printed: "
            "b = 0.1 s",
        ),
        Claim(
            "Eqs. 35, 36",
            "forces of the prescribed motion against the control law without initial error",
            "the joints follow exactly (eq. 38)",
            f"agree to {by_35:.0e} of the largest",
            _verdict(by_35 < 1e-9),
            f"M, h, K of eq. 34 put into eq. 35; work and energy balance to {audit:.0e}",
        ),
        Claim(
            "Fig. 5",
            "vibration on retraction: amplitude out of and in plane [mm] early and late; rise of the two frequencies",
            "amplitude falls while frequency rises",
            f"{_row(early[0])} to {_row(late[0])}; by {_row(fast)}",
            _verdict(falls),
            "0.1 to 0.3 s and 0.7 to 0.9 s, less what the bending under the load itself, D K^-1 g, is",
        ),
        Claim(
            "Fig. 5",
            "largest tip deflections out of and in plane [mm], extension; retraction",
            "panels, no numbers in the text",
            "; ".join(_row(p) for p in peaks),
            _verdict(max(p.max() for p in peaks) < 10),
            f"the larger of the two planes, extension and retraction, for blends {'; '.join(blends)}: "
            "size goes with the acceleration, signs and verdicts below hold for each",
        ),
    ]


def decoupled(flexible: Flexible, result: Any, reference: Reference) -> float:
    """Largest difference between a run's forces and eq. 35 with u = the reference's acceleration, relative."""
    model, r = flexible.model, flexible.joints
    inertia, force = (model.function(name) for name in ("mass_matrix", "inverse_dynamics"))
    t = result.time.values
    error = 0.0
    for k in range(7, len(t), 97):
        u = joints_along(reference, t[k : k + 1])[2][:, 0]
        q, qd = result.q.values[k], result.qd.values[k]
        M = np.array(inertia(q))
        h = np.array(force(q, qd, np.zeros(len(q)))).ravel()  # h + c + K q
        X = np.linalg.solve(M[r:, r:], np.column_stack([M[r:, :r], h[r:]]))
        gamma = (M[:r, :r] - M[:r, r:] @ X[:, :r]) @ u + h[:r] - M[:r, r:] @ X[:, r]
        error = max(error, float(np.abs(gamma - result.u.values[k]).max()))
    return error / float(np.abs(result.u.values).max())


# -- Figs. 6 and 7: frozen-time eigenvalues ----------------------------------------------------------------------------


def modal_rate(flexible: Flexible, reference: Reference, t: Array) -> Array:
    """-1/2 tr(M^-1 dM/dt): what the real parts of the frozen-time eigenvalues add up to, for fixed shapes."""
    h = 1e-6
    before, at, after = (flexible.along(reference, t + s)[0] for s in (-h, 0.0, h))
    return -0.5 * np.trace(np.linalg.solve(at, (after - before) / (2 * h)), axis1=1, axis2=2)


def eigenvalues(folder: Path, flexible: Flexible, fixed: Flexible, paper: Flexible) -> list[Claim]:
    """Figs. 6 and 7."""
    t = np.linspace(0.005, 0.995, 100)
    claims = []
    for figure, d, sign in (("6", "extension", -1), ("7", "retraction", 1)):
        found = flexible.eigenvalues(motion(d), t)
        other = paper.eigenvalues(motion(d), t)
        still = fixed.eigenvalues(motion(d), t)
        panels = []
        for j, name in enumerate(("mode 1", "mode 2")):
            pair = slice(2 * j, 2 * j + 2)
            panels.append(Panel(name, "real part [1/s]", _planes(t, found.real[:, pair])))
            panels.append(Panel(name, "frequency [rad/s]", _planes(t, found.imag[:, pair])))
        draw(folder, f"fig{figure}", 2, (7, 4.6), panels)
        sums = [x.real.sum(axis=1) for x in (still, other)]
        same = float(np.abs(sums[0] - sums[1]).max() / np.abs(sums[0]).max())
        trace = float(np.abs(sums[0] - modal_rate(fixed, motion(d), t)).max() / np.abs(sums[0]).max())
        per = sign * found.real
        lowest = [min(float((sign * flexible.eigenvalues(motion(d, blend=b), t).real).min()) for b in BLENDS)]
        where = f"Fig. {figure}"
        claims += [
            Claim(
                where,
                f"real parts of the eigenvalues during {d} [1/s]",
                "negative" if sign < 0 else "positive",
                f"{sign * per.min():.3g} to {sign * per.max():.3g}",
                _verdict(per.min() > 0 and lowest[0] > 0),
                f"mode 1 {_row(found[50, :2].real)}, mode 2 {_row(found[50, 2:].real)} at mid-way; same sign for every "
                f"blend time of {_row(BLENDS)} s",
            ),
            Claim(
                where,
                "what makes the sign: sum of the real parts against -1/2 tr(M^-1 dM/dt); material against eq. 24",
                "the stiffness's rate, eqs. 42, 43",
                f"{trace:.0e}; {same:.0e}",
                "explained" if max(trace, same) < 1e-6 else "not met",
                "the growth of the free mass: convection's share of C is skew and cancels from the sum, so both forms "
                "have the same sign and size",
            ),
        ]
    return claims


def _planes(t: Array, values: Array) -> list["Curve"]:
    return [Curve(t, values[:, i], s, label) for i, (s, label) in enumerate(zip(LINES, ("lower", "higher"), strict=True))]


# -- section IV: what the real parts mean ------------------------------------------------------------------------------


def free_vibration(folder: Path, flexible: Flexible) -> list[Claim]:
    """A vibrating beam slides while the other joints stand: amplitude, energy, and the frozen-time real part."""
    panels, results = [], {}
    for d in DIRECTIONS:
        reference = motion(d, slewing=False)
        start = np.linalg.eig(flexible.system(reference, np.zeros(1))[0, :-1, :-1])
        first = np.argmin(np.where(start.eigenvalues.imag > 0, start.eigenvalues.imag, np.inf))
        shape = np.real(start.eigenvectors[: flexible.size, first] / start.eigenvectors[0, first])
        planes = np.array([name.startswith("slide.y") for name in flexible.model.coordinates[flexible.joints :]])
        xi0 = np.where(planes, shape, 0.0)
        xi0 *= 1e-3 / (flexible.tips(reference, np.zeros(1))[0, 0] @ xi0)
        t, xi, tip = flexible.run(reference, steps=20_000, every=4, xi0=xi0)
        M, _, K, _, D = flexible.along(reference, t)
        # the first mode in this plane: omega, modal mass for a tip deflection of 1
        one = np.ix_(planes, planes)
        omega, mass = np.empty(len(t)), np.empty(len(t))
        for k in range(len(t)):
            w2, V = np.linalg.eig(np.linalg.solve(M[k][one], K[k][one]))
            v = V[:, np.argmin(w2)] / (D[k, 0, planes] @ V[:, np.argmin(w2)])
            omega[k], mass[k] = np.sqrt(w2.min()), v @ M[k][one] @ v
        adiabatic = 1e-3 * np.sqrt(mass[0] * omega[0] / (mass * omega))
        rates = flexible.eigenvalues(reference, t[::50]).real[:, 0]
        frozen = 1e-3 * np.exp(np.concatenate([[0.0], np.cumsum((rates[1:] + rates[:-1]) / 2 * np.diff(t[::50]))]))
        peaks = np.flatnonzero((np.abs(tip[1:-1, 0]) > np.abs(tip[:-2, 0])) & (np.abs(tip[1:-1, 0]) > np.abs(tip[2:, 0])))
        peaks = peaks + 1
        error = float(np.abs(np.abs(tip[peaks, 0]) / adiabatic[peaks] - 1).max())
        last = peaks[-1]
        energy = (mass * (omega * adiabatic) ** 2)[-1] / (mass[0] * (omega[0] * adiabatic[0]) ** 2)
        results[d] = error, float(np.abs(tip[last, 0]) / 1e-3), float(energy), float(frozen[-1] / 1e-3)
        curves = [
            Curve(t, 1e3 * tip[:, 0], "C0", "tip", 0.5),
            Curve(t, 1e3 * adiabatic, "k", "(M omega)^(-1/2)", 1.5),
            Curve(t[::50], 1e3 * frozen, "C3--", "real parts alone", 1.5),
        ]
        panels.append(Panel(d, "deflection of the tip [mm]", curves))
    draw(folder, "amplitude", 2, (8, 3), panels)
    error = max(r[0] for r in results.values())
    ext, ret = (results[d] for d in DIRECTIONS)
    return [
        Claim(
            "Section IV",
            "extension: amplitude, energy of a free vibration, last over first",
            "amplitude rises, elastic energy is conserved, stable",
            f"{ext[1]:.3g}, {ext[2]:.3g}",
            "explained" if ext[1] > 1 and ext[2] < 1 and error < 0.05 else "not met",
            f"conserved is energy over frequency: the amplitude goes with (M omega)^(-1/2), here to {100 * error:.1f} "
            f"percent; real parts alone would make it {ext[3]:.2g}",
        ),
        Claim(
            "Section IV",
            "retraction: amplitude, energy of a free vibration, last over first",
            "amplitude falls, response unstable",
            f"{ret[1]:.3g}, {ret[2]:.3g}",
            "explained" if ret[1] < 1 and ret[2] > 1 else "not met",
            f"amplitude falls and energy rises, both bounded; real parts alone would make it {ret[3]:.2g}. They depend "
            "on the scale of the coordinates, and do not decide stability of a system that changes with time",
        ),
    ]


# -- assumed modes against finite elements -----------------------------------------------------------------------------


def elements(folder: Path, arm: Arm, flexible: Flexible, fixed: Flexible) -> list[Claim]:
    """Tip trajectories of 1 to 3 modes and of 2 to 10 elements."""
    models: dict[str, Flexible] = {
        "1 mode": Flexible(varied(arm, modes=1, wave_numbers="integrated")),
        "2 modes": flexible,
        "3 modes": Flexible(varied(arm, modes=3, wave_numbers="integrated")),
        "2 modes, fixed": fixed,
        "1 mode, clamped-free": Flexible(varied(arm, "clamped-free", 1, wave_numbers="fixed")),
        "2 modes, clamped-free": Flexible(varied(arm, "clamped-free", 2, wave_numbers="fixed")),
        "3 modes, clamped-free": Flexible(varied(arm, "clamped-free", 3, wave_numbers="fixed")),
    }
    for count in (2, 4, 10):
        models[f"{count} elements"] = Flexible(varied(arm, "hermite", 2 * count, wave_numbers="fixed"))
    tips: dict[str, list[Array]] = {}
    for name, one in models.items():
        finest = name == "10 elements"
        steps, every = (4000, 4) if finest else (10_000, 10)
        tips[name] = [one.run(motion(d), steps=steps, every=every)[2] for d in DIRECTIONS]
    t = np.linspace(0.0, DURATION, 1001)
    best = tips["10 elements"]
    off = {name: max(apart(a, b) for a, b in zip(tip, best, strict=True)) for name, tip in tips.items()}
    panels = []
    for d, a, b in zip(DIRECTIONS, tips["2 modes"], best, strict=True):
        for i, plane in enumerate(("out of plane", "in plane")):
            curves = [Curve(t, 1e3 * b[:, i], "C1", "10 elements", 2.5), Curve(t, 1e3 * a[:, i], "k--", "2 modes", 0.8)]
            panels.append(Panel(f"{d}, {plane}", "deflection of the tip [mm]", curves))
    draw(folder, "elements", 2, (8, 5), panels)

    def series(names: list[str]) -> str:
        return ", ".join(f"{off[name]:.2g}" for name in names)

    modes = [f"{k} mode{'s' if k > 1 else ''}" for k in (1, 2, 3)]
    free = [f"{name}, clamped-free" for name in modes]
    fem = [f"{k} elements" for k in (2, 4)]
    falling = all(off[a] > off[b] for names in (modes, free, fem) for a, b in zip(names, names[1:], strict=False))
    what = "tip off 10 elements in each plane, percent of the largest deflection: "
    return [
        Claim(
            "Section V, [19]",
            what + "2 clamped-mass modes",
            "compares favorably",
            f"{off['2 modes']:.2g}",
            _verdict(off["2 modes"] < 1),
            f"with wave numbers fixed at l = 1 m {off['2 modes, fixed']:.2g}",
        ),
        Claim(
            "Section V, [19]",
            what + "1, 2, 3 modes; 2, 4 elements",
            "-",
            f"{series(modes)}; {series(fem)}",
            _verdict(falling and off["3 modes"] < 1 and off["4 elements"] < 1),
            "both converge to the same motion",
        ),
        Claim(
            "Section II",
            what + "1, 2, 3 clamped-free modes",
            "free ends are inaccurate for a load like the beam",
            series(free),
            _verdict(off[free[1]] > 5 * off["2 modes"]),
            f"M_L / (rho A l) is {float(ratio(arm, LONG)):.2f} to {float(ratio(arm, SHORT)):.2f}; the phase of the "
            "vibration drifts, and convergence is slow: no sum of such modes has the shear force at the tip",
        ),
    ]


# -- convection --------------------------------------------------------------------------------------------------------

DURATIONS = (8.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.125)


def convection(folder: Path, arm: Arm, flexible: Flexible, fixed: Flexible, paper: Flexible) -> list[Claim]:
    """Material derivative against eq. 24, over U / U_g; fixed against following shapes; energy of free runs."""
    ratios, off, mean = [], [], []
    for T in DURATIONS:
        reference = motion("extension", T, BLEND * T)
        steps = max(2000, int(8000 * T))
        a, b = (one.run(reference, T, steps, steps // 1000)[2] for one in (fixed, paper))
        q, qd, _ = joints_along(reference, np.linspace(0.0, T, 101))
        off.append(apart(b, a))
        mean.append(float(100 * np.sqrt(np.mean((b - a) ** 2) / np.mean(a**2))))
        ratios.append(group_velocity_ratio(fixed.model, _padded(fixed, q), _padded(fixed, qd)))
    x, y, z = (np.array(v) for v in (ratios, off, mean))
    curves = [Curve(x, y, "C0o-", "largest"), Curve(x, z, "C1s-", "root of the mean square")]
    panel = Panel("extension", "difference of the tip's deflection [percent]", curves, log=True)
    draw(folder, "convection", 1, (5, 3.2), [panel], "U / U_g")

    solved = Flexible(varied(arm, wave_numbers="solved"))
    runs = {n: [m.run(motion(d))[2] for d in DIRECTIONS] for n, m in (("s", solved), ("i", flexible), ("f", fixed))}
    by_eq_11, by_fixed = (max(apart(a, b) for a, b in zip(runs[k], runs["s"], strict=True)) for k in ("i", "f"))
    drifts = [free_run(varied(arm, modes=1, convection=c)) for c in ("material", "paper")]
    at = DURATIONS.index(DURATION)
    order = np.polyfit(np.log(x[: at + 1]), np.log(z[: at + 1]), 1)[0]
    return [
        Claim(
            "Eq. 24",
            f"eq. 24 against the material derivative, percent of the largest deflection, U / U_g = {x[at]:.3f}",
            "contribution of the convective terms much smaller",
            f"{y[at]:.2g}",
            "explained" if y[at] > 1 else "met",
            "eq. 24 is the rate at a fixed place; eq. 1 is that of particles, and lacks nothing. Small, but more than "
            "what separates 2 modes from 10 elements",
        ),
        Claim(
            "Eq. 24",
            f"the same over U / U_g = {_row(x)}",
            "negligible if U / U_g << 1",
            f"{_row(y)} (mean square {_row(z)})",
            _verdict(bool(z[0] < 1 and z[-1] > z[0])),
            f"extension in {_row(DURATIONS)} s; the mean square grows about with the power {order:.1f} up to the "
            "paper's case",
        ),
        Claim(
            "Section II",
            "wave numbers by eq. 11, and fixed at l = 1 m, against eq. 9 solved: percent of the largest deflection",
            "eq. 11 serves as well",
            f"{by_eq_11:.0e}, {by_fixed:.2g}",
            _verdict(by_eq_11 < 1e-6),
            "fixed: each plane's first mode on retraction is a little too stiff, and its phase drifts",
        ),
        Claim(
            "Eqs. 25 to 31",
            "energy of a free run, drift over its scale: material, eq. 24",
            "a Lagrangian with a moving boundary",
            ", ".join(f"{x:.0e}" for x in drifts),
            _verdict(max(drifts) < 1e-7),
            "no input, the length swings; solver's tolerance 1e-9",
        ),
    ]


def _padded(flexible: Flexible, values: Array) -> Array:
    return np.hstack([values.T, np.zeros((values.shape[1], flexible.size))])


def free_run(arm: Arm) -> float:
    """Relative drift of the energy of a run without input, thrown from l = 0.5 m."""
    model = Model(arm)
    n = len(model.coordinates)
    q0, qd0 = np.zeros(n), np.zeros(n)
    q0[:5], qd0[:3] = (0.3, 0.8, 0.5, 0.002, -0.001), (0.4, -0.3, 0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = simulate(model, 0.5, q0=q0, qd0=qd0, rtol=1e-9, atol=1e-12, samples=101, progress=False)
    return float(result.attrs["energy_drift"])


# -- section IV: eqs. 42 and 43 ----------------------------------------------------------------------------------------


def stability_analysis() -> list[Claim]:
    """The rate of the stiffness against eq. 43."""
    basis = ClampedMass(mass_ratio=0.25).basis(1)

    def integral(f: Callable[[Array], Array]) -> float:
        return float(quad(lambda x: float(f(np.array([x]))[0]), 0.0, 1.0)[0])

    second, third = (lambda x, n=n: basis.values(x, n)[:, 0] for n in (2, 3))
    a = integral(lambda x: second(x) ** 2)
    b = integral(lambda x: x * second(x) * third(x))
    h, l = 1e-5, 0.7
    slope = a * ((l + h) ** -3 - (l - h) ** -3) / (2 * h) * l**4  # of K = EI / l^3 int psi''^2, over EI / l^4
    right = abs(slope / (-3 * a) - 1) < 1e-8
    return [
        Claim(
            "Eq. 43",
            "dK/dt over -EI l_dot / l^4 int psi''^2, mode 1",
            f"3 + 2 int eta psi'' psi''' / int psi''^2 = {(3 * a + 2 * b) / a:.3f}",
            f"{-slope / a:.3f}",
            "explained" if right else "not met",
            f"the second term is not part of it, and negative ({2 * b / a:.3f}): by parts it is psi''(1)^2 - int psi''^2. "
            "The sign of dK/dt is as the paper says",
        )
    ]


# -- pictures and numbers ----------------------------------------------------------------------------------------------

LINES = ("C0", "C3--")


@dataclass(frozen=True)
class Curve:
    """A line of a picture."""

    x: Array
    y: Array
    style: str
    label: str
    width: float = 1.2


@dataclass(frozen=True)
class Panel:
    """A part of a picture."""

    title: str
    label: str
    curves: list[Curve]
    log: bool = False


def draw(
    folder: Path, name: str, columns: int, size: tuple[float, float], panels: list[Panel], below: str = "time [s]"
) -> None:
    """Panels row by row into `theodore-ghosal-{name}.png`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(len(panels) // columns, columns, squeeze=False)
    for at, panel in zip(axes.ravel(), panels, strict=True):
        for curve in panel.curves:
            at.plot(curve.x, curve.y, curve.style, label=curve.label, linewidth=curve.width, markersize=4)
        at.set_title(panel.title, fontsize="small")
        at.set_ylabel(panel.label, fontsize="small")
        at.tick_params(labelsize="small")
        at.grid(alpha=0.3)
        if panel.log:
            at.loglog()
        if len(panel.curves) > 1:
            at.legend(fontsize="x-small")
    for at in axes[-1]:
        at.set_xlabel(below, fontsize="small")
    save_figure(figure, folder / f"theodore-ghosal-{name}.png")


def _verdict(holds: bool) -> Verdict:
    return "met" if holds else "not met"


def _row(values: Any) -> str:
    return ", ".join(f"{x:.3g}" for x in np.ravel(values))
