"""The model against SymPy: Lagrange's equations in symbols (`benchmarks/lagrange.py`) with an arm's numbers put in."""

import importlib.util
from pathlib import Path

import numpy as np
import oracle
import pytest
import sympy as sp
from compared import values, vector
from sympy.physics.mechanics import dynamicsymbols

import flexarm as fa

TOLERANCE = 1e-10  # relative to the largest entry: rounding of sums with some thousand terms
PLACE = Path(__file__).parents[1] / "benchmarks" / "lagrange.py"
G = 9.81
RIGID = 0  # a link without modes


def loaded(place):
    """A module that is no part of the package."""
    spec = importlib.util.spec_from_file_location(place.stem, place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def described(modes, g, random):
    """A planar arm with these numbers of modes, and the numbers of its symbols."""
    links, numbers = [], {}
    for i, count in enumerate(modes, 1):
        L, m, EI = random.uniform(0.5, 1.5, 3)
        numbers |= {f"L_{i}": L, f"m_{i}": m, f"EI_{i}": EI}
        if count == RIGID:
            s, I = random.uniform(0.2, 0.8, 2)
            numbers |= {f"s_{i}": s, f"I_{i}": I}
            body = fa.Rigid(length=L, mass=m, com=(s, 0.0, 0.0), inertia=I)
        else:
            numbers |= shape_numbers(i, count)
            body = fa.Beam(length=L, mass=m, EI=EI, modes={"y": count}, shapes="clamped-free")
        links.append(fa.Link(name=f"link{i}", joint=fa.Revolute(axis=(0.0, 0.0, 1.0)), body=body))
    m_P, I_P = random.uniform(0.5, 1.5, 2)
    numbers |= {"m_P": m_P, "I_P": I_P, "g": g}
    payload = fa.Payload(mass=m_P, inertia=I_P)
    return fa.Arm(name="planar", links=links, payload=payload, gravity=(0.0, -g, 0.0)), numbers


def shape_numbers(i, count):
    """Modal integrals of link i, from clamped-free shapes worked out with forty digits."""
    x, w = oracle.gauss(40)
    found = {}
    for j in range(1, count + 1):
        phi, bent = (np.array(oracle.bending(j, derivative, tuple(x))) for derivative in (0, 2))
        (tip,), (slope,) = (oracle.bending(j, derivative, (1.0,)) for derivative in (0, 1))
        found |= {f"a_{i}_{j}": w @ phi, f"b_{i}_{j}": w @ (x * phi), f"c_{i}_{j}_{j}": w @ phi**2}
        found |= {f"k_{i}_{j}_{j}": w @ bent**2, f"phi_{i}_{j}": tip, f"dphi_{i}_{j}": slope}
    return found


def assert_close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=TOLERANCE * np.abs(expected).max())


CASES = [
    ((1,), True),
    ((2,), True),
    ((1, 1), True),
    ((RIGID, 1, RIGID), False),
]


@pytest.mark.parametrize(("modes", "gravity"), CASES, ids=str)
def test_the_model_is_lagranges_equations_in_symbols(modes, gravity):
    """Inertia matrix and forces of a planar arm with a payload, at general states; g = 0 is an arm without weight."""
    method = loaded(PLACE).equations(modes, gravity)
    coordinates = [*method.q, *method.u]
    symbols = sorted((method.mass_matrix.free_symbols | method.forcing.free_symbols) - {dynamicsymbols._t}, key=str)
    assert (sp.Symbol("g", positive=True) in symbols) == gravity
    evaluated = sp.lambdify([*coordinates, *symbols], [method.mass_matrix, method.forcing], "numpy", cse=True)
    random = np.random.default_rng(len(modes))
    for g in (G, 0.0) if gravity else (0.0,):
        arm, numbers = described(modes, g, random)
        model = fa.Model(arm)
        n = len(model.coordinates)
        for _ in range(3):
            q, qd = random.normal(size=(2, n)) * np.r_[np.ones(len(modes)), 0.3 * np.ones(n - len(modes))]
            M, forcing = evaluated(*q, *qd, *(numbers[str(symbol)] for symbol in symbols))
            assert_close(M, values(model, "mass_matrix", q))
            forces = (("bias", q, qd), ("stiffness_force", q), ("gravity_force", q))
            force = sum(vector(model, *each) for each in forces)
            assert_close(forcing.ravel(), -force)
