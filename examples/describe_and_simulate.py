"""Describe an arm of two flexible links in Python, push it for a second, and see where it goes."""

import flexarm as fa

arm = fa.Arm(
    name="two links",
    links=[
        fa.Link(
            name="upper",
            joint=fa.Revolute(axis=(0, 0, 1)),
            body=fa.Beam(length=0.5, mass=0.1, EI=1.0, modes={"y": 2}),
        ),
        fa.Link(
            name="fore",
            joint=fa.Revolute(axis=(0, 0, 1), rotor_inertia=0.02, gear_ratio=1.0, stiffness=100.0),
            body=fa.Beam(length=0.5, mass=0.1, EI=1.0, modes={"y": 2, "z": 1}),
        ),
    ],
    payload=fa.Payload(mass=0.1, inertia=0.005),
)
model = fa.Model(arm)
print(model)
print("coordinates:", ", ".join(model.coordinates))
print("inputs:", ", ".join(model.inputs))

torque = fa.bang_bang([0.02, 0.01], duration=0.5)  # forward for half a second, back for as long
result = fa.simulate(model, until=2.0, u=torque, samples=201)

for name in model.coordinates[:2]:
    print(f"{name} ends at {float(result.q.sel(coordinate=name)[-1]):.4f} rad")
print(f"largest deflection of the upper link: {1e3 * float(abs(result.deflection.sel(link='upper')).max()):.2f} mm")
print(f"energy drift: {result.attrs['energy_drift']:.1e}")
