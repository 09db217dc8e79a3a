"""Subudhi & Morris's equations written out: eqs. 2, 19, 20 and 62, how many there are, and what each row notices."""

import numpy as np
import pytest

from flexarm_papers.subudhi_morris import claims, modes, written
from flexarm_papers.subudhi_morris.compute import ROTORS


@pytest.mark.parametrize("rotor", ROTORS)
def test_with_the_exact_rotation_they_are_our_model(rotor):
    assert written.off_inertia(rotor) < 1e-12


def test_eq_2_lengthens_the_next_link():
    """E of eq. 2 is a rotation but for a term of second order, by which all lengths behind it grow."""
    q = np.array([0.4, -0.3, 0.05, 0.01, 0.0, 0.0])
    linear, exact = (np.array(written.rigid_joints("relative", kind)[2](q)).ravel() for kind in (True, False))
    basis = written.shapes_of(written.LOADS[0]).basis(2)
    slope, deflection = (float(basis.values(1.0, n)[0] @ q[2:4]) for n in (1, 0))
    root = np.array(written.rotation(q[0])) @ [written.L, deflection]
    behind = [np.linalg.norm(tip - root) for tip in (linear, exact)]
    assert behind[1] == pytest.approx(written.L, rel=1e-12)
    assert behind[0] == pytest.approx(written.L * np.sqrt(1 + (slope / written.L) ** 2), rel=1e-12)


def test_rows_and_their_verdicts():
    made = [claims.eq_19(), claims.eq_20(), claims.eq_42_count(), claims.eq_62(), claims.eq_2()]
    assert {claim.where: claim.verdict for claim in made} == dict.fromkeys(
        ("Eq. 19", "Eq. 20", "Eq. 42, count", "Eq. 62", "Eq. 2"), "reproduced with a correction"
    )
    assert "in neither equation" in made[0].correction  # eq. 20 has the factor and not the square


@pytest.mark.parametrize("name", ["damping_force", "stiffness_force", "bias"])
def test_a_wrong_term_of_eq_62_is_noticed(monkeypatch, name):
    """Each force by itself one percent too large, beside the model's own accelerations."""
    sound = written.model

    class Wrong:
        def __init__(self, one):
            self.sound = sound(one)

        def __getattr__(self, asked):
            found = getattr(self.sound, asked)
            return (lambda *given: 1.01 * found(*given)) if asked == name else found

    monkeypatch.setattr(written, "model", Wrong)
    assert claims.eq_62().verdict == "not reproduced"


def test_energy_needs_the_factor_and_the_square(monkeypatch):
    assert (modes.doubled_energy(square=False), modes.doubled_energy(square=True)) == pytest.approx((2.0, 4.0))
    assert (modes.energy_over_work(0.5), modes.energy_over_work(1.0)) == pytest.approx((1.0, 2.0), abs=1e-7)
    monkeypatch.setattr(modes, "energy_over_work", lambda factor: 1.01)
    assert (claims.eq_19().verdict, claims.eq_20().verdict) == ("reproduced with a correction", "not reproduced")


@pytest.mark.parametrize(("links", "each"), [(1, 1), (2, 2), (4, 3)])
def test_how_many_equations_there_are(links, each):
    assert written.equations_of(links, each) == 2 * links + links * each
