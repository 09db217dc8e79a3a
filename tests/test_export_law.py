"""Laws in C: on the sensors that a board has, and in a closed loop with the plant in C."""

import re
import subprocess

import numpy as np
import pytest
from compiled import CC, built

import flexarm as fa
from flexarm.control import LQR, AttitudePD, Cascaded, JointPD, Observed, Sum
from flexarm.errors import DescriptionError
from flexarm.exports.law import c_law, seen
from flexarm.exports.library import c_library
from flexarm.simulation.sampled import Sampled

needs_cc = pytest.mark.skipif(CC is None, reason="no C compiler")
PERIOD, STEP, SAMPLES = 1e-3, 2.5e-4, 160

LOOP = """
#include "PLANT.h"
#include "LAW.h"
#include <stdio.h>

int main(void)
{
    REAL x[PLANT_NX] = START;
    REAL u[PLANT_NU];
    LAW_state state;
    LAW_init(&state);
    for (int k = 0; k <= SAMPLES; k++) {
        for (int i = 0; i < PLANT_NX; i++) {
            printf("%.17g ", (double)x[i]);
        }
        printf("\\n");
        MEASURE
        LAW_step(&state, y, u);
        for (int i = 0; i < STEPS; i++) {
            PLANT_rk4_step(x, u, HELD STEP, x);
        }
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def model():
    return fa.Model(fa.load("subudhi-morris-elastic"))


def slew(model):
    return fa.Quintic(start=[0.0, 0.0], end=[0.4, -0.3], duration=0.15)


def encoders(model):
    return [fa.Encoder(coordinate=f"{link.name}.drive") for link in model.arm.links if link.joint.moves]


def fine(model):
    """Encoders and strain gauges that round, as a filter must know."""
    gauges = [fa.StrainGauge(link=link.name, resolution=1e-7) for link in model.arm.links]
    return [each.replace(resolution=1e-6) for each in encoders(model)] + gauges


def measured(model, y):
    """C that reads what a law without sensors is given, by the names in its header."""
    names = [*model.coordinates, *(f"{name}, rate" for name in model.velocities)]
    at = {name: i for i, name in enumerate(names)}
    rows = [f"y[{i}] = x[{at[name.partition(' [')[0]]}];" for i, name in enumerate(y)]
    return f"REAL y[{len(y)}];\n" + "\n".join(rows)


def loop(model, controller, folder, real="double", sensors=()):
    """States at the samples, of the plant and the law in C."""
    plant, law = c_library(model, real, sensors), c_law(controller, model, real, sensors)
    for file, text in {**plant, **law}.items():
        (folder / file).write_text(text, encoding="utf-8")
    names = {"PLANT": "subudhi_morris_elastic", "LAW": "subudhi_morris_elastic_law"}
    header = law["subudhi_morris_elastic_law.h"]
    given = [line.split("  ")[1] for line in header.splitlines() if line.startswith("// y[")]
    x0 = [*start(model)[0], *start(model)[1], 0.0, 0.0]
    if not sensors:
        read = measured(model, given)
    else:
        read = f"REAL y[{len(given)}];\nREAL rest[PLANT_NU] = {{0}};\nPLANT_outputs(x, &x[PLANT_NQ], rest, y);"
    numbers = {
        "START": "{" + ", ".join(repr(float(x)) for x in x0) + "}",
        "SAMPLES": str(SAMPLES),
        "STEPS": str(round(PERIOD / STEP)),
    }
    text = LOOP
    for key, value in {"MEASURE": read, "HELD STEP": repr(STEP), **numbers, "REAL": real}.items():
        text = text.replace(key, value)
    for key, value in names.items():
        text = text.replace(f"{key}_N", f"{value.upper()}_N").replace(key, value)
    (folder / "loop.c").write_text(text, encoding="utf-8")
    sources = ("loop.c", *(f"{name}.c" for name in names.values()))
    program = built(folder, *sources, program="loop", level="-O0", strict=real == "double")
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    return np.array([[float(x) for x in line.split()] for line in done.stdout.splitlines()])


def start(model):
    """A little off, so that everything moves."""
    rng = np.random.default_rng(5)
    return 0.01 * rng.normal(size=model.nq), 0.01 * rng.normal(size=model.nv)


def controllers(model):
    pd = JointPD(slew(model), Kp=50.0, Kd=5.0)
    return {
        "delayed, limited": Sampled(pd, PERIOD, delay=2 * PERIOD, limit=3.0, rate_limit=500.0),
        "of the state": Sampled(LQR(reference=slew(model)), PERIOD),
        "of encoders": Sampled(JointPD(slew(model), Kp=50.0, Kd=5.0, filter=200.0), PERIOD),
        "by an observer": Sampled(Observed(pd, fine(model)), PERIOD),
        "a sum": Sampled(Sum(pd, JointPD(slew(model), Kp=1.0, Kd=0.5)), PERIOD),
    }


NAMES = ("delayed, limited", "of the state", "of encoders", "by an observer", "a sum")


@needs_cc
@pytest.mark.parametrize("name", NAMES)
def test_the_loop_in_c_is_the_simulated_one(model, name, tmp_path):
    controller = controllers(model)[name]
    sensors = {"of encoders": encoders, "by an observer": fine}.get(name, lambda _: ())(model)
    found = loop(model, controller, tmp_path, sensors=sensors)
    q0, qd0 = start(model)
    result = fa.simulate(
        model,
        SAMPLES * PERIOD,
        controller,
        q0=q0,
        qd0=qd0,
        solver=fa.Solver(method="rk4", step=STEP),
        samples=SAMPLES + 1,
        progress=False,
    )
    expected = np.hstack([result.q.values, result.qd.values])
    assert np.ptp(expected[:, :2], axis=0).min() > 0.02  # it has moved
    scale = np.abs(expected).max(axis=0)
    np.testing.assert_array_less(np.abs(found[:, : expected.shape[1]] - expected).max(axis=0), 1e-9 * scale)


@needs_cc
@pytest.mark.parametrize("real", ["double", "float"])
def test_what_comes_with_a_law_compiles_and_passes_and_can_fail(model, real, tmp_path):
    controller, name = controllers(model)["of encoders"], "subudhi_morris_elastic_law"
    files = fa.export_law(controller, model, tmp_path, real, encoders(model))
    assert {file.name for file in files} == {f"{name}.h", f"{name}.c", f"{name}_test.c", "CMakeLists.txt"}
    sources = (f"{name}.c", f"{name}_test.c")
    done = subprocess.run([built(tmp_path, *sources, program="all")], capture_output=True, text=True)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 5)
    code = (tmp_path / f"{name}.c").read_text(encoding="utf-8")
    assert "state->z[i] = z_next[i];" in code
    forgetful = code.replace("state->z[i] = z_next[i];", "state->z[i] = state->z[i];")
    (tmp_path / f"{name}.c").write_text(forgetful, encoding="utf-8")
    assert subprocess.run([built(tmp_path, *sources, program="all")], capture_output=True).returncode == 1


@needs_cc
def test_a_law_about_a_rest_that_is_not_zero_and_without_its_noise(tmp_path):
    """A telescope rests at some length, where the law's memory begins; its instruments have their own noise."""
    shoulder, slide = fa.load("theodore-ghosal").links[1:]
    slide = slide.replace(body=slide.body.replace(modes={"y": 1}, damping=0.02))
    telescope = fa.Model(fa.Arm(name="telescope", links=[shoulder, slide]))
    sensors = [fa.Encoder(coordinate=f"{name}.joint", noise=1e-3) for name in ("shoulder", "slide")]
    controller = Sampled(Observed(JointPD([0.1, 1.1], Kp=5.0, Kd=1.0), sensors), PERIOD)
    fa.export_law(controller, telescope, tmp_path, sensors=sensors)
    program = built(tmp_path, "telescope_law.c", "telescope_law_test.c", program="all")
    assert subprocess.run([program], capture_output=True).returncode == 0


