"""Inputs that act for a moment, as functions, tables and pieces: a run does not step over them without a word."""

import warnings

import numpy as np

import flexarm as fa

from . import right
from .arms import whole
from .judge import Found


def case(rng, folder, note):
    c = right.context(rng, folder)
    until = rng.choice((0.1, 1.0, 5.0))
    begin = rng.uniform(0.0, 0.9) * until
    width = rng.choice((0.2, 0.05, 0.01)) * until
    size = rng.choice((1e-3, 0.05, 0.2))
    kind = rng.choice(("function", "pieces", "table", "outside", "edge"))
    note(f"{c.name}: {kind}, {size:.3g} from {begin:.4g} to {begin + width:.4g} of {until} s")
    m = len(c.model.inputs)
    asked = {"samples": 21, "progress": False}
    pieces = fa.Piecewise([0.0, begin, begin + width], size * np.array([np.zeros(m), np.ones(m), np.zeros(m)]))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        wanted = fa.simulate(c.model, until, u=pieces, **asked)
        whole(wanted)
        if kind == "pieces":
            return "run"
        if kind == "table":
            edges = [0.0, begin, begin + 1e-6 * until, begin + width, begin + (1 + 1e-6) * width]
            u = fa.Table(edges, size * np.array([[x] * m for x in (0.0, 0.0, 1.0, 1.0, 0.0)]), kind="linear")
        elif kind == "edge":
            u = fa.Piecewise([begin, begin], np.zeros((2, m)))
        else:
            u = lambda t: np.full(m, size if begin <= t < begin + width else 0.0)  # noqa: E731
        found = fa.simulate(c.model, until, u=u, **asked)
    whole(found)
    if kind in ("function", "outside", "table") and not said:
        _same(found, wanted)
    return "run"


def _same(found, wanted):
    if found.attrs["status"] != "completed" or wanted.attrs["status"] != "completed":
        return
    scale = np.abs(wanted.q.values).max()
    if np.abs(found.q.values - wanted.q.values).max() > 0.05 * scale + 1e-9:
        raise Found("wrong", "a pulse of a function is stepped over without a word")
