"""Exogenous inputs w of a run: constant, tabulated, computed by Python, or compiled.

A run has one block of `ExogenousInputs`, which writes w by its own stage, in addition to the block that writes u. Its
parts are blocks too, and write their share of w.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import counted, refused
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.model.exogenous import by_name, constants, listed
from flexarm.model.local import localized
from flexarm.native import lifted
from flexarm.native.kernel import Kernel
from flexarm.native.language import Placed
from flexarm.simulation.block import Block, Compiled, OfTime
from flexarm.simulation.inputs import Computed, Piecewise, Table
from flexarm.simulation.law import law_of
from flexarm.simulation.rhs import Plan, Several, Stage, loops, nothing_to_do
from flexarm.trajectory import Reference, jumps_of
from flexarm.trajectory.reference import checked_reference, positions, reference_key

if TYPE_CHECKING:
    pass


@final
@dataclass(frozen=True)
class BaseMotion:
    """Motion of the base of an arm with `base = MovingBase()`: w = {"base": BaseMotion(...)}.

    Acceleration, angular velocity and its rate along the base's axes follow from the motion by exact derivatives: a =
    R' (d2p/dt2 - g) + g with the arm's gravity g, w from R' dR/dt, alpha = dw/dt.

    Parameters
    ----------
    position : Reference, optional
        x, y, z of the base's origin, in an inertial frame [m]: any motion of three numbers, as a `MinimumJerk`.
    orientation : Reference, optional
        Roll, pitch and yaw of the base [rad]: R = Rz(yaw) Ry(pitch) Rx(roll). Gravity is the arm's where R = 1.
    """

    position: Reference | None = None
    orientation: Reference | None = None

    def __post_init__(self) -> None:
        with refused("BaseMotion"):
            for name in ("position", "orientation"):
                if getattr(self, name) is not None:
                    checked_reference(getattr(self, name), name)


# -- parts -------------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True)
class _Moved(OfTime):
    motion: BaseMotion

    def jumps(self) -> Array:
        """Return the jumps of the references."""
        given = [each for each in (self.motion.position, self.motion.orientation) if each is not None]
        return np.concatenate([np.empty(0), *map(jumps_of, given)])

    def expressed(self, model: Model, late: float = 0.0) -> Callable[[Any], Any]:
        """Return (a, w, alpha) as a function of time."""
        parts = {"position": self.motion.position, "orientation": self.motion.orientation}

        def motion(t: Any) -> Any:
            import casadi as ca

            from flexarm.mechanics.links import turned
            from flexarm.mechanics.spatial import entries, matrix

            p, angles = (ca.SX.zeros(3) if each is None else _three(name, each, t) for name, each in parts.items())
            roll, pitch, yaw = entries(angles)
            R, g = matrix(turned(yaw, -pitch, roll)), ca.DM(list(model.gravity))
            R_dot = ca.reshape(ca.jacobian(ca.vec(R), t), 3, 3)
            spin = ca.mtimes(R.T, R_dot)
            w = ca.vertcat(spin[2, 1], spin[0, 2], spin[1, 0])
            a = ca.mtimes(R.T, ca.jacobian(ca.jacobian(p, t), t) - g) + g
            return ca.vertcat(a, w, ca.jacobian(w, t))

        return motion

    def key(self, model: Model) -> list[Any]:
        """Return the references and the gravity."""
        given = {"position": self.motion.position, "orientation": self.motion.orientation}
        references = {name: None if each is None else reference_key(each) for name, each in given.items()}
        return ["motion of the base", references, [float(g) for g in model.gravity]]

    def described(self) -> str:
        """Return a text with the references."""
        given = (self.motion.position, self.motion.orientation)
        return "base along " + ", ".join("nothing" if each is None else each.described() for each in given)


def _three(name: str, reference: Reference, t: Any) -> Any:
    found = positions(reference, t)
    if found.numel() != 3:
        raise DescriptionError(f"BaseMotion: {name} has {counted(found.numel(), 'component')}; it must have three")
    return found


@final
@dataclass(frozen=True)
class _ByLaw(Compiled):
    """A part that a law gives, as an expression in t, q and qd."""

    law: Any
    made: Kernel

    def kernel_for(self, model: Model) -> Kernel:
        """Return the kernel of w at (t, q, qd)."""
        return self.made

    def jumps(self) -> Array:
        """Return the jumps of the law."""
        return self.law.jumps

    def described(self) -> str:
        """Return a text. A law has no name."""
        return "a law"


def _by_law(where: str, value: Any, model: Model, names: Sequence[str]) -> _ByLaw:
    import casadi as ca

    law = law_of(where, value, model)
    if law.memory or law.noise or law.drives:
        must = "a law for exogenous inputs must not have memory, noise or states of drives"
        raise DescriptionError(f"{where}: {must}")
    t, q, qd = (ca.SX.sym(name, k) for name, k in (("t", 1), ("q", model.nq), ("qd", model.nv)))
    w, _ = law(t, localized(model.arm, q), qd, ca.SX(0, 1))
    if w.numel() != len(names):
        raise DescriptionError(
            f"{where}: its law returns {counted(w.numel(), 'number')}; it must return {listed(names)}"
        )
    return _ByLaw(law, lifted.kernel(ca.Function("outside", [ca.vertcat(t, q, qd)], [ca.densify(ca.cse(w))])))


# -- all parts ---------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True)
class ExogenousInputs(Block):
    """The exogenous inputs of a run: blocks side by side.

    Attributes
    ----------
    outputs : tuple of str
        Names of the exogenous inputs.
    parts : list of (first, count, Block)
        Sources of `count` inputs each, from the first on. All other inputs are zero.
    """

    outputs: tuple[str, ...] = field()  # type: ignore[assignment]
    parts: tuple[tuple[int, int, Block], ...] = ()

    @property
    def constant(self) -> bool:  # type: ignore[override]
        """True if all exogenous inputs are constant."""
        return all(each.constant for _, _, each in self.parts)

    @property
    def of_time(self) -> bool:
        """True if all exogenous inputs are numbers and tables over time."""
        return all(isinstance(each, Piecewise | Table) for _, _, each in self.parts)

    @property
    def computed(self) -> bool:  # type: ignore[override]
        """True if a Python function is called at every evaluation."""
        return any(each.computed for _, _, each in self.parts)

    def jumps(self) -> Array:
        """Return the times at which the inputs are discontinuous [s]."""
        return np.unique(np.concatenate([np.empty(0), *(each.jumps() for _, _, each in self.parts)]))

    def between(self, a: float, b: float) -> list[float]:
        """Return a, the jumps between a and b, and b."""
        jumps = self.jumps()
        return [a, *jumps[(jumps > a) & (jumps < b)].tolist(), b]

    def stage(self, plan: Plan, u: Array, model: Model, t: float, x: Array) -> Stage:
        """Return the stage that evaluates the stages of all parts."""
        u[:] = 0.0
        idle, found = nothing_to_do(), []
        for first, count, part in self.parts:
            stage = part.stage(plan, u[first : first + count], model, t, x)
            if stage != idle:
                found.append((first, *stage))
        if not found:
            return idle
        places, stages, data, held = zip(*found, strict=True)
        columns = (np.array(each, dtype=np.int64) for each in (stages, data, places))
        several = Placed(Several(len(found), *columns))
        return loops().addresses["several"], several.address, (several, held)

    def feed(self, plan: Plan, model: Model, t: float, x: Array) -> None:
        """Set the plan's w from t, where the state is x, to the next jump."""
        plan.feed_beside(*self.stage(plan, plan.w, model, t, x))

    def output(self, model: Model, t: Array, q: Array, qd: Array, z: Array | None = None) -> Array:
        """Return w (times, exogenous) at times t and at the states there; from the right at a jump."""
        found, none = np.zeros((len(t), len(self.outputs))), np.empty((len(t), 0))
        for first, count, part in self.parts:
            found[:, first : first + count] = part.output(model, t, q, qd, none)
        return found

    def over_time(self, model: Model, t: Array, q: Array, qd: Array) -> Array:
        """Return the inputs that change between jumps, (times, k), if the arm stays at q, qd."""
        return np.hstack([np.empty((len(t), 0)), *(part.over_time(model, t, q, qd) for _, _, part in self.parts)])

    def known(self, until: float) -> Array:
        """Return values (k, exogenous) that some of w are known to take between 0 and `until`, with the others zero."""
        found = [np.empty((0, len(self.outputs)))]
        for first, count, part in self.parts:
            if len(values := part.known(until)):
                found.append(np.pad(values, ((0, 0), (first, len(self.outputs) - first - count))))
        return np.vstack(found)

    def described(self) -> str:
        """Return a line of text about the parts."""
        return "; ".join(
            f"{self.outputs[i] if k == 1 else f'{self.outputs[i]} to {self.outputs[i + k - 1]}'}: {part.described()}"
            for i, k, part in self.parts
        )


