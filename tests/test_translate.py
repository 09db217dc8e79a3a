"""Functions of the small language do the same in Python and in machine code."""

import ctypes
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from flexarm.native import dense
from flexarm.native.functions import translated
from flexarm.native.language import Floats, Placed, Words, call, lanes, sqrt
from flexarm.native.translate import ir_of

LIMIT = 7
HALF = 0.5


def compiled(*functions: Any) -> SimpleNamespace:
    """Their machine code, called with numbers and arrays."""
    code = translated(*functions)

    def caller(function: Any) -> Any:
        kinds = [float if kind is float else int for name, kind in function.__annotations__.items() if name != "return"]
        types = [ctypes.c_double if kind is float else ctypes.c_int64 for kind in kinds]
        value = {int: ctypes.c_int64, float: ctypes.c_double, None: None}[function.__annotations__["return"]]
        native = ctypes.CFUNCTYPE(value, *types)(code.addresses[function.__name__])

        def called(*arguments: Any) -> Any:
            return native(*(a.ctypes.data if isinstance(a, np.ndarray) else a for a in arguments))

        called.code = code  # type: ignore[attr-defined]
        return called

    return SimpleNamespace(**{f.__name__: caller(f) for f in functions})


@dataclass
class Purse:
    """A record with every kind of field."""

    count: int
    share: float
    coins: Floats
    marks: Words


def arithmetic(x: float, n: int, out: Floats) -> None:
    """Every operation, with integers among numbers."""
    out[0] = x + n
    out[1] = n - x * HALF
    out[2] = x / 3
    out[3] = -x + -n
    out[4] = float(n // 3) + n % 3
    out[5] = sqrt(abs(x)) ** 3.0
    out[6] = min(x, 2.0) + max(n, LIMIT)
    out[7] = float(int(x)) if x > 1.0 and n > 0 else -1.0
    y = 1
    y += n * 2
    z = x
    z *= y
    out[8] = z
    a, b = 1.0, 2.0
    a, b = b, a
    out[9] = 10.0 * a + b


def flow(x: Floats, count: int) -> int:
    """Loops, and ways out of them."""
    found = 0
    for i in range(count):
        if x[i] < 0.0:
            continue
        if x[i] > 100.0 or (i == 9 and not x[0] > 0.0):
            break
        found += 1
    for i in range(2, count, 3):
        found += 10 * i
    for i in range(count - 1, -1, -1):
        if x[i] != x[i]:
            found = -i
        elif x[i] == 5.0:
            found += 1000
        else:
            found += 0
    while found > 5000:
        found = found - 1
        if found == 5002:
            return 5002
    return found


@dataclass
class Bag:
    """A record with another in it."""

    weight: float
    purse: Purse


def carry(bags: Sequence[Bag], n: int) -> int:
    """By way of an address, and a record in a record."""
    bag = bags[n]
    bag.purse.count += 2
    bag.weight += bag.purse.coins[1]
    return spend(bag.purse, bag.weight)


def spend(purse: Purse, price: float) -> int:
    """Fields are read and written; what lies from a place on is a view."""
    purse.count -= 1
    purse.share = purse.share * 0.5
    rest = purse.coins[1:]
    rest[0] += price
    purse.marks[0] = purse.count
    return helped(purse, 3)


def helped(purse: Purse, n: int) -> int:
    """Called by another."""
    return purse.count * n + purse.marks[1]


def outside(function: int, x: Floats) -> None:
    """Calls what stands at an address."""
    call(function, x[1:], 4)


def test_arithmetic() -> None:
    code = compiled(arithmetic)
    for x, n in ((2.7, 8), (-3.2, 5), (0.3, 0), (1e100, 10)):
        meant, made = np.zeros(10), np.zeros(10)
        arithmetic(x, n, meant)
        code.arithmetic(x, n, made)
        np.testing.assert_allclose(made[:7], meant[:7], rtol=1e-15)
        np.testing.assert_allclose(made[8:], meant[8:], rtol=1e-15)
        assert made[7] == meant[7] or x > 1e18  # beyond the integers of 8 bytes


@pytest.mark.parametrize("seed", range(6))
def test_flow(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.choice([-1.0, 1.0, 5.0, 200.0, 0.0], size=14, p=[0.2, 0.4, 0.2, 0.05, 0.15])
    if seed == 5:
        x[3] = np.nan
    assert compiled(flow).flow(x, 14) == flow(x, 14)


def left_at_once(x: Floats, n: int) -> float:
    """Loops whose body always ends with a jump, and a statement that is never reached."""
    total = 0.0
    while total < x[0]:
        total += x[1]
        break
    for i in range(n):
        return total + x[i]
        total += 100.0
    return total


def test_loops_that_are_left_in_their_first_round() -> None:
    x, made = np.array([2.5, 0.75]), compiled(left_at_once).left_at_once
    assert made(x, 2) == left_at_once(x, 2) == 0.75 + 2.5
    assert made(x, 0) == left_at_once(x, 0) == 0.75


def test_records() -> None:
    def purse() -> Purse:
        return Purse(5, 3.0, np.array([1.0, 2.0, 3.0]), np.array([7, 11]))

    meant, made = purse(), Placed(purse())
    assert compiled(spend).spend(made.address, 0.25) == spend(meant, 0.25) == 4 * 3 + 11
    made.share *= 10.0
    assert (made.count, made.share) == (meant.count, 10.0 * meant.share) == (4, 15.0)
    np.testing.assert_array_equal(made.coins, meant.coins)
    np.testing.assert_array_equal(made.marks, meant.marks)
    bag, other = Bag(0.5, meant), Placed(Bag(0.5, made))
    value = compiled(carry).carry(np.array([0, other.address]), 1)
    assert value == carry([bag, bag], 1) == 5 * 3 + 11
    assert other.weight == bag.weight == 0.5 + 2.25
    assert other.purse.count == made.count == 5


def test_addresses_are_called() -> None:
    seen: list[Any] = []
    kind = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_double), ctypes.c_int64)
    function = kind(lambda x, n: seen.append((x[0], n)))
    compiled(outside).outside(ctypes.cast(function, ctypes.c_void_p).value, np.array([1.0, 2.0]))
    outside(lambda x, n: seen.append((x[0], n)), np.array([1.0, 2.0]))  # type: ignore[arg-type]
    assert seen == [(2.0, 4), (2.0, 4)]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8, 30])
