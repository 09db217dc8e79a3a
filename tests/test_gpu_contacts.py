"""Sharp contacts of runs with adaptive steps on a graphics processor, played by this one."""

import numpy as np
import pytest
from controlled import refused
from host_gpu import HostGpu

import flexarm as fa
from flexarm.native import cuda
from flexarm.simulation import gpu
from flexarm.simulation.layout import Layout

M, V, K = 1.5, 0.8, 2e4  # [kg, m/s, N/m]


@pytest.fixture
def host(monkeypatch):
    """This processor in the part of the other."""
    played = HostGpu()
    monkeypatch.setattr(cuda, "device", lambda: played)
    return played


def slider(zeta, lower=-0.1, upper=0.2):
    """A mass between two end stops."""
    stops = fa.Stops(lower=lower, upper=upper, stiffness=K, damping=2 * zeta * np.sqrt(K * M), sharp=True)
    joint = fa.Prismatic(axis=[1.0, 0.0, 0.0], drive=fa.Drive(stops=stops))
    return fa.Arm(name="slider", links=[fa.Link(name="mass", joint=joint, body=fa.Rigid(length=0.3, mass=M))])


@pytest.fixture(scope="module")
def play():
    """An elastic joint with a sharp backlash, in which the stiffness of each run differs."""
    drive = fa.Drive(backlash={"width": 0.02, "sharp": True})
    joint = fa.Revolute(rotor_inertia=0.02, stiffness=40.0, drive=drive)
    arm = fa.Arm(name="play", links=[fa.Link(name="rod", joint=joint, body=fa.Rigid(length=0.5, mass=1.2))])
    return fa.Model(arm, vary=["rod.mass"])


GIVEN = {"solver": fa.Solver(method="tsit5", rtol=1e-9, atol=1e-12), "progress": False}


@pytest.mark.parametrize("zeta", [0.0, 0.3])
def test_a_stop_gives_back_what_a_spring_and_a_damper_do(host, zeta):
    """Schwager & Poschel 2007, eq. 19: contact ends as the force is zero; the restitution depends on zeta alone."""
    w0 = np.sqrt(K / M)
    beta, w = zeta * w0, w0 * np.sqrt(1 - zeta**2)
    e = np.exp(-beta / w * (np.pi - np.arctan2(2 * beta * w, w**2 - beta**2)))
    v = V * np.array([1.0, 0.9, -0.5])
    found = fa.simulate_many(
        fa.Model(slider(zeta)), 0.32, device="gpu", u=[0.0], qd0=v[:, None], **GIVEN, save=fa.SaveAt(samples=5)
    )
    assert host.launched
    np.testing.assert_allclose(found.qd.values[:, -1, 0], -e * v, rtol=1e-7)
    duration = np.where(v > 0, 0.2, 0.1) / np.abs(v)
    contact = (np.pi - np.arctan2(2 * beta * w, w**2 - beta**2)) / w
    q = np.sign(v) * np.where(v > 0, 0.2, 0.1) - e * v * (0.32 - duration - contact)
    off = found.q.values[:, -1, 0] - q
    # the contact ends a little within the spring's length if its damper still pulls
    ended = np.exp(-beta * contact) * np.sin(w * contact) * v / w
    np.testing.assert_allclose(off, ended, rtol=1e-4, atol=1e-9)


def test_runs_that_stop_are_as_accurate_as_those_of_the_cpu(host, play):
    """A backlash that is crossed some ten times, under a jump of u, with parameters of each run."""
    given = {
        "u": fa.bang_bang([0.2], duration=0.31),
        "qd0": [[1.0, -0.5], [0.3, 0.9], [0.0, 0.4]],
        "p": play.p * [[0.8], [1.0], [1.3]],
        "save": fa.SaveAt(samples=9),
    }
    exact = fa.simulate_many(
        play, 0.8, **{**GIVEN, "solver": fa.Solver(method="dop853", rtol=1e-13, atol=1e-15), **given}
    )
    for method in ("tsit5", "dop853"):
        solver = fa.Solver(method=method, rtol=1e-9, atol=1e-12)
        found = fa.simulate_many(play, 0.8, device="gpu", **{**GIVEN, "solver": solver, **given})
        assert {*found.status.values} == {"completed"}
        assert np.abs(found.q - exact.q).max() < 3e-8
        assert np.abs(found.qd - exact.qd).max() < 1e-6
        assert found.energy_drift.max() < 1e-8
    plain = fa.simulate_many(
        play, 0.8, device="gpu", **{**GIVEN, "solver": fa.Solver(method="rk4", step=1e-3), **given}
    )
    assert np.abs(plain.q - exact.q).max() > 1e-6, "fixed steps pass contacts"


