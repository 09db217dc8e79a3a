"""Closed loops in robot files: accelerations beside MuJoCo's own constraints, and beside the same arms by hand."""

import mujoco as mj
import numpy as np
import pytest
from mjcf_mujoco import Theirs
from robot_files import refusal

import flexarm as fa

OTHERS = ("CONTACT", "LIMIT", "FRICTIONLOSS", "CLAMPCTRL")


class Closed(Theirs):
    """An MJCF file with MuJoCo's equality constraints made exact, by Lagrange's multipliers.

    Mass matrix, forces and the constraints' Jacobian J are MuJoCo's. The rate of J comes from differences of fourth
    order along the motion.
    """

    def __init__(self, text, report):
        super().__init__(mj.MjModel.from_xml_string(text), report)
        self.tied = mj.MjModel.from_xml_string(text)
        self.tied.opt.jacobian = mj.mjtJacobian.mjJAC_DENSE
        for flag in OTHERS:
            self.tied.opt.disableflags |= int(getattr(mj.mjtDisableBit, f"mjDSBL_{flag}"))
        self.ties = mj.MjData(self.tied)

    def constraint(self, q):
        """The gaps and their Jacobian, in the order of the arm's coordinates."""
        self.ties.qpos[self.places] = q[self.order]
        mj.mj_fwdPosition(self.tied, self.ties)
        J = self.ties.efc_J.reshape(-1, self.tied.nv)
        found = np.zeros_like(J)
        found[:, self.order] = J[:, self.rates]
        return self.ties.efc_pos.copy(), found

    def forward_dynamics(self, q, qd, u):
        free, h = super().forward_dynamics(q, qd, u), 1e-3
        M = np.zeros((self.model.nv, self.model.nv))
        mj.mj_fullM(self.model, self.data, M)
        place = np.ix_(self.order, self.order)
        inertia = np.zeros_like(M)
        inertia[place] = M[np.ix_(self.rates, self.rates)]
        gap, J = self.constraint(q)
        assert np.abs(gap).max() < 1e-9
        near = {k: self.constraint(q + k * h * qd)[1] for k in (-2, -1, 1, 2)}
        rate = (8 * (near[1] - near[-1]) - (near[2] - near[-2])) / (12 * h)
        A = np.linalg.solve(inertia, J.T)
        reactions = np.linalg.lstsq(J @ A, -(J @ free + rate @ qd), rcond=1e-9)[0]
        return free + A @ reactions


def compared(path, text, guess=None, seed=3):
    """The arm of an MJCF file, and the largest difference of its accelerations from MuJoCo's, relative to them."""
    path.write_text(text)
    report = fa.robot_report(path)
    arm, rng = report.arm, np.random.default_rng(seed)
    n = len(arm.coordinates)
    start = np.zeros(n) if guess is None else guess
    q, qd = fa.assemble(arm, start + rng.uniform(-0.02, 0.02, n), rng.uniform(-1.0, 1.0, n))
    assert np.abs(qd).max() > 0.05
    u = rng.uniform(-2.0, 2.0, n)
    expected = Closed(text, report).forward_dynamics(q, qd, u)
    found = np.array(fa.Model(arm).fixed("forward_dynamics")(q, qd, u)).ravel()
    return report, np.abs(found - expected).max() / np.abs(expected).max()


def mjcf(body, equality, more=""):
    return f"""<mujoco model="mechanism"><option gravity="0.3 -9.81 0.7"/><compiler angle="radian"/>{more}
      <worldbody>{body}</worldbody><equality>{equality}</equality></mujoco>"""


def rod(name, mass, length, inner="", joints=('axis="0 0 1"',), place=""):
    """A slender body along its x axis."""
    moment = mass * length**2 / 12
    hinges = "".join(f'<joint name="{name}_{i}" {joint}/>' for i, joint in enumerate(joints))
    return f"""<body name="{name}" {place}><inertial pos="{length / 2} 0.01 0" mass="{mass}"
      diaginertia="{0.1 * moment} {moment} {0.98 * moment}"/>{hinges}
      <site name="{name}_end" pos="{length} 0 0" euler="0.3 -0.2 0.5"/>{inner}</body>"""


