"""Cables: tension and power against the oracle, closed forms, and other integrators."""

import casadi as ca
import numpy as np
import pytest
from compared import assert_close, vector
from oracle import Lagrangian
from random_arms import random_state
from random_trees import STATIONS, random_tree
from scipy.integrate import solve_ivp

import flexarm as fa
from flexarm.analysis import equilibrium

G = 9.81
ROUNDING = 1e-10  # relative, of accelerations


def threaded(arm, seed):
    """The arm with four cables through its links: taut, slack, on a winch, and of a given tension."""
    rng = np.random.default_rng([seed, 77])

    def through(links):
        found = [{"point": tuple(rng.uniform(-2, 2, 3).tolist())}] if rng.random() < 0.6 else []
        for link in links:
            at = 1.0 if link.joint.type == "telescope" else float(rng.choice(STATIONS[1:]))
            found.append({"link": link.name, "at": at})
        return [*found, {"point": tuple(rng.uniform(-2, 2, 3).tolist())}]

    paths = [through(rng.permutation(np.array(arm.links, dtype=object))[: 2 + i % 2]) for i in range(4)]
    if arm.free:
        paths[0][-1] = {"link": "base"}
    made = [fa.Cable(name=f"c{i}", points=path, input="tension") for i, path in enumerate(paths)]
    L = Lagrangian(arm.replace(cables=made)).lengths(random_state(arm, seed)[0])
    ways = [
        {"stiffness": 31.0, "damping": 2.3, "transition": 0.0, "length": 0.8 * L[0]},
        {"stiffness": 31.0, "damping": 2.3, "transition": 0.0, "length": 1.1 * L[1]},
        {"EA": 37.0, "damping": 1.7, "transition": 0.0, "length": 0.8 * L[2], "input": "rate"},
        {"input": "tension"},
    ]
    cables = [fa.Cable(name=x.name, points=x.points, **way) for x, way in zip(made, ways, strict=True)]
    return arm.replace(cables=cables)


CASES = (
    {},
    {"rigid": True},
    {"elastic": True, "rotor": "absolute"},
    {"foreshortening": True, "chord": True},
    {"telescope": True, "twisting": True},
)


@pytest.mark.parametrize(("seed", "options"), list(enumerate(CASES)))
def test_cables_pull_along_the_slopes_of_their_lengths(seed, options):
    """The oracle has the cables of constant length; a winch and a given tension are loads along the others' lengths."""
    arm = threaded(random_tree(60 + seed, free=seed % 2 == 1, links=3, **options), 60 + seed)
    model, oracle, (q, qd, u) = fa.Model(arm), Lagrangian(arm), random_state(arm, 60 + seed)
    assert model.states == ("c2.paid_out",) and model.exogenous == ("c2.rate", "c3.tension")
    paid_out, rate, pull = 0.03, -0.4, 5.3
    J, L = oracle.lengthened(q), oracle.lengths(q)
    l = arm.cables[2].length + paid_out
    spring = 37.0 / l * (L[2] - l)
    third = max(spring + 1.7 * (J[:, 2] @ qd - rate), 0.0)
    expected = oracle.forward_dynamics(q, qd, u)
    expected -= np.linalg.solve(oracle.mass_matrix(q), third * J[:, 2] + pull * J[:, 3])
    state = q, qd, [paid_out], u, [rate, pull]
    for name in ("forward_dynamics", "forward_dynamics_dense"):
        assert_close(vector(model, name, *state), expected, ROUNDING, 1.0)
    first = max(31.0 * (L[0] - arm.cables[0].length) + 2.3 * (J[:, 0] @ qd), 0.0)
    tensions = vector(model, "tension", q, qd, [paid_out], [rate, pull])
    assert_close(tensions, [first, 0.0, third, pull], 1e-11)
    assert first > 0.0 and third > 0.0
    stored = oracle.energy(q, qd)[1] + spring**2 * l / 37 / 2
    assert_close(vector(model, "energy", q, qd, [paid_out])[1], stored)
    rates = vector(model, "state_rate", *state)
    balanced(model, q, qd, [paid_out], rates)
    assert rates[-3] == rate


