"""Closed loops: conditions, reactions and motions, beside Lagrange's equations with multipliers and published ones."""

import numpy as np
import pytest
from loops import C, assembled, closing, four_bar, four_bars, gap_of, moving
from oracle import Lagrangian
from random_arms import random_state
from random_trees import random_tree

import flexarm as fa
from flexarm.analysis import factorization
from flexarm.model import closures
from flexarm_papers.published import ANGLES, SQUEEZED, squeezed

JOINTS = ("revolute", "ball", "fixed", "prismatic", "planar", "universal")
KINDS = {
    "rigid": {"rigid": True, "elastic": False},
    "flexible": {"elastic": False},
    "elastic": {"elastic": True, "rigid": True},
    "foreshortening": {"foreshortening": True},
    "telescope": {"telescope": True},
}


CHOSEN = (0, 1, 2, 5, 6, 11, 12, 16, 17, 23, 24, 28, 29)
"""Pairs of joints and kinds that have each joint, and each kind, on a fixed and a free base, with one loop and two."""
PAIRS = [(joint, kind) for joint in JOINTS for kind in KINDS]
CASES = [(seed, *PAIRS[seed]) for seed in CHOSEN]


@pytest.mark.parametrize(("seed", "joint", "kind"), CASES)
def test_random_loops_move_as_lagranges_equations_with_multipliers(seed, joint, kind):
    """Every second arm is on a free base. Every third arm has two loops, and its second loop ends on the base."""
    tree = random_tree(seed, links=4, free=seed % 2 == 1, **KINDS[kind])
    q, qd, u = random_state(tree, seed)
    arm = closing(tree, q, joint, seed, count=1 + (seed % 3 == 2))
    oracle, model = Lagrangian(arm), fa.Model(arm)
    qd = moving(arm, q, qd, oracle)
    away, rates = model.closure_gaps(q, qd)
    assert np.abs(away).max() < 1e-12 and np.abs(rates).max() < 1e-11 and (closures.facing(model, q) > 0).all()
    expected, size = oracle.closed_dynamics(q, qd, u), np.abs(oracle.forward_dynamics(q, qd, u)).max()
    for name in (
        "forward_dynamics",
        "forward_dynamics_dense",
    ):  # evaluated by CasADi; compiled code is checked against it
        found = np.array(model.fixed(name)(q, qd, u)).ravel()
        assert np.abs(found - expected).max() < 1e-9 * size


@pytest.mark.parametrize(("seed", "joint"), [*enumerate(JOINTS)])
def test_a_closure_has_the_conditions_of_its_joint_and_no_more(seed, joint):
    tree = random_tree(seed + 40, links=6, rigid=True, elastic=False, free=True)
    q, qd, _ = random_state(tree, seed)
    arm = closing(tree, q, joint, seed)
    J, other = closures.jacobian(fa.Model(arm), q), Lagrangian(arm).closures(q, qd)[1]
    count = {"revolute": 5, "ball": 3, "fixed": 6, "prismatic": 5, "planar": 3, "universal": 4}[joint]
    most = min(count, np.linalg.matrix_rank(other, 1e-9))
    assert len(J) == count and np.linalg.matrix_rank(J, 1e-9) == most
    assert np.linalg.matrix_rank(np.vstack([J, other]), 1e-9) == most  # the same motions


@pytest.mark.parametrize(("seed", "joint"), [*enumerate(JOINTS)])
def test_rates_of_gaps_are_their_slopes_in_time(seed, joint):
    """Also where the loop is open, as in an assembly."""
    tree = random_tree(seed + 80, links=4, elastic=False)
    q, qd, _ = random_state(tree, seed)
    arm = closing(tree, q, joint, seed, count=2)
    model, q, h = fa.Model(arm), q + 0.02 * qd, 1e-6
    _, rates = model.closure_gaps(q, qd)
    before, after = (model.closure_gaps(q + side * h * qd)[0] for side in (-1, 1))
    assert np.abs(rates).max() > 0.1
    assert rates == pytest.approx((after - before) / (2 * h), abs=1e-7 * np.abs(rates).max())


# -- a four-bar linkage ------------------------------------------------------------------------------------------------


