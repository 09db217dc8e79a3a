"""The variables of results, from results: a directive `variables` makes the table of those of a kind."""

from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from making.descriptions import cell, table

MEANINGS = {
    "q": "coordinates",
    "qd": "their rates",
    "u": "inputs",
    "tip": "position of the last link's tip, in the base frame",
    "deflection": "of each link's tip, in its own base frame",
    "tip_angle": "turning of each link's tip, in its own base frame",
    "kinetic": "kinetic energy",
    "potential": "potential energy: gravity, and what bends",
    "work": "work of the inputs since the start",
    "dissipated": "energy lost to damping since the start",
    "power": "of the inputs",
    "energy_error": "kinetic + potential - work + dissipated, less its value at the start",
    "q_ref": "the reference, where there is one",
    "time": "of the samples",
    "coordinate": "names of the coordinates",
    "role": "joint, flexible or motor; base where that is free",
    "owner": "the link that has the coordinate, or base",
    "unit": "of the coordinate",
    "input": "names of the actuators",
    "axis": "x, y, z",
    "link": "names of the links",
    "angle": "slope_y, slope_z, torsion",
    "velocity": "names of the rates: a free base's twist, then those of the other coordinates",
    "velocity_role": "base, joint, flexible or motor",
    "velocity_owner": "the link that has the rate, or base",
    "velocity_unit": "of the rate",
    "momentum": "of the arm and its base, along the world's axes",
    "angular_momentum": "of both, about the world's origin",
    "base_turn": "rotation vector of the base since the start, along the world's axes",
    "joint": "coordinates that the reference is for",
    "run": "number of the run",
    "parameter": "names of the numbers that vary",
    "p": "their values",
    "status": "completed, or what was wrong",
    "time_reached": "where the run ended",
    "energy_drift": "as the attribute of a run",
    "steps": "taken",
    "evaluations": "of the equations",
    "method": "the integrator",
    "method_reason": "why it was chosen",
    "run_lost": "whether the run killed its process each time that it was tried",
}
"""In words. What is not here has a `long_name` of its own."""


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("variables", Variables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def run() -> Any:
    """A run with a reference."""
    import flexarm as fa

    return fa.load_scenario("subudhi-morris-composite").replace(until=0.01, samples=2).run(progress=False)


def adrift() -> Any:
    """A run with a free base."""
    import flexarm as fa

    return fa.load_scenario("satellite").replace(until=0.01, samples=2).run(progress=False)


def ensemble() -> Any:
    """Two runs of an arm that varies."""
    import flexarm as fa

    model = fa.Model(fa.load("rigid-two-link"), vary=["payload.mass"])
    p = {"payload.mass": [0.1, 0.2]}
    return fa.simulate_many(model, until=0.01, u=[0.0, 0.0], p=p, samples=2, progress=False)


def study() -> Any:
    """Two runs of a scenario with a reference."""
    import flexarm as fa

    scenario = fa.load_scenario("subudhi-morris-composite").replace(until=2.01, samples=11)
    parameters = {"payload.mass": {"type": "uniform", "low": "-10 %", "high": "10 %"}}
    return fa.study(scenario, parameters, runs=2, executor=1, progress=False)


RESULTS = {"run": run, "free base": adrift, "ensemble": ensemble, "study": study}


def rows(result: Any) -> Iterator[tuple[str, ...]]:
    for name, variable in result.variables.items():
        unit = str(variable.attrs.get("units", ""))
        meaning = variable.attrs.get("long_name") or MEANINGS[name]
        kind = "text" if variable.dtype.kind in "UO" else "number" if variable.dtype.kind in "fi" else "yes or no"
        yield (f"`{name}`", f"`{', '.join(variable.dims)}`", kind, unit and f"`{unit}`", cell(meaning))


class Variables(SphinxDirective):
    """Of a result of a kind; of others what a run has not."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        kind = self.arguments[0]
        result = RESULTS[kind]()
        known = {*RESULTS["run"]().variables} - {"time"} if kind in ("ensemble", "free base") else set()
        result = result.drop_vars(known & {*result.variables})
        return self.parse_text_to_nodes(
            "\n".join(table(rows(result), "variable", "dimensions", "holds", "unit", "meaning"))
        )
