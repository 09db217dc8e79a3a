"""What is attacked: the bundled arms and scenarios, and small ones with whatever those lack."""

import tomllib
from functools import cache
from importlib import resources

MORE_ARMS = (
    """
    name = "tapered"
    gravity = [0.0, 0.0, -9.81]
    payload = {mass = 0.1, inertia = [1e-3, 2e-3, 2e-3]}
    [[links]]
    name = "a"
    joint = {type = "prismatic", axis = [0, 1, 0], rotor_inertia = 0.01, gear_ratio = 3.0, stiffness = 400.0}
    [links.body]
    type = "rigid"
    length = 0.4
    mass = 1.0
    com = [0.2, 0.0, 0.01]
    inertia = [[0.1, 0, 0], [0, 0.2, 0], [0, 0, 0.2]]
    [[links]]
    name = "b"
    placement = {xyz = [0.1, 0.0, 0.0], rpy = [0.1, 0.2, 0.3]}
    hub_mass = 0.1
    hub_inertia = [1e-3, 1e-3, 1e-3]
    joint = {type = "revolute", axis = [0, 0, 1], rotor_inertia = 0.01, rotor = "absolute"}
    [links.body]
    type = "beam"
    length = 0.7
    material = {E = 3e8, density = 2700.0, poisson = 0.35}
    section = {type = "tube", outer_diameter = 0.04, thickness = 0.005}
    section_tip = {type = "tube", outer_diameter = 0.02, thickness = 0.004}
    modes = {y = 1, torsion = 1}
    damping = [0.01, 0.02]
    """,
    """
    name = "box"
    [[links]]
    name = "a"
    joint = {type = "revolute", axis = [0, 0, 1]}
    hub_inertia = 0.01
    [links.body]
    type = "beam"
    length = 1.0
    material = {E = 7e10, density = 2700.0, G = 2.6e10}
    section = {type = "box", width = 0.02, height = 0.03, thickness = 0.002}
    modes = {y = 1, z = 1, axial = 1}
    shapes = {y = "polynomial", z = "craig-bampton", axial = "fixed-loaded"}
    damping = {y = 0.01, z = 0.02}
    foreshortening = true
    [[links]]
    name = "grip"
    joint = {type = "fixed"}
    body = {type = "rigid", length = 0.1, mass = 0.2}
    """,
    """
    name = "one"
    gravity = [0.0, -9.81, 0.0]
    [[links]]
    name = "rod"
    joint = {type = "revolute", axis = [0, 0, 1], damping = 0.2}
    body = {type = "rigid", length = 0.8, mass = 1.5}
    """,
    """
    name = "pinned"
    [[links]]
    name = "a"
    joint = {type = "revolute", axis = [0, 0, 1], stiffness = 50.0, spring_damping = 0.1, rotor_inertia = 0.1}
    hub_inertia = 0.1
    [links.body]
    type = "beam"
    length = 1.0
    mass = 0.5
    EI = {y = 10.0}
    modes = {y = 2}
    shapes = "pinned-pinned"
    next_joint = "chord"
    [[links]]
    name = "b"
    joint = {type = "telescope", free_length = 0.6}
    body = {type = "beam", length = 0.9, mass = 0.3, EI = 5.0, modes = {y = 1}, shapes = "clamped-free"}
    """,
    """
    name = "sampled-shape"
    payload = {mass = 0.2}
    [[links]]
    name = "a"
    joint = {type = "revolute", axis = [0, 0, 1]}
    [links.body]
    type = "beam"
    length = 1.0
    mass_per_length = 0.3
    EI = 4.0
    GJ = 2.0
    polar_inertia = 1e-3
    modes = {y = 1, torsion = 1}
    damping = 0.02
    [links.body.shapes]
    torsion = {family = "fixed-loaded", load_ratio = 2.0}
    [links.body.shapes.y]
    family = "free-form"
    x = [0.0, 0.1, 0.25, 0.4, 0.5, 0.75, 1.0]
    values = [[0.0, 0.015, 0.09, 0.21, 0.32, 0.63, 1.0]]
    """,
    """
    name = "hermite"
    [[links]]
    name = "a"
    body = {type = "beam", length = 1.0, mass = 0.5, EI = 10.0, modes = {y = 2}, shapes = "hermite"}
    [[links]]
    name = "b"
    [links.body]
    type = "beam"
    length = 1.0
    mass = 0.5
    EI = 10.0
    modes = {y = 1}
    [links.body.shapes]
    family = "hermite-modes"
    mass = 0.1
    inertia = 1e-3
    """,
    """
    name = "loaded"
    [[links]]
    name = "a"
    [links.body]
    type = "beam"
    length = 1.0
    mass = 0.5
    EI = 10.0
    modes = {y = 1}
    [links.body.shapes]
    family = "clamped-loaded"
    mass_ratio = 4.0
    [[links]]
    name = "b"
    joint = {type = "telescope", total_length = 1.0, wave_numbers = "solved", convection = "paper"}
    [links.body]
    type = "beam"
    length = 1.0
    mass = 0.5
    EI = 10.0
    modes = {y = 1}
    [links.body.shapes]
    family = "clamped-mass"
    mass_ratio = 1.0
    inertia_ratio = 0.1
    moment_ratio = 0.2
    """,
)

