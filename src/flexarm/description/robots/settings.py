"""What a user says beside a URDF file: where it ends, what holds its base, which links bend, which joints wind up."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, final

from pydantic import BeforeValidator

from flexarm import checks
from flexarm.checks import Described, Fault, Vector, checked_number, shown, vector


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
    """The tables of a file beside a URDF file, `robot.flex.toml`; all may be left out.

    Parameters
    ----------
    tip : str, optional
        The link of the URDF file whose frame is the arm's tip.
    base : "fixed" or "free", optional
        Whether the root link is free; default: where it hangs on nothing but a floating joint.
    gravity : (3,)
        In the root link's frame [m/s^2].
    locked : dict of float
        Joints that do not move, and where they stand [rad or m].
    links : dict of tables
        By the names of links that bend the fields of a `Beam`; without mass it is the URDF's. Beside them `to`, where
        the beam ends, a link on it or a point in the link's frame [m], and `z`, its own z axis in the link's frame.
    joints : dict of tables
        By the names of joints fields of a `Revolute` or `Prismatic`: stiffness, rotor_inertia, gear_ratio, drive.
    """

    tip: Annotated[str | None, checks.optional_text] = None
    base: Literal["fixed", "free"] | None = None
    gravity: Annotated[Vector, vector("m/s^2")] = (0.0, 0.0, -9.81)
    locked: Annotated[dict[str, float], BeforeValidator(_values)] = {}  # noqa: RUF012
    links: Annotated[dict[str, dict[str, Any]], _tables("links", "{forearm = {EI = 2e3, modes = {y = 2, z = 2}}}")] = {}  # noqa: RUF012
    joints: Annotated[
        dict[str, dict[str, Any]], _tables("joints", "{elbow = {stiffness = 1e4, rotor_inertia = 1e-4}}")
    ] = {}  # noqa: RUF012