def test_states_of_drives_are_named_as_they_are_given():
    arm = fa.load("industrial-arm")
    model = fa.Model(arm.replace(links=arm.links[1:3]))
    controller = Sampled(Cascaded(fa.Quintic([0.0] * 2, [0.1] * 2, 0.3), Kp=20.0, Kv=50.0, Ti=0.05), PERIOD)
    found = seen(controller.feedback(model), model, ())
    y = np.array(
        found.of(np.full(model.nq, 1.0), np.full(model.nv, 2.0), np.full(2, 3.0), np.full(model.nv, 4.0))
    ).ravel()
    ends = {1.0: " [rad]", 2.0: ", rate", 3.0: ", state of a drive"}
    assert {*y} == {*ends} and all(name.endswith(ends[each]) for name, each in zip(found.names, y, strict=True))


def test_a_header_names_what_is_measured(model):
    header = c_law(controllers(model)["delayed, limited"], model)["subudhi_morris_elastic_law.h"]
    read = [line for line in header.splitlines() if line.startswith("// y[")]
    motors = [f"{link.name}.motor" for link in model.arm.links]
    assert read == [
        *(f"// y[{i}]  {name} [rad]" for i, name in enumerate(motors)),
        *(f"// y[{i + 2}]  {name}, rate" for i, name in enumerate(motors)),
    ]
    assert "unsigned long long sample;" in header  # in 32 bits the law of a robot would begin again after 49 days
    header = c_law(controllers(model)["of encoders"], model, sensors=encoders(model))["subudhi_morris_elastic_law.h"]
    assert [line.split("  ")[1] for line in header.splitlines() if line.startswith("// y[")] == [
        f"{link.name}_drive [rad]" for link in model.arm.links
    ]


