"""Claims of sections II and III about shapes, convection and energies (eqs. 2 to 31)."""

from typing import Any

import numpy as np

from flexarm_papers.theodore_ghosal.compute import (
    DIRECTIONS,
    LONG,
    SHORT,
    Array,
    Flexible,
    joints_along,
    load_of,
    mass_ratio,
    motion,
    sliding,
)
from flexarm_papers.theodore_ghosal.energies import Energies, energies, shapes
from flexarm_papers.theodore_ghosal.runs import PAPER, Runs
from flexarm_papers.theodore_ghosal.waves import (
    boundary_residue,
    eq_8,
    residue_of_eq_4,
    roots,
    roots_of_eq_8,
    slopes_differ,
)
from flexarm_papers.verdicts import Claim, Part, below, near, within

ROUNDING = 1e-10
"""Bound of relative differences between two computations of a number. They are 1e-12 and less."""
LINE = 1.0
"""Width of a line in the paper's figures, taken as the meaning of `accurate` [percent of the largest deflection]."""
LOADS = ((0.8338, 0.0), (0.2501, 0.0), (0.5, 0.02), (1.0, 0.1))
"""M and J of eq. 8: the paper's load at l = 0.3 and 1 m, and two with rotary inertia."""


def row(values: Any, digits: int = 3) -> str:
    """Return numbers, separated by commas."""
    return ", ".join(f"{x:.{digits}g}" for x in np.ravel(values))


# -- section II: eqs. 2 to 13 ------------------------------------------------------------------------------------------


def boundary_conditions(runs: Runs) -> Part:
    """Return the claims of eqs. 2 to 9."""
    residue = max(boundary_residue(roots_of_eq_8(M, J), M, J) for M, J in LOADS)
    searched = {l: roots_of_eq_8(float(mass_ratio(runs.arm, l))) for l in (SHORT, LONG)}
    found = max(float(np.abs(roots(runs.arm, l) - b).max()) for l, b in searched.items())
    left = max(abs(eq_8(b, float(mass_ratio(runs.arm, l)))) for l in searched for b in roots(runs.arm, l))
    inertia = 0.01
    printed, cubed = (residue_of_eq_4(runs.arm, inertia, power) for power in (1, 3))
    return Part(
        "Eqs. 2 to 9",
        "A clamped beam with a load: boundary conditions, mode shapes and frequency equation.",
        [
            Claim(
                "Eqs. 2, 6, 7, 8",
                "The shapes of eqs. 6 and 7 satisfy eq. 2 at the tip if beta is a root of eq. 8.",
                "0",
                f"{residue:.0e}",
                [below(residue, ROUNDING)],
                note="Two modes, four loads, two of them with rotary inertia.",
            ),
            Claim(
                "Eqs. 8, 9",
                "The wave numbers of the arm are roots of the frequency equation.",
                "0, the left side of eq. 8",
                f"{left:.0e}; a plain search for the roots finds the same beta to {found:.0e}",
                [below(left, ROUNDING), below(found, ROUNDING)],
            ),
            Claim(
                "Eq. 4",
                "The bending moment at the tip, without dimension: factor J_L / (rho A l0).",
                "J_L / (rho A l0)",
                f"the shapes miss it by {100 * printed:.0f} percent",
                [below(printed, ROUNDING)],
                "The factor is J_L / (rho A l0^3).",
                [below(cubed, ROUNDING)],
                f"As printed it has the unit m^2. Here J_L = {inertia:g} kg m^2, l0 = 1.3 m. If your print has the "
                "power, only the text we have has lost it. The paper's arm has J_L = 0.",
            ),
        ],
    )


def frequency_in_time(runs: Runs) -> Part:
    """Return the claims of eqs. 11 to 13."""
    one, two = slopes_differ()
    drift = 0.0
    for d in DIRECTIONS:
        t, beta = runs.beta(d)
        exact = np.array([roots(runs.arm, x) for x in joints_along(motion(d), t)[0][2]])
        drift = max(drift, float(np.abs(beta - exact).max()))
    return Part(
        "Eqs. 11 to 13",
        "The wave numbers follow the length by a differential equation, instead of a root search at each time.",
        [
            Claim(
                "Eq. 12",
                "f1 is -df/dl of eq. 9.",
                "eq. 12",
                f"relative difference {one:.0e}",
                [below(one, ROUNDING)],
                note="Complex steps on eq. 9 at 20 random loads and lengths, J_L > 0.",
            ),
            Claim(
                "Eq. 13", "f2 is df/dbeta of eq. 9.", "eq. 13", f"relative difference {two:.0e}", [below(two, ROUNDING)]
            ),
            Claim(
                "Eq. 11",
                "The differential form is as good as solving eq. 9 again and again.",
                "the same solutions",
                f"beta agree to {drift:.0e} at all times of both motions",
                [below(drift, 1e-8)],
                note="The integration's own tolerance is 1e-10.",
            ),
        ],
    )