def as_exogenous(w: Any, model: Model) -> ExogenousInputs:
    """Return the exogenous inputs of a model from w. Raise `DescriptionError` if w does not fit the model.

    None means no input. Numbers are constant. A `Table`, a `Piecewise`, a function w(t) or w(t, q, qd) or an object
    with a law gives all inputs. A dict gives some by their names ("push.fx"), by a prefix ("push", "base"), or by a
    vector of three ("push.f", "base.a").
    """
    names = model.exogenous
    if isinstance(w, ExogenousInputs):
        if w.outputs != names:
            raise DescriptionError(f"w is for {listed(w.outputs)}; the arm has {listed(names)}")
        return w
    if w is None:
        return ExogenousInputs(names, ())
    if not isinstance(w, Mapping):
        part = _part("w", w, model, 0, names)
        if not names and isinstance(part[2], Computed):
            raise DescriptionError(f"w is a function; the arm has {listed(names)}")
        return ExogenousInputs(names, (part,) if names else ())
    found = [
        _part(f"w[{key!r}]", value, model, names.index(these[0]), these) for key, these, value in by_name(w, names)
    ]
    return ExogenousInputs(names, tuple(sorted(found, key=lambda part: part[0])))


def _part(where: str, value: Any, model: Model, first: int, names: Sequence[str]) -> tuple[int, int, Block]:
    """Return one part: its first index, its number of inputs, and their source."""
    return first, len(names), given_by(where, value, model, names)


