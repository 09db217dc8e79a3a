"""The Canadarm's slew (Mohan & Saha, section 7.1): torques of the rigid arm, applied to the flexible one."""

import flexarm as fa
from flexarm.plots import draw, save_figure

model = fa.Model(fa.load("canadarm"))
reference = fa.Cycloidal(rates=(0.075, 0.05, 0.1), periods=(10.0, 5.0, 5.0))

result = fa.simulate(model, until=10.0, u=fa.RigidInverseDynamics(reference), reference=reference, name="slew")

joints = result.q.sel(coordinate=result.joint.values)
for i, name in enumerate(result.joint.values):
    off = float(abs(joints[:, i].values - result.q_ref[:, i].values).max())
    print(f"{name}: {float(joints[-1, i]):.4f} rad at the end, {off:.4f} rad off the reference at most")
for link in result.link.values:
    print(f"{link}: bent by {1e3 * float(abs(result.deflection.sel(link=link, axis='y')).max()):.1f} mm at most")
print(f"energy drift: {result.attrs['energy_drift']:.1e}")

print("written:", fa.save_result(result, "slew.nc"), save_figure(draw(result), "slew.png"))
again = fa.load_result("slew.nc")
assert fa.Arm.from_json(again.attrs["arm"]) == model.arm