def wave_numbers(runs: Runs) -> Part:
    """Return the claims of Fig. 8."""
    t, beta = runs.beta("extension")
    rise = beta[-1] / beta[0] - 1
    length = joints_along(motion("extension"), t)[0][2]
    _, body = sliding(runs.arm)
    speed = np.sqrt(body.stiffness["y"] / body.m)
    period = 2 * np.pi * length**2 / (speed * beta[:, 0] ** 2)
    a_period = float((np.abs(np.gradient(beta[:, 0], t)) / beta[:, 0] * period).max())
    fem = runs.model("10 elements")
    by_elements = [np.sqrt(fem.frequencies(l)[:2] * l**2 / speed) for l in (SHORT, LONG)]
    return Part(
        "Fig. 8",
        "How the wave numbers change as link 3 slides out and in.",
        [
            Claim(
                "Fig. 8, change",
                "The wave numbers change slowly.",
                "slowly",
                f"by {row(100 * rise)} percent over the whole way; mode 1 by at most {100 * a_period:.2f} percent in a "
                "period of its vibration",
                [below(a_period, 0.01)],
                note="For shapes that follow the length the change in a period matters.",
            ),
            Claim(
                "Fig. 8, values",
                "beta of both modes, at l = 0.3 m and at l = 1 m.",
                "",
                "; ".join(", ".join(f"{b:.8f}" for b in x) for x in (beta[0], beta[-1])),
                [
                    within(b, f, 1e-5)
                    for mine, theirs in zip((beta[0], beta[-1]), by_elements, strict=True)
                    for b, f in zip(mine, theirs, strict=True)
                ],
                note="The text has no numbers; read yours off the figure. Ten finite elements give the same to 1e-5.",
            ),
        ],
        "theodore-ghosal-fig8.svg",
    )


# -- section III -------------------------------------------------------------------------------------------------------


def coriolis(flexible: Flexible, length: float = 0.7, turn: float = 2.0, rate: float = 0.5) -> Array:
    """Return g in plane over m l turn rate, (2,), for a beam that slides while joint 2 turns, both steadily."""
    values = flexible.functions[0]([0.0, 0.0, length], [0.0, turn, rate], [0.0, 0.0, 0.0])
    g: Array = np.array(values)[:, -1] / (sliding(flexible.model.arm)[1].m * length * turn * rate)
    return np.abs(g[-2:])


def coriolis_by_hand(runs: Runs, by_eq_24: bool, length: float = 0.7) -> Array:
    """Return 2 int psi + 2 M psi(1), or by eq. 24 int psi + psi(1) + 2 M psi(1), for shapes fixed at l = 1 m."""
    basis = shapes(runs.arm)
    x, w = np.polynomial.legendre.leggauss(40)
    mean, tip = w / 2 @ basis.values((x + 1) / 2), basis.values(np.ones(1))[0]
    M = float(mass_ratio(runs.arm, length))
    value: Array = np.abs((mean + tip if by_eq_24 else 2 * mean) + 2 * M * tip)
    return value


def slip_of(found: Energies) -> float:
    """Return the speed of the beam's end relative to its payload [m/s].

    The state is l = 1 m, 1 mm in the first mode, U = 0.778 m/s.
    """
    import casadi as ca

    q, qd = [0.0, 0.0, LONG, 1e-3, 0.0, 0.0, 0.0], [0.0, 0.0, 0.778, 0.0, 0.0, 0.0, 0.0]
    return float(np.linalg.norm(np.array(ca.Function("slip", [found.q, found.qd], [found.slip])(q, qd))))


