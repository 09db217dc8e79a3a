"""Arms in files: mutated, read, and whatever is accepted built, evaluated, and moved for a moment."""

import copy
import pickle

import numpy as np

import flexarm as fa

from . import stock, tables
from .judge import Found

NAMES = ("arm.toml",) * 30 + ("a b.toml", "-x.toml", "x\ny.toml", "x\x1b[31m.toml", "é'\".toml", "arm", "<b>.toml")
MOST = 12
"""Coordinates of an arm that is compiled: a larger one takes too long here."""

DRIFT = 1e-3
"""Of the energy, where a run has completed with rtol = 1e-8."""


def case(rng, folder, note):
    everything = stock.arms()
    table = copy.deepcopy(rng.choice(everything))
    if len(table["links"]) > 3:
        table["links"] = rng.sample(table["links"], 3)
    others = everything if rng.random() < 0.8 else stock.scenarios()
    table, done = tables.mutated(rng, table, others)
    raw = tables.content(rng, table, done)
    path = folder / rng.choice(NAMES)
    path.write_bytes(raw)
    note(f"{path.name!r}: {', '.join(done)}")
    arm = fa.load(path)
    again = fa.Arm.from_json(arm.canonical())
    if again.canonical() != arm.canonical():
        raise Found("round trip", "another arm comes back from its JSON")
    if pickle.loads(pickle.dumps(arm)) != arm:
        raise Found("round trip", "another arm comes back from pickle")
    if len(arm.coordinates) > MOST:
        return "accepted but large"
    return moved(rng, arm, note)


def moved(rng, arm, note):
    """The arm at rest, its modes, and some periods of its fastest motion."""
    model = fa.Model(arm)
    q = np.array(arm.rest)
    still, none = np.zeros(len(q)), np.zeros(len(model.inputs))
    M = finite("mass matrix", model.mass_matrix(q))
    if np.abs(M - M.T).max() > 1e-9 * np.abs(M).max():
        raise Found("not symmetric", "mass matrix")
    if problem := _without_inertia(model, q):
        return problem
    qdd = finite("acceleration at rest", model.forward_dynamics(q, still, none))
    omega = finite("frequencies", model.frequencies(q, locked=False))
    finite("frequencies, locked", model.frequencies(q))
    finite("tip", model.tip(q))
    fastest = max([abs(omega).max(initial=0.0), np.sqrt(abs(qdd).max(initial=0.0)), 1e-3])
    until = float(min(0.1, 20 / fastest))
    note(f"until = {until:.3g}")
    result = fa.simulate(model, until, samples=11, progress=False)
    whole(result)
    drift, scale = result.attrs["energy_drift"], result.attrs["energy_scale"]
    size = float(np.abs(result.potential).max() + np.abs(result.kinetic).max())
    fast = np.abs(result.qd.values).max() > 1e-6  # far above the absolute tolerance
    if drift > DRIFT and scale > 1e-9 * size and fast:
        raise Found("energy", f"energy_drift is large where the run has completed\n{drift:.3g} of {scale:.3g} J")
    return "moved"


def _without_inertia(model, q):
    """The package's own word about an arm that cannot be moved: `simulate` refuses it by this."""
    from flexarm.model.linear import without_inertia

    return "without inertia" if without_inertia(model, q) else ""


def finite(what, x):
    if not np.isfinite(x).all():
        raise Found("not finite", what)
    return x


def whole(result):
    """No NaN in what says it is completed."""
    if result.attrs["status"] != "completed":
        return
    for name, values in result.data_vars.items():
        if values.dtype.kind == "f" and not np.isfinite(values.values).all():
            raise Found("not finite", f"{name} of a completed run")
    for name in ("energy_drift", "energy_scale"):
        if not np.isfinite(result.attrs[name]):
            raise Found("not finite", f"{name} of a completed run")
