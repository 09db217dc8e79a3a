"""The same motion on every way of running an arm: single runs, batches, a stepper, an FMU, C and the live page.

`make test` takes a few arms, `make random-runs` 200: those that cover every pair of options first.
"""

import os
from functools import cache

import numpy as np
import pytest
from alive import made, run
from compiled import CC, Library, built
from every_option import arm_of, cabled, choice_of, joints_of_loop, looped, sample, state_of
from fmus import called
from javascript import NODE

import flexarm as fa
from flexarm.exports.library import c_library

COUNT = int(os.environ.get("FLEXARM_RANDOM_RUNS", "0"))
"""Number of arms. By default the tests take three small arms."""
LOOPED = 100_000
"""Numbers from here on are arms with a closure, and half of them with a cable too."""
GRIPPER = 200_000
"""Number of a gripper whose second finger follows the first."""
LOOPS = [n for n in range(0, COUNT, 4) if joints_of_loop(arm_of(choice_of(n), n))] if COUNT else [0, 25]
NUMBERS = [*(range(COUNT) if COUNT else sample("joint", largest=7)[:3]), *(LOOPED + n for n in LOOPS), GRIPPER]
UNTIL, PERIODS = 0.02, 4
SAME = np.array([2e-6, 1e-5])
"""Largest difference of a coordinate and of a rate, as a share of the largest one: rates are less exact after a sharp
contact."""
WAYS = ("auto", "vern8", "radau9", "gauss8", "a batch", "a batch of tsit5", "a stepper", "an FMU", "C", "the live page")
PARTIAL = ("a stepper", "an FMU", "C", "the live page")
"""Ways that refuse some arms, each in one line: a free base in C, drives with states on a live page, and so on."""


def gripper():
    """A beam with two fingers."""
    beam = fa.Beam(length=0.8, mass_per_length=0.5, EI=20.0, modes={"y": 1}, damping=0.01)
    hinge = fa.Revolute(axis=(0.0, 0.6, 0.8), damping=0.05, rotor_inertia=0.002)
    after = fa.Gear(joint=hinge, follows="left", ratio=-0.8, offset=0.2)
    fingers = [
        fa.Link(name=name, parent="boom", joint=joint, body=fa.Rigid(length=0.25, mass=0.4))
        for name, joint in (("left", hinge), ("right", after))
    ]
    boom = fa.Link(name="boom", body=beam)
    return fa.Arm(name="gripper", gravity=(0.0, -9.81, 0.0), links=[boom, *fingers], tip="left")


HELD = {"q": np.array([0.3, 0.5, 0.01]), "qd": np.array([1.0, -2.0, 0.1]), "u": np.array([0.6, -0.4])}


@cache
def case(number):
    """A model, its state and inputs, and the end of its motion by a tight run; None if the motion diverges."""
    seed = number % LOOPED
    arm = gripper() if number == GRIPPER else arm_of(choice_of(seed), seed)
    state = HELD if number == GRIPPER else state_of(arm, seed, 0.3)
    start = {"q0": state["q"], "qd0": 0.3 * state["qd"]}
    if LOOPED <= number < GRIPPER:
        arm = looped(cabled(arm, seed) if seed % 2 else arm, start["q0"], seed)
        start["qd0"] = fa.assemble(arm, start["q0"], start["qd0"])[1]
    model = fa.Model(arm)
    u = 0.5 * state["u"]
    tight = fa.Solver(method="dop853", rtol=1e-10, atol=1e-12)
    try:
        end = fa.simulate(model, UNTIL, u, **start, solver=tight, samples=PERIODS + 1, progress=False)
    except fa.SimulationError:
        return None
    return model, start, u, np.concatenate([end.q.values[-1], end.qd.values[-1]])


def simulated(model, start, u, folder, method="auto"):
    found = fa.simulate(model, UNTIL, u, **start, method=method, rtol=1e-9, samples=2, progress=False)
    return np.concatenate([found.q.values[-1], found.qd.values[-1]])


def batch(model, start, u, folder, method="dop853"):
    found = fa.simulate_many(model, UNTIL, u, **start, runs=3, method=method, rtol=1e-9, samples=2, progress=False)
    return np.concatenate([found.q.values[1, -1], found.qd.values[1, -1]])


