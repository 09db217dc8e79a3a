"""Wrong arguments to everything public, found by introspection: a new function is attacked without being named here.

Right arguments come from `right`, by the name of a parameter; one or two of them are then replaced by wrong ones.
Whatever is accepted is used: a description's properties are read, a controller designs its law and runs, a motion is
evaluated, a sensor measures.
"""

import decimal
import fractions
import inspect
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np

import flexarm as fa
from flexarm import control
from flexarm.checks import Described

from . import right, values
from .arms import whole

MODULES = (
    "flexarm",
    "flexarm.analysis",
    "flexarm.control",
    "flexarm.estimation",
    "flexarm.optimal",
    "flexarm.trajectory",
    "flexarm.shapes",
    "flexarm.simulation.inputs",
    "flexarm.sensors",
    "flexarm.plots",
    "flexarm.problems",
    "flexarm.robust",
    "flexarm.scenario",
)

INSIDE = {
    "begun": "what a run asks of its input",
    "expressed": "what a sum asks of its input",
    "expression": "of CasADi's symbols",
    "corners": "what a run asks of its input",
    "applied": "what a run asks of its input",
    "ahead": "what a run asks of its input",
    "feed": "what a run asks of its input",
    "in_python": "what a sampled loop asks of its controller",
    "input": "what outputs ask of a motor's sensor",
    "known": "what a run asks of its input",
    "of_arm": "of a function of the arm",
    "over_time": "what a run asks of its input",
    "key": "of compiled code",
    "kernel_for": "what a run asks of its input",
    "rule": "of a field, which the fields themselves name",
    "output": "what a run asks of its input",
    "stage": "what a run asks of its input",
    "recording": "what a run asks of its input",
    "recorded": "what a run asks of its input",
    "compiled": "of a kernel",
    "derived": "of a trace",
    "traced": "of a trace",
    "posed": "of expressions",
    "to_tangent": "of expressions",
    "rates_in_tangent": "of expressions",
    "over_parameters": "of expressions",
    "evaluation": "of a kernel",
    "found": "what a scenario asks of its reference",
    "ranges": "what a search asks of its limits",
    "sizes": "what a search asks of its limits",
    "station": "what readings ask of a sensor",
    "f1": "of numbers, arrays or CasADi's expressions, with NumPy's or CasADi's functions",
    "f2": "as `f1`",
    "frequency_equation": "as `f1`",
    "add_note": "Python's",
    "with_traceback": "Python's",
}
"""What the package calls itself, with objects of its own, and formulas of whatever can be multiplied: nothing is
checked there."""

NOT_CALLED = {
    "Equations": "made by `equations`",
    "Problem": "made by `problem`",
    "Score": "made by `score`",
    "Column": "made by `score`",
    "run_in_real_time": "starts the program of a C compiler",
}
RESULTS = {
    "Comparison": "made by `compare_reduced`",
    "Excitation": "made by `excitation`",
    "Gradient": "made by `gradient`",
    "Identification": "made by `identify`",
    "Inversion": "made by `stable_inversion`",
    "Learned": "made by `learn`",
    "LoopShaping": "made by `loop_shaping`",
    "Mu": "made by `mu_bound`",
    "MuSynthesis": "made by `mu_synthesis`",
    "Norm": "made by `hinf_norm`",
    "OptimalMotion": "made by `optimal_motion`",
    "PoleMigration": "made by `pole_migration`",
    "Reduction": "made by `reduce_system`",
    "RobustStability": "made by `robust_stability`",
    "Synthesis": "made by `hinf_synthesis`",
    "Tuned": "made by `tune`",
    "Uncertain": "made by `uncertain`",
    "WorstGain": "made by `worst_gain`",
    "RobotReport": "made by `robot_report`",
    "UrdfReport": "made by `urdf_report`",
}
"""Whose methods are not called either: nobody makes one by hand."""


@cache
def targets():
    """Everything public that can be called: {"LQR.law": (LQR, "law"), "simulate": (None, simulate)}."""
    found = {}
    for module in map(import_module, MODULES):
        for name in getattr(module, "__all__", None) or vars(module):
            thing = getattr(module, name)
            where = getattr(thing, "__module__", "")
            own = where.startswith("flexarm") if hasattr(module, "__all__") else where == module.__name__
            public = (
                own and name not in INSIDE and not name.startswith("_") and not getattr(thing, "_is_protocol", False)
            )
            if not public or not callable(thing) or name in RESULTS:
                continue
            if inspect.isclass(thing):
                if issubclass(thing, BaseException):
                    continue
                found |= {f"{name}.{each}": (thing, each) for each in methods(thing)}
            if name not in NOT_CALLED:
                found.setdefault(name, (None, thing))
    return dict(sorted(found.items()))