def balanced(model, q, qd, s, rates):
    """The rate of the energy is the supplied power minus the lost power."""
    x = [ca.SX.sym("x", len(each)) for each in (q, qd, s)]
    total = ca.sum1(model.function("energy")(*x))
    gained = ca.Function("E", x, [ca.jtimes(total, ca.vertcat(*x), ca.DM(rates[:-2]))])(q, qd, s)
    scale = max(1.0, *np.abs(rates[-2:]), np.abs(rates[len(q) : -2]).max())
    assert float(gained) == pytest.approx(rates[-2] - rates[-1], abs=1e-10 * scale)


def hanging(mass=2.5, x=0.4, **cable):
    """A mass on a vertical rail that hangs on a cable from a point x beside the rail, 0.3 m above its origin."""
    link = fa.Link(
        name="mass",
        joint=fa.Prismatic(axis=(0, 0, 1)),
        body=fa.Rigid(length=0.0, mass=mass, com=(0, 0, 0), inertia=0.1),
    )
    points = [{"point": (x, 0, 0.3)}, {"link": "mass"}]
    return fa.Arm(
        name="hanging", links=[link], gravity=(0, 0, -G), cables=[fa.Cable(name="rope", points=points, **cable)]
    )


def run(model, until, **more):
    return fa.simulate(model, until, **{"rtol": 1e-11, "solver": fa.Solver(atol=1e-13), "progress": False} | more)


def test_a_mass_that_falls_into_a_rope_comes_back():
    """Free fall over h, then a half oscillation about the equilibrium until the rope is slack again."""
    m, k, h = 2.5, 4e3, 0.35
    w, v = np.sqrt(k / m), np.sqrt(2 * G * h)
    taut = 2 / w * (np.pi - np.arctan(v * w / G))
    period = 2 * np.sqrt(2 * h / G) + taut
    model = fa.Model(hanging(m, 0.0, stiffness=k, length=0.8))  # taut below z = -0.5
    result = run(model, 2 * period, q0=[h - 0.5], samples=5)
    np.testing.assert_allclose(result.q.values[[2, 4], 0], h - 0.5, atol=1e-8)
    deepest = G / w**2 + np.hypot(G / w**2, v / w)
    assert float(result.q[1, 0]) == pytest.approx(-0.5 - deepest, abs=1e-9)
    assert result.tension.values[:, 0] == pytest.approx([0, k * deepest, 0, k * deepest, 0], abs=1e-3)
    assert list(result.cable.values) == ["rope"] and result.tension.units == "N"


def test_a_damped_rope_never_pushes_and_loses_what_the_energy_loses():
    """m z'' = -m g + T by hand, with T = max(0, k p + c p') where the rope is longer than l."""
    m, k, c, l, w = 2.5, 900.0, 60.0, 0.7, 1e-3

    def tension(z, v):
        y = 0.3 - z - l  # p = y beyond the transition
        x = np.clip(y / w + 0.5, 0.0, 1.0)
        p = w * x**3 * (1 - 0.5 * x) if x < 1 else y
        slope = x**2 * (3 - 2 * x)
        return slope * max(k * p - c * slope * v, 0.0)

    model = fa.Model(hanging(m, 0.0, stiffness=k, length=l, damping=c, transition=w))
    result = run(model, 1.5, q0=[-0.1], samples=61)
    exact = solve_ivp(lambda t, y: [y[1], tension(*y) / m - G], (0, 1.5), [-0.1, 0.0], method="DOP853", rtol=1e-11,
                      atol=1e-13, t_eval=result.time.values, max_step=1e-3)  # fmt: skip
    assert result.q.values[:, 0] == pytest.approx(exact.y[0], abs=1e-8)
    by_hand = [tension(*each) for each in exact.y.T]
    assert result.tension.values[:, 0] == pytest.approx(by_hand, abs=1e-4)
    assert min(by_hand) == 0.0 < max(by_hand)
    assert result.energy_drift < 1e-9 and float(result.dissipated[-1]) > 1.0
    assert (np.diff(result.dissipated.values) >= -1e-12).all()
    model = fa.Model(hanging(m, 0.0, stiffness=k, length=l, damping=c))  # 70 um of transition
    torn = fa.outputs(model, [fa.CableTension(cable="rope")]).values([[-0.45]], [[v := 3.0]])
    assert k * 0.05 < c * v and torn == 0.0
    near = fa.outputs(model, [fa.CableTension(cable="rope")]).values([[-0.45]], [[0.2]])
    assert near == pytest.approx(k * 0.05 - c * 0.2)


