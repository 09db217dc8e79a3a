"""Which method a run should take: a suite of runs, each method on each, beside what `method="auto"` takes."""

import statistics
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import flexarm as fa
from benchmarks.chains import chain
from benchmarks.report import Table, judged, time
from flexarm import control

METHODS = ("dop853", "vern8", "tsit5", "gauss8", "radau5", "radau9")
"""What `auto` is compared with."""

WITHIN = 1.5  # target: time of what it takes over that of the best
FAIR = 10.0
"""A method counts whose error is no more than so many times that of `auto`, or than the tolerance asks for."""


@dataclass(frozen=True)
class Case:
    """A run: its arm, how long, what drives it."""

    name: str
    arm: Callable[[], fa.Arm]
    until: float
    rtol: float = 1e-8
    drive: Callable[[fa.Model], Any] = lambda model: None
    q0: Callable[[fa.Model], Any] = lambda model: None
    qd0: Callable[[fa.Model], Any] = lambda model: None
    samples: int = 501

    def run(self, method: str, rtol: float | None = None) -> Any:
        """The result by one method."""
        model = model_of(self.name)
        tolerance = self.rtol if rtol is None else rtol
        return fa.simulate(
            model,
            self.until,
            drive_of(self.name),
            self.q0(model),
            self.qd0(model),
            solver=fa.Solver(method=method, rtol=tolerance, atol=1e-2 * tolerance),
            samples=self.samples,
            progress=False,
        )


@cache
def model_of(name: str) -> fa.Model:
    """The model of a case, one for all its runs."""
    return fa.Model(CASES[name].arm())


@cache
def drive_of(name: str) -> Any:
    """What drives a case, one for all its runs."""
    return CASES[name].drive(model_of(name))


def large(name: str, modes: int) -> fa.Arm:
    """A bundled arm with large deflections."""
    arm = fa.load(name)
    change = {"shapes": "polynomial", "foreshortening": True, "modes": {"y": modes}}
    links = [link.model_copy(update={"body": link.body.model_copy(update=change)}) for link in arm.links]
    return fa.Arm(name=f"{name}, large deflections", links=links, gravity=arm.gravity, payload=arm.payload)


def six_axes(stiffness: float | None) -> fa.Arm:
    """An industrial arm's six rigid links on elastic joints."""
    lengths, masses = (0.3, 0.7, 0.6, 0.2, 0.2, 0.1), (20.0, 15.0, 10.0, 4.0, 3.0, 1.0)
    axes = ((0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0))
    links = [
        fa.Link(
            name=f"l{i}",
            joint=fa.Revolute(axis=a, **({"stiffness": stiffness, "rotor_inertia": 0.5} if stiffness else {})),
            body=fa.Rigid(mass=m, length=L, com=(L / 2, 0, 0), inertia=(0.02 * m, 0.03 * m, 0.03 * m)),
        )
        for i, (L, m, a) in enumerate(zip(lengths, masses, axes, strict=True))
    ]
    return fa.Arm(name="six axes", links=links, gravity=(0, 0, -9.81))


def rod_chain(n: int, **joint: Any) -> fa.Arm:
    """Rigid rods that hang one from the other."""
    links = [
        fa.Link(name=f"l{i}", joint=fa.Revolute(axis=(0, 1, 0), **joint), body=fa.Rigid(mass=1.0, length=0.3))
        for i in range(n)
    ]
    return fa.Arm(name=f"{n} rods", links=links, gravity=(0, 0, -9.81))


def damped(ratio: float) -> fa.Arm:
    """Two flexible links whose modes hardly swing."""
    arm = fa.load("subudhi-morris")
    links = [link.model_copy(update={"body": link.body.model_copy(update={"damping": ratio})}) for link in arm.links]
    return fa.Arm(name="damped", links=links, gravity=arm.gravity, payload=arm.payload)


SLEW = fa.Cycloidal((0.075, 0.05, 0.1), (10, 5, 5))
TWO = fa.Quintic((0.0, 0.0), (0.6, 0.4), 1.0)


def canadarm_torques(model: fa.Model) -> Any:
    """Of the rigid arm along the slew."""
    return fa.RigidInverseDynamics(SLEW)


def push(model: fa.Model) -> Any:
    """Half a second of bang-bang on the first joint."""
    return fa.bang_bang([0.2] + [0.0] * (len(model.inputs) - 1), duration=0.5)


def bent(amount: float) -> Callable[[fa.Model], Any]:
    """Every joint a little away from rest."""

    def q0(model: fa.Model) -> np.ndarray:
        q = np.array(model.arm.rest)
        joints = list(model.arm.joints)
        q[joints] += amount
        for joint, motor in model.arm.springs:
            q[motor] = q[joint]
        return q

    return q0


