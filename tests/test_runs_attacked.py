"""Runs, trajectories, controllers, analyses, plots, given what they are not made for: one line, or an honest result."""

import _thread
import gc
import os
import re
import signal
import time
import tracemalloc
from contextlib import suppress
from fractions import Fraction

import casadi as ca
import matplotlib.figure
import numpy as np
import pytest

import flexarm as fa
from flexarm import analysis, control, plots, trajectory
from flexarm.analysis import factorization, stable_inversion
from flexarm.control import (
    LQR,
    Composite,
    ComputedTorque,
    Decoupling,
    DesignedFor,
    Integral,
    JointPD,
    Law,
    Observed,
    Sampled,
    Saturated,
    ScheduledLQR,
    StrainRate,
    Tracking,
)
from flexarm.errors import FlexarmError, InterruptedRun
from flexarm.sensors import Encoder
from flexarm.simulation import memory, watch
from flexarm.simulation import run as run_module
from flexarm.simulation.closed_loop import continuous
from flexarm.simulation.dataset import group_velocity_ratio
from flexarm.simulation.inputs import Computed, as_input, constant
from flexarm.simulation.law import delayed
from flexarm.simulation.sampled import feedback

INERTIA = 1.5 * 0.8**2 / 3
ROTOR = fa.Arm(name="rotor", links=[fa.Link(name="rod", body=fa.Rigid(length=0.8, mass=1.5))])
TWO = fa.Arm(name="two", links=[fa.Link(name=n, body=fa.Rigid(length=1.0, mass=1.0)) for n in "ab"])
SOFT = fa.Arm(name="soft", links=[fa.Link(name="a", body=fa.Beam(length=1.0, EI=10.0, mass=1.0, modes={"y": 2}))])
SLEW = fa.Quintic((0.0,), (0.3,), 0.5)
PD = JointPD(SLEW, 5.0, 1.0)
NAN, INF = float("nan"), float("inf")


@pytest.fixture(scope="module")
def rotor():
    return fa.Model(ROTOR)


@pytest.fixture(scope="module")
def soft():
    return fa.Model(SOFT)


@pytest.fixture(scope="module")
def result(soft):
    return fa.simulate(soft, 0.6, u=PD, samples=121, progress=False)


def run(model, until, **given):
    return fa.simulate(model, until, progress=False, **{"samples": 11, **given})


def one_line(error):
    line = str(error)
    assert line.isprintable() and line.strip() and len(line) < 400, line
    return line


# -- wrong things in any place -----------------------------------------------------------------------------------------


class Made:
    """A controller whose law is made of what is given."""

    def __init__(self, **parts):
        self.parts = {"expression": lambda t, q, qd, z: ([0.0], []), **parts}

    def law(self, model, period=None):
        return Law(**self.parts)


class Path:
    """A reference of one's own."""

    def __init__(self, gives, jumps=()):
        self.gives, self.when = gives, jumps

    def expression(self, t):
        return self.gives

    def jumps(self):
        return self.when

    def described(self):
        return "a path"


