"""Environments for Gymnasium: what its checker and its own vectors of environments say of them, and the mechanics."""

import copy
import sys

import gymnasium
import numpy as np
import pytest
from controlled import refused
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from programs import ran

import flexarm as fa
import flexarm.gymnasium as doors
from flexarm.gymnasium import episodes, libraries
from flexarm.studies.distributions import distribution

TASKS = ("Reach", "Track", "Suppress")
NOISY = [
    fa.Encoder(coordinate="upper.drive", resolution=1e-3),
    fa.Encoder(coordinate="fore.drive", noise=1e-2),
    fa.StrainGauge(link="upper", noise=1e-3, sample_time=0.1),
    fa.Accelerometer(link="fore", noise=0.1, name="a"),
]
DRAWN = {"payload.mass": {"type": "uniform", "low": 0.05, "high": 0.2}, "*.EI": ["-20 %", "0 %", "20 %"]}


@pytest.fixture(autouse=True)
def _everything_is_said(monkeypatch):
    """Gymnasium's warnings are errors, as all are here."""
    monkeypatch.setattr(gymnasium.logger, "min_level", gymnasium.logger.WARN)


def made(task="Reach", **given):
    return gymnasium.make(f"flexarm/{task}-v0", **given).unwrapped


def played(env, seed=None, actions=None, most=10_000):
    """What is seen, rewarded and told, to the end of an episode; of zero or random actions."""
    seen, told = [env.reset(seed=seed)[0]], []
    for k in range(most):
        a = np.zeros(env.action_space.shape) if actions is None else actions[k]
        y, reward, terminated, truncated, info = env.step(a)
        seen.append(y)
        told.append((reward, terminated, truncated, info))
        if terminated or truncated:
            break
    return np.array(seen), told


def actions(env, count, seed=1, size=1.0):
    return size * np.random.default_rng(seed).uniform(-1.0, 1.0, (count, *env.action_space.shape))


# -- Gymnasium's own judgement -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("arm", ["canadarm", "subudhi-morris-elastic", "lin-lewis-beam"])
def test_the_checker_finds_nothing(task, arm):
    check_env(made(task, arm=arm, render_mode="rgb_array"))


@pytest.mark.parametrize(
    "given",
    [
        {"task": "Reach", "arm": "rigid-two-link"},
        {"task": "Suppress", "arm": "satellite"},
        {"task": "Track", "scenario": "canadarm"},
        {"task": "Reach", "sensors": NOISY, "randomise": DRAWN},
    ],
)
def test_the_checker_finds_nothing_either(given):
    check_env(made(**given))


@pytest.mark.parametrize("wrong", ["seed", "space", "reward"])
def test_the_checker_finds_what_is_wrong(wrong, monkeypatch):
    env = made(sensors=NOISY)
    if wrong == "seed":
        monkeypatch.setattr(type(env), "np_random", property(lambda self: np.random.default_rng()))
    if wrong == "space":
        env.observation_space = gymnasium.spaces.Box(-1e-9, 1e-9, env.observation_space.shape)
    if wrong == "reward":
        step = type(env).step
        monkeypatch.setattr(type(env), "step", lambda self, a: (step(self, a)[0], np.nan, *step(self, a)[2:]))
    with pytest.raises((AssertionError, UserWarning)):
        check_env(env)


def test_they_are_registered_by_an_import_and_by_name(tmp_path):
    (tmp_path / "named.py").write_text(
        "import gymnasium\n"
        "env = gymnasium.make('flexarm.gymnasium:flexarm/Reach-v0', arm='rigid-two-link', duration=0.1)\n"
        "print(env.spec.id, env.unwrapped.model.arm.name)\n"
        "envs = gymnasium.make_vec('flexarm/Track-v0', num_envs=3, arm='rigid-two-link', duration=0.1)\n"
        "print(type(envs).__name__, envs.reset(seed=1)[0].shape)\n"
    )
    shown = ran("named.py", folder=tmp_path).stdout.splitlines()
    assert shown == ["flexarm/Reach-v0 rigid-two-link", "ArmVectorEnv (3, 13)"]


def test_without_gymnasium_one_line_says_what_to_install(tmp_path):
    (tmp_path / "without.py").write_text(
        "import sys\nsys.modules['gymnasium'] = None\nimport flexarm\n"
        "try:\n    import flexarm.gymnasium\nexcept flexarm.FlexarmError as error:\n    print(error)\n"
    )
    line = "flexarm.gymnasium needs Gymnasium, which is not installed: pip install 'flexarm[gymnasium]'\n"
    assert ran("without.py", folder=tmp_path).stdout == line


