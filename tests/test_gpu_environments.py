"""Environments whose arrays stay on a graphics processor, played by this one: the kernels' own LLVM IR, beside the
environments of the CPU. `test_gpu.py` computes one of them from the PTX, launched by NVIDIA's own package."""

import re

import jax
import numpy as np
import pytest
import torch
from controlled import refused
from gymnasium.vector import AutoresetMode
from host_gpu import HostGpu
from thrown_masses import MASS, TOP, thrown

import flexarm as fa
from flexarm.errors import DescriptionError
from flexarm.gymnasium import ArmVectorEnv, gpu_episodes
from flexarm.native import cuda, ptxas

N = 4
DRAWN = {"payload.mass": {"type": "uniform", "low": 0.05, "high": 0.2}, "*.EI": ["-20 %", "20 %"]}
SENSORS = [
    fa.Encoder(coordinate="upper.drive", resolution=1e-3),
    fa.StrainGauge(link="upper", sample_time=0.1),
    fa.Accelerometer(link="fore", name="a"),
]
CASES = {
    "a goal, in fixed episodes": {"task": "Reach"},
    "a path": {"task": "Track", "autoreset_mode": "SameStep"},
    "arms of their own": {"task": "Suppress", "randomise": DRAWN, "autoreset_mode": "SameStep"},
    "sensors that round and wait": {"task": "Reach", "sensors": SENSORS, "randomise": DRAWN, "limit": 20.0},
}


@pytest.fixture
def host(monkeypatch):
    """This processor in the part of the other."""
    played = HostGpu()
    monkeypatch.setattr(cuda, "device", lambda: played)
    return played


def pair(count=N, **given):
    """The same environments on both devices, and what they show first."""
    given = {"duration": 0.4, **given}
    here = ArmVectorEnv(count, **{key: x for key, x in given.items() if key not in ("real", "as_")})
    there = ArmVectorEnv(count, **{"as_": "torch", **given}, device="gpu")
    (seen, info), (found, told) = here.reset(seed=3), there.reset(seed=3)
    np.testing.assert_allclose(np.asarray(found), seen, rtol=1e-6, atol=1e-9)
    assert info.keys() == told.keys()
    return here, there


def beside(here, there, steps, real="double", size=1.0, error=1e-11):
    """Both advance under random actions. Return how many episodes ended in each way."""
    kind = torch.float64 if real == "double" else torch.float32
    rng, ends = np.random.default_rng(4), np.zeros(2, dtype=int)
    for _ in range(steps):
        a = size * rng.uniform(-1, 1, here.action_space.shape)
        *seen, info = here.step(a)
        *found, told = there.step(torch.from_numpy(a).to(kind))
        for x, y in zip(seen[:2], found[:2], strict=True):
            assert y.dtype == kind
            assert np.abs(x - y.numpy()).max() < error * max(1.0, np.abs(x).max())
        for x, y in zip(seen[2:], found[2:], strict=True):
            assert y.dtype == torch.bool
            np.testing.assert_array_equal(x, y.numpy())
        ends += seen[2].sum(), seen[3].sum()
        np.testing.assert_array_equal(there.parameters, here.parameters)
        for name in ("error", "speed", "effort", "success", "parameters"):
            if name in info:
                mask = info[f"_{name}"]
                np.testing.assert_array_equal(mask & told[f"_{name}"].numpy(), mask)
                np.testing.assert_allclose(told[name].numpy()[mask], info[name][mask], rtol=1e3 * error, atol=error)
        if "final_obs" in info:
            np.testing.assert_array_equal(info["_final_obs"], told["_final_obs"].numpy())
            for i in np.flatnonzero(info["_final_obs"]):
                np.testing.assert_allclose(told["final_obs"][i].numpy(), info["final_obs"][i], rtol=1e-6, atol=1e-9)
    return ends


@pytest.mark.parametrize("name", CASES)
def test_environments_are_those_of_the_cpu(host, name):
    """Over several episodes, each with its own random numbers."""
    here, there = pair(**CASES[name])
    stopped, over = beside(here, there, 28, error=1e-9)
    assert stopped + over > 2 * N
    assert np.abs(there.states - here.states).max() < 1e-9 * np.abs(here.states).max()
    np.testing.assert_array_equal(there.parameters, here.parameters)
    assert there.names == here.names
    if "sensors" in CASES[name]:
        assert stopped > 0, "some bend too far"