@pytest.mark.parametrize("stiffness", [{"stiffness": 5e3}, {"EA": 4e3}])
def test_the_work_of_a_winch_is_the_gain_of_energy(stiffness):
    """A mass beside its pulley is hoisted: by hand, with the tension and its power from the energy of the rope."""
    m, x, l, c = 2.5, 0.4, 1.3, 25.0

    def state(t, y):
        z, v, l, _ = y
        L, rate = np.hypot(x, 0.3 - z), -0.5 * np.sin(2 * t)
        turn = (z - 0.3) / L
        k = stiffness.get("stiffness") or stiffness["EA"] / l
        T = max(k * (L - l) + c * (turn * v - rate), 0.0)
        power = -T * rate - (k * (L - l) ** 2 / (2 * l) * rate if "EA" in stiffness else 0.0)
        return [v, -T * turn / m - G, rate, power]

    arm = hanging(m, x, length=l, damping=c, transition=0.0, input="rate", **stiffness)
    model, z0 = fa.Model(arm), 0.3 - np.sqrt((l + 0.006) ** 2 - x**2)
    result = run(model, 1.4, q0=[z0], w={"rope.rate": lambda t: -0.5 * np.sin(2 * t)}, samples=15)
    exact = solve_ivp(state, (0, 1.4), [z0, 0.0, l, 0.0], method="DOP853", rtol=1e-12, atol=1e-13,
                      t_eval=result.time.values)  # fmt: skip
    assert result.q.values[:, 0] == pytest.approx(exact.y[0], abs=1e-8)
    assert result.drive_state.values[:, 0] == pytest.approx(exact.y[2] - l, abs=1e-10)
    assert result.work.values == pytest.approx(exact.y[3], abs=1e-7)
    gained = m * G * (exact.y[0, -1] - z0) + m * exact.y[1, -1] ** 2 / 2
    L = np.hypot(x, 0.3 - exact.y[0, [0, -1]])
    k = stiffness.get("stiffness") or stiffness["EA"] / exact.y[2, [0, -1]]
    gained += np.diff(k * (L - exact.y[2, [0, -1]]) ** 2 / 2)[0]
    assert float(result.work[-1] - result.dissipated[-1]) == pytest.approx(gained, abs=1e-7)
    assert gained > 10.0 and result.energy_drift < 1e-9


def test_a_mass_hangs_on_a_cable_between_two_links():
    """It slides on the cable from a link's tip to the middle of another: 2 T cos(a) = m g, both angles are equal."""
    m, L1, L2, k = 1.7, 0.5, 0.8, 6e3

    def rod(length):
        return fa.Rigid(length=length, mass=1e-3, com=(0, 0, 0), inertia=1e-3)

    links = [
        fa.Link(name="left", parent="base", joint=fa.Revolute(axis=(0, -1, 0)), body=rod(L1)),
        fa.Link(name="right", parent="base", joint=fa.Revolute(axis=(0, -1, 0)), body=rod(L2),
                placement=fa.Pose(xyz=(2.0, 0, 0), rpy=(0, 0, np.pi))),
        fa.Link(name="x", parent="base", joint=fa.Prismatic(axis=(1, 0, 0), damping=25.0), body=fa.Frame(length=0.0)),
        fa.Link(name="mass", parent="x", joint=fa.Prismatic(axis=(0, 0, 1), damping=25.0),
                body=fa.Rigid(length=0.0, mass=m, com=(0, 0, 0), inertia=0.1)),
    ]  # fmt: skip
    points = [{"link": "left"}, {"link": "mass"}, {"link": "right", "at": 0.5}]
    cable = fa.Cable(name="line", points=points, stiffness=k, length=1.9)
    arm = fa.Arm(name="line", links=links, gravity=(0, 0, -G), cables=[cable], tip="mass")
    model = fa.Model(arm)
    # the ends are at (L1, 0) and (2 - L2 / 2, 0): a symmetric triangle whose angle follows from the cable's length
    half = (2 - L2 / 2 - L1) / 2
    low, high = 0.01, 1.5
    for _ in range(80):
        a = (low + high) / 2  # angle to the vertical
        tension = m * G / (2 * np.cos(a))
        low, high = (low, a) if 2 * half / np.sin(a) < 1.9 + tension / k else (a, high)
    q = np.array([0.0, 0.0, L1 + half, -half / np.tan(a)])
    u = model.inverse_dynamics(q, 0 * q, 0 * q)
    vertical = m * G / 2
    assert u == pytest.approx([vertical * L1, vertical * L2 / 2, 0, 0], abs=1e-8)
    assert model.evaluate("tension", q, 0 * q) == pytest.approx([tension])
    assert equilibrium(model, q[:2].tolist() + q[2:].tolist())[1] == pytest.approx(u, abs=1e-8)
    held = fa.simulate(model, 8.0, u=u, q0=q, progress=False)
    assert held.q.values[-1] == pytest.approx(q, abs=1e-6)


