"""The model of an arm: its equations traced once, compiled when first called, evaluated with arrays."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.description.arm import Arm
from flexarm.model import linear
from flexarm.model import outputs as outputs_
from flexarm.model.outputs import Sensor
from flexarm.model.tracing import Traced
from flexarm.native.kernel import Kernel
from flexarm.native.varying import At

if TYPE_CHECKING:
    import casadi as ca
    from control import StateSpace

    from flexarm.mechanics.parameters import Parameter

Array = np.ndarray


@final
class Model(Traced):
    """An arm's equations of motion, M(q) qdd + bias + damping + stiffness + gravity = B(q) u.

    The last axis of q has nq numbers, in the order of `coordinates`, that of qd and qdd n, in the order of
    `velocities`: the same but where the base is free, which has seven coordinates and six rates. That of u has m, in
    the order of `inputs`. Axes before the last mean many states at once and appear in the result; arguments with fewer
    are used for all of them. Nothing is traced or compiled before it is called.

    Parameters
    ----------
    arm : Arm
    vary : list of str, optional
        Numbers of the arm that are inputs of the equations, p, and not constants: names ("payload.mass"), symbols
        ("EI_1") or patterns of them ("fore.*": those that are not zero), as in `fa.equations`. The methods take values
        of them: (k,) or, where there are many states, (..., k), in the order of `parameters`, or a dict of some by name
        with the others nominal. Mode shapes stay those of `arm`.

    Raises
    ------
    DescriptionError
        When an argument has the wrong length or is not finite, or the arm has nothing that moves. When a quantity is
        first evaluated: where the arm gives none that is finite at rest; the message says which number is likely at
        fault. When a name of `vary` fits nothing, or a number that cannot vary, or p is not allowed.
    """

    def __reduce__(self) -> tuple[Callable[..., "Model"], tuple[Arm, list[str], Array]]:
        return _again, (self.arm, [x.name for x in self.varied], self.p)  # traced anew, or found on disk

    def __repr__(self) -> str:
        varied = f", {len(self.p)} parameters" * bool(len(self.p))
        return f"Model({self.arm.name!r}: {len(self.coordinates)} coordinates, {len(self.inputs)} inputs{varied})"

    # -- parameters

    @property
    def parameters(self) -> tuple["Parameter", ...]:
        """What varies, in the order of p: name, symbol, unit, nominal value, meaning.

        `shapes` says whose mode shapes an arm rebuilt with another value would have otherwise; this model keeps those
        of the nominal arm.
        """
        return self._shared.varied.described

    def arm_at(self, p: Any = None) -> Arm:
        """The description with these parameters, (k,) or a dict, default this model's: the arm rebuilt.

        Raises `DescriptionError` where a description has no place for a number.
        """
        return self._shared.varied.arm_at(self._with(p).p)

    def _with(self, p: Any) -> "Model":
        return self if p is None else self.at(p)

    # -- the equations of motion

    def mass_matrix(self, q: Array, p: Any = None) -> Array:
        """M(q), (n, n), symmetric and positive definite."""
        return self.evaluate("mass_matrix", q, p=p)

    def bias(self, q: Array, qd: Array, p: Any = None) -> Array:
        """Coriolis and centrifugal force, (n,)."""
        return self.evaluate("bias", q, qd, p=p)

    def gravity_force(self, q: Array, p: Any = None) -> Array:
        """dV/dq of gravity, (n,)."""
        return self.evaluate("gravity_force", q, p=p)

    def stiffness_force(self, q: Array, p: Any = None) -> Array:
        """dV/dq of the links' strain and the joints' springs, (n,)."""
        return self.evaluate("stiffness_force", q, p=p)

    def damping_force(self, q: Array, qd: Array, p: Any = None) -> Array:
        """Force of bearings, springs, links' damping, and friction whose states are zero, (n,); motors are away."""
        return self.evaluate("damping_force", q, qd, p=p)

    def input_matrix(self, q: Array, p: Any = None) -> Array:
        """B(q), (n, m): generalized force = B u."""
        return self.evaluate("input_matrix", q, p=p)

    def forward_dynamics(self, q: Array, qd: Array, u: Array, p: Any = None, s: Any = None, w: Any = None) -> Array:
        """Acceleration qdd, (n,), by recursion in O(number of links) (Mohan & Saha section 5).

        s are the states of drives, w exogenous inputs, where the arm has some: zero by default.
        """
        return self.evaluate("forward_dynamics", q, qd, u, p=p, s=s, w=w)

    def forward_dynamics_dense(
        self, q: Array, qd: Array, u: Array, p: Any = None, s: Any = None, w: Any = None
    ) -> Array:
        """The same acceleration from the factors of the whole inertia matrix (Mohan & Saha section 7.2), to compare."""
        return self.evaluate("forward_dynamics_dense", q, qd, u, p=p, s=s, w=w)

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array, p: Any = None) -> Array:
        """Generalized force, (n,), that gives the acceleration qdd."""
        return self.evaluate("inverse_dynamics", q, qd, qdd, p=p)

    # -- energies and places

    def energy(self, q: Array, qd: Array, p: Any = None, s: Any = None) -> tuple[Array, Array]:
        """Kinetic and potential energy [J]; potential: gravity (zero at the base's height), strain and springs.

        What the states s of drives hold counts as potential; they are zero by default.
        """
        both = self.evaluate("energy", q, qd, p=p, s=s)
        return both[..., 0], both[..., 1]

    def momentum(self, q: Array, qd: Array, p: Any = None) -> Array:
        """Momentum [kg m/s] and moment of momentum about the world's origin [N m s], (6,), along the world's axes.

        A base that is not free holds the arm, and gives and takes both; its frame is the world.
        """
        return self.evaluate("momentum", q, qd, p=p)

    def tip(self, q: Array, p: Any = None) -> Array:
        """Pose of the arm's tip, (4, 4), in the world, which is the frame of a base that is not free."""
        return self.evaluate("tip", q, p=p)

    def frames(self, q: Array, p: Any = None) -> Array:
        """Poses of the links' base frames and of the arm's tip, (links + 1, 4, 4), in the same frame as `tip`."""
        return self.evaluate("frames", q, p=p)

    def deflections(self, q: Array, p: Any = None) -> Array:
        """For each link its tip's displacement along x, y, z [m], slopes in y and z, and torsion [rad], (links, 6)."""
        return self.evaluate("deflections", q, p=p)

    # -- analysis

    def frequencies(self, q: Array, locked: bool = True, p: Any = None) -> Array:
        """Natural frequencies about the configuration q, ascending [rad/s].

        Locked: the drives are held (an elastic joint by its motor, a hub that turns with its shapes by the hub). Else
        all is free; an arm without gravity then has a frequency 0 for each drive. A direction in which the arm would
        fall, omega^2 < 0, comes as -sqrt(-omega^2).
        """
        return self.modes(q, locked, p)[0]

    def modes(self, q: Array, locked: bool = True, p: Any = None) -> tuple[Array, Array]:
        """Natural frequencies (k,) as `frequencies` gives them, and the modes (n, k): coordinates, with M-norm 1."""
        return linear.modes(self._with(p), q, locked)

    def linearize(
        self,
        q: Array,
        qd: Array,
        u: Array,
        outputs: Sequence[Sensor] | None = None,
        p: Any = None,
        w: Any = None,
        s: Any = None,
    ) -> "StateSpace":
        """The arm near a state, as a `control.StateSpace`: states (q, qd), inputs u, outputs y, all deviations.

        The matrices are exact derivatives of the equations of motion and of the outputs. Where qdd is not zero at the
        state, the deviation is from the motion through it. Signals have the coordinates' names with `_` for `.`:
        `upper_joint`, `upper_joint_rate`; inputs those of the actuators with `u_` before them: `u_upper_joint`.

        Parameters
        ----------
        q, qd, u : (nq,), (n,), (m,)
            The state and the inputs there.
        outputs : list of Sensor, optional
            What is measured, see the module `sensors`; default all of q, then all of qd.
        p : (k,) or dict, optional
            Parameters.
        s : (states,), optional
            States of drives there; default zero. They stand behind q and qd among the states.
        w : (exogenous,), optional
            Exogenous inputs at the state. Where they are given the linear model has them as further inputs, with `w_`
            before their names: `w_push_fx`; else they are zero and stay so.

        Raises
        ------
        DescriptionError
            Also where a sensor does not fit the arm, or two signals have one name.
        """
        return linear.linearize(self._with(p), q, qd, u, outputs, w, s)

    # -- outputs

    def output_names(self, outputs: Sequence[Sensor]) -> tuple[str, ...]:
        """Names of the outputs' signals in order; raises `DescriptionError` where two are the same."""
        return outputs_.names(self.arm, outputs)

    def output_function(self, outputs: Sequence[Sensor]) -> "ca.Function":
        """The CasADi Function y(q, qd, qdd) of outputs; nothing is eliminated, so qdd may be that of any motion.

        That of a model that varies has p as its last argument.
        """
        return outputs_.function(self, outputs)

    def output_slopes(
        self, outputs: Sequence[Sensor], q: Array, qd: Array, qdd: Array, p: Any = None
    ) -> tuple[Array, ...]:
        """dy/dq, dy/dqd and dy/dqdd of outputs, (p, n) each: exact derivatives at a state and an acceleration."""
        state = [self.single("output_slopes", name, x) for name, x in (("q", q), ("qd", qd), ("qdd", qdd))]
        return outputs_.slopes(self._with(p), outputs, *state)

    def output_kernel(self, outputs: Sequence[Sensor]) -> Kernel | At:
        """The compiled form of `output_function`: q, qd, qdd laid end to end in, y out."""
        return outputs_.kernel(self, outputs)


def _again(arm: Arm, vary: list[str], p: Array) -> Model:
    """A model in another process."""
    model = Model(arm, vary)
    return model.at(p) if vary else model
