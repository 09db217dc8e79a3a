"""Standard errors and what data cannot tell apart, against straight lines, simulated noise and closed forms."""

import math

import numpy as np
import pytest

from flexarm.errors import DescriptionError
from flexarm.identification.estimate import combination, correlations, fit_percent, statistics, whiteness
from flexarm.identification.unknowns import bounded, positive, search, signed, slopes

T = np.linspace(0.0, 1.0, 400)
LINE = np.stack([T, np.ones_like(T)], axis=1)
TWO = (positive("slope", "m/s", 2.0), signed("place", "m", 1.0, 1.0))


def line(noise, unknowns=TWO):
    """The search for a straight line through data with this noise."""
    y = LINE @ [3.0, -0.5] + noise
    return search(unknowns, lambda p: (LINE @ p - y, LINE))


def test_a_straight_line_has_the_closed_form_of_every_textbook():
    noise = 0.1 * np.random.default_rng(1).normal(size=len(T))
    found = line(noise)
    fitted = np.polyfit(T, LINE @ [3.0, -0.5] + noise, 1)
    np.testing.assert_allclose(found.values, fitted, rtol=1e-8)
    told = statistics(TWO, found.values, found.residuals, found.jacobian)
    s2 = found.residuals @ found.residuals / (len(T) - 2)
    expected = s2 * np.linalg.inv(LINE.T @ LINE)
    np.testing.assert_allclose(told.covariance, expected, rtol=1e-8)
    np.testing.assert_allclose(told.errors, np.sqrt(np.diag(expected)), rtol=1e-8)
    np.testing.assert_allclose(told.correlation[0, 1], expected[0, 1] / np.sqrt(expected[0, 0] * expected[1, 1]))
    assert told.spread == pytest.approx(np.sqrt(s2)) and told.indistinct == ()


def test_known_noise_is_taken_at_its_word():
    found = line(0.1 * np.random.default_rng(2).normal(size=len(T)))
    told = statistics(TWO, found.values, found.residuals / 0.1, found.jacobian / 0.1, known=True)
    np.testing.assert_allclose(told.covariance, 0.01 * np.linalg.inv(LINE.T @ LINE), rtol=1e-9)


@pytest.mark.parametrize("memory", [0.0, 0.9, -0.6])
def test_errors_are_the_scatter_also_where_noise_has_a_memory(memory):
    """Noise e(t) = memory e(t - 1) + white, 300 seeds: the mean squared error is the estimates' variance."""
    from scipy.signal import lfilter

    rng = np.random.default_rng(3)
    J = np.stack([np.linspace(0.0, 1.0, 2000), np.ones(2000)], axis=1)
    values, errors = [], []
    for _ in range(300):
        noise = lfilter([1.0], [1.0, -memory], 0.05 * rng.normal(size=2100))[100:]
        estimate = np.linalg.lstsq(J, noise, rcond=None)[0]
        residuals = J @ estimate - noise
        values.append(estimate)
        errors.append(statistics(TWO, np.array([1.0, 1.0]), residuals, J, [[slice(0, 2000)]]).errors)
    ratio = np.sqrt(np.mean(np.square(errors), axis=0)) / np.std(values, axis=0)
    assert (np.abs(ratio - 1) < 0.15).all(), ratio  # 300 seeds know a scatter to 4 %; what was fitted hides some noise


def test_two_outputs_that_err_together_count_as_one():
    """The same noise on two outputs of one record tells no more than on one."""
    noise = 0.1 * np.random.default_rng(4).normal(size=len(T))
    one = line(noise)
    rows = [slice(0, len(T)), slice(len(T), 2 * len(T))]
    r, J = np.tile(one.residuals, 2), np.tile(one.jacobian, (2, 1))
    alone = statistics(TWO, one.values, one.residuals, one.jacobian, [rows[:1]])
    together = statistics(TWO, one.values, r, J, [rows])
    apart = statistics(TWO, one.values, r, J, [rows[:1], rows[1:]])
    np.testing.assert_allclose(together.errors, alone.errors, rtol=1e-9)
    np.testing.assert_allclose(apart.errors, alone.errors / math.sqrt(2), rtol=1e-9)