def test_a_cable_inside_a_free_base_changes_no_momentum():
    bus = fa.FreeBase(mass=4.0, inertia=0.6)
    link = fa.Link(name="arm", joint=fa.Revolute(axis=(0, 0, 1)), body=fa.Rigid(length=0.7, mass=1.2),
                   placement=fa.Pose(xyz=(0.2, 0.3, 0)))  # fmt: skip
    inner = fa.Cable(name="c", points=[{"link": "base"}, {"link": "arm"}], stiffness=80.0, length=0.5, damping=0.3)
    outer = inner.replace(points=[{"point": (1.5, -0.5, 0.4)}, {"link": "arm"}])
    winch = inner.replace(input="rate")
    for cable, w in ((inner, None), (winch, {"c.rate": -0.1})):
        result = run(fa.Model(fa.Arm(name="sat", links=[link], base=bus, cables=[cable])), 1.0, w=w)
        assert result.momentum_drift < 1e-11 and result.angular_momentum_drift < 1e-11
        assert result.energy_drift < 1e-9 and np.ptp(result.q.values[:, 7]) > 0.05
    result = run(fa.Model(fa.Arm(name="sat", links=[link], base=bus, cables=[outer])), 1.0)
    assert result.momentum_changed_by == "cables" and result.energy_drift < 1e-9


@pytest.fixture(scope="module")
def winch():
    return fa.Model(hanging(stiffness=2e3, length=0.9, damping=30.0, input="rate"))


def test_every_way_to_run_an_arm_has_the_same_cable(winch, tmp_path):
    w, q0 = {"rope.rate": fa.Table([0.0, 0.4, 0.6], [0.0, -0.8, 0.3], "linear")}, [-0.525]
    one = run(winch, 0.6, q0=q0, w=w, samples=31)
    implicit = run(winch, 0.6, q0=q0, w=w, samples=31, method="radau9", rtol=1e-10)
    assert implicit.q.values == pytest.approx(one.q.values, abs=1e-7)
    assert implicit.tension.values == pytest.approx(one.tension.values, abs=1e-3)
    many = fa.simulate_many(winch, 0.6, q0=[q0, [-0.53]], w=[w, w], samples=31, rtol=1e-11, progress=False,
                            solver=fa.Solver(atol=1e-13))  # fmt: skip
    assert many.tension.values[0] == pytest.approx(one.tension.values, abs=1e-6)
    assert many.tension.dims == ("run", "time", "cable") and (many.energy_drift < 1e-8).all()
    batch = fa.simulate_many(winch, 0.6, q0=[[-0.525]] * 9, w=[-0.3], samples=7, progress=False)
    same = fa.simulate(winch, 0.6, q0=q0, w=[-0.3], samples=7, progress=False)
    assert batch.tension.values[8] == pytest.approx(same.tension.values, abs=2e-2)
    loaded = fa.load_result(fa.save_result(one, tmp_path / "run.nc"))
    assert loaded.tension.equals(one.tension)
    few = fa.simulate(winch, 0.6, w=w, progress=False, save=fa.SaveAt(keep=["tension"]))
    assert {*few.data_vars} == {"tension"}
    stepper = fa.Stepper(winch, 0.1, [q0, q0], rtol=1e-9)
    for _ in range(6):
        state = stepper.step(np.zeros((2, 1)), [-0.3])
    assert state[:, 0] == pytest.approx([same.q.values[-1, 0]] * 2, abs=1e-6)


