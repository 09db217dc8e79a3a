"""Threads that do everything at once, in a process of its own: python stress.py [ROUNDS].

In each round two fresh models of one arm, which is new to the cache in the first round and known in the later ones, are
given to eight threads. Each does every job on one of them, in its own order. All must find what one thread alone finds
afterwards. Prints the number of jobs that were done.
"""

import inspect
import os
import random
import sys
import threading
import traceback
import warnings

import numpy as np
from alone import alone

import flexarm as fa
from flexarm import analysis, control
from flexarm.model import QUANTITIES, Model
from flexarm.simulation.sampled import feedback

THREADS = 8

BEAM = fa.Beam(length=0.6, mass=0.4, EI=25.0, modes={"y": 2}, damping=0.01)
LINKS = [
    fa.Link(name="upper", joint=fa.Revolute(rotor_inertia=0.02, stiffness=300.0), body=fa.Rigid(length=0.5, mass=1.0)),
    fa.Link(name="fore", joint=fa.Revolute(rotor_inertia=0.01), body=BEAM),
]
SENSORS = [fa.TipPosition(axes="xy"), fa.Encoder(coordinate="fore.drive"), fa.Accelerometer(axes="xy")]
SLEW = fa.Quintic((0.0, 0.0), (0.3, -0.2), 0.1)
LQR = control.LQR(joints=(0.1, 0.2), bandwidth=20.0)

INPUTS = {
    "constant": [0.3, -0.1],
    "table": fa.Table([0.0, 0.05, 0.1], [[0.0, 0.0], [0.3, -0.1], [0.0, 0.0]]),
    "function": lambda t, q, qd: [-q[0], -qd[-1]],
    "rigid": fa.RigidInverseDynamics(SLEW),
    "pd": control.JointPD(SLEW, Kp=4.0, Kd=0.5),
    "sampled": control.Sampled(LQR, 0.01, delay=0.01, limit=1.0),
    "sampled function": control.Sampled(lambda t, q, qd: [-q[0], -qd[-1]], 0.01),
}


def arm(payload):
    return fa.Arm(name="arm", links=LINKS, payload=fa.Payload(mass=payload), gravity=(0.0, -9.81, 0.0))


def arguments(function, model):
    """Something for each of its parameters; a new parameter must be entered here."""
    n, m = len(model.coordinates), len(model.inputs)
    state = np.linspace(0.1, 0.4, n)
    known = {
        "q": state,
        "qd": state[::-1].copy(),
        "qdd": 3.0 * state,
        "v": 2.0 * state,
        "u": np.linspace(-1.0, 1.0, m),
        "outputs": SENSORS,
        "locked": True,
        "name": "energy",
        "argument": 0,
        "value": state,
        "where": "a test",
        "p": 1.1 * model.p,
        "nominal": 2.0,
    }
    left_out = ("self", "s", "w")  # the arm has neither states of drives nor anything from outside
    return {name: known[name] for name in inspect.signature(function).parameters if name not in left_out}


INNER = (
    "compiled", "derived", "evaluation", "of_arm", "over_parameters", "posed", "rates_in_tangent", "to_tangent",
    "traced", "with_numbers",
)  # fmt: skip
"""Methods that the others are made of, with functions and kernels as arguments."""


def methods(model):
    """A job for every public method of a model, and those of numbers for many states as well."""
    jobs = {}
    for name, method in inspect.getmembers(Model, inspect.isfunction):
        if name.startswith("_") or name in INNER:
            continue
        if name == "evaluate":
            q, qd, u, p = arguments(model.forward_dynamics, model).values()
            jobs[name] = lambda q=q, qd=qd, u=u, p=p: model.evaluate("state_rate", q, qd, u, p=p)
            continue
        given = arguments(method, model)
        if name.startswith("regressor"):  # a beam with a damping ratio is not linear in its EI
            linear = Model(model.arm, ["payload.mass"])
            jobs[name] = lambda name=name, linear=linear, given=given: getattr(linear, name)(**given)
            continue
        if name in ("argument", "single"):
            given |= {"name": "q"}
        if name == "signals_of":
            given |= {"argument": "q"}
        jobs[name] = lambda method=method, given=given: method(model, **given)
        of_one = name in ("frequencies", "modes", "linearize")
        if "q" in given and set(given) <= {"q", "qd", "v", "qdd", "u", "p"} and not of_one:
            many = {each: np.linspace(0.5, 1.5, 11)[:, None] * x for each, x in given.items()}
            jobs[f"{name} of many"] = lambda method=method, many=many: method(model, **many)
    for name, _ in inspect.getmembers(Model, lambda member: isinstance(member, property)):
        jobs[name] = lambda name=name: getattr(model, name)
    return jobs


