"""Trees of rigid links at random, on a base that is fixed or free, and how Pinocchio describes them.

arm = rigid_tree(7, free=True)
q, qd, u = tree_state(arm, 7)
"""

import numpy as np
from oracle import tensor
from random_arms import numbers, random_arm, random_inertia, random_payload, random_pose, unit

import flexarm as fa


def rigid_tree(seed, free, gravity=True):
    """Four to seven links, their order in the list no order of the tree, each on its parent's tip, a station or a pose.

    A free base has three thrusters, two of forces and one of a torque.
    """
    rng = np.random.default_rng([seed, 3072])
    drawn = random_arm(seed, rigid=True, links=int(rng.integers(4, 8)), payload=False, gravity=gravity)
    links = []
    for i, link in enumerate(drawn.links):
        parent = int(rng.integers(-1, i)) if i else -1
        at = (1.0, float(rng.uniform(0.1, 0.9)), random_pose(rng, planar=False))[rng.integers(3)]
        place = {"parent": "base"} if parent < 0 else {"parent": drawn.links[parent].name, "at": at}
        load = {"payload": random_payload(rng, planar=False)} if rng.random() < 0.4 else {}
        links.append(link.replace(**place, **load))
    rng.shuffle(links)
    base = None
    if free:
        mass = float(rng.uniform(1, 6))
        base = fa.FreeBase(
            mass=mass,
            com=numbers(rng.uniform(-0.2, 0.2, 3)),
            inertia=random_inertia(rng, mass, planar=False),
            thrusters=[
                fa.Thruster(name="left", direction=numbers(unit(rng)), at=numbers(rng.uniform(-1, 1, 3))),
                fa.Thruster(name="right", direction=numbers(unit(rng))),
                fa.Thruster(name="coil", direction=numbers(unit(rng)), kind="torque"),
            ],
        )
    return fa.Arm(name=f"tree {seed}", links=links, base=base, gravity=drawn.gravity, tip=links[0].name)


def tree_state(arm, seed):
    """q, qd, u in general position, the quaternion any of length one."""
    return general_state(arm, [seed, 5120], (0.4, 1.3), 2.0)


def general_state(arm, seeds, sizes, effort):
    """q and qd of such sizes, u within an effort; the quaternions any of length one."""
    rng = np.random.default_rng(seeds)
    q = rng.uniform(*sizes, len(arm.coordinates)) * rng.choice([-1, 1], len(arm.coordinates))
    for place, _ in arm.quaternions:
        q[place] /= np.linalg.norm(q[place])
    qd = rng.uniform(*sizes, len(arm.velocities)) * rng.choice([-1, 1], len(arm.velocities))
    return q, qd, rng.uniform(-effort, effort, len(arm.inputs))


def rigid_parts(link, payload):
    """(mass, centre of mass, inertia about it) of what a link is made of, in its base frame."""
    body = link.body
    com = np.array([body.length / 2, 0, 0] if body.com is None else body.com)
    rod = np.diag([0, 1, 1]) * body.mass * body.length**2 / 12
    parts = [(body.mass, com, rod if body.inertia is None else tensor(body.inertia))]
    parts.append((link.hub_mass, np.zeros(3), tensor(link.hub_inertia)))
    if payload is not None:
        parts.append((payload.mass, np.array([body.length, 0, 0]), tensor(payload.inertia)))
    return parts


def homogeneous(place, parent):
    """(4, 4): where a joint frame stands on its parent, from `at` and `placement` of its link (its parent's body)."""
    on, at = place.at, np.eye(4)
    if isinstance(on, fa.Pose):
        at[:3, :3], at[:3, 3] = on.rotation, on.xyz
    elif parent is not None:
        at[0, 3] = on * parent.length
    own = np.eye(4)
    own[:3, :3], own[:3, 3] = place.placement.rotation, place.placement.xyz
    return at @ own


def passive(arm):
    """Along qd, (nv,) each: the rotors' inertias seen from the joints, and the dampers of the joints."""
    rotors, dampers = np.zeros(len(arm.velocities)), np.zeros(len(arm.velocities))
    moving = [link.joint for link in arm.links if link.joint.type != "fixed"]
    first = 6 if arm.free else 0
    rotors[first:] = [joint.gear_ratio**2 * joint.rotor_inertia for joint in moving]
    dampers[first:] = [joint.damping for joint in moving]
    return rotors, dampers


def applied(arm, u):
    """Generalized force along qd, (nv,), of joints' inputs and thrusters."""
    if not arm.free:
        return u
    force, count = np.zeros(len(arm.velocities)), len(arm.velocities) - 6
    force[6:] = u[:count]
    for thruster, size in zip(arm.base.thrusters, u[count:], strict=True):
        along = size * np.array(thruster.direction)
        if thruster.kind == "torque":
            force[3:6] += along
        else:
            force[:3] += along
            force[3:6] += np.cross(thruster.at, along)
    return force


