"""One period of many environments on a graphics processor, one per thread, in the language that is translated.

A launch moves the arm of each environment by a period under its action, reads the sensors, computes the reward, and
begins a new episode where one has ended. The motion is that of `simulation.gpu_loops`. Sensors, tips and deflections
are the traced functions of the model, as on the CPU.

The beginnings of the next `AHEAD` episodes of each environment lie in the device's memory. The host computes them with
the code of `tasks` and `episodes`, so that episodes are the same on both devices.

The names in capitals are replaced by numbers in the translation, see `Shape`.
"""

from dataclasses import asdict, dataclass
from typing import final

from flexarm.native.language import Floats, Words, lanes, sqrt
from flexarm.native.nvptx import Entry, evaluate
from flexarm.native.sincos import Real
from flexarm.simulation.advance import LARGEST
from flexarm.simulation.gpu_loops import DONE, INPUTS, SIZE, STATES, UNDER_WAY, Form, Runs, advanced
from flexarm.simulation.rhs import DIVERGED
from flexarm.simulation.stages import Stages

AHEAD, WIDTH, CONSTANTS, PARAMETERS = 1, 1, 0, 0
MOTION, RATES, READINGS, GOALS, BENT, BODIES = 1, 1, 1, 0, 0, 0
ACCELERATES, MOVES, SAME_STEP = 0, 0, 0
AT_READINGS, AT_TIPS, AT_BENDS = 0, 0, 0

TOLD, FLAGS = 4, 5
"""Lengths of `told` and `flags` for each environment, see `period`."""

HALF, WHOLE = 2.0**51, 1.5 * 2.0**52
"""A number of this size and larger is not rounded to a resolution; the sum with `WHOLE` is rounded to an integer."""
FLOAT = {"HALF": 2.0**22, "WHOLE": 1.5 * 2.0**23}
"""The same for numbers of 32 bits."""


@final
@dataclass(frozen=True)
class Shape:
    """Numbers that determine a program: each replaces the name in capitals.

    Attributes
    ----------
    ahead, width, constants, parameters : int
        Number of episodes whose beginnings are in memory; the length of a beginning: a state, the target, the way of
        the target, constants and parameters; and the numbers of these constants and parameters if they are random.
    motion, rates : int
        Lengths of (q, qd) and of qd.
    readings, goals, bent, bodies : int
        Numbers of sensor signals, of observed numbers of the target, of flexible links, and of links.
    accelerates, moves, same_step : int
        1 if a sensor measures accelerations, if the target moves, and if an episode begins in the step that ends one.
    at_readings, at_tips, at_bends : int
        Places of the functions' constants, after those of the rates.
    """

    ahead: int
    width: int
    constants: int
    parameters: int
    motion: int
    rates: int
    readings: int
    goals: int
    bent: int
    bodies: int
    accelerates: int
    moves: int
    same_step: int
    at_readings: int
    at_tips: int
    at_bends: int

    def values(self, form: Form, real: Real) -> dict[str, float]:
        """Return the values of the names in capitals, those of the motion included."""
        found = {**form.constants(real), **{name.upper(): value for name, value in asdict(self).items()}}
        return found | FLOAT if real == "float" else found

    def entry(self, motion: Entry) -> Entry:
        """Return the entry point, from that of the motion alone."""
        work = *motion.work, self.motion + self.rates, self.readings, 12, 6 * self.bodies
        return Entry("environments", "period", pointers=8, integers=4, records=motion.records, work=work)


@dataclass
class Environments:
    """Constants and states of the environments. Each entry takes one word; arrays are stored as addresses.

    Attributes
    ----------
    holding, limit : (inputs,)
        Input for an action of 0, and its change for an action of 1.
    x : (states, N)
        States of the arms.
    starts : (ahead, width, N)
        Beginnings of the next episodes, see `Shape`.
    slot, episode : (N,)
        Index of the next beginning, and the number of episodes that have begun.
    steps, ended : (N,)
        Number of periods of an episode, and 1 if it has ended.
    last : int
        Number of periods in an episode.
    nominal : (k,)
        Constants of the tips for the nominal arm.
    base, blend : (last + 1, motion), (last + 1, 2)
        Posture of a moving target, and the shares of its way that are added to coordinates and rates.
    way, target : (motion, N), (6, N)
        Way of the target in an episode; its position [m] and velocity [m/s].
    noted : (readings, N)
        Latest readings of the sensors.
    resolution, every : (readings,)
        Resolution of each signal, or 0; and the number of periods between two readings.
    places, bounds : (bent,)
        Flexible links, and the squares of the deflections at which an episode ends [m^2].
    length, time : float
        Scales of the task [m, s].
    of_error, of_speed, of_effort, worst, near : float
        Weights of the reward, the largest cost of a period, and the share of the scales that is a success.
    """

    holding: Floats
    limit: Floats
    x: Floats
    starts: Floats
    slot: Words
    episode: Words
    steps: Words
    ended: Words
    last: int
    nominal: Floats
    base: Floats
    blend: Floats
    way: Floats
    target: Floats
    noted: Floats
    resolution: Floats
    every: Words
    places: Words
    bounds: Floats
    length: float
    time: float
    of_error: float
    of_speed: float
    of_effort: float
    worst: float
    near: float


