"""Scenarios: an arm, its input or controller, the duration, and the integration, from Python or from a TOML file."""

from contextlib import AbstractContextManager, nullcontext
from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any, Self, final

from pydantic import BeforeValidator, Field, model_validator

from flexarm import checks, trajectory
from flexarm.checks import POSITIVE, Described, Fault, number
from flexarm.description.arm import Arm
from flexarm.description.load import NAMED_BY, catalogued, load, located, printable, read_toml, seen_from
from flexarm.errors import DescriptionError, errors_in
from flexarm.model import Model
from flexarm.scenario.controllers import ControllerTable, follower, made, tried
from flexarm.scenario.forces import (
    AnyInput,
    BangBangInput,
    ConstantInput,
    OptimalTorquesInput,
    PiecewiseInput,
    PrescribedMotionInput,
    RigidInverseDynamicsInput,
    TableInput,
)
from flexarm.scenario.motions import AnyMotion, CycloidalMotion, ParabolicMotion
from flexarm.scenario.optimal import OptimalReference
from flexarm.scenario.outside import BaseMotionInput, OutsideTable
from flexarm.scenario.outside import made as made_outside
from flexarm.scenario.tables import listed, state, values
from flexarm.simulation.changes import Change, checked_changes
from flexarm.simulation.disturbance import disturbed
from flexarm.simulation.exogenous import as_exogenous
from flexarm.simulation.gradient_start import OF, OF_CONTROLLER
from flexarm.simulation.options import Keep, Record, SaveAt, Solver
from flexarm.simulation.run import simulate
from flexarm.simulation.watch import Progress

if TYPE_CHECKING:
    from xarray import Dataset

__all__ = [
    "BangBangInput",
    "BaseMotionInput",
    "ConstantInput",
    "CycloidalMotion",
    "Initial",
    "OptimalReference",
    "OptimalTorquesInput",
    "ParabolicMotion",
    "PiecewiseInput",
    "PrescribedMotionInput",
    "RigidInverseDynamicsInput",
    "Scenario",
    "Solver",
    "TableInput",
    "bundled_scenarios",
    "load_scenario",
]


FOLLOWING = (RigidInverseDynamicsInput, PrescribedMotionInput, OptimalTorquesInput)
"""Inputs that need a reference."""


@final
class Initial(Described):
    """Initial state at t = 0.

    Parameters
    ----------
    q, qd : list or dict
        Coordinates and their rates: a list of all, or a table of those that differ from the arm at rest, such as
        {"upper.joint" = 0.5}. For an arm on a free base, q begins with the pose of the base, and qd with its
        velocities.
    """

    q: Annotated[Any, BeforeValidator(values)] = ()
    qd: Annotated[Any, BeforeValidator(values)] = ()


def checked_sensitivities(value: object) -> tuple[str, ...]:
    """Return the names of numbers without duplicates. Raises `Fault`."""
    names = checks.checked_names(value, "a list of names, such as 'q0' and 'payload.mass'")
    for name in names:
        if not isinstance(name, str):
            raise Fault("", f"has {checks.shown(name)}; it must be names, such as 'q0' and 'payload.mass'")
    return tuple(dict.fromkeys(names))


def _samples(value: object) -> int:
    most = 10_000_000
    try:
        count = checks.checked_integer(value, most)
    except Fault:
        count = 0
    if count < 2:
        raise Fault("", f"is {checks.shown(value)}; it must be an integer from 2 to {most}")
    return count


