"""Claims of Subudhi & Morris 2002 about Figs. 4 to 6, and the same claims when both arms have their rotors.

The figures compare an arm with rigid joints, eq. 55, to one with elastic joints, eqs. 53 and 54. Eq. 55 as printed has
no rotors. That is the arm `response("none")`.
"""

from functools import cache
from typing import Any

import numpy as np

from flexarm import Solver
from flexarm_papers.subudhi_morris.compute import (
    DAMPING,
    KS,
    PULSE,
    ROTORS,
    TORQUE,
    Array,
    L,
    Rotor,
    apart,
    arm,
    damping_of,
    early,
    faded,
    frequencies_of,
    grown,
    mode_amplitudes,
    oscillation,
    remaining,
    response,
    run,
    spring,
    tip_deflections,
)
from flexarm_papers.subudhi_morris.modes import EQ_47, shapes_of
from flexarm_papers.subudhi_morris.words import changes, numbers
from flexarm_papers.verdicts import Check, Claim, Part, above, below, holds, near

ABSOLUTE = "The elastic arm's rotors are absolute, as in eq. 47, not those of eq. 53."
SEEN = 2.0
"""Increase of a curve that a reader of a figure can see [percent]."""
LITTLE, MUCH = 0.25, 0.75
"""Remaining shares below which a vibration counts as decayed, and above which it counts as not decayed."""
LIGHT = DAMPING[0]


def parts() -> list[Part]:
    """Return the claims about Figs. 4 to 6 and the conclusions of section 6."""
    return [
        Part(
            "Fig. 4",
            "Joint angles and the first mode of link 1 under two opposite pulses of torque; with elastic joints all of "
            "them oscillate more.",
            [pulses(), angles(), grows("Fig. 4(d)", "The first mode of link 1 is larger", (0,))],
            "subudhi-morris-fig4.svg",
        ),
        Part(
            "Fig. 5",
            "The other modes and the tip of link 1; with elastic joints they are larger.",
            [modes(), tip("Fig. 5(d)", 0)],
            "subudhi-morris-fig5.svg",
        ),
        Part(
            "Fig. 6",
            "The tip of link 2, larger with elastic joints, and the deflections of the joints.",
            [tip("Fig. 6(a)", 1), joints()],
            "subudhi-morris-fig6.svg",
        ),
        Part(
            "Section 6, text",
            "With elastic joints the vibrations do not decay and have another frequency; Runge-Kutta at 1 ms.",
            [decay(), which_arms(), frequency(), runge_kutta(), energy()],
        ),
        Part(
            "Section 6, conclusion",
            "The paper says that the elastic joints cause all this. It is the rotors missing in eq. 55: with rotors in "
            "both arms little of it is left.",
            [cause_modes(), cause_tips(), cause_oscillation(), cause_decay(), rotors_alone()],
            "subudhi-morris-rotors.svg",
        ),
        Part("Assumption (IV)", "The links bend very little.", [small()]),
    ]


# -- the figures -------------------------------------------------------------------------------------------------------


def growth(measure: Any, elastic: Rotor, damping: float) -> Array:
    """Return the increase of a measure with elastic joints against eq. 55 as printed, in percent."""
    return grown(measure, response("none", None, damping), response(elastic, KS, damping))


def pulses() -> Claim:
    """Return the claim about the torque."""
    u = early(response("absolute", KS, LIGHT)).u.values
    levels = [u[at] for at in (0, 499, 501, 999, 1001, 2000)]
    expected = np.repeat([TORQUE, -TORQUE, 0.0], 2)
    return Claim(
        *("Fig. 4(a)", "Each rotor gets 0.2 N m for 0.5 s, then -0.2 N m for 0.5 s, then nothing."),
        printed="0.2 N m, 0.5 s",
        ours="the same",
        checks=[near(x, level, 0.0) for pair, level in zip(levels, expected, strict=True) for x in pair],
    )


def angles() -> Claim:
    """Return the claim about the oscillation of the link angles."""
    printed = growth(oscillation, "relative", LIGHT)
    ours = [growth(oscillation, "absolute", damping) for damping in DAMPING]
    times = [1 + x / 100 for x in ours]
    return Claim(
        *("Figs. 4(b), (c)", "With elastic joints the link angles oscillate more.", "more oscillatory"),
        f"from 1 to 2 s {numbers(times[0], 2)} times as much (angles 1, 2; 1 percent of damping), "
        f"{numbers(times[1], 2)} times at 2 percent; with eq. 53's rotors {numbers(1 + printed / 100, 2)} times",
        checks=[above(x, SEEN) for x in printed],
        correction=ABSOLUTE,
        corrected=[above(x, SEEN) for x in np.concatenate(ours)],
        note="Deviation from the mean drift, root mean square.",
    )


