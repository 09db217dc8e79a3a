"""Closed loops: a control law as expressions, compiled together with the arm.

A controller is a frozen object with `law(model, period)`, which designs a `Law` for a model. In a run the law is a
block like any other. A continuous law is evaluated with every right-hand side, and its memory is integrated with the
arm. Sampled laws are in the module `sampled`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np

from flexarm.arrays import Array
from flexarm.attitude import configuration, local
from flexarm.cached import cached_property
from flexarm.checks import counted, unknown_name
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.model.local import localized, moved_by_joints
from flexarm.model.tracing import PARTNERS, RESIDUALS, Trace, Traced
from flexarm.native import lifted
from flexarm.native.kernel import Kernel
from flexarm.simulation.block import Block, Compiled, Recorded
from flexarm.simulation.law import Column, Law, law_of, parted
from flexarm.simulation.shown import Shown, apart, collecting, show
from flexarm.trajectory import Reference, reference_motion

if TYPE_CHECKING:
    import casadi as ca


@dataclass(frozen=True)
class LawBlock(Block):
    """A control law of a model, as a block of a run."""

    of_state = True

    law: Law
    model: Model
    name: str
    controller: Any = None
    """Controller that designed the law, if any. The law itself consists of functions, which cannot be sent to a
    process."""
    records: tuple[Recorded, ...] = ()  # type: ignore[override]
    """Recorded signals of the law."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: Any) -> Self:
        return self

    @property
    def wanted(self) -> Reference | None:  # type: ignore[override]
        """Reference of the controller."""
        return self.law.reference

    @property
    def label(self) -> str:
        """Name of the controller in error messages."""
        return f"controller {self.name}"

    @cached_property
    def kernel(self) -> Kernel:
        """Compiled law (t, q, qd, z) -> (u, dz/dt)."""
        return kernel(self.law, self.model, self.name)

    def kernel_for(self, model: Model) -> Kernel:
        """Return the compiled law."""
        return self.kernel

    def begun(self, model: Model, times: Array) -> Self:
        """Return the block itself, after a check that the law was designed for such an arm."""
        check_model(self.name, self.model, model)
        return self


@final
@dataclass(frozen=True)
class Feedback(LawBlock, Compiled):
    """A law that is evaluated at every time. Its memory is part of the run's state."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.controller is None:
            return super().__reduce_ex__(protocol)
        return continuous, (self.controller, self.model)  # the controller designs the law again

    @property
    def memory(self) -> tuple[float, ...]:  # type: ignore[override]
        """Initial memory of the law."""
        return self.law.memory

    def jumps(self) -> Array:
        """Return the jumps of the reference."""
        return self.law.jumps

    def recording(self, names: tuple[str, ...], model: Model) -> Self:
        """Return the block with recorded signals, which follow from the states of the run."""
        return replace(self, records=recording(self.law, model, names)[1])

    def recorded(self, t: Array, parts: Mapping[str, Array]) -> Array:
        """Return the recorded signals of the law at times t and at the states there."""
        names, memory = tuple(x.name for x in self.records), len(self.law.memory)
        law, _ = recording(self.law, self.model, names)
        rows = np.hstack(
            [t[:, None], parts["q"], parts["qd"], parts["z"], np.zeros((len(t), len(law.memory) - memory))]
        )
        found = kernel(law, self.model, self.name).few(np.ascontiguousarray(rows))
        return found[:, len(self.model.inputs) + memory :]

    def described(self) -> str:
        """Return the controller's name."""
        return f"{self.name}, continuous"


def continuous(controller: Any, model: Model) -> Feedback:
    """Return the block of a continuous controller."""
    law = law_of("u", controller, model)
    if law.drives or law.accelerates:
        what = "currents" if law.drives else "accelerations"
        raise DescriptionError(
            f"{named(controller)}: the controller measures {what} and must be sampled: use Sampled(...)"
        )
    return Feedback(law, model, named(controller), controller)


def check_model(name: str, own: Model, model: Model) -> None:
    """Raise an error if a law was designed for another arm: native code depends on the order of coordinates."""
    if own is not model and (own.coordinates, own.inputs) != (model.coordinates, model.inputs):
        other = f"arm {own.arm.name!r}, but the run has arm {model.arm.name!r} with other coordinates or inputs"
        raise DescriptionError(f"controller {name} was designed for {other}")