def four_bar(crank='axis="0 0 1" damping="0.2" armature="0.03"', rocker='axis="0 0 1" pos="0.02 0 0" stiffness="3"'):
    coupler = rod("coupler", 2.3, 0.7, place='pos="0.3 0 0" euler="0 0 -0.7"')
    return rod("crank", 1.1, 0.3, coupler, [crank]) + rod(
        "rocker", 1.7, 0.6, joints=[rocker], place='pos="0.8 0 0" euler="0 0 1.9"'
    )


def five_bar():
    upper = [
        rod(f"{side}_upper", m, a, place=f'pos="{b} 0 0"')
        for side, m, a, b in [("left", 1.3, 0.4, 0.25), ("right", 1.2, 0.42, 0.27)]
    ]
    left = rod("left", 0.9, 0.25, upper[0], place='euler="0 0 1.9"')
    return left + rod("right", 0.8, 0.27, upper[1], place='pos="0.3 0 0"')


def delta():
    """A delta robot: three arms, three pairs of rods with two axes at their arm, and a platform that moves freely."""
    arms, sites, ties = "", "", ""
    for k in range(3):
        turn, rods = 2 * np.pi * k / 3, ""
        c, s = np.cos(turn), np.sin(turn)
        for side in (-1, 1):
            name, y = f"rod{k}{side}", 0.04 * side
            axes = ['axis="0 1 0"', 'axis="0 0 1"']
            rods += rod(name, 0.11, 0.5, joints=axes, place=f'pos="0.2 {y} 0" euler="0 1.9 0"')
            sites += f'<site name="corner{k}{side}" pos="{0.05 * c - y * s} {0.05 * s + y * c} 0"/>'
            ties += f'<connect site1="{name}_end" site2="corner{k}{side}"/>'
        arms += rod(f"arm{k}", 0.7, 0.2, rods, ['axis="0 1 0"'], f'pos="{0.13 * c} {0.13 * s} 0" euler="0 0 {turn}"')
    axes = [f'type="{kind}" axis="{axis}"' for kind in ("slide", "hinge") for axis in ("1 0 0", "0 1 0", "0 0 1")]
    joints = "".join(f'<joint name="platform_{i}" {joint}/>' for i, joint in enumerate(axes))
    inertia = '<inertial pos="0.01 0 0" mass="0.6" diaginertia="0.002 0.003 0.004"/>'
    return mjcf(f'{arms}<body name="platform" pos="0 0 -0.45">{inertia}{joints}{sites}</body>', ties)


def test_a_four_bar(tmp_path):
    tie = '<connect name="pin" body1="coupler" body2="rocker" anchor="0.7 0.02 0"/>'
    report, off = compared(tmp_path / "four.xml", mjcf(four_bar(), tie))
    assert off < 1e-9
    (pin,) = report.arm.closures
    assert (pin.name, pin.link, pin.to, pin.joint) == ("pin", "coupler", "rocker", "ball")
    gaps, _ = fa.Model(report.arm).closure_gaps(np.zeros(3))
    assert np.abs(gaps).max() < 1e-12  # MuJoCo closes it at rest


def test_a_five_bar(tmp_path):
    tie = '<connect site1="left_upper_end" site2="right_upper_end"/>'
    report, off = compared(tmp_path / "five.xml", mjcf(five_bar(), tie))
    assert off < 1e-9
    model = fa.Model(report.arm)
    assert np.abs(model.closure_gaps(np.zeros(4))[0]).max() > 0.1  # open at rest
    run = fa.simulate(model, until=0.3, progress=False)
    assert np.abs(model.closure_gaps(run.q.values[-1])[0]).max() < 1e-12


def test_a_delta_robot(tmp_path):
    report, off = compared(tmp_path / "delta.xml", delta())
    assert off < 1e-9 and len(report.arm.closures) == 6
