"""Multiplications and additions of forward dynamics, beside the formulas of Mohan & Saha's Table 1."""

from fractions import Fraction as F

import flexarm as fa
from benchmarks.chains import chain
from benchmarks.report import Table, judged
from flexarm.native.program import operations

Count = tuple[int, int]
LIMIT = 7500


def mohan_saha(n: int, m: int) -> Count:
    """Their own recursion: m modes in each of two planes."""
    h = 1 + 2 * m
    Mm3 = F(h**3, 6) + (2 * m + F(15, 2)) * h**2 + (2 * m**2 + 15 * m + F(100, 3)) * h
    Am3 = F(h**3, 6) + F(h**2, 2) + (6 * m**2 + 27 * m + F(82, 3)) * h
    Mm4 = Am4 = (2 * m**2 + 13 * m + 27) * h
    M = n * (2 * m**2 + 180 * m + 299 + Mm3) - (124 * m + 229 + Mm4)
    A = n * (6 * m**2 + 122 * m + 220 + Am3) - (94 * m + 192 + Am4)
    return round(M), round(A)


def jain_rodriguez(n: int, m: int) -> Count:
    """As the paper quotes them: one formula up to 7 links, one from there on."""
    if n < 7:
        M = F(5 * m**3, 6) + F(27 * m**2, 2) + F(893 * m, 3) + 281
        A = F(5 * m**3, 6) + F(23 * m**2, 2) + F(677 * m, 3) + 256
    else:
        M, A = F(13 * m**2 + 298 * m + 673), F(14 * m**2 + 225 * m + 537)
    return round(n * M), round(n * A)


def cyril(n: int, m: int) -> Count:
    """As the paper quotes it, with + 251 m / 3 for the printed - 251 m / 6 in A3c: only so does Table 1 come out."""
    h = 1 + 2 * m
    cubic = F(h**3, 6) + h**2 * (1 - F(m, 2)) + h * (F(m**2, 2) - 2 * m) - F(m**3, 6) + m**2
    common = 5 * h**2 + F(m**3, 6) + F(53 * m**2, 6)
    M2 = F(-3 * h**2, 2) + h * (3 * m + F(33, 2)) - F(3 * m**2, 2) - F(15 * m, 2) + 12
    A2 = F(-3 * h**2, 2) + h * (3 * m + 13) - F(3 * m**2, 2) - F(17 * m, 2) + 9
    M3 = common - h * (10 * m + F(109, 6)) + F(233 * m, 3) + 246
    A3 = common - h * (10 * m + F(85, 6)) + F(251 * m, 3) + 228
    return round(cubic * n**3 + M2 * n**2 + M3 * n - 123), round(cubic * n**3 + A2 * n**2 + A3 * n - 102)


OTHERS = {"Mohan & Saha": mohan_saha, "Jain & Rodriguez": jain_rodriguez, "Cyril": cyril}


def flexarm(n: int, m: int) -> Count:
    """Ours, counted in the traced program."""
    return operations(fa.Model(chain(n, m)).function("forward_dynamics"))


def measure(quick: bool) -> list[Table]:
    """The case of Table 1, then other numbers of modes and links."""
    first = Table(
        "Operations of forward dynamics, 8 links with 2 + 2 modes",
        ("algorithm", "multiplications", "additions", "together", "relative to flexarm", "target", "met"),
    )
    ours = flexarm(8, 2)
    total = sum(ours)
    first.add("flexarm", *ours, total, "1.00", *judged(total, LIMIT + 1, f"{LIMIT + 1}"))
    for name, formula in OTHERS.items():
        count = formula(8, 2)
        first.add(name, *count, sum(count), f"{sum(count) / total:.2f}", "", "")
    first.notes.append(
        "The links are equal and bend in two planes. The axes of the joints are y and z in turn, and gravity acts. "
        "Multiplications include squares and divisions. Changes of sign, sines and cosines are not counted. The "
        "numbers of the other algorithms follow from the formulas in Table 1 of Mohan & Saha. In the formula A3c for "
        "Cyril, + 251 m / 3 stands in place of the printed - 251 m / 6, because only then does the formula give the "
        "printed number 12683."
    )
    sweep = Table(
        "Operations, other sizes: multiplications + additions",
        ("links", "modes per plane", "flexarm", *OTHERS, "Mohan & Saha / flexarm"),
    )
    for n, m in [(8, 1), (8, 2), (8, 3), (8, 4), (3, 2), (16, 2), (30, 2)]:
        count = flexarm(n, m)
        others = [formula(n, m) for formula in OTHERS.values()]
        texts = [f"{a} + {b}" for a, b in (count, *others)]
        sweep.add(n, m, *texts, f"{sum(others[0]) / sum(count):.2f}")
    return [first, sweep]
