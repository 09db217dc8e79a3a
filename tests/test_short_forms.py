"""Short forms for a session at the prompt: arms by name, links by name, rest by default, versions."""

import dataclasses
import importlib
import inspect

import numpy as np
import pytest
import torch
from controlled import refused

import flexarm as fa
from flexarm import control

UNTIL = {"until": 0.05, "samples": 3, "progress": False}


def test_a_model_takes_an_arm_a_name_or_a_file(tmp_path):
    path = tmp_path / "boom.toml"
    path.write_text(
        'name = "boom"\n[[links]]\nname = "boom"\njoint = { type = "revolute" }\n'
        'body = { type = "rigid", length = 1.3, mass = 0.7 }\n'
    )
    arm = fa.load(path)
    assert fa.Model(path).arm == fa.Model(str(path)).arm == arm
    assert fa.Model("rigid-two-link", vary=["payload.mass"]).arm == fa.load("rigid-two-link")
    with refused("unknown arm 'rigid-two-lnik'; did you mean 'rigid-two-link'[?] .*"):
        fa.Model("rigid-two-lnik")
    with refused("Model: arm is 3; it must be an Arm"):
        fa.Model(3)


def test_runs_build_the_model_of_an_arm():
    arm = fa.load("subudhi-morris")
    expected = fa.simulate(fa.Model(arm), u=[0.2, 0.1], **UNTIL)
    for given in (arm, "subudhi-morris"):
        np.testing.assert_array_equal(fa.simulate(given, u=[0.2, 0.1], **UNTIL).q, expected.q)
    many = fa.simulate_many("subudhi-morris", u=[[0.2, 0.1], [0.0, 0.0]], **UNTIL)
    np.testing.assert_allclose(many.q[0], expected.q, atol=1e-8)
    stepper = fa.Stepper("subudhi-morris", 0.05)
    stepper.step([0.2, 0.1])
    np.testing.assert_allclose(stepper.q, expected.q[-1], atol=1e-6)
    for call in (fa.simulate, fa.simulate_many, fa.Stepper):
        with refused(f"{call.__name__}: model is None; it must be a Model"):
            call(None, 1.0)


LOOP = control.Sampled(control.JointPD([0.2, 0.1], 1.0, 1.0), 0.01)
Q, QD, TIP = [0.3, 0.2], [0.1, 0.0], [fa.TipPosition()]
MOTION = 0.1 * np.eye(6)[:1], np.eye(6)[:1], None, np.zeros((1, 6))
FLEXIBLE = "analysis.frozen_eigenvalues", "analysis.lyapunov_rate", "plots.draw_modes"
TAKE_A_MODEL = {
    "analysis.closed_loop": lambda f, model: f(model, LOOP, Q).A,
    "analysis.configuration": lambda f, model: f(model, Q),
    "analysis.equilibrium": lambda f, model: f(model, Q)[1],
    "analysis.flexible_equations": lambda f, model: str(f(model)),
    "analysis.frozen_eigenvalues": lambda f, model: f(model, *MOTION),
    "analysis.generalized_jacobian": lambda f, model: f(model, Q),
    "analysis.loop": lambda f, model: f(model, LOOP, Q).A,
    "analysis.lyapunov_rate": lambda f, model: f(model, *MOTION).value,
    "analysis.mode_table": lambda f, model: str(f(model)),
    "analysis.pole_migration": lambda f, model: f(model, lambda k: control.JointPD(0.0, k, 1.0), [1.0, 2.0]).poles,
    "analysis.stability": lambda f, model: str(f(model, LOOP)),
    "analysis.steady_modes": lambda f, model: str(f(model)),
    "analysis.tip_jacobian": lambda f, model: f(model, Q),
    "control.equilibrium": lambda f, model: f(model, Q)[0],
    "control.vibrations": lambda f, model: f(model),
    "export_c": lambda f, model: f(model, "c")[0].read_text(),
    "export_controller": lambda f, model: f(LOOP, "board", model)[0].read_text(),
    "export_exudyn": lambda f, model: f(model, "a.py").read_text(),
    "export_fmu": lambda f, model: f(model, "a.fmu", binary=False).path.read_bytes(),
    "export_law": lambda f, model: f(LOOP, model, "law")[0].read_text(),
    "export_law_fmu": lambda f, model: f(LOOP, model, "law.fmu", binary=False).path.read_bytes(),
    "export_mjcf": lambda f, model: f(model, "a.xml").read_text(),
    "export_modelica": lambda f, model: f(model, "a.mo").read_text(),
    "export_simulink": lambda f, model: f(model, "simulink")[0].read_text(),
    "outputs": lambda f, model: f(model, TIP).values(Q, QD),
    "plots.draw_frequencies": lambda f, model: f(model, "fore.joint", [0.1, 0.2], locked=False).lines[0].get_ydata(),
    "plots.draw_modes": lambda f, model: len(f(model, locked=False)),
    "plots.neutral_axes": lambda f, model: np.array(f(model, Q)),
    "robust.uncertain": lambda f, model: str(f(model, {"payload.mass": [0.1, 0.2]}, Q, TIP)),
    "torch.function": lambda f, model: f(model, "mass_matrix")(torch.tensor(Q, dtype=torch.float64)).numpy(),
}


