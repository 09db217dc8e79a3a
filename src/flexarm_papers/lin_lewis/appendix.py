"""Appendix: the printed inertia matrix of the arm of example 4.4, its misprints, and flexarm's matrix."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import cos, sin

import numpy as np

from flexarm import Arm, Beam, Link, Model, Payload, Rigid, load
from flexarm.shapes import FreeForm
from flexarm_papers.lin_lewis.compute import Array, textbook, value
from flexarm_papers.lin_lewis.loaded import BETA, PHI_L, SIGMA


@dataclass(frozen=True)
class State:
    """The appendix's symbols: angles, amplitude, lengths, masses, inertias. Index 0 is not used."""

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
        """Cosine and sine of th2 and of the equivalent joint angle 3, and the cosine of their sum."""
        th3 = self.th3 + 0.5497897482078318 * self.v / self.L[2]
        return cos(self.th2), sin(self.th2), cos(th3), sin(th3), cos(self.th2 + th3)


def printed_matrix(a: State) -> Array:
    """Return M as the appendix prints it, (4, 4), with its misprints. Lost signs and brackets are restored."""
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
    """A misprinted term of an entry of M, with its correction. Rows and columns are numbered as in the paper."""

    row: int
    column: int
    term: str
    printed: str
    right: str
    missing: Callable[[State], float]
    note: str


MISPRINTS = (
    Misprint(
        *(1, 1, "v", "+ 1.099579496415663 Lc[3] ms[3] sin(...) +"),
        "The term with Lc[3] ms[3] sin(...) needs a factor v.",
        lambda a: 2 * PHI_L * a.Lc[3] * a.ms[3] * a.angles[3] * (a.v - 1),
        "The same term with mpd L[3] has it, and without it the units do not fit.",
    ),
    Misprint(
        *(1, 2, "Lc[3]", "cos(th2 + th3 + ...) L[1] L[3] ms[3]"),
        "The term with cos(th2 + th3 + ...) L[1] ms[3] has Lc[3], not L[3].",
        lambda a: a.angles[4] * a.L[1] * a.ms[3] * (a.Lc[3] - a.L[3]),
        "The mass ms[3] sits at Lc[3]; M[1,1] has it so.",
    ),
    Misprint(
        *(1, 2, "1/2", "A[2] cos(th2) L[1] L[2]^2 ro[2] / L[2]"),
        "The term with cos(th2) ro[2] is divided by 2, not by L[2].",
        lambda a: a.angles[0] * a.L[1] * a.L[2] ** 2 * a.ro_A * (1 / 2 - 1 / a.L[2]),
        "Perhaps an error of our copy of the text and not of the print.",
    ),
    Misprint(
        *(1, 2, "sign", "+ 0.206651 A[2] L[1] L[2] ro[2] sin(th2) v"),
        "The term with 0.206651 has a minus.",
        lambda a: -2 * 0.206651 * a.L[1] * a.L[2] * a.ro_A * a.angles[1] * a.v,
        "It is half of the term with -0.413302 in M[1,1].",
    ),
    Misprint(
        *(1, 4, "L[2]^2", "2 mpd cos(th2) L[1] L[2]^2"),
        "The term 2 mpd cos(th2) L[1] L[2]^2 is two terms: 2 mpd cos(th2) L[1] L[2] + 2 mpd L[2]^2.",
        lambda a: PHI_L * a.mpd * (a.angles[0] * a.L[1] * (1 - a.L[2]) + a.L[2]),
        "The same terms with ms[3] are whole. Perhaps an error of our copy of the text and not of the print.",
    ),
    Misprint(
        *(4, 4, "Lc[3]", "0.3022687672344311 L[3]^2 ms[3] / L[2]^2"),
        "The last term with ms[3] has Lc[3]^2, not L[3]^2.",
        lambda a: PHI_L**2 * a.ms[3] * (a.Lc[3] ** 2 - a.L[3] ** 2) / a.L[2] ** 2,
        "The mass ms[3] sits at Lc[3]; M[3,4] has it so.",
    ),
)


def turning(a: State) -> Array:
    """Return the terms of link 3's rotation that the printed M lacks.

    The printed rate of link 3 is that of th1 + th3. The full rate also has th2 and phi(L) v / L[2].
    """
    whole = np.array([1.0, 1.0, 1.0, PHI_L / a.L[2]])
    printed = np.array([1.0, 0.0, 1.0, 0.0])
    return a.Ix[3] * (np.outer(whole, whole) - np.outer(printed, printed))


def corrected_matrix(a: State) -> Array:
    """Return M of the appendix with its misprints corrected and with the full rotation of link 3."""
    return without()(a)


def without(*left: Misprint, turns: bool = True) -> Callable[[State], Array]:
    """Return the corrected matrix with the given misprints left in.

    Without `turns`, the rotation of link 3 is as printed.
    """

    def matrix(a: State) -> Array:
        M = printed_matrix(a) + (turning(a) if turns else 0.0)
        for each in MISPRINTS:
            if each not in left:
                i, j = each.row - 1, each.column - 1
                M[i, j] += each.missing(a)
                M[j, i] = M[i, j]
        return M

    return matrix


def _paper_shape(x: Array, derivative: int = 0) -> Array:
    return textbook(np.asarray(x), derivative, BETA, SIGMA)


def appendix_arm(a: State) -> Arm:
    """Return the arm of a state. Its one mode is the paper's, with amplitude v, not scaled."""
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
    """Return a random state: lengths, masses and inertias around 1, a deflection of some percent."""
    L, Lc, ms, Ix = (tuple(x) for x in rng.uniform(0.4, 1.6, (4, 4)))
    th2, th3 = rng.uniform(-3, 3, 2)
    return State(th2, th3, rng.uniform(-0.3, 0.3), L, Lc, ms, Ix, *rng.uniform(0.3, 2.0, 2))


@cache
def ours(seed: int) -> tuple[State, Array]:
    """Return a random state and flexarm's M there, (4, 4)."""
    rng = np.random.default_rng(seed)
    a = random_state(rng)
    return a, value(Model(appendix_arm(a)), "mass_matrix", np.array([rng.uniform(-3, 3), a.th2, a.th3, a.v]))


SEEDS = range(44, 49)


def off(matrix: Callable[[State], Array]) -> Array:
    """Return the largest relative error of each entry of a matrix against flexarm's over random states, (4, 4)."""
    return np.max([np.abs(matrix(a) / M - 1) for a, M in map(ours, SEEDS)], axis=0)
