"""Functions that are translated for several runs do in each run what Python does with its numbers."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from flexarm.native.batched import ir_of_batches
from flexarm.native.calls import LANES
from flexarm.native.kernel import loaded
from flexarm.native.language import Each, Floats, Placed, Shared, SharedWords, Words, aligned, call
from flexarm.native.translate import in_registers

SIZE = 7


@dataclass
class Diary:
    """A record that each run has of its own."""

    count: int
    pages: Floats


@dataclass
class Purse:
    """A record of all runs, with each kind of field."""

    count: int
    turns: Each
    share: float
    coins: Floats
    marks: Words
    rates: Shared
    places: SharedWords
    diary: Diary


def searched(s: Purse, x: Floats, count: int) -> int:
    """Ways out of a loop, and a view that begins elsewhere in each run."""
    found, skipped = -1, 0
    for i in range(count):
        if x[i] < 0.0:
            skipped += 1
            continue
        if x[i] > s.share or (i == 5 and not x[0] > 0.0):
            found = i
            break
        x[i] += 0.25
    s.marks[1] = skipped
    if found < 0:
        return skipped - 10
    rest = x[found:]
    rest[0] = rest[0] * 2.0 + x[skipped]
    return found


def halved(x: float, most: int) -> int:
    """Rounds until a number is small, which differ between runs."""
    rounds = 0
    while x > 1.0 and rounds < most:
        x *= 0.5
        rounds += 1
        if x < 0.01:
            return rounds + 1000
    return rounds


def counted(s: Purse, n: int) -> float:
    """Loops whose bounds differ between runs, upwards and downwards, within each other."""
    total = 0.0
    for i in range(n):
        for j in range(n - 1, -1, -1):
            if i == j:
                continue
            total += s.coins[i] * s.rates[j] / float(1 + i + j)
        s.coins[i] = total
    for i in range(1, n, 2):
        total -= s.coins[i]
    return total


def chosen(s: Purse, k: int) -> float:
    """Conditions of which a part must not be evaluated, and choices."""
    big = 2.0 if k > 2 else 0.5
    if k < SIZE and s.coins[k] > 0.0 and not s.coins[k] == s.rates[6]:  # noqa: SIM201
        big += s.coins[k]
    elif k >= SIZE or s.rates[k] > 0.0:
        big = -big
    fixed = s.share if s.count == 3 else 0.0
    return max(big, fixed) + min(abs(big), 4.0) ** 1.5 + (s.share if big > 0.0 else float(k))


def exchanged(s: Purse, k: int) -> None:
    """Numbers at places that differ between runs."""
    i = k % SIZE
    s.coins[i], s.coins[0] = s.coins[0], s.coins[i]
    s.coins[(i + 1) % SIZE] *= s.rates[i]
    s.marks[i] += 100 * s.places[1] + k // 2


def asked(s: Purse, function: int, k: int) -> int:
    """Call an address, which none stands at unless a run asks for it."""
    call(function, s.coins)
    return k


def guarded(s: Purse) -> None:
    """Conditions that no run reaches."""
    if s.share > 5.0 and asked(s, 0, 1) == 1:
        s.turns = 100
    s.turns += asked(s, 0, 2) if s.share > 5.0 else 1
    if s.share < 5.0 or asked(s, 0, 1) == 1:
        s.turns += 10


def test_code_is_not_called_for_no_run() -> None:
    made, _ = together([numbers(lane, np.random.default_rng(lane)) for lane in range(LANES)])
    called(guarded, made, Diary)
    np.testing.assert_array_equal(made.turns, np.arange(LANES) + 11)


def noted(diary: Diary, x: Floats, count: int) -> int:
    """A record of its own for each run."""
    row = diary.count
    if row >= 3:
        return -1
    diary.count += 1
    page = diary.pages[row * SIZE :]
    for n in range(count):
        page[n] = x[n] - page[n]
    return row


def program(s: Purse) -> None:
    """All of these, with numbers that one passes to the next."""
    k = searched(s, s.coins, SIZE)
    s.turns += k
    if k < 0:
        k = -k
    rounds = halved(s.share * 100.0, 9)
    s.marks[2] = rounds
    if rounds < 1000:
        s.share += counted(s, k % SIZE)
        if s.share > 5.0:
            s.marks[3] = noted(s.diary, s.coins, SIZE)
            s.share = 1.0 / s.share
    s.share += chosen(s, k)
    exchanged(s, k)
    s.marks[4] = noted(s.diary, s.coins, 3) - noted(s.diary, s.coins, 2)


def numbers(lane: int, rng: np.random.Generator) -> Purse:
    """The numbers of a run, before the program."""
    coins = rng.choice([-1.0, 0.3, 0.9, 3.0], size=SIZE) * rng.uniform(0.8, 1.2, SIZE)
    diary = Diary(lane % 4, rng.normal(size=3 * SIZE))
    share = rng.uniform(0.02, 2.0)
    return Purse(3, lane, share, coins, rng.integers(0, 9, SIZE), np.zeros(0), np.zeros(0, dtype=np.int64), diary)


def called(function: Callable[..., None], record: Placed, *apart: type) -> None:
    """Run a function for a batch in machine code."""
    code = loaded(in_registers(ir_of_batches(function, apart=apart)), (function.__name__,))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.addresses[function.__name__])(record.address)


def together(runs: list[Purse]) -> tuple[Placed, list[Placed]]:
    """The record of a batch, and those of the runs."""
    first, diaries = runs[0], [Placed(Diary(run.diary.count, run.diary.pages.copy())) for run in runs]
    addresses: Any = np.array([each.address for each in diaries])
    made = Placed(Purse(first.count, 0, 0.0, first.coins, first.marks, first.rates, first.places, addresses), LANES)
    for name in ("turns", "share", "coins", "marks"):
        getattr(made, name)[:] = np.stack([np.asarray(getattr(run, name)) for run in runs], axis=-1).ravel()
    return made, diaries


@pytest.mark.parametrize("seed", range(12))
def test_each_run_of_a_batch_does_what_python_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    runs = [numbers(lane, rng) for lane in range(LANES)]
    for run in runs:
        run.rates, run.places = np.linspace(-1.0, 1.5, SIZE) + seed, np.array([5, 2])
    made, diaries = together(runs)
    called(program, made, Diary)
    for run in runs:
        program(run)
    for name in ("turns", "share", "coins", "marks"):
        expected = np.stack([np.asarray(getattr(run, name)) for run in runs], axis=-1).ravel()
        np.testing.assert_allclose(getattr(made, name), expected, rtol=1e-13, err_msg=name)
    for run, diary in zip(runs, diaries, strict=True):
        assert diary.count == run.diary.count
        np.testing.assert_allclose(diary.pages, run.diary.pages, rtol=1e-13)
    if seed == 0:
        assert len({run.diary.count for run in runs}) > 1 and len({int(run.marks[2]) for run in runs}) > 3


def common(s: Purse) -> None:
    """An integer of all runs counts the rounds in which at least one run takes part."""
    while s.turns < 4:
        s.turns += 1
        s.count += 1
    if s.turns == 100:
        s.count += 1


def test_an_integer_of_all_runs_is_changed_once() -> None:
    made, _ = together([numbers(lane, np.random.default_rng(lane)) for lane in range(LANES)])
    called(common, made, Diary)
    assert made.count == 3 + 4
    np.testing.assert_array_equal(made.turns, [4, 4, 4, 4, 4, 5, 6, 7])


def shared(s: Purse) -> None:
    """An array of all runs has no number of one of them."""
    s.rates[0] = s.share


def uneven(s: Purse) -> None:
    """A counter that begins and ends differently in each run."""
    for i in range(s.turns, s.turns + 2):
        s.coins[i] = 0.0


@pytest.mark.parametrize("function", [shared, uneven])
def test_what_a_batch_cannot_do_is_refused(function: Callable[..., None]) -> None:
    with pytest.raises(AssertionError, match=r"common|one kind|may differ"):
        ir_of_batches(function, apart=(Diary,))


def test_numbers_of_a_batch_lie_in_lines_of_the_cache() -> None:
    for count in (0, 1, 8, 33):
        x = np.arange(float(count))
        np.testing.assert_array_equal(aligned(x), x)
        assert aligned(np.zeros(count + 1)).ctypes.data % 64 == 0
    made, _ = together([numbers(lane, np.random.default_rng(lane)) for lane in range(LANES)])
    assert made.coins.ctypes.data % 64 == made.marks.ctypes.data % 64 == 0