def convection(runs: Runs) -> Part:
    """Return the claims of eq. 24, which has the velocity at a fixed position instead of that of a particle."""
    slips = [slip_of(energies(runs.arm, by_eq_24)) for by_eq_24 in (True, False)]
    by_hand = {by: coriolis_by_hand(runs, by) for by in (True, False)}
    ours = {by: coriolis(runs.model(name)) for by, name in ((True, "eq. 24"), (False, "fixed"))}
    excess = ours[True] / by_hand[False]
    off = {name: runs.off(name) for name in ("eq. 24", "fixed", PAPER)}
    x, slewing, _ = runs.convection()
    return Part(
        "Eq. 24",
        "The velocity of a point of the sliding beam: the paper prints that of a fixed place, not that of a particle.",
        [
            Claim(
                "Eqs. 24, 30",
                "The beam's end (eq. 24 at eta = 1) moves with the payload that is fixed to it (eqs. 17, 30).",
                "0 mm/s apart",
                f"{1e3 * slips[0]:.2f} mm/s apart for 1 mm of bending at 0.778 m/s",
                [below(slips[0], ROUNDING)],
                "In eq. 24 put (1 - eta) psi' for -eta psi'.",
                [below(slips[1], ROUNDING)],
                "A particle moves along with dl/dt, which adds dl/dt du/ds.",
            ),
            Claim(
                "Eq. 24, Coriolis",
                "With eq. 24, Lagrange's equations give the inertial forces of a beam that slides while joint 2 turns.",
                "Coriolis' force, 2 turning rate x sliding rate",
                f"{excess[0]:.3f} and {excess[1]:.3f} times it on modes 1 and 2, at l = 0.7 m",
                [near(r, 1.0, ROUNDING) for r in excess],
                "In eq. 24 put (1 - eta) psi' for -eta psi'.",
                [
                    *(near(r, 1.0, ROUNDING) for r in ours[False] / by_hand[False]),
                    *(near(r, 1.0, ROUNDING) for r in ours[True] / by_hand[True]),
                ],
                "By hand, eq. 24 gives psi(1) + int psi instead of 2 int psi, and so does the model.",
            ),
            Claim(
                "Eq. 24, [19]",
                "Without the convective terms the tip still agrees with finite elements of the complete equation.",
                "quite accurately",
                f"off by {off['eq. 24']:.2f} percent of the largest deflection, along Fig. 4",
                [below(off["eq. 24"], LINE)],
                "In eq. 24 put (1 - eta) psi' for -eta psi'.",
                [below(off["fixed"], LINE), below(off[PAPER], 0.05)],
                f"Then {off['fixed']:.2f} percent with the same fixed shapes, {off[PAPER]:.3f} with shapes that follow "
                f"the length. The error does not vanish with U / U_g: {row(slewing)} percent at {row(x)}.",
            ),
        ],
        "theodore-ghosal-convection.svg",
    )


def lagrange(runs: Runs, states: int = 5) -> Part:
    """Return the claims of eqs. 25 to 31, written out by hand, against the model at random states."""
    rng = np.random.default_rng(25)
    worst = dict.fromkeys(("hub", "others", "strain", "force"), 0.0)
    share = 0.0
    for by_eq_24, name in ((True, "eq. 24"), (False, "fixed")):
        model, hand = runs.model(name).model, energies(runs.arm, by_eq_24)
        energy, force, printed = model.function("energy"), model.function("inverse_dynamics"), hand.lagrange()
        for _ in range(states):
            q = np.r_[rng.uniform(-2, 2, 2), rng.uniform(SHORT, LONG), rng.uniform(-0.01, 0.01, 4)]
            qd, qdd = np.r_[rng.uniform(-3, 3, 3), rng.uniform(-1, 1, 4)], rng.uniform(-9, 9, 7)
            T, V = np.array(energy(q, qd)).ravel()
            parts = hand.at(q, qd)
            others = parts["free"] + parts["payload"] + parts["joints"]
            still = q * [1, 1, 1, 0, 0, 0, 0]
            a, b = (np.array(f(q, qd, qdd)).ravel() for f in (force, printed))
            for key, error in (
                ("hub", (T - others) / parts["hub"] - 1),
                ("others", (T - parts["hub"]) / others - 1),
                ("strain", (V - float(energy(still, qd)[1])) / parts["strain"] - 1),
                ("force", np.abs(a / b - 1).max()),
            ):
                worst[key] = max(worst[key], abs(error))
            share = max(share, parts["hub"] / T)
    where = "at 10 random states, with eq. 24 as printed and as corrected"
    m_p = load_of(runs.arm)
    return Part(
        "Eqs. 25 to 31",
        "The arm's energies, and the equations of motion that follow from them.",
        [
            Claim(
                "Eq. 28",
                "Kinetic energy of the part of link 3 that is still inside the hub.",
                "the integral of eq. 28",
                f"relative difference {worst['hub']:.0e} {where}",
                [below(worst["hub"], ROUNDING)],
                note=f"It is up to {100 * share:.0f} percent of the whole. s moves with l, so the rate has dl/dt along "
                "the link.",
            ),
            Claim(
                "Eqs. 27, 29, 30",
                "Kinetic energy of the joints, of the free part of link 3 and of the payload.",
                "the integrals of eqs. 27, 29, 30",
                f"relative difference {worst['others']:.0e} {where}",
                [below(worst["others"], ROUNDING)],
                note=f"Positions by eqs. 14 to 19, velocities by eq. 20; payload {m_p:g} kg.",
            ),
            Claim(
                "Eq. 31",
                "Potential energy of bending.",
                "the integral of eq. 31",
                f"relative difference {worst['strain']:.0e} {where}",
                [below(worst["strain"], ROUNDING)],
            ),
            Claim(
                "Eqs. 25, 26",
                "Lagrange's equations give the joints' forces and the equations of bending.",
                "d/dt dT/dqd - dT/dq + dV/dq",
                f"relative difference of each of the 7 forces {worst['force']:.0e} {where}",
                [below(worst["force"], 1e-9)],
                note="The energies of eqs. 27 to 31 are written out by hand and differentiated; the model's forces "
                "come from a recursion that knows no energies. Single forces may be small, hence a wider bound.",
            ),
        ],
    )
