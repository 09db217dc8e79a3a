"""Disturbances: at drives and anywhere, on top of whatever moves an arm."""

import numpy as np
import pytest
from random_arms import random_arm

import flexarm as fa
from flexarm.control import DesignedFor, JointPD, OnLinks, Sampled
from flexarm.simulation.law import Law

RUN = {"rtol": 1e-11, "solver": fa.Solver(atol=1e-13), "samples": 21, "progress": False, "method": "dop853"}
SAME = 1e-9
GUST = fa.Piecewise([0.05, 0.13], [[0.4], [-0.2]])


@pytest.fixture(scope="module")
def model():
    return fa.Model(fa.load("subudhi-morris-elastic"))


def equal(a, b, names=("q", "qd", "work", "kinetic"), rel=SAME):
    for name in names:
        x, y = a[name].values, b[name].values
        assert np.abs(x - y).max() <= rel * max(1.0, np.abs(y).max()), name


@pytest.mark.parametrize("options", [{}, {"elastic": True}, {"telescope": True}, {"rigid": True}])
def test_at_the_drives_it_is_what_the_input_would_have_given(options):
    """d beside u moves the arm as u + d does, and both supply the same together: at motors, hubs, slides."""
    arm = random_arm(3, **options)
    model, rng = fa.Model(arm), np.random.default_rng(3)
    u, d = rng.normal(size=(2, len(model.inputs)))
    found = fa.simulate(model, 0.2, u=u, disturbance=d, **RUN)
    equal(found, fa.simulate(model, 0.2, u=u + d, **RUN), ("q", "qd", "work", "power"))
    assert found.u.values[5].tolist() == u.tolist()
    links = [arm.links[arm.layout[i].link] for i in arm.joints]
    assert found.exogenous.values.tolist() == [f"{link.name}.drive" for link in links]
    assert found.exogenous_unit.values.tolist() == ["N m" if link.joint.turns else "N" for link in links]
    assert found.energy_drift < 1e-9


def test_coupled_joints_are_pushed_as_their_actuators_push():
    links = [fa.Link(name=x, joint=fa.Revolute(damping=0.2), body=fa.Rigid(length=0.5, mass=1.0)) for x in "ab"]
    coupling = fa.Coupling(links=("a", "b"), matrix=[[1.0, 0.0], [1.0, 1.0]])
    model = fa.Model(fa.Arm(name="coupled", links=links, couplings=[coupling]))
    found = fa.simulate(model, 0.3, u=[0.1, 0.2], disturbance={"b.drive": 0.5}, **RUN)
    equal(found, fa.simulate(model, 0.3, u=[0.1, 0.7], **RUN), ("q", "qd", "work"))


def test_one_number_is_that_of_every_drive_and_inputs_go_by_their_names_too(model):
    one = fa.simulate(model, 0.1, disturbance=0.3, **RUN)
    for other in ([0.3, 0.3], {"upper.drive": 0.3, "fore.motor": [0.3]}, lambda t, q, qd: [0.3, 0.3]):
        equal(fa.simulate(model, 0.1, disturbance=other, **RUN), one, rel=1e-12)


def test_it_comes_behind_the_limits_of_motor_and_controller():
    """A motor that gives 1 N m at most, told to give 5, and 3 N m of a disturbance: 4 N m turn the rod."""
    drive = fa.Drive(motor=fa.Motor(input="torque", torque_limit=1.0, saturation="sharp"))
    rod = fa.Link(name="rod", joint=fa.Revolute(drive=drive), body=fa.Rigid(length=1.0, mass=3.0))
    model = fa.Model(fa.Arm(name="limited", links=[rod]))
    found = fa.simulate(model, 1.0, u=[5.0], disturbance=[3.0], **RUN)
    assert found.q.values[-1, 0] == pytest.approx(0.5 * 4.0 / 1.0, rel=1e-9)  # m l^2 / 3 = 1
    assert found.work.values[-1] == pytest.approx(4.0 * found.q.values[-1, 0], rel=1e-9)
    plain = fa.Model(fa.Arm(name="rod", links=[rod.replace(joint=fa.Revolute())]))
    pushed = Sampled(lambda t, q, qd: [5.0], 0.1, limit=1.0)
    sampled = fa.simulate(plain, 1.0, u=pushed, disturbance=3.0, progress=False)
    assert sampled.q.values[-1, 0] == pytest.approx(2.0, rel=1e-9)


