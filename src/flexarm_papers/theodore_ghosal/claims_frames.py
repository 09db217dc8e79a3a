"""Claims of section III about frames of the arm (eqs. 14 to 17, 22, 23) and its weight (eqs. 32, 33)."""

import numpy as np

from flexarm_papers.theodore_ghosal import frames
from flexarm_papers.theodore_ghosal.claims_model import ROUNDING, row
from flexarm_papers.theodore_ghosal.runs import Runs
from flexarm_papers.verdicts import Claim, Part, below, near

SIZES = (0.01, 0.005)
"""Amplitudes at which eq. 15 is compared [m]."""
LINEAR = 1e-4
"""Bound of the residual of second order over the slope, at deflections of 1e-6 m."""

PRINTED_TO_CORRECTED = ((False, -1.0), (False, 1.0), (True, -1.0), (True, 1.0))
"""Variants of eqs. 22 and 23, from the printed to the corrected one.

The first value says whether slopes are divided by the length. The second is the sign of one plane's terms relative to
the print.
"""


def kinematics(runs: Runs) -> Part:
    """Return the claims of eqs. 14 to 17, 22 and 23."""
    flexible = runs.model("fixed")
    straight = frames.off_eq_14(flexible)
    bent = [frames.off_eq_15(flexible, size) for size in SIZES]
    order = float(np.log2(bent[0] / bent[1]))
    return Part(
        "Eqs. 14 to 23",
        "Frames from joint to joint, and how a bent link turns the next one.",
        [
            Claim(
                "Eqs. 14, 16",
                "The Denavit-Hartenberg matrices of the joints, one after another, give the frame at the tip.",
                "eq. 14",
                f"place and axes differ by {straight:.0e} at {frames.STATES} random positions of the straight arm",
                [below(straight, ROUNDING)],
                note="alpha = -90, 90, 0 degrees, d = 0.1 m, 0.3 m, l and a = 0: the Stanford arm that Fig. 3 is taken "
                "for.",
            ),
            Claim(
                "Eqs. 15, 17",
                "For small deflections the bent link's end has E = [1 + phi x, delta].",
                "eq. 15, small deflections",
                f"off by {row(bent, 2)} for amplitudes of {row(SIZES)} m, so of second order (power {order:.2f})",
                [near(order, 2.0, 0.1)],
                note="flexarm turns the end by the exact rotation; eq. 15 has place and rotation to first order.",
            ),
            _small_rotation(
                "Eq. 22",
                "revolute",
                "w",
                {(over, sign): frames.off_eq_22(over, sign) for over, sign in PRINTED_TO_CORRECTED},
            ),
            _small_rotation(
                "Eq. 23",
                "prismatic",
                "v",
                {
                    (over, sign): frames.off_eq_23(flexible, over, sign)
                    for over in (False, True)
                    for sign in (-1.0, 1.0)
                },
            ),
        ],
    )


def _small_rotation(where: str, joint: str, turned: str, off: dict[tuple[bool, float], float]) -> Claim:
    """Return the claim of eq. 22 or 23.

    `off` maps the division of the slope by the length and the sign of one plane's terms to the error.
    """
    return Claim(
        where,
        f"The rotation of a {joint} link's end is made of dpsi/deta xi.",
        "dpsi/deta xi",
        f"off by {100 * off[False, -1.0]:.0f} percent of the largest slope; with 1 / l alone by "
        f"{100 * off[True, -1.0]:.0f}, "
        f"with the sign of {turned} alone by {100 * off[False, 1.0]:.0f}, with both by {100 * off[True, 1.0]:.0e}",
        [below(off[False, -1.0], LINEAR)],
        f"The slope is dpsi/deta xi / l, and the two terms of {turned} change their sign.",
        [below(off[True, 1.0], LINEAR)],
        "eta = s / l, so du/ds has 1 / l. By eqs. 15 and 19 the tangent of the beam must be a column of E. In the "
        "paper's arm only a point mass follows, whose place E's rotation does not move.",
    )


def weight(runs: Runs) -> Part:
    """Return the claim of eqs. 32 and 33."""
    found = frames.weights(runs.arm)
    share, left = max(f.share for f in found), max(f.left for f in found)
    return Part(
        "Eqs. 32, 33",
        "Gravity's potential energy.",
        [
            Claim(
                "Eq. 32",
                "The weight of a sliding link is that of its part outside the hub.",
                "int_0^l",
                f"gravity's forces on the coordinates are off by up to {100 * share:.0f} percent of the largest",
                [below(share, ROUNDING)],
                "The part inside the hub has weight too: the integral begins at l - l0, as in eq. 28.",
                [below(left, ROUNDING)],
                f"With it the forces agree to {left:.0e}, at {len(found)} random states under an oblique gravity. In "
                "m g' r the vector g must point against the acceleration of gravity. The paper's runs have no gravity.",
            )
        ],
    )
