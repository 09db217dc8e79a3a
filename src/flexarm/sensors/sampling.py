"""Sampling of instruments."""

import json
from typing import Annotated

from pydantic import BeforeValidator

from flexarm.checks import NOT_NEGATIVE, POSITIVE, Described, Fault, number, optional_number, shown


def _name(value: object) -> str | None:
    if value is not None and not (isinstance(value, str) and value.isidentifier()):
        raise Fault("", f"is {shown(value)}; it must be letters, digits and underscores")
    return value


class Sampling(Described):
    """Sampling of an instrument.

    Parameters
    ----------
    sample_time : float, optional
        Time from one reading to the next, the first at t = 0 [s]. Default: a reading at every time of a result.
    resolution : float
        Readings are rounded to multiples of this value, in the unit of the signal; 0 for none.
    noise : float
        Standard deviation of white, normal noise, added before rounding, in the unit of the signal.
    name : str, optional
        Name of the signal, or the beginning of the names if there are several signals.
    """

    sample_time: Annotated[float | None, optional_number("s", POSITIVE)] = None
    resolution: Annotated[float, number("", NOT_NEGATIVE)] = 0.0
    noise: Annotated[float, number("", NOT_NEGATIVE)] = 0.0
    name: Annotated[str | None, BeforeValidator(_name)] = None

    def described(self) -> str:
        """Text with everything on which the expression depends."""
        return json.dumps({key: value for key, value in self if key not in Sampling.model_fields}, default=dict)
