"""Claims of Subudhi & Morris 2002 about their controller, sections 4 to 6, Figs. 7 and 8, with the results here."""

import numpy as np

from flexarm_papers.subudhi_morris import control
from flexarm_papers.subudhi_morris.compute import KS, Array, frequencies_of, spring
from flexarm_papers.subudhi_morris.control import AS_PRINTED, STEADY, LawName, off, residual, tracked
from flexarm_papers.subudhi_morris.gains import (
    NATURAL,
    Linear,
    fast_frequencies,
    least_stiffness,
    readings,
    shown,
    worst,
)
from flexarm_papers.subudhi_morris.words import milli, numbers
from flexarm_papers.verdicts import Check, Claim, Part, below, holds, near

TRACKED = 5e-3
"""Limit of the link angles' error at 2 s for good tracking [rad]."""
SUPPRESSED = 0.1
"""Limit of a vibration from 3 s on, relative to its largest size."""
RESIDUAL = 0.02
"""Limit of the tips' deflection from 3 s on, relative to what the bang-bang torque of Fig. 4(a) leaves."""
CORRECTION = (
    "Two neglected terms are included. The slow law uses the momentum of the joints, which does not contain the "
    "vibrations. The fast law damps deviations from the bending that the motion needs, not the bending itself."
)
LAWS = {
    "rotors": "rotors' angles in eq. 69",
    "links": "links' angles and 1 percent of damping",
    "gains": "the printed fast gains",
}


def parts() -> list[Part]:
    """Return the claims of eqs. 61 to 70, of Figs. 7 and 8, and of the gains."""
    return [
        Part("Eq. 67", "The fast subsystem: its frequencies.", [eq_67()]),
        Part("Eqs. 66, 69", "The slow law: computed torque of the rigid arm.", [eq_69(), stable()]),
        Part(
            "Figs. 7, 8: the law as printed",
            "Tracking is good and every vibration dies out. With the paper's own law neither is so.",
            [angles_as_printed(), springs_as_printed(), modes_as_printed(), tips_as_printed()],
            "subudhi-morris-fig7.svg",
        ),
        Part(
            "Fig. 7: the law corrected",
            "Two terms that the paper leaves out are put back; then it tracks and damps.",
            [angles_corrected(), springs_corrected()],
            "subudhi-morris-fig7.svg",
        ),
        Part(
            "Fig. 8: the law corrected",
            "The other modes, the tips and the torques.",
            [modes_corrected(), tips_corrected(), torques(), sampled()],
            "subudhi-morris-fig8.svg",
        ),
        Part(
            "Section 6, fast gains",
            "The printed gains K_pf, K_vf damp the fast motion, once it is clear what they multiply.",
            [gains_fast(), gains_whole()],
        ),
        Part("One arm", "Gains, controller and Figs. 4 to 6 belong to one arm.", [gains_absolute(), law_absolute()]),
    ]


# -- the equations -----------------------------------------------------------------------------------------------------


def eq_67() -> Claim:
    """Return the claim of eq. 67 about the fast matrix."""
    truth = frequencies_of("relative", KS)
    printed, ours = (fast_frequencies(which) for which in (True, False))
    return Claim(
        *("Eq. 67, A_f", "The springs' rows have J^-1 K_s alone, the links' rows H_22 K_w and H_21 K_s.", "A_f"),
        f"{numbers(ours[:4])} rad/s, as the straight arm has them; as printed {numbers(printed[:4])}",
        checks=[near(a / b, 1.0, 1e-6) for a, b in zip(printed, truth, strict=True)],
        correction="The joints accelerate as fast as the springs move, so A_f must include their acceleration.",
        corrected=[near(a / b, 1.0, 1e-6) for a, b in zip(ours, truth, strict=True)],
        note="As printed, A_f has the vibrations of the arm of eq. 55, without rotors, and of two separate rotors.",
    )


