"""Two inertias on an elastic shaft, measured: their numbers from the frequency response, checked on other periods."""

import numpy as np

import flexarm as fa
from flexarm.identification.frequency import resonance
from flexarm.plots import save_figure

# Eight periods of a multisine of 11 to 250 Hz: four to fit, four to check. The load's encoder counts the other way.
data = fa.measured("two-inertia-bench")
data["load_angle"] = -data.load_angle
first, last = data.isel(time=slice(0, 10_000)), data.isel(time=slice(10_000, 20_000))
measured, withheld = (
    fa.frequency_response(each, "current", ["motor_angle", "load_angle"], period=1.0).sel(frequency=slice(11, 250))
    for each in (first, last)
)

# A rotor, a spring, a load; guesses within a factor of two. Currents stand for torques: the torque constant is not
# known, so all numbers are over it, with A for N m in their units.
joint = fa.Revolute(rotor_inertia=3e-3, stiffness=400.0, damping=0.05, spring_damping=0.01)
load = fa.Rigid(length=0.1, mass=1.0, com=(0, 0, 0), inertia=8e-3)
bench = fa.Arm(name="bench", gravity=(0, 0, 0), links=[fa.Link(name="load", joint=joint, body=load)])
sensors = {"motor_angle": fa.Encoder(coordinate="load.motor"), "load_angle": fa.Encoder(coordinate="load.joint")}
fit = ["load.rotor_inertia", "load.inertia", "load.stiffness", "load.damping", "load.spring_damping"]
# Friction bends the response by some percent, which four periods, all alike, do not show: 2 percent are unmodelled.
found = fa.identify(fa.Model(bench), measured, fit, {"load.motor": "current"}, sensors, delay=1e-4, unmodelled=0.02)
print(found)

# On the periods that were not used.
check = found.validate(withheld)
for low, high in ((11, 45), (90, 150)):
    off = np.abs(check.decibels.sel(frequency=slice(low, high))).max("frequency").values.ravel()
    print(f"{low} to {high} Hz: motor within {off[0]:.2f} dB, load within {off[1]:.2f} dB")
f = withheld.frequency.values
for k, name in enumerate(sensors):
    real = resonance(f, withheld.response.values[:, k, 0], (66, 88))
    ours = resonance(f, check.model[:, k, 0], (66, 88))
    print(f"{name}: resonance at {real.frequency:.2f} Hz, the model's at {ours.frequency:.2f} Hz")
save_figure(check.plot("two inertias, periods that were not fitted"), "bench.png")
