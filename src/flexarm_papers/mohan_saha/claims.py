"""Claims of Mohan & Saha about operations and the Canadarm's slew (sections 6 and 7), with the results here."""

import numpy as np

from flexarm import Beam
from flexarm.arrays import Array
from flexarm_papers.mohan_saha import counts, equations, rounding, shapes
from flexarm_papers.mohan_saha.compute import UNTIL, Slew, scaled
from flexarm_papers.verdicts import Check, Claim, Part, above, below, holds, near, within

# -- section 6: operations ---------------------------------------------------------------------------------------------


def table_1() -> Part:
    """Return the claims of Table 1 about the counts, by the formulas and by flexarm's program."""
    n, m = 8, 2
    formulas = [
        ("proposed", (9874, 7699), counts.proposed(n, m)),
        ("Jain & Rodriguez", (10568, 8344), counts.jain_rodriguez(n, m)),
    ]
    printed, mended = counts.cyril(n, m), counts.cyril(n, m, 251 / 3)
    below_m, jump = counts.crossings(), counts.jain_rodriguez(1, m)[0] / counts.jain_rodriguez_upper(1, m)[0] - 1
    return Part(
        "Table 1",
        "How many operations the recursion and two other algorithms need.",
        [
            *(
                Claim(
                    f"Table 1, {who}",
                    "multiplications and additions for 8 links, 2 modes in each plane",
                    _pair(given),
                    _pair(ours),
                    [near(a, b, 0.5) for a, b in zip(ours, given, strict=True)],
                )
                for who, given, ours in formulas  # for Jain & Rodriguez the line n >= 7
            ),
            Claim(
                "Table 1, Cyril",
                "multiplications and additions for 8 links, 2 modes in each plane",
                "13990, 12683",
                f"{_pair(printed)} as printed, {_pair(mended)} with +251 m/3",
                [near(printed[0], 13990, 0.5), near(printed[1], 12683, 0.5)],
                "The term -251 m/6 in the formula A_3c is +251 m/3.",
                [near(mended[0], 13990, 0.5), near(mended[1], 12683, 0.5)],
                f"The table has {12683 - printed[1]:.0f} = 8 x 251 more than the formula gives.",
            ),
            Claim(
                "Table 1, n <= 7",
                "where one line for Jain & Rodriguez ends and the other begins",
                "n = 7 links",
                f"the lines never meet for any n: they are {100 * jump:.0f} percent apart for m = 2; they meet at m = "
                f"{below_m[0]:.2f} (multiplications) and {below_m[1]:.2f} (additions)",
                [below(jump, 0.01)],
                "The condition is on m, the number of modes: m <= 7 and m > 7.",
                [Check(below_m[0], 7.0, 8.5), Check(below_m[1], 7.0, 8.5)],
            ),
        ],
    )


