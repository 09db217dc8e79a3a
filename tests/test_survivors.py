"""Cases that random faults showed to be missing: each is caught here and nowhere else (`make mutants`)."""

from types import SimpleNamespace

import casadi as ca
import numpy as np

import flexarm as fa
from flexarm.mechanics.series import interpolated, nodes
from flexarm.native.verification import STATES, samples
from flexarm.simulation.closed_loop import Deviations
from flexarm.simulation.unstable import _poles

x, y = ca.SX.sym("x"), ca.SX.sym("y")


def test_inputs_are_drawn_on_until_every_entry_has_a_value():
    """The root is real for none of the first inputs; the others are compared at these."""
    f = ca.Function("f", [ca.vertcat(x, y)], [ca.vertcat(ca.sqrt(x - 1.4), y)])
    inputs, expected = samples(f)
    assert not np.isfinite(expected[:STATES, 0]).any()
    assert len(inputs) == len(expected) == STATES + 1
    np.testing.assert_allclose(expected[-1], [np.sqrt(inputs[-1, 0] - 1.4), inputs[-1, 1]], rtol=1e-15)


def test_gains_times_a_factor_act_on_the_memory_of_a_law_that_feels_its_input():
    """du = to_u x and dz/dt = Z x + felt du: with gains f times as large, f to_u stands in both places."""
    random = np.random.default_rng(4)
    A, B, to_u, Z, felt = (random.normal(size=size) for size in ((4, 4), (4, 2), (2, 6), (2, 6), (2, 2)))
    none = np.zeros(0)
    at = Deviations(none, none, none, A, B, to_u, Z + felt @ to_u, felt, np.eye(len(A)), [*range(len(A))])
    poles, _ = _poles(SimpleNamespace(period=None), (at,), 2.5)
    stronger = 2.5 * to_u
    whole = np.vstack([np.hstack([A, np.zeros((4, 2))]) + B @ stronger, Z + felt @ stronger])
    np.testing.assert_allclose(np.sort_complex(poles), np.sort_complex(np.linalg.eigvals(whole)), rtol=1e-10)


def test_each_entry_of_the_damping_of_a_beam_of_segments_is_a_parameter_of_its_own():
    """Closed forms name the entries by two amplitudes; their values are the slopes of the damping force."""
    body = fa.Beam(length=1.3, mass=0.7, EI=2.0, modes={"y": 2}, segments=2, damping=0.03)
    arm = fa.Arm(name="a", links=[fa.Link(name="a", joint=fa.Revolute(axis=(0, 0, 1)), body=body)])
    damping = fa.Model(arm).fixed("damping_force")
    D = np.array([np.array(damping(np.zeros(5), e)).ravel() for e in np.eye(5)])[1:, 1:]
    marks = [amplitude.name.replace(".", "") for amplitude in body.amplitudes]
    expected = {
        f"a.modal_damping.{one}.{other}": D[i, j] for i, one in enumerate(marks) for j, other in enumerate(marks[i:], i)
    }
    found = {p.name: p.value for p in fa.equations(arm).parameters if "modal_damping" in p.name}
    assert found.keys() == expected.keys()
    np.testing.assert_allclose([found[name] for name in expected], list(expected.values()), rtol=1e-12)


def test_slopes_of_a_series_in_a_length_are_those_of_its_functions():
    low, high = 0.5, 1.7
    lengths, x = nodes(low, high), np.linspace(low, high, 7)
    series = interpolated(low, high, lengths, np.stack([lengths**2, np.sin(lengths)], axis=-1))
    expected = np.stack([2 * x, np.cos(x)], axis=-1)
    np.testing.assert_allclose(series.slopes(x), expected, rtol=1e-9)
    np.testing.assert_allclose(series.slope.values(x), expected, rtol=1e-9)
