"""Programs as LLVM IR: every operation against its own definition, sines and cosines against many digits, pieces."""

import casadi as ca
import mpmath
import numpy as np
import pytest
from operations import OPERATIONS, x, y, z

import flexarm as fa
from flexarm.native import kernel as native
from flexarm.native import llvm
from flexarm.native.program import INVERSE, PART, SINCOS, instructions, operations

ULP = 2.0**-53  # relative rounding of one operation
SINES = 1.5e-16  # absolute: less than a unit in the last place, 2.2e-16 (fdlibm promises as much)
LIBRARY = 4e-16  # relative: what the system's mathematical library promises, two units in the last place


def kernel(function):
    """Machine code of a function; its text is its key, so that no two tests meet in the cache."""
    return native.Kernel(function.serialize(), lambda: function)


def evaluated(expression, arguments, rows):
    """An expression at every row: one by one, and in vector lanes."""
    compiled = kernel(ca.Function("f", [ca.vertcat(*arguments)], [ca.densify(expression)]))
    rows = np.ascontiguousarray(rows, dtype=float)
    return np.array([compiled.one(row) for row in rows]), compiled.many(rows)


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation(name):
    expression, definition = OPERATIONS[name]
    function = ca.Function("f", [x, y], [expression])
    used = {function.instruction_id(k) for k in range(function.n_instructions())}
    assert getattr(ca, f"OP_{name}") in used
    rows = np.random.default_rng(3).uniform(0.2, 3.0, (9, 2))
    rows[4, 1] = rows[4, 0]  # equal arguments for comparisons
    expected = np.array([[float(definition(*row))] for row in rows.tolist()])
    for found in evaluated(expression, (x, y), rows):
        np.testing.assert_allclose(found, expected, rtol=LIBRARY, atol=0)


def test_every_operation_has_its_test():
    known = {*llvm.BINARY, *llvm.COMPARISONS, *llvm.INTRINSICS}
    assert known <= {getattr(ca, f"OP_{name}") for name in OPERATIONS}


@pytest.mark.parametrize(("expression", "name"), [(ca.erf(x), "OP_ERF"), (ca.log1p(x), "OP_LOG1P")])
def test_an_operation_without_native_code_is_named(expression, name):
    function = ca.Function("f", [x, y], [expression])
    with pytest.raises(NotImplementedError, match=f"no native code for the CasADi operation {name}$"):
        llvm.ir(instructions(function), 1)


def test_sines_and_cosines():
    rng = np.random.default_rng(5)
    quarters = np.arange(-6400, 6400, 7) * (np.pi / 2)
    beside = [np.nextafter(quarters, np.inf), quarters - 1e-9, quarters + np.pi / 4]
    small = [0.0, -0.0, 1e-300, -1e-20, 1e-8]
    angles = np.concatenate([rng.uniform(-1e4, 1e4, 2000), rng.uniform(-4, 4, 500), quarters, *beside, small])
    with mpmath.workdps(60):
        exact = np.array([[mpmath.sin(mpmath.mpf(a)), mpmath.cos(mpmath.mpf(a))] for a in angles.tolist()])
    for found in evaluated(ca.vertcat(ca.sin(x), ca.cos(x)), (x,), angles[:, None]):
        with mpmath.workdps(60):
            errors = (exact - found).astype(float)
        size = np.abs(exact.astype(float))
        assert np.all(np.abs(errors) <= SINES)
        assert np.all(np.abs(errors) <= 4 * ULP * size + 1e-25)  # small values too: reduction keeps their digits
        assert np.all(np.abs(found) <= 1.0)


def test_what_is_not_a_number_stays_so():
    rows = np.array([[np.nan], [np.inf], [-np.inf], [1.0]])
    expression = ca.vertcat(ca.sin(x), ca.cos(x), x * 0.5, x - x * 1.0000001, 1 / x, ca.sqrt(-x))
    for found in evaluated(expression, (x,), rows):
        np.testing.assert_array_equal(np.isnan(found[0]), True)
        np.testing.assert_array_equal(np.isnan(found[1:3, :2]), True)
        np.testing.assert_array_equal(found[1:3, 2], [np.inf, -np.inf])
        np.testing.assert_array_equal(found[1:3, 4], 0.0)
        assert np.isnan(found[3, 5])


def test_a_constant_divisor_is_no_position():
    """1/(x y) stands at position 2 of the program, and 2.0 divides: the inverses of both are kept apart."""
    for found in evaluated(ca.vertcat(1 / (x * y), z / 2.0), (x, y, z), [[1.0, 5.0, 7.0]]):
        np.testing.assert_allclose(found, [[0.2, 3.5]], rtol=LIBRARY)


