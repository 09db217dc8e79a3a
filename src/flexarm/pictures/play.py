"""Live simulation of an arm in the browser: one page that runs the arm's own equations."""

from collections.abc import Sequence
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from flexarm.arrays import Array
from flexarm.attitude import local
from flexarm.checks import Fault, checked_flag, choices, refused, shown, unknown_name
from flexarm.closed_forms.formats.javascript import javascript
from flexarm.closed_forms.formats.program import Program
from flexarm.description.arm import Arm
from flexarm.description.joints import Telescope
from flexarm.description.load import SUFFIXES, bundled, load, read_toml
from flexarm.description.robots.reading import is_robots
from flexarm.errors import DescriptionError
from flexarm.files import checked_path
from flexarm.model import Model
from flexarm.model.adrift import TURN
from flexarm.pictures.live import BANDWIDTHS, KD_STOPS, KP_STOPS, Live
from flexarm.pictures.page import page
from flexarm.pictures.solids import solids
from flexarm.pictures.targets import Targets, targets
from flexarm.pictures.view import Page, check_suffix
from flexarm.quaternions import turn
from flexarm.scenario import Scenario, bundled_scenarios, load_scenario
from flexarm.scenario.tables import state
from flexarm.simulation.butcher import RK4
from flexarm.trajectory import Shaper

SCRIPTS = ("view.css", "play.css", "controls.js", "live.js", "strips.js", "play.js")

ASIDE = 0.4
"""Distance of the first target from rest for an arm without a scenario [rad]."""

LARGEST = 1e6
"""Largest rate at which the page continues, in SI units. The angle of a wheel and the position of a base are
unlimited."""

AT_REST = (1.0, 0.0, 0.0, 0.0)
"""Attitude of a free base at rest."""


def play(what: Arm | Model | Scenario | str, path: str | PathLike[str] | None = None, *, show: bool = True) -> Any:
    """Write an HTML file that simulates an arm in the browser with its own equations, offline.

    In the page you drag the targets of the joints or of the tip, and push the tip. You choose a controller and set its
    gains. You change payload, stiffness, damping and gravity. Plots and the energy balance are updated continuously.

    Parameters
    ----------
    what : Arm, Model, Scenario or str
        Arm to simulate. A scenario sets the initial state, the target (the end of its reference, or what its controller
        holds) and the gains of its joint PD controller. A text is the name of a bundled arm or scenario, or the path of
        a .toml file. The target of a reaction wheel is the rotation of the free base about the wheel's axis. Thrusters
        are off.
    path : path, optional
        File to write. Without a path, a `Page` is returned, which a notebook shows.
    show : bool
        True to open the file if there is a browser.

    Returns
    -------
    pathlib.Path or Page

    Raises
    ------
    DescriptionError
        If there is no such arm or scenario, if a joint has no actuator, or if the file cannot be written.
    """
    with refused("play"):
        checked_flag(show, "show")
    if path is not None:
        check_suffix(path, f"play: path {shown(Path(checked_path(path)).name)}")
    return played(what).delivered(path, show)


def played(what: Arm | Model | Scenario | str) -> Page:
    """Return the page that `play` writes."""
    title, description, live = _live(what)
    programs = live.programs()
    data = {
        "title": title,
        "description": description,
        "solids": solids(live.model),
        "live": numbers(live, programs),
    }
    scripts = [javascript(program) for program in programs]
    return Page(title, page(f"{title} \N{EN DASH} flexarm", data, SCRIPTS, scripts))


def _live(what: Any) -> tuple[str, str, Live]:
    """Return the title, the description, and the arm as the page runs it."""
    if isinstance(what, str):
        what = _found(what)
    if isinstance(what, Model):
        what = what.arm_at()
    if isinstance(what, Arm):
        rest = np.array(what.rest)
        return what.name, what.description, Live(what, rest, _aside(what))
    if isinstance(what, Scenario):
        what.refuse_changes("play")
        arm = what.loaded_arm()
        what.check(arm)
        led = targets(Model(arm))
        given = state("initial.q", what.initial.q, arm.coordinates, arm.rest)
        q = np.array(arm.rest if given is None else given)
        with what.errors_named():
            target, gains = _target(what, led, q), _gains(what, led)
        return what.name, what.description, Live(arm, q, target, gains)
    with refused("play"):
        raise Fault("", f"the object to play is {shown(what)}; it must be an Arm, a Model, a Scenario or a name")


def _found(name: str) -> Arm | Scenario:
    """Return an arm or a scenario by its name or its file. If both have the name, it is the arm."""
    if name in bundled():
        return load(name)
    if name in bundled_scenarios():
        return load_scenario(name)
    if is_robots(name):
        return load(name)
    if Path(name).suffix != ".toml":
        known = dict.fromkeys((*bundled(), *bundled_scenarios()))
        allowed = f"give a {choices('.toml', *SUFFIXES)} file, or the name of a bundled arm or scenario:"
        raise DescriptionError(unknown_name("play: unknown arm or scenario", name, known, allowed))
    return load(name) if "links" in read_toml(Path(name), name) else load_scenario(name)


def _aside(arm: Arm) -> Array:
    """Return a visible target away from rest: turned joints, and telescopes at another length."""
    found = []
    moving = [link for link in arm.links if link.joint.actuated]
    for link, at in zip(moving, _joints(arm, np.array(arm.rest)), strict=True):
        length = link.body.length
        turned = at + (ASIDE if link.joint.unit == "rad" else 0.2 * length)
        found.append(0.6 * length if isinstance(link.joint, Telescope) else turned)
    return np.array(found)


