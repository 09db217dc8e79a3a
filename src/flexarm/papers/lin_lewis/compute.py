"""Lin & Lewis, closed forms for arms with rigid and flexible links: Theorem 1, examples 4.1 to 4.4, the appendix.

The paper's numbers are in inches, pounds and seconds; here they become SI at the edge and go back where they are shown.
Zeros of an output c q of M qdd + K q = B u are the s for which [M s^2 + K, -B; c, 0] loses rank.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, sin
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from scipy import linalg
from scipy.optimize import brentq

from flexarm import analysis
from flexarm.description.arm import Arm, Beam, Link, Payload, Rigid
from flexarm.description.load import load
from flexarm.model import Model
from flexarm.papers.claims import Claim, Verdict
from flexarm.plots import save_figure
from flexarm.sensors import Encoder
from flexarm.shapes import ClampedLoaded, FreeForm, TipLoad, family, fitted, loaded_roots, quadrature

Array = np.ndarray

INCH = 0.0254
"""[m]"""
POUND = 4.4482216152605
"""Of force [N]."""
AVOIRDUPOIS = 0.45359237
"""A pound of mass [kg]."""
LENGTH = 47 * INCH
EI = 4120 * POUND * INCH**2
RHO_A = 2.54e-4 * 0.14 * POUND / INCH**2
TIP_MASS = 0.1 * POUND / INCH
"""0.1 lbf s^2/in; the text says lbm."""
RATE = float(np.sqrt(EI / RHO_A) / LENGTH**2)
"""sqrt(EI / (rho A L^4)) [1/s]: a wave number beta vibrates at beta^2 times that."""

PRINTED_EIGENVALUES = (
    "2320.64, 1.87e5, 3.70e5, 5.92e5, 1.44e6, 2.99e6, 5.55e6, 9.47e6, 1.51e7, 2.31e7, 3.38e7, 4.79e7, 6.60e7, 8.88e7, "
    "1.17e8"
)


def reproduce(folder: Path) -> list[Claim]:
    """Check what the paper says, and draw the zeros and the influence of the deflections into the folder."""
    return [
        *theorem_1(),
        *example_41(),
        *eigenvalues(),
        *blocks(),
        *zeros_of_two_modes(),
        *zeros_of_more_modes(folder),
        *example_43(folder),
        *example_44(),
        *appendix(),
    ]


def verdict(holds: Any, if_so: Verdict = "met") -> Verdict:
    """A claim that is met or explained, unless what we found does not hold."""
    return if_so if holds else "not met"


def numbers(values: Any, digits: int = 4) -> str:
    """A list of real or complex numbers, of each conjugate pair one."""
    return ", ".join(_number(complex(x), digits) for x in values if x.imag >= -1e-6 * abs(x))


def _number(x: complex, digits: int) -> str:
    if abs(x.imag) <= 1e-6 * abs(x):
        return f"{x.real:.{digits}g}"
    if abs(x.real) <= 1e-6 * abs(x):
        return f"j{x.imag:.{digits}g}"
    return f"{x.real:.{digits}g} +- j{x.imag:.{digits}g}"


def close(found: Any, wanted: Any, rtol: float) -> bool:
    """Whether arrays agree to rtol of the largest entry wanted."""
    return float(np.abs(np.subtract(found, wanted)).max()) <= rtol * float(np.abs(wanted).max())


# -- Theorem 1 ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Structure:
    """The terms of Theorem 1 at a state: M and D of eqs. 25 and 26, D of eqs. 22 and 24, dM/dt, and D qd."""

    M: Array
    D: Array
    D_22: Array
    M_rate: Array
    bias: Array


def structure(model: Model, q: Array, qd: Array, qdd: Array) -> Structure:
    """M and D of Theorem 1 by exact differentiation of the inverse dynamics."""
    inverse = model.function("inverse_dynamics")
    x = inverse.sx_in()
    Q = inverse(*x)
    J = ca.jacobian(model.function("mass_matrix")(x[0]) @ x[1], x[0])  # J[a, k] = sum over g of dM[a, g]/dq_k qd_g
    M_rate = ca.jtimes(ca.vec(model.function("mass_matrix")(x[0])), x[0], x[1])
    terms = [ca.jacobian(Q, x[2]), ca.jacobian(Q, x[1]) / 2, J - J.T / 2, ca.reshape(M_rate, J.shape)]
    found = ca.Function("theorem", x, [ca.densify(term) for term in terms])(q, qd, qdd)
    M, D, D_22, M_rate = (np.array(term) for term in found)
    return Structure(M, D, D_22, M_rate, model.bias(q, qd))


def theorem_1() -> list[Claim]:
    """On the paper's arms, at random states."""
    rng = np.random.default_rng(1)
    off_M: list[float] = []
    off_D: list[float] = []
    skew: list[float] = []
    skew_22: list[float] = []
    for name in ("rigid-two-link", "lin-lewis-beam", "lin-lewis-azimuth-elevation", "lin-lewis-rfr"):
        model = Model(load(name))
        joints, n = len(model.inputs), len(model.coordinates)
        q, qd, qdd = rng.uniform(-1, 1, (3, n)) * np.where(np.arange(n) < joints, 1.0, 0.1)
        s = structure(model, q, qd, qdd)
        M = model.mass_matrix(q)
        off_M.append(np.abs(s.M - M).max() / np.abs(M).max())
        off_D.append(max(np.abs(D @ qd - s.bias).max() for D in (s.D, s.D_22)) / np.abs(s.bias).max())
        for W, into in ((s.M_rate - 2 * s.D, skew), (s.M_rate - 2 * s.D_22, skew_22)):
            into.append(np.abs(W + W.T).max() / np.abs(s.D).max())
    return [
        Claim(
            *("Theorem 1, eq. 25", "M = dQ/dqdd", "equal", f"equal to {max(off_M):.0e} on the arms of 4.1 to 4.4"),
            verdict(max(off_M) < 1e-12),
        ),
        Claim(
            *("Theorem 1, eq. 26", "D = 1/2 dQ/dqd, Mdot - 2 D skew", "skew"),
            f"D qd is the bias to {max(off_D):.0e}; Mdot - 2 D is skew to {max(skew):.0e}",
            verdict(max(*off_D, *skew) < 1e-12),
        ),
        Claim(
            *("Theorem 1, eqs. 22, 24", "the same D, element by element", "Mdot - 2 D skew"),
            f"the same D qd, another D: Mdot - 2 D is off skew by {skew_22[-1]:.2g} of D (arm of 4.4)",
            verdict(max(skew_22) > 0.1, "explained"),
            "eq. 22 is not symmetric in its last two indices; eq. 26 symmetrises it into Christoffel's symbols, which "
            "are what the proof uses and the theorem needs",
        ),
    ]


