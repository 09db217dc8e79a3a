"""The model of an arm: its equations traced once, compiled when first called, evaluated with arrays."""

import hashlib
import inspect
import json
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.checks import Described
from flexarm.description.arm import Arm, Beam
from flexarm.errors import DescriptionError
from flexarm.model import linear
from flexarm.model import outputs as outputs_
from flexarm.model.outputs import Sensor
from flexarm.native.kernel import Kernel
from flexarm.shapes import TipLoad, fitted, quadrature

if TYPE_CHECKING:
    import casadi as ca
    from control import StateSpace

    from flexarm.mechanics.chain import Chain

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


def foreign_sources(arm: Arm) -> list[bytes]:
    """The source files of joints and bodies that are defined outside the package, and of their mechanics.

    Where there is no file (a session at the keyboard) a number of this process stands for it.
    """
    kinds = {cls for link in arm.links for cls in (type(link.joint), type(link.body))}
    foreign = [cls for cls in kinds if cls.__module__.partition(".")[0] != "flexarm"]
    if not foreign:
        return []
    from flexarm.mechanics.drive import bare, with_drive

    things = [thing for cls in foreign for thing in (cls, bare.dispatch(cls), with_drive.dispatch(cls))]
    found = set()
    for thing in things:
        try:
            found.add(Path(inspect.getsourcefile(thing) or "").read_bytes())
        except (TypeError, OSError):
            found.add(SESSION)
    return sorted(found)


