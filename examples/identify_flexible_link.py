"""A flexible link on a hub whose motion is measured: its stiffness from two seconds, and the next two predicted."""

import numpy as np
from scipy.signal import lsim

import flexarm as fa
from flexarm.plots import save_figure

LENGTH, THICKNESS, RATE = 0.202, 0.00127, 500.0

# The gauge went through a low pass of second order, 2 Hz, before it was recorded. The arm moves so little that it is
# linear: the same filter on the hub's angle gives the hub's motion that goes with the recorded strain.
record = fa.measured("flexible-link-rig")
corner = 2 * np.pi * 2.0
low_pass = ([[0, 1], [-(corner**2), -1.8 * corner]], [[0], [corner**2]], np.eye(2), np.zeros((2, 1)))
hub = record.hub_angle.values
_, filtered, _ = lsim(low_pass, hub, record.time.values, X0=[hub[0], 0.0])
strain = record.deflection_angle.values * 1.5 * THICKNESS / LENGTH  # the rig's own conversion, taken back
data = {"hub": filtered[:, 0], "hub_rate": filtered[:, 1], "strain": strain}
first, second = ({name: x[part] for name, x in data.items()} for part in (slice(0, 1000), slice(1000, 2000)))

# A steel blade that begins 79 mm from the axis and carries the second stage; numbers from the rig's own files.
blade = fa.Beam(length=LENGTH, mass=0.154, EI=2.69, modes={"y": 2}, damping=0.05)
links = [
    fa.Link(name="hub", joint=fa.Revolute(), body=fa.Rigid(length=0.079, mass=0.1)),
    fa.Link(name="link", joint=fa.Fixed(), body=blade),
]
rig = fa.Arm(name="rig", gravity=(0, 0, 0), links=links, payload=fa.Payload(mass=1.578, inertia=0.0557))
still = np.zeros(3)
gauge = {"strain": fa.StrainGauge(link="link", distance=-THICKNESS / 2)}
asked = {"outputs": gauge, "sample_rate": RATE, "given": {"hub.joint": ("hub", "hub_rate")}, "offsets": True}


def said(found):
    model = found.model
    M, K = model.mass_matrix(still)[1:, 1:], np.array(model.slope("restoring_force", 0)(still))[1:, 1:]
    D = np.array(model.slope("damping_force", 1)(still, still))[1:, 1:]
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    s = min(np.linalg.eigvals(A), key=abs)
    EI, error = found.values["link.EI"], found.errors["link.EI"]
    return (
        f"EI {EI:.3f} +- {error:.3f} N m^2, {abs(s) / 2 / np.pi:.2f} Hz, damping {-100 * s.real / abs(s):.1f} percent"
    )


def percent(error, y):
    return 100 * (1 - np.linalg.norm(error) / np.linalg.norm(y - y.mean()))


print(f"by its drawing: EI 2.69 N m^2, {fa.Model(rig).frequencies(still)[0] / 2 / np.pi:.2f} Hz")
found = fa.identify(fa.Model(rig), first, ["link.EI", "link.damping_ratio"], **asked)
print(f"first half: {said(found)}; fit {float(found.fit[0, 0]):.0f} percent")

# The second half, predicted: run on from the start of the first, nothing fitted anew.
zero, _ = found.others["offset of strain"]
level = {name: x - zero * (name == "strain") for name, x in data.items()}
again = fa.identify(
    found.model, {n: x[:1000] for n, x in level.items()}, list(found.values), **asked | {"offsets": False}
)
run = again.validate(level)
error = run.residuals[0].strain.values[1000:]
print(f"second half, run on: fit {percent(error, level['strain'][1000:]):.0f} percent")
anew = fa.identify(found.model, first, list(found.values), states=True, **asked)
print(f"second half, its beginning fitted: fit {float(anew.validate(second).fit[0, 0]):.0f} percent")

# What rings on after the hub has stopped, alone.
ring = fa.identify(fa.Model(rig), second, ["link.EI", "link.damping_ratio"], states=True, **asked)
print(f"second half: {said(ring)}; fit {float(ring.fit[0, 0]):.0f} percent")
save_figure(run.plot("flexible link, all of it run from the numbers of the first half"), "flexible-link.png")