def places(soft, result):
    """Everything public of these rooms by name, with arguments that are right."""
    n, still = len(soft.coordinates), np.zeros(len(soft.coordinates))
    tip = [fa.TipPosition(axes="y")]
    system = soft.linearize(still, still, [0.0], tip)
    encoder = [fa.Encoder(coordinate="a.drive", resolution=1e-4)]
    t = np.linspace(0.0, 1.0, 51)
    motion, matrices = np.zeros((4, n)), np.tile(np.eye(2), (4, 1, 1))
    along = {"model": soft, "q": motion, "qd": motion, "u": np.zeros((4, 1)), "qdd": None}
    channels = {"system": system, "output": None, "input": None}
    flexible = analysis.flexible_equations(soft)
    measured, zv = fa.outputs(soft, encoder), fa.ZV(9.0)

    def driven(**u):
        (u,) = u.values()
        return run(soft, 0.02, u=u, samples=2)

    def runs(cls):
        return lambda **given: driven(u=cls(**given))

    def law(cls):
        return lambda **given: cls(**given).law(soft)

    def values(cls):
        return lambda **given: trajectory.reference_values(cls(**given), [0.1])

    follows = {"reference": SLEW, "Kp": 4.0, "Kd": 4.0}
    found = {
        "simulate": (
            fa.simulate,
            {"model": soft, "until": 0.02, "u": None, "q0": None, "qd0": None, "method": "dop853", "rtol": 1e-6}
            | {
                "solver": fa.Solver(atol=1e-8, step=None),
                "samples": 2,
                "reference": SLEW,
                "progress": False,
                "name": "x",
            },
        ),
        "performance": (fa.performance, {"result": result, "band": 0.02, "after": 0.0}),
        "Piecewise": (runs(fa.Piecewise), {"times": [0.0, 0.1], "values": [1.0, 2.0]}),
        "Table": (runs(fa.Table), {"times": [0.0, 0.1], "values": [1.0, 2.0], "kind": "linear"}),
        "bang_bang": (runs(fa.bang_bang), {"amplitude": 1.0, "duration": 0.1, "start": 0.0}),
        "constant": (runs(constant), {"values": 1.0}),
        "rigid": (runs(fa.RigidInverseDynamics), {"reference": SLEW}),
        "prescribed": (runs(fa.PrescribedMotion), {"reference": SLEW}),
        "as_input": (as_input, {"u": 0.0, "model": soft}),
        "Computed": (runs(Computed), {"function": lambda t: [0.0]}),
        "computed value": (lambda value: driven(u=Computed(lambda t: value)), {"value": [0.0]}),
        "sampled value": (lambda value: driven(u=Sampled(lambda t, q, qd: value, 0.01)), {"value": [0.0]}),
        "Sampled": (
            runs(Sampled),
            {"controller": PD, "period": 0.01, "delay": 0.0, "limit": None, "rate_limit": None, "seed": 0},
        ),
        "Sampled.feedback": (Sampled(PD, 0.01).feedback, {"model": soft}),
        "Law": (
            runs(Made),
            {"memory": (), "noise": (), "jumps": (), "reference": None, "facts": {}},
        ),
        "law's value": (lambda value: driven(u=Made(expression=lambda *_: value)), {"value": ([0.0], [])}),
        "law's parts": (
            lambda u, after: driven(u=Made(expression=lambda *_: (u, after))),
            {"u": [0.0], "after": []},
        ),
        "a reference's": (
            lambda gives, jumps: run(soft, 0.02, reference=Path(gives, jumps), u=JointPD(Path(gives, jumps), 1.0, 1.0)),
            {"gives": [0.0], "jumps": [0.1]},
        ),
        "Quintic": (values(fa.Quintic), {"start": (0.0,), "end": (1.0,), "duration": 1.0}),
        "ParabolicBlends": (
            values(fa.ParabolicBlends),
            {"start": (0.0,), "end": (1.0,), "duration": 1.0, "blend": 0.2},
        ),
        "BangBang": (values(fa.BangBang), {"start": (0.0,), "end": (1.0,), "duration": 1.0}),
        "Cycloidal": (values(fa.Cycloidal), {"rates": (1.0,), "periods": (1.0,)}),
        "MinimumJerk": (values(fa.MinimumJerk), {"points": [[0.0], [1.0]], "times": [0.0, 1.0]}),
        "Still": (values(trajectory.Still), {"position": (0.0,)}),
        "TaskLine": (
            values(fa.TaskLine),
            {"arm": TWO, "start": (1.0, 0.5), "end": (1.0, 0.6), "duration": 1.0, "axes": "xy", "q0": None}
            | {"tolerance": 1e-4},
        ),
        "TipCompensated": (values(fa.TipCompensated), {"reference": SLEW, "model": soft, "axes": "y"}),
        "ZV": (fa.ZV, {"frequency": 1.0, "damping_ratio": 0.0}),
        "ZVD": (fa.ZVD, {"frequency": 1.0, "damping_ratio": 0.0}),
        "ZVDD": (fa.ZVDD, {"frequency": 1.0, "damping_ratio": 0.0}),
        "MZV": (fa.MZV, {"frequency": 1.0, "damping_ratio": 0.0, "duration": 0.75}),
        "EI": (fa.EI, {"frequency": 1.0, "damping_ratio": 0.0, "tolerance": 0.05, "humps": 2}),
        "UMZV": (fa.UMZV, {"frequency": 1.0, "damping_ratio": 0.0}),
        "PSZV": (fa.PSZV, {"frequency": 1.0, "damping_ratio": 0.0, "peak": 1.5}),
        "Shaper": (fa.Shaper, {"times": (0.0, 1.0), "amplitudes": (0.5, 0.5)}),
        "residual": (zv.residual, {"frequency": 1.0, "damping_ratio": 0.0}),
        "shaped": (values(fa.shaped), {"given": SLEW, "shaper": zv}),
        "Shaped": (values(trajectory.Shaped), {"reference": SLEW, "shaper": zv}),
        "reference_values": (trajectory.reference_values, {"reference": SLEW, "t": [0.1]}),
        "reference_motion": (trajectory.reference_motion, {"reference": SLEW, "t": 0.1}),
        "jumps_of": (trajectory.jumps_of, {"reference": SLEW}),
        "JointPD": (law(JointPD), follows | {"gravity": True}),
        "ComputedTorque": (law(ComputedTorque), follows),
        "Decoupling": (law(Decoupling), follows),
        "LQR": (law(LQR), {"joints": (0.3,), "reference": SLEW, "Q": None, "R": None, "bandwidth": None}),
        "ScheduledLQR": (
            law(ScheduledLQR),
            {"reference": SLEW, "points": 2, "Q": None, "R": None, "bandwidth": None, "until": None},
        ),
        "Tracking": (
            law(Tracking),
            {"reference": SLEW, "x_ref": None, "u_ref": None, "K": "lqr", "Q": None, "R": None, "bandwidth": None}
            | {"integral_rate": None, "integral_limit": None, "hold": False},
        ),
        "Composite": (
            law(Composite),
            follows | {"Q": None, "R": None, "gains": None, "configuration": None, "corrected": True},
        ),
        "Integral": (law(Integral), {"controller": PD, "Ki": 1.0, "limit": None}),
        "Saturated": (law(Saturated), {"controller": PD, "limit": 1.0}),
        "Observed": (
            law(Observed),
            {"controller": PD, "sensors": encoder, "process": 0.1, "unmodelled": 1.0, "configuration": None}
            | {"sampled_at": 1e-3},
        ),
        "StrainRate": (law(StrainRate), {"controller": PD, "K": 0.1, "link": "a", "at": 0.0, "plane": "y"}),
        "DesignedFor": (law(DesignedFor), {"controller": PD, "model": soft}),
        "control.equilibrium": (control.equilibrium, {"model": soft, "joints": (0.1,)}),
        "shaper": (
            control.design_shaper,
            {"model": soft, "q": (0.1,), "kind": "zvd", "modes": 1, "locked": True, "tolerance": 0.05}
            | {"controller": None},
        ),
        "vibrations": (control.vibrations, {"model": soft, "q": still, "locked": True}),
        "outputs": (fa.outputs, {"model": soft, "sensors": encoder}),
        "outputs.values": (measured.values, {"q": still, "qd": still, "u": None}),
        "sampled": (fa.sensor_readings, {"sensors": encoder, "model": soft, "result": result, "seed": 0}),
        "equilibrium": (analysis.equilibrium, {"model": soft, "q": (0.1,), "held": "drives"}),
        "configuration": (analysis.configuration, {"model": soft, "q": (0.1,)}),
        "convergence": (analysis.convergence, {"arm": SOFT, "q": None}),
        "mode_table": (
            analysis.mode_table,
            {"model": soft, "q": still, "sensors": encoder, "tolerance": 1e-8},
        ),
        "poles": (analysis.poles, {"system": system}),
        "zeros": (analysis.zeros, channels),
        "transfer_function": (analysis.transfer_function, channels),
        "is_minimum_phase": (analysis.is_minimum_phase, channels),
        "zero_dynamics": (analysis.zero_dynamics, channels),
        "frequency_response": (analysis.transfer_matrix, {"system": system, "omega": [1.0, 2.0]}),
        "flexible_equations": (analysis.flexible_equations, {"model": soft, "straight": False}),
        "equations_along": (
            analysis.equations_along,
            {"function": flexible, "q": motion, "qd": motion, "qdd": motion},
        ),
        "quadratic_eigenvalues": (analysis.quadratic_eigenvalues, dict.fromkeys("MCK", matrices)),
        "frozen_eigenvalues": (analysis.frozen_eigenvalues, along),
        "lyapunov_rate": (analysis.lyapunov_rate, along),
        "udu": (factorization.udu, {"model": soft, "q": still, "blocks": False}),
        "denoc": (factorization.denoc, {"model": soft, "q": still}),
        "order": (factorization.order, {"model": soft}),
        "rows": (factorization.rows, {"model": soft}),
        "columns": (factorization.columns, {"model": soft}),
        "stable_inversion": (
            stable_inversion,
            {"system": system, "times": t, "y": 10 * t**3 - 15 * t**4 + 6 * t**5, "before": None, "after": None},
        ),
        "draw": (plots.draw, {"result": result}),
        "draw_modes": (plots.draw_modes, {"model": soft, "q": still, "count": 1, "locked": True}),
        "draw_frequencies": (
            plots.draw_frequencies,
            {"model": soft, "coordinate": "a.joint", "values": [0.0], "q": None, "count": 1, "locked": True},
        ),
        "neutral_axes": (plots.neutral_axes, {"model": soft, "q": still}),
        "save_figure": (plots.save_figure, {"figure": matplotlib.figure.Figure(), "path": None}),
    }
    for each in (PD, LQR(reference=SLEW), ComputedTorque(SLEW, 1.0, 1.0), Decoupling(SLEW, 1.0, 1.0)):
        found[f"{type(each).__name__}.law"] = each.law, {"model": soft, "period": None}
    for each in (Integral(PD, 1.0), Saturated(PD, 1.0), Observed(PD, encoder), StrainRate(PD, 0.1, "a")):
        found[f"{type(each).__name__}.law"] = each.law, {"model": soft, "period": None}
    for each in (DesignedFor(PD, soft), Composite(SLEW, 4.0, 4.0), ScheduledLQR(SLEW, 2), Tracking(SLEW)):
        found[f"{type(each).__name__}.law"] = each.law, {"model": soft, "period": None}
    return found


