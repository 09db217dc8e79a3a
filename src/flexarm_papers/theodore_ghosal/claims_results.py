"""Claims of section V about Table I, Figs. 4 to 7 and finite elements, and studies of our own."""

from itertools import pairwise

import numpy as np

from flexarm_papers.theodore_ghosal.claims_model import LINE, ROUNDING, row
from flexarm_papers.theodore_ghosal.compute import (
    BLEND,
    BLENDS,
    DIRECTIONS,
    DURATION,
    LONG,
    SHORT,
    SIGN,
    Array,
    Flexible,
    apart,
    in_line,
    joint_inertias,
    joints_along,
    load_of,
    motion,
    sliding,
    varied,
)
from flexarm_papers.theodore_ghosal.runs import FROZEN, PAPER, Runs
from flexarm_papers.verdicts import Check, Claim, Part, above, below, near, within

SOLVER = 1e-6
"""Bound of a simulated joint's error [rad, m, 1/s]. The solver's relative tolerance is 1e-8."""

# -- section V ---------------------------------------------------------------------------------------------------------


def table_1(runs: Runs) -> Part:
    """Return the claims of Table I about the arm's numbers."""
    (base, shoulder, slide), (_, beam) = runs.arm.links, sliding(runs.arm)
    rows: tuple[tuple[float, float, float], ...] = (
        (base.body.total_mass, 3.7051, 5e-5),
        (shoulder.body.total_mass, 0.3310, 5e-5),
        (beam.total_mass, 0.4303, 5e-5),
        (load_of(runs.arm), 0.0828, 5e-5),
        (base.body.length, 0.1, 0.05),
        (shoulder.body.length, 0.3, 0.05),
        (slide.body.length, 1.3, 0.05),
        (joint_inertias(runs.arm)[0], 0.352, 5e-4),
        (joint_inertias(runs.arm)[1], 3.2, 0.05),
        *((beam.stiffness[d], 1165.4916, 5e-5) for d in "yz"),
    )
    return Part(
        "Table I",
        "Masses, lengths, inertias and stiffness of the arm.",
        [
            Claim(
                "Table I",
                "Masses [kg], lengths [m], inertias of joints 1 and 2 [kg m^2], bending stiffness of link 3 [N m^2].",
                row([printed for _, printed, _ in rows[:-1]], 8),
                row([ours for ours, _, _ in rows[:-1]], 8),
                [near(ours, printed, half) for ours, printed, half in rows],
                note="Read from the bundled arm. Not printed: damping (none here), the joints' axes (Fig. 3 is not in "
                "the text; a Stanford arm here), and what I_1 and I_2 count (here the whole of joints 1 and 2).",
            )
        ],
    )


def desired_motion(runs: Runs) -> Part:
    """Return the claim of Fig. 4."""
    ends, checks = [], []
    for d in DIRECTIONS:
        q, qd = (runs.simulated(d)[name].values[:, :3] for name in ("q", "qd"))
        moved = q[1000] - q[0]
        ends.append((np.degrees(moved[0]), np.degrees(moved[1]), q[0, 2], q[1000, 2]))
        a, z = (SHORT, LONG) if d == "extension" else (LONG, SHORT)
        printed = (180.0, -90.0, a, z)
        checks += [near(x, y, SOLVER) for x, y in zip(ends[-1], printed, strict=True)]
        checks += [below(np.ptp(qd[101:900], axis=0).max(), SOLVER), below(np.abs(qd[[0, 1000]]).max(), SOLVER)]
    return Part(
        "Fig. 4",
        "The joints' desired motion: straight lines with parabolic blends.",
        [
            Claim(
                "Fig. 4",
                "In 1.0 s joint 1 turns by 180, joint 2 by -90 degrees, and link 3 slides from 0.3 to 1.0 m or back.",
                "180, -90; 0.3 to 1.0, 1.0 to 0.3",
                f"{ends[0][0]:.6g}, {ends[0][1]:.6g}; {ends[0][2]:.6g} to {ends[0][3]:.6g}, {ends[1][2]:.6g} to "
                f"{ends[1][3]:.6g}",
                checks,
                note="From rest to rest, at constant rates between 0.1 and 0.9 s. The blend time is not printed; see "
                "section II, U.",
            )
        ],
        "theodore-ghosal-fig4.svg",
    )