def eq_69() -> Claim:
    """Return the claim of eq. 69, on the rigid arm."""
    printed, ours = control.off_by_eq_69(False), control.off_by_eq_69(True)
    return Claim(
        *("Eq. 69", "The slow torque is (M_11 + J) times the acceleration wanted.", "no f_1"),
        f"a rigid arm strays by {1e3 * printed:.0f} mrad; with f_1 by {1e3 * ours:.1g}",
        checks=[below(printed, TRACKED)],
        correction="The velocity terms f_1 of eq. 66 are included.",
        corrected=[below(ours, 1e-4)],
        note="All other rows include f_1.",
    )


def stable() -> Claim:
    """Return the claim about the poles of the whole arm under the printed controller."""
    K = control.design()["K_p"], control.design()["K_d"]
    links, rotors = worst(Linear("relative").poles(*K)), worst(Linear("relative", True).poles(*K))
    damped = worst(Linear("relative", damping=STEADY).poles(*K))
    return Claim(
        *("Eqs. 68 to 70, stability", "The composite law stabilises links and joints.", "stable"),
        f"rightmost pole of the arm at its end: links' angles in eq. 69 {shown(links)} 1/s, rotors' {shown(rotors)}",
        checks=[holds(links.real < 0)],
        correction="Eq. 69 must use the angles of the rotors, or the links need some damping.",
        corrected=[holds(rotors.real < 0), holds(damped.real < 0)],
        note=f"There is a spring between torque and link. With 1 percent of damping: {shown(damped)}. Gains by LQR.",
    )


# -- figures 7 and 8 ---------------------------------------------------------------------------------------------------


def _damping(name: LawName) -> float:
    return STEADY if name == "links" else 0.0


def _tracks(name: LawName) -> list[Check]:
    return [below(x, TRACKED) for x in off(tracked(name))[0]]


def _suppressed(name: LawName, what: str) -> list[Check]:
    return [below(x, SUPPRESSED) for x in _left(name, what)]


def _left(name: LawName, what: str) -> Array:
    result = tracked(name)
    return control.left_over(result, spring(result) if what == "springs" else result.q.values[:, 2:6])


def _quiet(name: LawName) -> list[Check]:
    return [below(x, RESIDUAL) for x in residual(tracked(name), _damping(name))]


def _best(claims: list[list[Check]]) -> list[Check]:
    """Return the checks of the reading of a controller whose worst value is the smallest."""
    return min(claims, key=lambda checks: max(check.value for check in checks))


def angles_as_printed() -> Claim:
    """Return the claim about tracking by eqs. 66 to 70 in three readings."""
    said = "; ".join(f"{LAWS[name]} {milli(off(tracked(name))[0])}" for name in AS_PRINTED)
    return Claim(
        *("Fig. 7(a), as printed", "The link angles track the reference well.", "good tracking"),
        f"off at 2 s [mrad]: {said}",
        checks=_best([_tracks(name) for name in AS_PRINTED]),
        note=f"Required: {1e3 * TRACKED:g} mrad. The fast part makes it worse than the slow law alone "
        f"({milli(off(tracked('slow'))[0])}). The slowest vibration is only "
        f"{control.design()['separation']:.2g} times as fast as the slow motion.",
    )


def springs_as_printed() -> Claim:
    """Return the claim about the joints under the printed controller."""
    head = ("Fig. 7(b), as printed", "The joint deflections are suppressed.", "suppressed")
    return _as_printed(head, "springs", "")


def modes_as_printed() -> Claim:
    """Return the claim about the modes under the printed controller."""
    head = ("Figs. 7(c), (d), 8(a), (b), as printed", "First and second modes of both links are well damped.", "damped")
    return _as_printed(head, "modes", "modes 11, 12, 21, 22 ")