MORE_SCENARIOS = (
    """
    name = "constant"
    arm = "rigid-two-link"
    until = 0.1
    samples = 11
    input = {type = "constant", values = [1.0, -1.0]}
    solver = {method = "rk4", step = 0.01}
    initial = {q = [0.1, 0.2], qd = {"fore.joint" = 1.0}}
    """,
    """
    name = "piecewise"
    arm = "subudhi-morris"
    until = 0.1
    samples = 11
    input = {type = "piecewise", times = [0.0, 0.05], values = [[0.1, 0.1], [0.0, -0.1]]}
    solver = {method = "radau5", rtol = 1e-6, atol = 1e-8}
    """,
    """
    name = "table"
    arm = "lin-lewis-beam"
    until = 0.1
    samples = 11
    input = {type = "table", times = [0.0, 0.05, 0.1], values = [[0.0], [1.0], [0.0]], interpolation = "linear"}
    """,
    """
    name = "line"
    arm = "rigid-two-link"
    until = 0.1
    samples = 11
    reference = {type = "task-line", start = [1.2, 0.5], end = [1.0, 0.8], duration = 0.1, axes = "xy", q0 = [0.1, 1.0]}
    controller = {type = "computed-torque", Kp = 10.0, Kd = [2.0, 2.0]}
    """,
    """
    name = "points"
    arm = "rigid-two-link"
    until = 0.2
    samples = 11
    reference = {type = "minimum-jerk", points = [[0.0, 0.0], [0.1, 0.2], [0.3, 0.1]], times = [0.0, 0.1, 0.2]}
    input = {type = "prescribed-motion"}
    """,
    """
    name = "lqr"
    arm = "subudhi-morris"
    until = 0.1
    samples = 11
    [reference]
    type = "quintic"
    start = [0.0, 0.0]
    end = [0.1, 0.1]
    duration = 0.1
    shaper = {kind = "ei", modes = 1, tolerance = 0.05}
    [controller]
    type = "lqr"
    bandwidth = 5.0
    period = 0.01
    delay = 0.01
    limit = [1.0, 1.0]
    rate_limit = 100.0
    seed = 3
    """,
    """
    name = "integral"
    arm = "lin-lewis-beam"
    until = 0.1
    samples = 11
    reference = {type = "cycloidal", rates = [0.1], periods = [0.1]}
    [controller]
    type = "joint-pd"
    Kp = 10.0
    Kd = 2.0
    integral = {Ki = 1.0}
    strain_rate = {K = 0.1, link = "beam", at = 0.1}
    nominal = "lin-lewis-beam"
    """,
    """
    name = "scheduled"
    arm = "rigid-two-link"
    until = 0.1
    samples = 11
    reference = {type = "quintic", start = [0.0, 0.0], end = [0.1, 0.1], duration = 0.1}
    controller = {type = "scheduled-lqr", points = 3, bandwidth = 5.0}
    """,
)


@cache
def arms():
    """Tables of arms."""
    return _bundled("arms") + [tomllib.loads(text) for text in MORE_ARMS]


@cache
def scenarios():
    """Tables of scenarios."""
    return _bundled("scenarios") + [tomllib.loads(text) for text in MORE_SCENARIOS]


SOUGHT_LONG = ("canadarm-optimal.toml", "spatial-6r-optimal.toml")
"""Scenarios whose motion takes half a minute to be found, in each case anew."""


def _bundled(folder):
    files = sorted((resources.files("flexarm.catalogue") / folder).iterdir(), key=lambda file: file.name)
    chosen = [file for file in files if file.name.endswith(".toml") and file.name not in SOUGHT_LONG]
    return [tomllib.loads(file.read_text("utf-8")) for file in chosen]
