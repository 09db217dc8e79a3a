"""Claims of Subudhi & Morris 2002 about their model, sections 2 and 3, with the results here."""

from typing import Any

import numpy as np

from flexarm import load
from flexarm_papers.subudhi_morris import modes
from flexarm_papers.subudhi_morris.compute import (
    RIGID,
    ROTORS,
    TORQUE,
    Array,
    J,
    chain_response,
    early,
    frequencies_of,
    off_christoffel,
    off_rotor_equation,
    response,
    starting,
    starting_by_hand,
    travel,
)
from flexarm_papers.subudhi_morris.modes import EQ_47, EQ_48, LOADS, by_elements, frequencies, link_1_in_arm
from flexarm_papers.subudhi_morris.words import numbers
from flexarm_papers.subudhi_morris.written import eq_59, equations_of, off_chain
from flexarm_papers.verdicts import Check, Claim, Part, above, below, near

EXACT = 1e-5
"""Relative tolerance. The second frequency of a link by 8 finite elements has an error of 2.3e-6."""
ROUNDING = 1e-9
"""Relative tolerance of an identity."""
BENT = (np.pi / 3, np.pi / 2)
SPRINGS = (400.0, 1600.0, 6400.0)


def parts() -> list[Part]:
    """Return the claims about Table 1 and the equations."""
    return [
        Part("Table 1", "The arm: two equal links, two equal rotors, a payload.", [table_1()]),
        Part("Eq. 2", "How a bent link turns the next one.", [eq_2()]),
        Part(
            "Eqs. 19, 20, 45",
            "Energy of bent links; velocity terms from the inertia matrix.",
            [eq_19(), eq_20(), eq_45()],
        ),
        Part("Eqs. 42, 62", "How many equations there are, and a term of their solution.", [eq_42_count(), eq_62()]),
        Part(
            "Eqs. 27 to 41",
            "The shapes in which a link vibrates that carries a body at its tip, and their frequencies.",
            [eqs_29_to_31(), eq_37(), eq_38(), eq_39(), eq_41()],
        ),
        Part("Eqs. 40, 46", "The stiffness of a mode.", [eq_46()]),
        Part(
            "Eqs. 47, 48",
            "What each link carries: the other link, its rotor, the payload.",
            [eq_47_angle(), eq_47_shapes(), eq_47_rotor(), eq_48()],
        ),
        Part(
            "Eqs. 53 to 55, 66",
            "The equations of motion with elastic joints, and what they become when the joints are stiff.",
            [eq_53(), eq_55(), eq_66()],
        ),
    ]


def equal(values: Array, expected: Array, share: float = EXACT) -> list[Check]:
    """Return the checks that numbers are equal, each to a relative tolerance."""
    return [near(a / b, 1.0, share) for a, b in zip(np.ravel(values), np.ravel(expected), strict=True)]


def table_1() -> Claim:
    """Return the claim that the bundled arms have the numbers of Table 1."""
    printed = {"rho": 0.2, "EI": 1.0, "l": 0.5, "I_r": 0.02, "G": 1.0, "k_s": 100.0, "M_P": 0.1, "I_P": 0.005}
    found = []
    for link in load("subudhi-morris-elastic").links:
        body: Any = link.body
        joint: Any = link.joint
        payload: Any = RIGID.payload
        drive = (joint.rotor_inertia, joint.gear_ratio, joint.stiffness)
        found.append((body.m, body.EI, body.length, *drive, payload.mass, payload.inertia))
    return Claim(
        *("Table 1", "Both links and both rotors have these dimensions (SI units)."),
        printed=", ".join(f"{name} {value:g}" for name, value in printed.items()),
        ours=", ".join(f"{name} {value:g}" for name, value in zip(printed, found[0], strict=True)),
        checks=[near(a, b, 0.0) for link in found for a, b in zip(link, printed.values(), strict=True)],
    )