# -- a vector is many of them ------------------------------------------------------------------------------------------


def same(found, wanted):
    """Infos with their masks, final ones in them; numbers up to rounding."""
    assert {*found} == {*wanted}
    for key, value in wanted.items():
        if isinstance(value, dict):
            same(found[key], value)
        elif value.dtype == object:
            for a, b in zip(found[key], value, strict=True):
                assert (a is None) == (b is None)
                if a is not None:
                    np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)
        else:
            assert found[key].dtype == value.dtype
            np.testing.assert_allclose(found[key], value, rtol=1e-8, atol=1e-10)


NOISE = {"task": "Suppress", "sensors": NOISY, "randomise": DRAWN}
DIVERGES = {"task": "Reach", "limit": [1e5, 1e-3]}


@pytest.mark.parametrize(
    ("mode", "count", "given"),
    [
        *((mode, 3, NOISE) for mode in AutoresetMode),
        (AutoresetMode.NEXT_STEP, 9, {"task": "Track", "method": "gauss4"}),
        (AutoresetMode.SAME_STEP, 2, DIVERGES),
        (AutoresetMode.DISABLED, 2, DIVERGES),
    ],
)
def test_a_vector_is_what_gymnasium_makes_of_as_many(mode, count, given, monkeypatch):
    """A vector equals as many single environments, but for the last digits: spaces, seeds, noise, resets and infos.

    Two of the settings diverge. The noise is drawn in blocks of few periods, so that blocks end within episodes.
    """
    monkeypatch.setattr(episodes, "DRAWN", 9)
    given = {"period": 0.05, "duration": 0.4, "rtol": 1e-6, **given}
    task = given.pop("task")
    ours = gymnasium.make_vec(f"flexarm/{task}-v0", num_envs=count, autoreset_mode=mode, **given)
    theirs = SyncVectorEnv([lambda: made(task, **given)] * count, autoreset_mode=mode)
    assert ours.observation_space == theirs.observation_space and ours.action_space == theirs.action_space
    assert ours.metadata == theirs.metadata
    u = actions(ours, 30)
    for begin in ({"seed": 5}, {}, {"seed": [7, *[None] * (count - 1)]}):
        (a, told), (b, others) = ours.reset(**begin), theirs.reset(**begin)
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)
        same(told, others)
        ended = np.zeros(count, dtype=bool)
        for each in u:
            found, wanted = ours.step(each), theirs.step(each)
            for a, b in zip(found[:4], wanted[:4], strict=True):
                assert a.dtype == b.dtype
                np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)
            same(found[4], wanted[4])
            now = found[2] | found[3]
            ended |= now
            if mode is AutoresetMode.DISABLED and now.any():
                (a, _), (b, _) = (each.reset(options={"reset_mask": now.copy()}) for each in (ours, theirs))
                np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)
        assert ended.all()


def test_environments_of_a_vector_differ():
    envs = doors.ArmVectorEnv(9, "Suppress", randomise=DRAWN, sensors=NOISY)
    y = envs.reset(seed=1)[0]
    assert len(np.unique(y[:, 1])) == len(np.unique(envs.parameters[:, 0])) == 9
    before = envs.states
    envs.step(np.zeros((9, 2)))
    assert (np.abs(envs.states - before).max(axis=1) > 1e-4).all()


# -- chance ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS)
def test_a_seed_is_an_episode(task):
    env, other = (made(task, sensors=NOISY, randomise=DRAWN, duration=1.0) for _ in range(2))
    u = actions(env, 100)
    first, told = played(env, 3, u)
    played(env)
    for each in (env, other):
        again, more = played(each, 3, u)
        np.testing.assert_array_equal(again, first)
        assert more == told
    assert np.abs(played(env, 4, u)[0] - first).max() > 1e-3
    assert np.abs(played(env, None, u)[0] - first).max() > 1e-3


