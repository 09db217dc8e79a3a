"""The check of compiled code: what it finds, what it lets pass, and that nothing wrong is stored."""

import casadi as ca
import mpmath
import numpy as np
import pytest
from operations import OPERATIONS, x, y

import flexarm as fa
from flexarm.native import kernel as native
from flexarm.native import llvm, verification
from flexarm.native.precise import precise, with_rounding
from flexarm.native.program import instructions
from flexarm.native.verification import evaluation, samples, verify


def function(*expressions):
    return ca.Function("f", [ca.vertcat(x, y)], [ca.densify(ca.vertcat(*expressions))])


def rows(f):
    """CasADi's evaluation in the place of compiled code."""
    evaluate = evaluation(f)
    return lambda inputs: np.array([evaluate(row) for row in inputs])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize("wrong", ["fadd", "fsub", "fmul", "fdiv", "sine", "input", "lane"])
def test_wrong_code_is_an_error_and_is_not_stored(folder, monkeypatch, wrong):
    """Each fault is put into the IR that the emitter has written, as a faulty compiler would."""
    true = llvm.ir

    def faulty(code, lanes):
        text, constants = true(code, lanes)
        return changed(text, lanes), constants

    def changed(text, lanes):
        if wrong == "input":
            return text.replace("ptr %in, i64 0", f"ptr %in, i64 {8 * lanes}")
        if wrong == "sine":
            return text.replace("%firstsigned, 0", "%secondsigned, 0")
        if wrong == "lane":  # the last lane alone; one state has no lanes
            number = (
                "0x3FF0000000000000" if lanes == 1 else "<" + ", ".join(["double 1.0"] * 7 + ["double 1.001"]) + ">"
            )
            return text.replace("splat (double 0x3FF0000000000000)", number)
        swapped = {"fadd": "fsub", "fsub": "fadd", "fmul": "fadd", "fdiv": "fmul"}[wrong]
        head, _, tail = text.rpartition(f" = {wrong} nsz")
        return f"{head} = {swapped} nsz{tail}"

    monkeypatch.setattr(llvm, "ir", faulty)
    f = function(ca.sin(x) * y + 1 / y, x - 3.1 * y)
    kernel = native.Kernel(f"wrong {wrong}", lambda: f)
    with pytest.raises(fa.FlexarmError, match=r"machine code of f for 8 states at once is wrong.*llvmlite.*LLVM \d"):
        kernel.many(np.ones((3, 2)))
    if wrong != "lane":
        with pytest.raises(fa.FlexarmError, match=r"machine code of f for one state is wrong"):
            kernel.one(np.ones(2))
    assert not list(folder.glob("*.bin"))


def test_the_fault_of_llvm_that_it_was_written_for(folder, monkeypatch):
    """One sum occurs twice, with its factors and its terms in another order (`llvm.FAST`)."""
    monkeypatch.setattr(llvm, "FAST", "reassoc nsz contract arcp")
    a, b, c, d, e, g, k, l = symbols = [ca.SX.sym(name) for name in "abcdegkl"]
    w = e**2 * l
    sums = (k * (b * a) + l * (c * d)) + w, w + (k * (a * b) + l * (d * c))
    f = ca.Function("f", [ca.vertcat(*symbols)], [ca.vertcat(sums[0] + g, (sums[1] + g) * g)])
    with pytest.raises(fa.FlexarmError, match="machine code of f for one state is wrong"):
        native.Kernel("twice the same sum", lambda: f).one(np.ones(8))


@pytest.mark.parametrize("size", [1e-9, 1e-4, 1.0])
def test_the_size_of_a_fault_that_is_found(size):
    f = function(x * y, x + y, ca.exp(x))
    with pytest.raises(fa.FlexarmError, match="is wrong"):
        verify(f, lambda inputs: rows(f)(inputs) * (1 + size), "one state")
    verify(f, lambda inputs: rows(f)(inputs) * (1 + 1e-13), "one state")


def test_an_ill_conditioned_function_is_not_wrong():
    """Rounding differs between two right evaluations; a real fault of the same size is still found elsewhere."""
    first, second = 1.1e12 * x * x, 1.1e12 * (x * x)  # equal but for rounding
    f = function((first + y) - second, y)
    other = function((first - second) + y, y)  # as a compiler that reorders may evaluate it
    difference = verification.mismatch(rows(other)(samples(f)[0]), samples(f)[1])
    assert difference.max() > 1e-6
    verify(f, rows(other), "one state")
    with pytest.raises(fa.FlexarmError, match="is wrong"):
        verify(f, lambda inputs: rows(f)(inputs) + 0.3, "one state")


def test_a_sum_that_is_zero_but_for_rounding_is_not_wrong():
    """CasADi's evaluation is exactly zero at some inputs, where another right one is not (the bias of one link is)."""
    f, other = function((0.1 * x + 0.2 * x) - 0.3 * x), function((0.1 * x - 0.3 * x) + 0.2 * x)
    inputs, expected = samples(f)
    assert ((expected == 0.0) & (rows(other)(inputs) != 0.0)).any()
    verify(f, rows(other), "one state")
    with pytest.raises(fa.FlexarmError, match="is wrong"):
        verify(f, lambda inputs: rows(f)(inputs) + 1e-9, "one state")


