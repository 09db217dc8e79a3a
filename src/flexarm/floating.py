"""NumPy's rules about underflow, overflow and division by zero, which a caller may have set for the whole process.

After `np.seterr(all="raise")` every underflow is an error, as where a motion decays to nothing. The package's own
arithmetic is written for NumPy's usual settings.
"""

import numpy as np


def usual_errors() -> np.errstate:
    """A context in which NumPy's usual settings hold, whatever those of the caller are."""
    return np.errstate(divide="warn", over="warn", under="ignore", invalid="warn")
