"""Claims of section 4.2, one flexible link, and two studies of its zeros."""

import numpy as np

from flexarm_papers.lin_lewis import compute, zeros
from flexarm_papers.lin_lewis.printed import ROUNDING, numbers, powers, printed
from flexarm_papers.verdicts import Claim, Part, above, below, holds, near, within

LISTED = "2320.64 1.87e5 3.70e5 5.92e5 1.44e6 2.99e6 5.55e6 9.47e6 1.51e7 2.31e7 3.38e7 4.79e7 6.60e7 8.88e7 1.17e8"
"""Printed eigenvalues, in the order of the paper [1/s^2]."""
ROUNDED = (1.875104, 4.695)
"""Wave numbers beta L that give the printed zeros. The exact second one is 4.694091."""


def blocks() -> Part:
    """Return the claims about the structure of M and U."""
    found = {name: compute.integrals(name, 2) for name in ("pinned-pinned", "clamped-free")}
    M = {name: compute.value(compute.beam(name, 2), "mass_matrix", each.q) for name, each in found.items()}
    smallest = float(np.linalg.eigvalsh(compute.at_rest("clamped-free", 15)[0][1:, 1:]).min())
    pairs = (("pinned-pinned", 10, 15), ("clamped-free", 10, 15), ("clamped-mass", 10, 20), ("polynomial", 3, 5))
    outside = [compute.outside_the_block(name, few, many) for name, few, many in pairs]
    elements = compute.outside_the_block("hermite", 4, 6)
    claims = [
        Claim(
            "4.2, M_RR, M_RF, M_FF",
            "M is made of the integrals of the paper; M_RR has the bending in it, M_RF and M_FF are constant.",
            "the integrals",
            "equal, for two modes of either family, the arm turned and bent; with the tip mass added",
            [below(compute.apart(M[name], each.M), ROUNDING) for name, each in found.items()],
        ),
        Claim(
            "4.2, M_FF positive definite",
            "M_FF is symmetric and positive definite.",
            "positive definite",
            f"smallest eigenvalue with 15 clamped-free modes {smallest:.4f} kg, a quarter of the beam's mass",
            [within(smallest, compute.RHO_A * compute.LENGTH / 4, 1e-9)],
        ),
        Claim(
            "4.2, M_FF of 10 and 15 modes",
            "M_FF of 10 modes is the leading block of that of 15, and so with U, for any shape functions.",
            "equal",
            "equal for pinned-pinned, clamped-free, clamped-mass and polynomial shapes",
            [below(each, ROUNDING) for each in outside],
            note="This holds where more modes add functions to those before. In finite elements all functions change: "
            f"entries then differ by {elements:.1f} times the largest.",
        ),
    ]
    return Part("Example 4.2, M and U", "What the matrices of one flexible link are made of.", claims)


def eigenvalues() -> Part:
    """Return the claims about the printed list of 15 eigenvalues."""
    listed = LISTED.split()
    ours = compute.eigenvalues()
    others = list(zip(ours[2:], listed[1:2] + listed[3:], strict=True))
    as_printed = [printed(x, text) for x, text in others]
    scale, lost = float(listed[0]) / ours[0], (float(listed[0]) - ours[0]) / ours[-1]
    claims = [
        Claim(
            "4.2, eigenvalues 3 to 15",
            "Eigenvalues of inv(M_FF) U_FF with 15 pinned-pinned modes.",
            ", ".join(text for _, text in others) + " 1/s^2",
            ", ".join(powers(x) for x, _ in others),
            [*as_printed, *(within(x, (k * np.pi) ** 4 * compute.RATE**2, 1e-9) for k, x in enumerate(ours, start=1))],
            note="Exact is (k pi / L)^4 EI / (rho A). The paper cuts digits off: 1.5174e7 is printed as 1.51e7.",
        ),
        Claim(
            "4.2, eigenvalue 2",
            "The third number of the list.",
            "3.70e5 1/s^2",
            powers(ours[1]),
            [printed(ours[1], "3.70e5")],
            "The third number of the list is 3.70e4, not 3.70e5, and belongs before 1.87e5.",
            [printed(ours[1], "3.70e4"), holds(ours[1] < ours[2])],
        ),
        Claim(
            "4.2, eigenvalue 1",
            "The first number of the list.",
            "2320.64 1/s^2",
            f"{ours[0]:.2f}",
            [printed(ours[0], listed[0])],
            note=f"The print is {100 * (scale - 1):.2f} percent too large. Tried: another beam, but then "
            f"the fifth would be {powers(scale * ours[4])}, not 1.44e6. Rounding may be the cause: the error is "
            f"{lost:.0e} of the largest eigenvalue, and single precision keeps 6e-8.",
        ),
    ]
    met = sum(check.met for check in as_printed)
    says = f"Fifteen eigenvalues: {met} are as printed, one has a wrong exponent, the first is too large in print."
    return Part("Example 4.2, eigenvalues", says, claims, "lin-lewis-beam.svg")