WRONG = [None, 3, "x", [], {}, object(), True, NAN, 10**400, [1.0, [2.0]], ["a"], 1j, np.zeros((2, 2, 2)), 1e300]


@pytest.mark.filterwarnings("ignore")  # of extreme numbers, NumPy's and the analyses' own
def test_wrong_things_in_every_place_are_refused_in_one_line_or_served(soft, result, tmp_path):
    """Nothing of Python's or of a library's comes out; the attack of the whole package does this at random."""
    refused = 0
    for name, (call, right) in places(soft, result).items():
        if name != "save_figure":
            call(**right)  # so that it is the wrong one that is refused
        for place in right:
            for wrong in [*WRONG, soft, result, PD]:
                if name == "save_figure" and isinstance(wrong, str):
                    continue
                try:
                    call(**{**right, place: wrong})
                except FlexarmError as error:
                    one_line(error)
                    refused += 1
                except Exception as error:
                    raise AssertionError(f"{name}: {place} = {wrong!r}") from error
    assert refused > 3000


MESSAGES = [
    (lambda m, r: fa.simulate(None, 1.0), "simulate: model is None; it must be a Model"),
    (lambda m, r: fa.simulate(PD, 1.0), "simulate: model is JointPD"),
    (lambda m, r: run(m, 1.0, name=3), "simulate: name is 3; it must be a str"),
    (lambda m, r: fa.simulate(m, 1.0, progress=3), "simulate: progress is 3; it must be true, false or a function"),
    (lambda m, r: run(m, 1.0, reference=3), "simulate: reference is 3; it must be a reference, such as a Quintic"),
    (lambda m, r: run(m, 1.0, reference=fa.Quintic), "simulate: reference is <class"),
    (lambda m, r: run(m, 1.0, method=np.eye(2)), "method is array("),
    (lambda m, r: run(m, 1.0, q0=[10**400, 0, 0]), "q0 is inf; it must be finite"),
    (
        lambda m, r: run(m, 1.0, reference=Path("x")),
        "reference Path returns 'x' as its expression; it must return a list",
    ),
    (lambda m, r: run(m, 1.0, u=JointPD(Path([0.0], "x"), 1.0, 1.0)), "the reference's jumps is not an array"),
    (lambda m, r: run(m, 1.0, u=Made(expression=3)), "Law: expression is 3; it must be a function of t, q, qd and z"),
    (lambda m, r: run(m, 1.0, u=Made(memory=[[1.0]])), "Law: memory has shape (1, 1); it must be numbers in a row"),
    (
        lambda m, r: run(m, 1.0, u=Made(expression=lambda *_: 3)),
        "a law returns 3; it must return u and the next memory",
    ),
    (lambda m, r: run(m, 1.0, u=Made(expression=lambda *_: ("x", []))), "a law gives 'x'; it must give a column, or"),
    (lambda m, r: Computed(3), "u is 3; it must be a function of t, or of t, q, qd"),
    (lambda m, r: Sampled(PD, 0.1, seed=-1), "Sampled: seed is -1; it must be a whole number, zero or positive"),
    (lambda m, r: as_input(0.0, None), "model is None; it must be a Model"),
    (lambda m, r: PD.law(None), "JointPD: model is None; it must be a Model"),
    (lambda m, r: PD.law(m, 0.0), "JointPD: period is 0.0 s; it must be positive"),
    (lambda m, r: DesignedFor(PD, None).law(m), "DesignedFor: model of the nominal arm is None; it must be a Model"),
    (lambda m, r: JointPD(SLEW, 1.0, 1.0, gravity=0).law(m), "JointPD: gravity is 0; it must be true or false"),
    (lambda m, r: LQR(0.1, bandwidth=1e300).law(m), "LQR: joints is 0.1; it must be a list of numbers"),
    (lambda m, r: LQR((0.1,), bandwidth=1e300).law(m), "LQR: bandwidth is 1e+300 rad/s; it must be at most 1e+40"),
    (lambda m, r: ScheduledLQR(SLEW, points=10**9).law(m), "ScheduledLQR: points is 1000000000; at most 1000 are"),
    (lambda m, r: Observed(PD, [], unmodelled=-1.0).law(m), "Observed: unmodelled is -1.0 rad/s^2 or m/s^2; it must"),
    (lambda m, r: control.equilibrium(m, [INF]), "equilibrium: joints[0] is inf; it must be finite"),
    (lambda m, r: analysis.equilibrium(m, [0.1], held=np.eye(2)), "equilibrium: held is array("),
    (lambda m, r: analysis.convergence(m), "convergence: arm is Model("),
    (lambda m, r: analysis.poles(3), "poles: system is 3; it must be a StateSpace"),
    (lambda m, r: analysis.flexible_equations(m, straight=1), "flexible_equations: straight is 1; it must be true or"),
    (
        lambda m, r: analysis.equations_along(3, [[0.0]], [[0.0]], [[0.0]]),
        "equations_along: function is 3; it must be a",
    ),
    (
        lambda m, r: analysis.equations_along(analysis.flexible_equations(m), *[np.zeros((4, 2))] * 3),
        "equations_along: q has shape (4, 2); it must be (times, 3), with as many times as",
    ),
    (lambda m, r: analysis.quadratic_eigenvalues([1.0], [1.0], [1.0]), "quadratic_eigenvalues: M has shape (1,); all"),
    (lambda m, r: analysis.quadratic_eigenvalues(*np.zeros((3, 1, 2, 2))), "quadratic_eigenvalues: M is singular; it"),
    (
        lambda m, r: analysis.zeros(m.linearize(np.zeros(3), np.zeros(3), np.zeros(1)), np.array("x"), 0),
        "unknown output 'x'; the system has a_joint, ",
    ),
    (
        lambda m, r: analysis.quadratic_eigenvalues([[1e-200]], [[0.0]], [[1e200]]),
        "quadratic_eigenvalues: M is too small beside C or K",
    ),
    (lambda m, r: fa.performance(None), "performance: result is None; it must be a Dataset from simulate"),
    (lambda m, r: fa.performance(r, band=0), "performance: band is 0.0; it must be positive"),
    (
        lambda m, r: fa.sensor_readings([], m, r.drop_vars("q"), 0),
        "sensor_readings: result has no 'q'; it must be a Dataset from sim",
    ),
    (lambda m, r: plots.draw(r.assign_attrs(name=1).drop_attrs()), "draw: result has no 'name'; it must be a Dataset"),
    (lambda m, r: plots.run.thrusters(np), "thrusters: result is a module; it must be a Dataset from simulate"),
    (lambda m, r: plots.draw_modes(m, np.zeros(3), count=0), "draw_modes: count is 0; it must be a whole number, at"),
    (lambda m, r: plots.draw_frequencies(m, "a.joint", []), "draw_frequencies: values is empty, or q is not one conf"),
    (lambda m, r: plots.save_figure(None, "x.png"), "save_figure: figure is None; it must be a Figure"),
    (
        lambda m, r: plots.save_figure(matplotlib.figure.Figure(), None),
        "save_figure: path is None; it must be the name",
    ),
    (
        lambda m, r: fa.sensor_readings([fa.TipPosition(sample_time=1e-30)], m, r, 0),
        "TipPosition: sample_time is 1e-30 s, s",
    ),
    (lambda m, r: trajectory.reference_motion(SLEW, "x"), "t is 'x'; it must be a number in s"),
    (lambda m, r: trajectory.Still([]), "Still: position is empty; it must have at least one number"),
    (lambda m, r: trajectory.Shaped(SLEW, SLEW), "Shaped: shaper is Quintic("),
    (lambda m, r: fa.ZV(9.0).residual(1.0, 1.0), "residual: damping_ratio is 1.0; it must be at least 0 and less"),
    (lambda m, r: analysis.zeros(system_of(m), output=[]), "no output is given; the system has tip_y"),
    (lambda m, r: analysis.transfer_matrix(system_of(m), [[1.0]]), "transfer_matrix: omega has shape (1, 1)"),
    (lambda m, r: analysis.poles(broken_system(m)), "poles: the system's matrices contain NaN or infinity"),
    (
        lambda m, r: stable_inversion(system_of(m), np.linspace(0, 1, 9), np.zeros(9), before=1e30),
        "stable_inversion: 1e+30 s in steps of 0.125 s before and after; at most 1e+07 steps are allowed",
    ),
]


