"""Arms of every pair of options: native code beside CasADi's own evaluation, and all quantities beside the oracle.

`make test` takes a sample of the arms, `make random-arms` takes 500: those that cover every pair, then others.
"""

import os

import pytest
from compared_arms import STEPS, TOLERANCE, WIDTHS, Comparison
from covering import all_pairs, pairs_of
from every_option import OPTIONS, STARTS, arm_of, choice_of, choices, refusal, sample

import flexarm as fa
from flexarm.model import QUANTITIES
from flexarm.native import llvm, verification

ORACLE = 1e-11  # of the largest term: the oracle's sums over points cancel by two digits more than ours
COUNT = int(os.environ.get("FLEXARM_RANDOM_ARMS", "0"))
"""Number of arms. By default the tests take a sample of small arms with every kind of joint, body and base."""
NUMBERS = range(COUNT) if COUNT else sample("joint", "body", "base", largest=9)
NATIVE = NUMBERS if COUNT else NUMBERS[1::2]
"""Arms whose quantities are all compiled. The package makes the same comparison whenever it compiles a function."""
PART = 3e-10  # the same with a part, whose stiffness matrix has a condition of 1.4e7: its modes are rounded as much
FALL = 2.5  # by which halved deflections must lessen what segments leave out: forces fall by 4, the inertia by 8


@pytest.fixture(scope="module", params=NUMBERS)
def number(request):
    """An arm's number. pytest runs all tests of one arm before those of the next, so each arm is traced once."""
    return request.param


@pytest.fixture(scope="module")
def compared(number):
    return Comparison(arm_of(choice_of(number), number), number)


@pytest.mark.parametrize("number", NATIVE, scope="module", indirect=True)
def test_native_code_is_casadis_evaluation(number, compared):
    """All quantities for one state and for eight at once, and inverse dynamics as a user calls it.

    Inverse dynamics by itself is where LLVM's fault was; in one function with all others it does not show. With 500
    arms, another quantity is called by itself too.
    """
    arm = compared
    far = {key: off for key, off in arm.native().items() if off > TOLERANCE}
    for name in ("inverse_dynamics", *([list(QUANTITIES)[number % len(QUANTITIES)]] if COUNT else [])):
        far |= {key: off for key, off in arm.alone(name).items() if off > 1e-9}
    assert not far, (far, choice_of(number))


def test_quantities_are_the_oracles(number, compared):
    """Where the oracle has no opinion, identities: recursion and dense solution, and the balance of power."""
    arm, bound = compared, PART if choice_of(number)["body"].startswith("part") else ORACLE
    try:
        found = arm.oracle(0.04 if arm.segmented else 1.0)
    except NotImplementedError:
        found = arm.identities()
        assert max(found.values()) < bound, (found, choice_of(number))
        return
    if arm.segmented:
        far = differences_that_stay(arm, found)
    else:
        far = {name: off for name, off in found.items() if off > bound}
    assert not far, (far, choice_of(number))


FINER = ((0.02, 1), (0.01, 2), (0.005, 4))
"""Sizes of deflections, and steps of the oracle as a multiple of `STEPS`, at which differences are found again."""


def differences_that_stay(arm, found):
    """Differences from the oracle that remain with smaller deflections, in which segments are exact to a given order,
    and with more steps of the oracle, which is of fourth order in them.

    The two may cancel, so that their sum does not fall at once. A difference stays if it never falls.
    """
    far = {name: [off] for name, off in found.items()}
    for size, more in FINER:
        finer = arm.oracle(size, more * STEPS)
        far = {name: [*offs, finer[name]] for name, offs in far.items() if finer[name] > max(ORACLE, offs[-1] / FALL)}
        if not far:
            break
    return far


def test_every_pair_of_options_is_covered_or_refused_by_the_description():
    """Each pair that no arm has is refused with the other values of every starting choice."""
    covered = set().union(*map(pairs_of, choices()))
    missing = [pair for pair in all_pairs(OPTIONS) if pair not in covered]
    asked = missing if COUNT else missing[::100]  # the description is asked 18 times a pair
    possible = [pair for pair in asked if any(refusal({**start, **dict(pair)}) is None for start in STARTS)]
    assert not possible, f"{len(possible)} pairs are possible and in no arm: {possible[:10]}"
    print(f"{len(covered)} pairs in {len(choices())} arms; {len(missing)} are refused")
    assert len(covered) > 10 * len(missing)


def test_every_stored_choice_is_an_arm():
    assert all(refusal(choice) is None for choice in choices()[:: 1 if COUNT else 12])


def test_a_coefficient_of_shear_without_a_material_is_refused_in_segments_too():
    for more in ({}, {"segments": 2}):
        with pytest.raises(fa.DescriptionError, match="material is missing; shear_coefficient needs material"):
            fa.Beam(length=1.1, mass=0.9, EI=7.0, shear_coefficient=0.8, **more)


def test_wrong_machine_code_is_found(monkeypatch, tmp_path):
    """One product that a faulty compiler takes for a sum, and no check at compiling."""
    true = llvm.ir

    def faulty(code, lanes):
        text, constants = true(code, lanes)
        head, _, tail = text.rpartition(" = fmul nsz")
        return f"{head} = fadd nsz{tail}", constants

    monkeypatch.setattr(llvm, "ir", faulty)
    monkeypatch.setattr(verification, "verify", lambda *given: None)
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path))  # wrong code is kept nowhere else
    link = fa.Link(name="a", joint=fa.Revolute(axis=(0.6, 0.0, 0.8)), body=fa.Rigid(length=0.7, mass=1.3))
    arm = Comparison(fa.Arm(name="wrong", links=[link], gravity=(1.0, 2.0, 3.0)), 1)
    assert min(arm.alone("inverse_dynamics").values()) > 1e-6
    found = arm.native()
    for width in WIDTHS:
        assert max(off for (_, at), off in found.items() if at == width) > 1e-6
