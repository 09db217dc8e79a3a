"""Claims of Mohan & Saha's equations (sections 2 to 5), checked as printed and as corrected."""

from functools import cache

import numpy as np

from flexarm.arrays import Array
from flexarm_papers.mohan_saha import equations
from flexarm_papers.mohan_saha.compute import Slew, shortened
from flexarm_papers.verdicts import Claim, Part, above, below, near, within


@cache
def canadarm(slew: Slew) -> equations.Canadarm:
    """Return the Canadarm's blocks."""
    return equations.Canadarm(slew.model)


def foreshortening(slew: Slew) -> Part:
    """Return the claims of eq. 1b and of the sentence after it."""
    whole, half = equations.arc_lengths(0.1), equations.arc_lengths(0.05)
    order = [float(np.log2(a / b)) for a, b in zip(whole, half, strict=True)]
    tip, expected = equations.tip_shortening()
    s = equations.southwell()
    slow, fast = ([equations.stiffening(share, term) for term in (True, False)] for share in (0.1, 1.0))
    without = slew.result.deflection.values[..., 1]
    change = 100 * np.abs(slew.simulated(shortened(slew.model.arm)).deflection.values[..., 1] - without).max(axis=0)
    change /= np.abs(without).max(axis=0)
    stiffening = [near(fast[0], s, 1e-6), near(slow[0], 1 + 0.01 * (s - 1), 1e-6)]
    return Part(
        "Eq. 1b",
        "A bent link gets shorter along its axis, and this stiffens it when it turns.",
        [
            Claim(
                "Eq. 1b",
                "the axis of a bent link keeps its length",
                "u_x = +1/2 int (u_y'^2 - u_z'^2)",
                f"bent by 10 percent it gets {whole[1]:.1g} longer as printed, {whole[0]:.1g} with "
                "-1/2 int (u_y'^2 + u_z'^2)",
                [near(order[1], 4.0, 0.1)],
                "Both signs are minus: u_x = -1/2 int (u_y'^2 + u_z'^2).",
                [near(order[0], 4.0, 0.1), within(tip, expected, 1e-9)],
                "An error of the length must fall with the 4th power of the bending; it falls with the power "
                f"{order[0]:.2f}, as printed {order[1]:.2f}. The tip of a link here moves back as corrected, "
                f"{1e3 * abs(tip):.4f} mm.",
            ),
            Claim(
                "Section 2",
                "the shortening matters only where a link turns much faster than its first frequency",
                "considerably greater than the first natural frequency",
                f"at a tenth of that frequency leaving it out changes omega^2 by {100 * (slow[0] - slow[1]):.1f} "
                f"percent; at the frequency itself omega^2 is {fast[0]:.3f} with it and {abs(fast[1]):.3f} without",
                [below(fast[0] - fast[1], 0.1)],
                "The shortening matters as soon as the rate comes near the first frequency.",
                [*stiffening, below(slow[0] - slow[1], 0.02)],
                f"omega^2 = omega_0^2 + (s - 1) rate^2 in the plane, s = {s:.4f}; without the term s is 0.",
            ),
            Claim(
                "Eq. 1c",
                "for revolute joints it may be left out",
                "u_x = 0",
                f"on the slew of section 7.1 it changes the tip deflections by "
                f"{', '.join(f'{x:.2g}' for x in change)} percent of the largest",
                [below(x, 5.0) for x in change],
                note="As much as a third mode does. Five percent is what one can see in a printed curve.",
            ),
        ],
    )


def twists(slew: Slew) -> Part:
    """Return the claims of eqs. 7 to 15."""
    c = canadarm(slew)
    printed, exchanged = equations.slopes_of_both_planes()
    return Part(
        "Eqs. 7 to 15",
        "Two matrices, N_l and N_d, give the twists of all links from the rates of the coordinates.",
        [
            Claim(
                "Eq. 9",
                "the velocity of O(i) has a(i,i-1) x omega(i-1)",
                "a(i,i-1) from O(i-1) to O(i)",
                f"off by {c.eq_9(1.0):.0f} m/s at 1 rad/s with that vector, by {c.eq_9(-1.0):.0e} with its opposite",
                [below(c.eq_9(1.0), 1e-9)],
                "a(i,i-1) points from O(i) to O(i-1).",
                [below(c.eq_9(-1.0), 1e-9)],
            ),
            Claim(
                "Eq. 11",
                "the end of a link turns about y by the slopes of s^y and about z by those of s^z",
                "-s^y' in the second row, s^z' in the third",
                f"off by {100 * printed:.0f} percent of the turning where the shapes differ in the two planes, by "
                f"{100 * exchanged:.0e} with y and z exchanged",
                [below(printed, 1e-9)],
                "y and z change places: deflection along z turns the end about -y, deflection along y about z.",
                [below(exchanged, 1e-9)],
                "With the same shapes in both planes nothing changes, and the Canadarm bends in one.",
            ),
            Claim(
                "Eq. 14",
                "the twists of all links are N_l N_d times the rates",
                "t = N_l N_d q_dot",
                f"the same as differences of the links' frames to {c.eq_14():.0e} (m/s, rad/s)",
                [below(c.eq_14(), 1e-7), below(c.denoc_apart(), 1e-12)],
                note="The blocks are those of eqs. 8 to 11, from places and shapes written out. "
                f"`flexarm.analysis.factorization.denoc` has the same ones to {c.denoc_apart():.0e}.",
            ),
        ],
    )


