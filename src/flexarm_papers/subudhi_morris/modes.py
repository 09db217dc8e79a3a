"""Subudhi & Morris 2002, eqs. 19 to 48: mode shapes of a link that carries a body, as printed and as corrected.

The reference is finite elements that carry an actual rigid body.
"""

from functools import cache
from typing import Any

import numpy as np

from flexarm import Arm, Fixed, Link, Model, Rigid
from flexarm.shapes import ClampedMass, TipLoad, quadrature
from flexarm_papers.subudhi_morris.compute import (
    EI,
    I_P,
    LINK,
    M_P,
    Array,
    J,
    L,
    M,
    Rotor,
    apart,
    arm,
    model,
    response,
    run,
)

MASS, INERTIA, MOMENT = M + M_P, M * L**2 / 3 + I_P + M_P * L**2, M * L / 2 + M_P * L
LOADS = (TipLoad(MASS, INERTIA, MOMENT), TipLoad(M_P, I_P, 0.0))
"""M_E, I_E and M_DE of eqs. 47, 48 at theta_2 = 0, without J_2 in I_E1 and without M_P l^2 in I_E2."""
EQ_47 = (TipLoad(MASS, INERTIA + J, MOMENT), LOADS[1])
"""Loads with J_2, as printed."""
EQ_48 = TipLoad(M_P, I_P + M_P * L**2, 0.0)
"""Load of link 2 as printed."""
ELEMENTS = 8


def ratios(load: TipLoad) -> tuple[float, float, float]:
    """Return mu, iota, sigma of a load on the paper's link."""
    return load.mass / M, load.inertia / (M * L**2), load.first_moment / (M * L)


@cache
def shapes_of(load: TipLoad) -> ClampedMass:
    """Return the clamped-mass family of the paper's link with this load."""
    mu, iota, sigma = ratios(load)
    return ClampedMass(mass_ratio=mu, inertia_ratio=iota, moment_ratio=sigma)


def in_rad_per_s(beta: Array) -> Array:
    """Return frequencies by eq. 41 [rad/s]."""
    return np.asarray(beta**2 * np.sqrt(EI / (M / L)) / L**2)


@cache
def frequencies(load: TipLoad, count: int = 2) -> Array:
    """Return the frequencies of the clamped link with this load, by the frequency equation and eq. 41 [rad/s]."""
    return in_rad_per_s(np.asarray(shapes_of(load).roots(count)))


def of_printed_conditions(load: TipLoad) -> Array:
    """Return the frequencies with eqs. 29 and 30 as printed [rad/s].

    There M_DE multiplies v' in the moment and v in the force. In the dimensionless variables it then adds to the
    inertia and to the mass.
    """
    mu, iota, sigma = ratios(load)
    return in_rad_per_s(np.asarray(ClampedMass(mass_ratio=mu + sigma, inertia_ratio=iota + sigma).roots(2)))


def clamped(body: Any, load: TipLoad | None = None) -> Model:
    """Return a link clamped at its root, with or without a rigid body at its tip."""
    links = [Link(name="link", joint=Fixed(), body=body)]
    if load:
        center = load.first_moment / load.mass
        inertia = load.inertia - load.mass * center**2
        carried = Rigid(length=0.0, mass=load.mass, com=(center, 0.0, 0.0), inertia=inertia)
        links.append(Link(name="load", joint=Fixed(), body=carried))
    return Model(Arm(name="clamped", links=links))


def elements() -> Any:
    """Return the link as finite elements with two coordinates per node."""
    return LINK.replace(modes={"y": 2 * ELEMENTS}, shapes="hermite")


def by_elements(load: TipLoad, count: int = 2) -> Array:
    """Return the frequencies by finite elements with a rigid body of this mass, centre of mass and inertia [rad/s]."""
    return clamped(elements(), load).frequencies(np.zeros(2 * ELEMENTS))[:count]


def link_1_in_arm(rotor: Rotor, angle: float = 0.0) -> Array:
    """Return the frequencies of link 1 in the arm, both joints locked, joint 2 at an angle, link 2 rigid [rad/s]."""
    first, second = arm(rotor, modes={"y": 2}).links
    stiff = arm(rotor).replace(links=[first.replace(body=elements()), second.rigid()])
    q = np.zeros(2 + 2 * ELEMENTS)
    q[1] = angle
    return model(stiff).frequencies(q)[:2]


def bent_by(angle: float, printed: bool) -> Array:
    """Return the frequencies of `link_1_in_arm` by the frequency equation with M_DE1 of eq. 47 at that angle [rad/s].

    As printed, only the payload's part has the cosine.
    """
    cosine = float(np.cos(angle))
    moment = M * L / 2 + M_P * L * cosine if printed else MOMENT * cosine
    return frequencies(TipLoad(MASS, INERTIA, moment))


# -- eqs. 37 to 39 -----------------------------------------------------------------------------------------------------


def eq_38(beta: float, load: TipLoad) -> float:
    """Return the factor of the second pair in eq. 37."""
    mu, _, sigma = ratios(load)
    c, s, C, S = np.cos(beta), np.sin(beta), np.cosh(beta), np.sinh(beta)
    above = s - S + mu * beta * (c - C) - sigma * beta**2 * (s + S)
    return float(above / (c + C - mu * beta * (s - S) - sigma * beta**2 * (c - C)))


