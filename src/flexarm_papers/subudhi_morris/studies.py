"""Two studies of Subudhi & Morris 2002: why stiff joints matter little, and the validity of small deflections.

The reference of the second is a chain of short beams, whose angles may be large. It is checked with half as many
pieces, and with rigid rods and springs, which use no beam theory.
"""

from dataclasses import dataclass
from functools import cache
from typing import final

import numpy as np

from flexarm import Arm
from flexarm_papers.subudhi_morris.compute import (
    KS,
    PULSE,
    ROTORS,
    TORQUE,
    Array,
    Rotor,
    after_pulse,
    apart,
    arm,
    chain_deflections,
    chain_response,
    frequencies_of,
    grown,
    response,
    rms,
    rods,
    run,
    tip_deflections,
    travel,
)
from flexarm_papers.subudhi_morris.compute import L as LENGTH
from flexarm_papers.subudhi_morris.words import changes, numbers
from flexarm_papers.verdicts import Claim, Part, above, below, near

TORQUES = (TORQUE, 0.06, 0.02)
RODS = 8


@final
@dataclass(frozen=True)
class Variant:
    """Arm of small-deflection theory."""

    shapes: str
    modes: int
    foreshortening: bool = False

    @property
    def label(self) -> str:
        """Label of the arm in figures."""
        return f"{self.modes} {self.shapes}{', foreshortening' * self.foreshortening}"

    def arm(self, rotor: Rotor) -> Arm:
        """Return the arm."""
        return arm(rotor, shapes=(self.shapes,) * 2, modes={"y": self.modes}, foreshortening=self.foreshortening)


PAPER, MORE = Variant("clamped-mass", 2), Variant("clamped-mass", 4)
SHORTER, OTHER = Variant("clamped-mass", 2, foreshortening=True), Variant("clamped-free", 2)
VARIANTS = (OTHER, PAPER, MORE, SHORTER)


@cache
def errors(rotor: Rotor, variant: Variant) -> Array:
    """Return the largest distance of the tip from the reference within 2 s, for each torque [mm]."""
    one = variant.arm(rotor)
    found = [apart(run(one, torque), chain_response(rotor, torque=torque)).max() for torque in TORQUES]
    return np.array(found)


def order(rotor: Rotor, variant: Variant) -> float:
    """Return the power of the torque with which the error grows."""
    e = errors(rotor, variant)
    return float(np.log(e[0] / e[-1]) / np.log(TORQUES[0] / TORQUES[-1]))


def parts() -> list[Part]:
    """Return the two studies."""
    return [
        Part(
            "Why stiff joints matter little",
            "A joint is 50 times stiffer than a link; it only shifts the modes relative to the two pulses.",
            [left_by_pulses(), soft_joints(), on_the_chain()],
            "subudhi-morris-pulse.svg",
            study=True,
        ),
        Part(
            "How far small deflections carry",
            "Our model, the paper's with an exact rotation in eq. 2, against chains of short beams that may turn far.",
            [reference(), paper(), foreshortened(), more_modes(), other_shapes()],
            "subudhi-morris-validity.svg",
            study=True,
        ),
    ]


# -- why stiff joints matter little ------------------------------------------------------------------------------------


def left_by_pulses() -> Claim:
    """Return the claim about the vibration after the pulses, by a formula and by small motions of the whole arm."""
    ratios = []
    for rotor, torque in zip(ROTORS, (0.02, 0.005), strict=True):
        result = run(arm(rotor), torque, until=6.0, samples=3001)
        left = rms(result.q.values[result.time.values > 2 * PULSE, 2]) * TORQUE / torque
        ratios.append(float(left) / after_pulse(arm(rotor)))
    lowest = {rotor: [frequencies_of(rotor, ks)[:2] for ks in (None, KS)] for rotor in ROTORS}
    return Claim(
        *("Pulses, 4 sin^2(omega T / 2) / omega^2", "The vibration that two opposite pulses leave in a mode.", ""),
        f"simulated over the formula: {numbers(ratios)} (relative, absolute rotors, small torques)",
        checks=[near(x, 1.0, 0.05) for x in ratios],
        note="It is zero at 12.6 and 25.1 rad/s. The first two modes, rigid and elastic, lie at "
        + "; ".join(f"{numbers(a)} and {numbers(b)} ({rotor})" for rotor, (a, b) in lowest.items())
        + ".",
    )


def soft_joints() -> Claim:
    """Return the claim about joints as soft as the links."""
    soft = grown(tip_deflections, response("relative"), run(arm(ks=2.0), samples=1001))
    return Claim(
        *("k_s = 2 N m/rad", "Joints as soft as the links, EI / l, for the paper's 100.", ""),
        f"the tips bend by {changes(soft)} percent (relative rotors in both arms)",
        checks=[above(x, 20.0) for x in soft],
        note="So elastic joints would do what the conclusion says if they were 50 times softer.",
    )