def test_a_launch_goes_on_where_the_last_one_stopped(host, play, monkeypatch):
    given = {**GIVEN, "u": [0.05], "qd0": [[1.0, -0.5], [0.3, 0.9]], "save": fa.SaveAt(samples=40), "device": "gpu"}
    whole = fa.simulate_many(play, 0.3, **given)
    once = len(host.launched)
    monkeypatch.setattr(gpu, "WORK", 1.0)
    monkeypatch.setattr(gpu, "WINDOW", 2 * 8 * 2 * Layout.of(play).size)
    pieces = fa.simulate_many(play, 0.3, **given)
    assert len(host.launched) - once > 20
    for name in ("q", "qd", "status", "steps"):
        np.testing.assert_array_equal(pieces[name], whole[name])


def test_a_mass_that_is_pressed_onto_a_stop_comes_to_rest(host):
    """Infinitely many bounces in finite time: the contacts follow each other ever sooner, and the run is completed."""
    F = 30.0
    found = fa.simulate_many(
        fa.Model(slider(0.3)), 2.0, device="gpu", u=[[F], [-F]], **GIVEN, save=fa.SaveAt(samples=3)
    )
    assert {*found.status.values} == {"completed"}
    np.testing.assert_allclose(found.q.values[:, -1, 0], [0.2 + F / K, -0.1 - F / K], atol=1e-7)
    assert np.abs(found.qd.values[:, -1]).max() < 1e-6


def test_contacts_need_doubles(host, play):
    message = ".*'tsit5' stops at sharp contacts, as of arm 'play', only with real='double'; .* fixed steps"
    with refused(message):
        fa.simulate_many(
            play, 0.02, device="gpu", real="float", u=[0.0], runs=2, solver=fa.Solver(method="tsit5", rtol=1e-4)
        )
    assert not host.launched


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.5])
def test_a_wall_that_pushes_by_the_law_of_hertz(host, exponent):
    """Rigid bodies: a slider is turned around by a wall, at the depth where its energy is in the contact."""
    k, v = 3e3, np.array([0.8, 0.5])
    wall = fa.Contact(name="wall", link="mass", point=(0.35, 0, 0), normal=(-1, 0, 0), stiffness=k, exponent=exponent)
    model = fa.Model(slider(0.0, -9.0, 9.0).replace(contacts=[wall]))
    found = fa.simulate_many(model, 0.6, device="gpu", u=[0.0], qd0=v[:, None], **GIVEN, save=fa.SaveAt(samples=2001))
    depth = ((exponent + 1) * M * v**2 / (2 * k)) ** (1 / (exponent + 1))  # M v^2 / 2 = k d^(n + 1) / (n + 1)
    np.testing.assert_allclose(found.q.values[:, :, 0].max(axis=1), 0.05 + depth, rtol=1e-5)


def test_other_exponents_are_refused(host):
    wall = fa.Contact(name="wall", link="mass", normal=(-1, 0, 0), stiffness=1e3, exponent=1.7)
    model = fa.Model(slider(0.0).replace(contacts=[wall]))
    with refused("device is 'gpu'; no instruction of a GPU for the CasADi operation OP_CONSTPOW"):
        fa.simulate_many(model, 0.1, device="gpu", u=[0.0], runs=2, **GIVEN)


@pytest.mark.parametrize("method", ["radau5", "gauss4"])
def test_implicit_methods_refuse_sharp_contacts(host, method):
    why = "does not stop at sharp contacts there, which arm 'slider' has; use an explicit method"
    with refused(f"device is 'gpu'; method '{method}' {why}"):
        fa.simulate_many(slider(0.1), 0.1, u=[0.0], runs=2, device="gpu", method=method, progress=False)
