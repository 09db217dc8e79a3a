"""A straight line of the tip along which a free base does not turn."""

from dataclasses import dataclass
from itertools import count
from typing import Any, final

import numpy as np
from numpy.polynomial import chebyshev

from flexarm import attitude
from flexarm.analysis.equilibrium import configuration
from flexarm.analysis.floating import base_rates, generalized_jacobian, reaction_null
from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.cached import cached_property
from flexarm.checks import POSITIVE, Fault, checked_instance, checked_number, checked_numbers, counted, refused
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.model.local import moved_by_joints
from flexarm.trajectory.reference import share

DEGREES = (12, 24, 48, 96)
EXACT = 1e-8
"""Largest error of the polynomial of the joints' motion [rad or m]."""
MOST_TRIED = 3000
"""Largest number of evaluated configurations; a line that avoids singular configurations needs some hundreds."""
WEAK = 1e-6
"""Relative size below which a motion of the tip by joint rates counts as none."""


@final
@brief
@dataclass(frozen=True, eq=False)
class ReactionlessLine:
    """Motion of the joints that moves the tip along a straight line in the world, while the free base does not turn.

    The motion is from rest to rest. The rates are those of `reaction_null` that bring the tip's velocity nearest to the
    wanted one in the sense of least squares: N (J_g N)^+ v. With six joints in space, or three in the plane, the tip
    follows the line exactly. With fewer it goes as far as it can, and `missed` has the remaining distance. The base
    moves by conservation of momentum, which does not affect the line. Links count as rigid. The time along the line is
    that of `Quintic`.

    Parameters
    ----------
    model : Model
        Model of an arm on a free base without other actuators.
    joints : (m,)
        Joint coordinates at the beginning [rad or m]; the base is in its pose of rest.
    way : (3,)
        Displacement of the tip from its initial position to its goal, along the world's axes [m].
    duration : float
        [s]
    links : list of str, optional
        Links whose joints may move; default all.

    Raises
    ------
    DescriptionError
        If the base is not free, if no motion of these joints keeps its attitude, or if the line leads through a
        configuration that would need infinite joint rates.
    """

    model: Model
    joints: Any
    way: Any
    duration: float
    links: Any = None

    def __post_init__(self) -> None:
        with refused("ReactionlessLine"):
            checked_instance(self.model, Model, "model")
            object.__setattr__(self, "duration", checked_number(self.duration, "s", POSITIVE, "duration"))
            for name, unit, size in (("joints", "", len(self.model.arm.driven)), ("way", "m", 3)):
                given = checked_numbers(getattr(self, name), unit, part=name)
                if len(given) != size:
                    raise Fault(name, f"has {counted(len(given), 'number')}; it must have {size}")
                object.__setattr__(self, name, given)
        if not self.model.arm.free:
            raise DescriptionError(
                f"ReactionlessLine: the base of arm {self.model.arm.name!r} is fixed; it must be free"
            )
        if not reaction_null(self.model, self.joints, self.links).shape[1]:
            raise DescriptionError(
                "ReactionlessLine: every motion of the joints turns the base; use an arm with more joints"
            )
        _ = self._motion

    @cached_property
    def _motion(self) -> tuple[Array, Array]:
        """Coefficients (degree + 1, m) of the joints' Chebyshev series in 2 s - 1, and q (nq,) at the end."""
        from scipy.integrate import solve_ivp

        model, arm = self.model, self.model.arm
        T, m, tried = moved_by_joints(model.arm), len(arm.driven), count()

        def rates(s: float, x: Array) -> Array:
            """Rates of the local coordinates with respect to the share of the line."""
            if next(tried) > MOST_TRIED:
                raise self._too_fast()
            q = attitude.configuration(arm, x)
            N = reaction_null(model, q, self.links)
            moved = N @ np.linalg.pinv(generalized_jacobian(model, q)[:3] @ N, rcond=WEAK) @ np.array(self.way)
            base = base_rates(model, q) @ moved
            return (
                T @ moved + np.r_[base[:3], np.zeros(model.nv - 3)]
            )  # the base does not turn: its axes are the world's

        start = attitude.local(arm, configuration(model, self.joints))
        found = solve_ivp(rates, (0.0, 1.0), start, method="DOP853", rtol=1e-10, atol=1e-12, dense_output=True)
        places = list(arm.driven)
        for degree in DEGREES:
            if not found.success:
                break
            nodes = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
            series = chebyshev.chebfit(nodes, found.sol((nodes + 1) / 2)[places].T, degree)
            between = np.linspace(-1.0, 1.0, 4 * degree + 1)
            left = found.sol((between + 1) / 2)[places] - chebyshev.chebval(between, series).reshape(m, -1)
            if np.abs(left).max() < EXACT:
                return series, attitude.configuration(arm, found.y[:, -1])
        raise self._too_fast()

    def _too_fast(self) -> DescriptionError:
        why = "on the line the joints would be too fast near a singular configuration"
        return DescriptionError(f"ReactionlessLine: {why}; choose another start or a shorter line")

    @property
    def missed(self) -> float:
        """Distance of the tip from its goal at the end [m]."""
        start = self.model.tip(configuration(self.model, self.joints))[:3, 3]
        return float(np.linalg.norm(self.model.tip(self._motion[1])[:3, 3] - start - self.way))

    def expression(self, t: Any) -> list[Any]:
        """Joint coordinates at the symbolic time t."""
        x = share(t, 0.0, self.duration)
        x = 2.0 * x**3 * (10.0 - 15.0 * x + 6.0 * x**2) - 1.0
        found = []
        for column in self._motion[0].T.tolist():
            a, b = 0.0, 0.0  # Clenshaw's sum
            for c in column[:0:-1]:
                a, b = c + 2.0 * x * a - b, a
            found.append(column[0] + x * a - b)
        return found

    def described(self) -> str:
        """Text with the start, the displacement, the duration, and the arm."""
        where = f"from joints {list(self.joints)} by {list(self.way)} m"
        return f"a line without reaction {where} in {self.duration} s, links {self.links} ({self.model.fingerprint})"
