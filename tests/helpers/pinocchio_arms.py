"""Arms of rigid links as Pinocchio describes them."""

import numpy as np
from oracle import tensor


def pinocchio_arm(pin, arm):
    """The model, the pose of the tip in the last joint and the rotors' inertias of an arm of rigid links."""
    model = pin.Model()
    model.gravity.linear = np.array(arm.gravity)
    parent, tip, rotors = 0, pin.SE3.Identity(), []

    for link in arm.links:
        joint, body = link.joint, link.body
        placement = pin.SE3(pin.rpy.rpyToMatrix(*link.placement.rpy), np.array(link.placement.xyz))
        base = tip * placement
        if joint.type != "fixed":
            kind = pin.JointModelRevoluteUnaligned if joint.type == "revolute" else pin.JointModelPrismaticUnaligned
            parent = model.addJoint(parent, kind(np.array(joint.axis)), base, link.name)
            base = pin.SE3.Identity()
            rotors.append(joint.gear_ratio**2 * joint.rotor_inertia)
        com = np.array([body.length / 2, 0, 0] if body.com is None else body.com)
        rod = np.diag([0, 1, 1]) * body.mass * body.length**2 / 12
        I = rod if body.inertia is None else tensor(body.inertia)
        model.appendBodyToJoint(parent, pin.Inertia(body.mass, com, I), base)
        model.appendBodyToJoint(parent, pin.Inertia(link.hub_mass, np.zeros(3), tensor(link.hub_inertia)), base)
        tip = base * pin.SE3(np.eye(3), np.array([body.length, 0, 0]))
    if arm.payload is not None:
        model.appendBodyToJoint(parent, pin.Inertia(arm.payload.mass, np.zeros(3), tensor(arm.payload.inertia)), tip)
    return model, tip, np.array(rotors)


def symmetric(upper):
    """The matrix whose upper triangle is given (older Pinocchio fills nothing else)."""
    return np.triu(upper) + np.triu(upper, 1).T