def section_6() -> Part:
    """Return the claims of sections 1 and 6 about the cost, with the operations of flexarm's program."""
    n, m = 8, 2
    few = [counts.cheapest(other) for other in (counts.cyril, counts.jain_rodriguez)]
    cheapest = [
        holds(a < b)
        for other in (counts.jain_rodriguez(n, m), counts.cyril(n, m, 251 / 3))
        for a, b in zip(counts.proposed(n, m), other, strict=True)
    ]
    four, six, eight = (counts.ours(k) for k in (4, 6, 8))
    slope = [(b - a) / 2 for a, b in zip(six, eight, strict=True)]
    by_n, by_m = counts.growth(1000, 1000)
    size = n * (1 + 2 * m)
    whole = counts.cholesky(size)
    return Part(
        "Sections 1 and 6",
        "The recursion outperforms the other two; its order in links and modes, and that of the whole matrix.",
        [
            Claim(
                "Table 1, n*",
                "with 8 links the proposed algorithm needs the fewest operations",
                "8",
                f"it needs fewer than Jain & Rodriguez (line n >= 7) from {few[1][0]} to {few[1][1]} links, and fewer "
                f"than Cyril from {few[0][0]} links on",
                cheapest,
                note="With the line that m = 2 belongs to, Jain & Rodriguez need "
                f"{_pair(counts.jain_rodriguez_upper(n, m))}, which is less.",
            ),
            Claim(
                "Section 6",
                "the proposed algorithm outperforms the other two",
                "outperforms",
                f"not beyond {few[1][1]} links, and for m = 2 not at all with the condition on m corrected",
                [above(few[0][1], 200), above(few[1][1], 200)],
                note="A link more costs 1332 multiplications against 1321. Tried: 1 to 200 links, both lines.",
            ),
            Claim(
                "Section 1, order",
                "the order of the recursion is O(n) + O(m^3/3)",
                "O(n) + O(m^3/3)",
                f"as n = {n} and m = {m} double in Table 1's formula, {100 * counts.mixed(n, m):.0f} percent of the "
                "multiplications belong to neither alone",
                [below(counts.mixed(n, m), 0.01)],
                "Links and modes multiply: O(n m^3).",
                [near(by_n, 2.0, 0.01), near(by_m, 8.0, 0.05)],
                f"For large n and m the formula grows by {by_n:.3f} as n doubles and by {by_m:.3f} as m does.",
            ),
            Claim(
                "Section 1, links",
                "the recursion is of order n in the number of links",
                "O(n)",
                f"{_pair(four)} for 4 links, {_pair(six)} for 6, {_pair(eight)} for 8: {slope[0]:g} and {slope[1]:g} a "
                "link, exactly",
                [
                    *(near(a - 2 * b + c, 0, 0) for a, b, c in zip(four, six, eight, strict=True)),
                    below(eight[0], 9874),
                    below(eight[1], 7699),
                ],
                note="Counted in the program of the package's own recursion, for the table's case, axes along z and y "
                "in turn.",
            ),
            Claim(
                "Section 1, conventional",
                "factors of the whole inertia matrix cost O((n + m)^3/3)",
                "O((n + m)^3/3)",
                f"{n} links with {m} modes in each plane are {size} coordinates, whose Cholesky factors take {whole} "
                f"multiplications and additions; (n + m)^3/3 is {(n + m) ** 3 / 3:.0f}",
                [within(whole, (n + m) ** 3 / 3, 0.1)],
                "The matrix has n (1 + 2 m) rows, so it is O((n (1 + 2 m))^3/3).",
                [within(whole, size**3 / 3, 0.1)],
                "With modes in three directions n (1 + 3 m), the paper's own number of coordinates.",
            ),
        ],
    )


# -- section 7.1: the slew ---------------------------------------------------------------------------------------------


def eq_43() -> Part:
    """Return the claim of eq. 43 about the shapes."""
    free, deflection, slope = shapes.clamp()
    apart = shapes.shapes_apart()
    return Part(
        "Eq. 43",
        "The shapes of a bent link.",
        [
            Claim(
                "Eq. 43",
                "the shapes vanish where the link is clamped",
                "zeta, without a word where it is zero",
                f"with zeta counted from the clamp they are {free:.3g} or more there; counted from the tip, "
                f"{deflection:.0e} and slope {slope:.0e}",
                [below(free, 1e-12)],
                "zeta = m (1 - x / a) counts from the free end.",
                [below(deflection, 1e-12), below(slope, 1e-12), below(apart, 1e-12)],
                f"So they are the package's clamped-free shapes, to {apart:.0e} of the tip.",
            )
        ],
    )