def runs(model):
    def run(u, method):
        step = {"solver": fa.Solver(step=2e-4)} if method == "rk4" else {}
        return fa.simulate(model, 0.1, u=u, samples=5, method=method, progress=False, **step)

    jobs = {f"run with {name}": lambda u=u: run(u, "dop853") for name, u in INPUTS.items()}
    jobs |= {f"run by {method}": lambda method=method: run(0.1, method) for method in ("rk4", "radau5", "vern8")}
    return jobs


def stepped(model, method, count):
    stepper = fa.Stepper(model, 0.01, np.zeros((count, len(model.coordinates))), method=method)
    return [stepper.step([0.3, -0.1]) for _ in range(5)]


def others(shared):
    model, q = shared.model, np.zeros(len(shared.model.coordinates))
    return {
        "measured": lambda: shared.measured.values(q, q, np.zeros(len(model.inputs))),
        "function measured": lambda: shared.measured.function,
        "run with a law": lambda: fa.simulate(model, 0.1, u=shared.law, samples=5, progress=False),
        "many runs": lambda: fa.simulate_many(model, 0.1, u=[[0.1, -0.1], shared.law], samples=5, progress=False),
        "stepper": lambda: stepped(model, "auto", 1),
        "many steppers": lambda: stepped(model, "dop853", 9),
        "stiff stepper": lambda: stepped(model, "radau5", 2),
        "equilibrium": lambda: analysis.equilibrium(model, (0.1, 0.2)),
        "mode table": lambda: analysis.mode_table(model, q),
        "frozen": lambda: analysis.frozen_eigenvalues(model, q[None, :], q[None, :], qdd=q[None, :]),
        "designed": lambda: LQR.law(model, 0.01).facts["K"],
        "equations": lambda: str(fa.equations(model.arm.rigid()).latex()),
    }


def numbers(found):
    """What a job found, as arrays that can be compared."""
    if hasattr(found, "one") and hasattr(found, "code"):  # a kernel
        return [found.one(np.linspace(0.1, 0.4, found.code.facts["n_in"] - len(found.constants)))]
    if isinstance(found, Model):
        return [found.mass_matrix(np.linspace(0.1, 0.4, len(found.coordinates)))]
    if hasattr(found, "sx_in"):  # a CasADi function
        given = [np.linspace(0.1, 0.4, found.numel_in(i)) for i in range(found.n_in())]
        return [np.array(found(*given))]
    if hasattr(found, "data_vars"):
        return [np.array(values) for name, values in found.data_vars.items() if values.dtype.kind == "f"]
    if hasattr(found, "A"):
        return [np.array(x) for x in (found.A, found.B, found.C, found.D)]
    if isinstance(found, tuple | list):
        return [array for each in found for array in numbers(each)]
    if isinstance(found, np.ndarray | float | str):
        return [np.array(found)]
    return [np.array(type(found).__name__)]


class Shared:
    """What threads have in common: a model, and things made for it once."""

    def __init__(self, payload):
        self.model = Model(arm(payload), ["payload.mass", "*.EI"])
        self.measured = fa.outputs(self.model, SENSORS)
        self.law = feedback(INPUTS["pd"], self.model)

    def jobs(self):
        """By name; whoever does them may do them again."""
        return methods(self.model) | runs(self.model) | others(self)


def same(one, other):
    for a, b in zip(numbers(one), numbers(other), strict=True):
        if a.dtype.kind in "US":
            assert (a == b).all()
        else:
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)  # a run's step control may turn on rounding


def one_round(payload):
    pair = [Shared(payload) for _ in range(2)]
    found, faults, together = [{} for _ in range(THREADS)], [], threading.Barrier(THREADS, timeout=300)

    def worker(k):
        name = "to begin with"
        try:
            shared = pair[k % 2]
            for name, job in methods(shared.model).items():  # all at one door, again and again while some still build
                together.wait()
                for _ in range(30 if name in QUANTITIES else 1):
                    found[k][name] = job()
            jobs = list(shared.jobs().items())
            random.Random(k).shuffle(jobs)
            for name, job in jobs:
                found[k][name] = job()
        except BaseException:
            faults.append(f"{name}: {traceback.format_exc()}")
            together.abort()

    threads = [threading.Thread(target=worker, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults, "\n".join(faults)
    alone = {name: job() for name, job in Shared(payload).jobs().items()}
    for results in found:
        assert set(results) == set(alone)
        for name, result in results.items():
            try:
                same(result, alone[name])
            except AssertionError as error:
                raise AssertionError(f"{name}: {error}") from None
    return sum(map(len, found))


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # what designs say of themselves is tested elsewhere
    assert os.environ["FLEXARM_CACHE"]
    sys.setswitchinterval(1e-5)
    with alone():
        print(sum(one_round(0.3) for _ in range(int(sys.argv[1]))))