def _depth_first(parents, at=-1):
    """Positions of links, each right behind its parent or a whole branch of that."""
    return [j for i, parent in enumerate(parents) if parent == at for j in (i, *_depth_first(parents, i))]


class Pinocchio:
    """The tree in Pinocchio, asked and answering in the package's order of coordinates."""

    def __init__(self, pin, arm):
        self.pin, self.arm = pin, arm
        self.model = model = pin.Model()
        model.gravity.linear = np.array(arm.gravity)
        root = 0
        if arm.free:
            root = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
            inertia = pin.Inertia(arm.base.mass, np.array(arm.base.com), tensor(arm.base.inertia))
            model.appendBodyToJoint(root, inertia, pin.SE3.Identity())
        parents, payloads = arm.parents, arm.payloads
        self.places = {-1: (root, pin.SE3.Identity())}
        for i in _depth_first(parents):  # its crba takes a joint's descendants to stand right behind it
            link, parent = arm.links[i], parents[i]
            joint, on = self.places[parent]
            here = on * pin.SE3(homogeneous(link, arm.links[parent].body if parent >= 0 else None))
            if link.joint.type != "fixed":
                kind = pin.JointModelRevoluteUnaligned
                if link.joint.type == "prismatic":
                    kind = pin.JointModelPrismaticUnaligned
                joint, here = (
                    model.addJoint(joint, kind(np.array(link.joint.axis)), here, link.name),
                    pin.SE3.Identity(),
                )
            for mass, com, inertia in rigid_parts(link, payloads[i]):
                model.appendBodyToJoint(joint, pin.Inertia(mass, com, inertia), here)
            self.places[i] = joint, here
        moving = [self.places[i][0] for i, link in enumerate(arm.links) if link.joint.type != "fixed"]
        self.v = [*range(6 if arm.free else 0), *(model.joints[joint].idx_v for joint in moving)]
        self.q = [0, 1, 2, 6, 3, 4, 5] if arm.free else []  # theirs has the quaternion's real part last
        self.q += [model.joints[joint].idx_q for joint in moving]
        rotors, self.dampers = passive(arm)
        armature = np.zeros(model.nv)
        armature[self.v] = rotors
        model.armature = armature
        self.data = model.createData()

    def theirs(self, q, *rates):
        """q and vectors along qd in their order."""
        found = [np.zeros(self.model.nq), *(np.zeros(self.model.nv) for _ in rates)]
        found[0][self.q] = q
        for x, y in zip(found[1:], rates, strict=True):
            x[self.v] = y
        return found

    def mass_matrix(self, q):
        M = self.pin.crba(self.model, self.data, *self.theirs(q))
        return (np.triu(M) + np.triu(M, 1).T)[np.ix_(self.v, self.v)]

    def weight(self, q):
        return self.pin.computeGeneralizedGravity(self.model, self.data, *self.theirs(q))[self.v].copy()

    def bias(self, q, qd):
        both = self.pin.nonLinearEffects(self.model, self.data, *self.theirs(q, qd))[self.v].copy()
        return both - self.weight(q)

    def inverse_dynamics(self, q, qd, qdd):
        """With the joints' dampers, as the package has it."""
        return self.pin.rnea(self.model, self.data, *self.theirs(q, qd, qdd))[self.v] + self.dampers * qd

    def forward_dynamics(self, q, qd, u):
        force = applied(self.arm, u) - self.dampers * qd
        return self.pin.aba(self.model, self.data, *self.theirs(q, qd, force))[self.v].copy()

    def frames(self, q):
        """(links + 1, 4, 4): base frames of the links, and the arm's tip."""
        self.pin.forwardKinematics(self.model, self.data, *self.theirs(q))
        found = [self.data.oMi[joint] * here for joint, here in (self.places[i] for i in range(len(self.arm.links)))]
        end = self.arm.tip_link
        length = self.pin.SE3(np.eye(3), np.array([self.arm.links[end].body.length, 0, 0]))
        return np.array([x.homogeneous for x in [*found, found[end] * length]])

    def energy(self, q, qd):
        """Kinetic, with the rotors, and potential, zero where the centre of mass is at the world's origin."""
        return (
            0.5 * qd @ self.mass_matrix(q) @ qd,
            self.pin.computePotentialEnergy(self.model, self.data, *self.theirs(q)),
        )

    def momentum(self, q, qd):
        """Centre of mass [m], momentum [kg m/s], angular momentum about the centre of mass [kg m^2/s], of the links."""
        theirs = self.theirs(q, qd)
        total = self.pin.computeCentroidalMomentum(self.model, self.data, *theirs)
        return self.data.com[0].copy(), total.linear.copy(), total.angular.copy()
