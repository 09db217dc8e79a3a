"""Linear systems between sensors and actuators."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm.brief import brief
from flexarm.checks import POSITIVE, checked_array, checked_names, checked_number, counted, refused, unknown_name
from flexarm.control.gains import actuators, followed
from flexarm.control.readings import Readings, wanted_readings
from flexarm.control.systems import System, checked_method, order, system_of
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.model.linear import input_signals
from flexarm.simulation.law import Column, Law, is_linear_system
from flexarm.simulation.shown import read
from flexarm.trajectory import Reference, jumps_of


@final
@brief
@dataclass(frozen=True, eq=False)
class Linear:
    """A system of python-control between sensors and actuators: u = K(s) (r - y), K(s) [r, y], or K(s) y.

    y are the sensors' readings, one for each signal in the order of `fa.outputs(model, sensors).names`. With a
    `reference` or `wanted` readings r, the system's inputs are the errors r - y. A system with twice as many inputs
    gets r and then y (two degrees of freedom). Without r the inputs are y, and the sign of the feedback is the
    system's.

    Along a reference, r is what the sensors would read on the undeformed arm: at an encoder of a joint or its motor the
    joint's position, at a tachometer its rate, at a tip sensor the rigid arm's tip, at a strain gauge zero.

    Parameters
    ----------
    system : StateSpace, TransferFunction, or a matrix of gains
        System of python-control. Its inputs and outputs are in order. If they have names, they are matched by name: the
        signals' names (`<signal>_ref` for r where r is an input), and `u_upper_joint` for an input, as in
        `Model.linearize`. A discrete system must have the loop's period, or the period True, which fits any. A
        continuous system in a sampled loop is discretised by `method`.
    sensors : list of sensors
        Their noise and resolution apply if the loop is sampled. Accelerometers are allowed in a continuous loop if the
        system has no feedthrough from them to u. In a sampled loop they are read just before u changes.
    reference : Reference, float or (m,), optional
        Reference of all joints, or their constant target positions.
    wanted : dict, optional
        Wanted readings, numbers by the name of the signal. They replace the readings that follow from the reference.
    actuators : list of str, optional
        The model's inputs that the system's outputs drive; the others get zero. Default: all.
    initial : (states,), optional
        Initial state of a StateSpace; default 0. The initial output is C x for every method of discretisation.
    method : "tustin", "zoh", "euler", "backward_diff"
        Method of discretisation, named as in python-control. `Sampled(method=...)` overrides it.
    prewarp : float, optional
        Frequency at which "tustin" is exact [rad/s].
    """

    system: Any
    sensors: Sequence[Any]
    reference: Reference | ArrayLike | None = None
    wanted: Mapping[str, float] | None = None
    actuators: Sequence[str] | None = None
    initial: ArrayLike | None = None
    method: str = "tustin"
    prewarp: float | None = None

    def __getstate__(self) -> dict[str, Any]:
        if not is_linear_system(self.system):
            return vars(self)
        return {**vars(self), "system": system_of("Linear", self.system)}  # python-control's systems do not pickle

    def discretised(self, method: str) -> "Linear":
        """Return the same controller with another method of discretisation."""
        checked_method("Linear", method)
        return replace(self, method=method)

    def law(self, model: Model, period: float | None = None) -> Law:
        """Return the control law for a model; its memory is the system's state."""
        import casadi as ca

        where = "Linear"
        actuators(where, model, period)
        checked_method(where, self.method)
        with refused(where):
            if self.prewarp is not None:
                checked_number(self.prewarp, "rad/s", POSITIVE, "prewarp")
        readings = Readings.of(where, self.sensors, model, period)
        reference = None if self.reference is None else followed(where, self.reference, model)
        r = wanted_readings(where, readings, reference, self.wanted)
        given = system_of(where, self.system)
        start = self._start(given)
        system = self._fitted(given.at(where, period, self.method, self.prewarp), model, readings, r is not None)
        A, B, C, D = (ca.sparsify(ca.DM(each)) for each in (system.A, system.B, system.C, system.D))
        late = bool(readings.late.any())
        straight = system.D[:, np.tile(readings.late, system.D.shape[1] // len(readings.late))]
        if late and period is None and straight.any():
            name = readings.names[int(np.argmax(readings.late))]
            must = "make the system strictly proper for this signal, or use Sampled(...)"
            raise DescriptionError(
                f"{where}: algebraic loop: u depends on {name} without delay, and {name} on u; {must}"
            )
        felt = late and period is not None

        def errors(t: Any, y: Column) -> Column:
            if r is None:
                return y
            return ca.vertcat(r(t), y) if system.D.shape[1] > len(readings.names) else r(t) - y

        def expression(t: Any, q: Column, qd: Column, x: Column, *more: Column) -> tuple[Column, Any]:
            noise = more[0] if readings.noise else None
            y = readings.read(readings.of_motion(q, qd, more[-1] if felt else ca.SX.zeros(model.nv)), noise)
            y = read(y, model, readings.sensors)
            e = errors(t, y)
            u = C @ x + D @ e

            def following(applied: Column) -> Column:
                seen = errors(t, readings.of_state(q, qd, applied)) if late and not felt else e
                return A @ x + B @ seen

            return u, following

        jumps = np.empty(0) if reference is None else jumps_of(reference)
        facts = {"signals": list(readings.names)}
        return Law(expression, start, readings.noise, jumps, reference, facts, accelerates=felt)

    def _start(self, given: System) -> tuple[float, ...]:
        """Initial state of the system."""
        n = len(given.A)
        if self.initial is None:
            return (0.0,) * n
        if not hasattr(self.system, "A"):
            raise DescriptionError("Linear: initial applies only to a StateSpace; leave it out")
        with refused("Linear"):
            start = checked_array(self.initial, "initial")
        if start.shape != (n,):
            raise DescriptionError(
                f"Linear: initial has shape {start.shape}; the system has {counted(n, 'state')}, so it must be ({n},)"
            )
        return tuple(start.tolist())

    def _fitted(self, system: System, model: Model, readings: Readings, wanted: bool) -> System:
        """System with its inputs in the order of the signals, and a row of C and D for each of the arm's inputs."""
        where, p = "Linear", len(readings.names)
        both = wanted and len(system.inputs) == 2 * p
        if both:
            names = [*(f"{name}_ref" for name in readings.names), *readings.names]
            columns = order(where, system.inputs, names, "input", "wanted and measured readings of the sensors")
        else:
            signals = "the sensors' signals" + (" (or twice as many, with the wanted readings first)" if wanted else "")
            columns = order(where, system.inputs, readings.names, "input", signals)
        driven = list(model.inputs)
        if self.actuators is not None:
            with refused(where):
                driven = checked_names(self.actuators, "names of inputs", "actuators")
            for name in driven:
                if not isinstance(name, str) or name not in model.inputs:
                    problem = f"{where}: actuators has"
                    raise DescriptionError(unknown_name(problem, name, model.inputs, "the inputs of the arm are"))
            if twice := next((name for name in driven if driven.count(name) > 1), None):
                raise DescriptionError(f"{where}: actuators has {twice!r} twice; give each actuator once")
        known_as = dict(zip(model.inputs, input_signals(model), strict=True))
        names = [known_as[name] for name in driven]
        rows = order(where, system.outputs, names, "output", "the actuators")
        onto = np.zeros((len(model.inputs), len(driven)))
        onto[[model.inputs.index(name) for name in driven], range(len(driven))] = 1.0
        B, D = system.B[:, columns], system.D[:, columns]
        return replace(system, B=B, C=onto @ system.C[rows], D=onto @ D[rows])
