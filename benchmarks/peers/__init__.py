"""The contest: this package and its peers on the same problems, in turn, on one machine; `make contest`.

Matrices are small here: threads of BLAS would only spin beside what is measured, whosever it is.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