def test_a_linear_model_is_the_slope_of_the_rates(winch):
    """By differences, with the state of the winch and its input."""
    q, qd, s, w, u = np.array([-0.75]), np.array([0.1]), np.array([-0.05]), np.array([0.2]), np.array([3.0])
    x = np.concatenate([q, qd, s, w])

    def rates(x):
        return winch.evaluate("state_rate", x[:1], x[1:2], u, s=x[2:3], w=x[3:])[:3]

    step = 1e-6
    slopes = np.array([(rates(x + step * e) - rates(x - step * e)) / (2 * step) for e in np.eye(4)]).T
    linear = winch.linearize(q, qd, u, w=w, s=s)
    assert np.hstack([linear.A, linear.B[:, 1:]]) == pytest.approx(slopes, rel=1e-7, abs=1e-6)
    assert linear.state_labels[-1] == "rope_paid_out" and linear.input_labels[-1] == "w_rope_rate"
    stay = fa.Model(hanging(x=0.4, stiffness=2e3, length=0.9))
    measured = stay.linearize(q, qd, u, outputs=[fa.CableTension(cable="rope")])
    L = np.hypot(0.4, 0.3 - q[0])
    assert measured.C[0] == pytest.approx([2e3 * (q[0] - 0.3) / L, 0.0])
    turn = ((0.3 - q[0]) / L) ** 2
    assert measured.A[1, 0] == pytest.approx(-2e3 / 2.5 * (turn + (L - 0.9) / L * (1 - turn)))


def test_statics_include_a_given_tension_and_the_first_length():
    """The drive holds the mass: its weight less the pull of the cable."""
    L = np.hypot(0.4, 0.8)
    tendon, stay = fa.Model(hanging(input="tension")), fa.Model(hanging(EA=900.0, length=0.8))
    _, u = equilibrium(tendon, [-0.5], w={"rope.tension": 20.0})
    assert u == pytest.approx([2.5 * G - 20.0 * 0.8 / L])
    _, u = equilibrium(stay, [-0.5])
    assert u == pytest.approx([2.5 * G - 900.0 * (L / 0.8 - 1) * 0.8 / L])
    assert stay.inverse_dynamics([-0.5], [0.0], [0.0]) == pytest.approx(u)
    winch = fa.Model(hanging(EA=900.0, length=0.8, input="rate"))
    assert winch.inverse_dynamics([-0.5], [0.0], [0.0]) == pytest.approx(u)
    wound = fa.simulate(winch, 0.1, q0=[-0.5], s0=[-0.1], progress=False)
    assert wound.tension.values[0, 0] == pytest.approx(900.0 * (L / 0.7 - 1))
    given = run(tendon, 0.5, q0=[-0.5], w={"rope.tension": fa.Table([0.0, 0.5], [30.0, -9.0], "linear")}, samples=6)
    assert given.tension.values[:, 0] == pytest.approx([30.0, 22.2, 14.4, 6.6, 0.0, 0.0], abs=1e-9)
    assert given.energy_drift < 1e-9


def test_the_same_in_a_file(tmp_path):
    path = tmp_path / "hanging.toml"
    path.write_text("""
name = "hanging"
gravity = [0.0, 0.0, -9.81]

[[links]]
name = "mass"
joint = { type = "prismatic", axis = [0, 0, 1] }
body = { type = "rigid", length = 0.0, mass = 2.5, com = [0, 0, 0], inertia = 0.1 }

[[cables]]
name = "rope"
points = [{ point = [0.4, 0.0, 0.3] }, { link = "mass" }]
EA = 4e3
length = 0.9
damping = 25.0
input = "rate"
""")
    arm = fa.load(path)
    assert arm == hanging(EA=4e3, length=0.9, damping=25.0, input="rate")
    assert fa.load(arm.save(tmp_path / "again.toml")) == arm == fa.Arm.from_json(arm.canonical())