def test_a_free_base_and_a_reference_of_a_scenario(host):
    """The base has a pose with one number more than rates; the target follows a table.

    The motion of the scenario amplifies rounding: on the CPU, actions that differ by 1e-15 change an observation by
    3e-4 within five periods.
    """
    scenario = fa.load_scenario("canadarm")
    for error, given in (
        (1e-9, {"arm": "canadarm-free", "method": "tsit5"}),
        (1e-4, {"scenario": scenario, "method": "dop853"}),
    ):
        here, there = pair(2, task="Track", duration=0.6, **given)
        target = here._episodes.wanted[0].copy()
        beside(here, there, 5, error=error)
        assert np.abs(here._episodes.wanted[0] - target).max() > 1e-4


def test_numbers_of_32_bits(host):
    here, there = pair(real="float", task="Track")
    beside(here, there, 6, "float", error=2e-4)
    with refused(r"ArmVectorEnv: action has numbers of type float64; with real='float' it must be float32, .*"):
        there.step(torch.zeros(N, 2, dtype=torch.float64))


def test_a_step_is_one_launch_and_no_state_comes_to_the_host(host, monkeypatch):
    """Only how many episodes have begun is read, before an environment could lack a beginning."""
    fetched, get = [], host.get

    def counted(memory, values):
        fetched.append(values.shape)
        get(memory, values)

    _, there = pair()
    once, _ = len(host.launched), monkeypatch.setattr(host, "get", counted)
    policy = torch.nn.Linear(there.single_observation_space.shape[0], 2).double()
    seen = first = there.reset()[0]
    before = first.clone()
    for _ in range(30):
        seen, reward, *_ = there.step(policy(seen).tanh())  # with its graph of derivatives
    assert [each[:2] for each in host.launched[once:]] == [("environments", N)] * 31
    assert {*fetched} == {(N,)}
    assert len(fetched) < 8
    assert torch.equal(first, before), "results never change"
    assert seen.data_ptr() != first.data_ptr()
    assert reward.shape == (N,)


def test_more_episodes_than_are_prepared(host, monkeypatch):
    """Two periods an episode, in both modes, beyond the end of the ring of beginnings."""
    monkeypatch.setattr(gpu_episodes, "AHEAD", 3)
    for mode in ("NextStep", "SameStep"):
        here, there = pair(task="Suppress", randomise=DRAWN, duration=0.1, autoreset_mode=mode)
        _, over = beside(here, there, 25, error=1e-9)
        assert over > 7 * N


def test_some_begin_again_with_seeds_of_their_own(host):
    here, there = pair()
    beside(here, there, 3, error=1e-9)
    mask = np.array([True, False, True, False])
    for seed in (None, [7, None, None, 8]):
        options = {"reset_mask": mask}
        x, y = (env.reset(seed=seed, options=options)[0] for env in (here, there))
        np.testing.assert_allclose(y.numpy(), x, rtol=1e-9, atol=1e-9)
        beside(here, there, 14, error=1e-9)


def test_an_action_that_is_no_number_ends_its_episode_alone(host):
    here, there = pair()
    a = torch.full((N, 2), 0.1, dtype=torch.float64)
    expected = here.step(a.numpy())
    a[1, 0] = torch.nan
    found = there.step(a)
    assert found[2].tolist() == [False, True, False, False]
    assert found[1][1] == -5.0 * here._episodes.ground.steps
    for i in (0, 2, 3):
        np.testing.assert_allclose(found[0][i].numpy(), expected[0][i], rtol=1e-12, atol=1e-12)
    there.step(torch.zeros(N, 2, dtype=torch.float64))  # begins again
    assert torch.isfinite(there.step(torch.zeros(N, 2, dtype=torch.float64))[1]).all()


def test_a_motion_that_cannot_be_computed_ends_its_episode(host):
    """As on the CPU, the arm stays where it was."""
    here, there = pair(limit=1e300, task="Reach")
    assert beside(here, there, 2)[0] == N


OWN_STOPS = {"a.drive.stops.upper": [TOP - 0.02, TOP], "a.length": [0.2, 0.3]}
SHORT_CONTACTS = {
    "stops of their own": (thrown("stop"), {"randomise": OWN_STOPS}),
    "a sharp stop": (thrown("stop", sharp=True), {"method": "rk45"}),
    "a wall": (thrown("wall"), {"method": "rk45"}),
    "a cable": (thrown("cable"), {}),
    "numbers of 32 bits": (thrown("stop"), {"randomise": OWN_STOPS, "real": "float"}),
}