def test_parameters_come_from_their_distributions_and_move_the_arm():
    """Of 200 episodes, by Kolmogorov's distance; and the motion is that of the arm rebuilt with them."""
    envs = doors.ArmVectorEnv(200, "Reach", randomise=DRAWN)
    told = envs.reset(seed=1)[1]
    p, names = told["parameters"], [x.name for x in envs.model.varied]
    np.testing.assert_array_equal(p, envs.parameters)
    assert names == ["payload.mass", "upper.EI", "fore.EI"]
    mass = np.sort(p[:, 0])
    assert mass[0] >= 0.05 and mass[-1] <= 0.2
    assert np.abs((mass - 0.05) / 0.15 - (np.arange(200) + 0.5) / 200).max() < 1.63 / np.sqrt(200)  # 1 in 100
    for i in (1, 2):
        values, counts = np.unique(p[:, i], return_counts=True)
        np.testing.assert_allclose(values, envs.model.p[i] * np.array([0.8, 1.0, 1.2]), rtol=1e-12)
        assert counts.min() > 40
    assert np.abs(np.corrcoef(p.T) - np.eye(3)).max() < 0.25
    again = envs.reset()[1]["parameters"]
    assert (again != p).any(axis=1).all()


def test_the_arm_of_an_episode_is_the_one_with_its_parameters():
    env = made("Suppress", randomise=DRAWN, duration=1.0, rtol=1e-8)
    env.reset(seed=2)
    x, p, n = env.state, env.parameters, env.model.nq
    u = actions(env, 20, size=0.3)
    for each in u:
        env.step(each)
    period = env.period
    drive = fa.Piecewise(period * np.arange(20), env.limit * u)
    given = {
        "q0": x[:n],
        "qd0": x[n:],
        "u": drive,
        "samples": 3,
        "progress": False,
        "rtol": 1e-10,
        "solver": fa.Solver(atol=1e-12),
    }
    moved = []
    for each in (p, env.model.p):
        run = fa.simulate(env.model.at(each), 20 * period, **given)
        moved.append(np.r_[run.q.values[-1], run.qd.values[-1]])
    np.testing.assert_allclose(env.state, moved[0], rtol=1e-5, atol=1e-7)
    assert np.abs(env.state - moved[1]).max() > 1e-3


def test_noise_resolution_and_sample_times_are_those_of_the_sensors():
    env = made("Suppress", sensors=NOISY, period=0.05, duration=20.0, amplitude=1e-9, limit=1e-12)
    y, _ = played(env, 1)
    assert env.names == ("upper_drive", "fore_drive", "upper_moment_y_0", "a_x", "a_y", "a_z")[: len(env.names)]
    assert len(y) == 401
    np.testing.assert_allclose(y[:, 0] / 1e-3, np.round(y[:, 0] / 1e-3), atol=1e-9)
    deviation = y[:, 1].std()
    assert 0.88e-2 < deviation < 1.12e-2  # 3.3 of its own deviations
    np.testing.assert_array_equal(y[0:400:2, 2], y[1:400:2, 2])
    assert len(np.unique(y[:, 2])) == 201
    assert abs(np.corrcoef(y[:-1, 1], y[1:, 1])[0, 1]) < 0.17  # white


# -- mechanics ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arm", ["canadarm", "subudhi-morris-elastic", "rigid-two-link"])
def test_without_control_the_energy_is_that_of_a_run(arm):
    """Of an arm that begins in motion or bent; canadarm has no damping: it stays."""
    model = fa.Model(fa.load(arm))
    initial = {"q": {model.coordinates[0]: 0.3, model.coordinates[-1]: 0.01}, "qd": {model.velocities[0]: 0.2}}
    scenario = fa.Scenario(name="loose", arm=fa.load(arm), until=2.0, initial=initial)
    env = made("Reach", scenario=scenario, period=0.02, rtol=1e-9)
    env.reset(seed=1)
    held = {"u": -env.holding / env.limit} if arm == "rigid-two-link" else {"u": np.zeros(len(env.limit))}
    n, energies = model.nq, []
    for _ in range(100):
        env.step(np.clip(held["u"], -1.0, 1.0))
        energies.append(sum(model.energy(env.state[:n], env.state[n : 2 * n])))
    u = env.holding + env.limit * np.clip(held["u"], -1.0, 1.0)
    run = fa.simulate(model, 2.0, **{k: scenario.arguments(model)[k] for k in ("q0", "qd0")}, u=u, samples=101,
                      solver=fa.Solver(rtol=1e-10, atol=1e-12), progress=False)  # fmt: skip
    wanted = sum(model.energy(run.q.values, run.qd.values))[1:]
    np.testing.assert_allclose(energies, wanted, rtol=1e-6, atol=1e-9)
    if arm == "canadarm":
        np.testing.assert_allclose(energies, energies[0], rtol=1e-6)