GIVEN = {"name": "rope", "points": [{"point": (1, 0, 0)}, {"link": "mass"}], "stiffness": 1e3, "length": 0.5}
WRONG = [
    ({"points": [{"link": "mass"}]}, "points has 1 point; it must have two or more"),
    ({"points": [{"link": "mass"}] * 2}, "points[1] is the same as points[0]; leave one of them out"),
    ({"points": [{}, {"point": (1, 0, 0)}]}, "points are all fixed in the world; at least one must be on a link"),
    ({"points": [{"link": "mass", "point": (1, 0, 0)}, {}]},
     "points[0].point is (1.0, 0.0, 0.0), but link is given; give either link or point"),
    ({"points": [{"at": 0.5}, {"link": "mass"}]},
     "points[0].at is 0.5; a point of the world has no station: leave it out, or give link"),
    ({"stiffness": None}, "stiffness is missing; give stiffness [N/m] or EA [N]"),
    ({"EA": 3e3}, "EA and stiffness are both given; give one of them"),
    ({"length": None}, "length is missing; give the unstretched length [m]"),
    ({"length": 0.0}, "length is 0.0 m; it must be positive"),
    ({"input": "tension"}, 'stiffness is given, but with input = "tension" the tension does not depend on it'),
    ({"input": "tension", "stiffness": None, "length": None, "damping": 2.0},
     'damping is given, but with input = "tension" the tension does not depend on it'),
]  # fmt: skip


@pytest.mark.parametrize(("change", "said"), WRONG)
def test_a_wrong_cable_is_refused_in_one_line(change, said):
    with pytest.raises(fa.DescriptionError) as caught:
        fa.Cable(**(GIVEN | change))
    assert str(caught.value) == f"Cable: {said}"


def test_a_cable_that_does_not_fit_its_arm_is_refused_in_one_line():
    arm = hanging(stiffness=1e3, length=0.5)
    sleeve = fa.Link(name="s", joint=fa.Telescope(free_length=0.5), body=fa.Beam(length=0.8, mass=0.5, modes={}))
    taken = (
        "cable 'rope': name is already in use, or reserved; give each link, force, contact and cable a different name"
    )
    for change, said in (
        ({"cables": [*arm.cables, *arm.cables]}, taken),
        ({"forces": [fa.Force(name="rope", link="mass")]}, taken),
        ({"cables": [fa.Cable(**(GIVEN | {"points": [{}, {"link": "arm"}]}))]},
         "cable 'rope': points[1].link is 'arm'; the links are mass"),
        ({"cables": [fa.Cable(**(GIVEN | {"points": [{}, {"link": "s", "at": 0.5}]}))], "links": [*arm.links, sleeve]},
         "cable 'rope': points[1].at is 0.5; on a telescope it must be 1 (the tip)"),
        ({"cables": [fa.Cable(**(GIVEN | {"points": [{}, {"link": "base", "at": 0.5}]}))],
          "base": fa.FreeBase(mass=1.0, inertia=1.0)},
         "cable 'rope': points[1].at is 0.5; the base has no length, so leave out at"),
    ):  # fmt: skip
        with pytest.raises(fa.DescriptionError) as caught:
            arm.replace(**change)
        assert str(caught.value).endswith(said), str(caught.value)


def test_what_a_cable_cannot_do_is_refused_in_one_line(winch):
    sensor = fa.CableTension(cable="rope")
    with pytest.raises(
        fa.DescriptionError, match=r"^CableTension: cable 'rope' has input = 'rate'; its tension depends"
    ):
        fa.outputs(winch, [sensor]).values([0.0], [0.0])
    with pytest.raises(fa.DescriptionError, match=r"^CableTension: unknown cable 'line'; .*rope"):
        fa.outputs(winch, [fa.CableTension(cable="line")])
    with pytest.raises(
        fa.DescriptionError, match=r"closed forms do not include cables; use arm.replace\(cables=\(\)\)"
    ):
        fa.equations(winch.arm)
    with pytest.raises(fa.DescriptionError, match=r"keep has 'tension', which an arm without cables does not have"):
        fa.simulate(fa.load("subudhi-morris"), 0.1, save=fa.SaveAt(keep=["tension"]), progress=False)
    with pytest.raises(fa.SimulationError, match=r"the whole length of cable 'rope', 0\.9 m"):
        fa.simulate(winch, 2.0, w={"rope.rate": -1.0}, progress=False)  # 0.9 m are wound up after 0.9 s
