"""Subudhi & Morris: wrong physics changes a verdict. The package is broken on purpose, and the rows are asked again."""

from dataclasses import replace

import pytest

from flexarm.mechanics import drive, dynamics
from flexarm.mechanics.spatial import scaled
from flexarm_papers.subudhi_morris import claims, compute, modes, tracking
from flexarm_papers.subudhi_morris.claims import (
    eq_19,
    eq_41,
    eq_45,
    eq_46,
    eq_47_angle,
    eq_47_rotor,
    eq_48,
    eq_53,
    eq_55,
    eq_66,
    eqs_29_to_31,
)


def forget():
    """What was computed before."""
    for module in (compute, modes, claims):
        for thing in vars(module).values():
            if hasattr(thing, "cache_clear"):
                thing.cache_clear()


@pytest.fixture
def afresh(tmp_path, monkeypatch):
    """No machine code and no model of the unbroken package."""
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path))
    forget()
    yield monkeypatch
    forget()


def stiffer(patch):
    beam = drive.beam

    def made(*arguments):
        body = beam(*arguments)
        return replace(body, potential=lambda q, eta: 1.02 * body.potential(q, eta))

    patch.setattr(drive, "beam", made)


def gyroscopic(patch):
    cross = dynamics.cross
    patch.setattr(dynamics, "cross", lambda a, b: scaled(0.9, cross(a, b)))


def _joints(patch, change):
    with_drive = drive.with_drive

    def made(joint, body, link, name):
        if getattr(joint, "rotor_inertia", 0.0):
            joint = joint.replace(**change(joint))
        return with_drive(joint, body, link.replace(joint=joint), name)

    patch.setattr(drive, "with_drive", made)


def heavier_rotors(patch):
    _joints(patch, lambda joint: {"rotor_inertia": 1.02 * joint.rotor_inertia})


def relative_rotors(patch):
    _joints(patch, lambda joint: {"rotor": "relative"})


def absolute_rotors(patch):
    _joints(patch, lambda joint: {"rotor": "absolute"})


def no_rotors_at_rigid_joints(patch):
    _joints(patch, lambda joint: {"rotor_inertia": joint.rotor_inertia * (joint.stiffness is not None)})


def softer_springs(patch):
    _joints(patch, lambda joint: {"stiffness": joint.stiffness and 0.98 * joint.stiffness})


def no_moment_of_the_load(patch):
    rigid = drive.rigid
    patch.setattr(drive, "rigid", lambda body, name: rigid(body.replace(com=(0.0, 0.0, 0.0)), name))


CLAIMS = (
    eq_19,
    eq_41,
    eq_45,
    eq_46,
    eq_47_angle,
    eq_47_rotor,
    eq_48,
    eq_53,
    eq_55,
    eq_66,
    eqs_29_to_31,
    tracking.eq_67,
)


@pytest.fixture(scope="module")
def unbroken():
    """The verdicts of the package as it is."""
    return {claim: claim().verdict for claim in CLAIMS}


def test_unbroken_all_of_them_are_good(unbroken):
    assert [claim.__name__ for claim, verdict in unbroken.items() if verdict == "not reproduced"] == []


@pytest.mark.parametrize(
    ("broken", "seen_by"),
    [
        (stiffer, [eq_19, eq_41, eq_46, eqs_29_to_31, eq_48]),
        (gyroscopic, [eq_45]),
        (heavier_rotors, [eq_47_rotor, eq_53, eq_66]),
        (relative_rotors, [eq_47_rotor, eq_53]),
        (absolute_rotors, [eq_47_rotor, eq_53, eq_66]),
        (no_rotors_at_rigid_joints, [eq_55, eq_66]),
        (softer_springs, [eq_53]),
        (no_moment_of_the_load, [eq_41, eqs_29_to_31]),
    ],
)
def test_wrong_physics_changes_a_verdict(unbroken, afresh, broken, seen_by):
    broken(afresh)
    assert [claim.__name__ for claim in seen_by if claim().verdict == unbroken[claim]] == []


@pytest.mark.filterwarnings("ignore::flexarm.errors.EnergyDrift")
def test_wrong_velocity_terms_make_or_lose_energy(afresh):
    gyroscopic(afresh)
    assert compute.run(compute.arm("absolute", compute.KS), samples=21).attrs["energy_drift"] > 1e-3