def stepper(model, start, u, folder):
    plant = fa.Stepper(model, UNTIL / PERIODS, start["q0"], start["qd0"], rtol=1e-8, atol=1e-10)
    for _ in range(PERIODS):
        plant.step(u)
    return np.concatenate([plant.q, plant.qd])


def fmu(model, start, u, folder):
    path = fa.export_fmu(model, folder / "arm.fmu", tolerance=1e-8)
    with called(path.path, folder) as it:
        moving = it.states[: model.nq + model.nv]
        values = dict(zip(moving, np.concatenate([start["q0"], start["qd0"]]), strict=True))
        inputs = dict(zip((name for name in it.names("input")), u, strict=False))
        it.begin(values | inputs)
        for k in range(PERIODS):
            it.step(k * UNTIL / PERIODS, UNTIL / PERIODS)
        return np.array(it.get(moving))


def in_c(model, start, u, folder):
    for file, text in c_library(model).items():
        (folder / file).write_text(text, encoding="utf-8")
    (source,) = (file.name for file in folder.glob("*.c") if not file.name.endswith("_test.c"))
    name, count = source.removesuffix(".c"), 2000
    library = Library(built(folder, source, shared="arm.so"))
    x = np.concatenate([start["q0"], start["qd0"], np.zeros(len(model.states) + 2)])
    held = [u] if len(u) else []
    held += [np.zeros(len(model.exogenous))] if len(model.exogenous) else []
    for _ in range(count):
        x = library.in_place(f"{name}_rk4_step", x, [*held, UNTIL / count])
    return x[: model.nq + model.nv]


def live(model, start, u, folder):
    """The engine alone, beside the same method with its steps. No input is constant, so the motion is the free one."""
    page = made(model.arm)
    steps = round(UNTIL / page.step)
    same = fa.Solver(method="rk4", step=page.step)
    free = fa.simulate(model, steps * page.step, **start, solver=same, samples=2, progress=False)
    script = f"""
        live.use("none");
        live.y.set({np.concatenate([start["q0"], start["qd0"]]).tolist()});
        for (let i = 0; i < {steps}; i++) live.step();
        return [[...live.q, ...live.qd], live.fault];
    """
    found, fault = run(page, script, folder)
    assert fault == ""
    return np.array(found), np.concatenate([free.q.values[-1], free.qd.values[-1]])


HOW = {
    "auto": simulated,
    **{name: lambda *given, name=name: simulated(*given, method=name) for name in ("vern8", "radau9", "gauss8")},
    "a batch": batch,
    "a batch of tsit5": lambda *given: batch(*given, method="tsit5"),
    "a stepper": stepper,
    "an FMU": fmu,
    "C": in_c,
    "the live page": live,
}
NEEDS = {"an FMU": CC, "C": CC, "the live page": NODE}


@pytest.mark.filterwarnings("ignore")  # a large deflection, a fast telescope: the state is drawn at random
@pytest.mark.parametrize("way", WAYS)
def test_a_motion_is_the_same_on_every_way(way, tmp_path):
    """Arms that a way does not support are refused in one line, and some are not refused."""
    assert NEEDS.get(way, True), f"{way} needs a compiler, or Node"
    far, refused, diverged = {}, {}, []
    for number in NUMBERS:
        if (given := case(number)) is None:
            diverged.append(number)
            continue
        model, start, u, expected = given
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            found = HOW[way](model, start, u, folder)
        except fa.DescriptionError as error:
            refused[number] = str(error)
            continue
        if isinstance(found, tuple):
            found, expected = found
        nq = model.nq
        off = [np.abs(found[part] - expected[part]).max() / (np.abs(expected[part]).max() or 1.0)
               for part in (slice(0, nq), slice(nq, None))]  # fmt: skip
        if (np.array(off) > SAME).any():
            far[number] = off
    print(way, diverged, refused)
    assert 20 * len(diverged) <= len(NUMBERS), diverged
    assert not far, (
        far,
        {n: {k: v for k, v in choice_of(n % LOOPED).items() if v not in ("none", "absent")} for n in far},
    )
    assert len(refused) < len(NUMBERS) and not any("\n" in said for said in refused.values()), refused
    assert way in PARTIAL or not refused, refused
