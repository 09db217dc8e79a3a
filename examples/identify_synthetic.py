"""Six numbers of an arm from its torques, two encoders and two strain gauges; and whether the errors are what they say.

    python identify_synthetic.py [COUNT]

Subudhi & Morris's arm (two flexible links, two elastic joints, here damped) is driven by random-phase multisines for
4 s. Encoders are read with noise and rounded to their lines, strain gauges with noise. COUNT experiments, each with
torques and noise of its own, are identified from a start that is wrong by 20 to 100 percent. Then the estimates'
scatter about the truth is compared with the standard errors that each identification gave.
"""

import sys

import numpy as np
import xarray as xr

import flexarm as fa

SAMPLE_RATE, DURATION = 500.0, 4.0
ENCODER = {"resolution": 2 * np.pi / 20000, "noise": 1e-4}
GAUGE = {"distance": 1e-3, "noise": 2e-6}
SENSORS = [
    fa.Encoder(coordinate="upper.drive", **ENCODER),
    fa.Encoder(coordinate="fore.drive", **ENCODER),
    fa.StrainGauge(link="upper", **GAUGE),
    fa.StrainGauge(link="fore", **GAUGE),
]
START = {  # times the truth
    "fore.stiffness": 1.4,
    "fore.spring_damping": 0.6,
    "upper.EI": 0.8,
    "fore.EI": 1.3,
    "payload.mass": 1.2,
    "upper.damping": 2.0,
}


def damped() -> fa.Model:
    """The arm with damping in its joints, springs and links; what is looked for varies."""
    arm = fa.load("subudhi-morris-elastic")
    links = [
        link.replace(
            joint=link.joint.replace(spring_damping=0.05, damping=0.02),
            body=link.body.replace(damping=0.01),
        )
        for link in arm.links
    ]
    return fa.Model(arm.replace(links=links), vary=list(START))


def experiment(model: fa.Model, seed: int) -> xr.Dataset:
    """Torques and what the sensors have read: a data set as a bench would give it."""
    t = np.arange(round(DURATION * SAMPLE_RATE) + 1) / SAMPLE_RATE
    rng = np.random.default_rng(seed)
    tones = 2 * np.pi * np.arange(1, 26)  # 1 to 25 Hz
    u = np.stack(
        [size * np.sin(np.outer(t, tones) + rng.uniform(0, 2 * np.pi, 25)).sum(axis=1) for size in (0.06, 0.03)], 1
    )
    torque = fa.Table(t, u, kind="linear")
    motion = {
        "method": "rk4",
        "solver": fa.Solver(step=2e-4),
        "samples": len(t),
        "save": fa.SaveAt(keep=["q", "qd", "u"]),
        "progress": False,
    }
    run = fa.simulate(model, t[-1], u=torque, **motion)
    return fa.sensor_readings(SENSORS, model, run, seed=seed).assign(u=(("time", "input"), u))


def identified(model: fa.Model, seed: int) -> fa.Identification:
    """From the wrong start."""
    start = {name: START[name] * value for name, value in zip(START, model.p, strict=True)}
    return fa.identify(model, experiment(model, seed), fit=list(START), outputs=SENSORS, start=start)


def main(count: int) -> None:
    model = damped()
    found = [identified(model, seed) for seed in range(count)]
    print(found[0].summary())
    print(f"a withheld record is predicted: fit {found[0].validate(experiment(model, 1000)).fit.values.round(2)} %")

    values = np.array([list(each.values.values()) for each in found])
    errors = np.array([list(each.errors.values()) for each in found])
    off = np.abs(values - model.p) / errors
    print(f"\n{(off < 3).all(axis=1).sum()} of {count} experiments have all six within three standard errors")
    scatter = np.sqrt(np.mean((values - model.p) ** 2, axis=0))
    for name, ratio in zip(START, np.sqrt(np.mean(errors**2, axis=0)) / scatter, strict=True):
        print(f"{name:20s} standard error {ratio:.2f} times the scatter")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
