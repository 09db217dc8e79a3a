"""C libraries of arms: compiled without a warning, and called; their numbers are the native model's."""

import re
import subprocess
from functools import cache

import numpy as np
import pytest
from compiled import CC, Library, built
from random_arms import random_arm, random_state
from rubbing import random_drives

import flexarm as fa
from flexarm.attitude import configuration, local
from flexarm.errors import DescriptionError, FlexarmError
from flexarm.exports.library import CLOSE, c_library, rk4_native, rounded
from flexarm.exports.pieces import pieces
from flexarm.exports.programs import library

needs_cc = pytest.mark.skipif(CC is None, reason="no C compiler")


def rubbing_arm():
    """Friction with states, motors' rotors, a force from outside."""
    arm = random_drives(random_arm(11, links=2, elastic=True), 3, brakes=False)
    return arm.replace(forces=(fa.Force(name="push", link=arm.links[-1].name, at=1.0),))


ARMS = {
    "planar": lambda: fa.load("canadarm"),
    "elastic joints": lambda: fa.load("subudhi-morris-elastic"),
    "telescoping": lambda: fa.load("theodore-ghosal"),
    "free base": lambda: fa.load("canadarm-free"),
    "motors with currents": lambda: fa.load("industrial-arm"),
    "friction and a push": rubbing_arm,
}
SENSED = {
    "planar": lambda: [
        fa.Encoder(coordinate="upper.joint"),
        fa.StrainGauge(link="fore"),
        fa.Accelerometer(link="hand"),
    ],
    "motors with currents": lambda: [fa.TipPosition(), fa.MotorCurrent(link="upper"), fa.MotorTorque(link="fore")],
}


@cache
def model_of(name):
    return fa.Model(ARMS[name]())


def sensors_of(name):
    return SENSED.get(name, lambda: [fa.TipPosition()])()


def state_of(model, seed):
    rng = np.random.default_rng([seed, 77])
    if model.arm.name.startswith("random"):
        q, qd, u = random_state(model.arm, seed)
    else:  # whose motors and telescopes stand near their places
        q = configuration(model.arm, local(model.arm, np.array(model.arm.rest)) + 0.05 * rng.normal(size=model.nv))
        qd, u = rng.normal(size=model.nv), rng.normal(size=len(model.inputs))
    more = {a: rng.normal(size=len(names)) for a, names in (("s", model.states), ("w", model.exogenous))}
    return {"q": q, "qd": qd, "u": u, "qdd": rng.normal(size=model.nv), **more}


def compiled(model, folder, real, sensors, level="-O0"):
    for file, text in c_library(model, real, sensors).items():
        (folder / file).write_text(text, encoding="utf-8")
    (source,) = (file.name for file in folder.glob("*.c") if not file.name.endswith("_test.c"))
    name = source.removesuffix(".c")
    return name, Library(built(folder, source, shared="arm.so", level=level), real)


def assert_close(found, expected, tolerance, what):
    expected = np.ravel(expected)
    scale = np.abs(expected).max(initial=0.0) or 1.0
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale, err_msg=what)


@needs_cc
@pytest.mark.parametrize(
    ("arm", "real"), [*((arm, "double") for arm in ARMS), ("planar", "float"), ("friction and a push", "float")]
)
def test_every_function_gives_the_native_models_numbers(arm, real, tmp_path):
    model, sensors = model_of(arm), sensors_of(arm)
    name, found = compiled(model, tmp_path, real, sensors)
    for seed in (1, 2, 3):
        at = rounded(state_of(model, seed), real)
        for each in library(model, sensors):
            expected = each.native(at)
            given = [at[a] for a in each.program.inputs]
            results = found.call(f"{name}_{each.program.name}", given, *(np.size(y) for y in expected.values()))
            for (y, value), result in zip(expected.items(), results, strict=True):
                assert_close(result, value, CLOSE[real], f"{each.program.name} {y}")
        x = np.concatenate([at["q"], at["qd"], at["s"], [0.3, 0.2]])
        h = float(np.float32(1e-3))
        (after,) = found.call(f"{name}_rk4_step", [x, *(at[a] for a in "uw" if len(at[a])), h], len(x))
        assert_close(after, rk4_native(model, x, at, h), CLOSE[real], "RK4")