# -- functions that are compiled separately; only their signatures are used -------------------------------------------


def readings(  # pragma: no cover
    x: Floats, x_apart: int, own: Floats, own_apart: int, y: Floats, y_apart: int
) -> None:
    """Compute the sensors' signals from (q, qd, qdd)."""
    raise NotImplementedError


def tips(  # pragma: no cover
    x: Floats, x_apart: int, own: Floats, own_apart: int, y: Floats, y_apart: int
) -> None:
    """Compute the position and the velocity of the tip from (q, qd, qdd)."""
    raise NotImplementedError


def bends(  # pragma: no cover
    x: Floats, x_apart: int, own: Floats, own_apart: int, y: Floats, y_apart: int
) -> None:
    """Compute the deflections of the links' tips from q, six numbers for each."""
    raise NotImplementedError


# -- translated functions ----------------------------------------------------------------------------------------------


def period(  # pragma: no cover  (runs as code for the GPU alone, like those below)
    s: Runs, g: Environments, actions: Floats, seen: Floats, final: Floats, told: Floats, flags: Words, drawn: Floats,
    r: int, row: int, column: int, most: int, begins: int, m: Stages,
    x: Floats, y: Floats, z: Floats, e: Floats, h: Floats, k: Floats, F: Floats, found: Floats, v: Floats,
    edges: Floats, gaps: Floats, w: Floats, signals: Floats, tip: Floats, bent: Floats,
) -> None:  # fmt: skip
    """Move one environment by a period, or begin an episode if the last one has ended. Only begin if `begins` is 1.

    `told` has the reward, the error [m], the speed [m/s] and the effort, (TOLD, N). `flags`, (FLAGS, N), has 1 if the
    episode is terminated, if it is truncated, if the arm has moved, if the tip is at its target, and if an episode has
    begun. If `begins` is 1, no arm moves, and an episode begins where the first row of `flags` has a 1.
    """
    stopped, over, failed, success, starts = 0, 0, 0, 0, g.ended[r]
    if begins == 1:
        starts = flags[r]
    moves = 1 - max(begins, starts)
    for j in lanes(TOLD):
        told[j * s.count + r] = 0.0
    if starts == 1:
        begin(s, g, r)
        observe(s, g, r, 1, x, e, w, signals, tip, bent)
    if moves == 1:
        effort = 0.0
        for j in lanes(INPUTS):
            a = actions[r * row + j * column]
            if not abs(a) <= LARGEST:
                failed, a = 1, 0.0
            a = max(-1.0, min(1.0, a))
            effort += a * a
            s.u[r * INPUTS + j] = g.holding[j] + g.limit[j] * a
        if failed == 0:
            failed = move_arm(s, g, r, most, m, x, y, z, e, h, k, F, found, v, edges, gaps)
        g.steps[r] += 1
        observe(s, g, r, 0, x, e, w, signals, tip, bent)
        error, speed = distance(tip), distance(tip[3:])
        effort = effort / float(INPUTS)
        cost = g.of_error * (error / g.length) + g.of_speed * (speed * g.time / g.length) + g.of_effort * effort
        left = max(g.last - g.steps[r], 0)
        if failed == 1 or too_far(g, bent) == 1:
            stopped = 1
        elif left == 0:
            over = 1
        reward = 0.0 - min(cost, g.worst)
        if stopped == 1:
            reward = 0.0 - g.worst * float(1 + left)
        near = g.near * g.length
        told[r], told[s.count + r], told[2 * s.count + r], told[3 * s.count + r] = reward, error, speed, effort
        if error < near and speed * g.time < near:
            success = 1
        g.ended[r] = max(stopped, over)
    if SAME_STEP == 1 and max(stopped, over) == 1:
        show(s, g, r, final)
        begin(s, g, r)
        observe(s, g, r, 1, x, e, w, signals, tip, bent)
        starts = 1
    flags[r], flags[s.count + r], flags[2 * s.count + r] = stopped, over, moves
    flags[3 * s.count + r], flags[4 * s.count + r] = success, starts
    show(s, g, r, seen)
    for j in lanes(PARAMETERS):
        drawn[r * PARAMETERS + j] = g.starts[(g.slot[r] * WIDTH + WIDTH - PARAMETERS + j) * s.count + r]


