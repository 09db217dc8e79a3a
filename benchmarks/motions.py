"""Optimal motions beside what is known: exact solutions, rigid arms, shapers and controllers within the same limits."""

import signal
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from time import perf_counter, process_time
from typing import Any, final

import numpy as np

import flexarm as fa
from benchmarks import known
from benchmarks.report import Picture, Table, judged, time
from benchmarks.settling import (
    KINDS,
    Arrival,
    controlled,
    led,
    place,
    rests_by,
    settled,
    shaped_steps,
    standing,
    stopped,
    swing,
)
from flexarm.control import Composite, Decoupling, JointPD, Sampled
from flexarm.optimal import OptimalMotion, optimal_motion

Array = np.ndarray


# -- cases -------------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True)
class Case:
    """A motion from rest to rest.

    Attributes
    ----------
    arm : callable
    start, end : tuple
        Joints.
    limit : tuple
        On each input [N m] or [N].
    seconds : float
        Within which it is to be solved.
    first : float
        A duration to begin with [s].
    tolerance : float
        Of the tip [m].
    laws : dict
        By name: a controller that leads the arm along a quintic, and for how long its tip is watched after [s].
    also, more : dict
        Further limits, and further arguments of `optimal_motion`.
    """

    arm: Callable[[], fa.Arm]
    start: tuple[float, ...]
    end: tuple[float, ...]
    limit: tuple[float, ...]
    seconds: float
    first: float
    tolerance: float = 1e-4
    laws: dict[str, tuple[Callable[[fa.Quintic], Any], float]] = field(default_factory=dict)
    also: dict[str, Any] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def single(self) -> bool:
        """Whether one joint moves: forces that change sides are then shaped as they are."""
        return len(self.limit) == 1


def two_masses() -> fa.Arm:
    """Two unit masses and a spring of 1 N/m."""
    joint = fa.Prismatic(axis=[1, 0, 0], stiffness=1.0, rotor_inertia=1.0)
    return fa.Arm(name="two masses", links=[fa.Link(name="cart", joint=joint, body=fa.Rigid(length=0.1, mass=1.0))])


def two_links() -> fa.Arm:
    """The rigid arm of Luus: uniform rods of 1 kg and 1 m, 1 kg at the tip, in a horizontal plane."""
    rods = [
        fa.Link(name=name, joint=fa.Revolute(axis=(0, 0, 1)), body=fa.Rigid(length=1.0, mass=1.0))
        for name in ("upper", "fore")
    ]
    return fa.Arm(name="two rods", links=rods, payload=fa.Payload(mass=1.0), gravity=(0, 0, 0))


def one_link() -> fa.Arm:
    """A hub and a beam with a load at its tip: 12 and 90 rad/s with the hub held."""
    body = fa.Beam(length=1.0, mass=0.3, EI=8.0, modes={"y": 2})
    link = fa.Link(name="beam", joint=fa.Revolute(axis=(0, 0, 1), rotor_inertia=0.05), body=body)
    return fa.Arm(name="hub and beam", links=[link], payload=fa.Payload(mass=0.1), gravity=(0, 0, 0))


def bundled(name: str) -> Callable[[], fa.Arm]:
    return lambda: fa.load(name)


def composite(Kp: float, Kd: float, period: float) -> Callable[[fa.Quintic], Any]:
    return lambda reference: Sampled(Composite(reference, Kp, Kd), period=period)


def canadarm_shaped(reference: fa.Quintic) -> JointPD:
    """As the bundled scenario `canadarm-slew-shaped` has it."""
    gains = [113400.0, 30000.0, 507.0]
    model = fa.Model(fa.load("canadarm"))
    shaper = fa.design_shaper(model, None, "zvd", 1, controller=JointPD(reference, gains, gains))
    return JointPD(fa.shaped(reference, shaper), gains, gains)


PLANAR, SPATIAL, TELESCOPING = 5.0, 10.0, 60.0
"""Seconds in which motions are to be solved: of planar arms and the Canadarm, of the spatial arm, of the telescope."""

PATIENCE = 150.0
"""Seconds after which a search is interrupted, as by Ctrl-C."""

SUBUDHI: dict[str, Any] = {
    "start": (0.0, 0.0),
    "end": (1.57, 0.52),
    "limit": (0.5, 0.5),
    "seconds": PLANAR,
    "first": 2.0,
    "laws": {"composite": (composite(5.0, 2.0, 1e-3), 12.0)},
}

