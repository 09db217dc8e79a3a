"""A mass that is thrown upwards and meets a stop, a wall or a cable just below the highest point of its flight."""

import flexarm as fa

G, STIFFNESS, TOP, MASS = 9.0, 1e5, 0.5, 1.7


def thrown(kind, vary=(), sharp=False):
    """The mass, with a contact of one of several kinds, or "nothing", at the height TOP."""
    drive, parts = fa.Drive(), {}
    if kind == "stop":
        drive = fa.Drive(stops=fa.Stops(upper=TOP, stiffness=STIFFNESS, sharp=sharp))
    elif kind in ("cable", "winch"):
        points = [fa.CablePoint(point=(-1.0, 0, 0)), fa.CablePoint(link="a", at=0.0)]
        winch = {"length": 0.98 + TOP, "input": "rate"} if kind == "winch" else {"length": 1.0 + TOP}
        parts = {"cables": [fa.Cable(name="c", points=points, stiffness=STIFFNESS, **winch)]}
    elif kind != "nothing":
        wall = {"point": (TOP + 0.02, 0, 0), "normal": (-1, 0, 0), "radius": 0.02, "stiffness": STIFFNESS}
        power = {"exponent": 1.5} if kind == "ball" else {}
        parts = {"contacts": [fa.Contact(name="w", link="a", at=0.0, damping=0.0, **wall, **power)]}
    body = fa.Rigid(length=0.2, mass=MASS, com=(0, 0, 0), inertia=0.1)
    link = fa.Link(name="a", joint=fa.Prismatic(axis=(1, 0, 0), drive=drive), body=body)
    return fa.Model(fa.Arm(name="thrown", gravity=(-G, 0, 0), links=[link], **parts), vary=vary)