def _as_printed(head: tuple[str, str, str], what: str, names: str) -> Claim:
    """Return the claim about springs or modes under the printed controller."""
    said = "; ".join(f"{LAWS[name]} {numbers(100 * _left(name, what), 2)}" for name in AS_PRINTED)
    return Claim(
        *head,
        f"{names}left from 3 s on [percent of the largest]: {said}",
        checks=_best([_suppressed(name, what) for name in AS_PRINTED]),
        note=f"Required: {100 * SUPPRESSED:g} percent.",
    )


def tips_as_printed() -> Claim:
    """Return the claim about the tips under the printed controller."""
    said = "; ".join(f"{LAWS[name]} {numbers(100 * residual(tracked(name), _damping(name)))}" for name in AS_PRINTED)
    return Claim(
        *("Fig. 8(c), as printed", "The tip deflections are suppressed.", "suppressed"),
        f"from 3 s on, in percent of what the bang-bang torque leaves: {said}",
        checks=_best([_quiet(name) for name in AS_PRINTED]),
        note=f"Required: {100 * RESIDUAL:g} percent.",
    )


def angles_corrected() -> Claim:
    """Return the claim about tracking by the corrected controller."""
    ours, light = tracked(), tracked("light")
    return Claim(
        *("Fig. 7(a)", "The link angles track the reference well.", "good tracking"),
        f"off at 2 s by {milli(off(ours)[0])} mrad, from 3 s on by {milli(off(ours)[1])} at most; as printed "
        f"{milli(off(tracked('rotors'))[0])} at 2 s",
        checks=_best([_tracks(name) for name in AS_PRINTED]),
        correction=CORRECTION,
        corrected=_tracks("corrected"),
        note=f"During the motion the joints lead and lag by up to {1e3 * off(ours)[2].max():.0f} mrad, and the tip "
        f"stays within {control.astray(ours):.0f} mm of that of a rigid arm. The paper does not print Q and R. With a "
        f"tenth of R the errors at 2 s are {milli(off(light)[0])} mrad.",
    )


def springs_corrected() -> Claim:
    """Return the claim about the joints under the corrected controller."""
    most, late = control.largest(tracked(), 1e3 * spring(tracked()))
    return Claim(
        *("Fig. 7(b)", "The joint deflections are suppressed.", "suppressed"),
        f"largest {numbers(most)} mrad, from 3 s on {numbers(late, 2)}",
        checks=_best([_suppressed(name, "springs") for name in AS_PRINTED]),
        correction=CORRECTION,
        corrected=_suppressed("corrected", "springs"),
    )


def modes_corrected() -> Claim:
    """Return the claim about the modes under the corrected controller."""
    most, late = control.largest(tracked(), 1e3 * tracked().q.values[:, 2:6])
    poles = sorted(control.design()["fast_poles"], key=abs)[::2]
    damped = [-100 * s.real / abs(s) for s in poles]
    return Claim(
        *("Figs. 7(c), (d), 8(a), (b)", "First and second modes of both links are well damped.", "well damped"),
        f"modes 11, 12, 21, 22: largest {numbers(most)} mm, from 3 s on {numbers(late, 2)}",
        checks=_best([_suppressed(name, "modes") for name in AS_PRINTED]),
        correction=CORRECTION,
        corrected=_suppressed("corrected", "modes"),
        note=f"The fast modes, lowest first, have {numbers(damped[:4], 2)} percent of damping. The torques hardly "
        "excite the higher modes.",
    )


def tips_corrected() -> Claim:
    """Return the claim about the tips under the corrected controller."""
    most, late = control.largest(tracked(), 1e3 * tracked().deflection.values[..., 1])
    left = residual(tracked())
    return Claim(
        *("Fig. 8(c)", "The tip deflections are suppressed.", "suppressed"),
        f"largest {numbers(most)} mm, from 3 s on {numbers(late, 2)}: {numbers(100 * left)} percent of what the "
        "bang-bang torque leaves",
        checks=_best([_quiet(name) for name in AS_PRINTED]),
        correction=CORRECTION,
        corrected=_quiet("corrected"),
    )