def grows(where: str, says: str, which: tuple[int, ...], names: str = "") -> Claim:
    """Return a claim about the largest amplitudes of modes."""
    at = list(which)
    printed = growth(mode_amplitudes, "relative", LIGHT)[at]
    ours = [growth(mode_amplitudes, "absolute", damping)[at] for damping in DAMPING]
    same = grown(mode_amplitudes, with_shapes_of_eq_47(), response("absolute", KS, LIGHT))[at]
    return Claim(
        *(where, f"{says} with elastic joints.", "greater"),
        f"{changes(ours[0])} percent{names} at 1 percent of damping, {changes(ours[1])} at 2; with eq. 53's rotors "
        f"{changes(printed)}",
        checks=[above(x, SEEN) for x in printed],
        correction=ABSOLUTE,
        corrected=[above(x, SEEN) for x in np.concatenate([*ours, same])],
        note=f"If eq. 55 uses the shapes of eq. 47 too: {changes(same)}.",
    )


def modes() -> Claim:
    """Return the claim about the other three modes."""
    says = "The second mode of link 1 and both modes of link 2 are larger"
    return grows("Figs. 5(a) to (c)", says, (1, 2, 3), " (modes 12, 21, 22)")


@cache
def with_shapes_of_eq_47() -> Any:
    """Return the run by eq. 55 as printed with the shapes that carry J_2, as in the elastic arm."""
    return run(arm("none", shapes=(shapes_of(EQ_47[0]), shapes_of(EQ_47[1])), damping=LIGHT), samples=2001)


def tip(where: str, link: int) -> Claim:
    """Return the claim about the largest tip deflection of a link."""
    printed = growth(tip_deflections, "relative", LIGHT)[link]
    ours = [growth(tip_deflections, "absolute", damping)[link] for damping in DAMPING]
    return Claim(
        *(where, f"The tip of link {link + 1} bends more with elastic joints.", "greater"),
        f"{ours[0]:+.0f} percent at 1 percent of damping, {ours[1]:+.0f} at 2; with eq. 53's rotors {printed:+.0f}",
        checks=[above(printed, SEEN)],
        correction=ABSOLUTE,
        corrected=[above(x, SEEN) for x in ours],
    )


def joints() -> Claim:
    """Return the claim about the deflections of the joints."""
    found = {rotor: 1e3 * np.abs(spring(response(rotor, KS, LIGHT))).max(axis=0) for rotor in ROTORS}
    still = 1e3 * TORQUE / KS
    return Claim(
        *("Fig. 6(b)", "Both link angles deviate from those of their rotors.", "deviations"),
        f"up to {numbers(found['absolute'], 2)} mrad; with eq. 53's rotors {numbers(found['relative'], 2)}",
        checks=[Check(x, still, 10 * still) for each in found.values() for x in each],
        note=f"The torque alone would twist a joint by {still:g} mrad; the links' inertia adds to it.",
    )


# -- the text ----------------------------------------------------------------------------------------------------------


def decay() -> Claim:
    """Return the claim about the vibration after 3 s, against the first half second and the one after the torque."""
    rigid = [response("none", None, damping) for damping in DAMPING]
    elastic = [response("absolute", KS, damping) for damping in DAMPING]
    times = ((0.0, PULSE), (2 * PULSE, 3 * PULSE), (3.0, 3.5))
    sizes = [[1e3 * tip_deflections(result, *time) for time in times] for result in (rigid[0], elastic[0])]
    first, second = ([numbers([at[link] for at in each], 2) for each in sizes] for link in (0, 1))
    undamped = remaining(response("none"))
    return Claim(
        *("Section 6, decay", "The vibrations decay with rigid joints and do not with elastic ones.", "do not decay"),
        f"tip of link 1 in the first half second, in that after the torque, after 3 s [mm]: rigid {first[0]}, elastic "
        f"{first[1]}; tip of link 2: rigid {second[0]}, elastic {second[1]} (1 percent of damping)",
        checks=[*decays(rigid[0]), *stays(response("relative", KS, LIGHT))],
        correction=ABSOLUTE,
        corrected=[
            *(check for result in rigid for check in decays(result)),
            *(check for result in elastic for check in stays(result)),
            *(above(x, LITTLE) for x in undamped),
        ],
        note="The d_ij are not printed. Without damping the tips of the rigid arm keep "
        f"{numbers(100 * undamped)} percent, so there was some.",
    )