@pytest.mark.parametrize(
    ("key", "force", "value"),
    [
        ("tip.f", fa.Force(name="push", link="fore"), [0.3, -0.2, 0.0]),
        ("upper.mz", fa.Force(name="push", link="upper", kind="moment"), 0.1),
        (fa.Force(name="gust", link="upper", at=0.4, axes="link"), None, [0.0, 0.3, 0.0]),
    ],
)
def test_anywhere_it_is_the_force_that_an_arm_declares(model, key, force, value):
    force = key if force is None else force
    declared = fa.Model(model.arm.replace(forces=[force]))
    names = {"mz": f"{force.name}.mz", "f": f"{force.name}.f"}
    given = {names[key.partition(".")[2]] if isinstance(key, str) else force.name: value}
    found = fa.simulate(model, 0.2, u=[0.1, 0.0], disturbance={key: value}, **RUN)
    expected = fa.simulate(declared, 0.2, u=[0.1, 0.0], w=given, **RUN)
    equal(found, expected, ("q", "qd", "work", "power"), rel=1e-12)
    assert found.w.values[3].tolist() == expected.w.values[3].tolist()
    assert found.energy_drift < 1e-10
    assert fa.Model(fa.Arm.model_validate_json(found.attrs["arm"])).exogenous == tuple(found.exogenous.values)


def test_forces_and_moments_at_one_place_and_what_the_arm_declares_go_together(model):
    """Beside the arm's own force: each of three alone in a superposition of accelerations, which are linear in them."""
    arm = model.arm.replace(forces=[fa.Force(name="wind", link="upper")])
    own = fa.Model(arm)
    given = {"tip.fy": 0.2, "tip.mz": 0.1, "fore.drive": 0.05}
    found = fa.simulate(own, 1e-4, w={"wind.fy": 0.3}, disturbance=given, **RUN)
    expected = ("wind.fx", "wind.fy", "wind.fz", *(f"tip.{x}" for x in ("fx", "fy", "fz", "mx", "my", "mz")))
    assert found.exogenous.values.tolist() == [*expected, "fore.drive"]
    assert found.w.values[0].tolist() == [0, 0.3, 0, 0, 0.2, 0, 0, 0, 0.1, 0.05]
    runs = [fa.simulate(own, 1e-4, w={"wind.fy": 0.3}, **RUN)]
    runs += [fa.simulate(own, 1e-4, disturbance={name: value}, **RUN) for name, value in given.items()]
    total = sum(run.qd.values[-1] for run in runs)
    assert np.abs(found.qd.values[-1] - total).max() < 1e-4 * np.abs(total).max()
    whole = fa.simulate(own, 1e-4, w=[0.0, 0.3, 0.0], disturbance=given, **RUN)
    equal(whole, found, rel=1e-13)


def test_at_a_free_base_momentum_grows_by_the_impulse_and_drives_change_none():
    arm = fa.load("canadarm-free")
    model, more = fa.Model(arm), {"progress": False, "samples": 11, "rtol": 1e-10}
    link = arm.links[1].name
    pushed = fa.simulate(model, 2.0, disturbance={"base.fx": 30.0, "base.mz": 5.0}, **more)
    gained = pushed.momentum.values[-1] - pushed.momentum.values[0]
    assert np.abs(gained - [60.0, 0.0, 0.0]).max() < 1e-6
    assert pushed.attrs["momentum_changed_by"] == "forces"
    inside = fa.simulate(model, 2.0, disturbance={f"{link}.drive": 10.0}, **more)
    assert "momentum_changed_by" not in inside.attrs
    assert inside.attrs["momentum_drift"] < 1e-8