def kernel(law: Law, model: Model, name: str = "law", own: int = 0, behind: tuple[int, ...] = ()) -> Kernel:
    """Return the compiled law: from the concatenated arguments of `traced` to u and the memory's rate or next value.

    The cache on disk uses the structure of the traced function as its key. A law with other gains finds its code there.
    """
    import casadi as ca

    symbols, results = _expressed(law, model, name, own, behind)
    return lifted.kernel(ca.Function("law", [ca.vertcat(*symbols.values())], [ca.vertcat(*results.values())]))


def traced(law: Law, model: Model, name: str = "law", own: int = 0, behind: tuple[int, ...] = ()) -> "ca.Function":
    """Return the law as a function of t, q, qd, s, z, noise and qdd, to u and the memory's rate or next value.

    s are `own` states of drives, and z is the memory. qdd is present if the law measures it. The law gets
    local coordinates in place of q, see `attitude.local`. A law that follows another function gets `behind` numbers in
    place of q and of qd: the function's u and its measurements.

    Within `shown.readings_apart`, the readings of sensors are a further argument `y`, and a third result `read` has
    their expressions.
    """
    import casadi as ca

    symbols, results = _expressed(law, model, name, own, behind)
    return ca.Function("law", [*symbols.values()], [*results.values()], [*symbols], [*results])


def _expressed(
    law: Law, model: Model, name: str, own: int, behind: tuple[int, ...]
) -> tuple[dict[str, Column], dict[str, Column]]:
    """Return the arguments and the results of `traced` as expressions."""
    import casadi as ca

    names = ("t", "q", "qd", "s", "z", "noise", "qdd")
    sizes = (1, *(behind or (model.nq, model.nv)), own, len(law.memory), len(law.noise), model.nv * law.accelerates)
    symbols = {name: ca.SX.sym(name, k) for name, k in zip(names, sizes, strict=True)}
    t, q, qd, s, z, noise, qdd = symbols.values()
    u, after = law(t, q if behind else localized(model.arm, q), qd, z, noise, *([s] if law.drives else []), qdd)
    check_width(model, u, name)
    following = after(u)
    if following.numel() != len(law.memory):
        message = (
            f"its memory has {counted(len(law.memory), 'number')}, "
            f"but it returns {following.numel()} for the next period"
        )
        raise DescriptionError(f"controller {name}: {message}")
    both = ca.cse(ca.densify(ca.vertcat(u, following)))
    results = dict(zip(("u", "following"), parted(both, u.numel()), strict=True))
    if (found := apart()) is not None:
        symbols["y"] = ca.vertcat(*(each.symbol for each in found.values()), ca.SX(0, 1))
        results["read"] = ca.vertcat(*(each.expression for each in found.values()), ca.SX(0, 1))
    return symbols, results


def recording(
    law: Law, model: Model, names: tuple[str, ...], behind: tuple[int, ...] = ()
) -> tuple[Law, tuple[Recorded, ...]]:
    """Return the law with some recorded signals appended to its memory (or its rate), and their descriptions.

    Every law has a "command", and a "memory" if it has one. Raises `DescriptionError` for a name that the law does not
    record.
    """
    import casadi as ca

    memory = len(law.memory)

    def seen(t: Any, q: Column, qd: Column, z: Column, *more: Column) -> tuple[Column, Column, dict[str, Shown]]:
        with collecting() as found:
            u, after = law(t, q, qd, z, *more)
            following = after(u)
            show("command", u, model.inputs, "as that of u", once=True)
            if memory:
                show("memory", z, unit="as in the law", once=True)
        return u, following, found

    def expression(t: Any, q: Column, qd: Column, z: Column, *more: Column) -> tuple[Column, Column]:
        u, following, found = seen(t, q, qd, parted(z, memory)[0], *more)
        return u, ca.vertcat(following, *(found[name].values for name in names))

    sizes = (1, *(behind or (model.nv, model.nv)), memory, len(law.noise))
    sizes += (len(model.states) * law.drives, model.nv * law.accelerates)
    there = seen(*(ca.SX.sym("x", k) for k in sizes))[2]
    if unknown := next((name for name in names if name not in there), None):
        raise DescriptionError(unknown_name("record has the unknown name", unknown, there, "the controller shows"))
    records = tuple(Recorded(name, there[name].signals, there[name].unit) for name in names)
    beside = (0.0,) * sum(len(each.signals) for each in records)
    return replace(law, expression=expression, memory=(*law.memory, *beside)), records


