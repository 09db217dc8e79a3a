"""Claims of section II about the sliding beam (eqs. 1 to 3), its waves, and conclusions from U / U_g."""

from itertools import pairwise

import numpy as np

from flexarm_papers.theodore_ghosal.claims_model import ROUNDING, row
from flexarm_papers.theodore_ghosal.compute import (
    BLEND,
    DURATION,
    LONG,
    SHORT,
    joints_along,
    mass_ratio,
    motion,
    sliding,
)
from flexarm_papers.theodore_ghosal.runs import DURATIONS, PAPER, Runs
from flexarm_papers.theodore_ghosal.waves import (
    arrival,
    load_of_eq_2,
    off_eq_1,
    off_eq_3,
    packet_speed,
    roots,
)
from flexarm_papers.verdicts import Claim, Part, above, below, holds, near, within

ELEMENTS = (2, 4, 10)
"""Finite elements of the models whose frequencies are compared. The mesh of 2 is contained in the two others."""


def sliding_beam(runs: Runs) -> Part:
    """Return the claims of eqs. 1 to 3."""
    bracket, alone = off_eq_1()
    same = off_eq_3(runs.arm)
    printed, corrected = load_of_eq_2(runs.arm)
    return Part(
        "Eqs. 1 to 3",
        "The equation of a beam that slides along its axis, with and without dimensions.",
        [
            Claim(
                "Eq. 1",
                "The convective terms make a particle's acceleration of u(s, t).",
                "u_tt + 2 U u_st + U^2 u_ss + dU/dt u_s",
                f"relative difference {bracket:.0e} along a particle's way; u_tt alone is off by {100 * alone:.0f} "
                "percent",
                [below(bracket, ROUNDING), above(alone, 0.01)],
                note="U changes with time.",
            ),
            Claim(
                "Eq. 2, load",
                "The force on the beam's end is M_L times d2u/dt2 at s = l(t).",
                "d2u/dt2",
                f"the load's acceleration differs from it by up to {100 * printed:.2g} percent, first mode, l = 1 m, "
                "U = 0.778 m/s",
                [below(printed, ROUNDING)],
                "The load slides with the beam, so its acceleration has the convective terms of eq. 1.",
                [below(corrected, ROUNDING)],
                "They are as small as those that item 3 drops.",
            ),
            Claim(
                "Eq. 3",
                "Without dimensions eq. 1 has U / U_g, its square and its rate as factors.",
                "eq. 3",
                f"l0^4 / EI times eq. 1, relative difference {same:.0e}",
                [below(same, ROUNDING)],
                note="At 20 random places and times, with U of the size of U_g, so that every term counts.",
            ),
        ],
    )


def waves_and_beam(runs: Runs) -> Part:
    """Return the claims of section II, items 1 to 5."""
    _, body = sliding(runs.arm)
    speed = float(np.sqrt(body.stiffness["y"] / body.m))  # U_g l
    U = float(joints_along(motion("extension"), np.array([DURATION / 2]))[1][2, 0])
    model = runs.model(PAPER)
    ratios, corrected = [], []
    for l in (SHORT, LONG):
        omega, beta = model.frequencies(l), roots(runs.arm, l)
        ratios.append(float(omega[0] / (speed / LONG / l * beta[0] ** 2)))
        corrected += (omega / (speed / l**2 * beta**2)).tolist()
    x, _, standing = runs.convection()
    share = standing / 100 / x
    order = float(np.polyfit(np.log(x), np.log(standing), 1)[0])
    too_high = [
        100 * (runs.model("1 clamped-free").frequencies(l)[0] / model.frequencies(l)[0] - 1) for l in (SHORT, LONG)
    ]
    free = [runs.off(f"{n} clamped-free") for n in (1, 2, 3)]
    mass = [runs.off(name) for name in ("1 mode, fixed", "fixed", "3 modes, fixed")]
    return Part(
        "Section II",
        "Waves run along the beam much faster than it slides, so the shapes of a loaded beam at rest are good enough.",
        [
            Claim(
                "Section II, U_g",
                "The speed U_g of the longest beam, sqrt(EI / rho A) / l0.",
                "59.34 m/s",
                f"{speed / LONG:.2f} m/s",
                [near(speed / LONG, 59.34, 0.005)],
                note=f"l0 is here the longest free length, 1 m. With the whole length of Table I, 1.3 m, it would be "
                f"{speed / body.length:.2f} m/s.",
            ),
            *group_velocity(runs, speed),
            Claim(
                "Section II, U",
                "The rate at which link 3 slides.",
                "0.778 m/s",
                f"{U:.4f} m/s",
                [near(U, 0.778, 0.0005)],
                note=f"The blend time b follows from it, which is not printed: 0.7 m in 1 s at 0.7 / (1 - b), so "
                f"b = {BLEND:g} s.",
            ),
            Claim(
                "Section II, dispersion",
                "Frequency of a mode from its wave number: omega = (U_g / l) beta^2.",
                "(U_g / l) beta^2",
                f"omega is {ratios[0]:.3f} times that at l = 0.3 m, {ratios[1]:.3f} times at 1 m",
                [near(r, 1.0, ROUNDING) for r in ratios],
                "U_g must be that of the present length, sqrt(EI / rho A) / l, not of the longest.",
                [near(r, 1.0, ROUNDING) for r in corrected],
                "Then all frequencies of the model agree to 1e-10: omega = sqrt(EI / rho A) (beta / l)^2.",
            ),
            Claim(
                "Section II, item 3",
                "Convective terms can be dropped if U / U_g << 1 (a beam that vibrates and slides, but does not turn).",
                "negligible",
                f"tip differs by {row(standing)} percent at U / U_g = {row(x)}",
                [below(share.max(), 0.2), near(order, 1.0, 0.05)],
                note=f"First mode, extension in {row(DURATIONS)} s, joints 1 and 2 at rest. The difference stays below "
                f"0.2 U / U_g and grows with its power {order:.2f}. For a beam that also turns see eq. 24.",
            ),
            Claim(
                "Section II, item 3, [11]",
                "In a typical experiment U = 0.1 m/s and U_g = 3.03 m/s.",
                "U / U_g = 0.033",
                f"{0.1 / 3.03:.4f}",
                [near(0.1 / 3.03, 0.033, 0.0005)],
                note="From the two printed speeds; the beam of that experiment is not printed.",
            ),
            Claim(
                "Section II, item 5",
                "Clamped-free shapes give inaccurate shapes and too high frequencies where the load is like the beam.",
                "inaccurate; over-estimated",
                f"one shape: first frequency {row(too_high)} percent too high at l = 0.3 and 1 m; tip off by "
                f"{row(free)} percent with 1, 2, 3 shapes, by {row(mass, 2)} with clamped-mass ones",
                [*(above(x, 0.3) for x in too_high), *(above(a / b, 5) for a, b in zip(free, mass, strict=True))],
                note=f"M_L / (rho A l) is {float(mass_ratio(runs.arm, LONG)):.2f} to "
                f"{float(mass_ratio(runs.arm, SHORT)):.2f}. Tips against 10 elements along Fig. 4; shapes fixed.",
            ),
            elements_converge(runs, speed),
        ],
    )


