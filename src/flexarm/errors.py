"""The errors flexarm raises: each message is one line that says what, where and what is allowed."""


class FlexarmError(Exception):
    """Any error a user can cause; the command line prints it without a traceback and exits with 2."""


class DescriptionError(FlexarmError):
    """An arm, a scenario or a file that cannot be understood."""


class SimulationError(FlexarmError):
    """A run that stopped before its end.

    Attributes
    ----------
    result : xarray.Dataset or None
        What was computed before it stopped.
    """

    def __init__(self, message: str, result=None):
        super().__init__(message)
        self.result = result
