"""The model of an arm: its equations traced once, compiled when first called, evaluated with arrays."""

import hashlib
import json
import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol, final

import numpy as np

from flexarm.checks import Described, shown
from flexarm.description.arm import Arm, Beam
from flexarm.errors import DescriptionError
from flexarm.native.kernel import Kernel
from flexarm.shapes import TipLoad, fitted, quadrature

Array = np.ndarray


STATE = ("q", "qd")
QUANTITIES: dict[str, tuple[tuple[str, ...], tuple[str | int, ...]]] = {
    "mass_matrix": (("q",), ("n", "n")),
    "bias": (STATE, ("n",)),
    "gravity_force": (("q",), ("n",)),
    "stiffness_force": (("q",), ("n",)),
    "restoring_force": (("q",), ("n",)),
    "damping_force": (STATE, ("n",)),
    "input_matrix": (("q",), ("n", "m")),
    "forward_dynamics": ((*STATE, "u"), ("n",)),
    "forward_dynamics_dense": ((*STATE, "u"), ("n",)),
    "inverse_dynamics": ((*STATE, "qdd"), ("n",)),
    "energy": (STATE, (2,)),
    "frames": (("q",), ("bodies", 4, 4)),
    "tip": (("q",), (4, 4)),
    "deflections": (("q",), ("links", 6)),
    "state_rate": ((*STATE, "u"), ("2n + 2",)),
    "prescribed_rate": ((*STATE, "u"), ("2n + 2",)),
    "prescribed_force": ((*STATE, "u"), ("m",)),
    "observed": (STATE, ("5 + 6 links",)),
}
"""Arguments and shape of every quantity in the module `quantities`."""


class Sensor(Protocol):
    """What the model asks of an output; the module `sensors` has the usual ones."""

    def names(self, arm: Arm) -> tuple[str, ...]:
        """Names of its signals; raises `DescriptionError` where the arm has not what it measures."""

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """Its signals at a state, from lists of scalars."""

    def described(self) -> str:
        """Everything the expression depends on, beside the arm."""


def signal(name: str) -> str:
    """A coordinate's name, or any other, as that of a signal: a valid identifier."""
    plain = re.sub(r"\W", "_", name)
    return plain if plain.isidentifier() else f"_{plain}"