def system_of(model):
    return model.linearize(np.zeros(3), np.zeros(3), [0.0], [fa.TipPosition(axes="y")])


def broken_system(model):
    system = system_of(model)
    system.A[0, 0] = NAN
    return system


@pytest.mark.parametrize(("call", "line"), MESSAGES, ids=[line[:50] for _, line in MESSAGES])
def test_what_is_said_of_it(soft, result, call, line):
    with pytest.raises(fa.DescriptionError) as caught:
        call(soft, result)
    assert one_line(caught.value).startswith(line)


def test_a_shaper_times_something_else_is_pythons_own_error():
    with pytest.raises(TypeError, match="unsupported operand"):
        fa.ZV(9.0) * 3


# -- numbers at the edges ----------------------------------------------------------------------------------------------

REFUSED = [
    ({"until": 5e-151}, "until is 5e-151 s; it must be at least 1e-40 s in size"),
    ({"until": 1e300}, "until is 1e+300 s; it must be at most 1e+40 s in size"),
    (
        {"method": "rk4", "solver": fa.Solver(step=1e-30)},
        "step is 1e-30 s; a run of 1 s has 1e+30 steps, and at most 1e+12 are",
    ),
    ({"u": lambda: Sampled(PD, 1e-300)}, "Sampled: period is 1e-300 s; it must be at least 1e-40 s in size"),
    ({"u": Sampled(PD, 1e-40)}, "Sampled: period is 1e-40 s; a run of 1 s has 1e+40 periods, and at most 1e+09 are"),
    ({"u": Sampled(PD, 1e-40), "until": 1e40}, "Sampled: period is 1e-40 s; a run of 1e+40 s has 1e+80 periods"),
    (
        {"u": Sampled(PD, 1e-9), "until": 10.0},
        "Sampled: period is 1e-09 s; a run of 10 s has 1e+10 periods, and at most",
    ),
    ({"u": Sampled(PD, 0.1, delay=1e30)}, "delay is 1e+30 s, 1e+31 periods of 0.1 s; at most 10000 are allowed"),
    ({"u": Sampled(PD, 0.1, delay=2000.0)}, "delay is 2000.0 s, 2e+04 periods of 0.1 s; at most 10000 are allowed"),
    ({"samples": 1e30}, "a result of 1"),
    ({"rtol": NAN}, "rtol is nan; it must be finite"),
    ({"rtol": 0}, "rtol is 0.0; it must be positive"),
]


