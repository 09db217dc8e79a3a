"""Scenarios in files: mutated, read, and whatever is accepted run for a moment."""

import copy

import flexarm as fa

from . import stock, tables, values
from .arms import MOST, NAMES, whole


def case(rng, folder, note):
    everything = stock.scenarios()
    table = copy.deepcopy(rng.choice(everything))
    others = everything if rng.random() < 0.8 else stock.arms()
    table, done = tables.mutated(rng, table, others)
    if rng.random() < 0.1:  # an arm of its own, mutated too
        arm, more = tables.mutated(rng, rng.choice(stock.arms()), stock.arms())
        (folder / "arm.toml").write_text(values.toml(arm), encoding="utf-8")
        table["arm"] = "arm.toml"
        done += [f"arm: {each}" for each in more]
    raw = tables.content(rng, table, done)
    path = folder / rng.choice(NAMES)
    path.write_bytes(raw)
    note(f"{path.name!r}: {', '.join(done)}")
    scenario = fa.load_scenario(path)
    arm = scenario.loaded_arm()
    if len(arm.coordinates) > MOST:
        return "accepted but large"
    given = {"samples": min(scenario.samples, 101)}
    if rng.random() < 0.8:
        given["until"] = min(scenario.until, 0.02)
        if scenario.solver.step:
            given["solver"] = scenario.solver.replace(step=min(scenario.solver.step, given["until"]))
    if getattr(scenario.reference, "type", None) == "optimal":  # an impossible one is sought for half a minute
        given["reference"] = scenario.reference.replace(steps=min(scenario.reference.steps or 30, 30))
    note(f"until = {given.get('until', scenario.until)}")
    result = scenario.replace(**given).run(progress=False)
    whole(result)
    return "run"
