"""Published numbers are computed, and a number that misses its printed digits says so."""

from pathlib import Path

import pytest

import flexarm as fa
from flexarm_papers.published import PROGRAMS, Number, programs

PAGE = Path(__file__).parents[1] / "docs" / "understand" / "published.md"
KNOWN = {
    "beck": ["frequency"],
    "bathe-bolourchi": ["y of the tip [in]", "z of the tip [in]"],
    "macneal-harder": ["deflection along the thickness of the root [in]", "deflection across [in]"],
}
"""Numbers that miss their printed digits, by program, each with a reason in its note."""


@pytest.mark.parametrize(
    ("printed", "found", "verdict"),
    [
        ("3.50", 3.5049, "reproduced"),
        ("3.50", 3.5051, "not reproduced"),
        ("5.14e-4", 5.1445e-4, "reproduced"),
        ("5.14e-4", 5.1455e-4, "not reproduced"),
        ("-11.41", -11.405, "reproduced"),
        ("-11.41", 11.41, "not reproduced"),
        ("12", 12.4, "reproduced"),
        ("12", float("nan"), "not reproduced"),
    ],
)
def test_a_number_is_reproduced_if_it_rounds_to_the_printed_digits(printed, found, verdict):
    assert Number("a length [m]", printed, found).verdict == verdict


def test_fewer_decimals_may_be_compared():
    assert Number("x", "1.23456789", 1.23453, decimals=4).verdict == "reproduced"
    assert Number("x", "1.23456789", 1.23453, decimals=5).verdict == "not reproduced"
    assert Number("x", "2.5", 2.75).difference == 0.25


@pytest.mark.parametrize("program", [each for each in PROGRAMS if each.name != "andrews"], ids=lambda each: each.name)
def test_numbers_of_the_literature(program):
    """Andrews' mechanism is in test_closures.py."""
    numbers = program.compute()
    assert numbers and program.compute.__doc__
    missed = [number for number in numbers if number.verdict != "reproduced"]
    assert [number.what for number in missed] == KNOWN.get(program.name, [])
    assert all(number.note for number in missed)
    page = PAGE.read_text(encoding="utf-8")
    for number in numbers:
        assert f"| {program.name} | {number.what} | {number.printed} | {number.shown} | {number.verdict} |" in page


def test_an_unknown_program_is_refused():
    assert programs("beck")[0].name == "beck"
    with pytest.raises(fa.DescriptionError, match=r"unknown program 'bek'; did you mean 'beck'\?"):
        programs("bek")
