"""Before the experiment: a multisine within limits that tells most, and how sure the numbers will be."""

import numpy as np

import flexarm as fa
from flexarm.plots import save_figure

joint = fa.Revolute(rotor_inertia=4.8e-3, stiffness=548.0, damping=0.12, spring_damping=0.013)
load = fa.Rigid(length=0.1, mass=1.0, com=(0, 0, 0), inertia=4.7e-3)
arm = fa.Arm(name="bench", gravity=(0, 0, 0), links=[fa.Link(name="load", joint=joint, body=load)])
model = fa.Model(arm)
fit = ["load.rotor_inertia", "load.inertia", "load.stiffness", "load.damping", "load.spring_damping"]
sensors = [
    fa.Encoder(coordinate="load.motor", name="motor", noise=2e-4),
    fa.Encoder(coordinate="load.joint", name="load", noise=2e-4),
]
limits = {"torque": 10.0, "range": 0.15, "rate": 15.0}
asked = {"outputs": sensors, "limits": limits, "sample_rate": 1000.0, "period": 0.5, "band": (5.0, 200.0)}
best = fa.excitation(model, fit, 4.0, **asked)
flat = fa.excitation(model, fit, 4.0, flat=1.0, **asked)
print(best)
shares = [flat.errors[name] / best.errors[name] for name in fit]
print("a flat spectrum within the same limits has errors larger by", np.round(shares, 2))
save_figure(best.plot(), "excitation.png")

# The experiment, simulated with noise; then the numbers, from the periods after the first.
run = fa.simulate(model, 4.0, best.input, samples=4001, progress=False)
rng = np.random.default_rng(1)
data = {"torque": run.u.values[:4000, 0]}
for name, coordinate in (("motor", "load.motor"), ("load", "load.joint")):
    data[name] = run.q.sel(coordinate=coordinate).values[:4000] + 2e-4 * rng.standard_normal(4000)
response = fa.frequency_response(data, "torque", ["motor", "load"], 0.5, sample_rate=1000.0, skip=1, excited=1e-3)
guess = model.arm.replace(
    links=[model.arm.links[0].replace(joint=joint.replace(stiffness=400.0, rotor_inertia=4e-3, damping=0.2))]
)
found = fa.identify(fa.Model(guess), response, fit, outputs=sensors)
for name in fit:
    true, value = best.nominal[name], found.values[name]
    print(f"{name}: off by {100 * (value / true - 1):+.2f} %, expected {100 * best.errors[name] / true:.2f} %")
