"""Environments whose states stay on a graphics processor: their memory, their kernel, and the random numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.errors import DescriptionError
from flexarm.gymnasium.episodes import WORST, Episodes, Generators
from flexarm.gymnasium.gpu_period import FLAGS, TOLD, Environments, Shape, bends, period, readings, tips
from flexarm.gymnasium.tasks import NEAR, Track
from flexarm.model.attitudes import unit_pose
from flexarm.native import cuda
from flexarm.native.cuda import Memory, View
from flexarm.native.kernel import Kernel
from flexarm.native.nvptx import Entry, evaluate, straight
from flexarm.native.program import instructions
from flexarm.native.sincos import Real
from flexarm.sensors.joints import OfMotor
from flexarm.simulation import gpu, gpu_loops, touches
from flexarm.simulation.butcher import METHODS
from flexarm.simulation.dataset import FAR
from flexarm.simulation.disturbance import disturbed_plants
from flexarm.simulation.explicit import MOST_EVALUATIONS
from flexarm.simulation.feedback import integrand
from flexarm.simulation.gpu_contacts import crossings, distances
from flexarm.simulation.gpu_loops import Form
from flexarm.simulation.gpu_states import verified
from flexarm.simulation.inputs import constant
from flexarm.simulation.layout import Layout

AHEAD, LARGEST = 16, 2**28
"""Number of episodes whose beginnings are computed in advance, and the approximate largest size of all these [bytes].
There are fewer, at least two, if they would be larger."""


@final
@dataclass(frozen=True)
class Period:
    """Results of a period, as objects with DLPack on the device.

    Attributes
    ----------
    seen, final : (N, k)
        Observations, and those before an episode began in the same step.
    told : list of (N,)
        Reward, error [m], speed [m/s] and effort.
    words, flags : list of (N,)
        Terminated, truncated, 1 if the arm has moved, 1 if the tip is at its target, and 1 if an episode has begun: as
        words, and as booleans, which are the first bytes of the words.
    parameters : (N, k) or None
        Parameters of the arms, if these are random.
    """

    seen: Any
    final: Any
    told: list[Any]
    words: list[Any]
    flags: list[Any]
    parameters: Any


@final
class GpuEpisodes:
    """N environments on a graphics processor.

    Parameters
    ----------
    one : Episodes
        A single environment on the CPU, with the same task, arm and sensors.
    count : int
    same_step : bool
        True if an episode begins in the step that ends the last one.
    real : "double" or "float"

    Raises
    ------
    DescriptionError
        A graphics processor does not support the arm, its method or its sensors, or there is none.
    """

    def __init__(self, one: Episodes, count: int, same_step: bool, real: Real, rtol: float):
        self._one, self._count, self._real, self._rtol, self.same_step = one, count, real, rtol, same_step
        self._T: Any = np.dtype(gpu.TYPES[real])
        ground, stepper = one.ground, one.stepper
        model, acting = ground.model, disturbed_plants(ground.model, ground.disturbance, 1)
        if stepper.method not in METHODS:
            why = f"needs an explicit method, not {stepper.method!r} ({stepper.reason})"
            raise DescriptionError(f"ArmVectorEnv: device is 'gpu', which {why}; give method='dop853'")
        gpu.check(stepper.method, None, [constant(ground.u)], acting.exogenous_inputs, model, real, rtol)
        self._refuse(acting.model is not model)
        self._layout, self._tableau = Layout.of(acting.model), METHODS[stepper.method]
        self._rate = integrand(acting.model, "state_rate", 0)
        bent = [model.kernel("deflections")] if len(one.bent) else []
        self._kernels = [self._rate, model.output_kernel(one.read.sensors), model.output_kernel(one.tip.sensors), *bent]
        self._contacts = touches.kernel(model) if self._tableau.adaptive else None
        self._evaluated = [*self._kernels, *([] if self._contacts is None else [self._contacts])]
        self._held = acting.held[0]
        self._device = cuda.device()
        for kernel in self._evaluated:
            verified(self._device, kernel, real)
        self._shape = self._shaped(same_step)
        self._launch = self._device.kernel(*self.program(), real)
        self._pool = np.zeros((self._shape.ahead, self._shape.width, count), dtype=self._T)
        self._filled, self._begun = np.zeros((2, count), dtype=np.int64)
        self._left = 0  # periods until an environment may lack a beginning
        self._place()

    def _refuse(self, disturbed: bool) -> None:
        one, arm = self._one, self._one.ground.model.arm
        sensors: Sequence[Any] = one.read.sensors
        motors = any(isinstance(each, OfMotor) for each in sensors)
        for wrong, why in (
            (bool(arm.closures), f"environments of arms with closures, as {arm.name!r}, need the CPU"),
            (one.noise.any(), "noise of sensors needs the CPU; add noise to the observations in your own code"),
            (motors, "sensors of motors need the CPU"),
            (one.read.driven and disturbed, "accelerometers beside a disturbance need the CPU"),
        ):
            if wrong:
                raise DescriptionError(f"ArmVectorEnv: device is 'gpu'; {why}")

    def _shaped(self, same_step: bool) -> Shape:
        one, ground, layout = self._one, self._one.ground, self._layout
        model = ground.model
        lengths = [len(each.constants) for each in self._evaluated]
        places = len(self._held) + np.cumsum([*lengths, 0])
        varied = len(model.varied)
        constants = int(places[-1]) if varied else 0
        motion = model.nq + model.nv
        width = layout.states + 6 + motion * one.task.moves + constants + varied
        size = width * self._count * self._T.itemsize
        return Shape(
            ahead=int(np.clip(LARGEST // size, 2, AHEAD)),
            width=width,
            constants=constants,
            parameters=varied,
            motion=motion,
            rates=model.nv,
            readings=len(one.noise),
            goals=3 * len(one.task.shown),
            bent=len(one.bent),
            bodies=len(model.arm.links) if len(one.bent) else 0,
            accelerates=int(one.read.driven),
            moves=int(one.task.moves),
            same_step=int(same_step),
            at_readings=int(places[0]),
            at_tips=int(places[1]),
            at_bends=int(places[2]),
        )

    def program(self) -> tuple[str, Callable[[], list[str]], Entry]:
        """Return the kernel as `cuda.Device.kernel` takes it: key, parts and entry."""
        layout, real, shape = self._layout, self._real, self._shape
        key, parts, entry = gpu.program(self._rate, layout, real, self._tableau, contacts=self._contacts)
        count = 0 if self._contacts is None else self._contacts.code.facts["n_out"]
        form = Form.of(layout, self._tableau, touches=count)

        def more() -> list[str]:
            from flexarm.native.translate import ir_of

            try:
                found = [
                    straight(_code(kernel), _known(kernel), real, name)
                    for kernel, name in zip(self._kernels[1:], ("readings", "tips", "bends"), strict=False)
                ]
            except NotImplementedError as error:
                raise DescriptionError(f"device is 'gpu'; {error}") from None
            if not shape.bent:
                found.append(straight([], 0, real, "bends"))
            elsewhere = evaluate, gpu_loops.law, gpu_loops.correction, crossings, distances, readings, tips, bends
            loops = ir_of(period, real=real, elsewhere=elsewhere, scalar=True, constants=shape.values(form, real))
            return [*parts()[:-1], *found, loops]  # in place of the loops of runs

        key = "\n".join([key, *(each.key for each in self._kernels[1:]), str(shape)])
        return f"environments\n{key}", more, shape.entry(entry)

    # -- memory --------------------------------------------------------------------------------------------------------

    def _place(self) -> None:
        """Put all arrays and both records into the device's memory."""
        one, ground, count, shape = self._one, self._one.ground, self._count, self._shape
        layout, tableau, times = self._layout, self._tableau, np.array([0.0, ground.period])
        step = one.stepper.longest if not tableau.adaptive else 0.0
        plan = gpu.intervals(times) if tableau.adaptive else gpu.planned(times, times, step)
        own = np.concatenate([self._held, *(each.constants for each in self._evaluated)])
        varied = shape.constants > 0
        zeros, ones = np.zeros(count, dtype=np.int64), np.ones(count, dtype=np.int64)
        runs: dict[str, Any] = {each.name: getattr(plan, each.name) for each in fields(plan)} | {
            "count": count,
            "total": 2,
            **gpu.numbers_of(tableau),
            "rtol": self._rtol,
            "atol": 1e-3 * self._rtol,
            "step": step,
            "times": times,
            "own": np.tile(own[:, None], (1, count)) if varied else own[:, None],
            "single": int(varied),
            "apart": count if varied else 1,
            "u": np.zeros((count, layout.inputs)),
            "where": np.arange(count),
            "course": zeros,
            "courses": 1,
            "guess": one.stepper.guess if tableau.adaptive else -1.0,
            "most": np.full(layout.states, np.inf),
            "x": np.zeros((layout.size, count)),
            "now": np.zeros(count),
            "next": np.zeros(count),
            "piece": zeros,
            "last": ones,
            "at": zeros,
            "known": ones,
            "status": zeros,
            "taken": zeros,
            "evaluations": zeros,
            "out": np.zeros((1, layout.size, count)),
        }
        runs["before"] = gpu.below(runs["before"], self._T)
        steps = np.arange(ground.steps + 1)
        base, blend = np.zeros((1, shape.motion)), np.zeros((1, 2))
        if isinstance(one.task, Track):
            still = np.full((len(steps), one.task.shares), 0.5)  # a goal at the beginning
            base, blend = np.hstack(one.task.wanted(still, steps)), np.hstack(one.task.blend(steps))
        of_error, of_speed, of_effort = one.weights
        environments: dict[str, Any] = {
            "holding": ground.u,
            "limit": ground.limit,
            "x": np.zeros((layout.states, count)),
            "starts": self._pool,
            "slot": zeros,
            "episode": zeros,
            "steps": zeros,
            "ended": zeros,
            "last": ground.steps,
            "nominal": self._kernels[2].constants,
            "base": base,
            "blend": blend,
            "way": np.zeros((shape.motion * shape.moves, count)),
            "target": np.zeros((6, count)),
            "noted": np.zeros((shape.readings, count)),
            "resolution": one.resolution,
            "every": one.every,
            "places": one.bent[:, 0].astype(np.int64),
            "bounds": (FAR * one.bent[:, 1]) ** 2,
            "length": one.task.length,
            "time": one.task.time,
            "of_error": of_error,
            "of_speed": of_speed,
            "of_effort": of_effort,
            "worst": WORST,
            "near": NEAR,
        }
        words, self._runs_there = self._values(runs)
        if self._contacts is not None:  # the last constants of `own`
            first = (len(own) - len(self._contacts.constants)) * (count if varied else 1)
            memory, none = self._runs_there["own"], np.empty(0, dtype=self._T)
            address = memory.address + first * none.itemsize
            self._runs_there["contacts"] = View(address, none.shape, (), none.dtype, memory)
        self._runs = self._written(gpu_loops.Runs, words, self._runs_there)
        self._words, self._there = self._values(environments)
        self._environments = self._written(Environments, self._words, self._there)

    def _values(self, given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Memory]]:
        there = {
            name: self._device.put(x.astype(self._T) if x.dtype.kind == "f" else x.astype(np.int64))
            for name, x in given.items()
            if isinstance(x, np.ndarray)
        }
        there[""] = self._device.put(np.zeros(1))  # of fields that are not given
        return {name: x for name, x in given.items() if not isinstance(x, np.ndarray)}, there

    def _written(self, kind: type, words: dict[str, Any], there: dict[str, Memory]) -> Memory:
        record = np.zeros(len(fields(kind)), dtype=np.int64)
        for i, each in enumerate(fields(kind)):
            if each.type is float:  # in the first bytes of its word
                record[i : i + 1].view(self._T)[0] = words.get(each.name, 0.0)
            elif each.type is int:
                record[i] = words.get(each.name, 0)
            else:
                record[i] = there.get(each.name, there[""]).address
        return self._device.put(record)

    # -- episodes ------------------------------------------------------------------------------------------------------

    def begin(self, where: Array, generators: Generators, anew: Array) -> "Period":
        """Begin episodes of the chosen environments, (N,) of bool. The generators of those in `anew` are new."""
        self._look()
        self._filled[anew] = self._begun[anew]
        self._fill(generators)
        self._left -= 1
        flags = np.zeros((FLAGS, self._count), dtype=np.int64)
        flags[0] = where
        return self._launched(np.zeros(1, dtype=self._T), (0, 0), flags)

    def step(self, actions: Any, generators: Generators) -> "Period":
        """Advance by a period."""
        view = self._checked(actions)
        if self._left == 0:
            self._look()
            if self._left <= self._shape.ahead // 2:
                self._fill(generators)
        self._left -= 1
        return self._launched(view, view.strides, None)

    def _launched(self, actions: Any, strides: tuple[int, ...], flags: Array | None) -> "Period":
        device, count, T, shape = self._device, self._count, self._T, self._shape
        given = device.put(actions) if isinstance(actions, np.ndarray) else actions
        sizes = [(count, shape.readings + shape.goals)] * 2 + [(TOLD, count), (count, shape.parameters)]
        kinds = [np.empty(size, dtype=T) for size in sizes]
        found = [device.room(each) for each in kinds]
        marks = np.zeros((FLAGS, count), dtype=np.int64)
        bytes_ = marks.reshape(-1).view(bool)  # the first byte of a word is its truth
        there = device.room(marks) if flags is None else device.put(flags)
        seen, final, told, drawn = found
        memories = [self._runs, self._environments, given, seen, final, told, there, drawn]
        self._launch(count, memories, [*strides, MOST_EVALUATIONS, int(flags is not None)])
        device.wait()

        width, parameters = kinds[0].shape[1], None
        if shape.parameters:
            parameters = device.array(drawn, kinds[3], kinds[3].shape, [shape.parameters, 1], 0)
        return Period(
            seen=device.array(seen, kinds[0], kinds[0].shape, [width, 1], 0),
            final=device.array(final, kinds[1], kinds[1].shape, [width, 1], 0),
            told=[device.array(told, kinds[2], [count], [1], i * count) for i in range(TOLD)],
            words=[device.array(there, marks, [count], [1], i * count) for i in range(FLAGS)],
            flags=[device.array(there, bytes_, [count], [8], 8 * i * count) for i in range(FLAGS)],
            parameters=parameters,
        )

    def _checked(self, actions: Any) -> cuda.View:
        """Return where actions lie on the device."""
        if hasattr(actions, "detach"):  # a tensor of PyTorch, which may belong to a graph of derivatives
            actions = actions.detach()
        try:
            view = self._device.view(actions)
        except (TypeError, ValueError, BufferError, AttributeError, RuntimeError) as error:
            where = f"it must be an array there with DLPack, as a tensor after .to('cuda'): {error}"
            raise DescriptionError(f"ArmVectorEnv: device is 'gpu', but the action is not; {where}") from None
        wanted = (self._count, self._layout.inputs)
        if view.shape != wanted:
            raise DescriptionError(f"ArmVectorEnv: action has shape {view.shape}; it must be {wanted}")
        if view.dtype != self._T:
            must = f"with real={self._real!r} it must be {self._T.name}, since nothing is copied"
            raise DescriptionError(f"ArmVectorEnv: action has numbers of type {view.dtype}; {must}")
        return view

    def _look(self) -> None:
        """Fetch how many episodes have begun, and set for how many periods there are beginnings for all."""
        self._device.get(self._there["episode"], self._begun)
        self._left = int((self._filled - self._begun).min())

    def _fill(self, generators: Generators) -> None:
        """Compute the beginnings of further episodes, up to `AHEAD` in advance of each environment."""
        one, shape = self._one, self._shape
        missing = self._begun + shape.ahead - 1 - self._filled  # the current episode keeps its place
        rows = np.repeat(np.arange(self._count), missing)
        shares = np.concatenate(
            [generators[i].random((n, one.shares)) for i, n in enumerate(missing.tolist()) if n] or [np.zeros((0, 1))]
        )
        order = np.arange(len(rows)) - np.repeat(np.cumsum(missing) - missing, missing)
        slots = (self._filled[rows] + order) % shape.ahead
        if len(rows):
            self._pool[slots, :, rows] = self._starts(shares)
        self._filled += missing
        self._left = shape.ahead - 1
        self._there["starts"] = self._device.put(self._pool)
        self._environments = self._written(Environments, self._words, self._there)

    def _starts(self, shares: Array) -> Array:
        """Return the beginnings of episodes from their random numbers, (N, width)."""
        one, model, layout = self._one, self._one.ground.model, self._layout
        p, own, q, qd = one.beginnings(shares)
        x = np.hstack([unit_pose("q", q, model.arm), qd, np.zeros((len(q), layout.own))])
        wanted = one.task.wanted(own, np.zeros(len(q), dtype=np.int64))
        parts = [x, np.atleast_2d(one.tip.values(*wanted))]
        if isinstance(one.task, Track):
            parts.append(one.task.ways(own))
        if p is not None:
            parts.append(np.tile(self._held, (len(q), 1)))
            parts += [each.constants_of(p) for each in self._evaluated]
            parts.append(p)
        return np.hstack(parts)

    @property
    def states(self) -> Array:
        """States (q, qd), and states of drives, of each arm as an array of NumPy, (N, ...)."""
        found = np.empty((self._layout.states, self._count), dtype=self._T)
        self._device.get(self._there["x"], found)
        return found.T.astype(float)

    @property
    def parameters(self) -> Array:
        """Parameters of the arms as an array of NumPy, (N, k)."""
        places = np.empty(self._count, dtype=np.int64)
        self._device.get(self._there["slot"], places)
        first = self._shape.width - self._shape.parameters
        return self._pool[places, first:, np.arange(self._count)].astype(float)


def _code(kernel: Kernel) -> Any:
    return instructions(kernel.trace())


def _known(kernel: Kernel) -> int:
    """Return the number of a kernel's arguments without its constants."""
    return int(kernel.trace().nnz_in()) - len(kernel.constants)