def methods(cls):
    """Public methods that are a class's own."""
    from pydantic import BaseModel

    names = (name for name in dir(cls) if not name.startswith("_") and not hasattr(BaseModel, name))
    return [name for name in names if name not in INSIDE and callable(getattr(cls, name))]


def case(rng, folder, note):
    names = [name for name in targets() if rng.random() < 0.5 or "." not in name]
    name = rng.choice(names)  # half of the methods: there are many, and functions have more to lose
    owner, thing = targets()[name]
    context = right.context(rng, folder)
    if owner is None:
        call = thing
    else:
        made = right.made(owner, context)
        note(f"{made!r:.200}")
        call = getattr(made, thing)
    arguments = right.arguments(name, call, context)
    for _ in range(rng.choice((1, 1, 2))):
        if arguments:
            parameter = rng.choice([*arguments])
            arguments[parameter] = spoiled(rng, arguments[parameter], context)
    arguments = {k: v for k, v in arguments.items() if v is not right.LEFT_OUT}
    note(f"{context.name}: {name}({', '.join(f'{k}={brief(v)}' for k, v in arguments.items())})")
    came = called(call, arguments)
    return used(came, context, note)


def called(call, arguments):
    """By keyword, where the signature allows it."""
    positional, named = [], {}
    for parameter in inspect.signature(call).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD and isinstance(more := arguments.pop(parameter.name, {}), dict):
            named = {str(name): value for name, value in more.items()}
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL) and parameter.name in arguments:
            value = arguments.pop(parameter.name)
            positional += (
                list(value) if parameter.kind is parameter.VAR_POSITIONAL and isinstance(value, tuple) else [value]
            )
    return call(*positional, **arguments | named)


def used(came, context, note):
    """What was accepted must serve, or be refused when it does."""
    if came is None or isinstance(came, str | int | float | Path):
        return "accepted"
    if isinstance(came, fa.Model):
        context.model = came
        came.mass_matrix(np.array(came.arm.rest))
        return "accepted and used"
    if isinstance(came, Described | fa.Shaper):
        for name in dir(type(came)):
            if isinstance(inspect.getattr_static(type(came), name, None), property) and not name.startswith("_"):
                getattr(came, name)
    if isinstance(came, fa.Stepper):
        note("used as a plant")
        came.step(np.zeros(len(context.model.inputs)))
        return "accepted and used"
    if hasattr(came, "law"):
        note("used as the controller of a run")
        came.law(context.model)
        whole(run(context, u=came))
        return "accepted and used"
    if hasattr(came, "stepper"):
        note("used as the controller of a run")
        whole(run(context, u=control.Sampled(came, 1e-3)))
        return "accepted and used"
    if type(came).__module__.startswith(("flexarm.trajectory", "flexarm.optimal")) and hasattr(came, "expression"):
        note("used as a reference")
        fa.trajectory.reference_values(came, np.linspace(-1.0, 2.0, 7))
        whole(run(context, u=fa.PrescribedMotion(came)))
        return "accepted and used"
    if isinstance(came, import_module("flexarm.simulation.block").Block):
        note("used as the input of a run")
        whole(run(context, u=came))
        return "accepted and used"
    if isinstance(came, Described) and hasattr(came, "expression"):
        note("used as a sensor")
        fa.outputs(context.model, [came]).values(context.q, context.qd, context.u)
        return "accepted and used"
    if hasattr(came, "attrs") and "status" in came.attrs:
        whole(came)
    return "accepted"


def run(context, u):
    return fa.simulate(context.model, 0.01, u=u, samples=3, progress=False)


# -- wrong arguments ---------------------------------------------------------------------------------------------------