def clamped_free() -> Part:
    """Return the claims about zeros with clamped-free modes. The output is the rigid coordinate, as in the paper."""
    ours, rounded = compute.rigid_zeros("clamped-free"), compute.zeros_with_rounded_roots(ROUNDED)
    pounds = compute.zeros_in_pounds_of_mass()
    claims = [
        Claim(
            "4.2, clamped-free, stability",
            "With two clamped-free modes the zeros lie on the imaginary axis: marginally stable.",
            "marginally stable",
            f"+-({numbers(ours, 5)}) rad/s",
            [below(each, 1e-8) for each in ours.real / np.abs(ours)],
        ),
        Claim(
            "4.2, clamped-free, first zero",
            "The first pair of zeros.",
            "+-j1.0914 rad/s",
            f"+-j{ours[0].imag:.4f}",
            [printed(ours[0].imag, "1.0914")],
        ),
        Claim(
            "4.2, clamped-free, second zero",
            "The second pair of zeros.",
            "+-j76.98 rad/s",
            f"+-j{ours[1].imag:.3f}; corrected +-j{rounded[1].imag:.3f}, and the first +-j{rounded[0].imag:.5f}",
            [printed(ours[1].imag, "76.98")],
            "The stiffness of the second shape has beta_2 L = 4.695 in place of 4.694091.",
            [printed(rounded[0].imag, "1.0914"), printed(rounded[1].imag, "76.98")],
            "The paper prints no beta. With this one both zeros come out as printed.",
        ),
        Claim(
            "4.2, tip mass",
            "The tip mass.",
            "0.1 lbm (0.0454 kg)",
            f"with 0.1 lbm zeros +-({numbers(pounds)}) rad/s; with 0.1 lbf s^2/in the printed ones",
            [printed(pounds[0].imag, "1.0914")],
            "The tip mass is 0.1 lbf s^2/in (17.51 kg), not 0.1 lbm.",
            [printed(ours[0].imag, "1.0914")],
        ),
    ]
    says = "Zeros with two clamped-free modes, and the tip mass that belongs to them."
    return Part("Example 4.2, clamped-free zeros", says, claims, "lin-lewis-beam.svg")


def pinned_pinned() -> Part:
    """Return the claims about zeros with pinned-pinned modes. The output is the rigid coordinate, as in the paper."""
    ours, theirs = compute.rigid_zeros("pinned-pinned"), compute.zeros_with_M_RF_halved()
    best = theirs[np.argmax(theirs.imag)]
    claims = [
        Claim(
            "4.2, pinned-pinned, stability",
            "With two pinned-pinned modes the zeros are not minimum phase: some lie to the right.",
            "nonminimum phase",
            f"+-({numbers(ours, 5)}) rad/s",
            [above(ours.real.max(), 1.0)],
        ),
        Claim(
            "4.2, pinned-pinned, zeros",
            "The two pairs of zeros.",
            "+-58.89 +- j76.06 rad/s",
            f"+-{ours[0].real:.2f}, +-{ours[1].real:.2f}",
            [check for z in ours for check in (printed(z.real, "58.89"), printed(abs(z.imag), "76.06"))],
            note=f"Tried: M_RF halved, which would be an error, gives +-{best.real:.2f} +- j{best.imag:.2f}, the print "
            "to 0.03 percent but not in its last digit. The paper's own integral gives the whole M_RF.",
        ),
    ]
    says = "Zeros with two pinned-pinned modes: not minimum phase, as the paper says, but other numbers."
    return Part("Example 4.2, pinned-pinned zeros", says, claims, "lin-lewis-beam.svg")