def test_the_covariance_is_the_double_sum_over_all_pairs_of_samples():
    """Of two outputs, the second with the first's noise three samples later: sum over t, s, i, j, written out."""
    count, k = 60, 2
    rng = np.random.default_rng(11)
    noise = rng.normal(size=count + 3)
    r = np.stack([noise[3:], noise[:count] + 0.1 * rng.normal(size=count)])  # r_2(t) = r_1(t - 3)
    J = rng.normal(size=(2, count, k)).cumsum(axis=1)
    told = statistics(
        (signed("a", "", 1.0, 1.0), signed("b", "", 1.0, 1.0)),
        np.ones(2),
        r.ravel(),
        J.reshape(-1, k),
        [[slice(0, count), slice(count, 2 * count)]],
    )
    lags = int(3 * math.sqrt(count))
    x = np.arange(lags + 1) / (lags + 1)
    window = np.where(x <= 0.5, 1 - 6 * x**2 + 6 * x**3, 2 * (1 - x) ** 3)
    meat = np.zeros((k, k))
    for i in range(2):
        for j in range(2):
            for t in range(count):
                for s in range(max(0, t - lags), min(count, t + lags + 1)):
                    lag = abs(s - t)
                    early, late = (r[i], r[j]) if s >= t else (r[j], r[i])
                    R = early[: count - lag] @ late[lag:] / count * window[lag]
                    meat += R * np.outer(J[i, t], J[j, s])
    inverse = np.linalg.inv(J.reshape(-1, k).T @ J.reshape(-1, k))
    np.testing.assert_allclose(told.covariance, inverse @ meat @ inverse, rtol=1e-8)


def test_what_data_cannot_tell_apart_is_named():
    """y = (a b) t: the product is known, the quotient is not."""
    unknowns = (positive("a", "", 2.0), positive("b", "", 1.0))
    y = 6.0 * T + 0.01 * np.random.default_rng(5).normal(size=len(T))

    def residuals(p):
        return p[0] * p[1] * T - y, np.stack([p[1] * T, p[0] * T], axis=1)

    found = search(unknowns, residuals)
    assert found.values[0] * found.values[1] == pytest.approx(6.0, rel=1e-3)
    told = statistics(unknowns, found.values, found.residuals, found.jacobian)
    (worst,) = told.indistinct
    assert (
        worst.text in ("0.71 a - 0.71 b", "0.71 b - 0.71 a") and np.isinf(worst.error) and np.isinf(told.errors).all()
    )
    assert told.directions[0].text in ("0.71 a + 0.71 b", "0.71 b + 0.71 a") and told.directions[0].error < 0.001


def test_a_badly_known_combination_has_its_error():
    """Two columns that differ by a hundredth: the difference is known 100 times worse, and said so."""
    unknowns = (signed("a", "", 1.0, 1.0), signed("b", "", 1.0, 1.0), signed("c", "", 1.0, 1.0))
    J = np.stack([T, T + 0.01 * np.sin(9 * T), np.ones_like(T)], axis=1)
    y = J.sum(axis=1) + 0.1 * np.random.default_rng(6).normal(size=len(T))
    found = search(unknowns, lambda p: (J @ p - y, J))
    told = statistics(unknowns, found.values, found.residuals, found.jacobian)
    (worst,) = told.indistinct
    assert worst.text in ("0.71 a - 0.71 b", "0.71 b - 0.71 a")
    expected = 0.1 / np.linalg.norm(0.01 * np.sin(9 * T)) * math.sqrt(2)  # less what a and c can do in its place
    assert 1.0 < worst.error / expected < 1.5


def test_an_unknown_without_effect_has_no_error_and_leaves_the_others_theirs():
    unknowns = (*TWO, positive("c", "", 1.0))
    J = np.hstack([LINE, np.zeros((len(T), 1))])
    y = LINE @ [3.0, -0.5] + 0.1 * np.random.default_rng(7).normal(size=len(T))
    found = search(unknowns, lambda p: (J @ p - y, J))
    told = statistics(unknowns, found.values, found.residuals, found.jacobian)
    two = line(y - LINE @ [3.0, -0.5])
    np.testing.assert_allclose(
        told.errors[:2], statistics(TWO, two.values, two.residuals, two.jacobian).errors, rtol=2e-3
    )
    assert np.isinf(told.errors[2]) and told.indistinct[0].text == "c"


def test_ties_bind_and_do_not_count_as_noise():
    """A condition slope = -6 place, by a large weight, leaves one unknown: its error has a closed form."""
    noise = 0.1 * np.random.default_rng(8).normal(size=len(T))
    y = LINE @ [3.0, -0.5] + noise
    tie = 1e6 * np.array([[1.0, 6.0]])
    found = search(TWO, lambda p: (np.append(LINE @ p - y, tie @ p), np.vstack([LINE, tie])))
    told = statistics(TWO, found.values, found.residuals[:-1], found.jacobian[:-1], ties=tie)
    column = LINE @ [-6.0, 1.0]
    s2 = found.residuals[:-1] @ found.residuals[:-1] / (len(T) - 1)
    assert told.errors[1] == pytest.approx(np.sqrt(s2 / (column @ column)), rel=1e-5)


def test_fewer_rows_than_unknowns_leave_directions_unknown():
    found = statistics(TWO, np.array([2.0, 1.0]), np.zeros(1), np.array([[1.0, 0.0]]))
    assert np.isinf(found.errors[1]) and found.indistinct[0].text == "place"