# -- 4.1: two rigid links ----------------------------------------------------------------------------------------------


def example_41() -> list[Claim]:
    """Against the closed form of Spong & Vidyasagar (1989), section 6.4, at random parameters."""
    rng = np.random.default_rng(41)
    arm = load("rigid-two-link")
    worst = 0.0
    for _ in range(3):
        l1, l2, a1, a2, m1, m2, I1, I2 = rng.uniform(0.3, 2.0, 8)
        bodies = [
            Rigid(length=l, mass=m, com=(a, 0, 0), inertia=I) for l, m, a, I in ((l1, m1, a1, I1), (l2, m2, a2, I2))
        ]
        links = [link.replace(body=body) for link, body in zip(arm.links, bodies, strict=True)]
        model = Model(arm.replace(links=links))
        q, qd, qdd = rng.uniform(-2, 2, (3, 2))
        c2, h, g = cos(q[1]), -m2 * l1 * a2 * sin(q[1]), 9.81
        d12 = m2 * (a2**2 + l1 * a2 * c2) + I2
        M = np.array([[m1 * a1**2 + m2 * (l1**2 + a2**2 + 2 * l1 * a2 * c2) + I1 + I2, d12], [d12, m2 * a2**2 + I2]])
        D = h * np.array([[qd[1], qd[0] + qd[1]], [-qd[0], 0.0]])
        far = m2 * a2 * g * cos(q[0] + q[1])
        G = np.array([(m1 * a1 + m2 * l1) * g * cos(q[0]) + far, far])
        s = structure(model, q, qd, qdd)
        for found, wanted in ((s.M, M), (s.D, D), (model.gravity_force(q), G)):
            worst = max(worst, np.abs(found - wanted).max() / np.abs(wanted).max())
    return [
        Claim(
            *("4.1", "rigid two-link arm: M, D by eq. 26 and G against Spong & Vidyasagar", "exactly the same"),
            f"the same to {worst:.0e}",
            verdict(worst < 1e-12),
        )
    ]


# -- 4.2: one flexible link --------------------------------------------------------------------------------------------


def beam(shapes: Any, modes: int, tip_mass: float = TIP_MASS) -> Model:
    """The arm of example 4.2 with another family of shapes, number of modes and tip mass."""
    arm = load("lin-lewis-beam")
    link = arm.links[0]
    body = link.body.replace(shapes=shapes, modes={"y": modes})
    return Model(arm.replace(links=[link.replace(body=body)], payload=Payload(mass=tip_mass)))


def linear(model: Model, q: Array | None = None) -> tuple[Array, Array, Array]:
    """M, K and B about a configuration at rest, without gravity; the strain energy is quadratic.

    A model asked but once is not worth compiling.
    """
    n = len(model.coordinates)
    q = np.zeros(n) if q is None else q
    M, K, B = (model.function(name) for name in ("mass_matrix", "stiffness_force", "input_matrix"))
    return np.array(M(q)), np.array(K(np.eye(n))), np.array(B(q))


def tip_row(model: Model) -> Array:
    """The lateral position of the tip of the arm of 4.2 per coordinate, at rest: (1, n)."""
    body: Any = model.arm.links[0].body
    tip = model.arm.payload
    shapes = fitted(body.shapes, body, "y", TipLoad(mass=tip.mass if tip else 0.0)).basis(body.counts["y"])
    return np.concatenate([[LENGTH], shapes.values(1.0)[0]])[None]


def squares(M: Array, K: Array, B: Array, C: Array) -> Array:
    """s^2 of the zeros: the pencil on the null space of C, seen from where B does not reach."""
    N, P = linalg.null_space(C), linalg.null_space(B.T).T
    z = linalg.eigvals(P @ K @ N, -P @ M @ N)
    return z[np.argsort(np.abs(z))]


def zeros(M: Array, K: Array, B: Array, C: Array) -> Array:
    """Zeros s of the output C q, one of each pair +-s, by size."""
    return np.sqrt(squares(M, K, B, C).astype(complex))


def rosenbrock(model: Model, output: str = "beam.joint") -> Array:
    """The finite zeros s of a coordinate, all of them, from the system matrix of the exact linear model."""
    n, m = len(model.coordinates), len(model.inputs)
    system = model.linearize(np.zeros(n), np.zeros(n), np.zeros(m), [Encoder(coordinate=output)])
    return analysis.zeros(system)


def eigenvalues() -> list[Claim]:
    """The printed list of 15, pinned-pinned."""
    M, K, _ = linear(beam("pinned-pinned", 15))
    ours = np.sort(linalg.eigvals(K[1:, 1:], M[1:, 1:]).real)
    exact = (np.arange(1, 16) * np.pi) ** 4 * RATE**2
    printed = [float(x) for x in PRINTED_EIGENVALUES.split(", ")]
    listed = sorted([ours[1] if x == 3.70e5 else x for x in printed[1:]])
    digits = 10 ** (np.floor(np.log10(ours[1:])) - 2)
    truncated = bool((np.abs(np.floor(ours[1:] / digits) - np.floor(np.array(listed) / digits + 1e-6)) < 0.5).all())
    gap = (2320.64 - ours[0]) / ours[-1]
    return [
        Claim(
            *("4.2", "eigenvalues of inv(M_FF) U_FF, pinned-pinned, 15 modes [1/s^2]", PRINTED_EIGENVALUES),
            ", ".join([f"{ours[0]:.2f}", *(f"{x:.2e}" for x in ours[1:])]),
            verdict(close(ours / exact, 1.0, 1e-9) and truncated, "explained"),
            "(k pi / L)^4 EI / (rho A) to 1e-9. The print cuts digits off (1.5174e7 is 1.51e7), is not in order, and "
            "has 3.70e5 for k = 2 where 3.70e4 belongs; the first is in the next line",
        ),
        Claim(
            *("4.2", "the first of them [1/s^2]", "2320.64", f"{ours[0]:.2f}"),
            verdict(round(ours[0], 2) == 2312.83, "explained"),
            f"printed {100 * (2320.64 / ours[0] - 1):.2g} percent too large; that is {gap:.0e} of the largest "
            "eigenvalue, of the size of rounding in single precision (2^-24 = 6e-8)",
        ),
    ]


