"""Lin & Lewis's eqs. 7 and 16 and the cost of shapes: what no example of the paper shows, and what each row notices."""

import numpy as np
import pytest

from flexarm.mechanics import quantities
from flexarm.mechanics.spatial import scaled
from flexarm_papers.lin_lewis import claims_elastic, elastic


def verdicts(*parts):
    return {claim.where: claim.verdict for part in parts for claim in part.claims}


@pytest.fixture(scope="module")
def sound():
    return verdicts(claims_elastic.turning(), claims_elastic.strain(), claims_elastic.cost())


def test_every_row_has_its_verdict(sound):
    assert sound == {
        "Eq. 7": "reproduced with a correction",
        "Eq. 16, EI": "reproduced",
        "Eq. 16, EA, GJ": "reproduced",
        "Eqs. 1, 9, stretch": "reproduced",
        "Eqs. 1, 9, twist": "reproduced with a correction",
        "Section 3, CPU time": "reproduced",
        "Section 3, CPU time here": "no data printed",
    }


def test_link_3_turns_with_the_chord():
    """By differences of the angle of the last frame, in steps of the amplitude alone."""
    ours, printed, corrected = elastic.rates_of_turning(seed=11)
    assert ours == pytest.approx(corrected, abs=1e-12)
    assert printed[3] == 0.0 < corrected[3]


def test_products_of_shapes_by_hand():
    """y phi_k: 1 and 4 terms a shape; phi^2: 1 and 10; phi_1 phi_2: 1 and 16."""
    assert [elastic.products_to_integrate("pinned-pinned", n) for n in (1, 2, 3)] == [2, 5, 9]
    assert [elastic.products_to_integrate("clamped-free", n) for n in (1, 2, 3)] == [14, 44, 90]


@pytest.mark.parametrize(
    ("changed", "value", "rows"),
    [
        ("axial", 400.4, {"Eq. 16, EA, GJ", "Eqs. 1, 9, stretch"}),
        ("torsion", 20.2, {"Eq. 16, EA, GJ", "Eqs. 1, 9, twist"}),
        ("y", 50.05, {"Eq. 16, EI"}),
    ],
)
def test_another_stiffness_in_eq_16_changes_verdicts(sound, monkeypatch, changed, value, rows):
    monkeypatch.setitem(elastic.STIFFNESS, changed, 1.01 * value)
    after = verdicts(claims_elastic.strain())
    assert {where for where in after if after[where] != sound[where]} == rows
    assert {after[where] for where in rows} == {"not reproduced"}


def test_a_model_with_another_stiffness_changes_verdicts(sound, monkeypatch):
    elastic.elastic_link.cache_clear()
    made = quantities.stiffness_force
    monkeypatch.setattr(quantities, "stiffness_force", lambda chain, q: scaled(1.02, made(chain, q)))
    after = verdicts(claims_elastic.strain())
    elastic.elastic_link.cache_clear()
    assert {"Eqs. 1, 9, stretch", "Eqs. 1, 9, twist"} <= {where for where in after if after[where] != sound[where]}


def test_strain_energies_are_quadratic():
    """Twice the amplitudes, four times each of the four energies, in the model too."""
    once = elastic.strain_energies()
    for direction, (ours, integral) in once.items():
        assert ours == pytest.approx(integral, rel=1e-11) and ours > 1e-3, direction
    assert np.ptp([ours for ours, _ in once.values()]) > 0.01