def test_a_difference_that_is_exactly_zero_may_be_what_a_fused_product_rounds_off():
    f = function(4.0 * (x * x) - (2.0 * x) * (2.0 * x))
    assert (samples(f)[1] == 0.0).all()
    verify(f, lambda inputs: 2.0**-53 * inputs[:, :1] ** 2, "one state")
    with pytest.raises(fa.FlexarmError, match="is wrong"):
        verify(f, lambda inputs: 1e-12 * inputs[:, :1] ** 2, "one state")


@pytest.mark.parametrize("name", ["spatial-6r", "theodore-ghosal", "subudhi-morris-elastic"])
def test_the_bounds_of_rounding_hold_and_are_of_its_size(name):
    """An evaluation in floats is the same program with a rounding of 2^-24."""
    f = fa.Model(fa.load(name)).function("inverse_dynamics")
    inputs = samples(f)[0][0]
    with mpmath.workdps(40):
        exact, bounds = (y.astype(float) for y in with_rounding(instructions(f), 2.0**-24, inputs))
    with mpmath.workprec(24):
        rough = precise(instructions(f), inputs).astype(float)
    error = np.abs(rough - exact)
    assert (error <= bounds + 1e-30).all()
    assert (bounds < 1e4 * error.max()).all()


def test_nan_in_the_place_of_a_number_is_wrong_and_the_other_way_round_is_not_compared():
    f = function(ca.sqrt(x), y)
    inputs, expected = samples(f)
    assert np.isnan(expected[:, 0]).any() and np.isfinite(expected).all(axis=1).any()

    def nan(inputs):
        found = rows(f)(inputs)
        found[3, 1] = np.nan
        return found

    with pytest.raises(fa.FlexarmError, match="is wrong"):
        verify(f, nan, "one state")
    verify(f, rows(f), "one state")


def test_inputs_are_found_where_a_value_exists():
    """A root of a number that the caller knows to be large is finite at few random inputs only."""
    f = function(ca.sqrt(x - 1.2), ca.log(-y))
    inputs, expected = samples(f)
    assert np.isfinite(expected).any(axis=0).all()


def test_functions_without_inputs_or_results():
    empty = ca.Function("e", [ca.SX.sym("x", 0)], [ca.SX(2.5)])
    verify(empty, lambda inputs: np.full((len(inputs), 1), 2.5), "one state")
    with pytest.raises(fa.FlexarmError, match="is wrong"):
        verify(empty, lambda inputs: np.full((len(inputs), 1), 2.6), "one state")
    verify(ca.Function("e", [x], [ca.SX(0, 1)]), lambda inputs: np.zeros((len(inputs), 0)), "one state")


@pytest.mark.parametrize("name", ["spatial-6r", "theodore-ghosal", "subudhi-morris-elastic", "satellite"])
def test_many_digits_agree_with_casadi(name):
    """The reference for ill-conditioned functions is itself compared with an evaluation that shares no operation."""
    f = fa.Model(fa.load(name)).function("forward_dynamics")
    inputs, expected = samples(f)
    row = int(np.flatnonzero(np.isfinite(expected).all(axis=1))[0])
    exact = precise(instructions(f), inputs[row]).astype(float)
    np.testing.assert_allclose(exact, expected[row], rtol=0, atol=1e-9 * abs(expected[row]).max())


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_operation_in_many_digits(name):
    expression, definition = OPERATIONS[name]
    f = ca.Function("f", [x, y], [ca.densify(expression)])
    for row in np.random.default_rng(2).uniform(0.2, 1.9, (3, 2)):
        assert float(precise(instructions(f), row)[0]) == pytest.approx(float(definition(*row.tolist())), rel=1e-14)


def test_a_singular_function_is_not_wrong():
    """What divides by the rounding of zero gives any number at all, in right code, too."""
    zero = 1.1e3 * x * x - 1.1e3 * (x * x)
    f = function(y / zero, y)
    verify(f, lambda inputs: np.column_stack([3e15 * inputs[:, 1], inputs[:, 1]]), "one state")


def test_a_row_beyond_the_range_of_doubles_is_left_out():
    """CasADi's evaluation has no number there, an exact one has, and what stands beside it may overflow as well."""
    large = ca.exp(400 + x)
    f = function((large * large) / (large * (large + y)), 1e94 * x)
    assert np.isnan(samples(f)[1][:, 0]).all()
    verify(f, lambda inputs: np.column_stack([np.ones(len(inputs)), -np.inf * inputs[:, 0]]), "one state")


def test_values_beyond_all_sense_are_left_out():
    f = function(ca.exp(400 + x), y)
    verify(f, lambda inputs: np.column_stack([np.full(len(inputs), np.inf), inputs[:, 1]]), "one state")