def decays(result: Any) -> list[Check]:
    """Return the checks that the vibration decays.

    Both tips fall well below their first half second, that of link 1 also below the half second after the torque.
    """
    return [below(x, LITTLE) for x in (*remaining(result), faded(result)[0])]


def stays(result: Any) -> list[Check]:
    """Return the checks that the vibration does not decay."""
    return [above(x, MUCH) for x in (*remaining(result), faded(result)[0])]


def which_arms() -> Claim:
    """Return the claim about the pairs of arms for which all statements hold."""
    fits: list[tuple[str, str]] = []
    all_but_decay: list[tuple[str, str]] = []
    for rigid in ("none", *ROTORS):
        for elastic in ROTORS:
            pair: tuple[Any, Any] = response(rigid, None, LIGHT), response(elastic, KS, LIGHT)
            larger = np.concatenate([grown(of, *pair) for of in (oscillation, mode_amplitudes, tip_deflections)])
            if (larger > SEEN).all():
                whole = all(check.met for check in (*decays(pair[0]), *stays(pair[1])))
                (fits if whole else all_but_decay).append((rigid, elastic))
    left = faded(response("relative", None, LIGHT))[0]
    return Claim(
        *("Section 6, which arms", "Rigid joints without, with relative or absolute rotors, against elastic ones.", ""),
        f"of six pairs, all sentences hold for {_pairs(fits)}; all but the decay for {_pairs(all_but_decay)}",
        checks=[holds(fits == [("none", "absolute")])],
        note="With 1 percent of damping. Relative rotors with rigid joints leave little vibration after the torque, "
        f"but that stays: {100 * left:.0f} percent at the tip of link 1.",
    )


def _pairs(found: list[tuple[str, str]]) -> str:
    return ", ".join(f"{rigid} (rigid) and {elastic} (elastic)" for rigid, elastic in found) or "none"


def frequency() -> Claim:
    """Return the claim about the lowest frequency."""
    lowest = {(rotor, ks): frequencies_of(rotor, ks)[0] for rotor in ROTORS for ks in (None, KS)}
    rigid = frequencies_of("none")[0]
    return Claim(
        *("Section 6, frequency", "Elastic joints change the tips' vibration in amplitude and frequency.", "both"),
        f"lowest vibration {rigid:.1f} rad/s by eq. 55, {lowest['absolute', KS]:.1f} with elastic joints (eq. 53's "
        f"rotors: {lowest['relative', KS]:.1f})",
        checks=[above(abs(lowest[rotor, KS] / rigid - 1), 0.1) for rotor in ROTORS],
        note=f"It falls. Rigid joints with rotors: {lowest['absolute', None]:.1f} ({lowest['relative', None]:.1f}).",
    )


def runge_kutta() -> Claim:
    """Return the claim about fixed steps."""
    result = run(arm("absolute", KS, damping=LIGHT), solver=Solver(method="rk4", step=1e-3), samples=401)
    error = float(apart(result, response("absolute", KS, LIGHT).sel(time=result.time, method="nearest")).max())
    bent = 1e3 * tip_deflections(result).max()
    highest = {rotor: 1e-3 * float(frequencies_of(rotor, KS)[-1]) for rotor in ROTORS}
    return Claim(
        *("Section 6, method", "Fourth-order Runge-Kutta with steps of 1 ms is accurate enough.", "1 ms"),
        f"the tip is within {error:.2g} mm of that of DOP853",
        checks=[below(error / bent, 1e-3), *(below(x, 2.83) for x in highest.values())],
        note="Required: a thousandth of the deflection. The method is stable up to omega h = 2.83; the arm has "
        f"{highest['absolute']:.2f}, with eq. 53's rotors {highest['relative']:.2f}.",
    )


def energy() -> Claim:
    """Return the claim about the energy balance of every run in the figures."""
    runs = [response("none", None, LIGHT), *(response(rotor, KS, LIGHT) for rotor in ROTORS)]
    drift = max(result.attrs["energy_drift"] for result in runs)
    return Claim(
        *("Eqs. 6 to 25, 42", "Work of the torques, energy and dissipation belong to one Lagrangian.", ""),
        f"in the runs of the figures they balance to {drift:.0e}",
        checks=[below(drift, 1e-6)],
        note="A wrong velocity term would make or lose energy.",
    )


# -- the conclusion ----------------------------------------------------------------------------------------------------


def change(measure: Any, rotor: Rotor, damping: float = LIGHT) -> Array:
    """Return the change by elastic joints when both arms have the same rotors, in percent."""
    return grown(measure, response(rotor, None, damping), response(rotor, KS, damping))