def test_under_gravity_no_action_holds_the_arm():
    env = made("Reach", arm="spatial-6r", duration=0.5)
    y, told = played(env, 1)  # rounding errors of the fastest modes grow to the absolute tolerance, 1e-7
    np.testing.assert_allclose(y, np.tile(y[0], (len(y), 1)), atol=1e-6)
    assert np.abs(env.holding).max() > 100.0
    assert told[-1][3]["error"] == pytest.approx(told[0][3]["error"], abs=1e-7)


@pytest.mark.parametrize("task", TASKS)
def test_rewards_are_what_they_are_said_to_be(task):
    """From states, by the model's own tip and its slope, a step of time apart."""
    env = made(task, arm="canadarm", duration=20.0, weights=[2.0, 0.3, 0.7])
    env.reset(seed=4)
    length = 0.02 * 15.0 if task == "Suppress" else 1.5
    scale = 1.0 / env.model.frequencies(np.zeros(9))[0] if task == "Suppress" else 4.0
    for k, a in enumerate(actions(env, 60, size=0.02), 1):
        y, reward, _, _, info = env.step(a)
        q, qd = np.split(env.state, 2)
        there, ahead, behind = (env.model.tip(q + h * qd)[:3, 3] for h in (0.0, 1e-6, -1e-6))
        velocity = (ahead - behind) / 2e-6
        wanted, rate = np.array([15.0, 0.0, 0.0]), np.zeros(3)
        if task != "Suppress":
            wanted = y[len(y) - 3 * (1 + (task == "Track")) :][:3]
        if task == "Track":
            rate = y[-3:]
        error, speed = np.linalg.norm(there - wanted), np.linalg.norm(velocity - rate)
        assert info["error"] == pytest.approx(error, abs=1e-9)
        assert info["speed"] == pytest.approx(speed, abs=1e-7)
        cost = 2.0 * error / length + 0.3 * speed * scale / length + 0.7 * np.mean(a**2)
        assert info["effort"] == pytest.approx(np.mean(a**2))
        assert reward == pytest.approx(-min(cost, 5.0), rel=1e-6), k
        assert info["success"] == (error < 0.1 * length and speed * scale < 0.1 * length)