def test_a_prescribed_motion_stays_and_its_forces_bear_the_disturbance():
    arm = fa.load("subudhi-morris")
    model, slew = fa.Model(arm), fa.Quintic((0.0, 0.0), (0.5, 0.3), 0.4)
    free = fa.simulate(model, 0.4, u=fa.PrescribedMotion(slew), **RUN)
    found = fa.simulate(model, 0.4, u=fa.PrescribedMotion(slew), disturbance=[0.3, -0.2], **RUN)
    equal(found, free, ("q", "qd"), rel=1e-8)
    assert np.abs(found.u.values + [0.3, -0.2] - free.u.values).max() < 1e-7
    assert found.energy_drift < 1e-9


# -- with time, under controllers --------------------------------------------------------------------------------------


def swings(t):
    return 0.3 * np.sin(40.0 * t)


def test_under_sampled_control_it_acts_between_the_samples():
    """A rod held by nobody but a sampled law that gives zero: its angle is that of the integral of the torque, which
    changes many times a period; held from sample to sample it would not be seen at all."""
    rod = fa.Link(name="rod", joint=fa.Revolute(), body=fa.Rigid(length=1.0, mass=3.0))
    model, w = fa.Model(fa.Arm(name="rod", links=[rod])), 20.0 * np.pi
    nothing = Sampled(lambda t, q, qd: [0.0], 0.1)  # the period of the disturbance
    found = fa.simulate(model, 1.0, u=nothing, disturbance=lambda t: [np.sin(w * t)], samples=41, progress=False)
    assert found.method == "rk45" and found.steps > 200  # more than a step a period: the error of each sees the torque
    t = found.time.values
    assert np.abs(found.q.values[:, 0] - (t / w - np.sin(w * t) / w**2)).max() < 1e-6 * found.q.values.max()
    assert np.abs(found.qd.values[:, 0] - (1.0 - np.cos(w * t)) / w).max() < 1e-5 / w


def test_under_sampled_control_the_run_is_that_of_pieces_with_u_held(model):
    """From sample to sample by hand, each a run of its own under a constant u, with what the law said."""
    period, law = 1e-3, JointPD([0.2, 0.1], 2.0, 0.5)
    push = np.array([0.0026, 0.0075]), [[0.4], [-0.2]]
    disturbance = {"upper.drive": swings, "tip.fy": fa.Piecewise(*push)}
    found = fa.simulate(model, 0.01, u=Sampled(law, period), disturbance=disturbance, **RUN)
    assert found.u.values[1] != pytest.approx(found.u.values[3])
    q, qd = found.q.values[0], found.qd.values[0]
    for k in range(10):
        later = {
            "upper.drive": lambda t, at=k * period: swings(t + at),
            "tip.fy": fa.Piecewise(push[0] - k * period, push[1]),
        }
        piece = fa.simulate(model, period, u=found.u.values[2 * k], q0=q, qd0=qd, disturbance=later, **RUN)
        q, qd = piece.q.values[-1], piece.qd.values[-1]
        assert np.abs(q - found.q.values[2 * (k + 1)]).max() < 1e-11
        assert np.abs(qd - found.qd.values[2 * (k + 1)]).max() < 1e-9
    assert found.energy_drift < 1e-9


def test_values_of_every_kind_agree(model):
    class Law1:
        def law(self, model, period=None):
            from casadi import sin

            return Law(lambda t, q, qd, z: (0.3 * sin(40 * t), []))

    t = np.linspace(0.0, 0.2, 2001)
    function = fa.simulate(model, 0.2, disturbance={"tip.fy": swings}, **RUN)
    of_state = fa.simulate(model, 0.2, disturbance={"tip.fy": lambda t, q, qd: swings(t)}, **RUN)
    by_law = fa.simulate(model, 0.2, disturbance={"tip.fy": Law1()}, **RUN)
    table = fa.simulate(model, 0.2, disturbance={"tip.fy": fa.Table(t, swings(t))}, **RUN)
    equal(of_state, function, rel=1e-12)
    equal(by_law, function, rel=1e-10)
    equal(table, function, rel=1e-7)


