"""What a user says beside a robot's file: its tip, what holds its base, which links bend, which joints wind up."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, final

from pydantic import BeforeValidator

from flexarm import checks
from flexarm.checks import Described, Fault, Vector, checked_number, optional_vector, shown


def _tables(what: str, example: str) -> BeforeValidator:
    def check(value: object) -> Any:
        if not isinstance(value, Mapping):
            raise Fault("", f"is {shown(value)}; it must be a table of {what} by their names, {example}")
        for name, given in value.items():
            if not isinstance(name, str) or not isinstance(given, Mapping):
                raise Fault("", f"has {shown(given)} for {shown(name)}; it must be a table, {example}")
            for key in given:
                if not isinstance(key, str):
                    raise Fault(name, f"has the key {shown(key)}; its keys are texts")
        return {name: dict(given) for name, given in value.items()}

    return BeforeValidator(check)


def _values(value: object) -> Any:
    if not isinstance(value, Mapping):
        raise Fault("", f"is {shown(value)}; it must be a table of places by the names of joints")
    for name in value:
        if not isinstance(name, str):
            raise Fault("", f"has the key {shown(name)}; it must be the name of a joint")
    return {name: checked_number(x, "rad or m", part=name) for name, x in value.items()}


@final
class Settings(Described):
    """The tables of a file beside a robot's, `robot.flex.toml`; all may be left out.

    Parameters
    ----------
    tip : str, optional
        The link of the file whose frame is the arm's tip; of MJCF also a site.
    base : "fixed" or "free", optional
        Whether the root link is free; default: where it hangs on nothing but a floating joint.
    gravity : (3,), optional
        In the root link's frame [m/s^2]; default MJCF's own, (0, 0, -9.81) of URDF.
    locked : dict of float
        Joints that do not move, and where they stand [rad or m].
    links : dict of tables
        By the names of links that bend the fields of a `Beam`; without mass it is the file's. Beside them `to`, where
        the beam ends, a link on it or a point in the link's frame [m], and `z`, its own z axis in the link's frame.
    joints : dict of tables
        By the names of joints fields of a `Revolute` or `Prismatic`: stiffness, rotor_inertia, gear_ratio, drive.
    """

    tip: Annotated[str | None, checks.optional_text] = None
    base: Literal["fixed", "free"] | None = None
    gravity: Annotated[Vector | None, optional_vector("m/s^2")] = None
    locked: Annotated[dict[str, float], BeforeValidator(_values)] = {}  # noqa: RUF012
    links: Annotated[dict[str, dict[str, Any]], _tables("links", "{forearm = {EI = 2e3, modes = {y = 2, z = 2}}}")] = {}  # noqa: RUF012
    joints: Annotated[
        dict[str, dict[str, Any]], _tables("joints", "{elbow = {stiffness = 1e4, rotor_inertia = 1e-4}}")
    ] = {}  # noqa: RUF012
