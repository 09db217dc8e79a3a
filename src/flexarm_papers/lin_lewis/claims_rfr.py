"""Claims of section 4.4 and of the appendix: an arm with a flexible link between rigid ones."""

import numpy as np

from flexarm_papers.lin_lewis import loaded
from flexarm_papers.lin_lewis.appendix import MISPRINTS, Misprint, off, without
from flexarm_papers.lin_lewis.printed import ROUNDING, printed
from flexarm_papers.verdicts import Check, Claim, Part, above, below, near


def boundary_conditions() -> Part:
    """Return the claim of eqs. 28 to 32, compared with the constants of the appendix."""
    wanted = loaded.MEAN / loaded.PHI_L
    at_hub, at_tip = loaded.mean_over_tip("0"), loaded.mean_over_tip("L")
    claim = Claim(
        "Eq. 30",
        "The curvature vanishes at the hub.",
        "phi''(0) = 0",
        f"mean of phi over phi(L): {at_hub:.4f} as printed, {at_tip:.4f} with L; in the appendix {wanted:.4f}",
        [near(at_hub, wanted, 1e-6)],
        "phi''(L) = 0, not phi''(0) = 0: a mass at the tip exerts no moment there.",
        [near(at_tip, wanted, 1e-6)],
        "With eq. 30 as printed the shape is sinh - sin.",
    )
    return Part("Eqs. 28 to 31", "The conditions at the ends of a beam that carries a mass.", [claim])


def example_44() -> Part:
    """Return the claims about the mode of the loaded beam and its accuracy."""
    mode, rounded = loaded.of_the_exact_mode(), loaded.of_the_rounded_mode()
    left, left_rounded = (float(np.abs(found / loaded.PRINTED - 1).max()) for found in (mode, rounded))
    digits = "0.5497897 0.206651 0.151466 0.0714723".split()
    exact = loaded.exact_frequency()
    ratio = {name: loaded.first_frequency(name) / exact for name in ("clamped-loaded", "clamped-free", "pinned-pinned")}
    claims = [
        Claim(
            "4.4, constants, six digits",
            "phi(L) and the means of phi, (y / L) phi and phi^2 belong to a beam with a load at its tip.",
            ", ".join(digits),
            f"{mode[0]:.7f}, {mode[1]:.6f}, {mode[2]:.6f}, {mode[3]:.7f}, with beta L = {loaded.WAVE_NUMBER}, a load "
            f"of {loaded.load_ratio(loaded.WAVE_NUMBER):.3f} times the beam's mass",
            [printed(x, text) for x, text in zip(mode, digits, strict=True)],
            note="The load is not printed. It is chosen, and the mode scaled to the printed phi(L).",
        ),
        Claim(
            "4.4, constants, all digits",
            "The same constants as the appendix has them.",
            "0.5497897482078318, ..., 0.07147226535009999",
            f"off by {left:.0e}; with the correction by less than 1e-13",
            [below(left, 1e-13)],
            f"In cosh - cos - sigma (sinh - sin), beta L is rounded to {loaded.BETA} and sigma to {loaded.SIGMA}.",
            [below(left_rounded, 1e-13)],
            f"For that beta L sigma is {loaded.exact_sigma(loaded.BETA):.6f}, and the load is "
            f"{loaded.load_ratio(loaded.BETA):.3f} times the beam's mass.",
        ),
        Claim(
            "4.4, shapes",
            "Between rigid links clamped-loaded shapes are more exact; pinned-pinned and clamped-free ones do not fit.",
            "more exact",
            f"first frequency with one mode, joints held, compared with the exact {exact:.4f} rad/s: clamped-loaded "
            f"{100 * (ratio['clamped-loaded'] - 1):.1g} percent higher, clamped-free "
            f"{100 * (ratio['clamped-free'] - 1):.1f} percent, pinned-pinned {ratio['pinned-pinned']:.0f} times",
            [
                Check(ratio["clamped-loaded"], 1.0, 1.0 + 1e-5),
                above(ratio["clamped-free"], 1.01),
                above(ratio["pinned-pinned"], 10.0),
            ],
            note="The masses are ours; the paper prints none.",
        ),
    ]
    return Part("Example 4.4", "Rigid, flexible, rigid: the shape of a beam that carries a load.", claims)


SIX_DIGITS = 1e-6
"""Tolerance for M[1,1] and M[1,2], some of whose coefficients have six digits."""
LACKING = "M[1,2], M[1,4], M[2,2], M[2,3], M[2,4], M[3,4] and M[4,4]"


def appendix() -> Part:
    """Return the claims about each entry of M, at random values."""
    as_printed, whole, no_turning = off(without(*MISPRINTS, turns=False)), off(without()), off(without(turns=False))
    right = Claim(
        "Appendix, M[1,3], M[3,3]",
        "These entries.",
        "formulas",
        "equal at five random states",
        [below(as_printed[0, 2], ROUNDING), below(as_printed[2, 2], ROUNDING)],
    )
    inertia = Claim(
        "Appendix, Ix[3]",
        "The inertia of link 3.",
        "Ix[3] in M[1,1], M[1,3], M[3,3] alone",
        f"with all else corrected entries are off by up to {100 * no_turning.max():.0f} percent; with this too none",
        [below(no_turning.max(), SIX_DIGITS)],
        f"Ix[3] belongs in {LACKING} too, times phi(L) / L[2] for each index 4.",
        [below(whole.max(), SIX_DIGITS), below(whole[1:, 1:].max(), ROUNDING)],
        "Link 3 turns with th1, th2, th3 and the chord. In print it turns with th1 and th3 alone.",
    )
    right_as_printed, right_but_for_link_3 = (_right(each) for each in (as_printed, off(without(*MISPRINTS))))
    says = (
        f"The inertia matrix of that arm in symbols: of ten entries {right_as_printed} are right, "
        f"{right_but_for_link_3 - right_as_printed} lack the inertia of link 3, the others have misprints too."
    )
    return Part("Appendix", says, [right, *(misprint(each, whole) for each in MISPRINTS), inertia])


def _right(errors: np.ndarray) -> int:
    """Return the number of the ten entries that equal flexarm's."""
    return int((errors[np.triu_indices(4)] < SIX_DIGITS).sum())


def misprint(each: Misprint, whole: np.ndarray) -> Claim:
    """Return the claim about one printed term with all others corrected.

    `whole` contains the errors with this term corrected too.
    """
    at = (each.row - 1, each.column - 1)
    left = off(without(each))[at]
    return Claim(
        f"Appendix, M[{each.row},{each.column}], {each.term}",
        "A term of this entry.",
        each.printed,
        f"with all else corrected the entry is off by up to {100 * left:.0f} percent; with this too it is equal",
        [below(left, SIX_DIGITS)],
        each.right,
        [below(whole[at], SIX_DIGITS)],
        each.note,
    )