def group_velocity(runs: Runs, speed: float) -> list[Claim]:
    """Return the claims about U_g as a group velocity. `speed` is sqrt(EI / rho A), which is U_g for l0 = 1 m."""
    beta = roots(runs.arm, LONG)
    packets = [packet_speed(speed, b / LONG) for b in beta]
    fem = runs.model("10 elements")
    between = float(np.diff(fem.frequencies(LONG)[:2])[0] / np.diff(beta)[0] * LONG)
    times = []
    for n in ELEMENTS:
        model = runs.model(f"{n} elements")
        M, K = (x[np.ix_(model.in_y, model.in_y)] for x in model.standing(LONG))
        tip = model.tips(motion("retraction"), np.zeros(1))[0, 0, model.in_y]
        times.append(arrival(M, K, tip, 2 * np.pi / model.frequencies(LONG)[0]))
    travel = LONG**2 / speed
    return [
        Claim(
            "Section II, group velocity",
            "U_g is the group velocity of the waves of a beam.",
            f"{speed / LONG:.2f} m/s",
            f"waves of the length of modes 1 and 2 at l = 1 m travel in groups at {row(packets, 4)} m/s; the slope of "
            f"frequency over wave number between the modes of 10 elements is {between:.4g} m/s",
            [within(v, speed / LONG, 0.01) for v in packets],
            "The group velocity of waves of wave number k is 2 k sqrt(EI / rho A), for mode i 2 beta_i U_g.",
            [
                *(within(v, 2 * b / LONG * speed, 1e-3) for v, b in zip(packets, beta, strict=True)),
                within(between, float(beta.sum()) / LONG * speed, 1e-3),
            ],
            "It has no one value: the waves disperse. U_g is a speed to compare with, not that of any wave.",
        ),
        Claim(
            "Section II, l0 / U_g",
            "Any disturbance takes the time l0 / U_g to travel the length l0; before that eq. 1 does not govern.",
            f"{1e3 * travel:.1f} ms",
            "after a blow near the hub the tip moves by 5 percent of its largest deflection in "
            f"{row(1e3 * np.array(times), 2)} ms with {', '.join(map(str, ELEMENTS))} elements, l0 = 1 m",
            [within(t, travel, 0.1) for t in times],
            "The solutions of eq. 1 have no first arrival: short waves are arbitrarily fast.",
            [*(above(a / b, 1.5) for a, b in pairwise(times)), below(times[-1] / travel, 0.05)],
            "With more elements the waves are shorter, and the tip moves earlier.",
        ),
    ]


def elements_converge(runs: Runs, speed: float) -> Claim:
    """Return the claim about finite elements. `speed` is sqrt(EI / rho A)."""
    exact = speed * (roots(runs.arm, LONG) / LONG) ** 2
    high = np.array([runs.model(f"{n} elements").frequencies(LONG)[:2] / exact - 1 for n in ELEMENTS])
    halved = float(np.log2(high[0] / high[1]).min())
    return Claim(
        "Section II, elements",
        "Polynomial elements are not complete, and monotonic convergence cannot be guaranteed.",
        "not guaranteed",
        f"frequencies 1 and 2 at l = 1 m are too high by {'; '.join(row(100 * h, 2) for h in high)} percent with "
        f"{', '.join(map(str, ELEMENTS))} elements",
        [holds(bool((np.diff(high, axis=0) >= 0).any()))],
        "The frequencies converge from above, without a rise.",
        [above(high.min(), 0.0), *(above(a / b, 5.0) for h in high.T for a, b in pairwise(h)), above(halved, 3.5)],
        "Rayleigh's principle: a mesh that contains another, as 4 and 10 elements contain 2, never raises a frequency. "
        "Cubic elements are complete as they shrink. The "
        f"error falls with the power {halved:.1f} or more of the length of an element.",
    )
