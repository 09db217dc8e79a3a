"""NumPy's settings for underflow, overflow and division by zero, which a caller may have set for the whole process.

After `np.seterr(all="raise")` every underflow is an error, for example when a motion decays to zero. The package's own
arithmetic is written for NumPy's usual settings.
"""

import numpy as np


def usual_errors() -> np.errstate:
    """Return a context in which NumPy's default settings hold, whatever the settings of the caller are."""
    return np.errstate(divide="warn", over="warn", under="ignore", invalid="warn")
