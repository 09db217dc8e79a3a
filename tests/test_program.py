"""Loops found in a program: they give the numbers of the program written out, and long chains become short code."""

from functools import cache
from itertools import pairwise

import casadi as ca
import numpy as np
import pytest

import flexarm as fa
from flexarm.native import kernel as native
from flexarm.native import llvm
from flexarm.native.program import INPUT, PART, SINCOS, WINDOW, WORTH, Instruction, Repeat, instructions, repeats

ROUNDING = 1e-10  # relative: the same operations in the same order, but contracted differently, times the condition


@cache
def chain(n, alike, planar):
    random = np.random.default_rng(n)
    links = []
    for i in range(n):
        length, mass, EI = (1.0, 1.0, 1e3) if alike else random.uniform([0.8, 0.5, 500.0], [1.2, 1.5, 2000.0])
        modes = {"y": 2} if planar else {"y": 2, "z": 1, "torsion": 1}
        stiffness = {} if planar else {"GJ": 0.4 * EI, "polar_inertia": 0.01}
        body = fa.Beam(length=length, mass=mass, EI=EI, modes=modes, **stiffness)
        axis = (0, 0, 1) if planar or i % 2 else (0, 1, 0)
        links.append(fa.Link(name=f"l{i}", joint=fa.Revolute(axis=axis, damping=0.1), body=body))
    return fa.Model(fa.Arm(name="chain", links=links, gravity=(0, -9.81, -1), payload=fa.Payload(mass=0.5)))


def loops(function):
    blocks, _, _ = llvm._layout(instructions(function))
    return [pieces for pieces in blocks if pieces[0].rounds > 1]


@pytest.mark.parametrize("lanes", [1, native.LANES])
@pytest.mark.parametrize("planar", [True, False])
@pytest.mark.parametrize("alike", [True, False])
def test_loops_give_the_numbers_of_the_program_written_out(alike, planar, lanes):
    model = chain(14, alike, planar)
    function = model.function("state_rate")
    assert sum(len(piece.span) for pieces in loops(function) for piece in pieces) > 150
    kernel = model.kernel("state_rate")
    sizes = [function.nnz_in(i) for i in range(3)]
    x = 0.1 * np.random.default_rng(1).standard_normal((9, sum(sizes)))
    y = kernel.many(x) if lanes > 1 else np.array([kernel.one(row) for row in x])
    for row, result in zip(x, y, strict=True):
        expected = np.array(function(*np.split(row, np.cumsum(sizes)[:-1]))).ravel()
        np.testing.assert_allclose(result, expected, rtol=0, atol=ROUNDING * np.abs(expected).max())


def test_long_chains_of_like_links_become_short_code():
    functions = [chain(n, True, True).function("forward_dynamics") for n in (20, 40)]
    short, long = (len(llvm.ir(instructions(function), 1)[0]) for function in functions)
    assert long < 1.2 * short


def test_a_short_program_has_no_loops():
    assert repeats(instructions(chain(2, True, True).function("forward_dynamics"))) == []


def test_stretches_that_repeat_do_not_overlap():
    """Two stretches of one period with a single difference between them: chains of beams in a row."""
    links = []
    for name, length, count in (("a", 6.0, 6), ("b", 7.0, 6), ("c", 2.0, 1)):
        body = fa.Beam(
            length=length / count, mass=10.0, EI=1e5, modes={"y": 2}, shapes="polynomial", foreshortening=True
        )
        joints = [fa.Revolute(axis=(0, 0, 1)), *[fa.Fixed()] * (count - 1)]
        links += [fa.Link(name=f"{name}{i}", joint=joint, body=body) for i, joint in enumerate(joints)]
    model = fa.Model(fa.Arm(name="beams", links=links))
    function = model.function("state_residual")
    found = repeats(instructions(function))
    assert len(found) > 1 and all(a.stop <= b.start for a, b in pairwise(found))
    sizes = [function.nnz_in(i) for i in range(4)]
    x = 0.1 * np.random.default_rng(1).standard_normal(sum(sizes))
    expected = np.array(function(*np.split(x, np.cumsum(sizes)[:-1]))).ravel()
    result = model.kernel("state_residual").one(x)
    np.testing.assert_allclose(result, expected, rtol=0, atol=ROUNDING * np.abs(expected).max())


def rounds(count):
    """A program of `count` instructions: 1 + x^2 again and again."""
    code = [Instruction(INPUT, ())]
    while len(code) < count:
        code += [Instruction(ca.OP_SQ, (len(code) - 1,)), Instruction(ca.OP_ADD, (len(code), 1.0))]
    return code[:count]


def test_the_shortest_program_with_a_loop_has_room_for_what_is_saved_and_compared():
    """One instruction fewer, and no loop is looked for."""
    least = WORTH + sum(WINDOW)
    assert repeats(rounds(least - 1)) == []
    assert repeats(rounds(least)) == [Repeat(2, 2, (least - 2) // 2)]


def test_a_loop_does_not_begin_between_a_sine_and_its_cosine():
    """sin(x) cos(x) again and again. The first angle is an input and the others are values, so rounds are alike from
    the first sine on, but the loop begins behind the cosine."""
    code = [Instruction(INPUT, ())]
    while len(code) < 401:
        angle = len(code)
        code.append(Instruction(SINCOS, (angle - 1,)))
        code += [Instruction(PART, (angle,), half) for half in (0, 1)]
        code.append(Instruction(ca.OP_MUL, (angle + 1, angle + 2)))
    assert repeats(code) == [Repeat(4, 4, 99)]