def left_to_vibrate(runs: Runs, direction: str, name: str, blend: float) -> float:
    """Return the vibration of the tip in the last fifth of the uniform motion over that in the first.

    Both planes count together. The bending under the load, D K^-1 g, is subtracted.
    """
    reference, model = motion(direction, blend=blend), runs.model(name)
    t, _, tip = model.run(reference)
    size = np.linalg.norm(tip - model.follows(reference, t), axis=1)  # jumps at the corners with the load
    fifth = (DURATION - 2 * blend) / 5
    early, late = (size[(t > a + 1e-6) & (t < a + fifth - 1e-6)].max() for a in (blend, DURATION - blend - fifth))
    return float(late / early)


def vibration(runs: Runs) -> Part:
    """Return the claims of Fig. 5."""
    ratio = {d: left_to_vibrate(runs, d, PAPER, BLEND) for d in DIRECTIONS}
    frequency, predicted = {}, {}
    fifth = (DURATION - 2 * BLEND) / 5
    for d in DIRECTIONS:
        omega = runs.eigenvalues(PAPER, d).imag[:, 0]
        frequency[d] = float(omega[FROZEN < 0.9][-1] / omega[FROZEN > 0.1][0])
        v, into = runs.vibration(d), fifth if d == "extension" else 0.0  # the largest of a window is at its wider end
        early, late = (v.adiabatic[np.searchsorted(v.t, a + into)] for a in (BLEND, DURATION - BLEND - fifth))
        predicted[d] = float(late / early)
    peaks = [1e3 * np.abs(runs.tip(PAPER, d)).max(axis=0) for d in DIRECTIONS]
    in_time = max(apart(runs.tip("fixed", d), runs.simulated(d).deflection.values[:1001, -1, 1:]) for d in DIRECTIONS)
    off = runs.off(PAPER)
    claims = [
        Claim(
            f"Fig. 5, {d}",
            "The amplitude rises while the frequency falls."
            if d == "extension"
            else "The amplitude falls while the frequency rises.",
            "rises; falls" if d == "extension" else "falls; rises",
            f"vibration of the tip times {ratio[d]:.2f}, first frequency times {frequency[d]:.2f}",
            [
                above(SIGN[d] * (1 - ratio[d]), 0.0),
                above(SIGN[d] * (frequency[d] - 1), 0.0),
                within(ratio[d], predicted[d], 0.05),
            ],
            note=f"First to last fifth of the uniform motion; (M omega)^(-1/2) says {predicted[d]:.2f}. Both planes "
            "together, less the bending under the load.",
        )
        for d in DIRECTIONS
    ]
    return Part(
        "Fig. 5",
        "Vibration of both modes along Fig. 4.",
        [
            *claims,
            Claim(
                "Fig. 5, size",
                "Largest deflections of the tip out of and in plane [mm], extension; retraction.",
                "",
                "; ".join(row(p) for p in peaks),
                [below(in_time, 0.1), below(off, 0.05)],
                note=f"The text has no numbers. Another method of integration differs by {in_time:.2f} percent of the "
                f"largest, 10 finite elements by {off:.3f}. Sizes depend on the blend time and on Fig. 3; see below.",
            ),
        ],
        "theodore-ghosal-fig5.svg",
    )


def response(runs: Runs) -> Part:
    """Return the claims of sections IV and V about the stability of the motion."""
    out, back = (runs.vibration(d) for d in DIRECTIONS)
    frozen = [float(v.frozen[-1] / v.frozen[0]) for v in (out, back)]
    ratio = left_to_vibrate(runs, "retraction", PAPER, BLEND)
    others = [left_to_vibrate(runs, "retraction", "fixed", b) for b in BLENDS]
    across = 1e3 * np.abs(runs.tip(PAPER, "retraction")[:, 0])
    at_first, later = across[:200].max(), across[200:700].max()
    return Part(
        "Sections IV and V, stability",
        "The paper concludes from the real parts that the response is stable on extension, unstable on retraction.",
        [
            Claim(
                "Section IV, real parts",
                "Negative real parts of the frozen eigenvalues mean a stable response, positive ones an unstable one.",
                "decays; grows",
                f"amplitude times {out.amplitude:.2f} out, {back.amplitude:.2f} back; by the real parts alone "
                f"{frozen[0]:.2f} and {frozen[1]:.2f}",
                [Check(out.amplitude, 0.0, 1.0), above(back.amplitude, 1.0)],
                note="It is the other way round. Real parts of frozen eigenvalues do not decide the stability of a "
                "system that changes with time. Tried: free and forced vibration, both directions.",
            ),
            Claim(
                "Section V, unstable",
                "On retraction the response is unstable (see Fig. 5).",
                "grows",
                f"vibration of the tip, along Fig. 4, times {ratio:.2f}",
                [above(ratio, 1.0)],
                note=f"Tried: blends of {row(BLENDS)} s (times {row(others)}), fixed and following shapes. The part "
                f"out of plane does grow, from {at_first:.1f} mm before 0.2 s to {later:.1f} mm: turning about its own "
                "axis carries vibration over from the other plane. Both together fall.",
            ),
        ],
        "theodore-ghosal-amplitude.svg",
    )


