"""The model of an arm: its equations, traced once, compiled on first call, and evaluated with arrays."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import checked_instance, counted
from flexarm.description.arm import Arm
from flexarm.model import closures, linear, regressor
from flexarm.model import outputs as outputs_
from flexarm.model.outputs import Sensor
from flexarm.model.tracing import Traced
from flexarm.native.kernel import Kernel

if TYPE_CHECKING:
    import casadi as ca
    from control import StateSpace

    from flexarm.mechanics.parameters import Parameter


@final
class Model(Traced):
    """An arm's equations of motion, M(q) qdd + bias + damping + stiffness + gravity = B(q) u.

    The last axis of q has nq numbers, in the order of `coordinates`. The last axis of qd and qdd has n numbers, in the
    order of `velocities`. Both orders are the same unless the base is free, which has seven coordinates and six rates.
    The last axis of u has m numbers, in the order of `inputs`. Axes before the last mean many states at once and appear
    in the result. Arguments with fewer axes are broadcast. Quantities are traced and compiled on first use.

    Parameters
    ----------
    arm : Arm, str or path
        The arm, the name of a bundled arm, or the path of a .toml, URDF, MJCF or SDF file, as `fa.load` takes it.
    vary : list of str, optional
        Numbers of the arm that become inputs of the equations, p, instead of constants: names ("payload.mass"), symbols
        ("EI_1") or patterns ("fore.*": those that are not zero), as in `fa.equations`. The methods take their values:
        (k,) or, for many states, (..., k), in the order of `parameters`, or a dict of some by name with the others
        nominal. Mode shapes stay those of `arm`.

    Raises
    ------
    DescriptionError
        An argument has the wrong length or is not finite, or the arm has nothing that moves. At the first evaluation of
        a quantity: its value is not finite at rest; the message names the number that is the likely cause. A name of
        `vary` is unknown or cannot vary, or p is not allowed.
    """

    def __reduce__(self) -> tuple[Callable[..., "Model"], tuple[Arm, list[str], Array]]:
        # another process traces the model again, or finds it in the cache
        return _again, (self.arm, [x.name for x in self.varied], self.p)

    def __repr__(self) -> str:
        varied = f", {counted(len(self.p), 'parameter')}" * bool(len(self.p))
        sizes = f"{counted(self.nq, 'coordinate')}, {counted(len(self.inputs), 'input')}"
        return f"Model({self.arm.name!r}: {sizes}{varied})"

    # -- parameters

    @property
    def parameters(self) -> tuple["Parameter", ...]:
        """Parameters that vary, in the order of p: name, symbol, unit, nominal value, meaning.

        `shapes` names the mode shapes that would change in an arm rebuilt with another value. This model keeps the
        shapes of the nominal arm.
        """
        return self._shared.varied.described

    def arm_at(self, p: Any = None) -> Arm:
        """Return the description of an arm with these parameters, (k,) or a dict, default this model's.

        Raises `DescriptionError` if a description has no field for a parameter.
        """
        return self._shared.varied.arm_at(self._with(p).p)

    def _with(self, p: Any) -> "Model":
        return self if p is None else self.at(p)

    # -- the equations of motion

    def mass_matrix(self, q: Array, p: Any = None) -> Array:
        """Return M(q), (n, n), symmetric and positive definite."""
        return self.evaluate("mass_matrix", q, p=p)

    def bias(self, q: Array, qd: Array, p: Any = None) -> Array:
        """Return the Coriolis and centrifugal force, (n,)."""
        return self.evaluate("bias", q, qd, p=p)

    def gravity_force(self, q: Array, p: Any = None) -> Array:
        """Return dV/dq of gravity, (n,)."""
        return self.evaluate("gravity_force", q, p=p)

    def stiffness_force(self, q: Array, p: Any = None) -> Array:
        """Return dV/dq of the links' strain and the joints' springs, (n,)."""
        return self.evaluate("stiffness_force", q, p=p)

    def damping_force(self, q: Array, qd: Array, p: Any = None) -> Array:
        """Return the force of bearings, springs, links' damping, and friction with zero states, (n,); no motors."""
        return self.evaluate("damping_force", q, qd, p=p)

    def input_matrix(self, q: Array, p: Any = None) -> Array:
        """Return B(q), (n, m): generalized force = B u."""
        return self.evaluate("input_matrix", q, p=p)

    def forward_dynamics(self, q: Array, qd: Array, u: Array, p: Any = None, s: Any = None, w: Any = None) -> Array:
        """Return the acceleration qdd, (n,), by recursion in O(number of links) (Mohan & Saha section 5).

        s are the states of drives and w the exogenous inputs, if the arm has some. Both are zero by default.
        """
        return self.evaluate("forward_dynamics", q, qd, u, p=p, s=s, w=w)

    def forward_dynamics_dense(
        self, q: Array, qd: Array, u: Array, p: Any = None, s: Any = None, w: Any = None
    ) -> Array:
        """Return the acceleration from factors of the full inertia matrix (Mohan & Saha sec. 7.2), for comparison."""
        return self.evaluate("forward_dynamics_dense", q, qd, u, p=p, s=s, w=w)

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array, p: Any = None) -> Array:
        """Return the generalized force, (n,), of the acceleration qdd."""
        return self.evaluate("inverse_dynamics", q, qd, qdd, p=p)

    def coriolis_force(self, q: Array, qd: Array, v: Array, p: Any = None) -> Array:
        """Return C(q, qd) v, (n,), with the factors of the bias C(q, qd) qd for which dM/dt - 2 C is skew.

        For joint and flexible coordinates C consists of Christoffel's symbols. The rates of a free base and of ball
        joints are no rates of coordinates: there C is the Levi-Civita connection of M in these rates. The matrix C is
        `coriolis_force(q, qd, np.eye(n)).T`.
        """
        return self.evaluate("coriolis_force", q, qd, v, p=p)

    def reference_dynamics(self, q: Array, qd: Array, v: Array, qdd: Array, p: Any = None) -> Array:
        """Return M qdd + C(q, qd) v + damping + stiffness + gravity, (n,): inverse dynamics if v is qd.

        v and qdd are reference rates and accelerations, as in the control law of Slotine & Li.
        """
        return self.evaluate("reference_dynamics", q, qd, v, qdd, p=p)

    def regressor(self, q: Array, qd: Array, v: Array, qdd: Array) -> Array:
        """Return Y(q, qd, v, qdd), (n, k): the derivative of `reference_dynamics` with respect to the parameters p.

        The dynamics are `Y p` plus terms without these parameters. With v = qd it is the regressor of inverse dynamics.
        Masses, stiffnesses, damping and inertias about a given centre of mass enter linearly.

        Raises
        ------
        DescriptionError
            The model has no parameters that vary, or one of them does not enter linearly, such as a length.
        """
        found = self._evaluations.get("regressor")
        if found is None:
            shape = (self.nv, len(self.varied))
            found = self.evaluation("regressor", regressor.kernel(self), regressor.ARGUMENTS, shape)
            self._evaluations["regressor"] = found
        return found((q, qd, v, qdd))

    def regressor_function(self) -> "ca.Function":
        """Return the CasADi Function Y(q, qd, v, qdd), (n, k), of `regressor`."""
        return regressor.function(self)

    # -- energies and poses

    def energy(self, q: Array, qd: Array, p: Any = None, s: Any = None) -> tuple[Array, Array]:
        """Return kinetic and potential energy [J]; potential: gravity (zero at the base's height), strain and springs.

        Energy stored in the states s of drives counts as potential. The states are zero by default.
        """
        both = self.evaluate("energy", q, qd, p=p, s=s)
        return both[..., 0], both[..., 1]

    def momentum(self, q: Array, qd: Array, p: Any = None) -> Array:
        """Return momentum [kg m/s] and angular momentum about the world's origin [N m s], (6,), along the world's axes.

        A fixed base can change both. Its frame is the world.
        """
        return self.evaluate("momentum", q, qd, p=p)

    def tip(self, q: Array, p: Any = None) -> Array:
        """Return the pose of the arm's tip, (4, 4), in the world. The frame of a fixed base is the world."""
        return self.evaluate("tip", q, p=p)

    def frames(self, q: Array, p: Any = None) -> Array:
        """Return the poses of the links' base frames and of the arm's tip, (links + 1, 4, 4), in the world."""
        return self.evaluate("frames", q, p=p)

    def deflections(self, q: Array, p: Any = None) -> Array:
        """Return each link's tip displacement along x, y, z [m], slopes in y and z, and torsion [rad], (links, 6)."""
        return self.evaluate("deflections", q, p=p)

    # -- closed loops

    def closure_gaps(self, q: Array, qd: Array | None = None, p: Any = None) -> tuple[Array, Array]:
        """Return the gaps of the closures' conditions, [m] between origins and [1] between axes, and their rates.

        Both are (k,), with the number k of all conditions: 5 of a revolute joint, 3 of a ball, 6 of a fixed joint, 5 of
        a prismatic, 3 of a planar and 4 of a universal one. The rates qd are zero by default.
        """
        both = self.evaluate("closure_gaps", q, np.zeros(self.nv) if qd is None else qd, p=p)
        return both[..., 0], both[..., 1]

    def closure_reactions(self, q: Array, qd: Array, u: Array, p: Any = None, s: Any = None, w: Any = None) -> Array:
        """Return the wrench of each closure on its second frame, at its origin, (closures, 6) [N, N m].

        Force and moment are along the axes of the first frame. The opposite wrench acts on the first link. Where some
        conditions follow from others, as in a planar loop in space, they share a reaction that is not unique.
        """
        return self.evaluate("closure_reactions", q, qd, u, p=p, s=s, w=w)

    # -- analysis

    def frequencies(self, q: Array | None = None, locked: bool = True, p: Any = None) -> Array:
        """Return the natural frequencies about the configuration q, by default `arm.rest`, ascending [rad/s].

        If locked, the drives are held: an elastic joint by its motor, and a hub that turns with its shapes by the hub.
        Else all coordinates are free, and an arm without gravity has a frequency 0 for each drive. A direction in which
        the arm would fall, omega^2 < 0, gives -sqrt(-omega^2).

        Away from an equilibrium (`analysis.equilibrium`), the values depend on the choice of coordinates: of a loaded
        ball joint, those with a quaternion differ from those with angles.
        """
        return self.modes(q, locked, p)[0]

    def modes(self, q: Array | None = None, locked: bool = True, p: Any = None) -> tuple[Array, Array]:
        """Return natural frequencies (k,) as `frequencies` does, and the modes (n, k): coordinates, with M-norm 1."""
        return linear.modes(self._with(p), self._at_rest(q), locked)

    def _at_rest(self, q: Array | None) -> Array:
        return closures.rest(self) if q is None else q

    def linearize(
        self,
        q: Array | None = None,
        qd: Array | None = None,
        u: Array | None = None,
        outputs: Sequence[Sensor] | None = None,
        p: Any = None,
        w: Any = None,
        s: Any = None,
    ) -> "StateSpace":
        """Return the arm near a state as a `control.StateSpace`: states (q, qd), inputs u, outputs y, all deviations.

        The matrices are exact derivatives of the equations of motion and of the outputs. If qdd is not zero at the
        state, the deviation is from the motion through it. State signals have the coordinates' names with `_` for `.`:
        `upper_joint`, `upper_joint_rate`. Inputs have the actuators' names with the prefix `u_`: `u_upper_joint`.

        Parameters
        ----------
        q, qd, u : (nq,), (n,), (m,), optional
            The state and the inputs there; default `arm.rest` and zero.
        outputs : list of Sensor, optional
            Measured quantities, see the module `sensors`; default all of q, then all of qd.
        p : (k,) or dict, optional
            Parameters.
        s : (states,), optional
            States of drives there; default zero. They follow q and qd among the states.
        w : (exogenous,) or dict, optional
            Exogenous inputs at the state, or some of them by name with the others zero. If given, they become further
            inputs of the linear model, with the prefix `w_`: `w_push_fx`. Otherwise they are constantly zero.

        Raises
        ------
        DescriptionError
            Also if a sensor does not fit the arm, or two signals have one name.
        """
        qd = np.zeros(self.nv) if qd is None else qd
        u = np.zeros(len(self.inputs)) if u is None else u
        return linear.linearize(self._with(p), self._at_rest(q), qd, u, outputs, w, s)

    # -- outputs

    def output_names(self, outputs: Sequence[Sensor]) -> tuple[str, ...]:
        """Return the names of the outputs' signals in order. Raise `DescriptionError` if two are the same."""
        return outputs_.names(self.arm, outputs)

    def output_function(self, outputs: Sequence[Sensor]) -> "ca.Function":
        """Return the CasADi Function y(q, qd, qdd) of outputs.

        The acceleration qdd is an argument, and may be that of any motion.

        If the model varies, p is the last argument.
        """
        return outputs_.function(self, outputs)

    def output_slopes(
        self, outputs: Sequence[Sensor], q: Array, qd: Array, qdd: Array, p: Any = None
    ) -> tuple[Array, ...]:
        """Return dy/dq, dy/dqd and dy/dqdd of outputs, (p, n) each, at a state and an acceleration. They are exact."""
        state = [self.single("output_slopes", name, x) for name, x in (("q", q), ("qd", qd), ("qdd", qdd))]
        return outputs_.slopes(self._with(p), outputs, *state)

    def output_kernel(self, outputs: Sequence[Sensor]) -> Kernel:
        """Return the compiled form of `output_function`, from the concatenated q, qd, qdd to y."""
        return outputs_.kernel(self, outputs)


def _again(arm: Arm, vary: list[str], p: Array) -> Model:
    """Create a model in another process."""
    model = Model(arm, vary)
    return model.at(p) if vary else model


ModelLike = Model | Arm | str | PathLike[str]
"""A model, or what `Model` takes: an arm, the name of a bundled arm, or the path of a file."""


def as_model(model: ModelLike, part: str = "model") -> Model:
    """Return a model itself, or the model of an arm, of the name of a bundled arm, or of a file.

    Raises `Fault` for anything else, which names the argument `part`, and `DescriptionError` for an unknown name or a
    wrong file.
    """
    if isinstance(model, Arm | str | PathLike):
        return Model(model)
    return checked_instance(model, Model, part)  # type: ignore[no-any-return]
