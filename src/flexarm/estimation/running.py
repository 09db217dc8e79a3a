"""A filter that runs on a model, sample by sample."""

import ctypes  # noqa: TID251  (calls code that this package compiled)
import json
import math
import warnings
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm.analysis import configuration, equilibrium
from flexarm.arrays import Array
from flexarm.attitude import local_names, local_units
from flexarm.checks import (
    POSITIVE,
    Fault,
    checked_array,
    checked_instance,
    checked_number,
    counted,
    refused,
    shown,
    unknown_name,
)
from flexarm.control.gains import gain
from flexarm.control.riccati import from_sample_to_sample
from flexarm.errors import DescriptionError
from flexarm.estimation.charts import in_charts, placed
from flexarm.estimation.horizon import CONVERGED, TOLERANCE, Window
from flexarm.estimation.loops import Filter, padded
from flexarm.estimation.samples import (
    Record,
    deviated,
    filtered,
    once,
    once_in_window,
    reported_in_window,
    reported_once,
)
from flexarm.estimation.settings import Estimator
from flexarm.identification.motion import compiled
from flexarm.identification.plant import Plant
from flexarm.model import Model
from flexarm.model.attitudes import unit_pose
from flexarm.model.varied import named_in
from flexarm.native.code import Address
from flexarm.native.functions import translated
from flexarm.native.kernel import LANES
from flexarm.native.language import Placed
from flexarm.native.once import Once
from flexarm.simulation.butcher import RK4
from flexarm.simulation.closed_loop import held
from flexarm.simulation.methods import fastest_of

MOST_STEPS = 200
"""Largest number of steps in a period. Each has four evaluations of the arm's dynamics along all directions."""

SAMPLES = 1000
"""Number of samples in a call of native code, some tens of milliseconds. Ctrl-C takes effect between two calls."""

CODE = Once(lambda: translated(filtered, once, once_in_window, deviated, reported_once, reported_in_window))
ONCE = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
PART = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
SPREADS = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
"""Types of `once` and `once_in_window`, `filtered` and `deviated`. A short call keeps the interpreter's lock."""