@pytest.mark.parametrize("name", SHORT_CONTACTS)
def test_no_step_passes_over_a_short_contact(host, name):
    """Masses turn back just beyond a stop, a wall or the length of a cable, in the middle of a period."""
    model, more = SHORT_CONTACTS[name]
    acceleration, given = 9.0, {"method": "dop853", "period": 0.4, "limit": 9.0 * MASS, "duration": 1.6}
    here, there = pair(arm=model.arm, **given | more)
    free = ArmVectorEnv(N, arm=thrown("nothing").arm, **given)
    free.reset(seed=3)
    height = TOP + 10 ** np.linspace(-2.5, -1.5, N)  # acceleration period^2 (a + a^2) / 2 for the first action a
    first = np.sqrt(0.25 + 2.0 * height / (acceleration * given["period"] ** 2)) - 0.5
    kind = torch.float32 if more.get("real") == "float" else torch.float64
    for a in (first[:, None], np.full((N, 1), -1.0)):
        here.step(a)
        free.step(a)
        there.step(torch.from_numpy(a).to(kind))
    assert np.abs(here.states - free.states).max(axis=1).min() > 0.1, "the contacts matter"
    assert np.abs(there.states - here.states).max() < (1e-6 if kind is torch.float64 else 2e-3)


@pytest.mark.parametrize("real", ["double", "float"])
def test_the_assembler_takes_the_kernel(host, real):
    """Motion, sensors, reward and new episodes in one program, without calls and without spills of floats."""
    _, there = pair(real=real, method="rk45", rtol=1e-4)
    text = cuda.text(*there._there._episodes.program(), real)
    assert not re.search(r"\.func|\bcall\b|\.extern", text)
    (found,) = ptxas.resources(text, "sm_90")
    assert found.name == "environments"
    assert found.resident(128) >= 256
    assert ("f64" in text) == (real == "double")
    if real == "float":
        assert found.stores == 0


def test_arrays_of_jax_and_of_no_library(host):
    _, there = pair(as_="jax")
    with jax.enable_x64(True):
        seen, reward, stopped, over, info = there.step(jax.numpy.zeros((N, 2)))
    assert isinstance(seen, jax.Array)
    assert (seen.shape, reward.shape, stopped.dtype, info["success"].dtype) == ((N, 6 + 6), (N,), bool, bool)
    _, there = pair(as_="dlpack")
    found = there.step(np.zeros((N, 2)))[3]
    assert np.from_dlpack(found).dtype == bool


REFUSED = {
    "arrays of NumPy": ({"as_": "numpy"}, "as_ is 'numpy', whose arrays are on the CPU; with device='gpu' it must be"),
    "no such device": ({"device": "tpu"}, "device is 'tpu'; it must be cpu or gpu"),
    "no such numbers": ({"real": "half"}, "real is 'half'; it must be double or float"),
    "mixed numbers": ({"real": "mixed"}, "real is 'mixed'; it must be double or float"),
    "floats of the CPU": ({"device": "cpu", "real": "float"}, "real is 'float'; on the CPU it must be 'double'"),
    "pictures": ({"render_mode": "rgb_array"}, "device is 'gpu', which does not support render_mode; use the CPU"),
    "no new episodes": ({"autoreset_mode": AutoresetMode.DISABLED}, "does not support autoreset_mode 'Disabled'"),
    "noise": ({"sensors": [fa.Encoder(coordinate="upper.drive", noise=0.1)]}, "noise of sensors needs the CPU"),
    "an implicit method": (
        {"method": "radau5"},
        r"needs an explicit method, not 'radau5' \(.*\); give method='dop853'",
    ),
    "floats with a small tolerance": (
        {"real": "float", "rtol": 1e-7},
        r"in 32 bits \(real='float'\) need an rtol of at least",
    ),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_refused(host, why):
    given, message = REFUSED[why]
    with refused(f".*{message}.*"):
        ArmVectorEnv(N, **{"as_": "torch", "device": "gpu", **given})


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (torch.zeros(N, 3, dtype=torch.float64), r"action has shape \(4, 3\); it must be \(4, 2\)"),
        ([[0.0, 0.0]] * N, "device is 'gpu', but the action is not; it must be an array there with DLPack"),
        (None, "device is 'gpu', but the action is not"),
    ],
)
def test_what_is_no_action(host, action, message):
    _, there = pair()
    with refused(f"ArmVectorEnv: {message}.*"):
        there.step(action)


def test_without_a_graphics_processor_one_line_says_so(monkeypatch):
    def none():
        raise DescriptionError("device is 'gpu'; no graphics processor of NVIDIA's can be used here")

    monkeypatch.setattr(cuda, "device", none)
    with refused("device is 'gpu'; no graphics processor of NVIDIA's can be used here"):
        ArmVectorEnv(N, device="gpu", as_="torch")