METHODS = [("rk45", None), ("dop853", None), ("rk4", 1e-3), ("radau9", None), ("gauss8", None), ("auto", None)]


@pytest.mark.parametrize(("method", "step"), METHODS)
def test_every_method_keeps_the_loop_closed_and_the_energy(method, step):
    arm = four_bar()
    q, qd = assembled(arm)
    solver = fa.Solver(method=method, rtol=1e-9, atol=1e-9, step=step)
    run = fa.simulate(arm, 5.0, q0=q, qd0=qd, solver=solver, progress=False)
    gap, rate = gap_of(fa.Model(arm), run)
    assert gap < 1e-12 and rate < 1e-7
    assert run.attrs["energy_drift"] < 1e-7


def test_planar_loops_in_space_have_dependent_conditions():
    """Turned out of the coordinate planes, no entry of the conditions is zero by itself, but two are independent."""
    flat, tilted = four_bar(), four_bar(tilt=(0.3, -0.7, 1.1))
    q, qd = assembled(flat)
    assert np.linalg.matrix_rank(closures.jacobian(fa.Model(tilted), q), 1e-9) == 2
    u = [0.7, -0.2, 0.4]
    expected = fa.Model(flat).forward_dynamics(q, qd, u)
    found = fa.Model(tilted).forward_dynamics(q, qd, u)
    assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()
    runs = [fa.simulate(arm, 2.0, u=u, q0=q, qd0=qd, rtol=1e-10, progress=False) for arm in (flat, tilted)]
    assert np.abs(runs[0].q.values[-1] - runs[1].q.values[-1]).max() < 1e-7


def test_a_flexible_coupler():
    arm = four_bar(flexible=True)
    q, qd = assembled(arm)
    run = fa.simulate(arm, 2.0, q0=q, qd0=qd, rtol=1e-9, progress=False)
    assert gap_of(fa.Model(arm), run)[0] < 1e-11
    assert run.attrs["energy_drift"] < 1e-6
    assert np.abs(run.q.values[:, 3]).max() > 1e-4  # it bends


def test_batches_steppers_and_sampled_controllers_keep_it_closed():
    arm = four_bar()
    q, qd = assembled(arm)
    model, options = fa.Model(arm), {"rtol": 1e-10, "progress": False}
    alone = fa.simulate(model, 1.0, q0=q, qd0=qd, **options)
    both = fa.simulate_many(model, 1.0, q0=[q, q], qd0=[qd, 0 * qd], **options)
    assert np.array_equal(both.q.values[0], alone.q.values)
    for count in (1, 2):
        start = (q, qd) if count == 1 else ([q, q], [qd, qd])
        stepper = fa.Stepper(model, 0.01, q0=start[0], qd0=start[1], rtol=1e-10)
        for _ in range(100):
            x = stepper.step(np.zeros((count, 3)[2 - count :]))
        last = np.atleast_2d(x)[-1]
        assert np.abs(last[:3] - alone.q.values[-1]).max() < 1e-7
        assert np.abs(model.closure_gaps(last[:3], last[3:6])[0]).max() < 1e-12
    held = fa.control.Sampled(fa.control.JointPD([q[0], 0, 0], Kp=[50, 0, 0], Kd=[9, 0, 0]), 0.01)
    run = fa.simulate(model, 3.0, u=held, q0=q, qd0=qd, progress=False)
    assert gap_of(model, run)[0] < 1e-12


def test_reactions_are_those_of_a_free_body():
    """The pin's force moves the rocker as it says: alone, under gravity and this force at its tip."""
    arm = four_bar()
    q, qd = assembled(arm)
    model = fa.Model(arm)
    qdd = model.forward_dynamics(q, qd, np.zeros(3))
    ((x, y, *others),) = model.closure_reactions(q, qd, np.zeros(3))
    angle, rocker = q[0] + q[1], q[2]  # of the coupler, in whose frame the reactions are, and of the rocker
    force = np.array([x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle)])
    arm_of_force = C * np.array([np.cos(rocker), np.sin(rocker)])
    moment = arm_of_force[0] * force[1] - arm_of_force[1] * force[0] - 1.7 * 9.81 * C / 2 * np.cos(rocker)
    inertia = 1.7 * C**2 / 12 + 1.7 * (C / 2) ** 2
    assert moment == pytest.approx(inertia * qdd[2], rel=1e-10)
    assert not np.any(others)
    many = model.closure_reactions([[q, q]], [[qd, 0 * qd]], np.zeros(3))
    assert many.shape == (1, 2, 1, 6) and many[0, 0, 0, :2] == pytest.approx([x, y], rel=1e-12)


