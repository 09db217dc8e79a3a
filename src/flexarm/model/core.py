"""The model of an arm: its equations traced once, compiled when first called, evaluated with arrays."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, final

import numpy as np

from flexarm.description.arm import Arm
from flexarm.model import linear
from flexarm.model import outputs as outputs_
from flexarm.model.outputs import Sensor
from flexarm.model.tracing import Traced
from flexarm.native.kernel import Kernel

if TYPE_CHECKING:
    import casadi as ca
    from control import StateSpace

Array = np.ndarray


@final
class Model(Traced):
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
        When an argument has the wrong length or is not finite, or the arm has nothing that moves. When a quantity is
        first evaluated: where the arm gives none that is finite at rest; the message says which number is likely at
        fault.
    """

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
        state = [self.single("output_slopes", name, x) for name, x in (("q", q), ("qd", qd), ("qdd", qdd))]
        return outputs_.slopes(self, outputs, *state)

    def output_kernel(self, outputs: Sequence[Sensor]) -> Kernel:
        """The compiled form of `output_function`: q, qd, qdd laid end to end in, y out."""
        return outputs_.kernel(self, outputs)