def table_2(slew: Slew) -> Part:
    """Return the claims of Table 2."""
    printed = ((6.0, 7.0, 2.0), (140.0, 85.0, 95.0), (1e5, 1e5, 1e5))
    bodies = [link.body for link in slew.model.arm.links]
    ours = [[each.length, each.total_mass, each.stiffness["y"]] for each in bodies if isinstance(each, Beam)]
    angles, start = equations.denavit_hartenberg(slew.model), np.abs(slew.result.q.values[0]).max()
    return Part(
        "Table 2",
        "Lengths, masses and stiffness of the Canadarm's links.",
        [
            Claim(
                "Table 2",
                "lengths a [m], masses [kg] and stiffness E I [N m^2] of the three links",
                "; ".join(_row(np.array(each)) for each in printed),
                "; ".join(_row(np.array(each)) for each in zip(*ours, strict=True)),
                [
                    near(x, y, 0.0)
                    for row, link in zip(zip(*printed, strict=True), ours, strict=True)
                    for x, y in zip(link, row, strict=True)
                ],
                note="Read from the bundled arm.",
            ),
            Claim(
                "Table 2, b, alpha, theta",
                "offsets b and twists alpha are zero, and so are all angles at the start",
                "0, 0, [0]",
                f"between the frames of the straight arm b and alpha differ from 0 by {angles:.0e}, the slew starts "
                f"{start:.0e} from 0",
                [below(angles, 1e-12), below(float(start), 0.0)],
                note="So the arm is planar, all axes parallel.",
            ),
        ],
    )


def eq_44(slew: Slew) -> Part:
    """Return the claim of eq. 44 about the desired motion."""
    k, T = np.array([0.075, 0.05, 0.1]), np.array([10.0, 5.0, 5.0])
    t = slew.t[:, None]
    apart = float(np.abs(slew.theta - k * (t - T / np.pi * np.sin(np.pi * t / T))).max())
    rate = float(np.abs(slew.thetad - k * (1 - np.cos(np.pi * t / T))).max())
    end = slew.thetad[-1]
    return Part(
        "Eq. 44",
        "The joints' desired motion.",
        [
            Claim(
                "Eq. 44",
                "angles k [t - T / pi sin(pi t / T)], k = 0.075, 0.05, 0.1 1/s, T = 10, 5, 5 s",
                "eq. 44",
                f"the reference of the slew is the same to {apart:.0e} rad, its rates to {rate:.0e} rad/s",
                [below(apart, 1e-12), below(rate, 1e-12)],
                note=f"At {UNTIL:g} s the rates are {_row(end)} rad/s: joint 1 still moves, since T_1 is half of its "
                "period. The text of section 7.1 names eq. 42 for the desired motion; it is eq. 44.",
            )
        ],
    )


def fig_4(slew: Slew) -> Part:
    """Return the claims about the joints in Fig. 4."""
    deviation = np.abs(slew.deviation).max(axis=0)
    ten = slew.simulated(scaled(slew.model.arm, EI=10.0)).q.values[:, : slew.m] - slew.theta
    ratio = deviation / np.abs(ten).max(axis=0)
    rk4 = np.abs(slew.both["rk4"][0][:, : slew.m] - slew.result.q.values[:, : slew.m]).max()
    left = equations.lagrange_residual(slew)
    return Part(
        "Fig. 4",
        "The joints of the Canadarm, driven by the torques of the rigid arm, stay near the desired motion.",
        [
            Claim(
                "Fig. 4",
                "the joints deviate because the links bend",
                "due to the flexibility of the links",
                f"by {_row(deviation)} rad at most; with ten times the stiffness {_row(ratio)} times less",
                [near(r, 10.0, 0.2) for r in ratio],
            ),
            Claim(
                "Fig. 4, curves",
                "angles and rates of the three joints",
                "",
                f"RK4 with 2.5 ms is {rk4:.0e} rad away; Lagrange's equations hold to {left:.0e}",
                [below(rk4, 5e-6), below(left, 1e-12)],
                note="The text gives no number to compare with.",
            ),
        ],
        "mohan-saha-fig4.svg",
    )


