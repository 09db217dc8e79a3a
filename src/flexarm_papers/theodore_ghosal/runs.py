"""Models, motions and eigenvalues shared by several claims and figures, each computed on first use."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar, final

import numpy as np

from flexarm import Arm, PrescribedMotion, analysis, load, simulate
from flexarm.simulation.dataset import group_velocity_ratio
from flexarm_papers.theodore_ghosal.compute import (
    AFTER,
    BLEND,
    BLENDS,
    DIRECTIONS,
    DURATION,
    Array,
    Flexible,
    apart,
    in_line,
    joints_along,
    motion,
    varied,
)
from flexarm_papers.theodore_ghosal.waves import integrated

T = TypeVar("T")

PAPER = "2 modes"
"""Discretization of the paper: clamped-mass shapes that follow the length by eq. 11."""
MODELS: dict[str, dict[str, Any]] = {
    PAPER: {},
    "fixed": {"wave_numbers": "fixed"},
    "1 mode, fixed": {"modes": 1, "wave_numbers": "fixed"},
    "3 modes, fixed": {"modes": 3, "wave_numbers": "fixed"},
    "eq. 24": {"wave_numbers": "fixed", "convection": "paper"},
    **{f"{n} clamped-free": {"shapes": "clamped-free", "modes": n, "wave_numbers": "fixed"} for n in (1, 2, 3)},
    **{f"{n} elements": {"shapes": "hermite", "modes": 2 * n, "wave_numbers": "fixed"} for n in (2, 4, 10)},
}
"""Changes of the arm by name. `fixed` has the two shapes of l = 1 m at every length."""

DURATIONS = (2.0, 1.0, 0.5, 0.25, 0.125)
"""Durations of the motions that show the effect of convection [s]."""
FROZEN = np.linspace(0.005, 0.995, 100)
"""Times of the frozen eigenvalues [s]. The motion's corners lie between them."""


@final
@dataclass(frozen=True, eq=False)
class Vibration:
    """A free vibration in the first mode while the beam slides and joints 1 and 2 are at rest.

    Attributes
    ----------
    t, tip : times [s] and the tip's deflection [m]
    peaks : positions of its peaks
    omega, mass : of the mode, scaled to 1 at the tip
    adiabatic : amplitude [m] if energy over frequency is conserved, (M omega)^(-1/2)
    t_frozen, frozen : times, and the amplitude [m] by the frozen real parts, exp(int Re dt)
    """

    t: Array
    tip: Array
    peaks: Array
    omega: Array
    mass: Array
    adiabatic: Array
    t_frozen: Array
    frozen: Array

    @property
    def amplitude(self) -> float:
        """Last peak over the first amplitude."""
        return float(np.abs(self.tip[self.peaks[-1]] / self.tip[0]))

    def last_over_first(self, power: float) -> float:
        """Return the last value of amplitude times omega^power over the first."""
        return float(self.amplitude * (self.omega[self.peaks[-1]] / self.omega[0]) ** power)

    @property
    def energy(self) -> float:
        """Last value over the first of M omega^2 A^2 / 2 at a peak."""
        return float(self.last_over_first(1.0) ** 2 * self.mass[self.peaks[-1]] / self.mass[0])


@final
@dataclass(frozen=True, eq=False)
class EnergyRate:
    """Eq. 41 along a free vibration at fixed shapes, while the length changes at a constant rate.

    Attributes
    ----------
    rate : dV/dt [W] over its largest size
    shares : of the change of V [percent]: 1/2 xi' dK/dt xi (eq. 42), and -1/2 xi_dot' dM/dt xi_dot
    missed : largest difference between the rate and the sum of both parts, over the largest rate
    """

    rate: Array
    shares: tuple[float, float]
    missed: float


