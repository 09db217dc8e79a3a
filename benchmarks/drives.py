"""Drives: how much faster than real time the industrial arm runs, what each part costs, which method takes sticking."""

import statistics
import warnings
from time import perf_counter
from typing import Any

import flexarm as fa
from benchmarks.report import Table, spread, time
from benchmarks.timing import empty_cache
from flexarm.native.program import operations

FASTER = 20.0
"""Target: seconds of motion in a second of computing."""
METHODS = ("auto", "radau9", "gauss8")


def measure(quick: bool) -> list[Table]:
    """Three tables."""
    with empty_cache(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [_industrial(quick), _parts(), _sticking(quick)]


def _industrial(quick: bool) -> Table:
    """The scenario as it stands: the solver alone, and all of `simulate`."""
    scenario = fa.load_scenario("industrial-arm")
    model = fa.Model(scenario.loaded_arm())
    scenario.run(model, progress=False)
    solving: list[float] = []
    whole: list[float] = []
    for _ in range(3 if quick else 15):
        began = perf_counter()
        result = scenario.run(model, progress=False)
        whole.append(perf_counter() - began)
        solving.append(float(result.attrs["solve_seconds"]))
    table = Table(
        "The industrial arm under cascaded control at 1 kHz",
        ("what", "computing", "motion per second of computing", "energy drift", "target", "met"),
    )
    for what, samples in (("the motion", solving), ("with the law's design and the result", whole)):
        ratio = scenario.until / statistics.median(samples)
        verdict = (f"> {FASTER:g}", "yes" if ratio > FASTER else "**no**") if samples is solving else ("", "")
        table.add(what, spread(samples), f"{ratio:.3g} s", f"{result.attrs['energy_drift']:.1e}", *verdict)
    table.notes.append(
        f"The motion lasts {scenario.until:g} s. The arm has {len(model.coordinates)} coordinates and "
        f"{len(model.states)} currents, and the rates of its state need "
        f"{sum(operations(model.function('state_rate')))} multiplications and additions. The method is {result.method} "
        f"with steps of {time(float(result.attrs['step']))}."
    )
    return table


BENDS = {"stiffness": 200.0, "rotor_inertia": 0.01}
DRIVES: dict[str, dict[str, Any]] = {
    "rigid joints": {},
    "elastic joints": BENDS,
    "smooth friction": {**BENDS, "drive": {"friction": {"coulomb": 0.1}}},
    "Stribeck friction": {**BENDS, "drive": {"friction": {"coulomb": 0.1, "static": 0.15}}},
    "LuGre": {**BENDS, "drive": {"friction": {"coulomb": 0.1, "model": "lugre", "bristle_stiffness": 1e4}}},
    "backlash": {**BENDS, "drive": {"backlash": {"width": 1e-3}}},
    "cubic spring": {**BENDS, "drive": {"spring": {"cubic": 1e4}}},
    "end stops": {**BENDS, "drive": {"stops": {"lower": -1.0, "upper": 1.0, "stiffness": 1e4, "damping": 10.0}}},
    "voltage input": {
        **BENDS, "drive": {"motor": {"input": "voltage", "torque_constant": 0.5, "resistance": 1.0}},
    },
    "voltage input with inductance": {
        **BENDS,
        "drive": {"motor": {"input": "voltage", "torque_constant": 0.5, "resistance": 1.0, "inductance": 1e-3}},
    },
}  # fmt: skip


def two_links(**joint: Any) -> fa.Arm:
    """Two links that bend in a plane, with the same joint."""
    body = fa.Beam(length=0.5, mass=0.3, EI=5.0, modes={"y": 2})
    links = [fa.Link(name=name, joint=fa.Revolute(**joint), body=body) for name in ("upper", "fore")]
    return fa.Arm(name="two links", links=links, payload=fa.Payload(mass=0.1))


def _parts() -> Table:
    """Operations are exact."""
    table = Table("Cost of the parts of a drive, two links with 2 modes each", ("joints", "operations per evaluation"))
    for what, joint in DRIVES.items():
        table.add(what, str(sum(operations(fa.Model(two_links(**joint)).function("state_rate")))))
    table.notes.append("Both joints have the same part. tanh, exp and square roots count as one operation.")
    return table


def _sticking(quick: bool) -> Table:
    """Three arms that stick."""
    frictions = {
        "smooth, creep 1e-3": {"coulomb": 0.1, "creep_rate": 1e-3},
        "smooth, creep 1e-5": {"coulomb": 0.1, "creep_rate": 1e-5},
        "LuGre, 1e5": {"coulomb": 0.1, "model": "lugre", "bristle_stiffness": 1e5, "bristle_damping": 1.0},
    }
    table = Table("Arms that stick: 2 s, rtol 1e-8", ("friction", "method", "time", "evaluations", "energy drift"))
    for what, friction in frictions.items():
        model = fa.Model(two_links(**BENDS, drive={"friction": friction, "link_friction": friction}))

        u = fa.bang_bang([0.5, 0.2], 2.0)

        def run(method: str, model: fa.Model = model, u: Any = u) -> Any:
            return fa.simulate(model, 2.0, u, method=method, progress=False)

        found = {method: run(method) for method in METHODS}
        samples: dict[str, list[float]] = {method: [] for method in METHODS}
        for _ in range(2 if quick else 9):
            for method in METHODS:
                samples[method].append(float(run(method).attrs["solve_seconds"]))
        for method in METHODS:
            attrs = found[method].attrs
            table.add(what, method, spread(samples[method]), attrs["evaluations"], f"{attrs['energy_drift']:.1e}")
    table.notes.append(
        "The arm has two links with elastic joints, friction on both sides of each joint, and bang-bang torques. "
        "dop853 must resolve the steepest part of the friction curve. It needs 8.7 million evaluations with the first "
        "friction, and minutes with the second."
    )
    return table