def test_correlations_are_the_sums_they_stand_for():
    r = np.random.default_rng(9).normal(size=(50, 2))
    R = correlations(r, 7)
    for lag in (0, 3, 7):
        for i in range(2):
            for j in range(2):
                assert R[lag, i, j] == pytest.approx(np.sum(r[: 50 - lag, i] * r[lag:, j]) / 50)


def test_white_noise_passes_and_noise_with_a_memory_does_not():
    rng = np.random.default_rng(10)
    p = [whiteness(rng.normal(size=500)).p for _ in range(400)]
    assert 0.02 < np.mean(np.array(p) < 0.05) < 0.09 and 0.4 < np.mean(p) < 0.6  # p is uniform
    moving = np.convolve(rng.normal(size=501), [1.0, 1.0], "valid")
    found = whiteness(moving)
    assert not found.white and found.correlation[1] == pytest.approx(0.5, abs=0.1)
    assert found.bound == pytest.approx(1.96 / math.sqrt(500))
    assert not whiteness(np.full(100, 0.1) + 1e-3 * rng.normal(size=100)).white  # an offset
    assert whiteness(np.zeros(100)).white


def test_fit_is_100_for_the_data_and_0_for_their_mean():
    y = np.stack([np.sin(9 * T), np.cos(5 * T)], axis=1)
    np.testing.assert_allclose(fit_percent(y, y), 100.0)
    np.testing.assert_allclose(fit_percent(y, np.broadcast_to(y.mean(axis=0), y.shape)), 0.0, atol=1e-12)
    assert fit_percent(y, 0.9 * y)[0] == pytest.approx(
        100 * (1 - 0.1 * np.linalg.norm(y[:, 0]) / np.linalg.norm(y[:, 0] - y[:, 0].mean()))
    )
    assert fit_percent(1j * y, 1j * y + 0.0)[0] == 100.0


def test_a_combination_reads_as_one_writes_it():
    assert combination(TWO, np.array([0.0, -1.0])) == "place"
    assert combination(TWO, np.array([-0.6, 0.8])) == "0.80 place - 0.60 slope"
    many = [signed(f"state {i}", "", 0.0, 1.0) for i in range(400)]  # none with a tenth of it, as of many segments
    assert combination(many, np.array([0.06, *399 * [0.05]])) == "state 0"


# -- the search --------------------------------------------------------------------------------------------------------


def test_bounds_hold_and_a_start_outside_is_refused():
    unknowns = (bounded(TWO[0], 1.0, 2.5), TWO[1])
    assert line(0.0, unknowns).values[0] == pytest.approx(2.5, rel=1e-6)
    with pytest.raises(DescriptionError, match="start of slope is 2 m/s; it must be within its bounds, from 3 to 4"):
        bounded(TWO[0], 3.0, 4.0)
    with pytest.raises(DescriptionError, match="bounds of slope: 4 is not below 3"):
        bounded(TWO[0], 4.0, 3.0)
    assert bounded(TWO[0], 0.0, 9.0).low > 0 and not bounded(TWO[0], -1.0, 9.0).logarithmic
    assert line(0.0, (bounded(TWO[0], -5.0, 9.0), TWO[1])).values == pytest.approx([3.0, -0.5])


def test_what_the_search_runs_over_is_zero_at_the_start_and_goes_back():
    for each, value in ((TWO[0], 3.7), (TWO[1], -2.0)):
        assert each.searched(each.start) == 0.0 and each.value(each.searched(value)) == pytest.approx(value)
        slope = (each.value(each.searched(value) + 1e-6) - each.value(each.searched(value) - 1e-6)) / 2e-6
        assert slopes([each], np.array([value]))[0] == pytest.approx(slope)


def test_a_motion_that_is_not_finite_shortens_the_step_and_at_the_start_is_refused():
    def residuals(p):
        bad = math.nan if p[0] > 50 else 0.0
        return np.array([math.log(p[0]) - math.log(40.0) + bad]), np.array([[1 / p[0] + bad]])

    unknown = (positive("a", "", 0.01),)
    assert search(unknown, residuals).values == pytest.approx([40.0])
    with pytest.raises(DescriptionError, match="the motion at the start is not finite"):
        search((positive("a", "", 60.0),), residuals)


def test_numbers_of_very_different_size_are_found_together():
    """kg beside N m^2: a search over plain values would not move the small one."""
    unknowns = (positive("m", "kg", 1e-3), positive("k", "N/m", 1e5))

    def residuals(p):
        y = np.array([p[1] / p[0] / 4e8 - 1, p[1] / 2e5 - 1])
        return y, np.array([[-p[1] / p[0] ** 2 / 4e8, 1 / p[0] / 4e8], [0, 1 / 2e5]])

    found = search(unknowns, residuals)
    np.testing.assert_allclose(found.values, [5e-4, 2e5], rtol=1e-8)
    assert found.converged and found.evaluations < 30