CASES = {
    "two masses": Case(two_masses, (0.0,), (1.0,), (1.0,), PLANAR, 3.0),
    "rigid two-link arm": Case(two_links, *known.LUUS, (1.0, 1.0), PLANAR, 3.0),
    "one-link flexible arm": Case(one_link, (0.0,), (1.0,), (1.0,), PLANAR, 1.0),
    "Subudhi & Morris, rigid joints": Case(bundled("subudhi-morris"), **SUBUDHI),
    "Subudhi & Morris, elastic joints": Case(bundled("subudhi-morris-elastic"), **SUBUDHI),
    "Canadarm's slew": Case(
        bundled("canadarm"),
        (0.0, 0.0, 0.0),
        (0.75, 0.5, 1.0),
        (1700.0, 860.0, 90.0),
        PLANAR,
        10.0,
        1e-3,
        {"composite": (composite(1.0, 2.0, 2e-3), 30.0), "shaped PD": (canadarm_shaped, 60.0)},
        {"deflection": 0.3, "joint_range": [[-0.5, 1.5], [-0.5, 1.5], [-0.5, 2.0]]},
    ),
    "spatial 6R arm under gravity": Case(
        bundled("spatial-6r"),
        (0.0,) * 6,
        (0.8, 0.3, -0.5, 1.0, 0.6, 1.0),
        (600.0, 600.0, 250.0, 6.0, 25.0, 1.0),
        SPATIAL,
        1.0,
        laws={"composite": (composite(100.0, 20.0, 1e-3), 3.0)},
    ),
    "telescoping arm": Case(
        bundled("theodore-ghosal"),
        (0.0, 0.0, 0.3),
        (np.pi, -np.pi / 2, 1.0),
        (28.0, 62.5, 12.6),
        TELESCOPING,
        1.0,
        laws={"decoupling": (lambda reference: Decoupling(reference, 100.0, 20.0), 3.0)},
    ),
}
"""Limits: of the Canadarm what its bundled slew takes in 10 s (canadarm-slew-open, -composite); of the telescoping arm
what its bundled motion takes in 1 s; of the spatial arm somewhat more than its bundled motion takes: gravity alone
wants 410 N m at the shoulder and 144 N m at the elbow. The Canadarm's links may bend by 0.3 m beside, which is what
its slew under composite control takes (0.25 m): shapes are those of small deflections."""


# -- measured ----------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, eq=False)
class Solved:
    """An optimal motion, how long the search took by the clock and the processor [s], when its tip rests [s], by how
    much it then swings [m], its run."""

    motion: OptimalMotion
    seconds: float
    work: float
    rest: float
    left: float
    run: Any
    said: str


def fastest(model: fa.Model, case: Case) -> Solved:
    """The optimal motion; raises `FlexarmError` where none is found."""
    limits = {"torque": list(case.limit), **case.also}
    began, worked = perf_counter(), process_time()
    main = threading.main_thread().ident
    patience = threading.Timer(PATIENCE, signal.pthread_kill, [main, signal.SIGINT])
    patience.start()
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            motion = optimal_motion(model, case.start, case.end, limits, tolerance=case.tolerance / 2, **case.more)
    except KeyboardInterrupt:
        raise fa.FlexarmError(f"nothing after {PATIENCE:g} s") from None
    finally:
        patience.cancel()
    seconds, work = perf_counter() - began, process_time() - worked
    there = place(model, case.end)
    run = stopped(model, motion.torques, motion.duration, case.start, case.end)
    return Solved(
        motion,
        seconds,
        work,
        settled(run, there, case.tolerance, rests_by(run)),
        swing(run, there, motion.duration),
        run,
        "; ".join(str(each.message) for each in heard),
    )


def linear(model: fa.Model, case: Case) -> known.Linear:
    """An arm of one joint, linear about its start: positions and rates, in its modes."""
    M, K = model.mass_matrix(np.zeros(model.nq)), np.array(model.slope("stiffness_force", 0)(np.zeros(model.nq)))
    n = len(M)
    A, B = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, 1))
    A[:n, n:], A[n:, :n] = np.eye(n), -np.linalg.solve(M, K)
    B[n:] = np.linalg.solve(M, model.input_matrix(np.zeros(model.nq)))
    way = np.zeros(2 * n)
    way[:n] = standing(model, case.end)[0] - standing(model, case.start)[0]
    return known.Linear(A, B, way, np.array(case.limit))


def exact(name: str, model: fa.Model, case: Case) -> float | None:
    """What the time is without the package, where that is known [s]."""
    if name == "two masses":
        return known.two_masses().end
    if name == "rigid two-link arm":
        return known.two_links().motion.end
    if name == "one-link flexible arm":
        arm, shares = linear(model, case), np.linspace(0, 1, 401)
        T = arm.fastest(shares, 0.5 * case.first, 4 * case.first)
        return arm.impossible(arm.farthest(shares, T)[2], 2 * T)
    return None


