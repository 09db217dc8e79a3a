"""3 to 100 links: are tracing, compiling and evaluating linear in the number of links?"""

import statistics

import numpy as np

import flexarm as fa
from benchmarks.chains import chain, over_rows, states
from benchmarks.report import Table, judged, spread, time
from benchmarks.timing import empty_cache, interleaved, timed
from flexarm.native.calls import LANES
from flexarm.native.program import operations

LINKS = (3, 5, 10, 20, 30, 50, 75, 100)
BUILD = 4.0  # target for 30 links [s]
EXPONENT = 1.1  # below it we call growth linear


def measure(quick: bool) -> list[Table]:
    """Building and evaluating chains, and fits."""
    sizes = [n for n in LINKS if n <= 30] if quick else LINKS
    repeats = 1 if quick else 3
    fa.Model(chain(2)).forward_dynamics(*(a[0] for a in states(fa.Model(chain(2)), 1)))  # libraries are loaded
    found: dict[str, dict[int, list[float]]] = {name: {n: [] for n in sizes} for name in ("trace", "compile", "lanes")}
    models, counts, calls = {}, {}, {}
    for _ in range(repeats):
        for n in sizes:
            with empty_cache():
                model = fa.Model(chain(n))
                kernel = model.kernel("forward_dynamics")
                found["trace"][n].append(timed(lambda model=model: model.function("forward_dynamics")))
                found["compile"][n].append(timed(lambda kernel=kernel: kernel.code))
                found["lanes"][n].append(timed(lambda kernel=kernel: kernel.vector_code))
            models[n] = model  # holds the machine code
    for n, model in models.items():
        counts[n] = sum(operations(model.function("forward_dynamics")))
    rows = {n: max(64, 8 * (800 // n)) for n in sizes}
    for n, model in models.items():
        x = np.ascontiguousarray(np.concatenate(states(model, rows[n]), axis=1))
        kernel = model.kernel("forward_dynamics")
        calls |= {f"{n} one": over_rows(kernel.code, x), f"{n} lanes": over_rows(kernel.vector_code, x)}
    samples = interleaved(calls, 5 if quick else 15)
    one = {n: [s / rows[n] for s in samples[f"{n} one"]] for n in sizes}
    lanes = {n: [s / rows[n] for s in samples[f"{n} lanes"]] for n in sizes}

    build = Table(
        "Building forward dynamics, 2 + 2 modes a link",
        (
            "links",
            "operations",
            "trace",
            "compile, one state",
            f"compile, SIMD batch of {LANES}",
            "trace + compile",
            "target",
            "met",
        ),
    )
    for n in sizes:
        both = [a + b for a, b in zip(found["trace"][n], found["compile"][n], strict=True)]
        verdict = judged(statistics.median(both), BUILD, time(BUILD)) if n == 30 else ("", "")
        times = [spread(found[name][n]) for name in ("trace", "compile", "lanes")]
        build.add(n, counts[n], *times, spread(both), *verdict)
    cost = Table(
        "Evaluating forward dynamics, 2 + 2 modes a link",
        (
            "links",
            "one state",
            "per link",
            "per operation",
            f"per state in a SIMD batch of {LANES}",
            "per link",
            "per operation",
        ),
    )
    for n in sizes:
        medians = [statistics.median(times[n]) for times in (one, lanes)]
        (a, b), (c, d) = [(time(t / n), f"{1e9 * t / counts[n]:.3f} ns") for t in medians]
        cost.add(n, spread(one[n]), a, b, spread(lanes[n]), c, d)
    fits = Table(
        "Growth with the number of links n",
        ("what", "straight line", "R^2", "n^p: p, all", "p, 10 links and more", "target", "met"),
    )
    for what, times in (
        ("trace", found["trace"]),
        ("compile, one state", found["compile"]),
        (f"compile, SIMD batch of {LANES}", found["lanes"]),
        ("evaluate, one state", one),
        (f"evaluate, SIMD batch of {LANES}", lanes),
    ):
        fits.add(what, *_fit(np.array(sizes), np.array([statistics.median(times[n]) for n in sizes])))
    fits.notes.append(
        "The lines and exponents are least-squares fits to the medians. The ends of a chain need fewer operations "
        f"than its middle, so short chains take less time per link. The target p < {EXPONENT} is therefore for chains "
        "of 10 links and more."
    )
    return [build, cost, fits]


def _fit(n: np.ndarray, t: np.ndarray) -> tuple[str, ...]:
    """a + b n with R^2; exponents of a power law."""
    b, a = np.polyfit(n, t, 1)
    residual = t - (a + b * n)
    R2 = 1 - residual @ residual / ((t - t.mean()) @ (t - t.mean()))
    long = n >= 10
    every, exponent = (float(np.polyfit(np.log(n[s]), np.log(t[s]), 1)[0]) for s in (n > 0, long))
    sign = "+" if a >= 0 else "-"
    line = f"{time(b)} n {sign} {time(abs(a))}"
    return line, f"{R2:.4f}", f"{every:.2f}", f"{exponent:.2f}", *judged(exponent, EXPONENT, f"n^{EXPONENT}")
