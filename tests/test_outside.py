"""Forces at stations, and exogenous inputs in whatever runs an arm."""

import casadi as ca
import numpy as np
import pytest
from compared import vector
from oracle import Lagrangian
from random_arms import random_arm, random_state
from scipy.integrate import simpson

import flexarm as fa
from flexarm.analysis import equilibrium
from flexarm.description.arm import Telescope
from flexarm.simulation.exogenous import as_exogenous
from flexarm.simulation.law import Law

ROUNDING = 1e-11  # relative, of some thousand operations on numbers that differ by a few orders
CASES = (
    {},
    {"elastic": True},
    {"telescope": True},
    {"foreshortening": True},
    {"foreshortening": True, "chord": True},
    {"tapered": True, "chord": True},
    {"telescope": True, "twisting": True},
    {"rigid": True},
)


@pytest.mark.parametrize(("seed", "options"), list(enumerate(CASES)))
def test_forces_do_the_virtual_work_of_their_stations_places(seed, options):
    """Every link has one, at the hub, somewhere or at the tip, of every kind, along both axes."""
    arm, rng = random_arm(seed, **options), np.random.default_rng(seed)
    kinds, stations = ("force", "moment", "wrench"), (0.0, 0.37, 1.0)
    arm = arm.replace(
        forces=[
            fa.Force(
                name=f"push{i}",
                link=link.name,
                at=1.0 if isinstance(link.joint, Telescope) else stations[(i + seed) % 3],
                kind=kinds[(i + seed // 2) % 3],
                axes=("base", "link")[(i + seed) % 2],
            )
            for i, link in enumerate(arm.links)
        ]
    )
    model, other, (q, qd, u) = fa.Model(arm), Lagrangian(arm), random_state(arm, seed)
    w = rng.normal(size=len(model.exogenous))
    expected = other.forward_dynamics(q, qd, u, w)
    for name in ("forward_dynamics", "forward_dynamics_dense"):
        found = vector(model, name, q, qd, u, w)
        assert np.abs(found - expected).max() <= ROUNDING * max(1.0, np.abs(expected).max())
    x, v = ca.SX.sym("q", len(q)), ca.SX.sym("qd", len(q))
    total = ca.sum1(model.function("energy")(x, v))
    rate = vector(model, "state_rate", q, qd, u, w)
    gained = float(ca.Function("E", [x, v], [ca.jtimes(total, ca.vertcat(x, v), ca.DM(rate[: 2 * len(q)]))])(q, qd))
    assert rate[-2] - rate[-1] == pytest.approx(gained, rel=1e-9, abs=1e-9)


L, EI = 1.5, 40.0


def cantilever(**more):
    """Two cubic elements, exact for what acts at their nodes: half-way and at the tip."""
    body = fa.Beam(length=L, mass=0.6, EI=EI, modes={"y": 4}, shapes="hermite", **more)
    return fa.Link(name="beam", joint=fa.Revolute(rotor_inertia=0.1), body=body)


@pytest.mark.parametrize("turned", [0.0, 0.7])
@pytest.mark.parametrize("at", [0.5, 1.0])
@pytest.mark.parametrize("axes", ["base", "link"])
def test_a_cantilever_sags_under_a_force_or_a_moment_as_in_the_books(at, axes, turned):
    """F a^2 (3 L - a) / (6 EI) at the tip, M a (L - a / 2) / EI; the hub holds F a, or M."""
    a, F, M = at * L, 2.0, 0.8
    c, s = np.cos(turned), np.sin(turned)
    for kind, given, tip, hub in (
        ("force", (-s * F, c * F, 0.0) if axes == "base" else (0.0, F, 0.0), F * a**2 * (3 * L - a) / (6 * EI), -F * a),
        ("moment", (0.0, 0.0, M), M * a * (L - a / 2) / EI, -M),
    ):
        arm = fa.Arm(
            name="cantilever",
            links=[cantilever()],
            forces=[fa.Force(name="push", link="beam", at=at, kind=kind, axes=axes)],
        )
        model = fa.Model(arm)
        q, u = fa.analysis.equilibrium(model, [turned], w=given)
        deflection = model.deflections(q)[0, 1]
        if kind == "force" and axes == "link":  # it turns with the section: to second order it is the same
            assert deflection == pytest.approx(tip, rel=2e-2)
        else:
            assert deflection == pytest.approx(tip, rel=1e-9)
            assert u[0] == pytest.approx(hub, rel=1e-9 if kind == "moment" else 1e-2)


def test_a_follower_force_is_no_gradient_and_its_power_is_counted():
    arm = fa.Arm(name="follower", links=[cantilever()], forces=[fa.Force(name="push", link="beam", axes="link")])
    result = fa.simulate(fa.Model(arm), 1.0, w={"push.fx": -3.0, "push.fy": 1.0}, progress=False)
    assert result.energy_drift < 1e-7
    np.testing.assert_allclose(
        np.trapezoid(result.power, result.time), result.work[-1], rtol=1e-3
    )  # a thousand trapezia of a vibration
    assert float(result.work[-1]) > 0.1


@pytest.fixture(scope="module")
def model():
    arm = fa.load("subudhi-morris").replace(
        forces=[fa.Force(name="push", link="fore", at=0.7), fa.Force(name="twist", link="upper", kind="moment")],
        base=fa.MovingBase(),
    )
    return fa.Model(arm)


class Steering:
    """A law: what it gives grows with the first joint."""

    def law(self, model, period=None):
        return Law(lambda t, q, qd, z: ([0.1 * q[0], 0.2 * t, 0.0], []))


RUN = {"samples": 21, "progress": False, "rtol": 1e-10, "solver": fa.Solver(atol=1e-12)}


def same(a, b, atol=1e-8):
    np.testing.assert_allclose(a.q, b.q, atol=atol)


def test_every_way_to_say_it_is_the_same(model):
    k = len(model.exogenous)
    row = np.zeros(k)
    row[1], row[8] = 0.2, 0.3
    expected = fa.simulate(model, 0.4, w=row, **RUN)
    assert expected.energy_drift < 1e-9
    assert expected.attrs["outside_description"].startswith("push.fx to base.alphaz: constant")
    assert float(np.abs(expected.q).max()) > 1e-2
    times = np.linspace(0.0, 0.4, 5)
    for w in (
        {"push.fy": 0.2, "base.ax": 0.0, "base.az": row[8]},
        {"push": [0.0, 0.2, 0.0], "base.a": [0.0, 0.0, 0.3]},
        {"push.f": (0.0, 0.2, 0.0), "base": [0.0, 0.0, 0.3, *np.zeros(6)]},
        fa.Table(times, np.tile(row, (5, 1))),
        {"push.fy": fa.Piecewise([0.0], [0.2]), "base.az": lambda t: 0.3},
        lambda t: row,
        lambda t, q, qd: row,
        as_exogenous(row, model),
    ):
        found = fa.simulate(model, 0.4, w=w, **RUN)
        same(found, expected)
        np.testing.assert_allclose(found.w, np.tile(row, (21, 1)))
    same(fa.simulate(model, 0.4, **RUN), fa.simulate(model, 0.4, w=np.zeros(k), **RUN))


def test_a_law_is_what_the_same_function_is(model):
    law = fa.simulate(model, 0.5, w={"push": Steering(), "twist.mz": 0.3}, **RUN)
    function = fa.simulate(model, 0.5, w={"push": lambda t, q, qd: [0.1 * q[0], 0.2 * t, 0.0], "twist.mz": 0.3}, **RUN)
    same(law, function)
    np.testing.assert_allclose(law.w[:, 1], 0.2 * law.time)
    np.testing.assert_allclose(law.w[:, 0], 0.1 * law.q[:, 0])
    assert law.energy_drift < 1e-9


@pytest.mark.parametrize("method", ["dop853", "radau9", "rk4"])
def test_jumps_end_stretches(model, method):
    """Beside a constant input, a law and a sampled one, whose own instants are not touched."""
    w = {"push.fy": fa.Piecewise([0.1001, 0.2003], [0.5, 0.0])}
    given = RUN | ({"solver": fa.Solver(step=1e-4)} if method == "rk4" else {})
    drives = [np.zeros(2), fa.inputs.Sampled(lambda t, q, qd: -0.3 * qd[:2], 0.01)]
    for u in drives:
        result = fa.simulate(model, 0.4, u=u, w=w, method=method, **given)
        assert result.energy_drift < 1e-8
        parts = fa.simulate(model, 0.1001, u=np.zeros(2), method=method, **given)
        assert float(np.abs(parts.q).max()) == 0.0
        np.testing.assert_array_equal(result.w[:, 1], np.where((result.time > 0.1) & (result.time < 0.2003), 0.5, 0.0))
        assert float(np.abs(result.q[-1]).max()) > 1e-3


def test_runs_of_an_ensemble_have_their_own(model):
    """Constants in lanes, tables and functions one by one: each as `simulate` computes it, its account kept."""
    k, rng = len(model.exogenous), np.random.default_rng(1)
    rows = 0.1 * rng.normal(size=(9, k))
    options = {"samples": 21, "progress": False}
    many = fa.simulate_many(model, 0.3, w=rows, **options)
    assert set(many.method.values.tolist()) == {"dop853"}
    assert many.w.dims == ("run", "time", "exogenous")
    for i in (0, 8):
        one = fa.simulate(model, 0.3, w=rows[i], **options)
        np.testing.assert_allclose(many.q[i], one.q, atol=1e-12)
        np.testing.assert_allclose(many.power[i], one.power, atol=1e-10)
    assert float(many.energy_drift.max()) < 1e-8
    different = [{"push.fy": fa.Table([0, 0.1, 0.3], [0.0, 1.0, 0.0])}, {"push.fy": lambda t: np.sin(9 * t)}, None]
    many = fa.simulate_many(model, 0.3, w=different, **options)
    for i, w in enumerate(different):
        np.testing.assert_allclose(many.q[i], fa.simulate(model, 0.3, w=w, **options).q, atol=1e-12)
    with pytest.raises(fa.DescriptionError, match=r"^w\[1\]: w: unknown exogenous input 'pull'"):
        fa.simulate_many(model, 0.3, w=[None, {"pull": 1.0}], **options)
    with pytest.raises(fa.DescriptionError, match="different numbers of runs: runs 2, w 3"):
        fa.simulate_many(model, 0.3, w=[None, None, None], runs=2, **options)


@pytest.mark.parametrize("method", ["dop853", "rk45", "radau5"])
def test_a_stepper_holds_them_for_a_period(model, method):
    n, rows = len(model.coordinates), 0.1 * np.random.default_rng(2).normal(size=(9, len(model.exogenous)))
    one = fa.Stepper(model, 0.01, method=method, rtol=1e-9)
    many = fa.Stepper(model, 0.01, np.zeros((9, n)), method=method, rtol=1e-9)
    for _ in range(10):
        x, all_ = one.step(np.zeros(2), rows[3]), many.step(np.zeros(2), rows)
    np.testing.assert_allclose(all_[3], x, atol=1e-12)
    whole = fa.simulate(model, 0.1, w=rows[3], **RUN)
    np.testing.assert_allclose(x[:n], whole.q[-1], atol=1e-7)
    many.reset()
    for _ in range(10):
        listed = many.step(np.zeros(2), rows.tolist())
    np.testing.assert_array_equal(listed, all_)
    many.reset()
    both = many.step(np.zeros(2), {"push.fy": 0.4})
    np.testing.assert_array_equal(both[0], both[8])
    one.reset()
    assert not one.step(np.zeros(2)).any()
    for w, line in (
        ({"push.fy": lambda t: 1.0}, "Stepper: w must be numbers, which are constant in a period"),
        (np.zeros((3, 15)), "w has shape (3, 15); it must be (15,)"),
    ):
        with pytest.raises(fa.DescriptionError) as caught:
            one.step(np.zeros(2), w)
        assert str(caught.value) == line
    plain = fa.Stepper(fa.Model(fa.load("subudhi-morris")), 0.01, np.zeros((3, 6)))
    for w in (np.zeros((3, 2)), [[0.0, 1.0]] * 3):
        with pytest.raises(
            fa.DescriptionError, match=r"w has shape \(3, 2\); it must have 0 numbers: it has no exogenous"
        ):
            plain.step(np.zeros(2), w)


def test_linear_models_have_them_as_inputs_where_they_are_asked_for(model):
    n, m, k = len(model.coordinates), len(model.inputs), len(model.exogenous)
    q, qd, u = 0.1 * np.arange(1, n + 1) / n, np.zeros(n), np.zeros(m)
    w = 0.3 * np.ones(k)
    plain, more = model.linearize(q, qd, u), model.linearize(q, qd, u, w=w)
    assert plain.ninputs == m
    assert more.input_labels[m:] == ["w_" + name.replace(".", "_") for name in model.exogenous]
    h = 1e-6
    for j in range(k):
        e = h * np.eye(k)[j]
        slope = model.forward_dynamics(q, qd, u, w=w + e) - model.forward_dynamics(q, qd, u, w=w - e)
        np.testing.assert_allclose(more.B[n:, m + j], slope / (2 * h), atol=1e-5)


def test_linear_models_and_equilibria_take_them_by_name(model):
    """Names, prefixes and vectors of three mean the same as in `simulate`."""
    n, m, names = len(model.coordinates), len(model.inputs), list(model.exogenous)
    q, qd, u, w = 0.1 * np.arange(1, n + 1) / n, np.zeros(n), np.zeros(m), np.zeros(len(names))
    w[names.index("push.fy")], w[[names.index(f"base.a{axis}") for axis in "xyz"]] = 0.4, (0.1, -0.2, 0.0)
    given = {"push.fy": 0.4, "base.a": [0.1, -0.2, 0.0]}
    np.testing.assert_array_equal(model.linearize(q, qd, u, w=given).A, model.linearize(q, qd, u, w=w).A)
    assert model.linearize(q, qd, u, w={}).ninputs == m + len(names)
    push, row = {"push.fx": 0.3, "push.fy": 0.2}, np.zeros(len(names))
    row[[names.index("push.fx"), names.index("push.fy")]] = 0.3, 0.2
    found, expected = (equilibrium(model, np.zeros(n), w=each) for each in (push, row))
    np.testing.assert_array_equal(found[0], expected[0])
    assert np.abs(found[0] - equilibrium(model, np.zeros(n))[0]).max() > 1e-6
    for wrong, line in (
        ({"pusch.fx": 1.0}, "w: unknown exogenous input 'pusch.fx'; did you mean 'push.fx'"),
        ({"push.f": [1.0, 2.0]}, r"w['push.f'] has shape (2,); it must have 3 numbers: push.fx, push.fy, push.fz"),
        ({"push.fx": 1.0, "push.f": [0.0] * 3}, "w: push.fx is given twice, by 'push.fx' and by 'push.f'"),
        ({"push.fx": lambda t: 1.0}, "w['push.fx'] is "),
    ):
        for call in (lambda w: model.linearize(q, qd, u, w=w), lambda w: equilibrium(model, np.zeros(n), w=w)):
            with pytest.raises(fa.DescriptionError) as caught:
                call(wrong)
            assert str(caught.value).startswith(line)


def test_prescribed_motions_take_what_acts_into_account(model):
    """The torques that a motion takes under a push: with them the same motion comes about."""
    motion = fa.Quintic((0.0, 0.0), (0.4, -0.3), 0.5)
    push = {"push.fy": 0.4, "base.ax": 1.0}
    led = fa.simulate(model, 0.5, u=fa.PrescribedMotion(motion), w=push, **(RUN | {"samples": 201}))
    assert led.energy_drift < 1e-8
    alone = fa.simulate(model, 0.5, u=fa.PrescribedMotion(motion), **(RUN | {"samples": 201}))
    assert float(np.abs(led.u - alone.u).max()) > 0.1
    driven = fa.simulate(model, 0.5, u=fa.Table(led.time, led.u), w=push, **RUN)
    np.testing.assert_allclose(driven.q[-1], led.q[-1], atol=1e-5)


def test_the_power_of_a_prescribed_motion_is_the_rate_of_its_work_whatever_acts(model):
    given = {"u": fa.PrescribedMotion(fa.Quintic((0.0, 0.0), (0.4, -0.3), 0.5)), "w": {"push.fy": 0.4, "base.ax": 1.0}}
    found = fa.simulate(model, 0.5, **given, **(RUN | {"samples": 401}))
    t, P = found.time.values, found.power.values
    done = np.array([simpson(P[: k + 1], x=t[: k + 1]) for k in range(0, 401, 40)])
    np.testing.assert_allclose(found.work.values[::40], done, atol=1e-6)
    together = fa.simulate_many(model, 0.5, runs=1, **given, **(RUN | {"samples": 401}))
    np.testing.assert_allclose(together.power.values[0], P, rtol=1e-6, atol=1e-8)


def test_a_scenario_says_them_by_name(tmp_path):
    (tmp_path / "arm.toml").write_text(
        """
        name = "mast"
        base = { type = "moving" }
        [[links]]
        name = "mast"
        joint = { type = "revolute", damping = 0.1 }
        body = { type = "beam", length = 1.0, mass = 1.0, EI = 50.0, modes = { y = 2 } }
        [[forces]]
        name = "push"
        link = "mast"
        at = 0.5
        [[contacts]]
        name = "wall"
        link = "mast"
        point = [0.0, 0.3, 0.0]
        normal = [0.0, -1.0, 0.0]
        stiffness = 1e4
        damping = 0.5
        """
    )
    (tmp_path / "run.toml").write_text(
        """
        name = "pushed"
        arm = "arm.toml"
        until = 0.5
        samples = 11
        [outside]
        "push.fy" = 1.0
        push.fx = { type = "piecewise", times = [0.1, 0.2], values = [[1.0], [0.0]] }
        base = { type = "base-motion", times = [0.0, 0.5], orientations = [[0, 0, 0], [0, 0, 0.3]] }
        """
    )
    scenario = fa.load_scenario(tmp_path / "run.toml")
    result = scenario.run(progress=False)
    assert result.energy_drift < 1e-7
    np.testing.assert_array_equal(result.w[:, 1], 1.0)
    turn = fa.MinimumJerk([[0, 0, 0], [0, 0, 0.3]], [0.0, 0.5])
    w = {"push.fy": 1.0, "push.fx": fa.Piecewise([0.1, 0.2], [1.0, 0.0]), "base": fa.BaseMotion(orientation=turn)}
    same(fa.simulate(fa.Model(scenario.loaded_arm()), 0.5, w=w, samples=11, progress=False), result, 1e-12)
    for bad, line in (
        ({"push.fy": True}, "Scenario: outside.push.fy is True; it must be a number"),
        ({"push": {}}, "Scenario: outside.push is an empty table; fill the table or leave it out"),
        ({"push": {"fy": 1.0}, "push.fy": 2.0}, "Scenario: outside.push.fy is given twice"),
        (
            {"push": {"type": "tabel"}},
            "Scenario: outside.push.type is 'tabel'; did you mean 'table'? It must be 'constant', 'piecewise', ",
        ),
        ({"base": {"type": "base-motion", "times": [0, 1]}}, "Scenario: outside.base.positions is missing, and so is "),
        ({"push": {"type": "table", "times": [0, 1], "values": [[1]]}}, "Scenario: outside.push.times has 2 numbers "),
        ({"push": [1.0, 2.0]}, "outside: w['push'] has shape (2,); it must have 3 numbers: push.fx, push.fy, push.fz"),
        (3, "Scenario: outside is 3; it must be a table such as "),
    ):
        with pytest.raises(fa.DescriptionError) as caught:
            scenario.replace(outside=bad).run(progress=False)
        assert str(caught.value).startswith(line)


@pytest.mark.parametrize(
    ("w", "line"),
    [
        ({"pusch.fx": 1.0}, "w: unknown exogenous input 'pusch.fx'; did you mean 'push.fx'"),
        ({3: 1.0}, "w: unknown exogenous input 3; the arm has 15 numbers: "),
        ({"push": 1.0}, "w['push'] has shape (); it must have 3 numbers: push.fx, push.fy, push.fz"),
        ({"push": [1, 1, 1], "push.fx": 1.0}, "w: push.fx is given twice, by 'push' and by 'push.fx'"),
        ([1.0, 2.0], "w has shape (2,); it must have 15 numbers: "),
        ({"push.fx": np.nan}, "w['push.fx'] contains NaN or infinity"),
        ({"push.fx": "much"}, "w['push.fx'] is not an array of numbers"),
        ({"push.fx": fa.Table([0, 1], np.zeros((2, 2)))}, "w['push.fx'] has 2 columns; it must have 1 number: push.fx"),
        ({"push.fx": lambda t, q: 1.0}, "w['push.fx'] is <lambda>, of 2 arguments; it must be w(t) or w(t, q, qd)"),
        ({"push.fx": Steering()}, "w['push.fx']: its law returns 3 numbers; it must return 1 number: push.fx"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(model, w, line):
    with pytest.raises(fa.DescriptionError) as caught:
        fa.simulate(model, 0.1, w=w, progress=False)
    assert str(caught.value).startswith(line)


@pytest.mark.parametrize("more", [{"memory": (0.0,)}, {"noise": (0.1,)}, {"drives": True}])
def test_a_law_that_knows_more_than_the_motion_is_refused(model, more):
    class Knowing:
        def law(self, model, period=None):
            return Law(lambda t, q, qd, z, s: ([0, 0, 0], []), **more)

    with pytest.raises(fa.DescriptionError, match="must not have memory, noise or states of drives"):
        fa.simulate(model, 0.1, w={"push": Knowing()}, progress=False)


def test_an_arm_that_nothing_acts_on_takes_nothing():
    bare = fa.Model(fa.load("subudhi-morris"))
    for w in (None, [], np.zeros(0), {}, fa.Piecewise([0.0], np.zeros((1, 0)))):
        assert fa.simulate(bare, 0.01, w=w, progress=False).status == "completed"
        assert (fa.simulate_many(bare, 0.01, w=w, runs=1, progress=False).status == "completed").all()
    for w, line in (
        (lambda t: 1.0, "w is a function; the arm has 0 numbers: it has no exogenous inputs"),
        (lambda t: [], "w is a function; the arm has 0 numbers: it has no exogenous inputs"),
        (0.0, r"w has shape \(\); it must have 0 numbers: it has no exogenous inputs"),
        (fa.Piecewise([0.0], [1.0]), "w has 1 column; it must have 0 numbers: it has no exogenous inputs"),
    ):
        with pytest.raises(fa.DescriptionError, match=rf"\A{line}\Z"):
            fa.simulate(bare, 0.01, w=w, progress=False)


def test_what_is_for_another_arm_is_refused(model):
    with pytest.raises(
        fa.DescriptionError, match=r"^w is for 15 numbers: .*; the arm has 0 numbers: it has no exogenous"
    ):
        fa.simulate(fa.Model(fa.load("subudhi-morris")), 0.1, w=as_exogenous(None, model), progress=False)
    with pytest.raises(fa.DescriptionError, match="keep has 'w', which an arm without exogenous inputs does not have"):
        fa.simulate(fa.Model(fa.load("subudhi-morris")), 0.1, save=fa.SaveAt(keep=["w"]), progress=False)


def test_a_function_that_fails_says_when(model):
    def late(t):
        return np.nan if t > 0.05 else 1.0

    with pytest.raises(fa.SimulationError, match=r"input late gave nan for push.fx at t = 0.0"):
        fa.simulate(model, 0.1, w={"push.fx": late}, progress=False)

    def breaks(t):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fa.simulate(model, 0.1, w={"push.fx": breaks}, progress=False)


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"at": 2.0}, "force 'push': at is 2.0; it must be from 0 to 1"),
        ({"name": "a b"}, "force 'a b': name is 'a b'; it must have no dots and no spaces"),
        (
            {"name": "payload"},
            "force 'payload': name is already in use, or reserved; give each link, force and contact a different name",
        ),
        ({"link": "other"}, "force 'push': link is 'other'; the links are beam"),
        (
            {"kind": "torque"},
            "force 'push': kind is 'torque'; it must be 'force', 'moment', 'wrench', 'distributed' or 'drive'",
        ),
        ({"much": 1.0}, "force 'push': unknown key 'much'; allowed keys are name, link, at, axes, kind"),
    ],
)
def test_bad_forces_are_refused_in_one_line(fields, line):
    with pytest.raises(fa.DescriptionError) as caught:
        fa.Arm(name="arm", links=[cantilever()], forces=[{"name": "push", "link": "beam"} | fields])
    assert str(caught.value) == line


def test_forces_are_a_list():
    with pytest.raises(fa.DescriptionError, match=r"^Arm: forces is 3; it must be a list of forces$"):
        fa.Arm(name="arm", links=[cantilever()], forces=3)


def test_a_telescope_is_pushed_at_its_tip():
    arm = fa.load("theodore-ghosal")
    (link,) = [each.name for each in arm.links if isinstance(each.joint, Telescope)]
    with pytest.raises(fa.DescriptionError) as caught:
        arm.replace(forces=[fa.Force(name="push", link=link, at=0.5)])
    assert str(caught.value) == "force 'push': at is 0.5; on a telescope it must be 1 (the tip)"


def test_results_with_them_are_saved_and_loaded(model, tmp_path):
    result = fa.simulate(model, 0.1, w={"push.fy": 0.3}, **RUN)
    fa.save_result(result, tmp_path / "run.nc")
    loaded = fa.load_result(tmp_path / "run.nc")
    np.testing.assert_array_equal(loaded.w, result.w)
    assert fa.Arm.from_json(loaded.attrs["arm"]) == model.arm