def test_a_law_keeps_its_arm_and_a_disturbed_one_runs(model):
    """What is designed for the arm alone moves the disturbed one, through what stands around it too."""
    law = JointPD([0.2, 0.1], 2.0, 0.5)
    plain = fa.simulate(model, 0.1, u=law, disturbance=0.1, **RUN)
    equal(fa.simulate(model, 0.1, u=DesignedFor(law, model), disturbance=0.1, **RUN), plain, rel=1e-12)
    declared = fa.Model(model.arm.replace(forces=[fa.Force(name="upper", link="upper", kind="drive")]))
    one = OnLinks(JointPD([0.1], 2.0, 0.5), ["fore"])  # which holds the joint that is pushed
    a = fa.simulate(model, 0.1, u=one, disturbance={"upper.drive": 0.1}, **RUN)
    equal(a, fa.simulate(declared, 0.1, u=one, w=[0.1], **RUN), rel=1e-12)
    slew = fa.Quintic((0.0, 0.0), (0.5, 0.3), 0.4)
    rigid = fa.simulate(model, 0.1, u=fa.RigidInverseDynamics(slew), disturbance=0.1, **RUN)
    known = fa.simulate(model, 0.1, u=fa.RigidInverseDynamics(slew, arm=model.arm), disturbance=0.1, **RUN)
    equal(rigid, known, rel=1e-12)


def test_parameters_vary_under_a_disturbance():
    arm = fa.load("subudhi-morris")
    names, p = ["payload.mass"], {"payload.mass": 0.2}
    found = fa.simulate(fa.Model(arm, names), 0.1, p=p, disturbance={"tip.fy": 0.3}, **RUN)
    declared = fa.Model(arm.replace(forces=[fa.Force(name="tip", link="fore")]), names)
    equal(found, fa.simulate(declared, 0.1, p=p, w={"tip.fy": 0.3}, **RUN), rel=1e-12)
    nominal = fa.simulate(declared, 0.1, w={"tip.fy": 0.3}, **RUN)
    assert np.abs(found.q.values - nominal.q.values).max() > 1e-4


# -- many --------------------------------------------------------------------------------------------------------------


def test_many_runs_have_one_each_or_one_together(model):
    each = [{"tip.fy": 0.2}, None, {"upper.drive": GUST}]
    more = {**RUN, "samples": 6}
    found = fa.simulate_many(model, 0.1, u=[0.1, 0.0], disturbance=each, **more)
    assert found.exogenous.values.tolist() == ["tip.fx", "tip.fy", "tip.fz", "upper.drive"]
    for i, one in enumerate(each):
        alone = fa.simulate(model, 0.1, u=[0.1, 0.0], disturbance=one, **more)
        assert np.abs(found.q.values[i] - alone.q.values).max() < 1e-10
    rows = fa.simulate_many(model, 0.1, disturbance=np.array([[0.1, 0.0], [0.0, 0.2]]), **more)
    same = fa.simulate_many(model, 0.1, u=np.array([[0.1, 0.0], [0.0, 0.2]]), **more)
    assert np.abs(rows.q.values - same.q.values).max() < 1e-10
    one = fa.simulate_many(model, 0.1, disturbance=[0.1, 0.0], runs=2, **more)
    assert np.abs(one.q.values - rows.q.values[:1]).max() < 1e-10


def test_with_exogenous_inputs_many_runs_have_both():
    arm = fa.load("subudhi-morris")
    model = fa.Model(arm.replace(forces=[fa.Force(name="wind", link="upper")]))
    wind, drives, more = [{"wind.fy": 0.1}, {"wind.fy": 0.2}], [0.3, 0.0], {**RUN, "samples": 6}
    each = [{"upper.drive": x} for x in drives]
    found = fa.simulate_many(model, 0.1, w=wind, disturbance=each, **more)
    for i, (w, d) in enumerate(zip(wind, each, strict=True)):
        alone = fa.simulate(model, 0.1, w=w, disturbance=d, **more)
        assert np.abs(found.q.values[i] - alone.q.values).max() < 1e-10
    with pytest.raises(fa.DescriptionError, match="for different numbers of runs: w 2, disturbance 3"):
        fa.simulate_many(model, 0.1, w=wind, disturbance=[*each, None], **more)


