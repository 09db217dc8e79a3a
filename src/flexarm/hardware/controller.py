"""Export of a controller, or of the controller of a scenario, as C for its board."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from os import PathLike
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from flexarm.checks import POSITIVE, Fault, checked_names, checked_number, choices, refused, shown
from flexarm.errors import DescriptionError
from flexarm.exports.controller.inputs import WHERE
from flexarm.exports.controller.library import board, c_controller
from flexarm.exports.controller.targets import TARGETS
from flexarm.exports.library import write_project
from flexarm.exports.source import Real
from flexarm.files import checked_path
from flexarm.model import Model, ModelLike, Sensor, as_model
from flexarm.scenario import Scenario, load_scenario
from flexarm.simulation.law import what_it_is
from flexarm.simulation.sampled import Sampled


def export_controller(
    controller: Sampled | Scenario | str | PathLike[str],
    path: str | PathLike[str],
    model: ModelLike | None = None,
    *,
    sensors: Sequence[Sensor] = (),
    scale: Mapping[str, Any] | None = None,
    safe: ArrayLike = 0.0,
    misses: int = 0,
    jitter: float | None = None,
    period: float | None = None,
    real: Real = "double",
    targets: Sequence[str] = (),
) -> list[Path]:
    """Write a controller for its board as C into a folder and return its files.

    NAME_controller.h and NAME_controller.c contain one library: scaling of the sensors, estimator, reference with its
    shaper, law, saturation, rate limit, delay and a watchdog. Its functions are `NAME_controller_init(&self)`,
    `NAME_controller_step(&self, &inputs, time, &outputs)` and `NAME_controller_reset(&self)`. The code is C99,
    allocates nothing, and keeps all its memory in one struct. NAME_controller_test.c compares some samples with the law
    as flexarm runs it. CMakeLists.txt builds both.

    Parameters
    ----------
    controller : Sampled, Scenario, or the name or path of a scenario
        Sampled controller with a law that is an expression, with an estimator (`Observed(estimator=...)`), or
        `Predictive` along a reference; or a scenario with such a controller.
    path : path
        Folder of the files, which is created if it does not exist.
    model : Model, Arm, str or path, optional
        Arm for which the law is designed. Required for a `Sampled`. Default: the scenario's arm.
    sensors : list of sensors, optional
        Sensors whose signals the board reads, as in `export_law`. Default: the sensors of the controller itself
        (`Observed`, `Linear`), and the entries of the state on which it depends directly.
    scale : dict, optional
        Gain, or gain and offset, by the name of a signal, for raw readings: y = gain * raw + offset. Signals without an
        entry arrive in the unit of the header. The rate of "upper.motor" has the name "upper.motor.rate".
    safe : float or (m,)
        Outputs after a failure, and before the first sample without a fault [N m or N]. With a `rate_limit` of the
        controller, the outputs move there at this rate.
    misses : int
        Number of consecutive samples for which the law continues with its last readings if they are missing or not
        finite, or if the sample is early or late. After one more the outputs are safe until a reset.
    jitter : float, optional
        Largest difference of the time between two samples from the period [s]. Default: half a period.
    period : float, optional
        Sampling period, if the controller of a scenario is continuous [s].
    real : "double" or "float"
        Type of all numbers except the time.
    targets : list of "simulink", "ros2" and "shared"
        Wrappers to write beside the library: a level-2 S-function, a package with a plug-in for ros2_control in the
        folder `ros2`, or a program over shared memory with its layout, see `run_in_real_time`.

    Raises
    ------
    DescriptionError
        If the controller is not sampled or is a Python function, if a predictive controller needs models or solvers
        that the C code does not have, if the sensors do not determine what the law needs, if
        a name in `scale` is not that of a signal, or if `safe` is beyond the controller's limit. Also if the folder has
        the CMakeLists.txt or package.xml of another project, or if a file cannot be written. No file is written then.
    """
    folder = Path(checked_path(path))
    loop, arm, place = loop_of(WHERE, controller, model, period)
    found = board(
        loop, arm, place=place, sensors=sensors, scale=scale, safe=safe, misses=misses, jitter=jitter, real=real
    )
    with refused(WHERE):
        for each in checked_names(targets, "a list of names", "targets"):
            if each not in TARGETS:
                raise Fault("targets", f"has {shown(each)}; it must have {choices(*TARGETS)}")
    texts = c_controller(found)
    for each in targets:
        texts |= TARGETS[each](found)
    return write_project(WHERE, folder, texts)


def loop_of(
    where: str, controller: Any, model: ModelLike | None = None, period: float | None = None
) -> tuple[Sampled, Model, AbstractContextManager[None]]:
    """Return the sampled controller and the model of a controller or a scenario. Raises `DescriptionError`.

    The third result is a context in which errors of the controller name the scenario's file.
    """
    with refused(where):
        if period is not None:
            checked_number(period, "s", POSITIVE, "period")
        if model is not None:
            model = as_model(model)
    if isinstance(controller, Sampled):
        if model is None:
            raise DescriptionError(
                f"{where}: model is missing; give the Model of the arm, which a Sampled does not have"
            )
        if period is not None:
            raise DescriptionError(f"{where}: period is given, but the Sampled has one; leave it out")
        return controller, model, nullcontext()
    if not isinstance(controller, Scenario | str | PathLike):
        must = "it must be a Sampled, a Scenario, or the name or path of a scenario"
        raise DescriptionError(f"{where}: controller is {what_it_is(controller)}; {must}")
    scenario = controller if isinstance(controller, Scenario) else load_scenario(controller)
    named = f"scenario {scenario.name!r}"
    if scenario.controller is None:
        raise DescriptionError(f"{where}: {named} has no controller; add one to it, or give another scenario")
    scenario.refuse_changes(where)
    model = scenario.model() if model is None else model
    loop = scenario.arguments(model)["u"]
    if isinstance(loop, Sampled):
        if period is not None:
            raise DescriptionError(f"{where}: period: {named} has a period already, {loop.period:g} s; change it there")
        return loop, model, scenario.errors_named()
    if period is None:
        raise DescriptionError(f"{where}: {named}: the controller is continuous; give a sampling period, such as 0.001")
    return Sampled(loop, period), model, scenario.errors_named()
