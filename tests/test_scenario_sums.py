"""Linear systems, sums and rates in scenario files: the same as in Python."""

import control
import numpy as np
import pytest

import flexarm as fa
from flexarm.control import Every, JointPD, Linear, Sampled, Sum
from flexarm.scenario import Scenario

REFERENCE = {"type": "quintic", "start": [0.0, 0.0], "end": [0.5, 0.3], "duration": 0.1}
MOVE = fa.Quintic((0.0, 0.0), (0.5, 0.3), 0.1)
PD = {"type": "joint-pd", "Kp": 40.0, "Kd": 8.0}
TACHO = {"type": "tachometer", "coordinate": "upper.drive"}
READS = [fa.Tachometer(coordinate="upper.drive")]


def scenario(controller, **more):
    given = {"name": "s", "arm": "rigid-two-link", "until": 0.05, "samples": 6, "reference": REFERENCE}
    return Scenario(**given | {"controller": controller} | more)


def linear(system, **more):
    return {"type": "linear", "system": system, "sensors": [TACHO], "actuators": ["upper.joint"], **more}


def python(system, **more):
    return Linear(system, READS, reference=MOVE, actuators=["upper.joint"], **more)


SYSTEM = control.ss([[-2.0]], [[1.0]], [[3.0]], [[0.5]])
WANTED = {
    "fraction": (linear({"num": [2.0, 1.0], "den": [0.1, 1.0]}), python(control.tf([2.0, 1.0], [0.1, 1.0]))),
    "space": (linear({"A": [[-2.0]], "B": [[1.0]], "C": [[3.0]], "D": [[0.5]]}), python(SYSTEM)),
    "start": (
        linear({"A": [[-2.0]], "B": [[1.0]], "C": [[3.0]], "D": [[0.5]]}, initial=[0.7], period=0.01, method="zoh"),
        Sampled(python(SYSTEM, initial=[0.7], method="zoh"), 0.01),
    ),
    "discrete": (
        linear({"num": [2.0], "den": [1.0, -0.5], "dt": 0.01}, period=0.01, limit=3.0),
        Sampled(python(control.tf([2.0], [1.0, -0.5], 0.01)), 0.01, limit=3.0),
    ),
    "gains": (linear([[2.0]], wanted={"upper_drive_rate": 0.1}), python([[2.0]], wanted={"upper_drive_rate": 0.1})),
    "sum": (
        {
            "type": "sum",
            "terms": [
                {"type": "rigid-inverse-dynamics"},
                {"type": "constant", "values": [0.3, -0.2]},
                PD,
                linear([[2.0]]),
            ],
        },
        Sum(fa.RigidInverseDynamics(MOVE), [0.3, -0.2], JointPD(MOVE, 40.0, 8.0), python([[2.0]])),
    ),
    "rates": (
        {"type": "sum", "period": 0.005, "terms": [{"type": "every", "periods": 2, "controller": PD}, linear([[2.0]])]},
        Sampled(Sum(Every(JointPD(MOVE, 40.0, 8.0), 2), python([[2.0]])), 0.005),
    ),
}


@pytest.mark.parametrize("name", WANTED)
def test_a_file_says_what_python_says(name):
    table, controller = WANTED[name]
    model = fa.Model(fa.load("rigid-two-link"))
    found = scenario(table).run(model, progress=False)
    solver = fa.Solver(rtol=1e-8, atol=1e-10)
    wanted = fa.simulate(model, 0.05, u=controller, reference=MOVE, samples=6, solver=solver, progress=False)
    np.testing.assert_array_equal(found.q.values, wanted.q.values)
    np.testing.assert_array_equal(found.u.values, wanted.u.values)


def test_only_what_follows_a_reference_needs_one():
    for table in (linear([[-2.0]]), {"type": "sum", "terms": [{"type": "constant", "values": [0.1, 0.0]}]}):
        scenario(table, reference=None).run(progress=False)
    for table, kind in (
        ({"type": "sum", "terms": [linear([[-2.0]]), {"type": "rigid-inverse-dynamics"}]}, "rigid-inverse-dynamics"),
        ({"type": "sum", "terms": [linear([[-2.0]]), PD]}, "joint-pd"),
        ({"type": "every", "periods": 2, "controller": PD, "period": 0.01}, "joint-pd"),
    ):
        with pytest.raises(fa.DescriptionError, match=rf"reference is missing; the controller '{kind}' needs it"):
            scenario(table, reference=None)


@pytest.mark.parametrize(
    ("table", "line"),
    [
        (
            linear({"num": [1.0]}),
            r"controller\.system has the keys num; it must have num and den, or A, B, C and D ",
        ),
        (linear({}), r"controller\.system is empty; it must have"),
        (linear({"num": [1.0], "den": [0.0]}), r"controller\.system is not valid: "),
        (
            linear({"A": [[1.0]], "B": [[1.0, 2.0]], "C": [[1.0]], "D": [[1.0]]}),
            r"controller\.system is not valid: ",
        ),
        (linear([[1.0]], sensors=3), r"controller\.sensors is 3; it must be a list of tables of sensors"),
        (linear([[1.0]], sensors=[3]), r"controller\.sensors\[0\] is 3; it must be a table with a type"),
        (linear([[1.0]], sensors=[{}]), r"controller\.sensors\[0\]\.type is missing; known types are encoder, "),
        (
            linear([[1.0]], sensors=[{"type": "encodr"}]),
            r"sensors\[0\]\.type is 'encodr'; did you mean 'encoder'\? Known types are ",
        ),
        (
            linear([[1.0]], sensors=[{"type": "encoder"}]),
            r"sensors\[0\] is not a valid encoder: Encoder: coordinate is missing",
        ),
        ({"type": "sum"}, r"controller\.terms is missing"),
        ({"type": "sum", "terms": PD}, r"controller\.terms is .*; it must be a list of tables"),
        ({"type": "sum", "terms": [PD, 3]}, r"controller\.terms\[1\] is 3; it must be a table such as"),
        (
            {"type": "sum", "terms": [PD, {**PD, "x": 1}]},
            r"controller\.terms\[1\]\.x is unknown; allowed keys are Kp, Kd",
        ),
        (
            {"type": "sum", "terms": [{"type": "prescribed-motion"}]},
            r"controller\.terms\[0\]\.type is 'prescribed-motion'",
        ),
        (
            {"type": "sum", "terms": [{"type": "constant"}]},
            r"controller\.terms\[0\] is not a valid constant: .*values is missing",
        ),
        ({"type": "law"}, r"controller\.type is 'law'; known types are attitude-pd, "),
    ],
)
def test_a_wrong_table_is_one_line(table, line):
    with pytest.raises(fa.DescriptionError, match=line) as caught:
        scenario(table)
    assert "\n" not in str(caught.value)


def test_a_sum_of_nothing_is_one_line():
    model = fa.Model(fa.load("rigid-two-link"))
    with pytest.raises(fa.DescriptionError, match=r"\Acontroller: Sum: there are no terms; .*\Z"):
        scenario({"type": "sum", "terms": []}).arguments(model)