def test_inverses_and_angles_are_shared():
    function = ca.Function("f", [x, y], [ca.vertcat(x / y, (x + 1) / y, ca.sin(x), ca.cos(x), ca.sin(x) * y)])
    code = instructions(function)
    assert [sum(i.op == op for i in code) for op in (INVERSE, SINCOS, PART)] == [1, 1, 2]


def test_results_that_are_inputs_or_constants():
    for found in evaluated(ca.vertcat(y, 3.5, x, 0.0, y), (x, y), [[1.0, 2.0], [3.0, 4.0]]):
        np.testing.assert_array_equal(found, [[2, 3.5, 1, 0, 2], [4, 3.5, 3, 0, 4]])


def long_program():
    """Angles, quotients and sums in which late values need early ones."""
    q = ca.SX.sym("q", 6)
    terms = [q[i] for i in range(6)]
    for k in range(40):
        a, b, c = terms[k], terms[k // 2], terms[-1]
        terms.append(ca.sin(a + b) * c + ca.cos(a + b) / (2 + b * b) - a)
    return ca.Function("f", [q], [ca.vertcat(*terms[-9:], terms[7])])


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("lanes", [1, 8])
def test_pieces_change_nothing(monkeypatch, piece, lanes):
    """Values cross from piece to piece; every place is once the border, those within a sine and its cosine too."""
    function = long_program()
    rows = np.random.default_rng(8).uniform(-2, 2, (11, 6))
    expected = np.array([np.array(function(row)).ravel() for row in rows])
    monkeypatch.setattr(llvm, "PIECE", piece)
    code = instructions(function)
    assert llvm.ir(code, lanes)[0].count("define hidden void @piece") >= len(code) // (piece + 2)
    compiled = native.Kernel(f"pieces of {piece}", lambda: function)
    found = compiled.many(rows) if lanes > 1 else np.array([compiled.one(row) for row in rows])
    np.testing.assert_allclose(found, expected, rtol=1e-11)  # chaotic: 40 steps deep, rounded in another order


@pytest.mark.parametrize(("long", "count"), [(10_000, 1), (100, 3)])
def test_the_pieces_of_a_long_program_are_short(monkeypatch, long, count):
    code = instructions(long_program())
    assert 100 < len(code) < llvm.PIECE
    monkeypatch.setattr(llvm, "LONG", long)
    monkeypatch.setattr(llvm, "SHORT", len(code) // 3 + 1)
    assert llvm.ir(code, 1)[0].count("define hidden void @piece") == count


def test_operations_are_counted():
    expression = ca.vertcat(x * y, x + y, x / y, x**2, -x, 2 * x, x - y, ca.sin(x))
    multiplications, additions = operations(ca.Function("f", [x, y], [expression]))
    assert (multiplications, additions) == (3, 3)


def test_a_sum_that_occurs_twice_with_its_factors_exchanged():
    """LLVM 22.1 adds 7.1 e twice in the first sum where it may both reorder and fuse (`llvm.FAST`)."""
    a, b, c, d, e, g = symbols = [ca.SX.sym(name) for name in "abcdeg"]
    w = 7.1 * e
    first, second = (2.3 * (a * b) + 3.1 * (c * d)) + w, (2.3 * (b * a) + 3.1 * (d * c)) + w
    expression = ca.vertcat(first + g, (second + g) * g)
    rows = np.random.default_rng(3).uniform(0.3, 2.1, (9, 6))
    a, b, c, d, e, g = rows.T
    total = 2.3 * a * b + 3.1 * c * d + 7.1 * e + g
    for found in evaluated(expression, symbols, rows):
        np.testing.assert_allclose(found, np.column_stack([total, total * g]), rtol=1e-14)


def test_two_segments_that_bend_and_twist():
    """The inverse dynamics of an arm in which that sum occurs was wrong by 4 %; here it meets the inertia matrix."""
    modes = {"y": 1, "z": 2, "torsion": 2}
    beam = fa.Beam(length=1.3, mass=0.7, EI=2.1, GJ=1.7, polar_inertia=1e-3, modes=modes, segments=2)
    model = fa.Model(fa.Arm(name="a", links=[fa.Link(name="a", joint=fa.Fixed(), body=beam)]))
    q, still = 0.2 * np.random.default_rng(1).normal(size=10), np.zeros((10, 10))
    rates = model.inverse_dynamics(np.tile(q, (10, 1)), still, np.eye(10)) - model.inverse_dynamics(q, 0 * q, 0 * q)
    one = [model.inverse_dynamics(q, 0 * q, e) - model.inverse_dynamics(q, 0 * q, 0 * q) for e in np.eye(10)]
    M = np.array(model.function("mass_matrix")(q))
    np.testing.assert_allclose(rates, M, rtol=0, atol=1e-13)
    np.testing.assert_allclose(one, M, rtol=0, atol=1e-13)
