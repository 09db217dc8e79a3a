"""A bowed, tapered forearm: meshed and assembled by scikit-fem, written to a file, and a link of an arm."""

import numpy as np
import skfem as fem
from skfem.models.elasticity import lame_parameters, linear_elasticity

import flexarm as fa

E, poisson, density, length = 70e9, 0.33, 2700.0, 0.6

# 1. the mesh: a block, tapered to half its section and bowed by 50 mm on its way
mesh = fem.MeshHex.init_tensor(np.linspace(0, 1, 13), np.linspace(-1, 1, 3), np.linspace(-1, 1, 2))
x, y, z = mesh.p
narrow = 1 - x / 2
mesh = fem.MeshHex(np.array([length * x, 0.02 * y * narrow, 0.01 * z * narrow + 0.2 * x * (1 - x)]), mesh.t)

# 2. the matrices, and node and direction of each row
basis = fem.Basis(mesh, fem.ElementVector(fem.ElementHex2()))
K = linear_elasticity(*lame_parameters(E, poisson)).assemble(basis)
M = fem.BilinearForm(lambda u, v, w: density * (u[0] * v[0] + u[1] * v[1] + u[2] * v[2])).assemble(basis)
direction = np.zeros(basis.N, dtype=int)
for rows in (basis.nodal_dofs, basis.edge_dofs, basis.facet_dofs, basis.interior_dofs):
    for a, row in enumerate(rows):
        direction[row] = a + 1
nodes, node = np.unique(basis.doflocs.T.round(9), axis=0, return_inverse=True)

# 3. the file
np.savez(
    "forearm.npz",
    nodes=nodes,
    dofs=np.column_stack([node.ravel() + 1, direction]),
    root=nodes[:, 0] == 0,
    tip=(nodes[:, 0] == length).astype(float),
    **{
        f"{name}_{part}": getattr(A, part) for name, A in (("M", M), ("K", K)) for part in ("data", "indices", "indptr")
    },
)

# 4. the arm
forearm = fa.FiniteElement(file="forearm.npz", modes=6, damping=0.005)
shoulder = fa.Revolute(axis=(0, 0, 1), rotor_inertia=1e-4, gear_ratio=50.0)
upper = fa.Link(name="upper", joint=shoulder, body=fa.Rigid(length=0.4, mass=2.0))
arm = fa.Arm(
    name="forearm of finite elements",
    links=[
        upper,
        fa.Link(name="fore", joint=fa.Revolute(axis=(0, 1, 0), rotor_inertia=5e-5, gear_ratio=50.0), body=forearm),
    ],
    payload=fa.Payload(mass=1.0, inertia=1e-3),
    gravity=(0.0, 0.0, -9.81),
)
model = fa.Model(arm)
print(f"{basis.N} displacements, {forearm.total_mass:.3f} kg, inertia {forearm.part.inertia}")
print("coordinates:", ", ".join(model.coordinates))
print("frequencies [rad/s]:", model.frequencies(np.zeros(len(model.coordinates)))[:4].round(1))

slew = fa.Quintic(start=(0.0, 0.0), end=(1.2, -0.6), duration=0.6)
result = fa.simulate(model, 1.0, u=fa.RigidInverseDynamics(slew), samples=201, progress=False)
bent = result.deflection.sel(link="fore")
print(f"the tip gives way by {1e3 * float(abs(bent).max()):.2f} mm")
print(f"energy drift: {result.energy_drift:.1e}")