def _joints(arm: Arm, q: Array) -> Array:
    """Return the joint coordinates at a configuration, (m,)."""
    return local(arm, q)[list(arm.driven)]


def _target(scenario: Scenario, led: Targets, q: Array) -> Array:
    """Return the end of the reference, the joints that the controller holds, or the initial joints.

    For wheels it is the attitude that the controller holds, by default that at rest.
    """
    from flexarm.control.attitude import checked_attitude
    from flexarm.control.equilibrium import checked_joints, rest

    given, reference = scenario.controller or {}, scenario.motion(led.model)
    end = rest(reference) if reference is not None else None
    if end is not None:
        found = end[1]
    elif "joints" in given:
        found = checked_joints("play: controller.joints", given["joints"], led.model)
    else:
        found = _joints(led.model.arm, q)
    if not led.wheels:
        return found
    return np.where(led.turning, led.shown[:, TURN] @ turn(checked_attitude(given.get("attitude", AT_REST))), found)


def _gains(scenario: Scenario, led: Targets) -> tuple[Array, Array] | None:
    """Return the gains of a scenario's joint PD controller if they are positive and no joint is a wheel, else None."""
    given, m = scenario.controller or {}, len(led.names)
    if given.get("type") != "joint-pd" or led.wheels:
        return None
    found = [np.asarray(given[name], dtype=float) for name in ("Kp", "Kd")]
    if any(x.shape not in ((), (m,)) or not (x > 0).all() for x in found):
        return None
    return np.broadcast_to(found[0], (m,)).copy(), np.broadcast_to(found[1], (m,)).copy()


def _composite(live: Live) -> dict[str, Any] | None:
    """Return the bandwidths and fast gains of composite control, with the usual bandwidth or the largest below it."""
    designs, _ = live.composites
    if not designs:
        return None
    stops = list(designs)
    usual = max((i for i, omega in enumerate(stops) if omega <= live.pace), default=0)
    return {"stops": stops, "usual": usual, "K": [K.ravel() for K in designs.values()], "calm": live.calm}


def _impulses(shaper: Shaper) -> dict[str, Array]:
    return {"times": np.array(shaper.times), "amplitudes": np.array(shaper.amplitudes)}


def _label(kind: str) -> str:
    """Return the label of a kind of shaper: "ZVD", "Two-hump EI"."""
    *humps, name = kind.split("-hump-")
    return "".join(f"{count.capitalize()}-hump " for count in humps) + name.upper()


def numbers(live: Live, programs: Sequence[Program]) -> dict[str, Any]:
    """Return the data of the page's simulation, see assets/live.js. `checks` has values for a test of its programs."""
    model, arm, led = live.model, live.arm, live.led
    low, high = live.ranges
    acceleration, speed = live.path
    moving = [link for link in arm.links if link.joint.actuated]
    fastest, lasting = live.fastest
    return {
        "checks": [
            dict(zip(("name", "inputs", "outputs", "within"), (x.name, *x.sample()), strict=True)) for x in programs
        ],
        "n": model.nv,
        "m": len(model.inputs),
        "coordinates": list(model.coordinates),
        "base": led.base,
        "settling": [i for i in range(led.base, model.nv) if i not in arm.driven],
        "names": list(led.names),
        "wheels": led.turning.tolist(),
        "off": [x.name for x in live.described.thrusters],
        "units": [link.joint.unit for link in moving],
        "efforts": [link.joint.effort_unit for link in moving],
        "q": np.asarray(live.q, dtype=float),
        "target": live.target,
        "low": low,
        "high": high,
        "reach": float(sum(link.body.length for link in arm.links)),
        "x": local(arm, live.q),
        "start": led.at(live.q),
        "moved": led.moved.ravel(),
        "inputs": model.input_matrix(np.array(arm.rest)).T.tolist(),
        "limits": [list(x) for x in live.limits],
        "largest": LARGEST,
        "step": live.step,
        "tableau": RK4.matrix.tolist(),
        "times": list(RK4.c[: RK4.stages]),
        "fastest": fastest,
        "lasting": lasting,
        "leftOut": list(live.left_out),
        "p": model.p.astype(float) if len(model.p) else [],
        "sliders": [asdict(slider) for slider in live.sliders],
        "Kp": live.Kp,
        "Kd": live.Kd,
        "kpStops": list(KP_STOPS),
        "kdStops": list(KD_STOPS),
        "kp": KP_STOPS.index(1.0),
        "kd": KD_STOPS.index(1.0),
        "shapers": {
            kind: {"label": _label(kind), "designs": [x if isinstance(x, str) else _impulses(x) for x in designs]}
            for kind, designs in live.shapers.items()
        },
        "lqr": {
            "stops": [factor * live.pace for factor in BANDWIDTHS],
            "usual": BANDWIDTHS.index(1.0),
            "K": [K.ravel() for K in live.regulators],
        }
        if live.regulators
        else None,
        "composite": _composite(live),
        "without": {"LQR": live.without_regulator} | ({} if live.composites[0] else {"Composite": live.composites[1]}),
        "bends": [name for *_, name in live.bends],
        "tolerance": live.tolerance,
        "push": live.push,
        "acceleration": acceleration,
        "speed": speed,
    }
