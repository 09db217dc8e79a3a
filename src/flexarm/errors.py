"""The errors and warnings of flexarm. Each message is one line that says what is wrong, where, and what is allowed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from flexarm import escape

if TYPE_CHECKING:
    from xarray import Dataset


LONGEST = 600
"""Largest number of characters of a file or a part in a message. File systems allow no longer names."""

MESSAGE = 1800
"""Largest number of characters of a message. Messages repeat texts of users, which may be of any length."""


def shortened(text: str, most: int = LONGEST) -> str:
    """Return a text for a message, without its middle if it is too long. The default is for names."""
    return text if len(text) <= most else f"{text[: most // 2]}...{text[-most // 2 :]}"


class FlexarmError(Exception):
    """Any error that a user can cause. The command line prints it without a traceback and exits with 2.

    Its text is one line of printable characters, whatever a file or another library has put into the message. In a
    very long text the middle is left out.
    """

    def __init__(self, message: str):
        super().__init__(shortened(escape.line(message), MESSAGE))


class DescriptionError(FlexarmError):
    """Error for an arm, a scenario or a file that is not valid.

    Attributes
    ----------
    where : str
        Owner of the error: "link 'forearm'", a file; empty if the message contains it.
    field : str
        The part that is wrong, "joint.axis"; empty if it is the complete object.
    message : str
        The error and what is allowed. The error's text combines all three.
    """

    def __init__(self, message: str, where: str = "", field: str = "", sentence: bool = False):
        self.message, self.where, self.field, self._sentence = message, where, field, sentence
        subject = f"{where}: {field}" if where and field else where or field
        subject = shortened(subject)
        super().__init__(f"{subject}{': ' if sentence else ' '}{message}" if subject else message)

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, str, bool], dict[str, Any]]:
        return type(self), (self.message, self.where, self.field, self._sentence), self.__dict__

    def inside(self, file: str, root: str) -> "DescriptionError":
        """Return the error with the name of a file in front, for a file whose complete content is called `root`."""
        if not self.where:
            return DescriptionError(str(self), file, sentence=True)
        where = file if self.where == root else f"{file}: {self.where}"
        return DescriptionError(self.message, where, self.field, self._sentence)


@contextmanager
def errors_in(place: str, root: str = "") -> Iterator[None]:
    """Add a place, such as a file, to errors of the description there; `root` as in `DescriptionError.inside`."""
    try:
        yield
    except DescriptionError as error:
        raise error.inside(place, root) from None


class SimulationError(FlexarmError):
    """A run that stopped before its end. The command line stores the result up to the stop and exits with 1.

    Attributes
    ----------
    result : xarray.Dataset or None
        Result up to the stop.
    """

    def __init__(self, message: str, result: "Dataset | None" = None):
        super().__init__(message)
        self.result = result


class NativeCodeError(FlexarmError):
    """Compiled code gives other values than the function from which it was compiled.

    The cause is a fault of a compiler or a driver. Every kernel is checked once; the command line exits with 70.
    """


class FlexarmWarning(UserWarning):
    """Any warning of flexarm about a result or an argument."""


class InterruptedRun(FlexarmWarning):
    """Ctrl-C ended a run; its result ends where the run was interrupted."""


class LargeDeflection(FlexarmWarning):
    """A link without segments was bent by more than half its length, where small-deflection shapes are not valid."""


class UncertainResult(FlexarmWarning):
    """A result is not reliable: the last digits of a problem's numbers change a pole or a margin, or forces that jump
    within the steps of a run are missing in its derivatives.
    """


class EnergyDrift(FlexarmWarning):
    """The energy balance of a run is wrong, since the integrator's steps were too long for the motion."""


class Implausible(FlexarmWarning):
    """A number is allowed, but looks like one in another unit: degrees, per cent, millimetres."""


class MissedInput(FlexarmWarning):
    """A Python function of time changed between two steps of the solver, which did not see the change."""


class UnstableStart(FlexarmWarning):
    """A run starts where its closed loop is unstable, so that deviations grow."""


class NotUnderstood(FlexarmWarning):
    """A robot's file (URDF, MJCF, SDF) contains something that may affect the motion and that is not in the arm."""


class NotReached(FlexarmWarning):
    """A motion that the arm cannot follow, or an optimal motion or a controller that misses its goal."""


class SlowSampling(FlexarmWarning):
    """A sampling period is longer than half the period of a mode, so that the mode appears at another frequency."""


class FastTelescope(FlexarmWarning):
    """A telescope moves so fast that its mode shapes, those of a beam at rest, are inaccurate."""


class NotCached(FlexarmWarning):
    """Compiled code is not stored on disk, since other users can write to the folder."""


class Indistinct(FlexarmWarning):
    """The data of an identification do not determine some parameters separately.

    The estimate lies somewhere along the combination that the warning names.
    """


class Doubtful(FlexarmWarning):
    """The search of an identification has not converged, or the model does not fit.

    The standard errors are then not meaningful, because they are those of a model that fits.
    """