def blocks() -> list[Claim]:
    """What is said of the structure of M and U."""
    apart: list[float] = []
    elsewhere: list[float] = []
    for shapes in ("pinned-pinned", "clamped-free", "clamped-mass", "polynomial", "hermite"):
        few, many = (linear(beam(shapes, count)) for count in (10, 14 if shapes == "hermite" else 15))
        worst = max(np.abs(a - b[:11, :11]).max() / np.abs(a).max() for a, b in zip(few[:2], many[:2], strict=True))
        (elsewhere if shapes == "hermite" else apart).append(worst)
    model = beam("clamped-free", 5)
    eta = np.array([0.05, -0.03, 0.02, 0.01, -0.02])
    M, bent = model.mass_matrix(np.zeros(6)), model.mass_matrix(np.concatenate([[0.7], eta]))
    constant = close(bent[1:], M[1:], 1e-13) and linalg.eigvalsh(M)[0] > 0
    M_RR = M[0, 0] + eta @ M[1:, 1:] @ eta
    return [
        Claim(
            *("4.2", "M_FF of 10 modes is a leading block of that of 15, and so is U", "for any family of shapes"),
            f"to {max(apart):.0e} for pinned-pinned, clamped-free, clamped-mass and polynomial; not for hermite",
            verdict(max(apart) < 1e-12 and elsewhere[0] > 1e-3, "explained"),
            "true where more modes add functions to the old ones; 7 finite elements share none with 5",
        ),
        Claim(
            *("4.2", "M_FF and M_RF", "constant, M_FF symmetric and positive definite"),
            f"the same at rest and bent to 1e-13; smallest eigenvalue of M {linalg.eigvalsh(M)[0]:.2g} kg",
            verdict(constant),
        ),
        Claim(
            *("4.2", "M_RR", "includes the flexible modes"),
            f"M_RR = {M[0, 0]:.4f} + eta' M_FF eta, to {abs(bent[0, 0] / M_RR - 1):.0e}",
            verdict(close(bent[0, 0], M_RR, 1e-13)),
            "the rest of the sum is that of the straight beam with its tip mass",
        ),
    ]


def zeros_of_two_modes() -> list[Claim]:
    """Output: the rigid coordinate, as the paper takes it."""
    rigid = np.array([[1.0, 0.0, 0.0]])
    free, pinned = beam("clamped-free", 2), beam("pinned-pinned", 2)
    clamped = zeros(*linear(free), rigid)
    pounds = zeros(*linear(beam("clamped-free", 2, 0.1 * AVOIRDUPOIS)), rigid)
    M, K, B = linear(pinned)
    ours = zeros(M, K, B, rigid)
    halved = M.copy()
    halved[0, 1:] /= 2  # at the output zero, only the first column multiplies the rigid coordinate, which is held
    halved[1:, 0] /= 2
    theirs = zeros(halved, K, B, rigid)
    first = np.pi**4 * RATE**2
    both = (ours, theirs)
    closed = [np.emath.sqrt(np.roots(p) * first) for p in ((1, -13, 16), (1, 2, 16))]
    checked = all(
        close(np.sort(np.abs(rosenbrock(model))), np.sort(np.abs([*z, *-z])), 1e-8)
        for model, z in ((free, clamped), (pinned, ours))
    )
    agree = all(close(np.sort(np.abs(a)), np.sort(np.abs(b)), 1e-9) for a, b in zip(closed, both, strict=True))
    agree = agree and close(sorted(theirs, key=np.imag), [58.89 - 76.06j, 58.89 + 76.06j], 3e-4)
    rounded = [clamped_free_with_rounded_shape(sigma) for sigma in (1.018, 1.0185)]
    values = loaded_roots(2, TIP_MASS / (RHO_A * LENGTH)) ** 2 * RATE
    return [
        Claim(
            *("4.2", "clamped-free, two modes: first zero [rad/s]", "+-j1.0914", f"+-j{clamped[0].imag:.4f}"),
            verdict(f"{clamped[0].imag:.4f}" == "1.0914" and abs(clamped[0].real) < 1e-6),
        ),
        Claim(
            *("4.2", "clamped-free, two modes: second zero [rad/s]", "+-j76.98", f"+-j{clamped[1].imag:.3f}"),
            verdict(round(clamped[1].imag, 2) == 76.95 and rounded[0] > 76.98 > rounded[1], "explained"),
            f"{100 * abs(76.98 / clamped[1].imag - 1):.2g} percent apart: it hangs on the last digit of the shape's "
            f"sigma_2 = 1.01847; with 1.018 it is {rounded[0]:.2f}, with 1.0185 {rounded[1]:.2f}. Both zeros are the "
            f"frequencies of the clamped, loaded beam, exactly {numbers(values, 5)}",
        ),
        Claim(
            *("4.2", "tip mass", "0.1 lbm", "0.1 lbf s^2/in = 17.51 kg"),
            verdict(abs(pounds[0].imag - 13.44) < 0.01, "explained"),
            f"with 0.1 lbm = 0.0454 kg the zeros would be +-j{pounds[0].imag:.2f} and +-j{pounds[1].imag:.2f}",
        ),
        Claim(
            *("4.2", "pinned-pinned, two modes: zeros [rad/s]", "58.89 +- j76.06, -58.89 +- j76.06"),
            f"+-{ours[0].real:.2f}, +-{ours[1].real:.2f}; with M_RF halved +-({numbers(theirs)})",
            verdict(np.abs(ours.imag).max() < 1e-6 and agree, "explained"),
            "s^2 / 2312.83 solves z^2 - 13 z + 16 = 0; halving M_RF (or phi'(0), or doubling M_FF and U_FF) makes that "
            "z^2 + 2 z + 16 = 0, whose roots are the print's to 0.03 percent. Not minimum phase either way",
        ),
        Claim(
            *("4.2", "the same zeros from the pencil of (A, B, C, D)", "none", "the same to 1e-8"),
            verdict(checked),
            "Rosenbrock's system pencil of the exact linear model, both families",
        ),
    ]