def _same_rotors(where: str, says: str, printed: str, measure: Any, what: str, note: str = "") -> Claim:
    found = {(rotor, damping): change(measure, rotor, damping) for rotor in ROTORS for damping in (LIGHT, 0.0)}
    said = "; ".join(
        f"{rotor} {changes(found[rotor, LIGHT])} (undamped {changes(found[rotor, 0.0])})" for rotor in ROTORS
    )
    return Claim(
        *(where, says, printed),
        f"the same rotors in both arms, percent: {said}; {what}",
        checks=[above(x, SEEN) for each in found.values() for x in each],
        note=note,
    )


def cause_modes() -> Claim:
    """Return the claim about modes, with rotors in both arms."""
    return _same_rotors(
        "Conclusion, modes",
        "The elasticity of the joints excites greater first and second modes in both links.",
        "greater",
        mode_amplitudes,
        "modes 11, 12, 21, 22",
        "Tried: relative and absolute rotors, each with 1 percent of damping and without.",
    )


def cause_tips() -> Claim:
    """Return the claim about tips, with rotors in both arms."""
    says = "It leads to significant tip deflections."
    return _same_rotors("Conclusion, tips", says, "greater", tip_deflections, "tips 1, 2")


def cause_oscillation() -> Claim:
    """Return the claim about angles, with rotors in both arms."""
    says = "The links oscillate more than if the joints were rigid."
    return _same_rotors("Conclusion, angles", says, "more oscillatory", oscillation, "angles 1, 2")


def cause_decay() -> Claim:
    """Return the claim about decay, with rotors in both arms."""
    rigid, elastic = ({rotor: response(rotor, ks, LIGHT) for rotor in ROTORS} for ks in (None, KS))
    said = "; ".join(
        f"{rotor} rotors {100 * faded(rigid[rotor])[0]:.0f} (rigid) and {100 * faded(elastic[rotor])[0]:.0f} (elastic)"
        for rotor in ROTORS
    )
    return Claim(
        *("Conclusion, decay", "Vibrations decay with rigid joints only.", "with rigid joints only"),
        f"the same rotors in both arms, percent left of the tip of link 1 from the end of the torque to 3 s: {said}",
        checks=[check for rotor in ROTORS for check in (*decays(rigid[rotor]), *stays(elastic[rotor]))],
        note="Rigid and elastic joints decay alike.",
    )


def rotors_alone() -> Claim:
    """Return the claim about the effect of the rotors alone on the arm with rigid joints."""
    bare, mounted, elastic = (
        response("none", None, LIGHT),
        response("absolute", None, LIGHT),
        response("absolute", KS, LIGHT),
    )
    second = {rotor: (frequencies_of(rotor)[1], 100 * damping_of(rotor, LIGHT)[1]) for rotor in ("none", "absolute")}
    rotors, springs = (1 + grown(oscillation, *pair) / 100 for pair in ((bare, mounted), (mounted, elastic)))
    return Claim(
        *("What the rotors do", "Rigid joints in both: eq. 55 as printed, and with absolute rotors.", ""),
        f"the rotors alone make the angles oscillate {numbers(rotors, 2)} times as much, the springs then "
        f"{numbers(springs, 3)} times; the tip of link 1 keeps {100 * remaining(mounted)[0]:.0f} percent instead of "
        f"{100 * remaining(bare)[0]:.0f}. The second vibration, in which link 1 bends, has "
        f"{second['absolute'][0]:.0f} rad/s and {second['absolute'][1]:.1f} percent of damping instead of "
        f"{second['none'][0]:.0f} and {second['none'][1]:.1f}",
        checks=[
            above(second["none"][1] / second["absolute"][1], 3.0),
            *(above(x, 3.0) for x in rotors),
            *(below(x, 1.2) for x in springs),
            above(remaining(mounted)[0], MUCH),
        ],
        note="So the figures compare an arm with rotors and one without.",
    )


def small() -> Claim:
    """Return the claim about the deflections of the runs relative to the length."""
    found = {which: tip_deflections(response(*which, LIGHT)) / L for which in (("none", None), ("absolute", KS))}
    shares = [100 * x for each in found.values() for x in each]
    return Claim(
        *("Assumption (IV)", "Each link has a very small deflection.", "very small"),
        f"rigid {numbers(shares[:2], 2)} percent of the length, elastic {numbers(shares[2:], 2)}",
        checks=[below(x, 10.0) for x in shares],
        note="Up to 10 percent the tip is right to 1 percent of its path; for larger ones see below.",
    )