def test_a_scenario_has_one(tmp_path):
    (tmp_path / "push.toml").write_text(
        'name = "pushed"\narm = "subudhi-morris"\nuntil = 0.1\nsamples = 6\n'
        '[disturbance]\n"upper.drive" = 0.2\n'
        'tip.fy = { type = "piecewise", times = [0.05], values = [[0.4]] }\n'
    )
    found = fa.load_scenario(tmp_path / "push.toml").run(progress=False)
    given = {"upper.drive": 0.2, "tip.fy": fa.Piecewise([0.05], [[0.4]])}
    expected = fa.simulate(fa.Model(fa.load("subudhi-morris")), 0.1, disturbance=given, samples=6, progress=False)
    equal(found, expected, rel=1e-13)
    (tmp_path / "push.toml").write_text('name = "p"\narm = "subudhi-morris"\nuntil = 0.1\n[disturbance]\n"tip" = 1.0\n')
    with pytest.raises(fa.DescriptionError, match=r"push.toml: disturbance: unknown place 'tip'"):
        fa.load_scenario(tmp_path / "push.toml")


# -- a plant one period on ---------------------------------------------------------------------------------------------


def moved(stepper, u):
    return np.array([stepper.step(each) for each in u])


@pytest.mark.parametrize("method", ["rk45", "dop853", "radau5", "gauss4"])
def test_a_stepper_is_disturbed_as_a_run_is(method, model):
    """A torque that swings within periods, and a force that jumps inside one and right where another begins."""
    period, count = 1e-3, 12
    u = 0.1 * np.random.default_rng(1).normal(size=(count, 2))
    given = {"upper.drive": swings, "tip.fy": fa.Piecewise([0.0026, 7 * period], [[0.4], [-0.2]])}
    held = fa.Piecewise(period * np.arange(count), u)
    run = fa.simulate(model, count * period, held, disturbance=given, **{**RUN, "samples": count + 1})
    stepper = fa.Stepper(model, period, method=method, rtol=1e-9, atol=1e-12, disturbance=given)
    found = moved(stepper, u)
    expected = np.hstack([run.q.values, run.qd.values])[1:]
    assert np.abs(found - expected).max() < 1e-6 * np.abs(expected).max()
    stepper.reset()
    assert np.array_equal(moved(stepper, u), found)
    assert np.abs(found - moved(fa.Stepper(model, period, method=method), u)).max() > 1e-2


def test_a_free_rod_turns_as_the_double_integral_of_what_disturbs_it():
    """Between two samples a whole swing of a sine, zero at each: the mean of its integral turns the rod."""
    rod = fa.Link(name="rod", joint=fa.Revolute(), body=fa.Rigid(length=1.0, mass=3.0))  # m l^2 / 3 = 1
    model, period = fa.Model(fa.Arm(name="rod", links=[rod])), 0.1
    omega = 2 * np.pi / period
    stepper = fa.Stepper(model, period, step=1e-3, disturbance=lambda t: np.sin(omega * t))
    for k in range(1, 4):
        q, qd = stepper.step([0.0])
        assert q == pytest.approx(k * period / omega, rel=1e-8)
        assert abs(qd) < 1e-10


def test_plants_have_a_disturbance_each_and_a_time_of_their_own(model):
    each = [{"tip.fy": GUST}, None, {"upper.drive": swings}]
    u = 0.1 * np.random.default_rng(2).normal(size=(160, 2))
    stepper = fa.Stepper(model, 1e-3, np.zeros((3, model.nq)), disturbance=each)
    together = moved(stepper, u)
    for i, one in enumerate(each):
        alone = moved(fa.Stepper(model, 1e-3, disturbance=one), u)
        assert np.abs(together[:, i] - alone).max() < 1e-9 * np.abs(alone).max()
    stepper.reset(where=[0])
    again = moved(stepper, u[:100])[:, 0]  # its gust comes again, that of the others does not
    assert np.abs(again - together[:100, 0]).max() < 1e-9