def fig_5(slew: Slew) -> Part:
    """Return the claim about the tips in Fig. 5."""
    largest, static = np.abs(slew.tips).max(axis=0), np.abs(slew.quasi_static).max(axis=0)
    left = equations.lagrange_residual(slew)
    return Part(
        "Fig. 5",
        "How far the tips of the links bend while the arm moves.",
        [
            Claim(
                "Fig. 5, curves",
                "tip deflections of the three links",
                "",
                f"{_row(1e3 * largest)} mm at most; the inertia of the rigid motion alone bends the links by "
                f"{_row(1e3 * static)} mm",
                [*(within(a, b, 0.04) for a, b in zip(largest, static, strict=True)), below(left, 1e-12)],
                note=f"The text gives no number to compare with. Lagrange's equations hold to {left:.0e}; the rest is "
                "vibration.",
            )
        ],
        "mohan-saha-fig5.svg",
    )


def section_7_1(slew: Slew) -> Part:
    """Return the claim of section 7.1 about the choice of two modes."""
    largest = np.abs(slew.tips).max(axis=0)
    runs = (slew.simulated(scaled(slew.model.arm, modes=m)).deflection.values[..., 1] for m in (1, 3))
    one, three = (100 * np.abs(x - slew.tips).max(axis=0) / largest for x in runs)
    return Part(
        "Section 7.1",
        "Two modes a link are enough.",
        [
            Claim(
                "Section 7.1",
                "more than two modes have no significant effect",
                "not significant",
                f"a third mode changes the tip deflections by {_row(three)} percent of the largest, the second by "
                f"{_row(one)}",
                [below(x, 5.0) for x in three],
                note="Five percent is what one can see in a printed curve.",
            )
        ],
    )


# -- section 7.2: the two paths ----------------------------------------------------------------------------------------


def stability(slew: Slew) -> Part:
    """Return the claim of section 7.2 about the numerical stability of the two paths."""
    at = rounding.along(slew)
    return Part(
        "Section 7.2",
        "The recursion is numerically more stable than Cholesky factors of the inertia matrix.",
        [
            Claim(
                "Section 7.2",
                "the recursion is numerically more stable",
                "more stable",
                f"accelerations along the slew are wrong by {at.recursion:.0e} (recursion) and {at.dense:.0e} (dense) "
                "of their size",
                [above(at.dense / at.recursion, 2.0)],
                note="Measured against 50 digits. More accurate, yes; but neither error shows in any of the figures.",
            )
        ],
    )


def energy(slew: Slew) -> Part:
    """Return the claim of section 7.2 about the work that is missing in Fig. 7."""
    result = slew.result
    work, lost = float(result.work.values.max()), float(result.dissipated.values.max())
    strain, drift = result.potential.values, float(result.attrs["energy_drift"])
    left = float(strain[-1] / strain.max())
    return Part(
        "Section 7.2, energy",
        "Work that does not show as motion of the joints is dissipated in vibrations.",
        [
            Claim(
                "Section 7.2, energy",
                "what goes in and does not show as motion is dissipated in vibrations",
                "dissipated",
                f"{lost:.0f} J of {work:.0f} J are dissipated; work is kinetic and strain energy to {drift:.0e}, and "
                f"of the largest strain energy {100 * left:.1g} percent is left at 10 s",
                [above(lost / work, 1e-3)],
                "The energy is stored in the links, and they give it back.",
                [below(drift, 1e-12), below(left, 0.02)],
                "Eqs. 17 and 20b have no term that dissipates.",
            )
        ],
    )