@pytest.mark.parametrize(("given", "line"), REFUSED, ids=[line[:50] for _, line in REFUSED])
def test_numbers_that_no_run_can_have_are_refused_in_one_line(rotor, given, line):
    with pytest.raises(fa.DescriptionError) as caught:
        run(rotor, **{"until": 1.0, **given, **({"u": given["u"]()} if callable(given.get("u")) else {})})
    assert one_line(caught.value).startswith(line)


@pytest.mark.parametrize("until", [1e-39, 1e-20, 1e-10, 1e10, 1e20, 1e40])
@pytest.mark.parametrize("method", ["dop853", "radau5", "vern8", "rk4"])
def test_a_run_of_any_length_is_honest(rotor, until, method):
    """A rotor turns on at its rate; what does not come out right says so."""
    step = {"solver": fa.Solver(step=until / 3)} if method == "rk4" else {}
    try:
        found = run(rotor, until, qd0=[1.0], method=method, samples=5, **step)
    except fa.SimulationError as error:
        line = one_line(error)
    else:
        line = ""
    if line:
        assert "diverged" in line or "could not meet" in line
        return
    assert found.attrs["status"] == "completed"
    np.testing.assert_allclose(found.q[:, 0], found.time, rtol=1e-9)


@pytest.mark.parametrize("torque", [1e-320, 1e-200, 1e200, 1e308, -1e308])
def test_a_run_under_any_torque_is_honest(rotor, torque):
    for u in (torque, fa.Piecewise([0.0], [torque]), lambda t: torque, Sampled(lambda t, q, qd: [torque], 0.1)):
        try:
            found = run(rotor, 1.0, u=u)
        except fa.SimulationError as error:
            one_line(error)
            assert abs(torque) > 1
            continue
        assert found.q[-1, 0] == pytest.approx(torque / INERTIA / 2, rel=1e-6)


@pytest.mark.parametrize("q0", [1e-320, 1e11, 1e300, -1e308])
def test_a_run_from_anywhere_is_honest(rotor, q0):
    try:
        found = run(rotor, 1.0, q0=[q0], qd0=[q0])
    except fa.SimulationError as error:
        one_line(error)
        assert abs(q0) > 1e12
        return
    assert found.q[-1, 0] == pytest.approx(2 * q0)


def test_inputs_that_end_before_or_begin_after_a_run(rotor):
    """Jumps beyond it, a table of two times far away, a period longer than it."""
    before, after = fa.Table([-2.0, -1.0], [5.0, INERTIA]), fa.Table([1e9, 2e9], [INERTIA, 5.0], kind="linear")
    late = fa.Piecewise([-1e300, 1e300], [INERTIA, 5.0])
    for u in (before, after, late, Sampled(lambda t, q, qd: [INERTIA], 1e40), INERTIA):
        assert run(rotor, 1.0, u=u).q[-1, 0] == pytest.approx(0.5, abs=1e-12)


def test_a_table_whose_spline_would_overflow_is_refused():
    times = 5e-151 * np.arange(6.0)
    for kind in ("cubic", "linear"):
        scale = 1.0 if kind == "cubic" else 1e200
        with pytest.raises(fa.DescriptionError, match="Table: values change too fast between two times"):
            fa.Table(times, scale * np.array([0.1, 0.7, -0.3, 0.2, 0.9, -2.0]), kind=kind)


