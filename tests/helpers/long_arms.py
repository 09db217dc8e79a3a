"""Arms of many like links."""

import flexarm as fa


def long_arm(n, **more):
    """The model of n links that bend in two planes, their axes in turn."""
    axes = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0))
    body = fa.Beam(length=0.5, mass=0.1, EI=1.0, modes={"y": 2, "z": 2}, **more)
    links = [fa.Link(name=f"link{i}", joint=fa.Revolute(axis=axes[i % 2]), body=body) for i in range(n)]
    return fa.Model(fa.Arm(name="long", links=links))
