"""Arms of one or two joints for optimal motions, most of them linear, so that paper knows their best motions."""

import flexarm as fa

STILL = (0.0, 0.0, 0.0)


def cart(**joint):
    """A unit mass on a slide: qdd = u."""
    slides = fa.Prismatic(axis=(1, 0, 0), **joint)
    link = fa.Link(name="cart", joint=slides, body=fa.Rigid(length=0.1, mass=1.0))
    return fa.Model(fa.Arm(name="a mass", links=[link], gravity=STILL))


def two_masses():
    """Two unit masses and a spring of 1 N/m; the second is driven. q = (link, motor)."""
    joint = fa.Prismatic(axis=(1, 0, 0), stiffness=1.0, rotor_inertia=1.0)
    link = fa.Link(name="cart", joint=joint, body=fa.Rigid(length=0.1, mass=1.0))
    return fa.Model(fa.Arm(name="two masses", links=[link]))


def gantry():
    """Unit masses on two slides across each other; the first carries both."""
    links = [
        fa.Link(name=name, joint=fa.Prismatic(axis=axis), body=fa.Rigid(length=0.1, mass=1.0))
        for name, axis in (("x", (1, 0, 0)), ("y", (0, 1, 0)))
    ]
    return fa.Model(fa.Arm(name="gantry", links=links, gravity=STILL))


def lift():
    """A unit mass that is hoisted: qdd = u - 9.81."""
    link = fa.Link(name="lift", joint=fa.Prismatic(axis=(0, 0, 1)), body=fa.Rigid(length=0.1, mass=1.0))
    return fa.Model(fa.Arm(name="lift", links=[link], gravity=(0, 0, -9.81)))


def pendulum():
    """A rod of 1 kg and 1 m, level at zero, that hangs at pi / 2: to hold it level takes 9.81 / 2 N m."""
    rod = fa.Rigid(length=1.0, mass=1.0, inertia=0.1)
    link = fa.Link(name="rod", joint=fa.Revolute(axis=(0, 1, 0)), body=rod)
    return fa.Model(fa.Arm(name="pendulum", links=[link], gravity=(0, 0, -9.81)))


def slide(modes=1):
    """A beam across a slide: its inertia matrix does not depend on where it is, so its equations are linear."""
    body = fa.Beam(length=1.1, mass=0.3, EI=8.0, modes={"y": modes})
    link = fa.Link(name="beam", joint=fa.Prismatic(axis=(0, 1, 0), rotor_inertia=0.5), body=body)
    return fa.Model(fa.Arm(name="slide", links=[link], payload=fa.Payload(mass=0.1), gravity=STILL))


def turning(EI, modes=1):
    """A beam that a hub turns, with 0.1 kg at its tip."""
    body = fa.Beam(length=1.0, mass=0.3, EI=EI, modes={"y": modes})
    link = fa.Link(name="beam", joint=fa.Revolute(axis=(0, 0, 1), rotor_inertia=0.5), body=body)
    return fa.Arm(name="hub", links=[link], payload=fa.Payload(mass=0.1), gravity=STILL)


TURNED = 0.5 + 0.3 / 3 + 0.1
"""Moment of inertia of the turning arm where nothing bends [kg m^2]."""
