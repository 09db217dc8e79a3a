"""The equations of De Luca & Siciliano's two-link arm as a document, and what they say of its inertia."""

from pathlib import Path

import sympy as sp

import flexarm as fa

arm = fa.load("de-luca-siciliano")
equations = fa.equations(arm)
Path("de-luca-siciliano.tex").write_text(equations.latex(), encoding="utf-8")
print("written: de-luca-siciliano.tex")

# the inertia about the second joint, with abbreviations (w_2, the deflection of the tip) and without
inertia = equations.M[1, 1]
print("M[2,2] =", inertia)
print("with deflections written out:", sp.count_ops(equations.explicit(inertia)), "operations")

# Theorem 1 of Lin & Lewis: Mdot - 2 D is skew
skew = equations.rate(equations.M[:2, :2]) - 2 * equations.explicit(equations.D[:2, :2])
print("skew:", sp.expand(skew + skew.T) == sp.zeros(2, 2))

# what the motion can tell of the rigid arm's parameters
rigid = fa.equations(arm.rigid())
regressor = rigid.regressor()
print(f"the rigid arm has {len(regressor.p)} base parameters:", *regressor.p, sep="\n  ")