def eigenvalues(runs: Runs, figure: str, d: str) -> Part:
    """Return the claims of Fig. 6 or 7."""
    sign, word = SIGN[d], "negative" if SIGN[d] < 0 else "positive"
    found = runs.eigenvalues(PAPER, d)
    steady = (FROZEN > BLEND) & (FROZEN < DURATION - BLEND)
    real = sign * found.real
    wrong = FROZEN[real.min(axis=1) < 0]
    means = []
    for blend in BLENDS:
        x = sign * runs.eigenvalues(PAPER, d, blend=blend).real
        means.append(float(((x[:, ::2] + x[:, 1::2]) / 2).min()))
    alone = float((sign * runs.eigenvalues(PAPER, d, slewing=False).real).min())
    alpha = float(joints_along(motion(d), FROZEN[:1])[2][0, 0])
    split, expected = float(np.ptp(found[0, :2].real)) / 2, alpha / float(found[0, :2].imag.sum())
    t = FROZEN[[0, -1]]
    exact = [runs.model(PAPER).frequencies(float(l))[0] for l in joints_along(motion(d), t)[0][2]]
    first = found[[0, -1], :2].imag.mean(axis=1)
    return Part(
        f"Fig. {figure}",
        f"Eigenvalues with time frozen, while link 3 {'extends' if sign < 0 else 'retracts'}: {word} real parts.",
        [
            Claim(
                f"Fig. {figure}, uniform motion",
                f"All real parts are {word} while the joints move uniformly, as section IV supposes.",
                word,
                f"{' to '.join(f'{x:.3g}' for x in (found.real[steady].min(), found.real[steady].max()))} 1/s",
                [above(real[steady].min(), 0.0)],
                note="From 0.1 to 0.9 s; two modes, two planes.",
            ),
            Claim(
                f"Fig. {figure}, blends",
                f"All real parts are {word} during the whole motion.",
                word,
                f"until {wrong.max(initial=0.0):.2g} s one has the other sign, up to {abs(real.min()):.2g} 1/s",
                [above(real.min(), 0.0)],
                "Take the mean over the two planes of each mode, or let joint 1 not speed up.",
                [*(above(x, 0.0) for x in means), above(alone, 0.0), within(split, expected, 0.01)],
                f"Joint 1 speeds up and the beam lies along its axis: Euler's force splits the planes by "
                f"+-alpha / (2 omega) = {expected:.2g} 1/s, a matter of the turning frame. The mean has the sign for "
                f"blends of {row(BLENDS)} s.",
            ),
            Claim(
                f"Fig. {figure}, frequencies",
                "First frequency at the start and at the end [rad/s].",
                "",
                row(first, 4),
                [within(a, b, 0.002) for a, b in zip(first, exact, strict=True)],
                note="The text has no numbers; read yours off the figure. The dispersion relation, corrected, gives "
                f"{row(exact, 4)} for a beam that does not turn.",
            ),
        ],
        f"theodore-ghosal-fig{figure}.svg",
    )


def finite_elements(runs: Runs) -> Part:
    """Return the claim of section V and [19] about finite elements."""
    off = runs.off(PAPER)
    return Part(
        "Section V, [19]",
        "Two assumed modes give the motion of a finite element model.",
        [
            Claim(
                "Section V, [19]",
                "The results compare favorably with those of a finite element model.",
                "favorably",
                f"tip off by {off:.3f} percent of the largest deflection with 2 modes",
                [below(off, 0.05)],
                note=f"Against 10 elements in each plane, along Fig. 4. A figure's line is some {LINE:g} percent wide.",
            ),
        ],
        "theodore-ghosal-elements.svg",
    )


# -- additional studies ------------------------------------------------------------------------------------------------