def test_inverses_and_products(n: int) -> None:
    rng = np.random.default_rng(n)
    A, B = rng.normal(size=(2, n, n))
    x, y = rng.normal(size=(2, n))
    code = compiled(
        dense.inverted, dense.multiplied, dense.inverted_complex, dense.multiplied_complex, dense.eliminated
    )
    for made in (code, dense):
        z = np.append(x, np.nan)
        assert made.eliminated(A.ravel().copy(), n, z) == 1
        np.testing.assert_allclose(A @ z[:n], x, atol=1e-11)
        assert np.isnan(z[n])
        inverse, pivots, z = A.T.ravel().copy(), np.zeros(n, dtype=np.int64), np.full(n + 1, np.nan)
        assert made.inverted(inverse, pivots, n) == 1
        made.multiplied(inverse, n, x, z)
        np.testing.assert_allclose(A @ z[:n], x, atol=1e-11)
        assert np.isnan(z[n])
        inverse, z = np.concatenate([A.T.ravel(), B.T.ravel()]), np.full(2 * n + 1, np.nan)
        assert made.inverted_complex(inverse, pivots, n) == 1
        made.multiplied_complex(inverse, n, np.concatenate([x, y]), z)
        np.testing.assert_allclose((A + 1j * B) @ (z[:n] + 1j * z[n : 2 * n]), x + 1j * y, atol=1e-11)
        assert np.isnan(z[2 * n])