# -- a result is whole -------------------------------------------------------------------------------------------------


def test_a_torque_that_is_no_number_where_no_step_meets_it(rotor):
    """Beyond the end, as the run sees it from the left: it is asked for in the result alone."""
    with pytest.raises(fa.SimulationError, match=r"u of rod\.joint is nan at t = 1 s") as caught:
        run(rotor, 1.0, u=lambda t: 0.1 if t < 1.0 else NAN)
    kept = caught.value.result
    assert kept.attrs["status"] == str(caught.value) and "completed" not in kept.attrs["status"]
    assert kept.q[-1, 0] == pytest.approx(0.1 / INERTIA / 2)
    assert np.isfinite(kept.q).all() and np.flatnonzero(np.isnan(kept.u[:, 0])).tolist() == [10]


def test_nothing_in_a_result_is_left_out_of_the_look_for_what_is_no_number(soft):
    from flexarm.simulation.dataset import faulty

    whole = run(soft, 0.05, u=PD)
    assert faulty(whole) == ""
    for name in whole.data_vars:
        broken = whole.copy(deep=True)
        broken[name].values[-1] = INF
        assert re.fullmatch(rf"{name}( of \S+)* is inf at t = 0\.05 s", faulty(broken))
    for name in ("energy_drift", "group_velocity_ratio"):
        assert faulty(whole.assign_attrs({name: NAN})) == f"{name} is nan"


def test_a_run_whose_energy_overflows_is_not_completed(rotor, monkeypatch):
    monkeypatch.setattr(run_module, "faulty", lambda result: "kinetic is inf at t = 0 s")
    with pytest.raises(fa.SimulationError, match=r"kinetic is inf at t = 0 s") as caught:
        run(rotor, 1.0)
    assert caught.value.result.attrs["status"] == str(caught.value)


def test_what_is_computed_in_pieces_is_what_is_computed_at_once(soft, monkeypatch):
    from flexarm.simulation import dataset

    controllers = [PD, Sampled(PD, 0.001), fa.PrescribedMotion(SLEW), fa.Table([0.0, 0.1], [0.1, 0.2])]
    for u in controllers:
        whole = run(soft, 0.05, u=u, reference=SLEW, samples=101)
        monkeypatch.setattr(dataset, "PIECE", 100)
        for name, values in run(soft, 0.05, u=u, reference=SLEW, samples=101).data_vars.items():
            np.testing.assert_allclose(values, whole[name], rtol=1e-12, atol=1e-14)  # lanes of eight, or one by one
        monkeypatch.undo()


# -- memory ------------------------------------------------------------------------------------------------------------


def peak(call):
    gc.collect()
    tracemalloc.start()
    try:
        call()
    finally:
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return most


def test_a_result_that_does_not_fit_is_refused_before_anything_is_there(rotor, monkeypatch):
    monkeypatch.setattr(memory, "room", lambda: -1.0)
    run(rotor, 1.0)  # small enough, whatever is said to be free
    monkeypatch.setattr(memory, "room", lambda: 2e7)

    def refused():
        with pytest.raises(fa.DescriptionError) as caught:
            run(rotor, 1.0, samples=1e8)
        line = one_line(caught.value)
        assert line.startswith("a result of 1e+08 samples takes 18.4 GB and 0.02 GB are free; use fewer")
        assert "run in parts, each from the end of the previous one (q0, qd0)" in line
        few = int(line.split("fewer samples (")[1].split()[0])
        assert 8 * 23 * few == pytest.approx(1e7, rel=1e-2)

    assert peak(refused) < 1e6


@pytest.mark.parametrize(
    ("kind", "method"),
    [("none", "tsit5"), ("pd", "dop853"), ("sampled", "rk4"), ("prescribed", "dop853"), ("prescribed", "rk4")],
)
def test_a_run_takes_no_more_memory_than_was_reckoned_with(soft, method, kind, monkeypatch):
    """Each kind of input and each way to integrate."""
    u = {"none": None, "pd": PD, "sampled": Sampled(PD, 1e-3), "prescribed": fa.PrescribedMotion(SLEW)}[kind]
    given = {"u": u, "reference": SLEW, "method": method, "solver": fa.Solver(step=1e-3 if method == "rk4" else None)}
    seen = []
    monkeypatch.setattr(run_module, "_check_size", lambda samples, columns: seen.append(8 * samples * columns))
    from flexarm.simulation import dataset

    monkeypatch.setattr(dataset, "PIECE", 1_000)
    run(soft, 0.05, samples=2_001, **given)  # what is made once for such a run is no part of its memory
    most = peak(lambda: run(soft, 0.05, samples=20_001, **given))
    assert seen[-1] > 4e6 and most < seen[-1] + 1e6  # 2e6 more where it is not computed in pieces


def test_how_much_memory_there_is(monkeypatch, tmp_path):
    assert 1e6 < memory.room() < 1e16
    with monkeypatch.context() as ulimit:
        ulimit.setattr(memory, "_limit_of_process", lambda: 3e9)
        ulimit.setattr(memory, "PROCESS", process := tmp_path / "statm")
        process.write_text("250000 1000 10 1 0 5 0\n")  # pages: the whole address space counts
        assert memory.room() == 3e9 - 250000 * os.sysconf("SC_PAGE_SIZE")
        for room, usable in ((-1e9, 1e7), (1e6, 1e7), (3e7, 3e7)):
            ulimit.setattr(memory, "room", lambda room=room: room)
            assert memory.usable() == usable
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "GROUPS", (limit, tmp_path / "none"))
    limit.write_text("max\n")
    unlimited = memory.room()
    limit.write_text("1000\n")
    assert memory.room() < 0 < unlimited  # this process has more already
    limit.write_text("max\n")
    monkeypatch.setattr(memory, "PROCESS", tmp_path / "none")
    monkeypatch.setattr(memory, "SYSTEM", tmp_path / "none")
    assert memory.room() >= unlimited / 2  # all that the machine has
    system = tmp_path / "meminfo"
    system.write_text("MemTotal:  4000 kB\nMemAvailable:   1000 kB\n")
    monkeypatch.setattr(memory, "SYSTEM", system)
    assert memory.room() == 1024e3


