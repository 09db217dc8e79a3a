"""Terms that no example of the paper exercises: rates of rotation (eq. 7), stretch and twist (eq. 16), cost.

Strain energies are compared with integrals of the shapes.
"""

from functools import cache

import casadi as ca
import numpy as np
import sympy as sp
from scipy import linalg

from flexarm import Arm, Beam, Link, Model, Revolute
from flexarm.native.program import operations
from flexarm.shapes import family, quadrature
from flexarm_papers.lin_lewis.appendix import appendix_arm, random_state
from flexarm_papers.lin_lewis.compute import Array, beam, value
from flexarm_papers.lin_lewis.loaded import PHI_L

LENGTH, MASS = 0.7, 0.4
"""Length [m] and mass [kg] of a link that bends, twists and stretches. The paper prints no numbers for such a link."""
POLAR = 1e-3
"""Moment of inertia about the link's axis, per length [kg m]."""
MODES = {"y": 2, "z": 1, "torsion": 3, "axial": 3}
FAMILIES = {"y": "clamped-free", "z": "polynomial", "torsion": "polynomial", "axial": "polynomial"}
STIFFNESS = {"y": 50.0, "z": 30.0, "torsion": 20.0, "axial": 400.0}
"""Stiffness in eq. 16 by direction: EI_x, EI_z [N m^2], GJ [N m^2], EA [N]."""


# -- eq. 7 -------------------------------------------------------------------------------------------------------------


def rates_of_turning(seed: int = 7) -> tuple[Array, Array, Array]:
    """Return the rate of link 3 of the appendix's arm per coordinate's rate.

    The first array is the derivative of the model's frame at the tip at a random state, the second is by eq. 7, the
    third adds the chord's rate to eq. 7.
    """
    rng = np.random.default_rng(seed)
    state = random_state(rng)
    x = ca.SX.sym("q", 4)
    frame = Model(appendix_arm(state)).function("tip")(x)
    rate = ca.Function("turning", [x], [ca.jacobian(ca.atan2(frame[1, 0], frame[0, 0]), x)])
    ours = np.array(rate([rng.uniform(-3, 3), state.th2, state.th3, state.v])).ravel()
    return ours, np.array([1.0, 1.0, 1.0, 0.0]), np.array([1.0, 1.0, 1.0, PHI_L / state.L[2]])


# -- eq. 16 ------------------------------------------------------------------------------------------------------------


@cache
def elastic_link(polar_inertia: float = POLAR) -> Model:
    """Return a link on a joint that bends in two planes, twists and stretches."""
    body = Beam(
        length=LENGTH,
        mass=MASS,
        EI={"y": STIFFNESS["y"], "z": STIFFNESS["z"]},
        GJ=STIFFNESS["torsion"],
        EA=STIFFNESS["axial"],
        polar_inertia=polar_inertia,
        modes=MODES,
        shapes=FAMILIES,
    )
    return Model(Arm(name="elastic", links=[Link(name="link", joint=Revolute(axis=(0.0, 0.0, 1.0)), body=body)]))


def coordinates(model: Model, direction: str) -> list[int]:
    """Return the positions of a direction's amplitudes among the coordinates."""
    return [k for k, name in enumerate(model.coordinates) if name.startswith(f"link.{direction}")]


def strain_energies(seed: int = 16) -> dict[str, tuple[float, float]]:
    """Return the strain energy of each term of eq. 16 by the model and by the integral, at random amplitudes [J]."""
    model, rng, found = elastic_link(), np.random.default_rng(seed), {}
    for direction, count in MODES.items():
        amplitudes = rng.uniform(-0.02, 0.02, count)
        q = np.zeros(len(model.coordinates))
        q[coordinates(model, direction)] = amplitudes
        order = 2 if direction in "yz" else 1
        basis = family(FAMILIES[direction], direction).basis(count)
        x, w = quadrature(basis)
        strain = basis.values(x, order) @ amplitudes / LENGTH**order
        integral = STIFFNESS[direction] * LENGTH * float(w @ strain**2) / 2
        found[direction] = float(model.function("energy")(q, 0 * q)[1]), integral
    return found


def first_frequency(direction: str) -> tuple[float, float]:
    """Return the first frequency of twist or stretch with the hub held, and that of a rod, pi / 2 c / L [rad/s]."""
    model = elastic_link()
    own = np.ix_(*[coordinates(model, direction)] * 2)
    n = len(model.coordinates)
    M, K = value(model, "mass_matrix", np.zeros(n))[own], value(model, "stiffness_force", np.eye(n))[own]
    inertia = POLAR if direction == "torsion" else MASS / LENGTH
    exact = np.pi / 2 * np.sqrt(STIFFNESS[direction] / inertia) / LENGTH
    return float(np.sqrt(linalg.eigvalsh(K, M)[0])), float(exact)


def inertia_of_twist(polar_inertia: float) -> float:
    """Return the largest inertia of the twist's amplitudes over that of the stretch's."""
    model = elastic_link(polar_inertia)
    M = value(model, "mass_matrix", np.zeros(len(model.coordinates)))
    twist, stretch = (np.abs(M[np.ix_(k, k)]).max() for k in (coordinates(model, d) for d in ("torsion", "axial")))
    return float(twist / stretch)


# -- cost --------------------------------------------------------------------------------------------------------------


def products_to_integrate(shapes: str, modes: int = 2) -> int:
    """Return the number of products of elementary functions in the expanded integrals of example 4.2's M.

    The integrands are y phi_k and phi_k phi_l with the textbook's form of the shapes.
    """
    y = sp.Symbol("y", positive=True)
    if shapes == "pinned-pinned":
        phi = [sp.sin(k * sp.pi * y / sp.Symbol("L")) for k in range(1, modes + 1)]
    else:
        beta, sigma = sp.symbols(f"beta1:{modes + 1}"), sp.symbols(f"sigma1:{modes + 1}")
        phi = [
            sp.cosh(b * y) - sp.cos(b * y) - s * (sp.sinh(b * y) - sp.sin(b * y))
            for b, s in zip(beta, sigma, strict=True)
        ]
    integrands = [y * each for each in phi] + [phi[k] * each for k in range(modes) for each in phi[k:]]
    return sum(len(sp.Add.make_args(sp.expand(each))) for each in integrands)


def our_operations(shapes: str) -> int:
    """Return the operations of flexarm's inverse dynamics of example 4.2 with two modes."""
    return sum(operations(beam(shapes, 2).function("inverse_dynamics")))