# -- energies ----------------------------------------------------------------------------------------------------------


def eq_19() -> Claim:
    """Return the claim of eq. 19.

    The energy is proportional to the square of the deflection and equals the work of the force.
    """
    printed, ours = modes.doubled_energy(square=False), modes.doubled_energy(square=True)
    work, whole = modes.bending_work(), modes.energy_over_work(1.0)
    return Claim(
        *("Eq. 19", "The energy of a bent link is int EI v'' dx.", "int EI v'' dx"),
        f"1/2 int EI v''^2 dx: {ours:.0f} times as much when bent twice as far (as printed {printed:.0f} times), and "
        f"{work:.6f} times the work of the force that bends it (without 1/2 {whole:.2f} times)",
        checks=[near(printed, 4.0, ROUNDING), near(whole, 1.0, ROUNDING)],
        correction="The factor 1/2 of eq. 20 is missing. So is the square, which our text has in neither equation.",
        corrected=[near(ours, 4.0, ROUNDING), near(work, 1.0, ROUNDING)],
    )


def eq_20() -> Claim:
    """Return the claim of eq. 20, which has the factor 1/2 but not the square."""
    printed, ours = modes.doubled_energy(square=False), modes.doubled_energy(square=True)
    half = modes.energy_over_work(0.5)
    return Claim(
        *("Eq. 20", "The energy of all bent links is the sum of 1/2 int EI v'' dx.", "1/2 int EI v'' dx"),
        f"1/2 int EI v''^2 dx is {half:.6f} times the work of the force that bends a link; as printed energy grows "
        f"{printed:.0f} times when bent twice as far",
        checks=[near(printed, 4.0, ROUNDING)],
        correction="The square is missing.",
        corrected=[near(ours, 4.0, ROUNDING), near(half, 1.0, 1e-6)],
        note="Our text shows the squares of eqs. 17, 21 and 24. So these may be missing in print too.",
    )


def eq_2() -> Claim:
    """Return the claim of eq. 2: the next link turns by the slope, in print to first order."""
    way = {rotor: travel(chain_response(rotor)) for rotor in ROTORS}
    linear, exact = ({rotor: off_chain(rotor, kind) for rotor in ROTORS} for kind in (True, False))
    share, ours = (100 * off["relative"] / way["relative"] for off in (linear, exact))
    return Claim(
        *("Eq. 2", "A bent link turns the next one by E = [1, -v'; v', 1], as deflections are small.", "1, -v'; v', 1"),
        f"under the torque of Fig. 4 the tip is {numbers(linear.values())} mm off that of chains of short beams "
        f"(relative, absolute rotors), with the rotation by the angle v' {numbers(exact.values())} mm",
        checks=[below(share, 1.0)],
        correction="E is the rotation by v'.",
        corrected=[below(ours, 1.0), *(above(linear[r] / exact[r], 1.5) for r in ROTORS)],
        note="With relative rotors we require an error of 1 percent of the tip's path at most. "
        f"It is {share:.2g} percent, and {ours:.2g} with the rotation. E of eq. 2 lengthens the next link by v'^2 / 2. "
        "All other rows use the rotation, as flexarm does.",
    )


def eq_42_count() -> Claim:
    """Return the claim about the number of equations."""
    cases = [(n, m) for n in (1, 2, 3) for m in (1, 2, 3)]
    found = {case: equations_of(*case) for case in cases}
    return Claim(
        *("Eq. 42, count", "The equations of n links with n_m modes each are 4n + 2 n_m.", "4n + 2 n_m"),
        f"{found[2, 2]} for n = 2, n_m = 2, where 4n + 2 n_m is {4 * 2 + 2 * 2}",
        checks=[near(found[n, m], 4 * n + 2 * m, 0.0) for n, m in cases],
        correction="There are 2n + n n_m: a rotor's angle, a link's angle and n_m amplitudes for each link.",
        corrected=[near(found[n, m], 2 * n + n * m, 0.0) for n, m in cases],
        note=f"Counted for n and n_m from 1 to 3. Section 3 also has {found[2, 2]}, in eqs. 49 to 52. In first-order "
        "form there are twice as many, 4n + 2 n n_m.",
    )