SESSION = os.urandom(16)
"""Stands for source code that lies in no file."""


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

    def __reduce__(self) -> tuple[type["Model"], tuple[Arm]]:
        return Model, (self.arm,)  # in another process everything is traced anew, or found on disk

    def __repr__(self) -> str:
        return f"Model({self.arm.name!r}: {len(self.coordinates)} coordinates, {len(self.inputs)} inputs)"

    # -- the equations of motion

    def mass_matrix(self, q: Array) -> Array:
        """M(q), (n, n), symmetric and positive definite."""
        return self.evaluate("mass_matrix", q)

    def bias(self, q: Array, qd: Array) -> Array:
        """Coriolis and centrifugal force, (n,)."""
        return self.evaluate("bias", q, qd)

    def gravity_force(self, q: Array) -> Array:
        """dV/dq of gravity, (n,)."""
        return self.evaluate("gravity_force", q)

    def stiffness_force(self, q: Array) -> Array:
        """dV/dq of the links' strain and the joints' springs, (n,)."""
        return self.evaluate("stiffness_force", q)

    def damping_force(self, q: Array, qd: Array) -> Array:
        """Force of bearings, springs and links' modal damping, (n,)."""
        return self.evaluate("damping_force", q, qd)

    def input_matrix(self, q: Array) -> Array:
        """B(q), (n, m): generalized force = B u."""
        return self.evaluate("input_matrix", q)

    def forward_dynamics(self, q: Array, qd: Array, u: Array) -> Array:
        """Acceleration qdd, (n,), by recursion in O(number of links) (Mohan & Saha section 5)."""
        return self.evaluate("forward_dynamics", q, qd, u)

    def forward_dynamics_dense(self, q: Array, qd: Array, u: Array) -> Array:
        """The same acceleration from the factors of the whole inertia matrix (Mohan & Saha section 7.2), to compare."""
        return self.evaluate("forward_dynamics_dense", q, qd, u)

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Generalized force, (n,), that gives the acceleration qdd."""
        return self.evaluate("inverse_dynamics", q, qd, qdd)

    # -- energies and places

    def energy(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Kinetic and potential energy [J]; potential: gravity (zero at the base's height), strain and springs."""
        both = self.evaluate("energy", q, qd)
        return both[..., 0], both[..., 1]

    def tip(self, q: Array) -> Array:
        """Pose of the payload frame in the base frame, (4, 4)."""
        return self.evaluate("tip", q)

    def frames(self, q: Array) -> Array:
        """Poses of the links' base frames and of the payload frame in the base frame, (links + 1, 4, 4)."""
        return self.evaluate("frames", q)

    def deflections(self, q: Array) -> Array:
        """For each link its tip's displacement along x, y, z [m], slopes in y and z, and torsion [rad], (links, 6)."""
        return self.evaluate("deflections", q)

    # -- analysis

    def frequencies(self, q: Array, locked: bool = True) -> Array:
        """Natural frequencies about the configuration q, ascending [rad/s].

        Locked: the drives are held (an elastic joint by its motor, a hub that turns with its shapes by the hub). Else
        all is free; an arm without gravity then has a frequency 0 for each drive. A direction in which the arm would
        fall, omega^2 < 0, comes as -sqrt(-omega^2).
        """
        return self.modes(q, locked)[0]

    def modes(self, q: Array, locked: bool = True) -> tuple[Array, Array]:
        """Natural frequencies (k,) as `frequencies` gives them, and the modes (n, k): coordinates, with M-norm 1."""
        return linear.modes(self, q, locked)

    def linearize(self, q: Array, qd: Array, u: Array, outputs: Sequence[Sensor] | None = None) -> "StateSpace":
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
        return linear.linearize(self, q, qd, u, outputs)

    # -- outputs

    def output_names(self, outputs: Sequence[Sensor]) -> tuple[str, ...]:
        """Names of the outputs' signals in order; raises `DescriptionError` where two are the same."""
        return outputs_.names(self.arm, outputs)

    def output_function(self, outputs: Sequence[Sensor]) -> "ca.Function":
        """The CasADi Function y(q, qd, qdd) of outputs; nothing is eliminated, so qdd may be that of any motion."""
        return outputs_.function(self, outputs)

    def output_slopes(self, outputs: Sequence[Sensor], q: Array, qd: Array, qdd: Array) -> tuple[Array, ...]:
        """dy/dq, dy/dqd and dy/dqdd of outputs, (p, n) each: exact derivatives at a state and an acceleration."""
        return outputs_.slopes(self, outputs, q, qd, qdd)

    def output_kernel(self, outputs: Sequence[Sensor]) -> Kernel:
        """The compiled form of `output_function`: q, qd, qdd laid end to end in, y out."""
        return outputs_.kernel(self, outputs)

    # -- tracing and compiling

    def function(self, name: str) -> "ca.Function":
        """The CasADi Function of a quantity, e.g. "forward_dynamics", for optimisation and export.

        Its arguments have the names of the method's, its result the name of the quantity.
        """
        if name not in QUANTITIES:
            raise DescriptionError(f"unknown quantity {name!r}; known are {', '.join(QUANTITIES)}")

        def trace() -> "ca.Function":
            import casadi as ca

            from flexarm.mechanics import quantities
            from flexarm.mechanics.spatial import entries

            symbols = {a: ca.SX.sym(a, self._sizes["m" if a == "u" else "n"]) for a in QUANTITIES[name][0]}
            scalars = [entries(x) for x in symbols.values()]
            value = getattr(quantities, name)(self.chain, *scalars)
            rows = [ca.horzcat(*row) if isinstance(row, list) else row for row in value]
            expression = ca.cse(ca.densify(ca.SX(ca.vertcat(*rows))))
            return ca.Function(name, list(symbols.values()), [expression], list(symbols), [name])

        return self.derived(name, trace)

    def slope(self, name: str, argument: int) -> "ca.Function":
        """The CasADi Function of the derivative of a quantity to one of its arguments, which it takes all."""

        def trace() -> "ca.Function":
            import casadi as ca

            x = self.function(name).sx_in()
            return ca.Function("slope", x, [ca.densify(ca.jacobian(self.function(name)(*x), x[argument]))])

        return self.derived(f"{name} to {argument}", trace)

    def derived(self, key: str, trace: Callable[[], "ca.Function"]) -> "ca.Function":
        """A function that follows from the model, traced when first asked for and kept by its key."""
        if key not in self._functions:
            self._functions[key] = trace()
        return self._functions[key]

    def kernel(self, name: str) -> Kernel:
        """The compiled form of a quantity: its arguments laid end to end in, its value (columns first) out."""
        return self.compiled(name, lambda: self.function(name))

    def compiled(self, key: str, trace: Callable[[], "ca.Function"]) -> Kernel:
        """The compiled form of a function that follows from the model and the key alone; kept by the key."""
        if key not in self._kernels:
            self._kernels[key] = Kernel(json.dumps([key, self.fingerprint]), trace)
        return self._kernels[key]

    @cached_property
    def chain(self) -> "Chain":
        """The arm as the recursions see it."""
        from flexarm.mechanics.chain import chain

        return chain(self.arm)

    @cached_property
    def fingerprint(self) -> str:
        """Everything the equations depend on. A family object of the user's own counts by its shapes."""
        digest = hashlib.sha256(self.arm.canonical().encode())
        for content in foreign_sources(self.arm):
            digest.update(content)
        beams = [link.body for link in self.arm.links if isinstance(link.body, Beam)]
        for beam, direction, shapes in ((each, *family) for each in beams for family in each.families.items()):
            if not isinstance(shapes, str | Described):
                load = TipLoad(mass=beam.total_mass)  # any: what is carried stands in the description
                basis = fitted(shapes, beam, direction, load).basis(beam.counts[direction])
                x, w = quadrature(basis)
                for derivative in range(3):
                    digest.update(np.ascontiguousarray(basis.values(x, derivative)).tobytes())
        return digest.hexdigest()

    def evaluate(self, name: str, *values: Any) -> Array:
        """The value of any quantity at one state or many, for arguments as its method takes them."""
        names, sizes = QUANTITIES[name]
        return self.called(name, self.kernel(name), names, sizes, values)

    def called(
        self, name: str, kernel: Kernel, names: tuple[str, ...], sizes: tuple[str | int, ...], values: Sequence[Any]
    ) -> Array:
        """What a kernel gives for arguments of these names, in the shape of `sizes`."""
        arguments = [self.argument(a, x) for a, x in zip(names, values, strict=True)]
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

    def argument(self, name: str, value: Any) -> Array:
        """An argument q, qd, qdd (..., n) or u (..., m) as an array of floats; raises `DescriptionError`."""
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
