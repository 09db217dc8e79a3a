"""Where an arm's sections stand, to be drawn: against the model's own poses, and curvature integrated twice."""

from functools import cache

import numpy as np
import pytest
from helpers.random_arms import random_arm, random_state
from scipy.integrate import cumulative_simpson
from scipy.spatial.transform import Rotation

import flexarm as fa
from flexarm.description.load import bundled
from flexarm.model.drawing import SECTION, STATIONS, drawing, drawn
from flexarm.sensors import StrainGauge

pytestmark = pytest.mark.usefixtures("interpreted")

OPTIONS = [
    {},
    {"families": ("pinned-pinned", "hermite", "polynomial")},
    {"telescope": True},
    {"telescope": True, "convection": "paper", "tapered": True, "twisting": True},
    {"foreshortening": True},
    {"chord": True, "tapered": True},
    {"elastic": True},
    {"rigid": True},
    {"planar": True},
]


def arm_and_state(seed):
    arm = random_arm(seed, **OPTIONS[seed])
    return arm, random_state(arm, seed)[0]


@cache
def model_of(seed):
    return fa.Model(arm_and_state(seed)[0])


@pytest.mark.parametrize("seed", range(len(OPTIONS)))
def test_sections_lead_from_each_frame_to_the_tip_of_its_link(seed):
    arm, q = arm_and_state(seed)
    model = model_of(seed)
    stations, frames = drawn(model, q)
    assert stations.shape == (len(arm.links), STATIONS, SECTION)
    np.testing.assert_allclose(frames, model.frames(q)[:, :3], atol=1e-12)
    deflections = model.deflections(q)
    for i, link in enumerate(arm.links):
        R, p = frames[i, :, :3], frames[i, :, 3]
        length = q[arm.coordinates.index(f"{link.name}.joint")] if link.joint.type == "telescope" else link.body.length
        local = (stations[i, :, :3] - p) @ R
        np.testing.assert_allclose(local[0], 0.0, atol=1e-12)
        np.testing.assert_allclose(local[-1], [length, 0.0, 0.0] + deflections[i, :3], atol=1e-12)
        straight = np.linspace(0.0, 1.0, STATIONS)[:, None] * [length, 0.0, 0.0]
        np.testing.assert_allclose(stations[i, :, 8], np.linalg.norm(local - straight, axis=1), atol=1e-12)
        if getattr(link.body, "next_joint", "slope") != "chord":
            slope_y, slope_z, torsion = deflections[i, 3:]
            tip = Rotation.from_euler("ZYX", [slope_y, -slope_z, torsion]).as_matrix()
            np.testing.assert_allclose(stations[i, -1, 3:6], R @ tip[:, 1], atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(stations[i, :, 3:6], axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("seed", [0, 2, 3, 6, 8])
def test_deflections_are_what_their_curvature_integrates_to(seed):
    """For shapes with a smooth curvature, from the moments over EI of beams that do not taper and do not shorten."""
    arm, q = arm_and_state(seed)
    stations, frames = drawn(model_of(seed), q)
    looked = 0
    for i, link in enumerate(arm.links):
        if link.body.type != "beam" or link.body.section_tip is not None or link.body.foreshortening:
            continue
        local = (stations[i, :, :3] - frames[i, :, 3]) @ frames[i, :, :3]
        free = q[arm.coordinates.index(f"{link.name}.joint")] if link.joint.type == "telescope" else link.body.length
        x = np.linspace(0.0, free, STATIONS)  # a stretch moves stations along x, and bends nothing
        for d, axis in ((0, "y"), (1, "z")):
            if not link.body.counts[axis]:
                continue
            curvature = stations[i, :, 6 + d] / link.body.stiffness[axis]
            y = cumulative_simpson(cumulative_simpson(curvature, x=x, initial=0.0), x=x, initial=0.0)
            off = local[:, 1 + d] - y
            off -= off[-1] * x / x[-1]  # but for a slope at the root
            np.testing.assert_allclose(off, 0.0, atol=3e-3 * np.abs(local[:, 1 + d]).max())
            looked += 1
    assert looked


@pytest.mark.parametrize("seed", range(len(OPTIONS)))
def test_deflections_magnified(seed):
    """Where tip functions are linear in the amplitudes, s times the deflections is s times the amplitudes."""
    arm, q = arm_and_state(seed)
    model = model_of(seed)
    for s in (0.0, 0.5, 30.0):
        larger = q.copy()
        larger[list(arm.flexible)] *= s
        for link in arm.links:
            if link.joint.elastic:
                joint, motor = (arm.coordinates.index(f"{link.name}.{part}") for part in ("joint", "motor"))
                larger[joint] = q[motor] + s * (q[joint] - q[motor])
        if any(getattr(link.body, "foreshortening", False) for link in arm.links) and s > 0:
            continue
        stations, frames = drawn(model, q, magnified=s)
        expected, poses = drawn(model, larger)
        scale = max(1.0, np.abs(poses).max())
        np.testing.assert_allclose(frames, poses, atol=1e-11 * scale)
        np.testing.assert_allclose(stations[..., :6], expected[..., :6], atol=1e-11 * scale)
        assert np.abs(stations[..., 8] - drawn(model, q)[0][..., 8]).max() < 1e-12  # as it is
        if s == 0.0:
            np.testing.assert_allclose(frames, model.frames(larger)[:, :3], atol=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_moments_of_an_elastic_telescope_are_as_they_are(seed):
    """Its spring gives way along the beam, whose length in the picture is another one then."""
    arm = random_arm(seed, telescope=True, elastic=True)
    model = fa.Model(arm)
    q, _, _ = random_state(arm, seed)
    np.testing.assert_allclose(drawn(model, q, 5.0)[0][..., 6:], drawn(model, q)[0][..., 6:], rtol=1e-12, atol=1e-12)


def test_foreshortening_is_magnified_like_what_it_belongs_to():
    arm, q = arm_and_state(4)
    assert any(link.body.foreshortening for link in arm.links if link.body.type == "beam")
    model = model_of(4)
    base = drawn(model, q, magnified=0.0)[0][0, :, :3]
    once, twice = (drawn(model, q, magnified=s)[0][0, :, :3] - base for s in (1.0, 2.0))
    np.testing.assert_allclose(twice, 2.0 * once, atol=1e-12)


def test_bending_moments_are_those_of_a_strain_gauge():
    arm = random_arm(3)
    model = fa.Model(arm)
    q, qd, _ = random_state(arm, 3)
    stations, _ = drawn(model, q)
    for i, link in enumerate(arm.links):
        for axis in ("y", "z"):
            if link.body.type == "beam" and link.body.counts[axis] and link.body.section_tip is None:
                gauge = StrainGauge(link=link.name, at=0.25, distance=1.0, plane=axis)
                strain = model.output_kernel([gauge]).one(np.concatenate([q, qd, qd]))[0]
                moment = stations[i, (STATIONS - 1) // 4, 6 + "yz".index(axis)]
                assert moment == pytest.approx(-link.body.stiffness[axis] * strain, rel=1e-12)


def test_parameters():
    def arm(length, EI):
        beam = fa.Beam(length=length, mass=1.0, EI=EI, modes={"y": 2}, shapes="polynomial")
        joint = fa.Revolute(axis=(0, 0, 1))
        links = [fa.Link(name=name, joint=joint, body=beam) for name in ("one", "two")]
        return fa.Arm(name="varied", links=links)

    q = np.array([0.3, -0.5, 0.02, -0.01, 0.03, 0.01])
    varied = fa.Model(arm(1.0, 5.0), vary=["*.length", "*.EI"]).at([1.5, 1.5, 8.0, 8.0])
    assert [x.name for x in varied.parameters] == ["one.length", "two.length", "one.EI", "two.EI"]
    for mine, theirs in zip(drawn(varied, q), drawn(fa.Model(arm(1.5, 8.0)), q), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)


def test_many_configurations_and_none():
    model = fa.Model(fa.load("subudhi-morris-elastic"))
    q = 0.1 * np.random.default_rng(1).standard_normal((3, 4, len(model.coordinates)))
    stations, frames = drawn(model, q)
    assert stations.shape == (3, 4, 2, STATIONS, SECTION) and frames.shape == (3, 4, 3, 3, 4)
    np.testing.assert_array_equal(stations[1, 2], drawn(model, q[1, 2])[0])
    assert drawn(model, q[:0])[0].shape == (0, 4, 2, STATIONS, SECTION)


def test_what_cannot_be_drawn():
    model = fa.Model(fa.load("subudhi-morris"))
    with pytest.raises(fa.DescriptionError, match="q has 1e\\+13; it must be at most 1e\\+12 in size to be drawn"):
        drawn(model, [1e13, 0, 0, 0, 0, 0])
    with pytest.raises(fa.DescriptionError, match=r"q has shape \(3,\); its last axis must have 6 numbers"):
        drawn(model, [1.0, 2.0, 3.0])


@pytest.mark.parametrize("name", bundled())
def test_bundled_arms_at_rest_are_straight(name):
    model = fa.Model(fa.load(name))
    stations, _ = drawn(model, model.arm.rest)
    assert np.abs(stations[..., 6:]).max() == 0.0
    assert drawing(model).numel_out() == stations.size + 12 * (len(model.arm.links) + 1)