def test_gaps_of_many_states_and_at_other_parameters():
    arm = four_bar()
    q, qd = assembled(arm)
    model = fa.Model(arm, vary=["coupler.length"])
    many = [q, q + [0.1, 0.0, -0.2], q + [0.0, 0.3, 0.0]]
    gaps, rates = model.closure_gaps(many, [qd, 2.0 * qd, qd])
    assert gaps.shape == rates.shape == (3, 5)
    for each, rate, x, xd in zip(gaps, rates, many, (qd, 2.0 * qd, qd), strict=True):
        away, opening = model.closure_gaps(x, xd)
        assert each == pytest.approx(away, abs=1e-14) and rate == pytest.approx(opening, abs=1e-13)
    longer = fa.Model(model.arm_at({"coupler.length": 0.9}))
    assert model.closure_gaps(q, p=[0.9])[0] == pytest.approx(longer.closure_gaps(q)[0], abs=1e-14)
    assert np.abs(model.closure_gaps(q, p=[0.9])[0]).max() > 0.05


def test_reactions_at_another_parameter_are_those_of_the_other_arm():
    arm = four_bar()
    q, qd = assembled(arm)
    varied, u = fa.Model(arm, vary=["rocker.mass", "crank.damping"]), [0.7, 0.1, -0.3]
    names = [each.name for each in varied.parameters]
    p = {"rocker.mass": 2.9, "crank.damping": 0.4}
    found = varied.closure_reactions(q, qd, u, p=[p[name] for name in names])
    assert found == pytest.approx(fa.Model(varied.arm_at(p)).closure_reactions(q, qd, u), rel=1e-10)
    assert np.abs(found - varied.closure_reactions(q, qd, u)).max() > 0.1


def test_reactions_of_a_clamp_carry_the_weight():
    """A slide that falls and a rod hinged on it, clamped at the rod's tip, at rest: force and moment by statics."""
    m, n, length, g = 1.3, 2.1, 0.8, 9.81
    slide = fa.Link(name="slide", joint=fa.Prismatic(axis=(0, 1, 0)), body=fa.Rigid(length=0.1, mass=m))
    rod = fa.Link(name="rod", joint=fa.Revolute(), body=fa.Rigid(length=length, mass=n))
    clamp = fa.Closure(name="clamp", link="rod", joint="fixed", place=(0.1 + length, 0, 0))
    arm = fa.Arm(name="clamped", links=[slide, rod], closures=[clamp], gravity=(0, -g, 0))
    ((*force, mx, my, mz),) = fa.Model(arm).closure_reactions(*np.zeros((3, 2)))
    assert force == pytest.approx([0, -(m + n) * g, 0], abs=1e-9) and mx == my == 0
    assert mz == pytest.approx(n * g * length / 2 + m * g * length, rel=1e-9)


# -- linear models -----------------------------------------------------------------------------------------------------


def test_linear_model_and_modes_are_those_of_small_motions():
    arm = four_bar()
    damped = arm.replace(links=[link.replace(joint=fa.Revolute(damping=0.5)) for link in arm.links])
    q, _ = assembled(arm)
    rest = fa.simulate(damped, 60.0, q0=q, progress=False).q.values[-1]
    rest = fa.assemble(arm, rest)
    model = fa.Model(arm)
    system = model.linearize(rest)
    assert system.nstates == 2 and system.state_labels == ["crank_joint", "crank_joint_rate"]
    (omega,) = model.frequencies(rest, locked=False)
    poles = np.linalg.eigvals(system.A)
    assert np.abs(poles).max() == pytest.approx(omega, rel=1e-9) and np.abs(poles.real).max() < 1e-7 * omega
    start = fa.assemble(arm, rest + [1e-4, 0, 0])
    run = fa.simulate(model, 2 * np.pi / omega, q0=start, rtol=1e-11, progress=False)
    assert np.abs(run.q.values[-1] - start).max() < 1e-6 * np.abs(start - rest).max() + 1e-8