def test_goals_are_within_reach_and_ways_lead_to_them():
    """The tip that is wanted is that of the stiff arm; its velocity is the slope of its way."""
    env = made("Track", arm="canadarm", spread=0.7, duration=10.0)
    y, _ = played(env, 8)
    way, rate = y[:, -6:-3], y[:, -3:]
    np.testing.assert_allclose(way[0], [15.0, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(np.gradient(way, env.period, axis=0)[1:-1], rate[1:-1], atol=2e-3 * np.abs(rate).max())
    np.testing.assert_allclose(way[61:], np.tile(way[-1], (40, 1)), atol=1e-9)
    assert not rate[61:].any() and np.linalg.norm(way[-1] - way[0]) > 0.5
    envs = doors.ArmVectorEnv(300, "Reach", arm="lin-lewis-beam", spread=0.7)
    goals = envs.reset(seed=1)[0][:, -3:]
    angles = np.arctan2(goals[:, 1], goals[:, 0])
    assert np.abs(angles).max() < 0.7 and angles.max() > 0.66 and angles.min() < -0.66
    np.testing.assert_allclose(np.linalg.norm(goals, axis=1), 1.1938, rtol=1e-6)


def test_a_scenario_gives_its_reference_its_time_and_its_beginning():
    scenario = fa.load_scenario("canadarm")
    env = made("Track", scenario="canadarm")
    assert (env.duration, env.model.arm.name) == (pytest.approx(10.0), "canadarm")
    y, _ = played(env)
    reference = scenario.motion(env.model)
    from flexarm.trajectory.reference import reference_values

    joints = reference_values(reference, env.period * np.arange(len(y)))
    q = np.zeros((len(y), 9))
    q[:, list(env.model.arm.joints)] = joints
    np.testing.assert_allclose(y[:, -6:-3], env.model.tip(q)[:, :3, 3], atol=1e-9)
    pushed = fa.Scenario(
        name="x", arm="canadarm", until=1.0, disturbance={"tip.fy": 10.0}, initial={"q": {"fore.joint": 0.5}}
    )
    still = fa.Scenario(name="x", arm="canadarm", until=1.0, initial={"q": {"fore.joint": 0.5}})
    states = []
    for each in (pushed, still):
        env = made("Reach", scenario=each)
        assert env.reset(seed=1)[0][1] == pytest.approx(0.5)
        env.step(np.zeros(3))
        states.append(env.state)
    assert np.abs(states[0] - states[1]).max() > 1e-6 and np.abs(states[1][9:]).max() < 1e-9


def test_an_arm_swings_as_far_as_asked_in_its_slowest_modes():
    envs = doors.ArmVectorEnv(100, "Suppress", arm="lin-lewis-beam", amplitude=0.05)
    envs.reset(seed=1)
    q, qd = np.split(envs.states, 2, axis=1)
    omega, modes = envs.model.modes(np.zeros(3))
    M = envs.model.mass_matrix(np.zeros(3))
    a, b = (modes.T @ M @ x.T for x in (q, qd))
    size = np.hypot(a, b / omega[:, None]) * np.abs(modes[-2:].sum(axis=0))[:, None]
    assert size.shape[0] == 2 and not q[:, 0].any() and not qd[:, 0].any()
    tip = np.array([envs.model.tip(np.r_[0.0, 1e-6 * mode[1:]])[1, 3] / 1e-6 for mode in modes.T])
    first = np.hypot(a[0], b[0] / omega[0]) * abs(tip[0])
    assert 0.0249 < first.min() < 0.03 and 0.047 < first.max() < 0.0501
    phases = np.sort(np.arctan2(b[0] / omega[0], a[0]))
    assert np.abs((phases + np.pi) / (2 * np.pi) - (np.arange(100) + 0.5) / 100).max() < 0.163


# -- how episodes end --------------------------------------------------------------------------------------------------


def test_time_is_over_after_the_duration():
    _, told = played(made(period=0.05, duration=0.5, limit=1e-6), 1)
    assert [each[1:3] for each in told] == [(False, False)] * 9 + [(False, True)]


@pytest.mark.parametrize(("limit", "why"), [(100.0, "bent"), (1e18, "diverged")])
def test_it_ends_where_the_arm_bends_too_far_or_the_motion_is_none(limit, why):
    """What is left of the time costs the most; numbers stay numbers, and the next episode begins as any."""
    env = made(period=0.05, duration=5.0, limit=limit)
    y, told = played(env, 1, np.ones((100, 2)))
    *before, (reward, terminated, truncated, info) = told
    assert terminated and not truncated and len(told) < 20
    assert reward == -5.0 * (1 + 100 - len(told)) and all(-5.0 <= each[0] for each in before)
    assert np.isfinite(y).all() and np.isfinite([*info.values()]).all()
    bent = np.linalg.norm(env.model.deflections(env.state[:6])[:, 1:3], axis=1)
    assert (bent.max() > 0.25) == (why == "bent")
    np.testing.assert_array_equal(played(env, 1)[0], played(made(period=0.05, duration=5.0, limit=limit), 1)[0])


def test_an_arm_that_cannot_be_moved_stays_and_the_others_go_on():
    envs = doors.ArmVectorEnv(9, "Suppress", limit=1e18, rtol=1e-6)
    envs.reset(seed=1)
    before, a = envs.states, np.zeros((9, 2))
    a[[2, 8]] = 1.0
    _, _, terminated, _, _ = envs.step(a)
    np.testing.assert_array_equal(np.flatnonzero(terminated), [2, 8])
    np.testing.assert_array_equal((envs.states == before).all(axis=1), terminated)
    alone = doors.ArmVectorEnv(9, "Suppress", limit=1e18, rtol=1e-6)
    alone.reset(seed=1)
    alone.step(np.zeros((9, 2)))
    np.testing.assert_array_equal(envs.states[~terminated], alone.states[~terminated])


# -- pictures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arm", ["canadarm", "lin-lewis-azimuth-elevation"])
def test_a_picture_shows_the_arm(arm):
    env = made("Reach", arm=arm, render_mode="rgb_array", duration=5.0, randomise={"payload.mass": [1.0, 2.0]})
    env.reset(seed=1)
    first = env.render()
    assert first.shape == (400, 400, 3) and first.dtype == np.uint8
    np.testing.assert_array_equal(env.render(), first)
    for _ in range(30):
        env.step(np.ones(env.action_space.shape))
    assert (env.render() != first).any(axis=-1).sum() > 200
    assert made("Reach", arm=arm).render() is None
    envs = gymnasium.make_vec("flexarm/Reach-v0", num_envs=2, arm=arm, render_mode="rgb_array")
    envs.reset(seed=1)
    pictures = envs.render()
    assert len(pictures) == 2 and (pictures[0] != pictures[1]).any()


# -- what is refused ---------------------------------------------------------------------------------------------------

OUTSIDE = fa.Scenario(
    name="moved",
    arm=fa.load("subudhi-morris").replace(forces=[fa.Force(name="push", link="fore")]),
    until=1.0,
    outside={"push.fx": 1.0},
)
MADE = {
    "task": ({"task": "Fly"}, r"ArmEnv: task is 'Fly'; it must be one of Reach, Track, Suppress"),
    "arm": ({"arm": 3}, r"ArmEnv: arm is 3; it must be the name of a bundled arm, a path, an Arm or a Model"),
    "name": ({"arm": "canadam"}, r".*canadam.*"),
    "both": ({"arm": "canadarm", "scenario": "canadarm"}, r"ArmEnv: arm and scenario exclude each other; .*"),
    "own": ({"amplitude": 0.1}, r"ArmEnv: Reach has no options amplitude; it has spread"),
    "spread": ({"spread": -1.0}, r"Reach: spread is -1\.0 rad; it must be positive"),
    "amplitude": ({"task": "Suppress", "amplitude": 9.0}, r"Suppress: amplitude is 9\.0 m; it must be less than .*"),
    "rigid": ({"task": "Suppress", "arm": "rigid-two-link"}, r"Suppress: arm 'rigid-two-link' has no vibration .*"),
    "period": ({"period": 0.0}, r"ArmEnv: period is 0\.0 s; it must be positive"),
    "duration": (
        {"period": 0.1, "duration": 0.1},
        r"ArmEnv: duration is 0\.1 s; an episode must have at least two periods .*",
    ),
    "limit": ({"limit": [1.0] * 3}, r"ArmEnv: limit has shape \(3,\); it must be one number, or 2, one per input"),
    "negative": ({"limit": -1.0}, r"ArmEnv: limit is -1\.0; it must be positive"),
    "weights": (
        {"weights": [1.0]},
        r"ArmEnv: weights has 1 number; it must have 3: for the error, its velocity .*",
    ),
    "weight": ({"weights": [1.0, -1.0, 0.0]}, r"ArmEnv: weights\[1\] is -1\.0; it must be zero or positive"),
    "rtol": ({"rtol": 0.0}, r"ArmEnv: rtol is 0\.0; it must be positive"),
    "method": ({"method": "leapfrog"}, r"Stepper: method is 'leapfrog'; it must be auto, dop853, .*"),
    "sensors": ({"sensors": []}, r".*sensors is \[\]; it must be a list of sensors"),
    "time": ({"period": 0.02, "sensors": NOISY[2:3], "duration": 1.0}, None),
    "odd": (
        {"period": 0.03, "sensors": NOISY[2:3]},
        r"ArmEnv: sensors has a StrainGauge with a sample_time of 0\.1 s; .*",
    ),
    "dict": ({"randomise": [1.0]}, r"ArmEnv: randomise is \[1\.0\]; it must be a dict of distributions by names .*"),
    "none": (
        {"randomise": {"payload.mess": [1.0]}},
        r"vary: unknown parameter 'payload\.mess'; did you mean 'payload\.mass'.*",
    ),
    "impossible": (
        {"randomise": {"payload.mass": [0.0, 0.2]}},
        r"ArmEnv: randomise: some values are not possible: payload\.mass is 0\.0 kg; it must be positive",
    ),
    "below zero": (
        {"randomise": {"payload.mass": {"type": "uniform", "low": -0.01, "high": 1.0}}},
        r"ArmEnv: randomise: some values are not possible: payload\.mass is -0\.0.* kg; it must be positive",
    ),
    "drawn": ({"randomise": {"payload.mass": "big"}}, r"ArmEnv: randomise: payload\.mass is big; it must be .*"),
    "low": (
        {"randomise": {"*.EI": {"type": "uniform", "low": 1, "high": 0}}},
        r"ArmEnv: randomise: \*\.EI\.high is 0 .*",
    ),
    "outside": (
        {"scenario": OUTSIDE},
        r"ArmEnv: scenario 'moved' has exogenous inputs, which environments do not support; .*",
    ),
    "render": ({"render_mode": "human"}, r"ArmEnv: render_mode is 'human'; it must be 'rgb_array' or None"),
    "render twice": ({"render_mode": np.zeros(2)}, r"ArmEnv: render_mode is array.*; it must be 'rgb_array' or None"),
}


@pytest.mark.parametrize("name", MADE)
def test_what_no_environment_is_made_of(name):
    given, line = MADE[name]
    if line is None:
        doors.ArmEnv(**given)
        return
    with refused(line):
        doors.ArmEnv(**given)
    with refused(line):
        doors.ArmVectorEnv(2, **given)


def test_what_no_vector_is_made_of():
    with refused(r"ArmVectorEnv: num_envs is 0; it must be .*"):
        doors.ArmVectorEnv(0)
    with refused(r"ArmVectorEnv: autoreset_mode is 'never'; it must be one of 'NextStep', 'SameStep', 'Disabled'"):
        doors.ArmVectorEnv(1, autoreset_mode="never")
    model = fa.Model(fa.load("subudhi-morris"), vary=["payload.mass"])
    with refused(
        r"ArmEnv: randomise: the model has no variable parameter 'upper\.EI'; the parameters that vary are "
        r"payload\.mass"
    ):
        doors.ArmEnv(arm=model, randomise={"upper.EI": [1.0]})
    moved = fa.Scenario(name="x", arm="subudhi-morris", until=1.0)
    assert doors.ArmEnv(scenario=moved).model.arm.name == "subudhi-morris"


@pytest.mark.parametrize(
    ("action", "line"),
    [
        ([0.1], r"ArmEnv: action has shape \(1,\); it must be \(2,\)"),
        ("up", r"ArmEnv: action is 'up'; it must be numbers"),
        ([0.1, np.nan], r"ArmEnv: action contains NaN or infinity"),
    ],
)
def test_what_is_no_action(action, line):
    env = made()
    env.reset(seed=1)
    before = env.state
    with refused(line):
        env.step(action)
    np.testing.assert_array_equal(env.state, before)


def test_an_episode_begins_with_a_reset():
    env = doors.ArmEnv("Reach", arm="rigid-two-link", duration=0.1, render_mode="rgb_array")
    envs = doors.ArmVectorEnv(2, "Reach", arm="rigid-two-link", duration=0.1, render_mode="rgb_array")
    for each, name in ((env, "ArmEnv"), (envs, "ArmVectorEnv")):
        with pytest.raises(gymnasium.error.ResetNeeded, match=f"{name}: call reset before step"):
            each.step(np.zeros(each.action_space.shape))
        with pytest.raises(gymnasium.error.ResetNeeded, match=f"{name}: call reset before render"):
            each.render()
        each.reset(seed=1)
        each.step(np.zeros(each.action_space.shape))
        assert np.shape(each.render())[-3:] == (400, 400, 3)


def test_a_copy_is_another_arm_in_the_same_state():
    """As a search tries actions: what one does moves nothing of the other, noise included."""
    env = made("Suppress", sensors=NOISY, randomise=DRAWN, duration=1.0)
    env.reset(seed=1)
    env.step(np.zeros(2))
    before, other = env.state, copy.deepcopy(env)
    u = actions(env, 5)
    ways = [np.array([each.step(a)[0] for a in u]) for each in (other, env)]
    np.testing.assert_array_equal(*ways)
    assert np.abs(env.state - before).max() > 1e-4


def test_an_action_beyond_its_range_is_the_end_of_the_range():
    env = made(arm="rigid-two-link", duration=0.2)
    ways = []
    for action in ([5.0, -7.0], [1.0, -1.0]):
        env.reset(seed=1)
        told = env.step(np.array(action))
        ways.append([*told[0], told[1], told[4]["effort"]])
    np.testing.assert_array_equal(*ways)


def test_what_ends_in_its_last_period_has_ended_and_is_not_over():
    given, a = {"arm": "rigid-two-link", "period": 0.05, "limit": [1e18, 1e-3]}, np.ones((40, 2))
    a[:3] = 0.0
    _, told = played(made(duration=2.0, **given), 1, a)
    assert told[-1][1:3] == (True, False) and len(told) > 1
    _, again = played(made(duration=0.05 * len(told), **given), 1, a)
    assert len(again) == len(told) and again[-1][1:3] == (True, False)


def test_what_a_vector_refuses():
    envs = doors.ArmVectorEnv(3, duration=0.5, autoreset_mode="Disabled")
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset before step"):
        envs.step(np.zeros((3, 2)))
    with refused(r"ArmVectorEnv\.reset: seed is 'one'; it must be .*"):
        envs.reset(seed="one")
    with refused(r"ArmVectorEnv\.reset: seed\[1\] is -1; it must be .*"):
        envs.reset(seed=[1, -1, 2])
    with refused(r"ArmVectorEnv: 2 seeds for 3 environments; give one for each"):
        envs.reset(seed=[1, 2])
    with refused(r"ArmVectorEnv: options is \[0, 1\]; it must be a dict"):
        envs.reset(options=[0, 1])
    with refused(r"ArmVectorEnv: reset_mask is .*; it must be an array of 3 booleans"):
        envs.reset(options={"reset_mask": np.ones(2, dtype=bool)})
    envs.reset(seed=1)
    for _ in range(10):
        envs.step(np.zeros((3, 2)))
    with refused(r"ArmVectorEnv: 3 episodes ended; reset with the option reset_mask"):
        envs.step(np.zeros((3, 2)))


def test_distributions_are_those_of_studies():
    low, high = distribution(DRAWN["payload.mass"]).quantile(0.0, "kg")(np.array([0.0, 1.0]))
    assert (low, high) == (0.05, 0.2)


# -- arrays of other libraries


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_a_policy_of_another_library_shares_memory_with_the_environments(library, monkeypatch):
    """The numbers are those of NumPy's environments, and lie where the environments have written them."""
    module = pytest.importorskip(library)
    if library == "jax":
        module.config.update("jax_enable_x64", True)
    like = module.numpy.asarray if library == "jax" else module.as_tensor
    address = (lambda x: x.unsafe_buffer_pointer()) if library == "jax" else lambda x: x.data_ptr()
    given = {"num_envs": 9, "arm": "subudhi-morris", "duration": 0.15, "autoreset_mode": "NextStep"}
    envs, plain = (doors.ArmVectorEnv(task="Track", as_=name, **given) for name in (library, "numpy"))
    written, moved = [], []
    to_library, step = envs._given, envs._episodes.step

    def noted(x):
        x = libraries.aligned(x)
        written.append(x.ctypes.data)
        return to_library(x)

    monkeypatch.setattr(envs, "_given", noted)
    monkeypatch.setattr(envs._episodes, "step", lambda a, *more: moved.append(a) or step(a, *more))
    seen, _ = envs.reset(seed=3)
    expected, _ = plain.reset(seed=3)
    assert address(seen) == written[-1] and seen.shape == expected.shape
    weights = np.random.default_rng(1).normal(size=(expected.shape[1], 2))
    kept = [(seen, expected)]
    for _ in range(5):
        action = module.numpy.tanh(seen @ like(weights)) if library == "jax" else (seen @ like(weights)).tanh()
        results = envs.step(action)
        others = plain.step(np.tanh(expected @ weights))
        assert [address(x) for x in results[:4]] == written[-4:]
        assert all(type(x) is type(seen) for x in results[:4])
        kept += zip(results[:4], others[:4], strict=True)
        seen, expected = results[0], others[0]
    for x, y in kept:  # later steps have not changed them
        np.testing.assert_allclose(np.asarray(x), y, rtol=1e-9, atol=1e-12)
    assert any(np.asarray(x).any() for x, _ in kept[4::4])
    assert len(moved) == 5


def test_actions_with_a_graph_of_derivatives_are_taken():
    torch = pytest.importorskip("torch")
    env, other = doors.ArmEnv("Suppress"), doors.ArmEnv("Suppress")
    action = torch.tensor([0.3, -0.2], requires_grad=True)
    for each in (env, other):
        each.reset(seed=2)
    np.testing.assert_allclose(env.step(action)[0], other.step(action.detach().numpy())[0], rtol=1e-12)
    with pytest.raises(fa.DescriptionError, match="action is on the device meta; arms move on the CPU"):
        env.step(torch.zeros(2, device="meta"))


def test_an_unknown_library_is_refused(monkeypatch):
    with pytest.raises(
        fa.DescriptionError, match="ArmVectorEnv: as_ is 'cupy'; it must be numpy, torch, jax or dlpack"
    ):
        doors.ArmVectorEnv(as_="cupy")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(fa.errors.FlexarmError, match=r"as_='torch' needs a package .*: pip install 'flexarm\[torch\]'"):
        doors.ArmVectorEnv(as_="torch")
