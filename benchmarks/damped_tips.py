"""The tip of Subudhi & Morris's arm, of a damped material, as Exudyn's cables have it: what a test compares with.

    python -m benchmarks.damped_tips        writes tests/data/damped_tips.csv anew; needs the extra `peers`

So the test runs where Exudyn is not installed.
"""

from pathlib import Path

import numpy as np

import flexarm as fa
from benchmarks import exudyn_models

FILE = Path(__file__).resolve().parents[1] / "tests" / "data" / "damped_tips.csv"
TAUS = (1e-4, 1e-2)
"""Of Kelvin and Voigt's material [s]."""
UNTIL, SAMPLES = 1.0, 51


def damped(tau: float) -> fa.Arm:
    """The arm: five modes a link, and their foreshortening."""
    arm = fa.load("subudhi-morris")
    more = {"modes": {"y": 5}, "foreshortening": True, "shapes": "craig-bampton", "tau": tau}
    return arm.replace(links=[link.replace(body=link.body.replace(**more)) for link in arm.links])


def torques() -> fa.Piecewise:
    """A step there and back [N m]."""
    return fa.Piecewise([0, 0.25, 0.5], [[0.05, 0.025], [-0.05, -0.025], [0, 0]])


def exudyns(tau: float) -> np.ndarray:
    """Where the tip is, (SAMPLES, 2) [m], by 12 cables a link, which are axially stiff, and 4000 steps."""
    arm = damped(tau)
    drives = exudyn_models.torques(fa.Model(arm), torques(), UNTIL)
    _, tip = exudyn_models.cables(arm, (12, 12), 1e5, drives, UNTIL).run(
        exudyn_models.Settings(4000, 1e-8, 1e-8), SAMPLES
    )
    assert tip is not None, "Newton's method gave up"
    return tip


def main() -> None:
    """Write the file."""
    table = np.column_stack([np.linspace(0.0, UNTIL, SAMPLES), *map(exudyns, TAUS)])
    made = f"Exudyn {exudyn_models.exudyn().__version__}, by python -m benchmarks.damped_tips"
    columns = ",".join(["time", *(f"{axis} at tau = {tau:g} s" for tau in TAUS for axis in "xy")])
    FILE.parent.mkdir(exist_ok=True)
    np.savetxt(FILE, table, fmt="%.9g", delimiter=",", header=f"{made}\n{columns}")


if __name__ == "__main__":
    main()
