"""Settings for a robot file: its tip, its base, its flexible links and its elastic joints."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, final

from pydantic import BeforeValidator

from flexarm import checks
from flexarm.checks import Described, Fault, Vector, checked_number, optional_vector, shown
from flexarm.errors import DescriptionError


def _tables(what: str, example: str) -> BeforeValidator:
    def check(value: object) -> Any:
        if not isinstance(value, Mapping):
            raise Fault("", f"is {shown(value)}; it must be a table of {what} by name, such as {example}")
        for name, given in value.items():
            if not isinstance(name, str) or not isinstance(given, Mapping):
                raise Fault("", f"has {shown(given)} for {shown(name)}; it must be a table, such as {example}")
            for key in given:
                if not isinstance(key, str):
                    raise Fault(name, f"has the key {shown(key)}; keys must be texts")
        return {name: dict(given) for name, given in value.items()}

    return BeforeValidator(check)


def _values(value: object) -> Any:
    if not isinstance(value, Mapping):
        raise Fault("", f"is {shown(value)}; it must be a table of coordinates by the names of joints")
    for name in value:
        if not isinstance(name, str):
            raise Fault("", f"has the key {shown(name)}; it must be the name of a joint")
    return {name: checked_number(x, "rad or m", part=name) for name, x in value.items()}


class Setting(Exception):
    """An error in the user's settings. Its message continues the name of the settings."""


def theirs(table: str, error: DescriptionError) -> Setting:
    """Return the error of a description as one of the settings table that contains the value."""
    return Setting(f"{table}{'.' if error.field else ''}{error.field}: {error.message}")


@final
class Settings(Described):
    """Tables of the file `robot.flex.toml` next to a robot file. All are optional.

    Parameters
    ----------
    tip : str, optional
        Link of the robot file whose frame is the tip of the arm. In MJCF it may also be a site, in SDF a frame.
    base : "fixed" or "free", optional
        Kind of base. Default: free if a floating joint alone carries the root link, else fixed. In SDF, a robot that no
        joint connects to the world is free.
    gravity : (3,), optional
        Gravity in the frame of the root link [m/s^2]. Default: the value in the file, or (0, 0, -9.81) if
        it has none, as in URDF.
    locked : dict of float
        Joints that do not move, with their fixed coordinates [rad or m].
    links : dict of tables
        Fields of a `Beam` for each flexible link, by the link's name. Default mass: that of the robot file. In
        addition, `to` is the end of the beam, either a link on it or a point in the link frame [m], and `z` is the
        beam's z axis in the link frame.
    joints : dict of tables
        Fields of a `Revolute` or `Prismatic` for each joint, by its name: stiffness, rotor_inertia, gear_ratio, drive.
        A ball joint has `damping`, and `angles = true` for three joints with one angle each.
    """

    tip: Annotated[str | None, checks.optional_text] = None
    base: Literal["fixed", "free"] | None = None
    gravity: Annotated[Vector | None, optional_vector("m/s^2")] = None
    locked: Annotated[dict[str, float], BeforeValidator(_values)] = {}  # noqa: RUF012
    links: Annotated[dict[str, dict[str, Any]], _tables("links", "{forearm = {EI = 2e3, modes = {y = 2, z = 2}}}")] = {}  # noqa: RUF012
    joints: Annotated[
        dict[str, dict[str, Any]], _tables("joints", "{elbow = {stiffness = 1e4, rotor_inertia = 1e-4}}")
    ] = {}  # noqa: RUF012
