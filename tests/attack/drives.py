"""Drives of every kind under sampled laws, and in a `Stepper` at speed: what is completed is finite, and a plant that
has failed says so."""

import numpy as np

import flexarm as fa
from flexarm import control

from .arms import finite, whole
from .judge import Found

FRICTION = (
    {"coulomb": 0.2, "viscous": 0.1},
    {"coulomb": 0.2, "static": 0.3, "stribeck_rate": 0.1},
    {"model": "lugre", "coulomb": 0.3, "static": 0.4, "bristle_stiffness": 1e4, "bristle_damping": 10.0},
    {"coulomb": 0.2, "load": 0.1},
)
MOTOR = {"input": "voltage", "torque_constant": 0.1, "resistance": 1.0}
PARTS = (
    lambda rng: {"friction": rng.choice(FRICTION)},
    lambda rng: {"brake": {"holding": 10 ** rng.uniform(-2, 2)}},
    lambda rng: {
        "stops": {"lower": -rng.uniform(0.01, 1), "upper": rng.uniform(0.01, 1), "stiffness": 10 ** rng.uniform(1, 5)}
    },
    lambda rng: {"parallel": {"stiffness": 10 ** rng.uniform(-1, 3)}},
    lambda rng: {"spring": {"stiffness": 10 ** rng.uniform(0, 4), "cubic": rng.choice((0.0, 10.0))}},
    lambda rng: {"backlash": {"width": 10 ** rng.uniform(-4, -1), "sharp": rng.random() < 0.5}},
    lambda rng: {
        "motor": {"input": "voltage", "torque_constant": 0.1, "resistance": 1.0, "inductance": rng.choice((None, 1e-3))}
    },
)


def case(rng, folder, note):
    drive = {}
    for _ in range(rng.choice((1, 1, 2, 3))):
        drive |= rng.choice(PARTS)(rng)
    drive = {part: {key: x for key, x in table.items() if x is not None} for part, table in drive.items()}
    joint = {"type": "revolute", "axis": (0, 0, 1), "rotor_inertia": 0.05, "gear_ratio": 5.0, "drive": drive}
    joint |= {"stiffness": 200.0} if "backlash" in drive and "spring" not in drive else {}
    body = rng.choice(({"type": "rigid", "length": 0.5, "mass": 1.0}, BEAM))
    note(f"{drive}, {body['type']}")
    arm = fa.Arm(name="driven", links=[{"name": "rod", "joint": joint, "body": body}], gravity=(0.0, -9.81, 0.0))
    model = fa.Model(arm)
    speed = rng.choice((0.0, 0.5, 5.0, 50.0, 500.0))
    size = rng.choice((0.0, 0.5, 5.0, 50.0))
    w = {"w": np.full(len(arm.exogenous), rng.choice((0.0, 0.5, 1.0)))} if arm.exogenous else {}
    note(f"rate {speed}, input {size}, {w}")
    qd = np.zeros(model.nv)
    qd[0] = speed
    if rng.random() < 0.5:
        return _stepped(rng, model, qd, size, w, note)
    period = rng.choice((1e-4, 1e-3, 1e-2))
    law = control.JointPD([0.2], Kp=rng.choice((0.1, 1.0, 100.0)), Kd=rng.choice((0.0, 0.1, 1.0)))
    note(f"sampled with {period}")
    result = fa.simulate(model, 0.05, u=control.Sampled(law, period), qd0=qd, samples=11, progress=False, **w)
    whole(result)
    return "sampled"


BEAM = {"type": "beam", "length": 0.5, "mass": 0.5, "EI": 20.0, "modes": {"y": 1}}


def _stepped(rng, model, qd, size, w, note):
    period = rng.choice((1e-4, 1e-3, 1e-2))
    note(f"stepped by {period}")
    plant = fa.Stepper(model, period, qd0=qd) if rng.random() < 0.5 else fa.Stepper(model, period)
    plant.reset(qd=qd)
    for _ in range(20):
        plant.step(np.full(len(model.inputs), size), **w)
        if plant.failed:
            return "failed, and says so"
        finite("a step", plant.state)
    again = np.array(plant.state)
    plant.reset(qd=qd)
    for _ in range(20):
        plant.step(np.full(len(model.inputs), size), **w)
    if not np.array_equal(again, plant.state):
        raise Found("wrong", "another motion after a reset")
    return "stepped"