def test_what_never_changes_is_that_of_plants_abreast_and_beside_the_arms_own(model):
    own = fa.Model(model.arm.replace(base=fa.MovingBase(), forces=[fa.Force(name="wind", link="fore")]))
    declared = fa.Model(own.arm.replace(forces=[*own.arm.forces, fa.Force(name="upper", link="upper", kind="drive")]))
    w, u, q0 = {"wind.fy": 0.3, "base.ay": 0.5}, np.full((20, 2), 0.1), np.zeros((9, model.nq))
    expected = fa.Stepper(declared, 1e-3)
    steady = fa.Stepper(own, 1e-3, q0, disturbance=np.tile([0.2, 0.0], (9, 1)))
    moving = fa.Stepper(own, 1e-3, disturbance={"upper.drive": lambda t: 0.2})
    for each in u:
        x = expected.step(each, {**w, "upper.drive": 0.2})
        assert np.abs(steady.step(each, w) - x).max() < 1e-10
        assert np.abs(moving.step(each, w) - x).max() < 1e-10


def test_a_disturbed_stepper_is_copied_and_goes_on(model):
    import copy
    import pickle

    stepper = fa.Stepper(model, 1e-3, disturbance={"tip.fy": GUST})
    u = np.full((60, 2), 0.05)
    moved(stepper, u)
    others = [copy.deepcopy(stepper), pickle.loads(pickle.dumps(stepper))]
    found = moved(stepper, u)
    for other in others:
        assert np.array_equal(moved(other, u), found)


def test_what_a_stepper_refuses_of_a_disturbance(model):
    with pytest.raises(fa.DescriptionError, match=r"disturbance has 3 entries; give one for all plants, or 2"):
        fa.Stepper(model, 1e-3, np.zeros((2, model.nq)), disturbance=[0.1, None, 0.2 * np.ones(2)])
    with pytest.raises(fa.DescriptionError, match=r"disturbance: unknown place 'hand.fx'"):
        fa.Stepper(model, 1e-3, disturbance={"hand.fx": 1.0})
    stepper = fa.Stepper(model, 1e-3, disturbance=swings)
    with pytest.raises(fa.DescriptionError, match=r"u contains NaN or infinity"):
        stepper.step(np.array([np.nan, 0.0]))


@pytest.mark.parametrize("method", ["dop853", "radau5"])
def test_a_function_that_fails_leaves_the_plant_where_it_was(method, model):
    def failing(t):
        if 0.0015 < t < 0.0025 and trouble:
            raise ValueError(trouble.pop(0))
        return [0.1, 0.0]

    trouble = ["no wind", "no sun"]
    stepper = fa.Stepper(model, 1e-3, method=method, disturbance=failing)
    before = stepper.step([0.0, 0.0])
    with pytest.raises(ValueError, match="no wind"):
        stepper.step([0.0, 0.0])
    with pytest.raises(ValueError, match="no sun"):
        stepper.step([0.0, 0.0])
    assert np.array_equal(stepper.state, before)
    assert stepper.step([0.0, 0.0])[0] > before[0]

    wrong = fa.Stepper(model, 1e-3, method=method, disturbance=lambda t: [1.0] if t > 0.0012 else [0.0, 0.0])
    wrong.step([0.0, 0.0])
    with pytest.raises(fa.SimulationError, match=r"input <lambda> gave shape \(1,\) at t = 0.00\d+ s; it must give"):
        wrong.step([0.0, 0.0])
    assert wrong.failed
    assert wrong.time == 1e-3


# -- wrong input -------------------------------------------------------------------------------------------------------

