"""The exact rod as a boundary-value problem, which shares no code with the package."""

import numpy as np
from scipy.integrate import solve_bvp


def rod_in_space(force, EI, GJ, length, bent=(0.0, 0.0, 0.0), soft=(0.0, 0.0, 0.0)):
    """Tip and turn of a clamped rod: m' = -r' x f, R' = R [kappa x], r' = R (e_x + soft R' f), by collocation.

    kappa = kappa_0 + R' m in the section's own axes over (GJ, EI_z, EI_y); nothing else is assumed. `bent` has the
    curvature at rest about the section's axes x, y, z, and `soft` has 1 / EA, 1 / kGA_y, 1 / kGA_z.
    """
    stiff, rest = np.array([GJ, EI["z"], EI["y"]])[:, None], np.array(bent)[:, None]

    def rate(s, y):
        R, m = y[3:12].reshape(3, 3, -1), y[12:]
        kappa = rest + np.einsum("ijn,in->jn", R, m) / stiff
        x, y_, z = kappa
        o = 0 * x
        skew = np.array([[o, -z, y_], [z, o, -x], [-y_, x, o]])
        turning = np.einsum("ijn,jkn->ikn", R, skew)
        strained = np.array(soft)[:, None] * np.einsum("ijn,i->jn", R, force)
        along = R[:, 0] + np.einsum("ijn,jn->in", R, strained)
        moment = -np.cross(along.T, force).T
        return np.vstack([along, turning.reshape(9, -1), moment])

    def ends(a, b):
        return np.concatenate([a[:3], a[3:12] - np.eye(3).ravel(), b[12:]])

    s = np.linspace(0.0, length, 41)
    y = np.zeros((15, len(s)))
    y[0], y[3:12] = s, np.eye(3).reshape(9, 1)
    whole = np.array(force)
    for share in (0.0, 0.1, 0.25, 0.5, 0.75, 1.0):
        force = share * whole
        found = solve_bvp(rate, ends, s, y, tol=1e-9, max_nodes=20000)
        assert found.success
        s, y = found.x, found.y
    return found.y[:3, -1], found.y[3:12, -1].reshape(3, 3)
