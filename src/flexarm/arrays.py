"""The type of arrays in signatures. Their shapes and units are in the docstrings."""

import numpy as np

Array = np.ndarray