def test_a_law_of_a_free_base_and_of_nothing():
    """Local coordinates are made in C; a law that only follows the time has no y."""
    satellite = fa.Model(fa.load("satellite"))
    pd = AttitudePD(Kp=1.0, Kd=1.0, actuators=list(satellite.inputs))
    texts = c_law(Sampled(pd, 1e-3), satellite)
    assert "atan2(" in texts["satellite_law.c"] and "base.qw" in texts["satellite_law.h"]
    rigid = fa.Model(fa.load("rigid-two-link"))
    texts = c_law(Sampled(Sum(fa.Piecewise([0.0, 1.0], [[1.0, 2.0], [0.0, 0.0]])), 0.01), rigid)
    assert (
        "void rigid_two_link_law_step(rigid_two_link_law_state *state, double u[2]);" in texts["rigid_two_link_law.h"]
    )


@pytest.mark.parametrize(
    ("controller", "sensors", "message"),
    [
        (lambda m: JointPD(slew(m), Kp=5.0, Kd=1.0), (), "export_law: controller is"),
        (
            lambda m: Sampled(lambda t, q, qd: [0.0, 0.0], PERIOD),
            (),
            "runs in Python; C code needs a controller that is an expression",
        ),
        (
            lambda m: controllers(m)["delayed, limited"],
            [fa.StrainGauge(link="upper")],
            "sensors: they do not determine what the controller needs: upper.motor [rad]; fore.motor [rad]",
        ),
        (
            lambda m: controllers(m)["of encoders"],
            [fa.TipPosition(axes="xy")],
            "sensors: a signal is not linear in q and qd; leave them out",
        ),
        (
            lambda m: controllers(m)["of encoders"],
            [fa.Accelerometer()],
            "sensors: a signal depends on accelerations, which the controller does not measure",
        ),
    ],
)
def test_what_cannot_be_a_law_in_c_is_refused(model, controller, sensors, message):
    with pytest.raises(DescriptionError, match=re.escape(message)):
        c_law(controller(model), model, sensors=sensors)


def test_a_folder_has_the_cmake_file_of_one_project(tmp_path):
    model = fa.Model(fa.load("rigid-two-link"))
    law = Sampled(JointPD([0.1, 0.2], Kp=20.0, Kd=5.0), PERIOD)
    fa.export_c(model, tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    said = r"^export_law: .*CMakeLists\.txt belongs to 'rigid_two_link'; give another folder$"
    with pytest.raises(DescriptionError, match=said):
        fa.export_law(law, model, tmp_path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    assert len(fa.export_c(model, tmp_path, "float")) == len(before)  # its own is written anew
    fa.export_law(law, model, tmp_path / "law")
    with pytest.raises(DescriptionError, match=r"^export_c: .* belongs to 'rigid_two_link_law'"):
        fa.export_c(model, tmp_path / "law")


@pytest.mark.parametrize(
    ("text", "whose"),
    [
        ("project (App VERSION 1.0)\n", "'App'"),
        ("\n  PROJECT( App )\n", "'App'"),
        ("add_library(app app.c)\n# project(rigid_two_link C)\n", "something else"),
    ],
)
def test_a_cmake_file_of_ones_own_stays(text, whose, tmp_path):
    file = tmp_path / "CMakeLists.txt"
    file.write_text(text)
    with pytest.raises(DescriptionError, match=f"^export_c: .*CMakeLists.txt belongs to {whose}; give another folder$"):
        fa.export_c(fa.Model(fa.load("rigid-two-link")), tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == [file.name] and file.read_text() == text
