"""Claims of Lin & Lewis about eqs. 7 and 16 and about CPU times, which none of their examples shows."""

from flexarm_papers.lin_lewis import elastic
from flexarm_papers.lin_lewis.compute import apart
from flexarm_papers.lin_lewis.printed import ROUNDING, numbers
from flexarm_papers.verdicts import Claim, Part, above, below, near, within

LONGER = 3.0
"""Factor from which on a time counts as much longer."""
OF_OTHER_FUNCTIONS = ("clamped-mass", "polynomial")
"""Shapes with the same conditions at the hub, of trigonometric and hyperbolic functions and of powers."""


def turning() -> Part:
    """Return the claim of eq. 7."""
    ours, printed, corrected = elastic.rates_of_turning()
    claim = Claim(
        "Eq. 7",
        "A link turns by the rate of the link before and by the rate of its own joint's angle.",
        "omega_i = R omega_(i-1) + theta_i,t X",
        f"link 3 of the arm of 4.4 turns by {numbers(ours)} of the rates of th1, th2, th3, v2; by eq. 7 by "
        f"{numbers(printed)}",
        [below(apart(printed, ours), ROUNDING)],
        "After a flexible link the rate is that of theta* = theta + dz(L) / L: the chord turns too.",
        [below(apart(corrected, ours), ROUNDING)],
        "Section 2.2 defines theta* and eq. 7 does not use it. In the appendix that is why Ix[3] is missing from M.",
    )
    return Part("Eq. 7", "How fast a link turns that follows one that bends.", [claim])


def strain() -> Part:
    """Return the claims of eq. 16."""
    found = elastic.strain_energies()
    bending, rod = ([found[d] for d in pair] for pair in (("y", "z"), ("axial", "torsion")))
    (stretch, stretch_exact), (twist, twist_exact) = (elastic.first_frequency(d) for d in ("axial", "torsion"))
    none, some = (elastic.inertia_of_twist(x) for x in (0.0, elastic.POLAR))
    claims = [
        Claim(
            "Eq. 16, EI",
            "The energy of bending in both planes.",
            "1/2 int EI_x u''^2 + EI_z w''^2",
            f"{numbers(a for a, _ in bending)} J, as the integrals of the shapes have it",
            [within(a, b, ROUNDING) for a, b in bending],
        ),
        Claim(
            "Eq. 16, EA, GJ",
            "The energy of stretch and twist.",
            "1/2 int EA v'^2 + GJ phi'^2",
            f"{numbers(a for a, _ in rod)} J, as the integrals of the shapes have it",
            [within(a, b, ROUNDING) for a, b in rod],
            note="No example of the paper has these terms, and no numbers are printed; the link is ours.",
        ),
        Claim(
            "Eqs. 1, 9, stretch",
            "A stretched link vibrates by EA and its mass.",
            "EA, rho A",
            f"first frequency {stretch:.2f} rad/s with three functions, that of a clamped rod {stretch_exact:.2f}",
            [within(stretch, stretch_exact, 1e-3)],
        ),
        Claim(
            "Eqs. 1, 9, twist",
            "The equations have all that a link with torsional stiffness GJ needs.",
            "eqs. 1, 9",
            f"by eq. 9 the inertia of the twist is {none:g}; with rho I_p its first frequency is {twist:.2f} rad/s, "
            f"that of a clamped rod {twist_exact:.2f}",
            [above(none, 1e-9)],
            "Eq. 1 needs a coordinate for the twist, and eq. 9 its kinetic energy, 1/2 int rho I_p phi_t^2.",
            [above(some, 1e-9), within(twist, twist_exact, 1e-3)],
            "Without inertia M is singular, unless a body at the tip turns with the twist.",
        ),
    ]
    return Part("Eq. 16", "The strain energy of a link that bends, stretches and twists.", claims)


def cost() -> Part:
    """Return the claims of section 3 about CPU times."""
    pinned, clamped = (elastic.products_to_integrate(name) for name in ("pinned-pinned", "clamped-free"))
    ours = [elastic.our_operations(name) for name in OF_OTHER_FUNCTIONS]
    claims = [
        Claim(
            "Section 3, CPU time",
            "Clamped shapes take much longer than pinned-pinned ones: they have more functions to integrate.",
            "much longer",
            f"the integrals of M of 4.2 with two modes expand into {clamped} products of functions, against {pinned}",
            [above(clamped / pinned, LONGER)],
            note=f"We take 'much longer' as {LONGER:g} times as long. The paper prints no times.",
        ),
        Claim(
            "Section 3, CPU time here",
            "The functions in a shape cost nothing where they are integrated beforehand, as numbers.",
            "",
            f"the inverse dynamics of 4.2 with two modes: {' and '.join(map(str, ours))} operations with "
            f"{' and '.join(OF_OTHER_FUNCTIONS)} shapes",
            [near(each, ours[0], 0.0) for each in ours],
        ),
    ]
    return Part("Section 3", "What the shapes cost in computing time.", claims)
