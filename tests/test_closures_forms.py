"""Closed forms of arms with closures: their gaps, the Jacobian of these, and all parts of the tree."""

import numpy as np
import pytest
import sympy as sp
from controlled import refused
from driven_loops import four_bar
from exported import GCC, in_python, run
from loops import closing
from random_arms import random_state
from random_trees import random_tree

import flexarm as fa
from flexarm.closed_forms.parts import CLOSURE_PARTS, PARTS, of_motion
from flexarm.model import closures

PINNED = four_bar(flexible=True)


def numbers(equations, part, q, qd):
    """A part's closed form at a state."""
    form = equations.explicit(getattr(equations, part))
    known = dict(zip(map(sp.Symbol, (*equations.coordinates, *equations.rates)), (*q, *qd), strict=True))
    return np.array(sp.Matrix(form).subs(known | equations.values).evalf(), dtype=float)


def test_closed_forms_of_a_four_bar_are_its_equations():
    """Accelerations and reactions from these matrices alone are those of the model, which solves by recursion."""
    equations, model = fa.equations(PINNED), fa.Model(PINNED)
    q, qd = fa.assemble(PINNED, [1.1, 0.2, 1.2, 0.02, -0.01], [1.3, 0.0, 0.4, 0.2, -0.3])
    parts = of_motion(PINNED)
    M, D, C, U, G, B, *_ = (np.array(x) for x in in_python(equations, parts)(q, qd).values())
    A, b, g = (numbers(equations, part, q, qd) for part in CLOSURE_PARTS)
    assert (
        parts[-3:] == tuple(CLOSURE_PARTS)
        and A.shape == (2, 5)
        and np.abs(g).max() < 1e-12
        and np.abs(A @ qd).max() < 1e-12
    )
    u = np.array([2.5])
    force = B @ u - (D + C) @ qd - U @ q - G
    solved = np.linalg.solve(np.block([[M, -A.T], [A, np.zeros((2, 2))]]), np.concatenate([force, -b.ravel()]))
    assert solved[:5] == pytest.approx(model.forward_dynamics(q, qd, u), rel=1e-9)
    assert solved[5:] == pytest.approx(model.closure_reactions(q, qd, u)[0, :2], rel=1e-8)
    away, spin = np.random.default_rng(5).normal(size=(2, 5))
    assert numbers(equations, "closure_gaps", away, spin).ravel() == pytest.approx(
        closures.gaps(model, away)[:2], abs=1e-12
    )
    assert {"L_3", "px_3", "dphi_2_1"} <= {str(x) for x in equations.closure_jacobian.free_symbols}
    assert "A' lambda, A qdd + b = 0, g = 0" in equations.text(["closure_gaps"])
    assert r"A(\mathbf q)\,\ddot{\mathbf q} + b(\mathbf q,\dot{\mathbf q}) &= 0" in equations.latex()


@pytest.mark.parametrize("joint", ["universal", "prismatic"])
def test_source_code_of_random_loops_has_the_models_numbers(joint):
    """On a free base, with flexible links; closures at tips and inside of links, between links and to the base."""
    tree = random_tree(7, free=True) if joint == "universal" else random_tree(3)
    q, qd, _ = random_state(tree, 4)
    arm = closing(tree, q, joint, 4, count=2)
    model = fa.Model(arm)
    found = in_python(fa.equations(arm.without_drives()), tuple(CLOSURE_PARTS))(q, qd)
    for name, part in CLOSURE_PARTS.items():
        value = part.native(model, q, qd)
        assert np.reshape(found[name], value.shape) == pytest.approx(value, abs=1e-10 * (1 + np.abs(value).max()))


def test_a_closure_at_a_chord_or_inside_a_beam_has_numbers_for_its_shapes():
    beam = PINNED.links[1].body.replace(next_joint="chord")
    links = [PINNED.links[0], PINNED.links[1].replace(body=beam), PINNED.links[2]]
    for arm in (PINNED.replace(links=links), PINNED.replace(closures=[PINNED.closures[0].replace(at=0.7)])):
        q, qd = np.random.default_rng(3).normal(size=(2, 5))
        model, found = fa.Model(arm), in_python(fa.equations(arm), tuple(CLOSURE_PARTS))(q, qd)
        for name, part in CLOSURE_PARTS.items():
            value = part.native(model, q, qd)
            assert np.reshape(found[name], value.shape) == pytest.approx(value, abs=1e-10)


@pytest.mark.skipif(GCC is None, reason="no C compiler")
def test_c_of_a_loop_passes_its_own_test(tmp_path):
    done = run(fa.equations(PINNED).c((*PARTS, *CLOSURE_PARTS)), tmp_path)
    assert done.returncode == 0, done.stdout


def test_an_arm_without_closures_has_no_parts_of_closures():
    tree = PINNED.replace(closures=[])
    with refused("equations: arm 'four-bar' has no closures; leave out their parts"):
        _ = fa.equations(tree).closure_gaps
    assert not set(CLOSURE_PARTS) & set(of_motion(tree))
    letters = [part.letter for part in (PARTS | CLOSURE_PARTS).values()]
    assert sorted({*letters}) == sorted(letters)