def given_by(where: str, value: Any, model: Model, names: Sequence[str]) -> Block:
    """Return the source of those exogenous inputs of a model that have these names.

    Raises `DescriptionError`, whose message begins with `where`, if the value is not a valid source.
    """
    if isinstance(value, BaseMotion):
        if tuple(names) != tuple(name for name in model.exogenous if name.startswith("base.")) or not names:
            raise DescriptionError(
                f"{where} is a BaseMotion, which is only for a MovingBase: w={{'base': BaseMotion(...)}}"
            )
        return _Moved(value)
    if isinstance(value, Piecewise | Table):
        if value.values_.shape[1] != len(names):
            raise DescriptionError(
                f"{where} has {counted(value.values_.shape[1], 'column')}; it must have {listed(names)}"
            )
        _check_shares(where, value.values_, model, names)
        return value
    if callable(getattr(value, "law", None)) and not isinstance(value, type):
        return _by_law(where, value, model, names)
    if callable(value):
        return Computed(value, where, tuple(names))
    numbers = constants(where, value, names)
    _check_shares(where, numbers[None], model, names)
    return Piecewise([-np.inf], numbers[None])


def _check_shares(where: str, values: Array, model: Model, names: Sequence[str]) -> None:
    """Raise `DescriptionError` if an input with the range 0 to 1 is outside of it."""
    for column, name in enumerate(names):
        if name in model.arm.shares and not ((values[:, column] >= 0) & (values[:, column] <= 1)).all():
            bad = values[~((values[:, column] >= 0) & (values[:, column] <= 1)), column][0]
            raise DescriptionError(f"{where}: {name} is {bad:g}; it must be from 0 (free) to 1 (held)")