def check_drives(model: Model, before: str, must: str) -> None:
    """Raise an error for an arm with coupled joints, or with an actuator that moves a sum of coordinates.

    A flexible link with slopes at a moving hub has such an actuator.
    """
    if model.arm.couplings:
        raise DescriptionError(f"{before}arm {model.arm.name!r} has coupled joints; {must}")
    joints = len(model.arm.driven)  # thrusters may move any coordinates
    B = model.input_matrix(np.array(model.arm.rest))[:, :joints]
    for name, moved in zip(model.inputs[:joints], np.count_nonzero(B, axis=0), strict=True):
        if moved > 1:
            sum_ = "moves its joint and the slopes of its link's shapes at the hub"
            raise DescriptionError(f"{before}input {name!r} {sum_}; {must}")


def integrand(model: Model, quantity: str, memory: int) -> Kernel:
    """Return a quantity of a run with a law's memory: (q, qd, z, s, u, dz/dt, w), or (..., qdd) for a residual.

    If the quantity gives the rates of the state, they include dz/dt. Without memory it is the quantity itself.
    """
    if not memory:
        return model.kernel(quantity)
    moving = model.nq + model.nv

    def trace(quantity: str, model: Traced) -> "ca.Function":
        import casadi as ca

        function = model.function(quantity)
        names = function.name_in()
        x = dict(zip(names, function.sx_in(), strict=True))
        z, zd = ca.SX.sym("z", memory), ca.SX.sym("zd", memory)
        found = function(*x.values())
        if "qdd" not in names:
            found = ca.vertcat(found[:moving], zd, found[moving:])
        order = [name for name in ("q", "qd", "z", "s", "u", "zd", "w", "qdd", "p") if name in {*names, "z", "zd"}]
        return ca.Function(quantity, [{**x, "z": z, "zd": zd}[name] for name in order], [found])

    def key(quantity: str) -> str:
        return f"{quantity} with memory {memory}"

    partner = PARTNERS[quantity]
    partners: dict[str, Trace] = {key(partner): partial(trace, partner)}
    behind = model.nv if quantity in RESIDUALS.values() else 0
    return model.compiled(key(quantity), partial(trace, quantity), partners=partners, behind=behind)


def check_width(model: Model, u: Column, name: str) -> None:
    """Raise an error if the size of u differs from the number of actuators."""
    if u.numel() != len(model.inputs):
        names = ", ".join(model.inputs)
        raise DescriptionError(
            f"controller {name} returns {counted(u.numel(), 'input')}; the arm has {len(model.inputs)}: {names}"
        )


def named(controller: Any) -> str:
    """Return the name of a controller or a function for a message."""
    kind = type(controller).__name__
    return str(getattr(controller, "__name__", kind))


def initial(model: Model, reference: Reference | None) -> tuple[Array, Array]:
    """Return the default initial state of a run: at rest, on a reference if there is one."""
    if reference is None:
        return np.array(model.arm.rest), np.zeros(model.nv)
    return on_reference(model, reference)


def on_reference(model: Model, reference: Reference) -> tuple[Array, Array]:
    """Return coordinates and rates at t = 0: at rest, with joints and motors on a reference of all joints."""
    arm = model.arm
    q, qd = local(arm, np.array(arm.rest)), np.zeros(model.nv)
    start, rate, _ = reference_motion(reference, 0.0)
    if len(start) != len(arm.driven):
        names = ", ".join(model.velocities[i] for i in arm.driven)
        raise DescriptionError(
            f"reference moves {counted(len(start), 'joint')}; the arm has {len(arm.driven)}: {names}"
        )
    if not (np.isfinite(start).all() and np.isfinite(rate).all()):
        raise DescriptionError("reference is not finite at t = 0; its values and rates must be finite there")
    T = moved_by_joints(arm)
    moved = T.any(axis=1)
    q[moved], qd[moved] = (T @ start)[moved], (T @ rate)[moved]
    return configuration(arm, q), qd
