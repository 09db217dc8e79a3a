"""Drag of links in still air: closed forms, the mass matrix, and the whirl of shafts."""

import numpy as np
import pytest
from scipy.optimize import brentq

import flexarm as fa
from flexarm.analysis import steady_modes

L, M, C = 1.4, 0.9, 0.7


def arm_of(body, joint=None, coefficient=C, **more):
    links = [fa.Link(name="rod", joint=joint or fa.Revolute(axis=(0, 0.6, 0.8)), body=body)]
    return fa.Arm(name="air", links=links, drags=[fa.Drag(link="rod", coefficient=coefficient)], **more)


BEAM = {"length": L, "mass": M, "EI": {"y": 9.0, "z": 7.0}, "GJ": 5.0, "EA": 90.0}
BODIES = {
    "one piece": (fa.Beam(**BEAM, modes={"y": 2, "z": 1, "torsion": 1, "axial": 1}, polar_inertia=0.0), 1e-11),
    "foreshortened": (fa.Beam(**BEAM, modes={"y": 2, "z": 1}, foreshortening=True), 1e-11),
    "curved segments": (
        fa.Beam(**BEAM, modes={"y": 2, "z": 1}, segments=2, initial_angles={"y": 0.6, "torsion": 0.3}),
        1e-4,
    ),
}


@pytest.mark.parametrize("kind", BODIES)
def test_drag_of_a_uniform_beam_is_in_proportion_to_its_mass(kind):
    """The generalized force is -(c / m) M(q) qd, since mass and drag are spread alike. Segments truncate M."""
    body, close = BODIES[kind]
    arm = arm_of(body)
    model, plain = fa.Model(arm), fa.Model(arm.replace(drags=()))
    rng, n = np.random.default_rng(4), model.nv
    q, qd = 0.05 * rng.uniform(-1, 1, n), rng.normal(size=n)
    lost = model.inverse_dynamics(q, qd, 0 * q) - plain.inverse_dynamics(q, qd, 0 * q)
    wanted = C / M * plain.mass_matrix(q) @ qd
    np.testing.assert_allclose(lost, wanted, atol=close * np.abs(wanted).max())


def test_drag_is_along_the_axes_of_the_sections():
    """A rod that slides along x in the base, turned by a, and turns at the rate w about its end."""
    cx, cy, a, v, w = 0.3, 0.8, 0.7, 1.2, -0.5
    links = [
        fa.Link(name="slide", joint=fa.Prismatic(axis=(1, 0, 0)), body=fa.Frame(length=0.0)),
        fa.Link(name="rod", joint=fa.Revolute(), body=fa.Rigid(length=L, mass=M)),
    ]
    drags = [fa.Drag(link="rod", coefficient=(cx, cy, 9.0))]
    model = fa.Model(fa.Arm(name="rod", links=links, drags=drags))
    plain = fa.Model(fa.Arm(name="rod", links=links))
    state = [0.2, a], [v, w], [0.0, 0.0]
    lost = model.inverse_dynamics(*state) - plain.inverse_dynamics(*state)
    along, across = v * np.cos(a), -v * np.sin(a) + w * L / 2  # velocity of the middle
    torque = cy * (-v * np.sin(a) * L / 2 + w * L**2 / 3)
    assert lost == pytest.approx([cx * along * np.cos(a) - cy * across * np.sin(a), torque], rel=1e-12)
    run = fa.simulate(model, 1.0, q0=[0, 0], qd0=[1.0, 2.0], progress=False)
    assert run.energy_drift < 1e-7 and float(run.dissipated[-1]) > 0.1


def test_external_damping_moves_the_threshold_of_whirl():
    """Omega / omega = 1 + c_ext / c_int (Smith 1933), in every mode of a uniform shaft, and here in the first one."""
    tau, k = 0.01, 12.0
    shaft = fa.Beam(length=L, mass=M, EI=k, modes={"y": 2, "z": 2}, shapes="clamped-free", tau=tau)
    omega = 1.8751040687119611**2 * np.sqrt(k / (M * L**3))
    for share in (0.4, 1.3):  # external damping c / m over the internal one, tau omega^2
        air = share * M * tau * omega**2
        model = fa.Model(arm_of(shaft, fa.Revolute(axis=(1, 0, 0)), air))

        def growth(speed, model=model):
            return float(steady_modes(model, qd=[speed * omega]).pole.values.real.max())

        assert brentq(growth, 1.1, 2.9, xtol=1e-7) == pytest.approx(1.0 + share, abs=1e-5)


def test_drag_of_an_arm_in_flight_changes_its_momentum():
    arm = arm_of(fa.Rigid(length=L, mass=M), base=fa.FreeBase(mass=3.0, inertia=0.4))
    run = fa.simulate(arm, 0.1, qd0=[0.3, 0, 0, 0, 0, 0, 1.0], progress=False)
    assert run.momentum_changed_by == "drags" and run.energy_drift < 1e-8


def test_drags_in_files_and_what_is_refused(tmp_path):
    arm = arm_of(fa.Rigid(length=L, mass=M), coefficient=(0.1, 0.2, 0.3))
    assert fa.load(arm.save(tmp_path / "air.toml")) == arm and arm.outside == ("drags",)
    for link, wanted in (
        ("boom", "Arm: drags[0].link is 'boom'; the links are rod"),
        ("hub", "Arm: drags[0].link is 'hub', which has no fixed length; a drag needs a link with a length"),
    ):
        name = "hub" if link == "hub" else "rod"
        links = [fa.Link(name=name, joint=fa.Revolute(), body=fa.Frame(length=0.0))]
        with pytest.raises(fa.DescriptionError) as caught:
            fa.Arm(name="air", links=links, drags=[fa.Drag(link=link, coefficient=1.0)])
        assert str(caught.value) == wanted
    with pytest.raises(fa.DescriptionError, match=r"Drag: coefficient is -1.0 N s/m; it must be zero or positive"):
        fa.Drag(link="rod", coefficient=-1.0)