def test_samples_between_two_times_of_the_result_are_not_kept(rotor):
    """Twenty thousand periods and two times: what is held does not grow with the periods."""
    calls = [0]

    def law(t, q, qd):
        calls[0] += 1
        return [INERTIA]

    u = Sampled(law, 1e-4)
    run(
        rotor, 0.01, u=u, samples=2, solver=fa.Solver(method="rk4", step=1e-4)
    )  # what is compiled once is no part of its memory
    calls[0] = 0
    most = peak(lambda: run(rotor, 2.0, u=u, samples=2, solver=fa.Solver(method="rk4", step=1e-4)))
    assert calls == [20_000]
    assert most < 1e6


# -- runs that are given up --------------------------------------------------------------------------------------------


@pytest.fixture
def default_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("default_handler")
@pytest.mark.parametrize("u", [Sampled(lambda t, q, qd: [0.1], 2e-9), Sampled(PD, 2e-9), None], ids=["f", "law", "rk4"])
def test_ctrl_c_stops_a_run_of_very_many_steps(rotor, u):
    """5e8 periods, or as many steps between two times of the result."""
    given = {"u": u} if u else {"method": "rk4", "solver": fa.Solver(step=2e-9)}
    begun = []

    def progress(t):
        if not begun:
            begun.append(time.monotonic())
            _thread.interrupt_main()

    with pytest.warns(InterruptedRun, match=r"interrupted at t = 0 s of 1 s"):
        found = fa.simulate(rotor, 1.0, samples=2, progress=progress, **given)
    assert time.monotonic() - begun[0] < 60.0, "all of them take minutes where the machine is fast"
    assert found.attrs["status"] == "interrupted" and found.sizes["time"] == 1
    assert not watch.RUNNING


@pytest.mark.parametrize("u", [None, PD, lambda t: 0.1, Sampled(lambda t, q, qd: [0.1], 1e-7)])
def test_a_progress_function_that_raises_leaves_nothing_behind(rotor, u):
    class Enough(Exception):
        pass

    def progress(t):
        raise Enough("of it")

    given = {} if isinstance(u, Sampled) else {"method": "rk4", "solver": fa.Solver(step=1e-8)}
    with pytest.raises(Enough, match="of it"):
        fa.simulate(rotor, 1e2, u=u, samples=2, progress=progress, **given)
    assert not watch.RUNNING


@pytest.mark.usefixtures("default_handler")
def test_a_second_ctrl_c_leaves_a_hanging_function_and_no_run(rotor):
    calls = []

    def hanging(t, q, qd):
        calls.append(t)
        signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT).came
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("the second Ctrl-C was ignored")

    with pytest.raises(KeyboardInterrupt):
        run(rotor, 1.0, u=Sampled(hanging, 0.1))
    assert not watch.RUNNING and calls == [0.0]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# -- inputs made for another arm, or for one run -----------------------------------------------------------------------


def test_a_law_made_for_another_arm_is_refused(rotor, soft):
    """Its native code would read and write where that arm's coordinates and inputs are."""
    for controller in (PD, Sampled(PD, 0.001)):
        made = feedback(controller, soft)
        with pytest.raises(fa.DescriptionError) as caught:
            run(rotor, 0.1, u=made)
        line = (
            "controller JointPD was designed for arm 'soft', but the run has arm 'rotor' with other coordinates or "
            "inputs"
        )
        assert one_line(caught.value).startswith(line)
        run(fa.Model(SOFT), 0.1, u=made)


def test_actuators_whose_delay_is_no_whole_number_of_periods():
    with pytest.raises(fa.DescriptionError, match=r"delay is 0\.15 s; it must be a whole number of periods"):
        delayed(Law(lambda t, q, qd, z: ([0.0], [])), 0.15, 0.1, 1)


def test_a_joint_of_ones_own_says_what_it_moves():
    from typing import Literal

    from flexarm.description.joints import Driven, Joint

    def kind(base, **members):
        annotations = {"type": Literal["odd"]}
        return type("Odd", (base,), {"__annotations__": annotations, "type": "odd", "__module__": __name__, **members})

    with pytest.raises(
        fa.DescriptionError, match="Odd: moves is missing; a class of joints must set it to True or False"
    ):
        kind(Joint)
    with pytest.raises(fa.DescriptionError, match="Odd: direction is missing; a joint that moves needs this property"):
        kind(Driven)
    kind(Driven, direction=property(lambda self: (0.0, 0.0, 1.0)))
    kind(Joint, moves=False, __annotations__={"type": Literal["odd"]})


def test_expressions_are_casadis(soft):
    """Numbers of its own kind are as good as Python's."""
    path = Path(ca.vertsplit(ca.DM([0.1])))
    assert trajectory.reference_values(path, [0.0, 1.0]).tolist() == [[0.1], [0.1]]


def test_a_result_shows_what_was_held(rotor):
    found = run(rotor, 1.0, u=Sampled(lambda t, q, qd: [t], 0.15), samples=21)
    last = 0.15 * np.floor(found.time.values / 0.15 + 1e-9)  # a sample at a time of the result counts there
    np.testing.assert_allclose(found.u[:, 0], last, atol=1e-12)


# -- designs with numbers that no float holds --------------------------------------------------------------------------