@final
class Scenario(Described):
    """An arm in motion.

    Parameters
    ----------
    name : str
        Name of the scenario, and of the files that it writes.
    arm : str or Arm
        Name of a bundled arm, path of an arm's .toml file (relative to the scenario file), or the arm itself.
    until : float
        End of the run [s].
    input : ConstantInput, BangBangInput, PiecewiseInput, TableInput, RigidInverseDynamicsInput or PrescribedMotionInput
        Forces of the actuators. Default: none. With an optimal reference it may be OptimalTorquesInput.
    reference : CycloidalMotion, ParabolicMotion, QuinticMotion, MinimumJerkMotion or TaskLineMotion, optional
        Desired motion of the joints, with an optional `shaper`. It may also be an OptimalReference.
    controller : dict, optional
        Controller in place of an input. `type` is its class in lower case with hyphens ("joint-pd", "composite"), and
        its fields have the same names as in Python. Tables `integral`, `strain_rate` and `disturbance_observer` add
        terms around it. `nominal` is the arm of the design, if it is another one. `period` and other arguments of
        `Sampled` make it sampled.
    outside : dict, optional
        Exogenous inputs by their names, such as {"push.fx" = 2.0}: numbers, or tables whose `type` is "constant",
        "piecewise", "table" or, for a base, "base-motion".
    disturbance : dict, optional
        Disturbances at the drives or elsewhere, such as {"upper.drive" = 0.2, "tip.fy" = 1.0}. Values are as in
        `outside`.
    changes : list of Change
        Sudden changes of parameters, such as {at = 2.0, values = {"payload.mass" = 3.0}}: the arm picks up a body, or
        releases it.
    record : list of str, optional
        Signals of the controller to record, see `simulate`.
    samples : int
        Number of times in the result.
    keep : list of str, optional
        Variables of the result to keep, see `simulate`.
    sensitivities : list of str
        Numbers with respect to which the result has derivatives: "q0", "qd0", "u", parameters of the arm such as
        "payload.mass", and others, see `simulate`.
    solver : Solver
        Settings of the integration.
    initial : Initial
        Initial state.
    description : str
        Description of the scenario in words.
    """

    name: Annotated[str, checks.title]
    description: Annotated[str, checks.text] = ""
    arm: Any
    until: Annotated[float, number("s", POSITIVE)]
    samples: Annotated[int, BeforeValidator(_samples)] = 1001
    input: AnyInput | None = None
    reference: AnyMotion | None = None
    controller: ControllerTable | None = None
    outside: OutsideTable | None = None
    disturbance: OutsideTable | None = None
    changes: Annotated[tuple[Change, ...], checks.list_of("changes")] = ()
    record: Record = ()
    solver: Solver = Field(default_factory=Solver)
    initial: Initial = Field(default_factory=Initial)
    keep: Keep = None
    sensitivities: Annotated[tuple[str, ...], BeforeValidator(checked_sensitivities)] = ()

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if not isinstance(self.arm, str | Arm):
            raise Fault("arm", f"is {checks.shown(self.arm)}; it must be a name, a path or an Arm")
        if isinstance(self.input, FOLLOWING) and self.reference is None:
            raise Fault("reference", f"is missing; the input {self.input.type!r} needs it")
        if isinstance(self.input, OptimalTorquesInput) and not isinstance(self.reference, OptimalReference):
            given = "missing" if self.reference is None else f"of type {self.reference.type!r}"
            raise Fault("reference", f"is {given}; the input 'optimal-torques' needs one of type 'optimal'")
        if self.controller is not None and self.input is not None:
            raise Fault("controller", "is given together with an input; give only one")
        if self.controller is not None and self.reference is None and (kind := follower(self.controller)):
            raise Fault("reference", f"is missing; the controller {kind!r} needs it")
        if self.reference is None and "q_ref" in (self.keep or ()):
            raise Fault("reference", "is missing, but keep has 'q_ref'")
        if self.sensitivities and self.changes:
            raise Fault("sensitivities", "are given with changes of parameters, which have no gradient; give only one")
        for i, change in enumerate(self.changes):
            if change.time is None:
                raise Fault(f"changes[{i}].at", "is a function; in a scenario it must be a time")
        with checks.within("solver"):
            self.solver.check()
        if self.solver.step is not None and self.solver.step > self.until:
            raise Fault("solver.step", f"is {self.solver.step} s; it must be no longer than the run, {self.until} s")
        return self

    def loaded_arm(self) -> Arm:
        """Return the arm itself."""
        if isinstance(self.arm, Arm):
            return self.arm
        with errors_in("arm"):
            return load(self.arm)

    @property
    def changing(self) -> tuple[str, ...]:
        """Names of the parameters that change during the run."""
        return tuple(dict.fromkeys(name for change in self.changes for name in change.values))

    @property
    def varied(self) -> tuple[str, ...]:
        """Names of the parameters that change during the run, or with respect to which there are derivatives."""
        others = [name for name in self.sensitivities if name not in OF and not name.startswith(OF_CONTROLLER)]
        return tuple(dict.fromkeys([*self.changing, *others]))

    def model(self) -> Model:
        """Return the model of the arm, in which the parameters `varied` vary."""
        return Model(self.loaded_arm(), vary=self.varied)

    def refuse_changes(self, where: str) -> None:
        """Raise `DescriptionError` if parameters change during the run, for a function that would ignore it."""
        if self.changes:
            said = f"scenario {self.name!r} has changes of parameters, which this does not support"
            raise DescriptionError(f"{where}: {said}; leave them out: changes = []")

    def check(self, arm: Arm) -> None:
        """Raise `DescriptionError` if inputs, reference or initial state do not fit the arm."""
        if not isinstance(arm, Arm):
            raise DescriptionError(f"Scenario: arm is {checks.shown(arm)}; it must be an Arm")
        joints = [arm.velocities[i] for i in arm.driven]
        wanted = [("input", self.input, arm.inputs), ("reference", self.reference, tuple(joints))]
        for key, given, names in wanted:
            for field, width in given.widths().items() if given else ():
                if width != len(names):
                    count = checks.counted(width, "number")
                    raise DescriptionError(f"{key}.{field} has {count}; it must have {listed(names)}")
        if isinstance(self.reference, OptimalReference):
            self.reference.check(arm)
            if self.controller is not None:  # a fault should not wait for the motion, which takes long to find
                tried(self.controller, trajectory.Quintic((0.0,) * len(joints), (1.0,) * len(joints), self.until))
        if self.reference and self.reference.shaper:
            self.reference.shaper.check(arm.coordinates)
        for field, given, names in (("q", self.initial.q, arm.coordinates), ("qd", self.initial.qd, arm.velocities)):
            state(f"initial.{field}", given, names)
        if self.outside is not None:
            with errors_in("outside"):
                as_exogenous(made_outside(self.outside), Model(arm))
        if self.disturbance is not None:
            disturbed(Model(arm), None, made_outside(self.disturbance))
        if self.changes:
            checked_changes(self.changes, Model(arm, vary=self.changing), self.until)
        if self.sensitivities:
            with errors_in("sensitivities"):
                Model(arm, vary=self.varied)

    def motion(self, model: Model) -> trajectory.Reference | None:
        """Return the reference itself, shaped if it has a shaper. It must have passed `check`.

        An optimal motion is that of the scenario's own arm, whatever the model.
        """
        _check_model(model)
        if self.reference is None:
            return None
        with errors_in("reference"):
            if isinstance(self.reference, OptimalReference):
                arm = self.loaded_arm()
                initial = state("initial.q", self.initial.q, arm.coordinates, arm.rest)
                return self.reference.found(Model(arm), arm.rest if initial is None else initial)
            reference = self.reference.made(model.arm)
            if self.reference.shaper is None:
                return reference
            return trajectory.shaped(reference, self.reference.shaper.made(model, reference, self.until))

    def _begin(self, model: Model, reference: Any) -> Any:
        """Return the initial coordinates, or None if `simulate` finds them."""
        given = state("initial.q", self.initial.q, model.coordinates, model.arm.rest)
        if given is not None or not isinstance(self.reference, OptimalReference):
            return given
        known = dict(zip(self.loaded_arm().coordinates, reference.q[0].tolist(), strict=True))
        return [known.get(name, x) for name, x in zip(model.coordinates, model.arm.rest, strict=True)]

    def _driven(self, reference: trajectory.Reference | None) -> Any:
        """Return the input of the arm: an input, a controller, or None."""
        if self.controller is not None:
            return made(self.controller, reference)
        return self.input.made(reference) if self.input else None

    def arguments(self, model: Model) -> dict[str, Any]:
        """Return the arguments of `simulate` except the model and the sensitivities."""
        _check_model(model)
        with self.errors_named():
            return self._arguments(model)

    def errors_named(self) -> AbstractContextManager[None]:
        """Return a context in which errors of the controller name its file, if it comes from one."""
        return nullcontext() if self.controller is None else self.controller.errors_named()

    def _arguments(self, model: Model) -> dict[str, Any]:
        self.check(model.arm)
        reference = self.motion(model)
        return {
            "until": self.until,
            "u": self._driven(reference),
            "q0": self._begin(model, reference),
            "qd0": state("initial.qd", self.initial.qd, model.velocities),
            "solver": self.solver,
            "save": SaveAt(samples=self.samples, keep=self.keep, record=self.record),
            "reference": reference,
            "name": self.name,
            "w": None if self.outside is None else made_outside(self.outside),
            "disturbance": None if self.disturbance is None else made_outside(self.disturbance),
            "changes": self.changes or None,
        }

    def run(self, model: Model | None = None, progress: Progress | bool = True) -> "Dataset":
        """Simulate the scenario, see `simulate`. The result has the name of the scenario."""
        model = self.model() if model is None else model
        arguments = self.arguments(model)
        with self.errors_named():
            return simulate(model, progress=progress, sensitivities=self.sensitivities or None, **arguments)


def _check_model(model: object) -> None:
    if not isinstance(model, Model):
        raise DescriptionError(f"Scenario: model is {checks.shown(model)}; it must be a Model")


def bundled_scenarios() -> tuple[str, ...]:
    """Return the sorted names of the scenarios that come with the package."""
    return catalogued("scenario")


def load_scenario(name_or_path: str | PathLike[str]) -> Scenario:
    """Return a bundled scenario by its name, or a scenario from the path of a .toml file.

    Raises `DescriptionError` with a line that begins with the file's name.
    """
    file, given, folder = located("load_scenario", "scenario", name_or_path)
    table = read_toml(file, given)
    if "links" in table:
        raise DescriptionError(f"{printable(given)}: this is an arm, {NAMED_BY['scenario']}")
    if "arm" in table:
        table["arm"] = seen_from(folder, table["arm"])
    with errors_in(printable(given), "Scenario"):
        scenario = Scenario(**table)
        scenario.check(scenario.loaded_arm())
    if scenario.controller is not None:
        scenario.controller.file = printable(given)
    return scenario