def test_what_cannot_be_inverted_is_told() -> None:
    code = compiled(dense.inverted, dense.inverted_complex, dense.eliminated)
    for bad in (np.zeros(4), np.array([np.nan, 1.0, 1.0, 1.0]), np.array([1.0, 2.0, 2.0, 4.0])):
        for made in (code, dense):
            assert made.inverted(bad.copy(), np.zeros(2, dtype=np.int64), 2) == 0
            assert made.eliminated(bad.copy(), 2, np.ones(2)) == 0
            both = np.concatenate([bad, np.zeros(4)])
            assert made.inverted_complex(both, np.zeros(2, dtype=np.int64), 2) == 0


def across(x: Floats, y: Floats, count: int, f: float) -> None:
    """Loops over lanes, with all that may stand in them."""
    for j in lanes(count):
        y[j] = 2
    for j in lanes(count):
        y[j] += f * x[j] - x[j] / (1.0 + x[j] * x[j])
    for i in range(count):
        row = y[i:]
        for j in lanes(count - i):
            row[j] -= x[i] * -1.0


@pytest.mark.parametrize("n", range(11))
def test_lanes(n: int) -> None:
    x = np.random.default_rng(n).normal(size=n + 1)
    meant, made = np.full(n + 1, 7.0), np.full(n + 1, 7.0)
    across(x, meant, n, 0.3)
    compiled(across).across(x, made, n, 0.3)
    np.testing.assert_allclose(made, meant, rtol=1e-14)
    assert made[n] == 7.0  # nothing is written beyond


LOOP = """from flexarm.native.language import Floats, Words, lanes, sqrt

def loop(x: Floats, y: Floats, w: Words, n: int, f: float) -> float:
    k = 0
    for j in lanes(n):
        {}
    return f + k
"""


