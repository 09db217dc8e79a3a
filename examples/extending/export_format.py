"""A new export format: the inertia matrix and gravity as lines that a pocket calculator's language reads.

An export is a function of `fa.equations(arm)`: its matrices are SymPy matrices, its parameters carry their values.
Nothing in flexarm changes.
"""

import math

import numpy as np
import sympy as sp

import flexarm as fa


def calculator(equations):
    """`name = number ; unit, meaning` for each parameter, then an assignment for each entry, with ^ for powers."""
    lines = [f"{p.symbol} = {p.value!r} ; {p.unit or '1'}, {p.meaning}" for p in equations.parameters]
    for name in ("M", "G"):
        matrix = equations.explicit(getattr(equations, name))
        for (row, column), entry in np.ndenumerate(np.array(matrix)):
            text = sp.sstr(entry, full_prec=True).replace("**", "^")
            lines.append(f"{name}_{row + 1}_{column + 1} = {text}")
    return "\n".join(lines)


arm = fa.load("de-luca-siciliano").replace(gravity=(0.0, -9.81, 0.0))
equations = fa.equations(arm)
text = calculator(equations)

# the text, read back line by line, against the compiled model
q = np.array([0.3, -0.7, *np.linspace(0.01, 0.04, len(arm.coordinates) - 2)])
known = {"sin": math.sin, "cos": math.cos, **dict(zip(equations.coordinates, q.tolist(), strict=True))}
for line in text.splitlines():
    name, _, value = line.partition(" ; ")[0].partition(" = ")
    known[name] = eval(value.replace("^", "**"), {"__builtins__": {}}, known)
model, n = fa.Model(arm), len(q)
M = [[known[f"M_{i}_{j}"] for j in range(1, n + 1)] for i in range(1, n + 1)]
G = [known[f"G_{i}_1"] for i in range(1, n + 1)]
assert np.allclose(M, model.mass_matrix(q), rtol=1e-12, atol=1e-14)
assert np.allclose(G, model.gravity_force(q), rtol=1e-12, atol=1e-12)
print(*text.splitlines()[:3], f"... {len(text.splitlines())} lines, as the model has it", sep="\n")