def clamped_free_with_rounded_shape(sigma: float) -> float:
    """Second zero [rad/s] of the clamped-free beam with two modes, sigma_2 = 1.018467 rounded."""
    x, w = quadrature(family("clamped-free").basis(2))
    parts = [(1.875104, 0.734096), (4.694091, sigma)]
    phi, bend, end = (
        np.array([textbook(np.asarray(at), n, beta, s) for beta, s in parts]) for at, n in ((x, 0), (x, 2), (1.0, 0))
    )
    M = (phi * w) @ phi.T + TIP_MASS / (RHO_A * LENGTH) * np.outer(end, end)
    return float(np.sqrt(linalg.eigvalsh((bend * w) @ bend.T, M)[1]) * RATE)


def textbook(x: Array, n: int, beta: float, sigma: float) -> Array:
    """The n-th derivative of cosh - cos - sigma (sinh - sin) of beta x: eq. 32 with the clamp's two conditions."""
    y = beta * x
    hyperbolic = (np.cosh(y), np.sinh(y))
    circular = [(np.cos(y), np.sin(y)), (-np.sin(y), np.cos(y)), (-np.cos(y), -np.sin(y)), (np.sin(y), -np.cos(y))]
    even, odd = circular[n % 4]
    return beta**n * (hyperbolic[n % 2] - even - sigma * (hyperbolic[(n + 1) % 2] - odd))


FAMILIES = {"pinned-pinned": "o-", "clamped-free": "s-", "clamped-mass": "^-", "hermite": "D-"}


def zeros_of_more_modes(folder: Path) -> list[Claim]:
    """Zeros of the hub's angle and of the tip's position as the modes grow, in four families."""
    hub = loaded_roots(2, TIP_MASS / (RHO_A * LENGTH)) ** 2 * RATE
    gammas = [brentq(lambda g: np.tan(g) + np.tanh(g), (k - 0.49) * np.pi, k * np.pi) for k in (1, 2)]
    tip = 2 * np.square(gammas) * RATE
    counts = {name: (2, 4, 6, 10, 16, 20) if name == "hermite" else (2, 3, 5, 10, 15, 20) for name in FAMILIES}
    found = {}
    for name in FAMILIES:
        for count in counts[name]:
            model = beam(name, count)
            M, K, B = linear(model)
            found[name, count] = [zeros(M, K, B, C)[:2] for C in (B.T, tip_row(model))]
    _figure_zeros(folder, counts, found, (hub, tip))

    same = max(float(np.abs(found["pinned-pinned", n][1][0] - rigid_zero(n)) / tip[0]) for n in (2, 5, 15))
    errors = {name: [abs(abs(z) / w - 1) for z, w in zip(found[name, counts[name][-1]], (hub, tip), strict=True)]
              for name in FAMILIES}  # fmt: skip
    worst = [max(float(e[i].max()) for e in errors.values()) for i in (0, 1)]
    kinds = all(
        np.abs(hubs.real).max() < 1e-6 * hub[1] and abs(tips[0].imag) < 1e-6 * tip[0] for hubs, tips in found.values()
    )
    M, K, B = linear(beam("clamped-mass", 10))
    omega2, V = linalg.eigh(K, M)
    share = np.abs((tip_row(beam("clamped-mass", 10)) @ V)[0] * (V.T @ B)[:, 0])[1:] / omega2[1:]
    share = share / share.sum()
    return [
        Claim(
            *("4.2, section 5", "zero dynamics", "unstable with pinned-pinned, marginally stable with clamped-free"),
            "two outputs: with pinned-pinned the rigid coordinate is the chord's angle, the tip's position over "
            "L; with clamped-free it is the hub's angle",
            verdict(kinds and same < 1e-8, "explained"),
            "every family gives imaginary zeros for the hub and a real pair for the tip, from two modes on",
        ),
        Claim(
            *("4.2", "zeros of the hub's angle [rad/s]", "depend on the shape functions"),
            f"all four families go to +-j({numbers(hub, 5)}), with most modes to {100 * worst[0]:.1g} percent",
            verdict(worst[0] < 0.03, "explained"),
            "the frequencies of the clamped, loaded beam. With two modes: "
            + "; ".join(f"{name} {numbers(found[name, 2][0].imag)}" for name in FAMILIES),
        ),
        Claim(
            *("4.2", "zeros of the tip's position [rad/s]", "depend on the shape functions"),
            f"all four families go to +-({numbers(tip, 5)}), with most modes to {100 * worst[1]:.1g} percent",
            verdict(worst[1] < 0.005, "explained"),
            "+-2 gamma^2 sqrt(EI / rho A L^4), tan(gamma) = -tanh(gamma), whatever the tip mass. With two modes: "
            + "; ".join(f"{name} {numbers(found[name, 2][1].real)}" for name in FAMILIES),
        ),
        Claim(
            *("4.2", "vibrations", "amplitude ( ) e^(-omega t); only the lower modes dominate"),
            f"poles on the imaginary axis; the first modes' shares of the tip's answer to a torque: "
            f"{numbers(share[:4], 2)}",
            verdict(share[0] > 0.5 and omega2[1:].min() > 0, "explained"),
            "nothing is damped, so it is e^(+-j omega t); high modes are small because they are hard to excite: "
            "phi(L) phi'(0) / omega^2",
        ),
    ]


def rigid_zero(modes: int) -> complex:
    """First zero of the rigid coordinate, pinned-pinned."""
    M, K, B = linear(beam("pinned-pinned", modes))
    return complex(zeros(M, K, B, np.eye(1, modes + 1))[0])


def _figure_zeros(folder: Path, counts: dict, found: dict, exact: tuple[Array, Array]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 7.5), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True)
    titles = ("angle of the hub: zeros +-j omega", "position of the tip: zeros +-s, the first two by size")
    for i, (column, title, limits) in enumerate(zip(panels.T, titles, exact, strict=True)):
        for name, style in FAMILIES.items():
            z = np.abs([found[name, n][i] for n in counts[name]])
            for k, fill in ((0, "full"), (1, "none")):
                mark = {"color": f"C{list(FAMILIES).index(name)}", "fillstyle": fill, "markersize": 5, "linewidth": 1}
                label = name if k == 0 else None
                column[0].semilogy(counts[name], z[:, k], style, label=label, **mark)
                error = np.maximum(np.abs(z[:, k] / limits[k] - 1), 1e-12)
                column[1].loglog(counts[name], error, style, **mark)
        for value in limits:
            column[0].axhline(value, color="0.3", linestyle=":", linewidth=1)
        column[0].set_title(title, fontsize="medium")
        column[0].set_ylabel("|s| [rad/s]; dotted: exact")
        column[1].set_ylabel("relative error (filled: first, open: second)")
        column[1].set_xlabel("number of modes (hermite: functions)")
        column[1].set_xticks([2, 5, 10, 20], ["2", "5", "10", "20"])
        column[1].set_xticks([], minor=True)
        for axes in column:
            axes.grid(alpha=0.3)
    panels[0, 0].legend(fontsize="small")
    figure.suptitle("Lin & Lewis 4.2: zeros belong to the output, not to the family")
    save_figure(figure, folder / "lin-lewis-zeros.png")


