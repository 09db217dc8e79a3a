"""A policy that learns to stop a swinging arm: the cross-entropy method over hundreds of arms at once, in NumPy alone.

    python examples/learn_to_stop.py [generations]

Two flexible links swing, with a payload that is another in each episode; the policy sees encoders, tachometers and the
bending of the links, all with noise, and moves two torques. Each generation tries 64 policies on 6 arms each. What
comes out is compared with no control, with a joint PD and with an LQR that knows the state, the best of some of each.
"""

import sys

import control
import numpy as np

import flexarm as fa
from flexarm import style
from flexarm.gymnasium import ArmVectorEnv
from flexarm.plots import save_figure

PERIOD, STEPS, LIMIT = 0.05, 120, np.array([0.2, 0.1])
POLICIES, ARMS, ELITE, HIDDEN = 64, 6, 8, 8
TESTED = 64

links = ("upper", "fore")
sensors = [fa.Encoder(coordinate=f"{link}.drive", noise=1e-4) for link in links]
sensors += [fa.Tachometer(coordinate=f"{link}.drive", noise=1e-3) for link in links]
sensors += [fa.StrainGauge(link=link, noise=1e-3) for link in links]


def made(count):
    """So many arms that swing."""
    return ArmVectorEnv(
        count,
        "Suppress",
        arm="subudhi-morris",
        sensors=sensors,
        period=PERIOD,
        duration=PERIOD * STEPS,
        limit=LIMIT,
        randomise={"payload.mass": {"type": "uniform", "low": 0.0, "high": 0.2}},
    )


def episodes(envs, seeds, act):
    """Returns (N,), and errors of the tip (STEPS, N) [m]; `act` gives actions (N, 2) for what is seen, and states."""
    seen, _ = envs.reset(seed=seeds)
    total, going, errors = np.zeros(envs.num_envs), np.ones(envs.num_envs, dtype=bool), []
    for _ in range(STEPS):
        seen, reward, terminated, truncated, told = envs.step(act(seen, envs.states))
        total += np.where(going, reward, 0.0)
        errors.append(told["error"])
        going &= ~(terminated | truncated)
    return total, np.array(errors)


# -- the policy: one hidden layer, for many sets of weights at once ----------------------------------------------------


def shapes(inputs, outputs):
    return [(inputs, HIDDEN), (HIDDEN,), (HIDDEN, outputs)]


def policy(theta, scale, outputs):
    """Actions for weights theta (P, k): what is seen comes in rows, those of one policy after another."""
    sizes = shapes(len(scale), outputs)
    cuts = np.cumsum([np.prod(size) for size in sizes])[:-1]
    parts = [x.reshape(len(theta), *size) for x, size in zip(np.split(theta, cuts, axis=1), sizes, strict=True)]

    def act(seen, _):
        x = (seen / scale).reshape(len(theta), -1, len(scale))
        hidden = np.tanh(x @ parts[0] + parts[1][:, None])
        return np.tanh(hidden @ parts[2]).reshape(len(seen), -1)

    return act


def learned(generations, seed=1):
    """The mean of the last policies, and of each generation the median return of all and of the best."""
    rng, envs = np.random.default_rng(seed), made(POLICIES * ARMS)
    outputs = envs.single_action_space.shape[0]
    seen = [envs.reset(seed=seed)[0]] + [envs.step(envs.action_space.sample() * 0.0)[0] for _ in range(20)]
    scale = np.concatenate(seen).std(axis=0)
    size = sum(int(np.prod(each)) for each in shapes(len(scale), outputs))
    mean, deviation, curve = np.zeros(size), np.full(size, 0.5), []
    for generation in range(generations):
        theta = mean + deviation * rng.normal(size=(POLICIES, size))
        seeds = [int(x) for x in np.tile(rng.integers(2**31, size=ARMS), POLICIES)]  # the same arms for all
        found = episodes(envs, seeds, policy(theta, scale, outputs))[0].reshape(POLICIES, ARMS).mean(axis=1)
        best = theta[np.argsort(found)[-ELITE:]]
        mean, deviation = best.mean(axis=0), best.std(axis=0) + 0.1 * 0.97**generation
        curve.append((float(np.median(found)), float(found.max())))
    return policy(mean[None], scale, outputs), np.array(curve)


# -- what it is compared with ------------------------------------------------------------------------------------------


def lqr(envs, expense):
    """The LQR of the arm with the mean payload, for squares of the reward's errors; it knows the state."""
    model = envs.model.at({"payload.mass": 0.1})
    n, tip = model.nv, [fa.TipPosition(axes="xy"), fa.TipVelocity(axes="xy")]
    plant = model.linearize(np.zeros(n), np.zeros(n), np.zeros(2), tip).sample(PERIOD)
    C = np.diag([1.0, 1.0, 0.3, 0.3]) @ np.asarray(plant.C) / 0.02
    K, _, _ = control.dlqr(plant.A, plant.B * LIMIT, C.T @ C + 1e-3 * np.eye(2 * n), expense * np.eye(2))
    return lambda seen, states: -states @ np.asarray(K).T


def pd(stiff, damped):
    """Springs and dampers at the joints, the fore one half as strong."""
    return lambda seen, _: -(stiff * seen[:, :2] + damped * seen[:, 2:4]) * [1.0, 0.5] / LIMIT


def best(laws):
    """The law with the highest return on arms that are not those of the test."""
    envs = made(TESTED)
    return max(laws, key=lambda law: episodes(envs, 500, law)[0].mean())


def figure(curve, results):
    """The learning curve, and the tip's error in the test."""
    drawn = style.figure(8.0, 3.4, layout="constrained")
    left, right = drawn.subplots(1, 2)
    for i, name in enumerate((f"median of {POLICIES} policies", "best of them")):
        left.plot(1 + np.arange(len(curve)), curve[:, i], **style.curve(i), label=name)
    left.set(xlabel="generation", ylabel="return of an episode", ylim=(-500.0, 0.0))
    for i, (name, (_, errors)) in enumerate(results.items()):
        times = PERIOD * (1 + np.arange(STEPS))
        right.semilogy(times, 1e3 * np.sqrt(np.mean(errors**2, axis=1)), **style.curve(i), label=name)
    right.set(xlabel="time [s]", ylabel=f"error of the tip, rms of {TESTED} arms [mm]")
    for axes in (left, right):
        axes.legend()
    return style.finished(drawn)


if __name__ == "__main__":
    act, curve = learned(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
    envs = made(TESTED)
    laws = {
        "no control": lambda seen, _: np.zeros((len(seen), 2)),
        "joint PD": best([pd(p, d) for p in (0.03, 0.1, 0.3, 1.0) for d in (0.03, 0.1, 0.3, 1.0)]),
        "LQR": best([lqr(envs, expense) for expense in (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)]),
        "learned": act,
    }
    results = {name: episodes(envs, 1000, law) for name, law in laws.items()}
    print(f"return of the median policy: first generation {curve[0, 0]:.0f}, last {curve[-1, 0]:.0f}")
    for name, (total, errors) in results.items():
        late = 1e3 * np.sqrt(np.mean(errors[-STEPS // 4 :] ** 2))
        print(f"{name:10}: return {total.mean():7.1f}, the tip is off by {late:6.1f} mm in the last quarter")
    save_figure(figure(curve, results), "learn-to-stop.svg")
