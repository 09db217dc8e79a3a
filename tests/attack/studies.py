"""Studies in files: mutated, read, planned, and a few runs of what is accepted."""

import copy
import tomllib

import flexarm as fa
from flexarm.studies.file import load_study

from . import stock, tables
from .arms import NAMES

STUDY = """
name = "study"
scenario = "task.toml"
design = { type = "random", runs = 3, seed = 1 }
chunk = 2
keep = ["error", "residual"]

[parameters]
"upper.mass" = { type = "uniform", low = 0.1, high = 0.2 }
"fore.*" = { type = "normal", deviation = "5 %", low = "-20 %", high = "20 %" }
"""
TASK = """
name = "task"
arm = "rigid-two-link"
until = 0.02
samples = 5
reference = { type = "quintic", start = [0.0, 0.0], end = [0.1, 0.1], duration = 0.01 }
controller = { type = "joint-pd", Kp = [1.0, 1.0], Kd = [0.1, 0.1] }
"""
MOST = 8
"""Runs of what is accepted."""


def case(rng, folder, note):
    table = copy.deepcopy(tomllib.loads(STUDY))
    table["design"]["type"] = rng.choice(("random", "latin-hypercube", "sobol", "grid", "sensitivity", "worst-case"))
    table, done = tables.mutated(rng, table, [table, *stock.scenarios()])
    (folder / "task.toml").write_text(TASK)
    path = folder / rng.choice(NAMES)
    path.write_bytes(tables.content(rng, table, done))
    note(f"{path.name!r}: {', '.join(done)}")
    study = load_study(path)
    note("read")
    runs = rng.choice((None, 2, MOST))
    plan = study.plan(runs)
    samples = [] if plan.design.type == "worst-case" else plan.design.samples(plan.quantiles)
    if not 0 < len(samples) <= MOST:
        return "accepted but large"
    result = study.run(1, progress=False, runs=runs)
    fa.studies.result.checked_study(result)
    return "run"