# -- tables ------------------------------------------------------------------------------------------------------------


def measure(quick: bool) -> list[Table]:
    """Optimal motions beside shapers and controllers; beside exact solutions."""
    names = list(CASES)[:4] if quick else list(CASES)
    return [compared(names), solved_exactly()]


NOTE = (
    "All motions stay within the same limits of the torques. The second column has the duration of the fastest "
    "motion, and the time from which its tip stays within the tolerance (the first target). The columns of the other "
    "motions have only this time. The column 'known' has the exact solution of the next table. For the flexible link "
    "it has a time within which no torque reaches the goal according to the linear equations, which differ slightly "
    "from those of the arm. ZV, ZVD and EI are shapers. If one joint moves, it follows a bang-bang command that is "
    "shaped for the free arm. Otherwise the drives follow a shaped quintic exactly, as under infinitely stiff "
    "controllers. The table has the best of the shapers for one, two and three modes. Quintics are slowed down until "
    "their torques are within the limits, and then until the tip comes to rest. The values in brackets are the "
    "duration that the limits alone allow, and the distance by which the tip then continues to swing. Under control a "
    "quintic moves the joints in the same way, with the gains of the bundled scenarios (of the spatial arm, which has "
    "none, 100 and 20). The swing that is left comes from a nonlinear simulation of the torques, after which the "
    "drives stop. The search aims at half the tolerance. The search is measured once by the clock, with machine code "
    "from the cache if it was compiled before, and in brackets by processor time, which shows how busy the machine "
    "was."
)


def compared(names: list[str]) -> Table:
    """A row a case."""
    table = Table(
        "Optimal motions, shapers and controllers",
        (
            "motion, within",
            "fastest, tip at rest after",
            "rigid arm",
            "known",
            *(kind.upper() for kind in KINDS),
            "under control",
            "residual swing of the tip",
            "computing time",
            "targets",
            "met",
        ),
    )
    for name in names:
        case = CASES[name]
        model = fa.Model(case.arm())
        others = rivals(model, case)
        try:
            found = fastest(model, case)
        except fa.FlexarmError as error:
            table.add(title(model, case, name), f"none: {error}", *[""] * 2, *cells(others), "", "", "", "**no**")
            continue
        if name == "Subudhi & Morris, elastic joints":
            table.picture = picture(case, model, found, others)
        truth = exact(name, model, case)
        report = found.motion.report
        rigid = report.get("rigid_duration")
        met = judged(found.left, case.tolerance, "")[1] == judged(found.seconds, case.seconds, "")[1] == "yes"
        table.add(
            title(model, case, name),
            f"{found.motion.duration:.4f} s, {found.rest:.4f} s".replace("inf s", "never"),
            "" if rigid is None else f"{rigid:.4f} s",
            "" if truth is None else f"{truth:.4f} s",
            *cells(others),
            length(found.left),
            f"{time(found.seconds)} ({time(found.work)})",
            f"< {length(case.tolerance)}, < {time(case.seconds)}",
            "yes" if met else "**no**",
        )
        if found.said:
            table.notes.append(f"{name}: the solver says: {found.said}.")
    table.notes.insert(0, NOTE)
    return table


def title(model: fa.Model, case: Case, name: str) -> str:
    units = sorted(set(model.arm.input_units))
    return f"{name}, {', '.join(f'{x:g}' for x in case.limit)} {' and '.join(units)}"


def length(x: float) -> str:
    """In millimetres."""
    return f"{1e3 * x:.2g} mm" if x < 0.1 else f"{x:.2g} m"


Rivals = dict[str, Arrival | None]


def rivals(model: fa.Model, case: Case) -> Rivals:
    """By kind of shaper, and by law."""
    found: Rivals = {}
    if model.nv > len(model.inputs):
        for kind in KINDS:
            if case.single:
                found[kind] = shaped_steps(model, case.end[0], case.limit[0], case.tolerance, kind)
            else:
                found[kind] = led(model, case.start, case.end, case.limit, case.tolerance, kind, case.first)
    for name, (law, late) in case.laws.items():
        found[name] = controlled(model, case.start, case.end, case.limit, case.tolerance, law, case.first, late)
    return found


def cells(others: Rivals) -> list[str]:
    """Of the kinds of shapers, and of the laws together."""
    laws = [f"{name}: {arrived(each)}" for name, each in others.items() if name not in KINDS]
    return [*(arrived(others[kind]) if kind in others else "" for kind in KINDS), "; ".join(laws)]


