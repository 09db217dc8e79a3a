"""Subudhi & Morris 2002, composite control: Figs. 7 and 8.

`Composite` puts back two terms that the paper leaves out; the law as printed (`subudhi_gains`) does not track.
"""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from flexarm.control import Composite, ComputedTorque, Sampled
from flexarm.model import Model
from flexarm.papers.claims import Claim
from flexarm.papers.panels import Curve, Panel, draw
from flexarm.papers.subudhi_gains import (
    ARRIVAL,
    KD,
    KP,
    NATURAL,
    REFERENCE,
    Linear,
    Printed,
    least_stiffness,
    printed_gains,
    reading,
    shown,
    worst,
)
from flexarm.papers.subudhi_morris import KS, ROTORS, Array, Rotor, apart, arm, numbers, run, spring, verdict
from flexarm.simulation.run import simulate
from flexarm.trajectory import reference_motion

LATE, UNTIL, PERIOD = ARRIVAL + 1.0, 4.0, 1e-3
ERROR, RESIDUAL = 5e-3, 0.02
"""Targets: of the link angles at 2 s [rad]; of the tips' deflections from 3 s on, over those after the bang-bang."""


def control(folder: Path) -> list[Claim]:
    """Draw Figs. 7 and 8 into the folder; check what the paper says of its controller, and the gains it prints."""
    figures(folder)
    return [*performances(), *as_printed(), *printed_gains()]


# -- runs --------------------------------------------------------------------------------------------------------------


@cache
def composite(rotor: Rotor) -> Any:
    """What the design of the composite law finds for the sampled arm."""
    return Composite(REFERENCE, KP, KD).law(Model(arm(rotor, KS)), PERIOD).facts


@cache
def tracked(rotor: Rotor, name: str = "composite", period: float | None = PERIOD) -> Any:
    """A run: `composite`, with a tenth of R (`light`), `slow` alone, or as printed, on `rotors` or with `gains`."""
    facts = composite(rotor)
    laws = {
        "composite": Composite(REFERENCE, KP, KD),
        "light": Composite(REFERENCE, KP, KD, R=0.027),
        "slow": ComputedTorque(REFERENCE, KP, KD),
        "rotors": Printed(facts["K_p"], facts["K_d"], rotors=True),
        "gains": Printed(*reading(*NATURAL, "zeta", least_stiffness(rotor)[1], rotor)),
    }
    return follow(rotor, laws[name], period)


def follow(rotor: Rotor, law: Any, period: float | None = PERIOD) -> Any:
    """The run under a law."""
    law = Sampled(law, period) if period else law
    return simulate(Model(arm(rotor, KS)), UNTIL, law, samples=2001, progress=False)


def off(result: Any) -> tuple[Array, Array, Array]:
    """Link angles off the reference: at 2 s, the largest from 3 s on, the largest of all [rad]."""
    t, error = result.time.values, np.abs(result.q.values[:, :2] - result.q_ref.values)
    return error[np.searchsorted(t, ARRIVAL)], error[t >= LATE].max(axis=0), error.max(axis=0)


def largest(result: Any, values: Array) -> tuple[Array, Array]:
    """Of all sizes, and of those from 3 s on."""
    return np.abs(values).max(axis=0), np.abs(values[result.time.values >= LATE]).max(axis=0)


def residual(result: Any, rotor: Rotor) -> Array:
    """The tips' largest deflections from 3 s on, over those that the bang-bang torque leaves."""
    free = run(arm(rotor, KS), until=UNTIL)
    left = np.abs(free.deflection.values[free.time.values > 1.0, :, 1]).max(axis=0)
    return np.asarray(largest(result, result.deflection.values[..., 1])[1] / left)


def astray(result: Any) -> float:
    """Largest distance of the tip from that of a rigid arm on the reference [mm]."""
    there = Model(arm().rigid()).tip(result.q_ref.values)[:, :3, 3]
    return 1e3 * float(np.linalg.norm(result.tip.values - there, axis=1).max())