def eq_62() -> Claim:
    """Return the claim of eq. 62, with a block of the inverse of the wrong size."""
    left, columns, rows = eq_59()
    return Claim(
        *("Eq. 62", "The amplitudes' accelerations have H_21 g_2.", "H_21 g_2"),
        f"H_21 has {columns} columns and g_2 {rows} rows; with H_22 g_2 the accelerations are those of the model to "
        f"{left:.0e}",
        checks=[near(columns, rows, 0.0)],
        correction="The term is H_22 g_2, as eq. 59 has it.",
        corrected=[below(left, ROUNDING)],
        note="Checked for a bent, moving arm with elastic joints and damped links. The signs of eqs. 58 to 62 are lost "
        "in our text.",
    )


def eq_45() -> Claim:
    """Return the claim of eq. 45, from the derivatives of M, which the package's recursion does not use."""
    error = off_christoffel()
    return Claim(
        *("Eq. 45", "The velocity terms are those that the inertia matrix gives (Christoffel symbols).", "formula"),
        f"the same to {error:.0e} of their size, in a bent arm with elastic joints",
        checks=[below(error, ROUNDING)],
    )


# -- shapes ------------------------------------------------------------------------------------------------------------


def eqs_29_to_31() -> Claim:
    """Return the claim of eqs. 29 to 31, the conditions at the tip, through their frequencies."""
    truth = by_elements(LOADS[0])
    printed, ours = modes.of_printed_conditions(LOADS[0]), frequencies(LOADS[0])
    return Claim(
        *("Eqs. 29 to 31", "At the tip M_DE multiplies v' in the moment and v in the force."),
        printed="moment I_E v' + M_DE v', force M_E v + M_DE v",
        ours=f"moment I_E v' + M_DE v, force M_E v + M_DE v': {numbers(ours)} rad/s for link 1, as finite elements "
        f"have it; as printed {numbers(printed)}",
        checks=equal(printed, truth),
        correction="The two places of M_DE are exchanged, and so are the denominators of I_E and M_DE in eq. 31.",
        corrected=equal(ours, truth),
        note="As printed, the units are inconsistent.",
    )


def eq_37() -> Claim:
    """Return the claim of eq. 37, whose shape must be clamped."""
    printed, ours = (modes.root_moves(LOADS[0], which) for which in (True, False))
    return Claim(
        *("Eq. 37", "The second pair of functions in a mode is sinh and cosh.", "sinh, cosh"),
        f"sin - sinh: the clamped end moves by {abs(ours):.1g} of the tip; as printed by {abs(printed):.2g}",
        checks=[below(printed, ROUNDING)],
        correction="The second pair is sin - sinh.",
        corrected=[below(ours, ROUNDING)],
        note="The signs are lost in our text. Neither sign gives the right equation.",
    )


def eq_38() -> Claim:
    """Return the claim of eq. 38, whose shapes must meet the conditions at the tip."""
    error = max(modes.off_conditions(each) for each in LOADS)
    return Claim(
        *("Eq. 38", "The factor of the second pair of functions.", "formula"),
        "with it two modes of each link keep the corrected conditions at the tip, to rounding",
        checks=[below(error, ROUNDING)],
    )


def eq_39() -> Claim:
    """Return the claim of eq. 39, the frequency equation, at the wave numbers of finite elements."""
    printed, ours = (modes.off_eq_39(LOADS[0], which) for which in (True, False))
    return Claim(
        *("Eq. 39", "The last term of the frequency equation is 2 M_DE^2 beta^4 sinh.", "2 M_DE^2 beta^4 sinh"),
        f"2 M_DE beta^2 sin sinh: the equation holds to {ours:.0e} at the wave numbers of finite elements; as printed "
        f"it is off by {printed:.1g}",
        checks=[below(printed, EXACT)],
        correction="The last term is 2 M_DE beta^2 sin sinh.",
        corrected=[below(ours, EXACT)],
    )


