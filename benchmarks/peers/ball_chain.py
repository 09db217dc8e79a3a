"""Writes the motion of the chain of ball joints: `python -m benchmarks.peers.ball_chain`, where Pinocchio is installed.

Accelerations are those of Pinocchio's articulated body algorithm. SciPy's DOP853 integrates them with a relative
tolerance of 1e-13. The uncertainty is the largest distance of the tip from that of another method, RK4 in short steps,
whose error decreases with their fourth power.
"""

from importlib import metadata
from typing import Any

import numpy as np

from benchmarks.peers import joints, pinocchio_joints, pinocchio_systems
from benchmarks.peers.tasks import Array, Task

UNTIL, SAMPLES = 2.0, 101
"""Duration [s], and number of times."""
RTOL = 1e-13
STEPS = (10_000, 20_000)
"""RK4's steps, which Richardson's extrapolation joins."""


def described() -> Task:
    """Return the task without its motion."""
    q0, qd0 = (x.ravel() for x in joints.ball_start())
    times, none = np.linspace(0.0, UNTIL, SAMPLES), np.zeros((SAMPLES, 3))
    return Task(
        "ball-chain", "", joints.ball_chain(), UNTIL, times, none, 0.0, q0, qd0, np.empty(0), np.empty((0, 0)), False,
        (),
    )  # fmt: skip


def motions(steps: tuple[int, int] = STEPS) -> tuple[Array, Array]:
    """Return the places of the tip (samples, 3) [m] from DOP853, and from RK4 by extrapolation."""
    task = described()

    def system() -> Any:
        return pinocchio_joints.Balls(task)

    tip = pinocchio_systems.adaptive(task, system(), RTOL)
    coarse, fine = (pinocchio_joints.turned(task, system(), count) for count in steps)
    ratio = (steps[1] / steps[0]) ** 4
    return tip, fine + (fine - coarse) / (ratio - 1)


def main() -> None:
    """Write the file."""
    tip, other = motions()
    apart = float(np.linalg.norm(tip - other, axis=1).max())
    lines = [
        "# Tip of five rods on ball joints (benchmarks.peers.joints.ball_chain), from Pinocchio's accelerations",
        f"# Pinocchio {metadata.version('pin')}, SciPy {metadata.version('scipy')}, DOP853 with rtol {RTOL:g}",
        f"# uncertainty = {apart:.0e} m, the distance from RK4, extrapolated from {STEPS[0]} and {STEPS[1]} steps",
        "# t [s], x, y, z [m]",
    ]
    times = np.linspace(0.0, UNTIL, SAMPLES)
    lines += [",".join([f"{t:.2f}", *(f"{x:.15f}" for x in place)]) for t, place in zip(times, tip, strict=True)]
    joints.DATA.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
