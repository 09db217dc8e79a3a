"""Newton's matrix of all stages of an implicit step, decoupled into blocks, in the language that is translated.

The unknown rates of the stages have the matrix I x M + h A x C + h^2 A^2 x K, with the weights A of a method and the
Kronecker product x. In the basis of A's eigenvectors it decomposes into blocks M + h x C + h^2 y K of the size of one
stage's rates, each real or complex (Hairer & Wanner, Solving Ordinary Differential Equations II, section IV.8).
"""

from dataclasses import dataclass

import numpy as np

from flexarm.native.dense import (
    added_sides,
    inverted,
    inverted_complex,
    multiplied,
    multiplied_complex,
    multiplied_sides,
)
from flexarm.native.language import Floats, Placed, Shared, Words, lanes
from flexarm.simulation.tableaus import Tableau


@dataclass
class Decoupled:
    """Data of the blocks of a matrix. Matrices are stored column by column.

    Attributes
    ----------
    stages, m : int
        Number of stages, and of the unknown rates of each.
    blocks, to, back
        Coefficients of the blocks, and the maps to them and back, as in `Tableau`.
    first, columns : int
        First column of the matrix to which K contributes, and the number of columns of K.
    M, C, K : (m, m), (m, m), (m, columns)
    inverses : (stages, 2, m, m)
        Inverses of the blocks. A complex one consists of real and imaginary parts.
    sides : int
        Number of right sides that are solved at once. Their numbers are side by side.
    pivots, w : (m,), (2 stages, m, sides)
        Work memory.
    """

    stages: int
    m: int
    blocks: Shared
    to: Shared
    back: Shared
    first: int
    columns: int
    M: Floats
    C: Floats
    K: Floats
    inverses: Floats
    sides: int
    pivots: Words
    w: Floats


def decoupled(
    tableau: Tableau, m: int, first: int, columns: int, transposed: bool = False, sides: int = 1, runs: int = 1
) -> Placed:
    """Return the memory of the blocks of a method with m unknown rates, and K in columns from the first one on.

    M is the identity. For the transposed system of all stages C and K must be transposed, too.
    """
    stages = tableau.stages
    blocks, to, back = tableau.blocks, tableau.to, tableau.back
    if transposed:  # the transpose of the real form of a complex block belongs to its conjugate transpose
        blocks, to, back = blocks * [1.0, -1.0, 1.0, -1.0], back.T, to.T
    return Placed(
        Decoupled(
            stages=stages,
            m=m,
            blocks=blocks.ravel(),
            to=to.ravel(),
            back=back.ravel(),
            first=first,
            columns=columns,
            M=np.eye(m).ravel(),
            C=np.zeros(m * m),
            K=np.zeros(m * columns),
            inverses=np.zeros(2 * stages * m * m),
            sides=sides,
            pivots=np.zeros(m, dtype=np.int64),
            w=np.zeros(2 * stages * m * sides),
        ),
        runs,
    )


# -- translated functions ----------------------------------------------------------------------------------------------


def inverses(s: Decoupled, h: float) -> int:
    """Compute the inverses of the blocks M + h x C + h^2 y K. Return 0 if a block is singular or not finite."""
    m, first, count = s.m, s.first * s.m, s.columns * s.m
    i = 0
    while i < s.stages:
        block = s.blocks[4 * i :]
        x, y, u, v = h * block[0], h * block[1], h * h * block[2], h * h * block[3]
        A = s.inverses[2 * i * m * m :]
        B = A[m * m :]
        for j in lanes(m * m):
            A[j] = s.M[j] + x * s.C[j]
        A2, B2 = A[first:], B[first:]
        for j in lanes(count):
            A2[j] += u * s.K[j]
        if block[1] != 0.0:
            for j in lanes(m * m):
                B[j] = y * s.C[j]
            for j in lanes(count):
                B2[j] += v * s.K[j]
            if inverted_complex(A, s.pivots, m) == 0:
                return 0
            i += 2
        else:
            if inverted(A, s.pivots, m) == 0:
                return 0
            i += 1
    return 1


def block_solved(s: Decoupled, i: int, x: Floats, y: Floats) -> None:
    """Compute the solution y of the i-th block for the right side x: one row of m, or two of a complex block."""
    A, pair = s.inverses[2 * i * s.m * s.m :], s.blocks[4 * i + 1]
    if s.sides > 1:
        multiplied_sides(A, s.m, s.sides, x, y)
        if pair != 0.0:
            imaginary, width = A[s.m * s.m :], s.m * s.sides
            multiplied_sides(A, s.m, s.sides, x[width:], y[width:])
            added_sides(imaginary, s.m, s.sides, -1.0, x[width:], y)
            added_sides(imaginary, s.m, s.sides, 1.0, x, y[width:])
    elif pair != 0.0:
        multiplied_complex(A, s.m, x, y)
    else:
        multiplied(A, s.m, x, y)


def corrected(s: Decoupled, r: Floats) -> None:
    """Replace the residuals r (stages, m, sides) by Newton's correction."""
    m, stages = s.m * s.sides, s.stages
    solution = s.w[stages * m :]
    combined(s.to, stages, stages, r, s.w, m, m)
    i = 0
    while i < stages:
        block_solved(s, i, s.w[i * m :], solution[i * m :])
        i += 2 if s.blocks[4 * i + 1] != 0.0 else 1
    combined(s.back, stages, stages, solution, r, m, m)


def combined(T: Floats, rows: int, columns: int, x: Floats, y: Floats, width: int, apart: int) -> None:
    """Compute y = T x for rows of `width` numbers. The rows of x have a distance of `apart` numbers."""
    for i in range(rows):
        weighted_sum(T[i * columns :], columns, x, y[i * width :], width, apart)


def weighted_sum(weights: Floats, rows: int, x: Floats, y: Floats, width: int, apart: int) -> None:
    """Compute y, the weighted sum of rows of `width` numbers that have a distance of `apart` numbers."""
    for j in lanes(width):
        y[j] = 0.0
    for l in range(rows):
        f, row = weights[l], x[l * apart :]
        for j in lanes(width):
            y[j] += f * row[j]