def torques() -> Claim:
    """Return the claim about the torques, compared with those of a rigid arm."""
    effort, needed = np.abs(tracked().u.values).max(axis=0), control.needed()
    return Claim(
        *("Fig. 8(d)", "Torques of the controller.", ""),
        f"{numbers(effort)} N m at most; the rigid arm needs {numbers(needed)} for the same motion",
        checks=[near(x, 1.0, 0.1) for x in effort / needed],
    )


def sampled() -> Claim:
    """Return the claim about a controller with a period of 1 ms."""
    differ = control.off_continuous()
    return Claim(
        *("Section 6, sampling", "1 ms is short enough for the controller.", "1 ms"),
        f"the tip is within {differ:.2g} mm of that under a continuous law",
        checks=[below(differ, 1.0)],
    )


# -- the printed gains -------------------------------------------------------------------------------------------------


def gains_fast() -> Claim:
    """Return the claim about the fast subsystem under the printed gains."""
    all_ = readings("relative")
    natural = np.array([fast for key, (fast, _) in all_.items() if key[:2] == NATURAL])
    others = sum(fast < 0 for key, (fast, _) in all_.items() if key[:2] != NATURAL)
    return Claim(
        *("Eq. 70, fast gains", "The gains force the fast state to zero.", "K_pf, K_vf"),
        f"columns and signs as printed: stable in all {len(natural)} scalings tried, rightmost pole "
        f"{natural.min():.2g} to {natural.max():.2g} 1/s",
        checks=[holds(x < 0) for x in natural],
        note=f"Relative rotors. Of {len(all_) - len(natural)} other orders, signs and scalings {others} are stable.",
    )


def gains_whole() -> Claim:
    """Return the claim about the whole arm under the printed gains."""
    whole = {key[2:]: both[1] for key, both in readings("relative").items() if key[:2] == NATURAL}
    k_c = least_stiffness("relative")[1]
    printed, ours = whole["k_c zeta", k_c], whole["zeta", k_c]
    return Claim(
        *("Eqs. 61 to 70, whole arm", "The fast state is k_c times the deflections.", "q / epsilon"),
        f"rightmost pole of the arm: {printed:+.2g} 1/s; where K_pf multiplies the deflections themselves {ours:+.2g}",
        checks=[holds(printed < 0)],
        correction="K_pf multiplies the deflections, and K_vf their rates divided by sqrt(k_c).",
        corrected=[holds(ours < 0)],
        note=f"k_c is {k_c:.0f} N m/rad, the smallest stiffness. Tracking is as bad as above.",
    )


def gains_absolute() -> Claim:
    """Return the claim about the gains with absolute rotors."""
    found = readings("absolute")
    least = min(fast for fast, _ in found.values())
    stable = sum(fast < 0 for fast, _ in readings("relative").values())
    return Claim(
        *("One arm, gains", "The gains belong to the arm of Figs. 4 to 6.", "one arm"),
        f"absolute rotors, which Figs. 4 to 6 need: none of {len(found)} readings is stable (least {least:+.2g} 1/s)",
        checks=[holds(least < 0)],
        note=f"Tried: every order of the columns, every sign and scaling. With relative rotors {stable} are stable.",
    )


def law_absolute() -> Claim:
    """Return the claim about the corrected controller with absolute rotors."""
    result = control.on_absolute_rotors()
    left = residual(result, rotor="absolute")
    return Claim(
        *("One arm, controller", "The controller tracks and damps on the arm of Figs. 4 to 6.", "one arm"),
        f"corrected law, absolute rotors: off at 2 s by {milli(off(result)[0])} mrad; the tips keep "
        f"{numbers(100 * left)} percent of what the bang-bang torque leaves",
        checks=[*(below(x, TRACKED) for x in off(result)[0]), *(below(x, RESIDUAL) for x in left)],
        note=f"Required: {1e3 * TRACKED:g} mrad and {100 * RESIDUAL:g} percent. It damps, and tracks less well.",
    )