def test_slopes_along_a_motion_keep_the_loop():
    """A state near one that moves, as the linear model sees it, against two runs."""
    arm = four_bar()
    q, qd = assembled(arm)
    model = fa.Model(arm)
    u = np.array([0.4, 0, 0])
    system = model.linearize(q, qd, u)
    h, slopes = 1e-5, []
    for x in np.eye(2):
        found = []
        for side in (-1, 1):
            other, rates = fa.assemble(arm, q, qd)
            for _ in range(8):  # the independent coordinate and rate are set, the others follow
                J = closures.jacobian(model, other)
                other[1:] -= np.linalg.lstsq(J[:, 1:], closures.gaps(model, other), rcond=1e-9)[0]
                other[0] = q[0] + side * h * x[0]
                rates[0] = qd[0] + side * h * x[1]
                rates[1:] = -np.linalg.lstsq(J[:, 1:], J[:, 0] * rates[0], rcond=1e-9)[0]
            found.append(model.forward_dynamics(other, rates, u)[0])
        slopes.append((found[1] - found[0]) / (2 * h))
    assert system.A[1] == pytest.approx(slopes, rel=1e-5)


# -- published ---------------------------------------------------------------------------------------------------------


def test_andrews_squeezer():
    """The seven bodies of Andrews' mechanism at 0.03 s (Mazzia & Magherini, Test set for IVP solvers)."""
    arm, run = squeezed()
    found, published = run.q.values[-1][ANGLES], np.array(SQUEEZED, dtype=float)
    assert np.abs(found - published).max() < 2e-9  # 1.4e-9 of an angle of 15.8
    assert np.abs(found / published - 1).max() < 2e-9
    assert gap_of(fa.Model(arm), run)[0] < 1e-12


# -- larger mechanisms -------------------------------------------------------------------------------------------------


def test_a_chain_of_four_bars_passes_flat_positions_as_one_pendulum_does():
    """Its rods stay parallel, so it has one freedom: a pendulum with the energy of all rods."""
    count = 3
    arm = four_bars(count)
    model = fa.Model(arm)
    qd = np.array([-1.0 if name.startswith("c") else 1.0 for name in arm.velocities])
    run = fa.simulate(model, 8.0, qd0=qd, q0=0 * qd, rtol=1e-10, progress=False)
    assert gap_of(model, run)[0] < 1e-12 and run.attrs["energy_drift"] < 1e-9
    q = run.q.values
    cranks, couplers = (q[:, [name.startswith(k) for name in arm.velocities]] for k in "ck")
    assert np.abs(cranks - cranks[:, :1]).max() < 1e-9 and np.abs(couplers + cranks[:, :1]).max() < 1e-9
    assert np.ptp(q[:, 0]) > 4 * np.pi  # through the flat positions, several times
    inertia, pull = (count + 1) / 3 + count, 9.81 * ((count + 1) / 2 + count)  # of cranks, and of couplers as points
    expected = 0.5 * inertia + pull * (1 - np.cos(q[:, 0]))
    assert 0.5 * inertia * run.qd.values[:, 0] ** 2 == pytest.approx(expected, rel=1e-8)


def test_a_run_that_stops_at_a_flat_position_names_it():
    arm = four_bars(3)
    rates = np.array([-1.0 if name.startswith("c") else 1.0 for name in arm.velocities])
    with pytest.raises(fa.SimulationError, match=r"stopped at t = .*closures lose rank \(from 6 to 5; ratio of sing"):
        fa.simulate(arm, 8.0, qd0=rates, q0=0 * rates, rtol=1e-11, progress=False)


def test_operations_grow_in_proportion_to_the_loops():
    counts = [fa.Model(four_bars(n)).function("state_rate").n_instructions() for n in (2, 4, 6)]
    assert counts[2] - counts[1] == pytest.approx(counts[1] - counts[0], rel=0.02)