def arrived(found: Arrival | None) -> str:
    """When the tip rests."""
    if found is None:
        return "wants more"
    if np.isfinite(found.rest):
        fast = found.limited
        return f"{found.rest:.2f} s" + (f" ({fast.ends:.2f} s: {length(fast.left)})" if fast else "")
    return f"does not rest ({found.ends:.2f} s: {length(found.left)})"


def picture(case: Case, model: fa.Model, found: Solved, others: Rivals) -> Picture:
    """Torques, deflections and the tip's distance from its goal: the optimal motion, and the best shaped one."""
    best = min(
        (each for kind in KINDS if (each := others[kind]) and np.isfinite(each.rest)), key=lambda each: each.rest
    )
    there = place(model, case.end)
    runs = {"optimal": (found.run, found.motion.duration), "shaped": (best.run, best.ends)}

    def drawn() -> Any:
        from flexarm import style

        figure = style.figure(9, 6, layout="constrained")
        grid = figure.subplots(2, 2, sharex=True)
        for i, (name, (run, ends)) in enumerate(runs.items()):
            t = run.time.values
            u = np.where(t[:, None] <= ends, run.u.values, np.nan)  # brakes hold the drives after
            off = 1e3 * np.linalg.norm(run.tip.values - there, axis=1)
            bent = 1e3 * run.deflection.sel(axis="y").values[:, -1]
            for axes, y in zip(grid.ravel(), (*u.T, bent, np.maximum(off, 1e-4)), strict=True):
                axes.plot(t, y, **style.curve(i), label=name)
        labels = [f"{name} [N m]" for name in model.inputs]
        for axes, label in zip(grid.ravel(), [*labels, "fore deflection [mm]", "tip from its goal [mm]"], strict=True):
            axes.set_ylabel(label)
        grid[1, 1].set_yscale("log")
        grid[1, 1].axhline(1e3 * case.tolerance, **style.WANTED)
        for axes in grid[1]:
            axes.set_xlabel("time [s]")
        grid[0, 0].legend()
        figure.suptitle("Elastic joints and links: the fastest motion, and the best shaped one within the same torques")
        return style.finished(figure)

    return Picture("optimal-motion.svg", drawn)


def switches(motion: OptimalMotion, limit: Array) -> list[list[float]]:
    """When each input changes sides [s]: where one that jumps would have the mean of those that are inside the
    limits."""
    found: list[list[float]] = []
    for u in (motion.u[:-1] / limit).T:
        sides, own = np.where(np.abs(u) > 1 - 1e-4, np.sign(u), 0.0), []
        whole = np.flatnonzero(sides)
        for a, b in pairwise(whole):
            if sides[a] != sides[b]:
                h = np.diff(motion.times)[a + 1 : b]
                own.append(float(motion.times[a + 1] + (h * (1 + sides[a] * u[a + 1 : b]) / 2).sum()))
        found.append(own)
    return found


def solved_exactly() -> Table:
    """End and switches of the two motions that are known."""
    table = Table("Optimal motions and exact solutions", ("motion", "exact", "found", "off", "target", "met"))
    for name, reference in (("two masses", known.two_masses()), ("rigid two-link arm", known.two_links().motion)):
        case = CASES[name]
        try:
            motion = fastest(fa.Model(case.arm()), case).motion
        except fa.FlexarmError as error:
            table.add(name, f"{reference.end:.6f} s", f"none: {error}", "", "", "**no**")
            continue
        pairs = [("end", reference.end, motion.duration, 1e-4)]
        for i, (wanted, own) in enumerate(zip(reference.switches, switches(motion, np.array(case.limit)), strict=True)):
            numbers = [*own, *[float("nan")] * len(wanted)][: len(wanted)]
            pairs += [
                (f"input {i + 1}, switch {k + 1}", *pair, 1e-3)
                for k, pair in enumerate(zip(wanted, numbers, strict=True))
            ]
            if len(own) != len(wanted):
                table.notes.append(f"{name}: input {i + 1} switches {len(own)} times instead of {len(wanted)} times.")
        for what, truth, found, target in pairs:
            off = abs(found - truth)
            cell = f"{found:.6f} s" if np.isfinite(found) else "none"
            table.add(f"{name}: {what}", f"{truth:.6f} s", cell, f"{off:.1e}", *judged(off, target, f"{target:g} s"))
    table.notes.append(
        "The exact values are roots of the switching equations, computed by SciPy with equations that are independent "
        "of the package (benchmarks/known.py). Pontryagin's conditions are checked along the motion. The rigid arm is "
        "example 2 of section 12.4.2 in Luus, Iterative Dynamic Programming (2000). For this arm PSOPT gives 2.983021 "
        "s on its finest grid, and its values decrease on finer grids."
    )
    return table
