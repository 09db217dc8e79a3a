"""Mohan & Saha's blocks by eqs. 8 to 11 and 24a, written out: they owe nothing to the package and notice its faults."""

import numpy as np
import pytest

import flexarm as fa
from flexarm.description.arm import Beam, Link
from flexarm_papers.mohan_saha import claims, claims_equations, compute, counts, equations, twists
from flexarm_papers.mohan_saha.equations import STATE
from flexarm_papers.mohan_saha.twists import Blocks


@pytest.fixture(scope="module")
def slew():
    return compute.slew()


@pytest.fixture(scope="module")
def sound(slew):
    return verdicts(claims_equations.twists(slew))


@pytest.fixture
def anew():
    """Forget the blocks of the Canadarm before and after they are broken."""
    claims_equations.canadarm.cache_clear()
    yield
    claims_equations.canadarm.cache_clear()


def verdicts(part):
    return {claim.where: claim.verdict for claim in part.claims}


def test_the_blocks_make_the_inertia_matrix():
    """N' M N, of links of other lengths and masses, bent by different amounts."""
    joint = fa.Revolute(axis=(0.0, 0.0, 1.0))
    sizes = ((1.3, 2.0), (0.7, 0.9), (2.1, 0.4))
    bodies = [Beam(length=l, mass=m, EI=30.0, modes={"y": 2}, shapes="clamped-free") for l, m in sizes]
    model = fa.Model(
        fa.Arm(name="three", links=[Link(name=f"l{i}", joint=joint, body=b) for i, b in enumerate(bodies)])
    )
    q = np.array([*STATE[0], *(0.7 * x for x in STATE[1])])
    here = Blocks(model.arm, q)
    N = here.N_l @ here.N_d
    places = [k for i in range(3) for k in (i, 3 + 2 * i, 4 + 2 * i)]
    assert N.T @ here.M @ N == pytest.approx(model.mass_matrix(q)[np.ix_(places, places)], rel=1e-12, abs=1e-13)


def test_the_twists_of_the_links(sound):
    assert sound == {
        "Eq. 9": "reproduced with a correction",
        "Eq. 11": "reproduced with a correction",
        "Eq. 14": "reproduced",
    }


def lever(monkeypatch):
    """a(i,i-1) x 1 a thousandth too long."""
    made = twists.cross
    monkeypatch.setattr(twists, "cross", lambda a: 1.001 * made(a))


def slopes(monkeypatch):
    """Slopes at the end of a link one percent too large."""
    made = twists.eq_11
    monkeypatch.setattr(twists, "eq_11", lambda *given: 1.01 * made(*given))


def complement(monkeypatch):
    """The package's N_l a thousandth off; the paper's equations know nothing of it."""
    made = equations.denoc

    def wrong(model, q):
        N_l, N_d = made(model, q)
        return 1.001 * N_l, N_d

    monkeypatch.setattr(equations, "denoc", wrong)


@pytest.mark.parametrize(
    ("fault", "of_the_twists", "of_the_motion"),
    [
        (lever, {"Eq. 14"}, {"Eq. 30", "Eq. 32", "Eq. 33"}),
        (slopes, {"Eq. 14"}, {"Eq. 30", "Eq. 32", "Eq. 33"}),
        (complement, {"Eq. 14"}, set()),
    ],
)
def test_wrong_blocks_change_verdicts(slew, sound, monkeypatch, anew, fault, of_the_twists, of_the_motion):
    whole = verdicts(claims_equations.motion(slew))
    claims_equations.canadarm.cache_clear()
    fault(monkeypatch)
    after, motion = verdicts(claims_equations.twists(slew)), verdicts(claims_equations.motion(slew))
    assert {where for where in after if after[where] != sound[where]} == of_the_twists
    changed = {where for where in motion if motion[where] != whole[where]}
    assert changed - {"Eq. 24b"} == of_the_motion  # eq. 24b is judged by eq. 33 too
    assert {after[where] for where in of_the_twists} == {"not reproduced"}
    assert all(motion[where] == "not reproduced" for where in of_the_motion)


def test_the_planes_of_eq_11():
    """A link's end turned by hand: the tangent (1, u_y', u_z') is x turned by (0, -u_z', u_y')."""
    y, z = np.array([0.3, 0.1]), np.array([-0.2, 0.5])
    d = np.array([1e-6, -2e-6])
    turning = twists.eq_11(y, z) @ np.r_[0.0, 0.0, d, d]
    assert np.cross(turning, [1.0, 0.0, 0.0]) == pytest.approx([0.0, y @ d, z @ d], abs=1e-18)
    assert twists.eq_11(y, z, exchanged=True) == pytest.approx(twists.eq_11(z, y))


def test_orders_of_the_cost():
    """A product of n and m^3 grows by 2 and 8; Cholesky factors take a cubic n^3 / 3 + ... of operations."""
    assert counts.growth(1000, 4000) == pytest.approx((2.0, 8.0), rel=1e-2)
    assert counts.mixed(8, 2) > 0.1
    assert np.diff([counts.cholesky(n) for n in range(2, 8)], 3).tolist() == [2, 2, 2]


def test_table_2_and_eq_44(slew, monkeypatch):
    assert {*verdicts(claims.table_2(slew)).values(), *verdicts(claims.eq_44(slew)).values()} == {"reproduced"}
    other = compute.Slew(fa.Model(compute.scaled(slew.model.arm, hand=1.001)))
    other.__dict__["result"] = slew.result
    assert verdicts(claims.table_2(other))["Table 2"] == "not reproduced"
    monkeypatch.setattr(slew, "theta", slew.theta + 1e-6)
    assert verdicts(claims.eq_44(slew)) == {"Eq. 44": "not reproduced"}