@final
class Model:
    """An arm's equations of motion, M(q) qdd + bias + damping + stiffness + gravity = B(q) u.

    The last axis of q, qd and qdd has n numbers, in the order of `coordinates`, that of u has m, in the order of
    `inputs`. Axes before the last mean many states at once and appear in the result; arguments with fewer are used for
    all of them. Nothing is traced or compiled before it is called.

    Parameters
    ----------
    arm : Arm

    Raises
    ------
    DescriptionError
        When an argument has the wrong length or is not finite, or the arm has nothing that moves.
    """

    def __init__(self, arm: Arm):
        if not arm.coordinates:
            raise DescriptionError(f"arm {arm.name!r}: nothing moves; it needs a joint or a link with modes")
        self.arm = arm
        self.coordinates = arm.coordinates
        self.inputs = arm.inputs
        self._sizes: dict[str, int] = {
            "n": len(arm.coordinates),
            "m": len(arm.inputs),
            "bodies": len(arm.links) + 1,
            "links": len(arm.links),
            "2n + 2": 2 * len(arm.coordinates) + 2,
            "5 + 6 links": 5 + 6 * len(arm.links),
        }
        self._kernels: dict[str, Kernel] = {}
        self._functions: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"Model({self.arm.name!r}: {len(self.coordinates)} coordinates, {len(self.inputs)} inputs)"

    # -- the equations of motion

    def mass_matrix(self, q: Array) -> Array:
        """M(q), (n, n), symmetric and positive definite."""
        return self._evaluate("mass_matrix", q)

    def bias(self, q: Array, qd: Array) -> Array:
        """Coriolis and centrifugal force, (n,)."""
        return self._evaluate("bias", q, qd)

    def gravity_force(self, q: Array) -> Array:
        """dV/dq of gravity, (n,)."""
        return self._evaluate("gravity_force", q)

    def stiffness_force(self, q: Array) -> Array:
        """dV/dq of the links' strain and the joints' springs, (n,)."""
        return self._evaluate("stiffness_force", q)

    def damping_force(self, q: Array, qd: Array) -> Array:
        """Force of bearings, springs and links' modal damping, (n,)."""
        return self._evaluate("damping_force", q, qd)

    def input_matrix(self, q: Array) -> Array:
        """B(q), (n, m): generalized force = B u."""
        return self._evaluate("input_matrix", q)

    def forward_dynamics(self, q: Array, qd: Array, u: Array) -> Array:
        """Acceleration qdd, (n,), by recursion in O(number of links) (Mohan & Saha section 5)."""
        return self._evaluate("forward_dynamics", q, qd, u)

    def forward_dynamics_dense(self, q: Array, qd: Array, u: Array) -> Array:
        """The same acceleration from the factors of the whole inertia matrix (Mohan & Saha section 7.2), to compare."""
        return self._evaluate("forward_dynamics_dense", q, qd, u)

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Generalized force, (n,), that gives the acceleration qdd."""
        return self._evaluate("inverse_dynamics", q, qd, qdd)

    # -- energies and places

    def energy(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Kinetic and potential energy [J]; potential: gravity (zero at the base's height), strain and springs."""
        both = self._evaluate("energy", q, qd)
        return both[..., 0], both[..., 1]

    def tip(self, q: Array) -> Array:
        """Pose of the payload frame in the base frame, (4, 4)."""
        return self._evaluate("tip", q)

    def frames(self, q: Array) -> Array:
        """Poses of the links' base frames and of the payload frame in the base frame, (links + 1, 4, 4)."""
        return self._evaluate("frames", q)

    def deflections(self, q: Array) -> Array:
        """For each link its tip's displacement along x, y, z [m], slopes in y and z, and torsion [rad], (links, 6)."""
        return self._evaluate("deflections", q)

    # -- analysis

    def frequencies(self, q: Array, locked: bool = True) -> Array:
        """Natural frequencies about the configuration q, ascending [rad/s].

        Locked: the actuated coordinates are held (an elastic joint by its motor). Else all are free; an arm without
        gravity then has a frequency 0 for each actuator. A direction in which the arm would fall, omega^2 < 0, comes as
        -sqrt(-omega^2).
        """
        return self.modes(q, locked)[0]

    def modes(self, q: Array, locked: bool = True) -> tuple[Array, Array]:
        """Natural frequencies (k,) as `frequencies` gives them, and the modes (n, k): coordinates, with M-norm 1."""
        q = self._argument("q", q)
        if q.ndim != 1:
            raise DescriptionError("modes: q has more than one axis; give one configuration")
        n = len(q)
        held = set(self.input_matrix(q).nonzero()[0].tolist()) if locked else set()
        free = [i for i in range(n) if i not in held]
        M = self.mass_matrix(q)[np.ix_(free, free)]
        K = np.array(self._slope("restoring_force", 0)(q))[np.ix_(free, free)]
        try:
            C = np.linalg.inv(np.linalg.cholesky(M))
        except np.linalg.LinAlgError:
            message = "nothing resists the acceleration of some coordinate; each must move some inertia"
            raise DescriptionError(f"arm {self.arm.name!r}: {message}") from None
        omega2, V = np.linalg.eigh(C @ ((K + K.T) / 2) @ C.T)
        omega2[np.abs(omega2) < 1e-14 * np.abs(omega2).max(initial=0.0)] = 0.0
        shapes = np.zeros((n, len(free)))
        shapes[free] = C.T @ V
        return np.sign(omega2) * np.sqrt(np.abs(omega2)), shapes

    def linearize(self, q: Array, qd: Array, u: Array, outputs: Sequence[Sensor] | None = None) -> Any:
        """The arm near a state, as a `control.StateSpace`: states (q, qd), inputs u, outputs y, all deviations.

        The matrices are exact derivatives of the equations of motion and of the outputs. Where qdd is not zero at the
        state, the deviation is from the motion through it. Signals have the coordinates' names with `_` for `.`:
        `upper_joint`, `upper_joint_rate`; inputs those of the actuators with `u_` before them: `u_upper_joint`.

        Parameters
        ----------
        q, qd, u : (n,), (n,), (m,)
            The state and the inputs there.
        outputs : list of Sensor, optional
            What is measured, see the module `sensors`; default all of q, then all of qd.

        Raises
        ------
        DescriptionError
            Also where a sensor does not fit the arm, or two signals have one name.
        """
        import control

        arguments = [self._argument(name, x) for name, x in (("q", q), ("qd", qd), ("u", u))]
        n, m = self._sizes["n"], self._sizes["m"]
        slopes = [np.array(self._slope("forward_dynamics", i)(*arguments)) for i in range(3)]
        A = np.block([[np.zeros((n, n)), np.eye(n)], [slopes[0], slopes[1]]])
        B = np.vstack([np.zeros((n, m)), slopes[2]])
        plain = [signal(name) for name in self.coordinates]
        states = [*plain, *(f"{name}_rate" for name in plain)]
        inputs = ["u_" + re.sub(r"\W", "_", name) for name in self.inputs]
        if outputs is None:
            C, D, names = np.eye(2 * n), np.zeros((2 * n, m)), states
        else:
            names = list(self.output_names(outputs))
            qdd = np.array(self.function("forward_dynamics")(*arguments)).ravel()
            y_q, y_qd, y_qdd = self.output_slopes(outputs, arguments[0], arguments[1], qdd)
            C = np.hstack([y_q + y_qdd @ slopes[0], y_qd + y_qdd @ slopes[1]])
            D = y_qdd @ slopes[2]
        return control.StateSpace(A, B, C, D, inputs=inputs, outputs=names, states=states)

    # -- outputs

    def output_names(self, outputs: Sequence[Sensor]) -> tuple[str, ...]:
        """Names of the outputs' signals in order; raises `DescriptionError` where two are the same."""
        if not isinstance(outputs, list | tuple) or not outputs:
            raise DescriptionError(f"outputs is {shown(outputs)}; it must be a list of sensors")
        for each in outputs:
            if not hasattr(each, "expression"):
                raise DescriptionError(f"outputs: {shown(each)} is no sensor")
        names = [name for each in outputs for name in each.names(self.arm)]
        for name in names:
            if names.count(name) > 1:
                raise DescriptionError(f"outputs: two signals are called {name!r}; give one of the sensors a name")
        return tuple(names)

    def output_function(self, outputs: Sequence[Sensor]) -> Any:
        """The CasADi Function y(q, qd, qdd) of outputs; nothing is eliminated, so qdd may be that of any motion."""
        key = self._output_key(outputs)
        if key not in self._functions:
            import casadi as ca

            names = ("q", "qd", "qdd")
            symbols = [ca.SX.sym(name, self._sizes["n"]) for name in names]
            scalars = [[x[i] for i in range(x.numel())] for x in symbols]
            y = [value for each in outputs for value in each.expression(self.arm, self._chain, *scalars)]
            expression = ca.cse(ca.densify(ca.SX(ca.vertcat(*y))))
            self._functions[key] = ca.Function("outputs", symbols, [expression], list(names), ["y"])
        return self._functions[key]

    def output_slopes(self, outputs: Sequence[Sensor], q: Array, qd: Array, qdd: Array) -> tuple[Array, ...]:
        """dy/dq, dy/dqd and dy/dqdd of outputs, (p, n) each: exact derivatives at a state and an acceleration."""
        key = self._output_key(outputs) + " slopes"
        if key not in self._functions:
            import casadi as ca

            y = self.output_function(outputs)
            x = y.sx_in()
            self._functions[key] = ca.Function("slopes", x, [ca.densify(ca.jacobian(y(*x), each)) for each in x])
        return tuple(np.array(x) for x in self._functions[key](q, qd, qdd))

    def output_kernel(self, outputs: Sequence[Sensor]) -> Kernel:
        """The compiled form of `output_function`: q, qd, qdd laid end to end in, y out."""
        key = self._output_key(outputs)
        if key not in self._kernels:
            self._kernels[key] = Kernel(json.dumps([key, self._fingerprint]), lambda: self.output_function(outputs))
        return self._kernels[key]

    def _output_key(self, outputs: Sequence[Sensor]) -> str:
        self.output_names(outputs)
        return json.dumps(["outputs", *([type(each).__qualname__, each.described()] for each in outputs)])

    # -- tracing and compiling

    def function(self, name: str) -> Any:
        """The CasADi Function of a quantity, e.g. "forward_dynamics", for optimisation and export.

        Its arguments have the names of the method's, its result the name of the quantity.
        """
        if name not in QUANTITIES:
            raise DescriptionError(f"unknown quantity {name!r}; known are {', '.join(QUANTITIES)}")
        if name not in self._functions:
            import casadi as ca

            from flexarm.mechanics import quantities

            symbols = {a: ca.SX.sym(a, self._sizes["m" if a == "u" else "n"]) for a in QUANTITIES[name][0]}
            scalars = [[x[i] for i in range(x.numel())] for x in symbols.values()]
            value = getattr(quantities, name)(self._chain, *scalars)
            rows = [ca.horzcat(*row) if isinstance(row, list) else row for row in value]
            expression = ca.cse(ca.densify(ca.SX(ca.vertcat(*rows))))
            self._functions[name] = ca.Function(name, list(symbols.values()), [expression], list(symbols), [name])
        return self._functions[name]

    def _slope(self, name: str, argument: int) -> Any:
        """CasADi Function of the derivative of a quantity to one of its arguments."""
        key = f"{name} to {argument}"
        if key not in self._functions:
            import casadi as ca

            x = self.function(name).sx_in()
            derivative = ca.densify(ca.jacobian(self.function(name)(*x), x[argument]))
            self._functions[key] = ca.Function("slope", x, [derivative])
        return self._functions[key]

    @cached_property
    def _chain(self) -> Any:
        from flexarm.mechanics.chain import chain

        return chain(self.arm)

    @cached_property
    def _fingerprint(self) -> str:
        """Everything the equations depend on. A family object of the user's own counts by its shapes."""
        digest = hashlib.sha256(self.arm.canonical().encode())
        beams = [link.body for link in self.arm.links if isinstance(link.body, Beam)]
        for beam, direction, shapes in ((beam, *each) for beam in beams for each in beam.families.items()):
            if not isinstance(shapes, str | Described):
                load = TipLoad(mass=beam.total_mass)  # any: what is carried stands in the description
                basis = fitted(shapes, beam, direction, load).basis(beam.counts[direction])
                x, w = quadrature(basis)
                for derivative in range(3):
                    digest.update(np.ascontiguousarray(basis.values(x, derivative)).tobytes())
        return digest.hexdigest()

    def kernel(self, name: str) -> Kernel:
        """The compiled form of a quantity: its arguments laid end to end in, its value (columns first) out."""
        if name not in self._kernels:
            self._kernels[name] = Kernel(json.dumps([name, self._fingerprint]), lambda: self.function(name))
        return self._kernels[name]

    def _evaluate(self, name: str, *values: Any) -> Array:
        names, sizes = QUANTITIES[name]
        return self._called(name, self.kernel(name), names, sizes, values)

    def _called(
        self, name: str, kernel: Kernel, names: tuple[str, ...], sizes: tuple[str | int, ...], values: Sequence[Any]
    ) -> Array:
        """What a kernel gives for arguments of these names, in the shape of `sizes`."""
        arguments = [self._argument(a, x) for a, x in zip(names, values, strict=True)]
        if all(x.ndim == 1 for x in arguments):
            batch: tuple[int, ...] = ()
            result = kernel.one(np.concatenate(arguments))
        else:
            try:
                batch = np.broadcast_shapes(*(x.shape[:-1] for x in arguments))
            except ValueError:
                given = ", ".join(f"{a} is {x.shape}" for a, x in zip(names, arguments, strict=True))
                raise DescriptionError(f"{name}: axes before the last do not fit together: {given}") from None
            rows = np.concatenate([np.broadcast_to(x, (*batch, x.shape[-1])) for x in arguments], axis=-1)
            result = kernel.many(np.ascontiguousarray(rows.reshape(-1, rows.shape[-1])))
        shape = tuple(s if isinstance(s, int) else self._sizes[s] for s in sizes)
        if len(shape) == 1:
            return result.reshape(*batch, *shape)
        return result.reshape(*batch, *shape[:-2], shape[-1], shape[-2]).swapaxes(-1, -2)  # CasADi counts down columns

    def _argument(self, name: str, value: Any) -> Array:
        try:
            x = np.asarray(value)
            if x.dtype.kind not in "biuf":
                raise TypeError
            x = x.astype(float, copy=False)
        except (TypeError, ValueError):
            raise DescriptionError(f"{name} is not an array of numbers") from None
        size = self._sizes["m" if name == "u" else "n"]
        if x.ndim == 0 or x.shape[-1] != size:
            names = ", ".join(self.inputs if name == "u" else self.coordinates)
            raise DescriptionError(f"{name} has shape {x.shape}; its last axis must have {size} numbers: {names}")
        if not np.isfinite(x).all():
            raise DescriptionError(f"{name} contains NaN or infinity")
        return x