@final
class Runs:
    """Results that the claims and the figures use."""

    def __init__(self) -> None:
        self.arm: Arm = load("theodore-ghosal")
        self._kept: dict[Hashable, Any] = {}

    def _once(self, key: Hashable, made: Callable[[], T]) -> T:
        if key not in self._kept:
            self._kept[key] = made()
        found: T = self._kept[key]
        return found

    def model(self, name: str) -> Flexible:
        """Return one of `MODELS`."""
        return self._once(name, lambda: Flexible(varied(self.arm, **MODELS[name])))

    def tip(self, name: str, direction: str) -> Array:
        """Return the tip's deflection along Fig. 4, (1001, 2), every millisecond."""
        return self._once(("tip", name, direction), lambda: self.model(name).run(motion(direction))[2])

    def off(self, name: str, from_: str = "10 elements") -> float:
        """Return the tip's error against another model, both directions, in percent of the largest deflection."""
        return max(apart(self.tip(name, d), self.tip(from_, d)) for d in DIRECTIONS)

    def bending(self, direction: str) -> tuple[Array, Array]:
        """Return times and the amplitudes of the paper's modes along Fig. 4, (1201, 4), every ms until 1.2 s."""
        end, model = DURATION + AFTER, self.model(PAPER)
        return self._once(("bending", direction), lambda: model.run(motion(direction), end, 2400)[:2])

    def simulated(self, direction: str) -> Any:
        """Return Fig. 4's motion with its forces by `simulate`, every millisecond until 1.2 s, with fixed shapes."""

        def run() -> Any:
            model, reference = self.model("fixed").model, PrescribedMotion(motion(direction))
            return simulate(model, DURATION + AFTER, reference, samples=1201, progress=False)

        return self._once(("simulated", direction), run)

    def eigenvalues(self, name: str, direction: str, slewing: bool = True, blend: float = BLEND) -> Array:
        """Return the frozen eigenvalues of positive frequency at the times `FROZEN`, lowest first: (100, 4)."""
        reference = motion(direction, blend=blend, slewing=slewing)
        key = ("eigenvalues", name, direction, slewing, blend)
        return self._once(key, lambda: self.model(name).eigenvalues(reference, FROZEN))

    def largest(self, blend: float, across: bool = True) -> Array:
        """Return the largest deflections of the tip along Fig. 4, extension and retraction [mm].

        The blend time may differ, and so may the reading of Fig. 3 (`across`).
        """

        def found() -> Array:
            model = self.model("fixed") if across else Flexible(varied(in_line(self.arm), wave_numbers="fixed"))
            return np.array([1e3 * np.abs(model.run(motion(d, blend=blend))[2]).max() for d in DIRECTIONS])

        return self._once(("largest", blend, across), found)

    def blends(self) -> dict[float, Array]:
        """Return `largest` for every blend time."""
        return {b: self.largest(b) for b in BLENDS}

    def beta(self, direction: str) -> tuple[Array, Array]:
        """Return times and the wave numbers by eq. 11, (41, 2)."""
        t = np.linspace(0.0, DURATION, 41)
        return self._once(("beta", direction), lambda: (t, integrated(self.arm, motion(direction), t)))

    def vibration(self, direction: str) -> Vibration:
        """Return a free vibration of 1 mm."""

        def found() -> Vibration:
            model, reference = self.model(PAPER), motion(direction, slewing=False)
            t, tip, omega, mass = model.plucked(reference)
            inside = np.abs(tip[1:-1])
            peaks = 1 + np.flatnonzero((inside > np.abs(tip[:-2])) & (inside > np.abs(tip[2:])))
            adiabatic = tip[0] * np.sqrt(mass[0] * omega[0] / (mass * omega))
            some = t[::50]
            rates = model.eigenvalues(reference, some).real[:, 0]
            grown = np.concatenate([[0.0], np.cumsum((rates[1:] + rates[:-1]) / 2 * np.diff(some))])
            return Vibration(t, tip, peaks, omega, mass, adiabatic, some, tip[0] * np.exp(grown))

        return self._once(("vibration", direction), found)

    def convection(self) -> tuple[Array, Array, Array]:
        """Return U / U_g and the error of the tip by eq. 24 [percent], slewing and standing, for each of `DURATIONS`.

        Standing, the beam vibrates freely. Shapes are fixed in both.
        """

        def found() -> tuple[Array, Array, Array]:
            x, slewing, standing = np.empty((3, len(DURATIONS)))
            ours, theirs = (self.model(name) for name in ("fixed", "eq. 24"))
            for k, duration in enumerate(DURATIONS):
                steps = max(2000, int(2000 * duration))
                reference = motion("extension", duration, BLEND * duration)
                a, b = (one.run(reference, duration, steps, steps // 1000)[2] for one in (ours, theirs))
                slewing[k] = apart(b, a)
                reference = motion("extension", duration, BLEND * duration, slewing=False)
                a, b = (one.plucked(reference, duration, steps)[1] for one in (ours, theirs))
                standing[k] = apart(b, a)
                q, qd, _ = (z.T for z in joints_along(reference, np.linspace(0.0, duration, 101)))
                x[k] = group_velocity_ratio(ours.model, q, qd)
            return x, slewing, standing

        return self._once("convection", found)

    def energy_rate(self, direction: str) -> EnergyRate:
        """Return the energy rate of a free vibration of the first mode, by `simulate`."""

        def found() -> EnergyRate:
            flexible, reference = self.model("fixed"), motion(direction, slewing=False)
            inertia = flexible.model.function("mass_matrix")
            r, h = flexible.joints, 1e-5
            q0 = np.r_[joints_along(reference, np.zeros(1))[0][:, 0], 1e-3, np.zeros(flexible.size - 1)]
            run = simulate(flexible.model, DURATION, PrescribedMotion(reference), q0=q0, samples=1001, progress=False)
            q, qd, t = (run[name].values for name in ("q", "qd", "time"))
            found = analysis.lyapunov_rate(flexible.model, q, qd, run.u.values)
            slide = np.pad(h * qd[:, :r], ((0, 0), (0, flexible.size)))
            masses = (np.array(inertia.map(len(t))(x.T)).reshape(7, -1, 7)[r:, :, r:] for x in (q + slide, q - slide))
            after, before = masses
            kinetic = -0.5 * np.einsum("ti,itj,tj->t", qd[:, r:], (after - before) / (2 * h), qd[:, r:])
            steady = (t > BLEND + 0.01) & (t < DURATION - BLEND - 0.01)
            parts, largest = np.array([found.stiffness, kinetic]), np.abs(found.rate).max()
            missed = float(np.abs(found.rate - parts.sum(axis=0))[steady].max() / largest)
            one, two = 100 * np.trapezoid(parts, t, axis=1) / (found.value[-1] - found.value[0])
            return EnergyRate(found.rate[steady] / largest, (float(one), float(two)), missed)

        return self._once(("energy", direction), found)