PLACES = "upper.drive, fore.drive, tip.fx, upper.fx, fore.fx (fx to mz, or f and m for three)"


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"hand.fx": 1.0}, f"disturbance: unknown place 'hand.fx'; the arm has {PLACES}, or a Force of your own"),
        ({"base.fx": 1.0}, "disturbance: unknown place 'base.fx'"),
        ({"upper": 1.0}, "disturbance: unknown place 'upper'"),
        ({"upper.joint": 1.0}, "disturbance: unknown place 'upper.joint'"),
        (
            {"tip.q": 1.0},
            f"disturbance: unknown place 'tip.q'; did you mean 'tip.fx'? The arm has {PLACES}, or a Force of your own",
        ),
        ({3: 1.0}, "disturbance: unknown place 3"),
        ({"tip.fx": 1.0, "tip.f": [0, 0, 0]}, "disturbance: tip.fx is given twice, by 'tip.fx' and by 'tip.f'"),
        ({"upper.motor": 1.0, "upper.drive": 1.0}, "disturbance: upper.drive is given twice"),
        ({"tip.f": 1.0}, r"disturbance['tip.f'] has shape (); it must have 3 numbers: tip.fx, tip.fy, tip.fz"),
        ({"tip.fy": "much"}, "disturbance['tip.fy'] is not an array of numbers"),
        ({"tip.fy": np.nan}, "disturbance['tip.fy'] contains NaN or infinity"),
        ({"tip.fy": fa.Table([0, 1], [[0, 1], [0, 1]])}, "disturbance['tip.fy'] has 2 columns"),
        ({"tip.fy": lambda a, b: 0.0}, "disturbance['tip.fy'] is <lambda>, of 2 arguments"),
        ([1.0, 2.0, 3.0], "disturbance has shape (3,); it must have 2 numbers: upper.drive, fore.drive"),
        (fa.Piecewise([0.0], [[1.0]]), "disturbance has 1 column; it must have 2 numbers"),
        ("much", "disturbance is not an array of numbers"),
        (
            {fa.Force(name="tip", link="upper"): [0, 0, 0], "tip.mz": 1.0},
            "disturbance: two forces have the name 'tip'; give them different names",
        ),
        ({fa.Force(name="push", link="hand"): [0, 0, 0]}, "force 'push': link is 'hand'; the links are upper, fore"),
    ],
)
def test_what_has_no_place_is_refused_in_one_line(model, given, line):
    with pytest.raises(fa.DescriptionError) as caught:
        fa.simulate(model, 0.1, disturbance=given, progress=False)
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)


def test_what_the_arm_declares_is_given_by_w(model):
    own = fa.Model(model.arm.replace(forces=[fa.Force(name="tip", link="fore")]))
    with pytest.raises(fa.DescriptionError, match=r"'tip.fy' is an exogenous input of the arm; use w for it"):
        fa.simulate(own, 0.1, disturbance={"tip.fy": 1.0}, progress=False)
    fixed = fa.Link(name="pole", joint=fa.Fixed(), body=fa.Beam(length=1.0, mass=1.0, EI=5.0, modes={"y": 1}))
    pole = fa.Model(fa.Arm(name="pole", links=[fixed]))
    with pytest.raises(fa.DescriptionError, match="arm 'pole' has no drive; give the disturbance by names"):
        fa.simulate(pole, 0.1, disturbance=1.0, progress=False)
    assert fa.simulate(pole, 0.1, disturbance={"tip.fy": 1.0}, progress=False).energy_drift < 1e-6
    moved = fa.Model(model.arm.replace(base=fa.MovingBase(), forces=[fa.Force(name="push", link="fore")]))
    with pytest.raises(fa.DescriptionError, match="w: with a disturbance, give w by names"):
        fa.simulate(moved, 0.1, w=np.zeros(12), disturbance=0.1, progress=False)
    by_name = {"base.ay": 0.5, "push.fy": 0.1}
    found = fa.simulate(moved, 0.1, w=by_name, disturbance=0.1, **RUN)
    assert dict(zip(found.exogenous.values, found.w.values[0], strict=True))["base.ay"] == 0.5
    assert found.energy_drift < 1e-9


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        (
            {"at": 0.5},
            "force 'upper': kind is \"drive\", which has no point of application and no axes: leave out at and axes",
        ),
        ({"axes": "link"}, "force 'upper': kind is \"drive\", which has no point"),
        ({"link": "hand"}, "force 'upper': name is already in use"),
        (
            {"name": "wind", "link": "pole"},
            "force 'wind': link is 'pole', whose joint has no drive; links with a drive are upper",
        ),
    ],
)
def test_a_force_at_a_drive_has_no_station(fields, line):
    body = fa.Rigid(length=1.0, mass=1.0)
    links = [fa.Link(name="upper", joint=fa.Revolute(), body=body), fa.Link(name="pole", joint=fa.Fixed(), body=body)]
    with pytest.raises(fa.DescriptionError) as caught:
        fa.Arm(name="a", links=links, forces=[{"name": "upper", "link": "upper", "kind": "drive"} | fields])
    assert str(caught.value).startswith(line)