NO_DESIGN = {
    "a place, along the reference": lambda soft: Composite(fa.Quintic((1e30,), (0.0,), 1.0), 20.0, 5.0).law(soft),
    "the same, sampled": lambda soft: Composite(fa.Quintic((1e10,), (0.0,), 1.0), 20.0, 5.0).law(soft, 0.01),
    "a time": lambda soft: Composite(fa.Quintic((0.0,), (1.0,), 1e-14), 20.0, 5.0).law(soft),
    "a matrix that is not finite": lambda soft: Composite(fa.Quintic((0.0,), (1.0,), 1e-14), 20.0, 5.0).law(soft, 0.01),
    "a weight": lambda soft: LQR((0.0,), Q=1e300, R=1.0).law(soft),
    "a weight along a motion": lambda soft: Tracking(SLEW, Q=1e300).law(soft),
    "a weight at points": lambda soft: ScheduledLQR(SLEW, 3, Q=1e300).law(soft),
    "an observer's weight": lambda soft: Observed(PD, [Encoder(coordinate="a.joint", noise=1e-30)], process=1e200).law(
        soft
    ),
    "a gain, for a shaper": lambda _: control.design_shaper(
        fa.Model(TWO), controller=Sampled(JointPD(fa.Quintic((4e11, 0.0), (-0.5, -0.5), 2.0), 1e-3, -5e31), 0.01)
    ),
}


@pytest.mark.parametrize("made", NO_DESIGN.values(), ids=NO_DESIGN)
def test_a_design_whose_numbers_overflow_is_refused(made, soft):
    with pytest.raises(fa.DescriptionError) as caught:
        made(soft)
    line = (
        r"(Composite|LQR|\w+LQR|Tracking|Observed|shaper): the design failed, probably because a gain, a weight, a "
        r"coordinate or a time is too "
    )
    assert re.match(line, one_line(caught.value))
    assert np.geterr()["over"] == "warn"  # of the caller, as it was


def test_a_deviation_of_which_nothing_is_left_has_its_pole_at_minus_infinity():
    poles = continuous(np.array([0.0, 0.5, 0.5j]), 0.1)
    assert poles[0].real == -INF and poles[0].imag == 0.0
    np.testing.assert_allclose(np.exp(poles[1:] * 0.1), [0.5, 0.5j], rtol=1e-15)


def test_axes_of_many_states_are_refused(rotor):
    with pytest.raises(fa.DescriptionError, match=r"^neutral_axes: q has more than one axis; give one configuration$"):
        fa.plots.neutral_axes(rotor, [[0.1], [0.2]])


def test_modes_where_the_inertia_is_beyond_all_numbers():
    arm = fa.Arm(
        name="long",
        links=[
            fa.Link(name="rail", joint=fa.Prismatic(axis=(1, 0, 0)), body=fa.Rigid(mass=1.0, length=1.0)),
            fa.Link(name="rod", body=fa.Rigid(mass=1.0, length=1.0, inertia=0.1)),
            fa.Link(name="slide", joint=fa.Prismatic(axis=(0, 1, 0)), body=fa.Rigid(mass=1.0, length=1.0)),
        ],
    )
    with pytest.raises(fa.DescriptionError, match=r"^arm 'long': inertia or stiffness is not finite at this q$"):
        fa.Model(arm).frequencies([0.0, 0.3, 1e200], locked=False)


def test_a_pulse_of_infinity_is_refused_without_a_warning():
    with pytest.raises(fa.DescriptionError, match="infinity"):
        fa.bang_bang([np.inf], 0.5)


def test_the_group_velocity_of_a_telescope_that_is_hardly_out():
    model = fa.Model(fa.load("theodore-ghosal"))
    q = np.zeros((2, len(model.coordinates)))
    qd = np.ones_like(q)
    i = int(np.argmax(np.array(model.arm.rest) > 0))
    q[:, i] = 1e-310
    assert group_velocity_ratio(model, q, qd) < 1e-300


@pytest.mark.parametrize("times", [[0.0, 1e-300, 1.0], [0.0, 1e-39, 1.0, 1e39]])
def test_points_whose_times_are_too_unlike(times):
    points = [[0.1 * i] for i in range(len(times))]
    with pytest.raises(fa.DescriptionError, match=r"^MinimumJerk: no spline passes the points"):
        fa.MinimumJerk(points=points, times=times).pieces()


@pytest.mark.parametrize("seed", range(20))
def test_an_axis_stays_what_it_is(seed):
    """However often it is written and read again."""
    axis = np.random.default_rng(seed).normal(size=3)
    joint = fa.Revolute(axis=tuple(axis / np.linalg.norm(axis) * (1 + 4e-8 * seed)))
    assert joint.replace(axis=joint.axis).axis == joint.axis


def test_a_period_may_be_a_fraction():
    """Python's own numbers of other kinds are numbers; the warning of a period too long shows it as one."""
    model = fa.Model(fa.load("subudhi-morris-elastic"))
    with pytest.warns(fa.errors.SlowSampling, match=r"period is 0\.333333 s, longer than"), suppress(fa.FlexarmError):
        control.LQR(joints=(0.1, 0.1)).law(model, Fraction(1, 3))


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
@pytest.mark.parametrize("name", ["q_ref", "q", "tip"])
def test_performance_of_a_result_whose_numbers_are_none(rotor, name, bad):
    """As a file may hold that others have changed."""
    slew = fa.Quintic(start=(0.0,), end=(0.3,), duration=0.5)
    result = fa.simulate(rotor, 1.0, u=control.JointPD(slew, Kp=1.0, Kd=1.0), samples=11, progress=False).copy(
        deep=True
    )
    fa.performance(result)
    result[name].values[-1] = bad
    with pytest.raises(fa.DescriptionError, match=rf"^performance: {name} of the result is not finite"):
        fa.performance(result)