def root_moves(load: TipLoad, printed: bool) -> float:
    """Return the deflection at the clamped end over that at the tip, for the first mode of eq. 37.

    The printed second pair is sinh and cosh.
    """
    beta = float(shapes_of(load).roots(1)[0])
    factor = eq_38(beta, load)

    def phi(x: float) -> float:
        b = beta * x
        pair = np.sinh(b) - np.cosh(b) if printed else np.sin(b) - np.sinh(b)
        return float(np.cos(b) - np.cosh(b) + factor * pair)

    return phi(0.0) / phi(1.0)


def off_conditions(load: TipLoad) -> float:
    """Return the residual of the conditions at the tip for two modes of eqs. 37 and 38, over the sizes of the terms."""
    mu, iota, sigma = ratios(load)
    worst = 0.0
    for b in shapes_of(load).roots(2):
        c, s, C, S = np.cos(b), np.sin(b), np.cosh(b), np.sinh(b)
        k = eq_38(b, load)
        phi, slope = c - C + k * (s - S), b * (-s - S + k * (c - C))
        moment = [b**2 * (-c - C - k * (s + S)), -(b**4) * iota * slope, -(b**4) * sigma * phi]
        force = [b**3 * (s - S - k * (c + C)), b**4 * mu * phi, b**4 * sigma * slope]
        worst = max(worst, *(abs(sum(terms)) / sum(map(abs, terms)) for terms in (moment, force)))
    return float(worst)


def off_eq_39(load: TipLoad, printed: bool) -> float:
    """Return the residual of eq. 39 at the wave numbers of finite elements, over the sizes of its terms.

    It is the larger of two modes. The printed last term is 2 M_DE^2 beta^4 sinh. The sign of M_DE^2 before it is not
    legible, so the better one is taken.
    """
    mu, iota, sigma = ratios(load)
    worst = 0.0
    for b in np.sqrt(by_elements(load) * L**2 / np.sqrt(EI / (M / L))):
        c, s, C, S = np.cos(b), np.sin(b), np.cosh(b), np.sinh(b)
        terms = [1.0, c * C, -mu * b * (s * C - c * S), -iota * b**3 * (s * C + c * S), mu * iota * b**4 * (1 - c * C)]
        square = sigma**2 * b**4 * (1 - c * C)
        last = -2 * sigma**2 * b**4 * S if printed else -2 * sigma * b**2 * s * S
        left = min(abs(sum(terms) + sign * square + last) for sign in ((1, -1) if printed else (-1,)))
        worst = max(worst, left / (sum(map(abs, terms)) + abs(square) + abs(last)))
    return worst


# -- eqs. 19, 40, 46 ---------------------------------------------------------------------------------------------------


def bending_work() -> float:
    """Return the strain energy of a link bent as by a tip force, over the work of that force."""
    beam = clamped(LINK.replace(modes={"y": 2}, shapes="hermite"))
    force = 0.3
    deflection, slope = force * L**3 / (3 * EI), force * L**2 / (2 * EI)
    _, potential = beam.energy(np.array([deflection, slope * L]), np.zeros(2))
    return float(potential) / (force * deflection / 2)


def doubled_energy(square: bool) -> float:
    """Return the growth of a link's energy when it bends twice as far, with v'' squared or as in eqs. 19 and 20."""
    x = np.linspace(0.0, L, 101)
    curvature = 0.3 * (L - x) / EI
    energies = [np.trapezoid(EI * (scale * curvature) ** (2 if square else 1), x) for scale in (1, 2)]
    return float(energies[1] / energies[0])


def energy_over_work(factor: float) -> float:
    """Return factor * int EI v''^2 dx of a link bent as by a tip force, over the work of that force."""
    x = np.linspace(0.0, L, 10_001)
    force = 0.3
    curvature, deflection = force * (L - x) / EI, force * L**3 / (3 * EI)
    return float(factor * np.trapezoid(EI * curvature**2, x) / (force * deflection / 2))


def stiffness_factors(load: TipLoad, printed: bool) -> Array:
    """Return the stiffness of the link's two modes over omega^2 times their mass.

    The printed mass is that of the beam (eqs. 40, 46), else it is the whole modal mass.
    """
    basis = shapes_of(load).basis(2)
    x, w = quadrature(basis)
    mass = M * (w @ basis.values(x) ** 2)
    if not printed:
        phi, slope = basis.values(1.0)[0], basis.values(1.0, 1)[0] / L
        mass = mass + load.mass * phi**2 + 2 * load.first_moment * phi * slope + load.inertia * slope**2
    K = clamped(LINK.replace(modes={"y": 2}, shapes=shapes_of(load))).stiffness_force(np.eye(2))
    return np.asarray(np.diag(K) / (frequencies(load) ** 2 * mass))


# -- shapes for another angle ------------------------------------------------------------------------------------------


def by_shapes_of_90_degrees(rotor: Rotor) -> float:
    """Return the largest distance of the tip from that with the shapes for theta_2 = 0, within 2 s [mm]."""
    inertia = LOADS[0].inertia + J * (rotor == "absolute")
    bent = shapes_of(TipLoad(MASS, inertia, 0.0)), shapes_of(LOADS[1])
    result = run(arm(rotor, shapes=bent))
    return float(apart(result, response(rotor).sel(time=result.time, method="nearest")).max())
