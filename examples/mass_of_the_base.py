"""What a free base does to an arm: its first frequencies, and where its tip comes to, for buses from light to heavy."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import flexarm as fa
from flexarm import style

SLEW = fa.load_scenario("canadarm-bus")
ARM = SLEW.loaded_arm()
WEIGHT = sum(link.body.total_mass for link in ARM.links)  # 320 kg


def on_bus(ratio: float) -> fa.Arm:
    """The arm on a cube of so many times its mass, of the density of the bundled one; of infinitely many, held."""
    if np.isinf(ratio):
        return ARM.replace(base=None)
    edge = 2.5 * (ratio / 10.0) ** (1 / 3)
    mass = ratio * WEIGHT
    return ARM.replace(base=fa.FreeBase(mass=mass, inertia=mass * edge**2 / 6.0))


def landed(arm: fa.Arm) -> tuple[np.ndarray, float]:
    """Where the tip is when the slew is over [m], and how far it still swings along y [m]."""
    result = SLEW.replace(arm=arm, samples=601).run(progress=False)
    late = result.tip.values[result.time.values > 25.0]
    return late.mean(axis=0), float(np.ptp(late[:, 1]))


ratios = np.array([1.0, 3.0, 10.0, 30.0, 100.0, 300.0, np.inf])
frequencies, places, swings = [], [], []
for ratio in ratios:
    arm = on_bus(ratio)
    found = fa.Model(arm).frequencies(np.array(arm.rest))
    frequencies.append(found[found > 1e-3][:3])
    place, swing = landed(arm)
    places.append(place)
    swings.append(swing)
frequencies, places = np.array(frequencies), np.array(places)
away = np.linalg.norm(places - places[-1], axis=1)

print("bus / arm   first frequencies [rad/s]   tip beside that of the held arm [m]   swing [mm]")
for ratio, each, distance, swing in zip(ratios, frequencies, away, swings, strict=True):
    print(f"{ratio:9g}   {each[0]:6.3f} {each[1]:7.3f} {each[2]:8.3f}   {distance:34.3f}   {1e3 * swing:10.3f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
for i, which in enumerate(("first", "second", "third")):
    left.loglog(ratios[:-1], frequencies[:-1, i] / frequencies[-1, i], **style.curve(i), label=which)
left.set(xlabel="mass of the bus over that of the arm", ylabel="frequency over that of the held arm")
left.legend()
right.loglog(ratios[:-1], away[:-1], **style.curve(0))
right.set(xlabel="mass of the bus over that of the arm", ylabel="tip, after the slew, beside the held arm's [m]")
figure.savefig("mass-of-the-base.svg")