def vibrations() -> Part:
    """Return the claims about the vibrations that belong to the eigenvalues."""
    share, s = compute.shares_of_the_tip(), compute.poles()
    decay = -s.real / np.abs(s)
    claims = [
        Claim(
            "4.2, lower modes",
            "Only the lower modes dominate the vibration, the first above all.",
            "the first dominates",
            f"shares of the tip's answer to a step of torque: {', '.join(f'{100 * x:.2g}' for x in share[:4])} percent",
            [above(share[0], 0.9), holds(bool((np.diff(share) < 0).all()))],
        ),
        Claim(
            "4.2, e^(-omega t)",
            "A mode's amplitude is proportional to e^(-omega t), so high modes die out.",
            "e^(-omega t)",
            f"poles of the arm with two modes +-({numbers(sorted(s, key=abs))}) rad/s",
            [near(each, 1.0, 0.01) for each in decay],
            "A mode is proportional to e^(j omega t), not to e^(-omega t): without damping nothing dies out.",
            [below(each, 1e-6) for each in decay],
            "High modes are small because a torque hardly excites them.",
        ),
    ]
    return Part("Example 4.2, vibrations", "Which modes matter, and why.", claims)


# -- additional studies ------------------------------------------------------------------------------------------------


def outputs() -> Part:
    """Return the study of the zeros of the hub's angle and of the tip's position in four families."""
    hub, tip = zeros.exact()
    most = {name: zeros.errors(name, zeros.COUNTS[name][-1]) for name in zeros.FAMILIES}
    slow = [zeros.errors("pinned-pinned", n)[0] for n in (10, 20)]
    sideways = [zeros.off_the_axis(name) for name in zeros.FAMILIES]
    two = {name: zeros.first_two(name, 2) for name in zeros.FAMILIES}
    claims = [
        Claim(
            "Study of zeros, hub",
            "The zeros of the hub's angle are the frequencies of the clamped, loaded beam, whatever the family.",
            "",
            f"four families go to +-j({numbers(hub, 5)}) rad/s",
            [
                *(below(e[0], 1e-4) for name, e in most.items() if name != "pinned-pinned"),
                below(most["pinned-pinned"][0], 0.03),
                near(slow[0] / slow[1], 2.0, 0.1),  # one over the number of modes
                *(below(real, 1e-6) for real, _ in sideways),
            ],
            note=f"With 20 functions to 1e-4; pinned-pinned to {100 * slow[1]:.1f} percent, with 10 to "
            f"{100 * slow[0]:.1f}. With two: {'; '.join(f'{name} {numbers(z.imag)}' for name, (z, _) in two.items())}.",
        ),
        Claim(
            "Study of zeros, tip",
            "The first zeros of the tip's position are real, one of them to the right, whatever the family.",
            "",
            f"four families go to +-({numbers(tip, 5)}) rad/s",
            [*(below(e[1], 2e-3) for e in most.values()), *(below(imag, 1e-6) for _, imag in sideways)],
            note="With 20 functions to 0.2 percent. The first with two: "
            f"{'; '.join(f'{name} {z[0].real:.2f}' for name, (_, z) in two.items())}.",
        ),
        Claim(
            "Study of zeros, chord",
            "The rigid coordinate of pinned-pinned shapes is the tip's position over L.",
            "",
            "the same zeros with 2 and with 15 modes",
            [below(zeros.chord_against_tip(), 1e-8)],
        ),
    ]
    says = "The hub's angle has imaginary zeros and the tip's position real ones, in every family of shapes."
    return Part("Study of zeros", says, claims, "lin-lewis-zeros.svg", study=True)


def halved() -> Part:
    """Return the study of an error that nearly gives the printed zeros."""
    theirs = compute.zeros_with_M_RF_halved()
    best = theirs[np.argmax(theirs.imag)]
    claim = Claim(
        "Study of M_RF",
        "With M_RF halved, two pinned-pinned modes have the printed zeros to 0.03 percent.",
        "",
        f"+-{best.real:.2f} +- j{best.imag:.2f} rad/s",
        [within(best.real, 58.89, 3e-4), within(best.imag, 76.06, 3e-4)],
        note="The same comes of halving phi'(0), or of doubling M_FF and U_FF.",
    )
    return Part("Study of M_RF", "Where the printed pinned-pinned zeros may come from.", [claim], study=True)