def spoiled(rng, value, context):
    """Something wrong in place of a right value: much like it, or nothing like it."""
    draw = rng.random()
    if isinstance(value, np.ndarray | list | tuple) and draw < 0.5:
        with np.errstate(all="ignore"):
            return _like(rng, value)
    if isinstance(value, int | float) and not isinstance(value, bool) and draw < 0.5:
        return values.number(rng)
    if isinstance(value, str) and draw < 0.5:
        return values.text(rng)
    if draw < 0.7:
        return rng.choice(OTHERS)()
    if draw < 0.85:
        return right.other(rng, context)
    return values.wrong(rng)


def _like(rng, value):
    """An array with another shape or type, or one entry that does not belong."""
    try:
        x = np.array(value)
        if x.dtype.kind == "c":
            raise TypeError
        x = x.astype(float)
    except (TypeError, ValueError, OverflowError):
        items = np.ravel(value).tolist() if isinstance(value, np.ndarray) else list(value)
        return rng.choice((items[:-1], items + items, [*items, None], items[::-1], tuple(items), iter(items), [items]))
    if x.size == 0 or not np.isfinite(x).all():
        return rng.choice((None, np.zeros((0, 0)), [[]]))
    if x.ndim == 0:
        return rng.choice((x[None], x * np.nan, [x]))
    one = x.copy()
    one.flat[rng.randrange(x.size)] = rng.choice((np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-300, 1e20, 0.0, -1.0))
    return rng.choice(
        (one, one, one.tolist(), x[:-1], x[..., :-1], x[None], x.T, np.append(x, 1.0), x.astype(complex) * 1j)
        + (
            x.astype(str),
            x.astype(object),
            x.astype(bool),
            np.clip(x, -1e38, 1e38).astype(np.float32),
            np.clip(x, -1e18, 1e18).astype(int),
            x.ravel(),
            x[..., None],
        )
        + (
            np.ma.masked_array(x, True),
            np.repeat(x[None], 3, 0),
            np.empty((0, *x.shape)),
            np.clip(x, -1e270, 1e270) * 1e30,
            x.tolist(),
            x[0],
        )
        + (
            np.asfortranarray(x),
            np.broadcast_to(x, (2, *x.shape)),
            [str(e) for e in x.ravel()],
            x.tobytes(),
            x * np.nan,
        )
    )


class _Odd:
    """An object of nobody's."""


OTHERS = (
    *(
        lambda: None,
        lambda: None,
        lambda: None,
        object,
        _Odd,
        lambda: _Odd,
        set,
        dict,
        list,
        tuple,
        lambda: b"x",
        lambda: 1j,
    ),
    *(lambda: ..., lambda: NotImplemented, lambda: int, lambda: np, lambda: lambda: 0, lambda: lambda *a, **k: None),
    *(lambda: lambda t: t, lambda: lambda t: "x", lambda: iter([1.0, 2.0]), lambda: range(3), lambda: slice(1)),
    *(lambda: decimal.Decimal("0.1"), lambda: decimal.Decimal("NaN"), lambda: fractions.Fraction(1, 3)),
    *(
        lambda: np.float32(0.5),
        lambda: np.float64("nan"),
        lambda: np.int8(3),
        lambda: np.bool_(True),
        lambda: np.str_("q"),
    ),
    *(lambda: np.datetime64("2001-01-01"), lambda: np.array(1.0), lambda: np.zeros(0), lambda: np.zeros((3, 3, 3))),
    *(lambda: np.array([None, 1]), lambda: np.array("x"), lambda: np.zeros(10**6), lambda: np.array([1 + 2j])),
    *(
        lambda: Path("x"),
        lambda: Path("/"),
        lambda: float("nan"),
        lambda: float("inf"),
        lambda: -1,
        lambda: 0,
        lambda: True,
    ),
    *(
        lambda: 10**400,
        lambda: -(10**400),
        lambda: 10**5000,
        lambda: 10**18,
        lambda: "",
        lambda: "x\ny",
        lambda: "\x1b[31m",
    ),
    *(lambda: [[1.0], [1.0, 2.0]], lambda: [[]], lambda: {"x": 1.0}, lambda: {1: 2}, lambda: {None: None}),
    *(lambda: right.LEFT_OUT, lambda: right.LEFT_OUT),
)


def brief(value):
    try:
        text = repr(value)
    except Exception as error:
        text = f"<{type(value).__name__} without repr: {type(error).__name__}>"
    return text if len(text) <= 120 else f"{text[:100]}... <{type(value).__name__}>"