def milli(*values: Array) -> str:
    """Pairs of numbers, times 1000."""
    return "; ".join(numbers(1e3 * v) for v in values)


def performances() -> list[Claim]:
    """What the paper says of Figs. 7 and 8."""
    ours, absolute, light = tracked("relative"), tracked("absolute"), tracked("relative", "light")
    smooth = tracked("relative", period=None)
    joints, modes, tips = spring(ours), ours.q.values[:, 2:6], ours.deflection.values[..., 1]
    left = residual(ours, "relative")
    rigid = Model(arm("relative").rigid())
    demand = [rigid.inverse_dynamics(*reference_motion(REFERENCE, t)) for t in ours.time.values[::20]]
    effort, needed = (np.abs(u).max(axis=0) for u in (ours.u.values, np.array(demand)))
    poles = sorted(composite("relative")["fast_poles"], key=abs)[::2]
    ratios = [-100 * s.real / abs(s) for s in poles]
    differ = apart(ours, smooth).max()

    def gone(values: Array) -> bool:
        most, late = largest(ours, values)
        return bool((late < 0.1 * most).all())

    return [
        Claim(
            *("Fig. 7(a)", "link angles off the reference: at 2 s; from 3 s on; largest [mrad]", "good tracking"),
            f"{milli(*off(ours))}; at 2 s with a continuous law {milli(off(smooth)[0])}",
            verdict((off(ours)[0] < ERROR).all() and (off(smooth)[0] < ERROR).all()),
            f"target {1e3 * ERROR:g} at 2 s; Q and R are not printed: with a tenth of R {milli(off(light)[0])}. With "
            f"an absolute rotor {milli(*off(absolute)[:2])}. Joints lead and lag by what bending takes: the tip stays "
            f"within {astray(ours):.0f} mm of the rigid arm's (slow law alone "
            f"{astray(tracked('relative', 'slow')):.0f})",
        ),
        Claim(
            *("Fig. 7(b)", "joint deflections: largest; from 3 s on [mrad]", "suppressed"),
            milli(*largest(ours, joints)),
            verdict(gone(joints)),
            f"absolute rotor {milli(*largest(absolute, spring(absolute)))}",
        ),
        Claim(
            *("Figs. 7(c), (d), 8(a), (b)", "modes 11, 12, 21, 22: largest; from 3 s on [mm]", "well damped"),
            milli(*largest(ours, modes)),
            verdict(gone(modes)),
            f"damping of the fast subsystem's modes, lowest first, percent: {numbers(ratios, 2)}: the "
            "higher ones are hardly excited",
        ),
        Claim(
            *("Fig. 8(c)", "tip deflections: largest; from 3 s on [mm]; these over the bang-bang's residual [percent]"),
            "suppressed",
            f"{milli(*largest(ours, tips))}; {numbers(100 * left)}",
            verdict((left < RESIDUAL).all()),
            f"target {100 * RESIDUAL:g} percent; absolute rotor {numbers(100 * residual(absolute, 'absolute'))}",
        ),
        Claim(
            *("Fig. 8(d)", "largest torques [N m]", "curves"),
            numbers(effort),
            verdict((np.abs(effort / needed - 1) < 0.1).all()),
            f"the rigid arm needs {numbers(needed)} for the same motion; absolute rotor "
            f"{numbers(np.abs(absolute.u.values).max(axis=0))}",
        ),
        Claim(
            *("Section 6", "1 ms serves the controller: tip off that of a continuous law [mm]", "sampled at 1 ms"),
            numbers([differ], 2),
            verdict(differ < 1.0),
        ),
    ]