def studies(runs: Runs) -> list[Part]:
    """Return the studies of forces, of the sign in Figs. 6 and 7, and of what the text does not state."""
    audit = max(runs.simulated(d).attrs["energy_drift"] for d in DIRECTIONS)
    largest = np.max([np.abs(runs.simulated(d).u.values).max(axis=0) for d in DIRECTIONS], axis=0)
    trace, same = 0.0, 0.0
    for d in DIRECTIONS:
        ours, theirs = (runs.eigenvalues(name, d).real.sum(axis=1) for name in ("fixed", "eq. 24"))
        growth = modal_rate(runs.model("fixed"), d, FROZEN)
        trace = max(trace, float(np.abs(ours - growth).max() / np.abs(ours).max()))
        same = max(same, float(np.abs(ours - theirs).max() / np.abs(ours).max()))
    following = runs.off(PAPER)
    fixed = [runs.off(name) for name in ("1 mode, fixed", "fixed", "3 modes, fixed")]
    elements = [runs.off(f"{n} elements") for n in (2, 4)]
    falling = [above(a / b, 5.0) for series in (fixed, elements) for a, b in pairwise(series)]
    sizes = runs.blends()
    scaled = [float(x.max() * b * (1 - b)) for b, x in sizes.items()]
    other = Flexible(varied(in_line(runs.arm), wave_numbers="fixed"))
    steady = FROZEN[(FROZEN > BLEND) & (FROZEN < DURATION - BLEND)]
    signs = [float((SIGN[d] * other.eigenvalues(motion(d), steady).real.sum(axis=1)).min()) for d in DIRECTIONS]
    return [
        Part(
            "Forces",
            "The joints' torques and the force on link 3 along Fig. 4.",
            [
                Claim(
                    "Forces",
                    "Largest torque of joints 1 and 2 [N m], largest force on link 3 [N].",
                    "",
                    row(largest),
                    [below(audit, 1e-9)],
                    note=f"Their work is the arm's energy to {audit:.0e}. Shapes fixed.",
                )
            ],
            "theodore-ghosal-efforts.svg",
            study=True,
        ),
        Part(
            "Sign of the real parts",
            "Where the sign in Figs. 6 and 7 comes from: the mass that vibrates grows or shrinks.",
            [
                Claim(
                    "Sum of the real parts",
                    "It is -1/2 tr(M^-1 dM/dt), with eq. 24 as printed and as corrected.",
                    "",
                    f"the same to {trace:.0e}; printed against corrected to {same:.0e}",
                    [below(trace, 1e-8), below(same, ROUNDING)],
                    note="Not the rate of the stiffness (eqs. 42, 43). Fixed shapes.",
                )
            ],
            study=True,
        ),
        Part(
            "Convergence",
            "Modes and finite elements tend to the same motion.",
            [
                Claim(
                    "Convergence",
                    "Tip against 10 elements [percent]: 1, 2, 3 modes of fixed shape; 2 that follow; 2, 4 elements.",
                    "",
                    f"{row(fixed, 2)}; {row(following, 2)}; {row(elements, 2)}",
                    [*falling, below(fixed[-1], 0.15), below(following, 0.03), below(elements[-1], 0.3)],
                    note="Ten elements themselves are off by some 0.005: the error falls with the fourth power.",
                )
            ],
            study=True,
        ),
        Part(
            "What is not printed",
            "Blend time and Fig. 3: what depends on our choice and what does not.",
            [
                Claim(
                    "Blend time",
                    "The largest deflection [mm] is proportional to the acceleration, 1 / (b (1 - b)).",
                    "",
                    ", ".join(f"{x.max():.2f} for b = {b:g} s" for b, x in sizes.items()),
                    [within(x, scaled[1], 0.1) for x in scaled],
                    note="The larger plane and direction.",
                ),
                Claim(
                    "Link 2 in line with link 3",
                    "Another reading of Fig. 3: other deflections [mm], the same signs in Figs. 6 and 7.",
                    "",
                    f"{row(runs.largest(BLEND, across=False))} instead of {row(runs.largest(BLEND))}, out and back",
                    [above(x, 0.0) for x in signs],
                ),
            ],
            study=True,
        ),
    ]


def modal_rate(flexible: Flexible, direction: str, t: Array) -> Array:
    """Return -1/2 tr(M^-1 dM/dt), the sum of the real parts of the frozen-time eigenvalues for fixed shapes."""
    h, reference = 1e-6, motion(direction)
    before, at, after = (flexible.along(reference, t + s)[0] for s in (-h, 0.0, h))
    value: Array = -0.5 * np.trace(np.linalg.solve(at, (after - before) / (2 * h)), axis1=1, axis2=2)
    return value
