"""Figs. 4 to 8 of Mohan & Saha, and the figures of the two studies."""

from pathlib import Path

import numpy as np

from flexarm import style
from flexarm.arrays import Array
from flexarm_papers.mohan_saha import faults, rounding
from flexarm_papers.mohan_saha.compute import Slew
from flexarm_papers.panels import Curve, Panel, draw

FAULT = "dense, $I_{ij}$ undeformed"
PATH_NAMES = ("recursion", "dense")
ACCELERATION = "acceleration of joint 1 [rad/s$^2$]"
POWER = (-40.0, 140.0)


def fig_4(folder: Path, slew: Slew) -> None:
    """Draw the angles and rates of the joints."""
    q, qd = (slew.result[x].values[:, : slew.m] for x in ("q", "qd"))
    panels = []
    for i in range(3):
        panels.append(Panel(f"({'abc'[i]}) angle of joint {i + 1}", "rad", _against(slew.t, q[:, i], slew.theta[:, i])))
        panels.append(
            Panel(f"({'def'[i]}) rate of joint {i + 1}", "rad/s", _against(slew.t, qd[:, i], slew.thetad[:, i]))
        )
    draw(folder, "mohan-saha-fig4", 2, (6, 5), panels)


def fig_5(folder: Path, slew: Slew) -> None:
    """Draw the tip deflections."""
    panels = []
    for i in range(3):
        curves = [
            Curve(slew.t, 1e3 * slew.tips[:, i], style.curve(0), "simulated"),
            Curve(slew.t, 1e3 * slew.quasi_static[:, i], style.WANTED, "without vibration"),
        ]
        panels.append(Panel(f"({'abc'[i]}) link {i + 1}", "tip deflection [mm]", curves))
    draw(folder, "mohan-saha-fig5", 1, (6, 6), panels)


def fig_6(folder: Path, slew: Slew) -> None:
    """Draw joint 1 by both paths."""
    recursion, dense = (x[:, 0] - slew.theta[: len(x), 0] for x in slew.both["tight"])
    curves = [Curve(slew.t[: len(recursion)], recursion, style.curve(0, linewidth=style.BROAD), "recursion")]
    curves += [Curve(slew.t[: len(dense)], dense, style.curve(1), "dense")]
    draw(folder, "mohan-saha-fig6", 1, (6, 3.5), [Panel("", "joint 1, simulated less desired [rad]", curves)])


def fig_7(folder: Path, slew: Slew) -> None:
    """Draw the power by both paths."""
    desired, *both = slew.power
    panels = [
        Panel(f"({letter}) {name}", "power [W]", _against(slew.t, power, desired), POWER)
        for letter, name, power in zip("ab", PATH_NAMES, both, strict=True)
    ]
    draw(folder, "mohan-saha-fig7", 2, (8, 3.5), panels)


def fig_8(folder: Path, slew: Slew) -> None:
    """Draw the acceleration of joint 1 by both paths."""
    panels = [
        Panel(
            f"({letter}) {name}", ACCELERATION, [Curve(slew.t[: len(qdd)], qdd[:, 0], style.curve(0), "")], (-1.5, 1.5)
        )
        for letter, name, qdd in zip("ab", PATH_NAMES, slew.accelerations, strict=True)
    ]
    draw(folder, "mohan-saha-fig8", 2, (8, 3.5), panels)


def fault(folder: Path, slew: Slew) -> None:
    """Draw Figs. 6 to 8 with an inconsistent inertia matrix in the dense path."""
    bad, sound = faults.failures(slew)["deformation"], slew.both["tight"][0]
    power = np.einsum("tj,tj->t", slew.torques(bad.t), bad.qd[:, : slew.m])
    wrong = bad.q[:, 0] - np.interp(bad.t, slew.t, slew.theta[:, 0])
    t, right = slew.t[: len(sound)], sound[:, 0] - slew.theta[: len(sound), 0]
    rows = [
        ("joint 1 less desired [rad]", right, wrong, (-0.005, 0.025)),
        ("power [W]", slew.power[1], power, POWER),
        (ACCELERATION, slew.accelerations[0][:, 0], bad.qdd, (-3.0, 3.0)),
    ]
    panels = [
        Panel("", label, [Curve(t, y, style.curve(0), "recursion"), Curve(bad.t, z, style.curve(1), FAULT)], limits)
        for label, y, z, limits in rows
    ]
    draw(folder, "mohan-saha-faults", 1, (6, 7), panels)


def errors(folder: Path, slew: Slew) -> None:
    """Draw the rounding errors of one evaluation over modes, links, stiffness and mass."""
    panels = []
    for name, group in rounding.sweep(slew).items():
        at, values = np.array(list(group)), list(group.values())
        curves = [
            Curve(at, np.array([c.recursion for c in values]), style.joined(0), "recursion"),
            Curve(at, np.array([c.dense for c in values]), style.joined(1), "dense, Cholesky"),
            Curve(at, np.array([rounding.EPS * c.condition for c in values]), style.WANTED, "2.2e-16 x condition of M"),
        ]
        scale = "log" if "over" in name else "linear"
        panels.append(Panel(name, "relative error of qdd", curves, (1e-15, 1e-8), scale, "log"))
    draw(folder, "mohan-saha-rounding", 2, (8, 6), panels, below="")


def _against(t: Array, simulated: Array, desired: Array) -> list[Curve]:
    return [
        Curve(t[: len(simulated)], simulated, style.curve(0), "simulated"),
        Curve(t, desired, style.WANTED, "desired"),
    ]
