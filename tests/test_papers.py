"""Verdicts follow from numbers, and each of them can fail."""

import math

import pytest

import flexarm.papers
import flexarm_papers
from flexarm_papers.tables import counted, markdown
from flexarm_papers.verdicts import Check, Claim, Part, above, below, holds, near, within


def claim(*checks, printed="1 m", **more):
    return Claim("Eq. 1", "a thing is so long", printed, "1 m", list(checks), **more)


GOOD, BAD = holds(True), holds(False)


@pytest.mark.parametrize(
    ("made", "verdict"),
    [
        (claim(GOOD, GOOD), "reproduced"),
        (claim(GOOD, BAD), "not reproduced"),
        (claim(BAD, correction="a sign", corrected=[GOOD]), "reproduced with a correction"),
        (claim(BAD, correction="a sign", corrected=[GOOD, BAD]), "not reproduced"),
        (claim(GOOD, correction="a sign", corrected=[GOOD]), "reproduced"),
        (claim(GOOD, printed=""), "no data printed"),
        (claim(BAD, printed=""), "not reproduced"),
    ],
)
def test_a_verdict_follows_from_the_checks(made, verdict):
    assert made.verdict == verdict


def test_checks_compare_numbers():
    assert near(1.01, 1.0, 0.02).met
    assert not near(1.03, 1.0, 0.02).met
    assert within(-1.01, -1.0, 0.02).met
    assert not within(-0.97, -1.0, 0.02).met
    assert below(-0.5, 1.0).met
    assert not below(-1.5, 1.0).met
    assert above(2.0, 1.0).met
    assert not above(0.5, 1.0).met
    assert not Check(math.nan, -math.inf, math.inf).met


def test_a_claim_must_be_able_to_fail():
    with pytest.raises(ValueError, match="cannot fail"):
        claim()
    with pytest.raises(ValueError, match="correction needs checks"):
        claim(GOOD, correction="a sign")


def test_a_part_has_the_worst_of_its_claims_and_a_study_counts_for_nothing():
    parts = [
        Part("Fig. 1", "it bends", [claim(GOOD), claim(BAD, correction="a sign", corrected=[GOOD])], "fig1.png"),
        Part("A study", "it breaks", [claim(BAD)], study=True),
    ]
    assert parts[0].verdict == "reproduced with a correction"
    assert counted(parts) == "1 reproduced, 1 reproduced with a correction"
    page = markdown(parts, "lin-lewis/")
    assert "| Fig. 1 | it bends | reproduced with a correction | [figure](lin-lewis/fig1.png) |" in page
    assert "| A study | it breaks | a study of ours |" in page
    assert page.count("| Eq. 1 |") == 3


def test_the_old_name_of_the_package_still_works_and_warns():
    """`flexarm.papers` has the public names of `flexarm_papers` for one version, and no others."""
    for name in flexarm_papers.__all__:
        with pytest.warns(DeprecationWarning, match=f"use flexarm_papers.{name}$") as warned:
            assert getattr(flexarm.papers, name) is getattr(flexarm_papers, name)
        assert [warning.filename for warning in warned] == [__file__]
    with pytest.raises(AttributeError, match=r"'flexarm\.papers' has no attribute 'verdicts'"):
        _ = flexarm.papers.verdicts