CASES: dict[str, Case] = {
    case.name: case
    for case in (
        Case("Canadarm, slew", lambda: fa.load("canadarm"), 10.0, drive=canadarm_torques),
        Case("Canadarm, slew, rtol 1e-4", lambda: fa.load("canadarm"), 10.0, 1e-4, canadarm_torques),
        Case("Canadarm, large, rtol 1e-3", lambda: large("canadarm", 3), 10.0, 1e-3, canadarm_torques),
        Case("Canadarm, large, rtol 1e-5", lambda: large("canadarm", 3), 10.0, 1e-5, canadarm_torques),
        Case("Canadarm, large, rtol 1e-8", lambda: large("canadarm", 3), 10.0, 1e-8, canadarm_torques),
        Case("Subudhi & Morris, bang-bang", lambda: fa.load("subudhi-morris"), 2.0, drive=push),
        Case("Subudhi & Morris, large, rtol 1e-5", lambda: large("subudhi-morris", 2), 2.0, 1e-5, push),
        Case("elastic joints, bang-bang", lambda: fa.load("subudhi-morris-elastic"), 2.0, drive=push),
        Case("elastic joints, rtol 1e-4", lambda: fa.load("subudhi-morris-elastic"), 2.0, 1e-4, push),
        Case("six axes on 1e5 N m/rad", lambda: six_axes(1e5), 1.0, 1e-6, q0=bent(0.3)),
        Case("six axes on 1e7 N m/rad", lambda: six_axes(1e7), 1.0, 1e-6, q0=bent(0.3)),
        Case("six axes, rigid", lambda: six_axes(None), 1.0, q0=bent(0.3)),
        Case("30 links, rigid", lambda: rod_chain(30), 1.0, 1e-6, q0=bent(0.02)),
        Case(
            "30 links, elastic joints",
            lambda: rod_chain(30, stiffness=1e5, rotor_inertia=0.1),
            0.5,
            1e-6,
            q0=bent(0.02),
        ),
        Case("8 flexible links", lambda: chain(8), 0.2, 1e-6),
        Case("spatial 6R", lambda: fa.load("spatial-6r"), 1.0, 1e-6, q0=bent(0.2)),
        Case("telescope", lambda: fa.load("theodore-ghosal"), 2.0, 1e-6, push),
        Case("damped beams", lambda: damped(0.7), 2.0, 1e-6, push),
        Case("short: 5 ms", lambda: large("canadarm", 3), 0.005, 1e-6, lambda m: [10.0, 0.0, 0.0]),
        Case("long: 200 s of a pendulum", lambda: rod_chain(1), 200.0, 1e-6, q0=bent(0.5)),
        Case("prescribed joints", lambda: fa.load("subudhi-morris"), 2.0, 1e-6, lambda m: fa.PrescribedMotion(TWO)),
        Case(
            "PID, continuous",
            lambda: fa.load("subudhi-morris-elastic"),
            2.0,
            1e-6,
            lambda m: control.Integral(control.JointPD(TWO, Kp=5.0, Kd=1.0), Ki=3.0),
        ),
        Case(
            "PD, sampled at 1 ms",
            lambda: fa.load("subudhi-morris-elastic"),
            2.0,
            1e-6,
            lambda m: control.Sampled(control.JointPD(TWO, Kp=5.0, Kd=1.0), period=1e-3),
        ),
        Case(
            "PD, sampled at 20 ms, stiff",
            lambda: six_axes(1e7),
            2.0,
            1e-4,
            lambda m: control.Sampled(
                control.JointPD(fa.Quintic((0.0,) * 6, (0.2,) * 6, 1.0), Kp=50.0, Kd=15.0), period=2e-2
            ),
        ),
    )
}


def measure(quick: bool) -> list[Table]:
    """Time of `auto` and of each method, in turn, those alone that are as exact."""
    table = Table(
        'Methods that `method="auto"` chooses',
        (
            "run",
            "n",
            "rtol",
            "auto chooses",
            "time",
            "error of the tip [m]",
            "best method",
            "its time",
            "auto / best",
            "target",
            "met",
        ),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in list(CASES.values())[:: 4 if quick else 1]:
            _row(table, case, 3 if quick else 9)
    table.notes.append(
        "Times are medians of alternating runs, without compilation. A method counts only if the error of its tip is "
        f"at most {FAIR:g} times that of `auto`, or at most rtol times the reach of the arm. Errors are relative to "
        f"dop853 with a hundredth of rtol. The best method is the fastest of {', '.join(METHODS)}."
    )
    return [table]


def _row(table: Table, case: Case, repeats: int) -> None:
    exact = case.run("dop853", 1e-2 * case.rtol).tip.values
    reach = float(np.abs(exact).max())
    errors: dict[str, float] = {}
    seconds: dict[str, list[float]] = {}
    taken = ""
    for turn in range(1 + repeats):
        for method in ("auto", *METHODS):
            if turn and method not in seconds:
                continue
            try:
                result = case.run(method)
            except fa.SimulationError:
                continue
            if turn:
                seconds[method].append(result.attrs["solve_seconds"])
            else:
                errors[method], seconds[method] = float(np.abs(result.tip.values - exact).max()), []
            if method == "auto":
                taken = result.attrs["method"]
    fair = [m for m in errors if errors[m] <= max(FAIR * errors["auto"], case.rtol * reach)]
    medians = {method: statistics.median(seconds[method]) for method in fair}
    best = min((method for method in medians if method != "auto"), key=lambda method: medians[method])
    ratios = [a / b for a, b in zip(seconds["auto"], seconds[best], strict=True)]
    ratio = statistics.median(ratios)
    n = len(model_of(case.name).coordinates)
    shown = (time(medians["auto"]), f"{errors['auto']:.1e}", best, time(medians[best]), f"{ratio:.2f}")
    table.add(case.name, n, f"{case.rtol:.0e}", taken, *shown, *judged(ratio, WITHIN, f"{WITHIN:g}"))