def home_of(name):
    """A public function by its name."""
    package, _, name = name.rpartition(".")
    return getattr(importlib.import_module(f"flexarm.{package}" if package else "flexarm"), name)


@pytest.mark.parametrize("name", TAKE_A_MODEL)
def test_functions_of_a_model_take_an_arm_or_a_name(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    of, call, arm = home_of(name), TAKE_A_MODEL[name], "subudhi-morris" if name in FLEXIBLE else "rigid-two-link"
    expected = call(of, fa.Model(arm))
    for given in (fa.load(arm), arm):
        np.testing.assert_array_equal(call(of, given), expected)
    with refused(".*model is 3; it must be a Model.*"):
        call(of, 3)


ONLY_MODELS = {"Identification", "analysis.ReactionlessLine", "sensors.Outputs"}
"""Classes that require a model."""


def test_a_first_argument_that_is_a_model_may_be_an_arm_or_a_name():
    """All public functions, by their signatures."""
    packages = "", "analysis", "control", "estimation", "plots", "robust", "sensors", "torch", "jax"
    strict = set()
    for package in packages:
        home = importlib.import_module(f"flexarm.{package}" if package else "flexarm")
        for name in getattr(home, "__all__", dir(home)):
            found = getattr(home, name)
            if not inspect.isfunction(found) and not dataclasses.is_dataclass(found):
                continue
            first = next(iter(inspect.signature(found).parameters.values()), None)
            if first is not None and first.annotation is fa.Model:
                strict.add(f"{package}.{name}".strip("."))
    assert strict == ONLY_MODELS


def test_links_are_found_by_their_names():
    arm = fa.load("canadarm")
    assert [arm[link.name] for link in arm.links] == list(arm.links)
    with refused("arm 'canadarm' has no link 'uper'; did you mean 'upper'[?] Its links are upper, fore, hand"):
        arm["uper"]
    with refused("arm 'canadarm' has no link 0; its links are upper, fore, hand"):
        arm[0]


@pytest.mark.parametrize("name", fa.bundled())
def test_a_saved_arm_is_the_same_arm(name, tmp_path):
    arm = fa.load(name)
    assert fa.load(arm.save(tmp_path / "new" / "arm.toml")) == arm


def test_what_a_file_cannot_hold_is_not_saved(tmp_path):
    shapes = fa.shapes.FreeForm(functions=[np.polynomial.Polynomial([0, 0, 1.0])])
    body = fa.Beam(length=0.7, mass=1.3, EI=2.0, modes={"y": 1}, shapes={"y": shapes})
    arm = fa.Arm(name="own", links=[fa.Link(name="a", joint=fa.Revolute(), body=body)])
    with refused("save: arm 'own' has functions or other objects that a file cannot store; pickle it"):
        arm.save(tmp_path / "arm.toml")
    with refused("save: .*: it must end with .toml"):
        arm.save(tmp_path / "arm.txt")
    with refused("path is of type int; it must be the name of a file"):
        arm.save(3)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["canadarm", "theodore-ghosal", "satellite"])
def test_rest_is_the_default_of_modes_and_of_the_linear_model(name):
    model = fa.Model(name)
    q, qd, u = np.array(model.arm.rest), np.zeros(model.nv), np.zeros(len(model.inputs))
    np.testing.assert_array_equal(model.frequencies(), model.frequencies(q))
    np.testing.assert_array_equal(model.modes(locked=False)[1], model.modes(q, locked=False)[1])
    for part in "ABCD":
        np.testing.assert_array_equal(getattr(model.linearize(), part), getattr(model.linearize(q, qd, u), part))


def test_one_input_is_not_one_inputs():
    assert repr(fa.Model("lin-lewis-beam", vary=["payload.mass"])).endswith(", 1 input, 1 parameter)")
    assert "2 inputs)" in repr(fa.Model("subudhi-morris"))


def test_versions_are_shown(capsys):
    fa.show_versions()
    shown = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert shown["flexarm"] == fa.__version__
    assert {"Python", "system", "casadi", "llvmlite", "numpy"} <= set(shown)
    assert "not installed" not in (shown["casadi"], shown["llvmlite"])