def begin(s: Runs, g: Environments, r: int) -> None:  # pragma: no cover
    """Begin the next episode of an environment."""
    slot = g.episode[r] % AHEAD
    start = g.starts[slot * WIDTH * s.count + r :]
    for j in lanes(STATES):
        g.x[j * s.count + r] = start[j * s.count]
    for j in lanes(6):
        g.target[j * s.count + r] = start[(STATES + j) * s.count]
    if MOVES == 1:
        for j in lanes(MOTION):
            g.way[j * s.count + r] = start[(STATES + 6 + j) * s.count]
    for j in lanes(CONSTANTS):
        s.own[j * s.apart + r] = start[(WIDTH - PARAMETERS - CONSTANTS + j) * s.count]
    g.slot[r], g.episode[r], g.steps[r], g.ended[r] = slot, g.episode[r] + 1, 0, 0


def move_arm(  # pragma: no cover
    s: Runs, g: Environments, r: int, most: int, m: Stages,
    x: Floats, y: Floats, z: Floats, e: Floats, h: Floats, k: Floats, F: Floats, found: Floats, v: Floats,
    edges: Floats, gaps: Floats,
) -> int:  # fmt: skip
    """Move an arm by a period. Return 1, without a change, if that is not possible."""
    for j in lanes(SIZE):
        s.x[j * s.count + r] = 0.0
    for j in lanes(STATES):
        s.x[j * s.count + r] = g.x[j * s.count + r]
    s.now[r], s.next[r], s.piece[r], s.at[r], s.known[r], s.status[r] = s.t[0], s.guess, 0, 0, 1, UNDER_WAY
    s.taken[r], s.evaluations[r] = 0, 0
    advanced(s, r, 1, 2, most, m, x, y, z, e, h, k, F, found, v, edges, gaps)
    if s.status[r] != DONE:
        return 1
    for j in lanes(STATES):
        g.x[j * s.count + r] = s.x[j * s.count + r]
    return 0


def observe(  # pragma: no cover
    s: Runs, g: Environments, r: int, anew: int,
    x: Floats, e: Floats, w: Floats, signals: Floats, tip: Floats, bent: Floats,
) -> None:  # fmt: skip
    """Read the sensors that are due, and compute the errors of the tip and the deflections."""
    own = s.own[r * s.single :]
    for j in lanes(STATES):
        x[j] = g.x[j * s.count + r]
    for j in lanes(MOTION):
        w[j] = x[j]
    for j in lanes(RATES):
        w[MOTION + j] = 0.0
    if ACCELERATES == 1:
        for j in lanes(INPUTS):
            x[STATES + j] = g.holding[j] if anew == 1 else s.u[r * INPUTS + j]
        evaluate(x, 1, own, s.apart, e, 1)
        for j in lanes(RATES):
            w[MOTION + j] = e[MOTION - RATES + j]
    readings(w, 1, own[AT_READINGS * s.apart :], s.apart, signals, 1)
    for j in lanes(READINGS):
        value, fine = signals[j], g.resolution[j]
        if fine > 0.0 and abs(value) < HALF * fine:
            value = fine * ((value / fine + WHOLE) - WHOLE)
        if g.steps[r] % g.every[j] == 0:
            g.noted[j * s.count + r] = value
    tips(w, 1, own[AT_TIPS * s.apart :], s.apart, tip, 1)
    if BENT > 0:
        bends(w, 1, own[AT_BENDS * s.apart :], s.apart, bent, 1)
    if MOVES == 1:
        at = min(g.steps[r], g.last)
        base, blend = g.base[at * MOTION :], g.blend[2 * at :]
        for j in lanes(MOTION - RATES):
            w[j] = base[j] + blend[0] * g.way[j * s.count + r]
        for j in lanes(RATES):
            w[MOTION - RATES + j] = base[MOTION - RATES + j] + blend[1] * g.way[(MOTION - RATES + j) * s.count + r]
            w[MOTION + j] = 0.0
        tips(w, 1, g.nominal, 1, tip[6:], 1)
        for j in lanes(6):
            g.target[j * s.count + r] = tip[6 + j]
    for j in lanes(6):
        tip[j] -= g.target[j * s.count + r]


def distance(x: Floats) -> float:  # pragma: no cover
    """Return the length of a vector."""
    return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])


def too_far(g: Environments, bent: Floats) -> int:  # pragma: no cover
    """Return 1 if a link bends too far for its mode shapes, else 0."""
    found = 0
    for j in lanes(BENT):
        at = bent[6 * g.places[j] :]
        if at[1] * at[1] + at[2] * at[2] > g.bounds[j]:
            found = 1
    return found


def show(s: Runs, g: Environments, r: int, seen: Floats) -> None:  # pragma: no cover
    """Write an observation: the readings, then the target."""
    row = seen[r * (READINGS + GOALS) :]
    for j in lanes(READINGS):
        row[j] = max(0.0 - DIVERGED, min(DIVERGED, g.noted[j * s.count + r]))
    for j in lanes(GOALS):
        row[READINGS + j] = max(0.0 - DIVERGED, min(DIVERGED, g.target[j * s.count + r]))