# -- 4.3: azimuth and elevation ----------------------------------------------------------------------------------------


def turret(shapes: str) -> Model:
    """The arm of example 4.3 with another family of shapes in both planes."""
    arm = load("lin-lewis-azimuth-elevation")
    first, last = arm.links
    return Model(arm.replace(links=[first, last.replace(body=last.body.replace(shapes=shapes))]))


def example_43(folder: Path) -> list[Claim]:
    """Zeros of the two angles, and what the deflections do to M and to the velocity terms."""
    angles = np.eye(2, 6)
    level, raised = np.zeros(6), np.array([0.0, 0.6, 0.0, 0.0, 0.0, 0.0])
    free, pinned = turret("clamped-free"), turret("pinned-pinned")
    clamped = [zeros(*linear(free, q), angles) for q in (level, raised)]
    ours = [zeros(*linear(pinned, q), angles) for q in (level, raised)]
    theirs = []
    slopes = family("pinned-pinned").basis(2).values(0.0, 1)[0] / LENGTH
    for q in (level, raised):
        M, K, B = linear(pinned, q)
        B = B.copy()
        B[2:4, 0] = slopes * cos(q[1])  # the azimuth torque works on the root's turning about the vertical too
        theirs.append(zeros(M, K, B, angles))
    marginal = all(np.abs(z.real).max() < 1e-6 * np.abs(z).max() for z in clamped)
    unstable = all((z.real > 1.0).any() for z in (*ours, *theirs))
    amplitude = np.logspace(-4, -1, 7)
    changes = {rate: influence(free, amplitude, rate) for rate in (1.0, 0.1)}
    _figure_influence(folder, amplitude, changes)
    (in_M, in_h), (_, in_h_slow) = (changes[rate][4] for rate in (1.0, 0.1))
    M = free.mass_matrix(raised)
    horizontal, vertical = M[np.ix_([0, 2, 3], [1, 4, 5])], free.mass_matrix(raised + [0, 0, 0.1, 0, 0, 0])[0, 4:]
    return [
        Claim(
            *("4.3", "coordinates with two modes a plane", "th1, th2, u1, u2, v1, v2", ", ".join(free.coordinates)),
            verdict(len(free.coordinates) == 6 and np.abs(horizontal).max() < 1e-12),
            "not bent, azimuth and horizontal bending are coupled with elevation and vertical bending by nothing in M; "
            f"a horizontal deflection couples them (M[th1, v1] = {vertical[0]:.2f} kg m at u1 = 0.1 m)",
        ),
        Claim(
            *("4.3", "zeros of both angles, clamped-free", "marginally stable"),
            f"+-({numbers(clamped[0])}) rad/s, the same at an elevation of 0.6 rad",
            verdict(marginal and close(clamped[0].imag, clamped[1].imag, 1e-9)),
            "those of 4.2, once in each plane: the paper prints none; the barrel is the beam of 4.2",
        ),
        Claim(
            *("4.3", "zeros of both angles, pinned-pinned", "non-minimum phase"),
            f"level +-({numbers(ours[0])}); with the azimuth torque on the horizontal slope +-({numbers(theirs[0])})",
            verdict(unstable),
            "in flexarm a joint drives the slope about its own axis alone: the elevation joint that in the barrel's "
            "vertical plane. Lin & Lewis' B has the azimuth torque work on the horizontal slope too, which makes both "
            f"planes alike; raised by 0.6 rad +-({numbers(theirs[1])})",
        ),
        Claim(
            *("4.3", "influence of the deflections", "significant on Coriolis and centrifugal terms, little on M"),
            f"a vibration of 1 percent of the length changes M by {100 * in_M:.2f} percent, the velocity terms by "
            f"{100 * in_h:.2g} percent where the joints turn at 1 rad/s and by {100 * in_h_slow:.2g} at 0.1 rad/s",
            verdict(in_h > 2 * in_M and in_h_slow > 20 * in_M, "explained"),
            "M changes by a / L, whatever the rates; the velocity terms by (a / L) (omega / theta_d): significant "
            "where the vibration is fast beside the joints",
        ),
    ]


def influence(model: Model, amplitude: Array, rate: float) -> Array:
    """Median relative changes of the joints' M and velocity terms by vibrations of the barrel: (amplitudes, 2).

    Both planes vibrate in their two lowest modes, joints locked, at random phases, in random shares of an amplitude
    given over the length; the joints turn at the rate either way.
    """
    omega, V = model.modes(np.zeros(6))
    V = V / np.abs(V).max(axis=0)
    changes = []
    for a in amplitude:
        rng = np.random.default_rng(43)
        phase, size = rng.uniform(0, 2 * np.pi, (200, 4)), rng.standard_normal((200, 4))
        size *= a * LENGTH / np.linalg.norm(size, axis=1)[:, None]
        q0, qd0 = np.zeros((200, 6)), np.zeros((200, 6))
        q0[:, :2], qd0[:, :2] = rng.uniform(-1, 1, (200, 2)), rng.choice([-rate, rate], (200, 2))
        q, qd = q0 + (size * np.cos(phase)) @ V.T, qd0 - (size * omega * np.sin(phase)) @ V.T
        M0, M = (model.mass_matrix(x)[:, :2, :2].reshape(200, 4) for x in (q0, q))
        h0, h = model.bias(q0, qd0)[:, :2], model.bias(q, qd)[:, :2]
        pairs = ((M0, M), (h0, h))
        changes.append([np.median(np.linalg.norm(y - x, axis=1) / np.linalg.norm(x, axis=1)) for x, y in pairs])
    return np.array(changes)