@final
class Unknowns:
    """The numbers X of a filter behind the arm's state: parameters, then torques.

    Attributes
    ----------
    model : Model
        Model with the parameters as variables.
    places : tuple of int
        Index of each unknown parameter among the model's.
    acts : tuple of int
        Index of each disturbed actuator.
    scales : (unknown,)
        Initial guesses.
    powers : (unknown,) of bool
        True if the parameter is positive and its logarithm is estimated.
    sizes : (unknown + acting,)
        Standard deviations of the initial guesses in X.
    drifts : (states + unknown + acting,)
        Standard deviations of the changes in 1 s, in X, of the states of drives and of the unknowns.
    """

    def __init__(self, estimator: Estimator, model: Model):
        what, asked = estimator.label, estimator.parameters
        if asked and not model.varied:
            with named_in(f"{what}: parameters"):
                model = Model(model.arm, vary=list(asked))
        found: dict[int, str] = {}
        for name in asked:
            those = [i for i, each in enumerate(model.varied) if name in (each.name, each.symbol)]
            if not those:
                known = [each.name for each in model.varied]
                raise DescriptionError(unknown_name(f"{what}: the model does not vary", name, known, "it varies"))
            if those[0] in found:
                both = f"{shown(found[those[0]])} and {shown(name)}"
                raise DescriptionError(f"{what}: parameters: {both} are the same parameter; give one of them")
            found[those[0]] = name
        self.model, self.places = model, tuple(found)
        names = {given: model.varied[i].name for i, given in found.items()}
        beside = {each.symbol: each.name for each in model.varied}
        start = {beside.get(name, name): value for name, value in estimator.start.items()}
        drift = {beside.get(name, name): value for name, value in estimator.drift.items()}
        acting = (*model.inputs, *model.exogenous)
        for name in estimator.disturbances:
            if name not in acting:
                raise DescriptionError(unknown_name(f"{what}: disturbances: unknown input", name, acting, "inputs are"))
        self.acts = tuple(acting.index(name) for name in estimator.disturbances)
        for table, part, known in (
            (start, "start", [*names.values()]),
            (drift, "drift", [*names.values(), *estimator.disturbances, *model.states]),
        ):
            for name in table:
                if name not in known:
                    problem = f"{what}: {part}: no unknown has the name"
                    if not known:
                        must = "parameters and disturbances name the unknowns, and there are none"
                        raise DescriptionError(f"{problem} {shown(name)}; {must}")
                    raise DescriptionError(unknown_name(problem, name, known, "the unknowns are"))
        nominal = [start.get(model.varied[i].name, model.p[i]) for i in self.places]
        self.scales = np.array(nominal, dtype=float)
        self.powers = self.scales > 0.0
        slope = np.where(self.powers, self.scales, 1.0)
        self.sizes = np.array([*asked.values(), *estimator.disturbances.values()], dtype=float)
        self.sizes[: len(slope)] /= slope
        moving = (*model.states, *names.values(), *estimator.disturbances)
        self.drifts = np.array([drift.get(name, 0.0) for name in moving])
        self.drifts[len(model.states) : len(model.states) + len(slope)] /= slope

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns: of parameters, "torque of" an actuator, and of exogenous inputs."""
        model = self.model
        acting = (*(f"torque of {name}" for name in model.inputs), *model.exogenous)
        return (*(model.varied[i].name for i in self.places), *(acting[i] for i in self.acts))

    @property
    def units(self) -> tuple[str, ...]:
        """Units of the unknowns."""
        model = self.model
        acting = (*model.arm.input_units, *model.arm.exogenous_units)
        return (*(model.varied[i].unit for i in self.places), *(acting[i] for i in self.acts))

    def values(self, X: Array) -> Array:
        """Return the unknowns (..., unknown + acting) of the last numbers of X (..., N)."""
        found, k = X[..., X.shape[-1] - len(self.sizes) :].copy(), len(self.scales)
        with np.errstate(all="ignore"):  # of an estimate that diverges
            powers = self.scales * np.exp(np.where(self.powers, found[..., :k], 0.0))
        found[..., :k] = np.where(self.powers, powers, found[..., :k])
        return found

    def inverse(self, values: Array) -> Array:
        """Return the last numbers of X (..., k) for the first k unknowns, parameters before torques."""
        found, k = np.array(values, dtype=float), min(len(self.scales), np.shape(values)[-1])
        powers, scales = self.powers[:k], self.scales[:k]
        with np.errstate(all="ignore"):  # the logarithm of a value that cannot be true
            logs = np.log(np.where(powers, found[..., :k] / np.where(powers, scales, 1.0), 1.0))
        found[..., :k] = np.where(powers, logs, found[..., :k])
        return found

    def slopes(self, values: Array) -> Array:
        """Return the derivatives of the unknowns in X, (..., unknown + acting)."""
        found, k = np.ones_like(values), len(self.scales)
        found[..., :k] = np.where(self.powers, values[..., :k], 1.0)
        return found


@final
class Running:
    """A filter on a model, between its first sample and the next ones.

    Parameters
    ----------
    estimator : Estimator
    model : Model
    sensors : list of sensors
    period : float
        Time from one sample to the next [s].
    q, qd : (nq,), (n,), optional
        Initial guess of the state; default `arm.rest`, at rest.
    horizon, iterations : int
        Periods of a moving horizon, 0 for a filter without one, and Gauss-Newton iterations for each sample.

    Attributes
    ----------
    unknowns : Unknowns
    record : Filter
        Data of native code; `record.X` is the estimate and `record.S` its covariance's factor.
    names, units : tuple of str
        Names and units of the estimate: coordinates, rates, states of drives, unknowns.
    local_names, local_units : tuple of str
        The same for its deviations. They differ on a free base and at ball joints, which have local coordinates.
    signals : tuple of str
        Names of the sensors' signals.
    kernels : tuple of Kernel
        The functions `rate`, `output` and, with variable parameters, `constants` of `Filter`.
    """

    def __init__(
        self,
        estimator: Estimator,
        model: Model,
        sensors: Any,
        period: float,
        q: ArrayLike | None,
        qd: ArrayLike | None,
        horizon: int,
        iterations: int,
    ):
        what = self.label = estimator.label
        with refused(what):
            checked_instance(model, Model, "model")
            period = checked_number(period, "s", POSITIVE, "period")
        _refuse(what, model)
        self.signals, self.sensors, self.period = model.output_names(sensors), tuple(sensors), period
        self.unknowns = unknowns = Unknowns(estimator, model)
        self.model = model = unknowns.model
        q0 = np.array(model.arm.rest) if q is None else configuration(model, q)
        with refused(what):
            qd0 = np.zeros(model.nv) if qd is None else checked_array(qd, "qd")
            if qd0.shape != (model.nv,):
                raise Fault("qd", f"has shape {qd0.shape}; it must be ({model.nv},)")
        states = len(model.states)
        n = 2 * model.nv + states
        theta = np.where(unknowns.powers, 0.0, unknowns.scales)
        self.p = model.p.copy()
        self.p[list(unknowns.places)] = unknowns.scales
        try:
            guessed = model.at(self.p) if unknowns.places else model
        except DescriptionError as error:
            raise DescriptionError(f"{what}: start: {error}") from None
        self._fastest = fastest_of(guessed, q0)
        self.steps = self._count(estimator)
        arm = model.arm
        with refused(what):
            q0 = unit_pose("q", q0, arm)
        local = np.concatenate([np.zeros(arm.twists), q0[arm.poses :]])
        X = np.concatenate([local, qd0, np.zeros(states), theta, np.zeros(len(unknowns.acts))])
        self.record = self._placed(estimator, X, q0[: arm.poses])
        rates = *(f"{name}.rate" for name in arm.velocities), *model.states, *unknowns.names
        self.names, self.local_names = (*arm.coordinates, *rates), (*local_names(arm), *rates)
        units = *arm.rate_units, *arm.state_units, *unknowns.units
        self.units, self.local_units = (*arm.units, *units), (*local_units(arm), *units)
        factor = np.zeros((len(X), len(X)))
        factor[:n, :n] = self._initial(estimator, n, q0, qd0)
        factor[n:, n:] = np.diag(unknowns.sizes)
        self.record.S[:] = factor.T.ravel()  # columns
        self._sigma, self._u = np.zeros(len(X)), np.zeros(self.record.inputs)
        self._window = self._placed_window(horizon, iterations) if horizon else None
        self._once = ONCE(CODE().addresses["once" if self._window is None else "once_in_window"])
        self._address = self.record.address if self._window is None else self._window.address

    # -- design

    def _count(self, estimator: Estimator) -> int:
        """Return the number of Runge-Kutta steps in a period."""
        longest = estimator.step or (1.0 / self._fastest if self._fastest > 0.0 else math.inf)
        steps = max(1, math.ceil(self.period / longest - 1e-9))
        if steps > MOST_STEPS:
            raise DescriptionError(
                f"{self.label}: the filter needs {counted(steps, 'step')} in a period of {self.period:g} s for the "
                f"mode at {self._fastest:.3g} rad/s, and at most {MOST_STEPS} are allowed; sample faster, or use a "
                "model with fewer modes"
            )
        return steps

    def _placed(self, estimator: Estimator, X: Array, pose: Array) -> Placed:
        """Return the record of native code, with the reference pose of X."""
        model, unknowns, linear = self.model, self.unknowns, int(estimator.linear)
        plant = Plant(model, self.sensors)
        key = json.dumps(["charts", plant.key]) if len(pose) else plant.key
        parameters = np.concatenate([self.p, pose])
        kernels = compiled(key, lambda: in_charts(model.arm, plant.traced()), estimator.linear)
        self.kernels = kernels[: 3 if len(parameters) else 2]
        self._code = [each.vector_code for each in self.kernels]  # it must stay alive
        rate, output, constants = (*(each.addresses["evaluate"] for each in self._code), 0)[:3]
        n, N, b = 2 * model.nv + len(model.states), len(X), 1 + linear
        actuators = len(model.inputs)
        m = actuators + len(model.exogenous)
        outputs, known = len(self.signals), len(parameters)
        weights = self._code[2].facts["n_out"] // b if known else 0
        W = gain(f"{self.label}: process", estimator.process, actuators)
        random = W[:, W.any(axis=0)].T
        ways = np.zeros((N + 1 + len(random), N + m))
        ways[N + 1 :, N : N + actuators] = random
        added = self._further(estimator, N)
        count = N + 1 + len(random)
        rows = max(outputs, 0) + count * (1 if linear else 2) + len(added)
        width = padded(N + outputs)
        reach, shares = RK4.in_sequence
        p = np.zeros((b * known, LANES))
        p[:known] = parameters[:, None]
        noise = [
            math.hypot(getattr(each, "noise", 0.0), getattr(each, "resolution", 0.0) / math.sqrt(12.0))
            for each in self.sensors  # a sensor of the user may lack both
        ]
        for each, sigma in zip(self.sensors, noise, strict=True):
            if not sigma:
                raise DescriptionError(
                    f"{self.label}: {type(each).__name__} has neither noise nor resolution; the filter needs one of "
                    "them"
                )
        sigmas = np.repeat(noise, [len(each.names(model.arm)) for each in self.sensors])
        return Placed(
            Filter(
                rate=rate,
                output=output,
                constants=constants,
                linear=linear,
                states=n,
                inputs=m,
                outputs=outputs,
                known=known,
                weights=weights,
                unknown=len(unknowns.scales),
                acting=len(unknowns.acts),
                size=N,
                torques=len(random),
                further=len(added),
                steps=self.steps,
                h=self.period / self.steps,
                places=np.array(unknowns.places, dtype=np.int64),
                powers=unknowns.powers.astype(np.int64),
                scales=unknowns.scales,
                acts=np.array(unknowns.acts, dtype=np.int64),
                ways=ways,
                added=np.ascontiguousarray(added),
                noise=sigmas,
                about=X.copy(),
                apart=0,
                pushed=np.zeros(m),
                X=X.copy(),
                S=np.zeros(N * N),
                u=np.zeros((2 * self.steps + 1, m)),
                p=p,
                offset=np.zeros(b * m * LANES),
                z=np.zeros((b * (n + m) + b * weights) * LANES),
                y=np.zeros(b * n * LANES),
                k=np.zeros(b * max(n, outputs) * LANES),
                total=np.zeros(b * n * LANES),
                T=np.zeros(rows * width),
                v=np.zeros(width),
                predicted=np.zeros(max(N, outputs)),
                innovation=np.zeros(outputs),
                spread=np.zeros(outputs),
                nis=0.0,
                free=int(model.arm.free),
                turns=len(model.arm.quaternions),
                pose=pose.copy(),
                center=np.zeros(model.arm.twists),
                stages=RK4.stages,
                reach=reach,
                shares=shares,
                halves=np.array([round(2 * c) for c in RK4.c[: RK4.stages]]),
            )
        )

    def _further(self, estimator: Estimator, N: int) -> Array:
        """Return rows of noise: random accelerations, constant over a period, and the drift of states and unknowns."""
        n, T, count = self.model.nv, self.period, len(self.unknowns.drifts)
        rows = np.zeros((n + count, N))
        for i in range(n):
            rows[i, i], rows[i, n + i] = T**2 / 2 * estimator.unmodelled, T * estimator.unmodelled
        rows[range(n, n + count), range(N - count, N)] = math.sqrt(T) * self.unknowns.drifts
        return rows[rows.any(axis=1)]

    def _initial(self, estimator: Estimator, n: int, q: Array, qd: Array) -> Array:
        """Return a lower triangular factor of the initial covariance of the state, (n, n)."""
        given = estimator.deviation
        if given is not None:
            with refused(estimator.label):
                sizes = checked_array(given, "deviation")
                if sizes.shape not in ((), (n,)):
                    raise Fault("deviation", f"has shape {sizes.shape}; it must be one positive number or {n}")
                if not (sizes > 0).all():
                    raise Fault("deviation", f"is {shown(given)}; standard deviations must be positive")
            return np.diag(np.broadcast_to(sizes, n))
        model = self.model.at(self.p) if self.unknowns.places else self.model
        system = model.linearize(q, qd, equilibrium(model, q)[1], outputs=self.sensors)
        A, B = held(np.asarray(system.A), np.asarray(system.B), self.period)
        ways, added = self.record.ways, self.record.added
        N = self.record.size
        random = ways[len(ways) - self.record.torques :, N : N + len(model.inputs)]
        G = np.hstack([B @ random.T, added[:, :n].T])
        C = np.asarray(system.C) / self.record.noise[:, None]
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of SciPy, whose result is checked
                P = from_sample_to_sample(A.T, C.T, G @ G.T, np.eye(len(C)))
                return np.linalg.cholesky((P + P.T) / 2)
        except (np.linalg.LinAlgError, ValueError) as error:
            why = " ".join(str(error).split())
            raise DescriptionError(
                f"{estimator.label}: there is no stationary covariance for the start ({why}); give the deviation of "
                "the initial state, or sensors that observe every motion that does not decay"
            ) from None

    def _placed_window(self, horizon: int, iterations: int) -> Placed:
        """Return the record of a window."""
        s = self.record
        N, p, m, samples = s.size, s.outputs, s.inputs, horizon + 1
        nodes = s.u.size
        sizes = {"y": p, "L": N, "torques": s.torques, "seen_at": N, "reading": p, "moved_at": N}
        sizes |= {"moved_by": s.torques, "moved": N, "before": N, "before_S": N * N, "filtered": N}
        sizes |= {"filtered_S": N * N, "gains": N * padded(N + s.torques)}
        return Placed(
            Window(
                filter=np.array([s.address]),  # type: ignore[arg-type]  # an address is one word
                horizon=horizon,
                iterations=iterations,
                count=0,
                first=0,
                outdated=0,
                tolerance=TOLERANCE if iterations == 1 else CONVERGED,
                nodes=nodes,
                **{name: np.zeros((samples, size)) for name, size in sizes.items()},
                u=np.zeros((horizon + LANES, nodes)),
                acting=np.zeros((horizon + LANES, m)),
                e=np.zeros(1 + N),
                c=np.zeros(padded(N + s.torques)),
                way=np.zeros(N + m),
                innovation=np.zeros(p),
                spread=np.zeros(p),
            )
        )

    @property
    def window(self) -> Array:
        """Estimates at the samples of the moving horizon given all of its readings, in their units, (samples, N)."""
        if self._window is None:
            return self.estimate[None]
        places = (self._window.first + np.arange(self._window.count)) % len(self._window.L)
        return self.points(self._window.L[places], self.record.pose)

    @property
    def placed_window(self) -> Placed | None:
        """Record of the moving horizon, or None."""
        return self._window

    # -- samples

    @property
    def reporting(self) -> tuple[Address, Address]:
        """Machine code `void sample(record, y, u, moves, to)` and the address of its record.

        The code processes a sample as `sample` does, with u of all inputs (inputs + exogenous inputs,). It writes the
        estimate, its deviation, the innovation and the normalized square to `to`.
        """
        name = "reported_once" if self._window is None else "reported_in_window"
        return CODE().addresses[name], self._address

    def sample(self, y: Array, u: Array, moves: bool) -> None:
        """Move by a period under a constant u (m,), if `moves`, and correct by the readings y (p,).

        Exogenous inputs are zero.
        """
        self._u[: len(u)] = u
        y = np.ascontiguousarray(y, dtype=float)
        self._once(self._address, y.ctypes.data, self._u.ctypes.data, int(moves))

    @property
    def estimate(self) -> Array:
        """Estimate of the state and of the unknowns in their units, (N,)."""
        return self.points(self.record.X, self.record.pose)

    def points(self, X: Array, pose: Array) -> Array:
        """Return the estimates in their units, (..., names), of X (..., N) and the reference poses (..., poses)."""
        X = placed(self.model.arm, pose, X)
        values = self.unknowns.values(X)
        return np.concatenate([X[..., : X.shape[-1] - values.shape[-1]], values], axis=-1)

    def deviations(self, sigma: Array, X: Array) -> Array:
        """Return the standard deviations in their units, (..., N), of those of X (..., N)."""
        slopes = self.unknowns.slopes(self.unknowns.values(X))
        n = X.shape[-1] - slopes.shape[-1]
        return np.concatenate([sigma[..., :n], sigma[..., n:] * slopes], axis=-1)

    @property
    def deviation(self) -> Array:
        """Standard deviations of the estimate, (N,)."""
        SPREADS(CODE().addresses["deviated"])(self.record.address, self._sigma.ctypes.data)
        return self.deviations(self._sigma, self.record.X)

    @property
    def covariance(self) -> Array:
        """Covariance of the numbers X, (N, N). Positive parameters are in X by their logarithms.

        Attitudes are in X by rotation vectors, see `charts`.
        """
        N = len(self.record.X)
        S = self.record.S.reshape(N, N)
        return S.T @ S

    @property
    def innovation(self) -> Array:
        """Last readings minus the expected ones, (p,)."""
        return self.record.innovation.copy()

    @property
    def nis(self) -> float:
        """Normalized square of the last innovation."""
        return float(self.record.nis)


def _refuse(what: str, model: Model) -> None:
    """Raise `DescriptionError` for arms that the filters do not support."""
    arm = model.arm
    if arm.closures:
        raise DescriptionError(f"{what}: arm {arm.name!r} has closures, which the filter does not support")


def _record(running: Running, y: Array, u: Array, truth: Array) -> tuple[Placed, dict[str, Array]]:
    """Return the record of native code for some samples, and its arrays of results."""
    T, N, p = len(y), len(running.record.X), y.shape[1]
    sizes = {"X": (T, N), "deviations": (T, N), "poses": (T, running.model.arm.poses), "nis": (T,), "nees": (T,)}
    sizes |= {"innovations": (T, p), "spreads": (T, p)}
    found = {name: np.zeros(shape) for name, shape in sizes.items()}
    window = running.placed_window
    record = Placed(
        Record(
            filter=np.array([running.record.address]),  # type: ignore[arg-type]  # an address is one word
            window=np.array([window.address if window else 0]),  # type: ignore[arg-type]
            horizon=int(window is not None),
            samples=T,
            nodes=u.shape[1],
            y=np.ascontiguousarray(y),
            u=np.ascontiguousarray(u),
            judged=truth.shape[1],
            truth=np.ascontiguousarray(truth),
            local=np.zeros(N),
            **found,
        )
    )
    return record, found


def over(running: Running, y: Array, u: Array, truth: Array) -> dict[str, Array]:
    """Return the results of a record: readings y (T, p), inputs u (T, nodes, m), true values truth (T, judged).

    The result has `X` and `deviations` (T, N), `poses` (T, poses), `innovations` and `spreads` (T, p), `nis` and `nees`
    (T,).
    """
    record, found = _record(running, y, u, truth)
    part = PART(CODE().addresses["filtered"])
    for first in range(0, len(y), SAMPLES):
        part(record.address, first, min(first + SAMPLES, len(y)))
    return found