def test_bricards_mechanism_moves_although_it_has_no_freedom_by_count():
    """Five rods and six axes: the five conditions of the last joint have rank four where the loop is closed."""
    steps = [(1, 0, 0), (0, -1, 0), (0, 0, 1), (-1, 0, 0), (0, 1, 0)]
    axes = [(0, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0)]
    links = []
    for i, (step, axis) in enumerate(zip(steps, axes, strict=False)):
        inertia = (np.eye(3) - np.diag(np.abs(step))) / 12 + 1e-9 * np.eye(3)
        body = fa.Rigid(length=1.0, mass=1.0, com=[x / 2 for x in step], inertia=inertia.tolist())
        at = {"at": fa.Pose(xyz=steps[i - 1])} if i else {}
        parent = f"r{i - 1}" if i else "base"
        links.append(fa.Link(name=f"r{i}", parent=parent, joint=fa.Revolute(axis=axis), body=body, **at))
    place = [float(x) for x in np.sum(steps, axis=0)]
    last = fa.Closure(name="last", link="r4", at=steps[4], place=place, axis=axes[5])
    arm = fa.Arm(name="bricard", links=links, gravity=(0, -9.81, 0), closures=[last])
    model = fa.Model(arm)
    assert np.linalg.matrix_rank(closures.jacobian(model, np.zeros(5)), 1e-9) == 4
    runs = [fa.simulate(model, 10.0, q0=np.zeros(5), rtol=rtol, progress=False) for rtol in (1e-9, 1e-11)]
    assert gap_of(model, runs[0])[0] < 1e-12 and np.abs(runs[0].q.values).max() > 1.0
    assert runs[0].attrs["energy_drift"] < 1e-8
    assert np.abs(runs[0].q.values - runs[1].q.values).max() < 1e-7


def test_two_arms_on_a_satellite_hold_one_load():
    """Canadarms with six flexible links on a free base: momentum is kept, and one arm pulls on the other."""
    one, links = fa.load("canadarm"), []
    for side, y in (("left", 1.5), ("right", -1.5)):
        for i, link in enumerate(one.links):
            parent = f"{side}-{one.links[i - 1].name}" if i else "base"
            more = {} if i else {"placement": fa.Pose(xyz=(0, y, 0))}
            links.append(link.replace(name=f"{side}-{link.name}", parent=parent, **more))
    across = fa.Pose(rpy=(0, 0, -np.pi / 2))
    body = fa.Rigid(length=3.0, mass=500.0)
    links.append(fa.Link(name="load", parent="left-hand", joint=fa.Fixed(), body=body, placement=across))
    base = fa.FreeBase(mass=9e4, inertia=(1e6, 1e6, 1e6))
    grapple = fa.Closure(name="grapple", link="load", to="right-hand")
    arm = one.replace(name="dual", links=links, tip="load", base=base, closures=[grapple])
    guess = np.array(arm.rest)
    for name, angle in (("upper", 0.5), ("fore", -1.0), ("hand", 0.5)):
        for side in ("left", "right"):
            guess[arm.coordinates.index(f"{side}-{name}.joint")] = angle
    q, u = fa.assemble(arm, guess), [20.0, 5.0, 0.0, -20.0, 0.0, 0.0]
    model = fa.Model(arm)
    run = fa.simulate(model, 5.0, u=u, q0=q, rtol=1e-7, progress=False)
    assert gap_of(model, run)[0] < 1e-12
    for name in ("energy_drift", "momentum_drift", "angular_momentum_drift"):
        assert abs(run.attrs[name]) < 1e-6
    force = model.closure_reactions(run.q.values[-1], run.qd.values[-1], u)[0]
    assert np.linalg.norm(force[:2]) > 1.0 and not force[2:].any()


# -- starts, and what is refused ---------------------------------------------------------------------------------------


def test_starts_that_do_not_fit_are_refused_with_the_gap():
    arm = four_bar()
    q, qd = assembled(arm)
    for run in (lambda **s: fa.simulate(arm, 1.0, **s), lambda **s: fa.Stepper(arm, 0.01, **s)):
        with pytest.raises(fa.DescriptionError, match=r"q0 does not .*gap is 0\.288 at closure 'pin'.*fa\.assemble"):
            run(q0=[0.9, 0.0, 1.5])
        with pytest.raises(fa.DescriptionError, match=r"qd0 does not .*opens with .* at closure 'pin'"):
            run(q0=q, qd0=[1.0, 0.0, 0.0])
    with pytest.raises(fa.DescriptionError, match="q0 does not satisfy"):
        fa.simulate_many(arm, 1.0, q0=[q, q + 0.1], progress=False)
    run = fa.simulate(arm, 0.1, progress=False)  # a start is found, although all bars are in line at rest
    assert np.abs(closures.gaps(fa.Model(arm), run.q.values[0])).max() < 1e-12