def _figure_influence(folder: Path, amplitude: Array, changes: dict[float, Array]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for rate, style in zip(changes, ("o-", "^-"), strict=True):
        label = f"Coriolis and centrifugal terms, joints at {rate:g} rad/s"
        axes.loglog(100 * amplitude, 100 * changes[rate][:, 1], style, label=label)
    axes.loglog(100 * amplitude, 100 * changes[1.0][:, 0], "s-", label="inertia matrix")
    axes.set_xlabel("vibration of the barrel [percent of its length]")
    axes.set_ylabel("change of the joints' terms [percent]")
    axes.set_title("Lin & Lewis 4.3: what the deflections do", fontsize="medium")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    save_figure(figure, folder / "lin-lewis-influence.png")


# -- 4.4: rigid, flexible, rigid ---------------------------------------------------------------------------------------

PHI_L = 0.5497897482078318
MEAN = 0.2748948741039159 * 0.7517462583877994
"""Of phi over the length, from M[1,4]; 0.206651 in M[1,2]."""
MEAN_X = PHI_L * 0.2754985845918819
"""Of eta phi, from M[2,4]."""
MEAN_SQUARE = 0.07147226535009999
BETA, SIGMA = 0.912224, 1.1213
"""With these the textbook's form has the printed constants in all their digits."""


def constants(values: Callable[[Array], Array]) -> Array:
    """phi(1), and the means of phi, x phi and phi^2."""
    t, w = np.polynomial.legendre.leggauss(24)
    x, w = (1 + t) / 2, w / 2
    phi = values(x)
    return np.array([values(np.ones(1))[0], w @ phi, w @ (x * phi), w @ phi**2])


def load_ratio(beta: float) -> float:
    """Tip mass over the beam's, for which beta is a wave number."""
    c, s, C, S = cos(beta), sin(beta), np.cosh(beta), np.sinh(beta)
    return float((1 + c * C) / (beta * (s * C - c * S)))


def rfr(shapes: Any, modes: int = 1) -> Model:
    """The arm of example 4.4 with another family of shapes."""
    arm = load("lin-lewis-rfr")
    first, middle, last = arm.links
    body = middle.body.replace(shapes=shapes, modes={"y": modes})
    return Model(arm.replace(links=[first, middle.replace(body=body), last]))


def example_44() -> list[Claim]:
    """The mode of the loaded beam, and what it is good for."""
    wanted = np.array([PHI_L, MEAN, MEAN_X, MEAN_SQUARE])
    written = constants(lambda x: textbook(x, 0, BETA, SIGMA))
    mode = ClampedLoaded(mass_ratio=load_ratio(0.910726))
    shape = mode.basis(1)
    scaled = constants(lambda x: PHI_L * shape.values(x)[:, 0])
    digits = [f"{v:.{n}g}" for v, n in zip(scaled, (7, 6, 6, 6), strict=True)]
    printed = ["0.5497897", "0.206651", "0.151466", "0.0714723"]
    sigma = (np.cosh(BETA) + cos(BETA)) / (np.sinh(BETA) + sin(BETA))
    misprint = constants(lambda x: np.sinh(BETA * x) - np.sin(BETA * x))
    free = np.zeros(4)
    fine = rfr("hermite", 20).frequencies(np.zeros(23))[0]
    off = {
        name: abs(rfr(shapes).frequencies(free)[0] / fine - 1)
        for name, shapes in (
            ("clamped-loaded", "clamped-loaded"),
            ("clamped-mass", "clamped-mass"),
            ("clamped-free", "clamped-free"),
            ("polynomial", "polynomial"),
        )
    }
    return [
        Claim(
            *("4.4, appendix", "phi(L) and the means of phi, eta phi, phi^2", ", ".join(printed), ", ".join(digits)),
            verdict(digits == printed and abs(mode.roots(1)[0] - 0.910726) < 1e-9),
            f"the clamped-loaded mode of beta L = 0.910726 (load {load_ratio(0.910726):.5f} times the beam's mass), "
            "scaled to the printed phi(L), to the digits shown",
        ),
        Claim(
            *("4.4, appendix", "the same with all printed digits", "16 digits"),
            f"cosh - cos - {SIGMA} (sinh - sin), beta L = {BETA}, not scaled: equal to "
            f"{np.abs(written / wanted - 1).max():.0e}",
            verdict(bool(np.abs(written / wanted - 1).max() < 1e-13), "explained"),
            f"beta L and sigma were rounded before they were used: exact is sigma = {sigma:.6f}. That beta belongs "
            f"to a load of {load_ratio(BETA):.4f} times the beam's mass. phi(L) is then this form's own value",
        ),
        Claim(
            *("eq. 30", "the second condition on curvature", "phi''(0) = 0", "phi''(L) = 0"),
            verdict(abs(misprint[1] / misprint[0] - MEAN / PHI_L) > 0.1, "explained"),
            f"with 0 the shape is sinh - sin, whose mean is {misprint[1] / misprint[0]:.3f} phi(L); the appendix has "
            f"{MEAN / PHI_L:.3f}",
        ),
        Claim(
            *("4.4", "shapes for a link with a load beyond", "clamped-loaded is more exact than clamped-free"),
            "first frequency, joints locked, one mode, off by "
            + ", ".join(f"{100 * e:.2g} ({name})" for name, e in off.items())
            + " percent",
            verdict(off["clamped-loaded"] < off["clamped-free"]),
            f"against 10 elements, {fine:.5f} rad/s; the arm's numbers are ours, the paper prints none. The chord "
            "angle makes the load turn, which no tip mass shows",
        ),
    ]


# -- the appendix ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class State:
    """The appendix's symbols: angles, amplitude, lengths, masses, inertias; index 0 is not used."""

    th2: float
    th3: float
    v: float
    L: tuple[float, ...]
    Lc: tuple[float, ...]
    ms: tuple[float, ...]
    Ix: tuple[float, ...]
    mpd: float
    ro_A: float

    @property
    def angles(self) -> tuple[float, float, float, float, float]:
        """cos and sin of th2 and of the equivalent joint angle 3, cos of their sum."""
        th3 = self.th3 + 0.5497897482078318 * self.v / self.L[2]
        return cos(self.th2), sin(self.th2), cos(th3), sin(th3), cos(self.th2 + th3)


def printed_matrix(a: State) -> Array:
    """M as the appendix prints it, (4, 4), misprints included; where a sign or bracket is lost, as it must read."""
    c2, s2, c3, s3, c23 = a.angles
    L, Lc, ms, Ix, mpd, ro, v = a.L, a.Lc, a.ms, a.Ix, a.mpd, a.ro_A, a.v
    M = np.zeros((4, 4))
    M[0, 0] = (
        Ix[1] + Ix[3] + mpd * L[1]**2 + 2 * mpd * c2 * L[1] * L[2] + mpd * L[2]**2 + 2 * mpd * c23 * L[1] * L[3]
        + 2 * mpd * c3 * L[2] * L[3] + mpd * L[3]**2 + Lc[1]**2 * ms[1] + L[1]**2 * ms[3]
        + 2 * c2 * L[1] * L[2] * ms[3] + L[2]**2 * ms[3] + 2 * c23 * L[1] * Lc[3] * ms[3]
        + 2 * c3 * L[2] * Lc[3] * ms[3] + Lc[3]**2 * ms[3] + L[1]**2 * L[2] * ro + c2 * L[1] * L[2]**2 * ro
        + L[2]**3 * ro / 3 - 1.09958 * mpd * L[1] * s2 * v - 1.09958 * L[1] * ms[3] * s2 * v
        - 0.413302 * L[1] * L[2] * ro * s2 * v + 1.099579496415663 * mpd * L[3] * s3 * v
        + 1.099579496415663 * Lc[3] * ms[3] * s3 + 0.3022687672344311 * mpd * v**2
        + 0.3022687672344311 * ms[3] * v**2 + 0.07147226535009999 * L[2] * ro * v**2
    )  # fmt: skip
    M[0, 1] = (
        mpd * c2 * L[1] * L[2] + mpd * L[2]**2 + mpd * c23 * L[1] * L[3] + 2 * mpd * c3 * L[2] * L[3] + mpd * L[3]**2
        + c2 * L[1] * L[2] * ms[3] + L[2]**2 * ms[3] + c23 * L[1] * L[3] * ms[3] + 2 * c3 * L[2] * Lc[3] * ms[3]
        + Lc[3]**2 * ms[3] + c2 * L[1] * L[2]**2 * ro / L[2] + L[2]**3 * ro / 3 - 0.54979 * mpd * L[1] * s2 * v
        - 0.54979 * L[1] * ms[3] * s2 * v + 0.206651 * L[1] * L[2] * ro * s2 * v
        + 1.099579496415663 * mpd * L[3] * s3 * v + 1.099579496415663 * Lc[3] * ms[3] * s3 * v
        + 0.3022687672344311 * mpd * v**2 + 0.3022687672344311 * ms[3] * v**2
        + 0.07147226535009999 * L[2] * ro * v**2
    )  # fmt: skip
    M[0, 2] = (
        Ix[3] + mpd * (c23 * L[1] * L[3] + c3 * L[2] * L[3] + L[3]**2 + 0.5497897482078318 * L[3] * s3 * v)
        + ms[3] * (c23 * L[1] * Lc[3] + c3 * L[2] * Lc[3] + Lc[3]**2 + 0.5497897482078318 * Lc[3] * s3 * v)
    )  # fmt: skip
    M[0, 3] = 0.2748948741039159 / L[2] * (
        2 * mpd * c2 * L[1] * L[2]**2 + 2 * mpd * c23 * L[1] * L[3] + 4 * mpd * c3 * L[2] * L[3] + 2 * mpd * L[3]**2
        + 2 * c2 * L[1] * L[2] * ms[3] + 2 * L[2]**2 * ms[3] + 2 * c23 * L[1] * Lc[3] * ms[3]
        + 4 * c3 * L[2] * Lc[3] * ms[3] + 2 * Lc[3]**2 * ms[3] + 0.7517462583877994 * c2 * L[1] * L[2]**2 * ro
        + 0.5509971691837638 * L[2]**3 * ro + 1.099579496415663 * mpd * L[3] * s3 * v
        + 1.099579496415663 * Lc[3] * ms[3] * s3 * v
    )  # fmt: skip
    M[1, 1] = (
        mpd * L[2]**2 + 2 * mpd * c3 * L[2] * L[3] + mpd * L[3]**2 + L[2]**2 * ms[3] + 2 * c3 * L[2] * Lc[3] * ms[3]
        + Lc[3]**2 * ms[3] + L[2]**3 * ro / 3 + 1.099579496415663 * mpd * L[3] * s3 * v
        + 1.099579496415663 * Lc[3] * ms[3] * s3 * v + 0.3022687672344311 * mpd * v**2
        + 0.3022687672344311 * ms[3] * v**2 + 0.07147226535009999 * L[2] * ro * v**2
    )  # fmt: skip
    M[1, 2] = (
        mpd * (c3 * L[2] * L[3] + L[3]**2 + 0.5497897482078318 * L[3] * s3 * v)
        + ms[3] * (c3 * L[2] * Lc[3] + Lc[3]**2 + 0.5497897482078318 * Lc[3] * s3 * v)
    )  # fmt: skip
    M[1, 3] = 0.5497897482078318 / L[2] * (
        mpd * L[2]**2 + 2 * mpd * c3 * L[2] * L[3] + mpd * L[3]**2 + L[2]**2 * ms[3] + 2 * c3 * L[2] * Lc[3] * ms[3]
        + Lc[3]**2 * ms[3] + 0.2754985845918819 * L[2]**3 * ro + 0.5497897482078318 * mpd * L[3] * s3 * v
        + 0.5497897482078318 * Lc[3] * ms[3] * s3 * v
    )  # fmt: skip
    M[2, 2] = Ix[3] + mpd * L[3] ** 2 + Lc[3] ** 2 * ms[3]
    M[2, 3] = (
        0.5497897482078318 * mpd * c3 * L[3] + 0.5497897482078318 * mpd * L[3]**2 / L[2]
        + 0.5497897482078318 * c3 * Lc[3] * ms[3] + 0.5497897482078318 * Lc[3]**2 * ms[3] / L[2]
    )  # fmt: skip
    M[3, 3] = (
        0.3022687672344311 * mpd + 0.6045375344688622 * mpd * c3 * L[3] / L[2]
        + 0.3022687672344311 * mpd * L[3]**2 / L[2]**2 + 0.3022687672344311 * ms[3]
        + 0.6045375344688622 * c3 * Lc[3] * ms[3] / L[2] + 0.3022687672344311 * L[3]**2 * ms[3] / L[2]**2
        + 0.07147226535009999 * L[2] * ro
    )  # fmt: skip
    return M + np.triu(M, 1).T


@dataclass(frozen=True)
class Misprint:
    """What is printed, what belongs there, and what that adds to an entry of M (numbered as the paper does)."""

    row: int
    column: int
    printed: str
    right: str
    missing: Callable[[State], float]
    note: str = ""


MISPRINTS = (
    Misprint(
        *(1, 1, "1.0996 Lc[3] ms[3] sin(th3*)", "that times v"),
        lambda a: 2 * PHI_L * a.Lc[3] * a.ms[3] * a.angles[3] * (a.v - 1),
        "the same term with mpd L[3] has it, and without it the dimension is wrong",
    ),
    Misprint(
        *(1, 2, "cos(th2 + th3*) L[1] L[3] ms[3]", "Lc[3] for L[3]"),
        lambda a: a.angles[4] * a.L[1] * a.ms[3] * (a.Lc[3] - a.L[3]),
        "ms[3] sits at Lc[3], as in M[1,1]",
    ),
    Misprint(
        *(1, 2, "A[2] cos(th2) L[1] L[2]^2 ro[2] / L[2]", "/ 2"),
        lambda a: a.angles[0] * a.L[1] * a.L[2] ** 2 * a.ro_A * (1 / 2 - 1 / a.L[2]),
        "perhaps of the extracted text, not of the print",
    ),
    Misprint(
        *(1, 2, "+ 0.206651 A[2] L[1] L[2] ro[2] sin(th2) v", "-"),
        lambda a: -2 * 0.206651 * a.L[1] * a.L[2] * a.ro_A * a.angles[1] * a.v,
        "half of the term -0.413302 in M[1,1], with its sign",
    ),
    Misprint(
        *(1, 4, "2 mpd cos(th2) L[1] L[2]^2", "2 mpd cos(th2) L[1] L[2] + 2 mpd L[2]^2"),
        lambda a: PHI_L * a.mpd * (a.angles[0] * a.L[1] * (1 - a.L[2]) + a.L[2]),
        "two terms run into one, perhaps in the extracted text; the terms with ms[3] are whole",
    ),
    Misprint(
        *(4, 4, "0.3023 L[3]^2 ms[3] / L[2]^2", "Lc[3] for L[3]"),
        lambda a: PHI_L**2 * a.ms[3] * (a.Lc[3] ** 2 - a.L[3] ** 2) / a.L[2] ** 2,
        "ms[3] sits at Lc[3], as in M[3,4]",
    ),
)


def turning(a: State) -> Array:
    """What M lacks because link 3 turns, in print, with th1 + th3 alone: its rate has th2 and phi(L) v / L[2] too."""
    whole = np.array([1.0, 1.0, 1.0, PHI_L / a.L[2]])
    printed = np.array([1.0, 0.0, 1.0, 0.0])
    return a.Ix[3] * (np.outer(whole, whole) - np.outer(printed, printed))


def corrected_matrix(a: State) -> Array:
    """M of the appendix with its misprints put right, and with all of link 3's turning."""
    M = printed_matrix(a) + turning(a)
    for each in MISPRINTS:
        i, j = each.row - 1, each.column - 1
        M[i, j] += each.missing(a)
        M[j, i] = M[i, j]
    return M


def _paper_shape(x: Array, derivative: int = 0) -> Array:
    return textbook(np.asarray(x), derivative, BETA, SIGMA)


def appendix_arm(a: State) -> Arm:
    """The arm of a state, its one mode as the paper wrote it (amplitude v, not scaled)."""
    arm = load("lin-lewis-rfr")
    shape = FreeForm(functions=[_paper_shape], scaled=False)
    ends = {i: Rigid(length=a.L[i], mass=a.ms[i], com=(a.Lc[i], 0, 0), inertia=(0, a.Ix[i], a.Ix[i])) for i in (1, 3)}
    middle = Beam(length=a.L[2], mass_per_length=a.ro_A, EI=20.0, modes={"y": 1}, shapes=shape, next_joint="chord")
    links = [
        Link(name=link.name, joint=link.joint, body=body)
        for link, body in zip(arm.links, (ends[1], middle, ends[3]), strict=True)
    ]
    return arm.replace(links=links, payload=Payload(mass=a.mpd))


def random_state(rng: np.random.Generator) -> State:
    """Lengths, masses and inertias of any size, a deflection of some percent."""
    L, Lc, ms, Ix = (tuple(x) for x in rng.uniform(0.4, 1.6, (4, 4)))
    th2, th3 = rng.uniform(-3, 3, 2)
    return State(th2, th3, rng.uniform(-0.3, 0.3), L, Lc, ms, Ix, *rng.uniform(0.3, 2.0, 2))


def appendix() -> list[Claim]:
    """Entry by entry at random values."""
    rng = np.random.default_rng(44)
    off, as_printed = np.zeros((4, 4)), np.zeros((4, 4))
    for _ in range(5):
        a = random_state(rng)
        q = np.array([rng.uniform(-3, 3), a.th2, a.th3, a.v])
        ours = np.array(Model(appendix_arm(a)).function("mass_matrix")(q))
        off = np.maximum(off, np.abs(corrected_matrix(a) / ours - 1))
        as_printed = np.maximum(as_printed, np.abs((printed_matrix(a) + turning(a)) / ours - 1))
    good = np.array([[i, j] for i in range(4) for j in range(i, 4) if as_printed[i, j] < 1e-5]) + 1
    wrong = sorted({(each.row, each.column) for each in MISPRINTS})
    all_named = len(good) + len(wrong) == 10 and off.max() < 1e-5
    few = max(off[0, 0], off[0, 1])
    rest = max(off[i, j] for i in range(4) for j in range(i, 4) if (i, j) not in ((0, 0), (0, 1)))
    return [
        Claim(
            *("Appendix", "M entry by entry, without the inertia of link 3", "10 entries"),
            f"as printed: {', '.join(f'M[{i},{j}]' for i, j in good)}; with the corrections below all ten",
            verdict(all_named, "explained"),
            f"equal to {rest:.0e} relative, M[1,1] and M[1,2], with some coefficients of six digits, to {few:.0e}",
        ),
        *(
            Claim(
                *("Appendix", f"M[{each.row},{each.column}]", each.printed, each.right),
                verdict(all_named, "explained"),
                each.note,
            )
            for each in MISPRINTS
        ),
        Claim(
            *("Appendix, eq. 7", "inertia Ix[3]", "in M[1,1], M[1,3], M[3,3] alone", "in all ten entries"),
            verdict(all_named, "explained"),
            "the printed matrix turns link 3 with th1 + th3: eq. 7 was summed over the rigid links, and left out th2 "
            "and the chord's 0.5497897 v / L[2], which the other terms of the same matrix have",
        ),
    ]
