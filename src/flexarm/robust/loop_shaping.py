"""H-infinity loop shaping by normalized coprime factors."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from scipy import linalg

from flexarm.analysis.balance import computing
from flexarm.brief import brief
from flexarm.checks import Fault, checked_number, refused
from flexarm.errors import DescriptionError
from flexarm.robust.plants import sized
from flexarm.robust.systems import Matrices, series

if TYPE_CHECKING:
    import control


@final
@brief
@dataclass(frozen=True, eq=False)
class LoopShaping:
    """A controller of `loop_shaping`.

    Attributes
    ----------
    controller : control.StateSpace
        K with u = K (r - y), which contains the weights.
    gamma : float
        H-infinity norm of the four-block problem of the shaped plant.
    best : float
        Smallest possible gamma.
    margin : float
        1 / gamma: the loop tolerates all stable changes of the normalized coprime factors that are smaller. A value of
        0.25 or more is usually considered robust.
    """

    controller: "control.StateSpace"
    gamma: float
    best: float
    margin: float


@computing("loop_shaping")
def loop_shaping(plant: "control.StateSpace", before: Any = 1.0, after: Any = 1.0, excess: float = 1.1) -> LoopShaping:
    """Return the controller that keeps a shaped loop stable under the largest changes of its coprime factors.

    The weights shape the gain of the loop W2 G W1 as wanted: high where errors must be small, low where the model is
    not known. The controller is W1 K W2. The smallest gamma is sqrt(1 + rho(Z X)), without iteration, with the
    solutions X and Z of two Riccati equations: D. McFarlane and K. Glover, A loop shaping design procedure using
    H-infinity synthesis, IEEE Transactions on Automatic Control 37 (1992) 759-769; S. Skogestad and I. Postlethwaite,
    Multivariable Feedback Control, 2005, section 9.4.

    Parameters
    ----------
    plant : control.StateSpace
        Continuous, from the arm's inputs to measured signals.
    before, after : float, array, StateSpace or TransferFunction
        Weights W1 and W2 at the plant's inputs and outputs. A number or a system with one input and one output applies
        to each channel.
    excess : float
        gamma in units of the smallest possible one, above 1.

    Raises
    ------
    DescriptionError
        If the plant is not a continuous StateSpace, if a weight does not fit, or if the shaped plant has a mode that is
        not stable, and not controllable or not observable.
    """
    where = "loop_shaping"
    G = Matrices.of(where, plant)
    with refused(where):
        excess = checked_number(excess, part="excess")
        if not excess > 1.0:
            raise Fault("excess", f"is {excess:g}; it must be above 1")
    p, m = G.D.shape
    W1, W2 = sized(where, "before", before, m), sized(where, "after", after, p)
    shaped = series(series(W1, G), W2).balanced
    A, B, C, D = shaped.A, shaped.B, shaped.C, shaped.D
    S, R = np.eye(m) + D.T @ D, np.eye(p) + D @ D.T
    A0 = A - B @ np.linalg.solve(S, D.T @ C)
    try:
        X = linalg.solve_continuous_are(A0, B, C.T @ np.linalg.solve(R, C), S)
        Z = linalg.solve_continuous_are(A0.T, C.T, B @ np.linalg.solve(S, B.T), R)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise DescriptionError(
            f"{where}: the shaped plant has no normalized coprime factors ({' '.join(str(error).split())}); its inputs "
            "must reach and its outputs must show every mode that is not stable"
        ) from None
    best = float(np.sqrt(1.0 + max(linalg.eigvals(X @ Z).real.max(initial=0.0), 0.0)))
    gamma = excess * best
    F = -np.linalg.solve(S, D.T @ C + B.T @ X)
    L = (1.0 - gamma**2) * np.eye(len(A)) + X @ Z
    injection = gamma**2 * np.linalg.solve(L.T, Z @ C.T)
    K = Matrices(A + B @ F + injection @ (C + D @ F), injection, -B.T @ X, D.T)  # of u = K (r - y)
    whole = series(series(W2, K), W1)
    names = {"inputs": plant.output_labels, "outputs": plant.input_labels}
    return LoopShaping(whole.state_space(**names), gamma, best, 1.0 / gamma)
