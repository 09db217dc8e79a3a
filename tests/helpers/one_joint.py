"""Arms of one or two joints, small enough to write down."""

import numpy as np

import flexarm as fa

STIFFNESS, DAMPING = 80.0, 0.05


def bar(**changes):
    """One rigid link about an upright axis: J qdd = u."""
    link = fa.Link(name="bar", joint=fa.Revolute(axis=(0, 0, 1)), body=fa.Rigid(length=0.8, mass=1.5, inertia=0.3))
    given = {"name": "bar", "links": [link], "gravity": (0.0, 0.0, 0.0)} | changes
    return fa.Model(fa.Arm(**given))


def elastic_bar():
    """The same behind a spring: the motor's angle theta, J qdd = k (theta - q) + d (...), Jm theta_dd = u - ..."""
    joint = fa.Revolute(axis=(0, 0, 1), stiffness=STIFFNESS, damping=DAMPING, rotor_inertia=0.1)
    link = fa.Link(name="bar", joint=joint, body=fa.Rigid(length=0.8, mass=1.5, inertia=0.3))
    return fa.Model(fa.Arm(name="elastic bar", links=[link], gravity=(0.0, 0.0, 0.0)))


def inertia(model):
    return float(np.asarray(model.mass_matrix(np.array(model.arm.rest)))[0, 0])