@pytest.mark.parametrize("joint", ["fixed", "prismatic"])
def test_frames_that_are_equal_only_after_a_turn_about_the_diagonal_are_refused(joint):
    """At 120 degrees each axis lies along the next one, and all conditions on products of the axes hold."""
    top = fa.Link(name="top", joint=fa.Revolute(axis=(3**-0.5,) * 3), body=fa.Rigid(length=0.3, mass=1.2))
    seat = fa.Closure(name="seat", link="top", at=(0, 0, 0), joint=joint)
    arm = fa.Arm(name="turned", links=[top], closures=[seat])
    assert np.abs(fa.Model(arm).closure_gaps([2 * np.pi / 3])[0]).max() < 1e-12
    with pytest.raises(fa.DescriptionError, match="the axes of a closure are opposite"):
        fa.simulate(arm, 1.0, q0=[2 * np.pi / 3])
    assert fa.assemble(arm, [0.2]) == pytest.approx([0.0], abs=1e-9)


def test_a_loop_that_cannot_be_closed():
    short = four_bar()
    short = short.replace(links=[*short.links[:2], short.links[2].replace(placement=fa.Pose(xyz=(5.0, 0, 0)))])
    with pytest.raises(fa.DescriptionError, match=r"assemble: a gap of 3\.4 at closure 'pin' is left"):
        fa.assemble(short)
    assert fa.assemble(short.replace(closures=[]), [1.0, 2.0, 3.0]).tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"link": "cranc"}, r"closures\[0\]\.link is 'cranc'; did you mean 'crank'"),
        ({"to": "rocket"}, r"closures\[0\]\.to is 'rocket'"),
        ({"name": "crank"}, r"closures\[0\]\.name is 'crank', which is already in use"),
        ({"to": "coupler"}, r"to is 'coupler', the link itself"),
        ({"to": "base", "place": 0.5}, r"place is 0\.5; the base has no length"),
        ({"joint": "universal"}, r"axis_to is missing"),
        ({"joint": "ball", "axis_to": (0, 0, 1)}, r"axis_to is given for joint = 'ball', which has no axis"),
        ({"joint": "hinge"}, r"joint is 'hinge'"),
        ({"at": 1.5}, r"at is 1\.5; it must be from 0 to 1, or a position"),
        ({"axis": (1, 1, 0)}, r"axis is .*unit vector"),
    ],
)
def test_wrong_descriptions_are_refused_in_one_line(fields, message):
    given = {"name": "pin", "link": "coupler", "to": "rocker"} | fields
    with pytest.raises(fa.DescriptionError, match=message) as error:
        four_bar().replace(closures=[given])
    assert "\n" not in str(error.value)


def test_what_does_not_support_closures_says_so(tmp_path):
    arm = four_bar()
    model, (q, _) = fa.Model(arm), assembled(arm)
    refused = {
        "export_exudyn": lambda: fa.export_exudyn(model, tmp_path / "a.py"),
        "optimal_motion": lambda: fa.optimal_motion(model, q, q + 0.1),
        "udu": lambda: factorization.udu(model, q),
    }
    for what, call in refused.items():
        with pytest.raises(fa.DescriptionError, match=rf"{what} does not support closures yet: the arm has 'pin'"):
            call()
    with pytest.raises(fa.DescriptionError, match="has closures"):
        fa.play(arm, tmp_path / "page.html", show=False)


def test_toml_says_the_same(tmp_path):
    arm = four_bar()
    assert fa.load(arm.save(tmp_path / "four-bar.toml")) == arm
    text = (tmp_path / "four-bar.toml").read_text()
    assert 'to = "rocker"' in text


def test_an_arm_without_closures_costs_no_operation_more():
    tree = four_bar().replace(closures=[])
    for name in ("forward_dynamics", "state_rate", "state_residual"):
        function = fa.Model(tree).function(name)
        assert function.n_instructions() < fa.Model(four_bar()).function(name).n_instructions()