def loop_over_lanes(body: str, folder: Path) -> Any:
    """A function with this in a loop over lanes; a function's source must stand in a file."""
    place = folder / "loop.py"
    place.write_text(LOOP.format(body))
    spec = importlib.util.spec_from_file_location("loop", place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.loop


@pytest.mark.parametrize("body", [
    "y[j] = -x[j]",
    "y[j] = -(x[j] * -2.0) - n",
    "y[j] = 1 / x[j] + x[j] / 2 + f / x[j] - x[j] / f",
    "y[j] /= x[j]",
    "y[j] *= 2 * x[j] - -n",
    "y[j] -= 3 - x[j] - n",
    "y[j] = f",
    "y[j] = max(x[j], 0.5) + min(1, x[j])",
    "y[j] = x[0] * x[j] + x[n]",
    "y[j], x[j] = x[j], y[j]",
    "for i in range(2):\n            y[j] += x[j] * i",
    "if f > 0.5:\n            continue\n        y[j] = x[j]",
    "y[j] = abs(x[j]) - abs(f) + sqrt(abs(x[j])) + sqrt(2.0)",
    "y[j] = x[j] if x[j] > 0.0 else 0.0",
    "y[j] = f if 1 >= x[j] else x[j] if f < 0.5 else y[j]",
    "y[j] = max(x[j], abs(y[j])) if x[j] != y[j] else 3.0",
    "f += x[j]",
    "f += 2\n        y[j] = x[j]",
    "f += x[j] * y[j]\n        f += y[j]",
    "for i in range(2):\n            f += x[j] * i",
])  # fmt: skip
def test_every_operation_in_lanes(body: str, tmp_path: Path) -> None:
    """For any count, also none and less than none; nothing is written before or behind."""
    loop = loop_over_lanes(body, tmp_path)
    made = compiled(loop).loop
    rng = np.random.default_rng(3)
    for n in (*range(11), -1, -3, -4, -7):
        for f in (0.3, 0.7):
            x, y = rng.uniform(0.5, 2.0, (2, 30)) * rng.choice([-1.0, 1.0], (2, 30))
            here, there = (x.copy(), y.copy()), (x.copy(), y.copy())
            words = np.zeros(1, dtype=np.int64)
            found, meant = (
                made(there[0][10:], there[1][10:], words, n, f),
                loop(here[0][10:], here[1][10:], words, n, f),
            )
            assert found == pytest.approx(meant, rel=1e-14, abs=1e-14)
            np.testing.assert_allclose(there, here, rtol=1e-14)


@pytest.mark.parametrize("body", [
    "y[j] = j",
    "y[j] = x[j] * float(j)",
    "y[j] = x[j + 1]",
    "y[j] = x[n - 1 - j]",
    "y[0] = 1.0",
    "y[0] += x[j]",
    "f += x[j]\n        y[j] = f",
    "f -= x[j]",
    "f *= x[j]",
    "k += 1",
    "t = x[j]",
    "j = 0",
    "z = y[j:]",
    "if x[j] > 0.0:\n            y[j] = 1.0",
    "y[j] = 1.0 if x[j] > 0.0 and f > 0.5 else 0.0",
    "y[j] = 1.0 if j > 2 else 0.0",
    "if j > 2:\n            y[j] = 1.0",
    "y[j] = x[j]\n        break",
    "y[j] = x[j]\n        return f",
    "for i in lanes(n):\n            y[i] = 1.0",
    "y[j] = x[j] // 2",
    "y[j] = x[j] % 2",
    "y[j] = x[j] ** 2.0",
    "w[j] = 3",
])  # fmt: skip
def test_what_cannot_be_done_in_lanes_is_refused(body: str, tmp_path: Path) -> None:
    """It would be done for one number in four."""
    loop = loop_over_lanes(body, tmp_path)
    with pytest.raises(AssertionError, match=r"lanes|one kind|integers"):
        ir_of(loop)


def test_a_records_field_is_not_assigned_in_lanes() -> None:
    for function in (counted, marked):
        with pytest.raises(AssertionError, match="in a loop over lanes"):
            ir_of(function)


def counted(purse: Purse, n: int) -> None:
    """Counts rounds."""
    for j in lanes(n):
        purse.coins[j] = 1.0
        purse.count += 1


def marked(purse: Purse, n: int) -> None:
    """Says which round was the last."""
    for j in lanes(n):
        purse.coins[j] = 1.0
        purse.count = n


OUTSIDE = """
from dataclasses import dataclass

from flexarm.native.language import Floats

FACTOR = {factor}


@dataclass
class Numbers:
    {fields}


def further(x: float) -> float:
    return x + {added}


def helped(x: float) -> float:
    return {factor_of} * further(x)


def entry(s: Numbers) -> None:
    s.y[0] = helped(s.x[0]) * FACTOR
"""
TEXTS = [
    {"factor": "2.0", "fields": "x: Floats; y: Floats", "added": "1.0", "factor_of": "1.0"},
    {"factor": "3.0", "fields": "x: Floats; y: Floats", "added": "1.0", "factor_of": "1.0"},
    {"factor": "2.0", "fields": "y: Floats; x: Floats", "added": "1.0", "factor_of": "1.0"},
    {"factor": "2.0", "fields": "x: Floats; y: Floats", "added": "4.0", "factor_of": "1.0"},
    {"factor": "2.0", "fields": "x: Floats; y: Floats", "added": "1.0", "factor_of": "5.0"},
]


def test_code_depends_on_everything_outside_the_package_that_a_function_uses(tmp_path, monkeypatch):
    """One function in five modules, which differ in a constant, a record, or a function that it calls."""
    monkeypatch.syspath_prepend(tmp_path)
    for i, parts in enumerate(TEXTS):
        (tmp_path / f"outside_{i}.py").write_text(OUTSIDE.format(**parts))
        module = importlib.import_module(f"outside_{i}")
        values = {"x": np.array([0.5]), "y": np.zeros(1)}
        record = Placed(module.Numbers(**values))
        code = translated(module.entry)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.addresses["entry"])(record.address)
        assert values["y"][0] == float(parts["factor_of"]) * (0.5 + float(parts["added"])) * float(parts["factor"])
        again = translated(module.entry)
        assert again.was_cached