def as_printed() -> list[Claim]:
    """Eqs. 66 to 70 to the letter."""
    facts = {rotor: composite(rotor) for rotor in ROTORS}
    links, rotors, damped = Linear("relative"), Linear("relative", True), Linear("relative", damping=0.02)
    K = facts["relative"]["K_p"], facts["relative"]["K_d"]
    runs = {name: tracked("relative", name) for name in ("rotors", "gains", "slow")}
    said = {name: f"{milli(off(r)[0])}; {numbers(100 * residual(r, 'relative'))}" for name, r in runs.items()}
    ways = ", ".join(f"{facts[rotor]['separation']:.2g} ({rotor})" for rotor in ROTORS)
    return [
        Claim(
            *("Eqs. 68 to 70", "the law as printed, gains by LQR: rightmost pole [1/s]", "stable"),
            f"links' angles in eq. 69 {shown(worst(links.poles(*K)))}, rotors' {shown(worst(rotors.poles(*K)))}",
            "explained" if worst(links.poles(*K)).real > 0 > worst(rotors.poles(*K)).real else "not met",
            f"without u_f {shown(worst(links.poles()))}: between a link's angle and its motor lies the spring. With 2 "
            f"percent of damping in the links {shown(worst(damped.poles(*K)))}; the paper's d_ij are not printed",
        ),
        Claim(
            *("Eqs. 68 to 70", "the law as printed: link angles off at 2 s [mrad]; residual as in Fig. 8(c) [percent]"),
            "good tracking",
            f"LQR, rotors' angles {said['rotors']}; printed gains {said['gains']}",
            "explained" if all(off(runs[n])[0].max() > ERROR for n in ("rotors", "gains")) else "not met",
            f"the slowest vibration is only {ways} times as fast as the slow motion, and what is left out is of the "
            "first order in the ratio. `corrected` puts it back",
        ),
        Claim(
            *("Eq. 69", "the slow law alone, rotors' angles: the same", "needs u_f"),
            said["slow"],
            verdict(off(runs["slow"])[0].max() > ERROR and residual(runs["slow"], "relative").max() > RESIDUAL),
        ),
    ]


def figures(folder: Path) -> None:
    """The panels of the paper. The caption of 7(d) is that of 8(b) too: it is taken for link 2's first mode."""
    runs = {
        "composite, relative rotor": (tracked("relative"), "C0"),
        "composite, absolute rotor": (tracked("absolute"), "C1"),
        "slow law alone, relative": (tracked("relative", "slow"), "C7"),
    }

    def panel(title: str, unit: str, values: Any, legend: bool = False, reference: bool = False) -> Panel:
        curves = []
        for label, (result, color) in runs.items():
            for y, style in zip(values(result).T, ("", "--"), strict=False):
                told = label if legend and not style else ""
                curves.append(Curve(result.time.values[::4], y[::4], color + style, told, 0.9))
        if reference:
            result = tracked("relative")
            curves += [Curve(result.time.values[::4], y[::4], "k:", "", 0.9) for y in result.q_ref.values.T]
        return Panel(title, unit, curves, (-45.0, 22.0) if legend else None)  # room for it

    def mode(n: int) -> Any:
        return lambda result: 1e3 * result.q.values[:, n : n + 1]

    pages = {
        "fig7": [
            panel("(a) link angles 1, 2 (dashed); reference (dotted)", "rad", lambda r: r.q.values[:, :2], False, True),
            panel("(b) joint deflections 1, 2 (dashed)", "mrad", lambda r: 1e3 * spring(r)),
            panel("(c) link 1, mode 1", "mm", mode(2)),
            panel("(d) link 2, mode 1", "mm", mode(4), True),
        ],
        "fig8": [
            panel("(a) link 1, mode 2 (colours of Fig. 7)", "mm", mode(3)),
            panel("(b) link 2, mode 2", "mm", mode(5)),
            panel("(c) tips of links 1, 2 (dashed)", "mm", lambda r: 1e3 * r.deflection.values[..., 1]),
            panel("(d) torques 1, 2 (dashed)", "N m", lambda r: r.u.values),
        ],
    }
    for page, panels in pages.items():
        draw(folder, f"subudhi-morris-{page}", 2, (5.6, 3.6), panels)