def on_the_chain() -> Claim:
    """Return the claim about elastic joints with large deflections."""
    two_modes = grown(tip_deflections, response("absolute"), response("absolute", KS))
    rigid, elastic = (chain_deflections(chain_response("absolute", ks, pieces=2)) for ks in (None, KS))
    large = 100 * (elastic / rigid - 1)
    return Claim(
        *("Large deflections", "What elastic joints change at the tips, on chains of short beams.", ""),
        f"{changes(large)} percent (two modes {changes(two_modes)}); absolute rotors in both arms, no damping",
        checks=[near(a, b, 3.0) for a, b in zip(large, two_modes, strict=True)],
        note="So small deflections are not the reason why little of the conclusion is left.",
    )


# -- how far small deflections carry -----------------------------------------------------------------------------------


def _said(variant: Variant) -> str:
    return "; ".join(f"{rotor} {numbers(errors(rotor, variant), 2)}" for rotor in ROTORS)


def reference() -> Claim:
    """Return the claim about the accuracy of the reference."""
    best = {rotor: chain_response(rotor) for rotor in ROTORS}
    half = [apart(chain_response(rotor, pieces=2), best[rotor]).max() for rotor in ROTORS]
    rigid = [apart(run(rods(rotor, RODS)), best[rotor]).max() for rotor in ROTORS]
    bends = {rotor: 100 * chain_deflections(best[rotor]) / LENGTH for rotor in ROTORS}
    return Claim(
        *("The reference", "Chains of 4 short beams a link, no damping.", ""),
        f"2 beams a link move the tip by {numbers(half, 2)} mm (relative, absolute rotors), {RODS} rigid rods with "
        f"springs by {numbers(rigid, 2)} mm",
        checks=[
            below(x / errors(r, PAPER)[0], 0.15) for each in (half, rigid) for x, r in zip(each, ROTORS, strict=True)
        ],
        note="Less than 15 percent of what they are to judge. The links bend by "
        + "; ".join(f"{numbers(bends[rotor], 2)} percent of the length ({rotor})" for rotor in ROTORS)
        + ".",
    )


def paper() -> Claim:
    """Return the claim about the paper's model with an exact rotation in place of eq. 2."""
    share = [100 * errors(rotor, PAPER)[0] / travel(chain_response(rotor)) for rotor in ROTORS]
    powers = [order(rotor, PAPER) for rotor in ROTORS]
    return Claim(
        *("Exact rotation, two modes", "Largest error of the tip at 0.2, 0.06, 0.02 N m.", ""),
        f"{_said(PAPER)} mm; at 0.2 N m {numbers(share, 2)} percent of the tip's path",
        checks=[near(x, 2.0, 0.2) for x in powers],
        note=f"It grows with the power {numbers(powers, 2)} of the torque. What is neglected is of second order. The "
        "paper's own rotation is that of eq. 2, which neglects more; see there.",
    )


def foreshortened() -> Claim:
    """Return the claim about the model with foreshortening, the term of second order."""
    gain = [errors(rotor, PAPER)[0] / errors(rotor, SHORTER)[0] for rotor in ROTORS]
    return Claim(
        *("With foreshortening", "A link comes nearer to its root as it bends, -1/2 int v'^2 dx.", ""),
        f"{_said(SHORTER)} mm: at 0.2 N m {numbers(gain, 2)} times less",
        checks=[above(gain[0], 10.0), above(gain[1], 2.0)],
        note="This term is nearly all of the error with relative rotors, and more than half of it with absolute ones.",
    )


def more_modes() -> Claim:
    """Return the claim about two or four modes."""
    changed = [errors(rotor, MORE)[0] / errors(rotor, PAPER)[0] - 1 for rotor in ROTORS]
    return Claim(
        *("Section 3, two modes", "Two modes a link have reasonable accuracy.", "reasonable"),
        f"with 4 modes {_said(MORE)} mm",
        checks=[below(x, 0.15) for x in changed],
        note="More modes do not help: what is left is geometry.",
    )


def other_shapes() -> Claim:
    """Return the claim about shapes without a load."""
    worse = [errors(rotor, OTHER) / errors(rotor, PAPER) for rotor in ROTORS]
    return Claim(
        *("Eqs. 27 to 39, worth it", "Shapes of a loaded link are worth the effort.", ""),
        f"clamped-free shapes, 2 modes: {_said(OTHER)} mm",
        checks=[above(x, 2.0) for each in worse for x in each],
        note="They carry no moment and no force at the tip, where the next link and the payload pull.",
    )