def motion(slew: Slew) -> Part:
    """Return the claims of eqs. 20 to 33."""
    c = canadarm(slew)
    wrong, right = (equations.clamped(strain) for strain in (-1.0, 1.0))
    expected = equations.clamped_beam()
    ours, printed = equations.spun(1.0), equations.spun(0.5)
    with_1, with_2, without = c.eq_33(1.0), c.eq_33(2.0), c.eq_33(2.0, gamma=False)
    composite, inverse = c.off(c.eq_32(lambda A: A)), c.off(c.eq_32(np.linalg.pinv))
    left = equations.lagrange_residual(slew)
    rates, accelerations = c.eq_30(acceleration=False), c.eq_30(acceleration=True)
    return Part(
        "Eqs. 20 to 33",
        "The equations of motion, and the recursion for the inertia matrix.",
        [
            Claim(
                "Eq. 20a",
                "the force of strain",
                "tau_s = +dV_s/dq on the right-hand side",
                f"a link with its hub held has omega^2 = {wrong:.4f} 1/s^2 as printed, {right:.4f} with the other sign",
                [above(wrong, 0.0)],
                "tau_s = -dV_s/dq: strain pulls back.",
                [within(right, expected, 1e-9)],
                f"m^4 EI / (rho L^4) = {expected:.4f}, m the first root of eq. 43.",
            ),
            Claim(
                "Eq. 24b",
                "velocity terms of a link",
                "omega x [(omega x r) + u_dot]",
                f"energy and angular momentum of a free spinning link vary by {printed[0]:.0e} and {printed[1]:.0e} as "
                f"printed, by {ours[0]:.0e} and {ours[1]:.0e} with 2 omega x u_dot; eq. 33 is then off by {with_1:.0e} "
                f"and {with_2:.0e}",
                [below(max(printed), 1e-7), below(with_1, 1e-8)],
                "The Coriolis acceleration is 2 omega x u_dot.",
                [below(max(ours), 1e-9), below(with_2, 1e-8)],
            ),
            Claim(
                "Eq. 30",
                "the rate of the twists",
                "N_l N_d q_dot + ...",
                f"off by {100 * rates:.0f} percent of the links' largest acceleration; with the accelerations by "
                f"{100 * accelerations:.0e}",
                [below(rates, 1e-5)],
                "The first term is N_l N_d times the accelerations of the coordinates.",
                [below(accelerations, 1e-5)],
                "Against second differences of the links' frames along a motion.",
            ),
            Claim(
                "Eq. 32",
                "the inertia matrix from composite bodies",
                "M tilde(i) = M(i) + A(i+1,i)' M tilde(i+1) A(i,i+1)",
                f"off by {inverse:.1g} of its diagonal with the (pseudo)inverse, by {composite:.0e} with A(i+1,i)",
                [below(inverse, 1e-12)],
                "The last factor is A(i+1,i).",
                [below(composite, 1e-12)],
                "By A(i,j) A(j,k) = A(i,k) the printed one would be an inverse, but A has rows of zeros and none.",
            ),
            Claim(
                "Eq. 33",
                "the vector phi",
                "tau - N' M Ndot q_dot",
                f"its velocity terms are off by {without:.2g} of the largest as printed, by {with_2:.0e} with gamma",
                [below(without, 1e-8)],
                "phi = tau - N' (M Ndot q_dot + gamma): the gamma of eq. 29 is lost on the way.",
                [below(with_2, 1e-8)],
                "Ndot is a difference along the motion, gamma is eq. 24b with the factor 2.",
            ),
            Claim(
                "Eqs. 16 to 20, 31",
                "the equations of motion are Lagrange's",
                "eq. 20",
                f"what is left of eq. 20 along the slew is {left:.0e} of its largest term",
                [below(left, 1e-12)],
                note="Energies from positions of 72 points (eqs. 16, 17, 20b) and automatic derivatives, with the "
                "accelerations of the recursion.",
            ),
        ],
    )


def factors(slew: Slew) -> Part:
    """Return the claims of eqs. 34 to 42."""
    c = canadarm(slew)

    def off(found: tuple[Array, Array]) -> float:
        U, D = found
        return c.off(U @ D @ U.T)

    right, inverse, index = (
        off(c.eqs_36_to_38()),
        off(c.eqs_36_to_38(np.linalg.pinv)),
        off(c.eqs_36_to_38(psi_of_i=True)),
    )
    apart, steps = c.factors_apart(), c.steps_a_to_c()
    return Part(
        "Eqs. 34 to 42",
        "The inertia matrix is U D U', link by link, and this gives the accelerations recursively.",
        [
            Claim(
                "Eq. 37",
                "the blocks of U",
                "Psi(i,j) = A(j,i)' Psi(i)",
                f"U D U' is off by {index:.1g} as printed, by {right:.0e} with Psi(j)",
                [below(index, 1e-12)],
                "Psi(i,j) = A(j,i)' Psi(j).",
                [below(right, 1e-12)],
                "Measured by the diagonal of the inertia matrix.",
            ),
            Claim(
                "Eq. 38",
                "the articulated inertia",
                "M hat(i) = M(i) + A(i+1,i)' M bar(i+1) A(i,i+1)",
                f"U D U' is off by {inverse:.1g} with the (pseudo)inverse, by {right:.0e} with A(i+1,i)",
                [below(inverse, 1e-12)],
                "The last factor is A(i+1,i), as in eq. 32.",
                [below(right, 1e-12)],
            ),
            Claim(
                "Eqs. 34 to 38",
                "U and D, link by link",
                "I = U D U'",
                f"eqs. 36 to 38, as corrected, give the factors of the recursion here to {apart:.0e}",
                [below(apart, 1e-9)],
                note="The recursion's own are `flexarm.analysis.factorization.udu`.",
            ),
            Claim(
                "Eqs. 39 to 42",
                "the accelerations in three steps",
                "steps A, B, C",
                f"the same as the recursion's here to {steps:.0e}",
                [below(steps, 1e-10)],
            ),
        ],
    )
