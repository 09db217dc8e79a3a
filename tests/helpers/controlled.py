"""Arms under control, and what is asked of their laws."""

import numpy as np
import pytest

import flexarm as fa
from flexarm.simulation.feedback import Feedback

DOWN = (0.0, -9.81, 0.0)


def refused(match, error=fa.DescriptionError):
    """An error of one line."""
    return pytest.raises(error, match=rf"\A{match}\Z")


def elastic(**changes):
    return fa.Model(fa.load("subudhi-morris-elastic").replace(**changes))


def spatial():
    """A turning base and two beams that bend in both planes; the fore arm's joint is elastic."""
    base = fa.Rigid(length=0.1, mass=0.5, inertia=0.005)
    beams = [
        fa.Beam(length=0.5, mass=m, EI={"y": s, "z": s}, modes={"y": 1, "z": 1}, damping=0.005)
        for m, s in ((0.3, 20.0), (0.2, 12.0))
    ]
    pitch = fa.Revolute(axis=(0, 1, 0), rotor_inertia=0.02)
    links = [
        fa.Link(name="base", joint=fa.Revolute(axis=(0, 0, 1), rotor_inertia=0.02), body=base),
        fa.Link(name="upper", joint=pitch, body=beams[0]),
        fa.Link(name="fore", joint=pitch.replace(stiffness=200.0), body=beams[1]),
    ]
    return fa.Model(
        fa.Arm(name="spatial", links=links, payload=fa.Payload(mass=0.3, inertia=0.003), gravity=(0, 0, -9.81))
    )


def slope(controller, model, t, q, qd, h=1e-6):
    """du/d(q, qd) by central differences."""
    feedback = Feedback(controller.law(model), model, "test")
    x = np.concatenate([q, qd])
    rows = [np.concatenate([[t], x + s * h * e]) for e in np.eye(len(x)) for s in (1, -1)]
    u = feedback.kernel.many(np.array(rows))
    return (u[::2] - u[1::2]).T / (2 * h)


def operations(code):
    return code.facts["multiplications"] + code.facts["additions"]