def eq_41() -> Claim:
    """Return the claim of eq. 41 about the frequencies of both links."""
    ours, truth = (np.array([of(each) for each in LOADS]) for of in (frequencies, by_elements))
    return Claim(
        *("Eq. 41", "Frequencies of the clamped links with their loads.", ""),
        f"{numbers(ours[0])} rad/s (link 1), {numbers(ours[1])} rad/s (link 2)",
        checks=equal(truth, ours),
        note="Finite elements that hold an actual rigid body agree.",
    )


def eq_46() -> Claim:
    """Return the claim of eqs. 40 and 46. The stiffness belongs to the whole modal mass."""
    printed, ours = (
        np.array([modes.stiffness_factors(each, which) for each in LOADS]).ravel() for which in (True, False)
    )
    return Claim(
        *("Eqs. 40, 46", "The stiffness of a mode is omega^2 m, its shape being scaled to int phi^2 = m."),
        printed="k = omega^2 m",
        ours=f"the stiffness is {numbers(printed, 2)} times that (modes 11, 12, 21, 22)",
        checks=equal(printed, np.ones(4)),
        correction="omega^2 must be multiplied by the mass that the mode moves: that of the beam and that of its load.",
        corrected=equal(ours, np.ones(4)),
        note="The load is most of the mass that a clamped-mass mode moves.",
    )


# -- loads -------------------------------------------------------------------------------------------------------------


def eq_47_angle() -> Claim:
    """Return the claim of eq. 47 about the cosine in M_DE1."""
    truth = [link_1_in_arm("relative", angle) for angle in BENT]
    printed, ours = ([modes.bent_by(angle, which) for angle in BENT] for which in (True, False))
    return Claim(
        *("Eq. 47, M_DE1", "Of the first moment of link 2 and payload only the payload's part has the cosine."),
        printed="m_2 l_c2 + M_P l cos(theta_2)",
        ours=f"joint 2 at 90 degrees: {numbers(ours[1])} rad/s, as the arm has it; as printed {numbers(printed[1])}",
        checks=equal(np.array(printed), np.array(truth)),
        correction="The cosine multiplies the complete bracket.",
        corrected=equal(np.array(ours), np.array(truth)),
        note="Compared with the arm itself at 60 and 90 degrees, with locked joints.",
    )


def eq_47_shapes() -> Claim:
    """Return the claim that the shapes for the straight arm suffice, by shapes for another load."""
    error = [modes.by_shapes_of_90_degrees(rotor) for rotor in ROTORS]
    way = [travel(early(response(rotor))) for rotor in ROTORS]
    share = [100 * e / w for e, w in zip(error, way, strict=True)]
    return Claim(
        *("Eq. 47, theta_2 = 0", "Shapes made for the straight arm are good enough at every angle.", "little error"),
        f"shapes for 90 degrees instead move the tip by {numbers(error, 2)} mm at most (relative, absolute rotor), "
        f"{numbers(share, 2)} percent of its path",
        checks=[below(x, 0.2) for x in share],
        note="Checked to 0.2 percent. Both pairs of shapes are nearly the two cubics of a force and a moment.",
    )