def fig_6(slew: Slew) -> Part:
    """Return the claims about joint 1 by both paths in Fig. 6."""
    recursion, dense = slew.both["tight"]
    ended = [float(slew.t[len(x) - 1]) if len(x) < len(slew.t) else float("inf") for x in (recursion, dense)]
    off = np.abs(recursion[:, 0] - slew.theta[: len(recursion), 0])
    t = slew.t[: len(recursion)]
    apart = {name: slew.apart(name) for name in slew.both}
    return Part(
        "Fig. 6",
        "The dense path fails after about 5 s; the recursion does not.",
        [
            Claim(
                "Fig. 6, recursion",
                "joint 1 by the recursion stays acceptable to the end",
                "acceptable",
                f"off the desired motion by {off[t <= 5].max():.3f} rad before 5 s and {off[t > 5].max():.3f} after",
                [above(ended[0], UNTIL), below(off[t > 5].max(), off[t <= 5].max())],
            ),
            Claim(
                "Fig. 6, dense",
                "the dense path fails to provide any result",
                "after about 5 s",
                f"it does not fail in {UNTIL:g} s, and differs from the recursion by {apart['tight'][0]:.0e} (DOP853), "
                f"{apart['rk4'][0]:.0e} (RK4, 2.5 ms), {apart['loose'][0]:.0e} (RK45, loose) in q",
                [near(ended[1], 5.0, 1.0)],
                note="Three integrators were tried, and the faults of the study below.",
            ),
        ],
        "mohan-saha-fig6.svg",
    )


def fig_7(slew: Slew) -> Part:
    """Return the claims about the power by both paths in Fig. 7."""
    desired, recursion, dense = slew.power
    rows = min(len(recursion), len(dense))
    apart = np.abs(recursion[:rows] - dense[:rows])
    off = np.abs(recursion - desired[: len(recursion)])
    t, largest = slew.t[: len(recursion)], float(np.abs(desired).max())
    return Part(
        "Fig. 7",
        "The power by the dense path goes wrong after about 3.5 s; by the recursion it does not.",
        [
            Claim(
                "Fig. 7a, recursion",
                "the power is acceptable, even after 7 s",
                "acceptable",
                f"off the desired power, {largest:.0f} W at most, by {off[t <= 3.5].max():.0f} W before 3.5 s and "
                f"{off[t > 7].max():.1f} W after 7 s",
                [below(off[t > 7].max(), off[t <= 3.5].max())],
            ),
            Claim(
                "Fig. 7b, dense",
                "the power differs unacceptably",
                "after about 3.5 s",
                f"never: the two paths differ by {apart.max():.0e} W at most",
                [near(slew.first(apart > 0.05 * largest), 3.5, 0.5)],
                note="Unacceptable: by 5 percent of the largest desired power. Three integrators were tried, and the "
                "faults of the study below.",
            ),
        ],
        "mohan-saha-fig7.svg",
    )


def fig_8(slew: Slew) -> Part:
    """Return the claims about the acceleration of joint 1 by both paths in Fig. 8."""
    recursion, dense = (x[:, 0] for x in slew.accelerations)
    rows = min(len(recursion), len(dense))
    apart = float(np.abs(recursion[:rows] - dense[:rows]).max())
    t = slew.t[: len(recursion)]
    before, after = (float(np.abs(recursion[some]).max()) for some in (t <= 3.5, t > 3.5))
    return Part(
        "Fig. 8",
        "The acceleration of joint 1 has sharp peaks after 3.5 s by the dense path, none by the recursion.",
        [
            Claim(
                "Fig. 8a, recursion",
                "no sharp peaks come up later",
                "smoother",
                f"{before:.2f} rad/s^2 at most before 3.5 s, {after:.2f} after",
                [below(after, 1.1 * before)],
            ),
            Claim(
                "Fig. 8b, dense",
                "the acceleration has sharp peaks",
                "after 3.5 s",
                f"none: the two paths differ by {apart:.0e} of {max(before, after):.2f} rad/s^2",
                [near(slew.first(np.abs(dense) > 2 * before), 3.5, 0.5)],
                note="A peak: twice what there was before 3.5 s. Three integrators were tried, and the faults of the "
                "study below.",
            ),
        ],
        "mohan-saha-fig8.svg",
    )


def _pair(values: counts.Counts) -> str:
    return f"{values[0]:.0f}, {values[1]:.0f}"


def _row(values: Array) -> str:
    return ", ".join(f"{v:.3g}" for v in values)