def eq_47_rotor() -> Claim:
    """Return the claim of eq. 47 about J_2 in I_E1."""
    carried = {rotor: link_1_in_arm(rotor) for rotor in ROTORS}
    with_J, without = frequencies(EQ_47[0]), frequencies(LOADS[0])
    return Claim(
        *("Eq. 47, I_E1", "Link 1 carries the inertia J_2 of rotor 2.", "I_b2 + J_2 + I_P + M_P l^2"),
        f"with J_2 {numbers(with_J)} rad/s; the arm has {numbers(carried['relative'])} with the rotor of eqs. 7 and "
        f"53 (relative), {numbers(carried['absolute'])} with an absolute one",
        checks=equal(with_J, carried["relative"]),
        correction="I_E1 includes J_2 for an absolute rotor only, and not for the rotor of eqs. 7 and 53.",
        corrected=[*equal(without, carried["relative"]), *equal(with_J, carried["absolute"])],
        note="The two equations belong to different rotors. Figs. 4 to 6 agree with this one, and the gains with the "
        "other.",
    )


def eq_48() -> Claim:
    """Return the claim of eq. 48 about the payload at the tip."""
    truth = by_elements(LOADS[1])
    printed, ours = frequencies(EQ_48), frequencies(LOADS[1])
    return Claim(
        *("Eq. 48, I_E2", "Link 2 carries the inertia I_P + M_P l^2.", "I_P + M_P l^2"),
        f"I_P: {numbers(ours)} rad/s, as finite elements have it; as printed {numbers(printed)}",
        checks=equal(printed, truth),
        correction="I_E2 is I_P.",
        corrected=equal(ours, truth),
        note="The payload is at the tip, and M_E2 already includes its mass.",
    )


# -- equations of motion -----------------------------------------------------------------------------------------------


def eq_53() -> Claim:
    """Return the claim of eq. 53, which determines the kind of rotor."""
    ours, other = (off_rotor_equation(rotor) for rotor in ROTORS)
    return Claim(
        *("Eq. 53", "A rotor feels its torque and its spring, nothing else.", "J alpha'' + k_s (alpha - theta) = tau"),
        "holds to rounding for a relative rotor (in a bent, moving arm); for an absolute one it does not",
        checks=[below(ours, ROUNDING), above(other, 1.0)],
        note="An absolute rotor feels that link 1 turns with it. So eq. 53 is that of a relative one.",
    )


def eq_55() -> Claim:
    """Return the claim of eq. 55, the limit of stiff joints, with and without rotors."""
    stiff = {rotor: frequencies_of(rotor)[:4] for rotor in ("relative", "none")}
    springs = np.array(SPRINGS)
    four = [frequencies_of("relative", ks)[:4] for ks in SPRINGS]
    gaps = {rotor: np.array([np.abs(each / stiff[rotor] - 1).max() for each in four]) for rotor in stiff}
    order = float(np.log(gaps["relative"][1] / gaps["relative"][2]) / np.log(springs[2] / springs[1]))
    return Claim(
        *("Eq. 55", "With stiff joints eqs. 53 and 54 become eq. 55, which has the links' inertia M alone.", "M, no J"),
        f"M + diag(J): with k_s = {SPRINGS[2]:g} the four lowest frequencies are off by "
        f"{100 * gaps['relative'][2]:.2g} percent, and fall as k_s^{-order:.3f}. Off eq. 55 "
        f"as printed they stay by {100 * gaps['none'][2]:.0f} percent",
        checks=[below(gaps["none"][2], 1e-3)],
        correction="The inertia of the rotors must be added to M, as in eq. 66 and in the sum of eqs. 53 and 54.",
        corrected=[below(gaps["relative"][2], 1e-3), near(order, 1.0, 0.02)],
        note="Figs. 4 to 6 show that the paper's runs omitted the rotors too.",
    )


def eq_66() -> Claim:
    """Return the claim of eq. 66 about the inertia matrix at rest, written out by hand."""
    ours, hand = starting("relative"), starting_by_hand(J)
    return Claim(
        *("Eq. 66", "The slow motion has the inertia M_11 + J.", "M_11 + J"),
        f"at {TORQUE:g} N m the rigid arm starts with {numbers(ours)} rad/s^2, as M_11 + J written out by hand has it; "
        f"without J with {numbers(starting('none'))}",
        checks=equal(ours, hand, ROUNDING),
    )
