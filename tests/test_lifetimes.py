"""What becomes of a model: in other processes, in copies, and when nobody needs it any more."""

import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
import xarray
from attack import calls, right

import flexarm as fa
from flexarm.closed_forms.equations import Equations
from flexarm.description.arm import Arm
from flexarm.native.once import BUILDING, Once

RIGID = fa.load("rigid-two-link")
ZERO = np.zeros(2)


@pytest.fixture(scope="module")
def model():
    made = fa.Model(RIGID)
    made.energy(ZERO, ZERO)
    return made


# -- other processes ---------------------------------------------------------------------------------------------------


def everything(model, results):
    """What has been compiled before, what has not, a run, and another model."""
    found = [model.energy(ZERO, ZERO)[1], model.tip(np.ones(2)), model.bias(np.ones((3, 2)), np.ones((3, 2)))]
    found.append(fa.simulate(model, 0.1, u=[0.1, 0.0], samples=3, progress=False).q.values)
    found.append(fa.Model(RIGID.replace(payload=fa.Payload(mass=1.5))).mass_matrix(ZERO))
    results.put(found)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_compiled_model_goes_to_another_process(model, method, monkeypatch, tmp_path):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip("not on this system")
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path / "cache"))
    context = multiprocessing.get_context(method)
    results = context.Queue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of threads when they fork
        process = context.Process(target=everything, args=(model, results))
        process.start()
    found = results.get(timeout=300)
    process.join()
    assert process.exitcode == 0
    everything(model, here := multiprocessing.get_context("spawn").SimpleQueue())
    for a, b in zip(found, here.get(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_process_forked_while_something_is_compiled_can_compile():
    """The lock is not held for ever by a thread that the child does not have."""
    begun, over = threading.Event(), threading.Event()

    def slow():
        begun.set()
        time.sleep(0.5)
        over.set()
        return 1

    threading.Thread(target=Once(slow)).start()
    begun.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        got = threading.Thread(target=lambda: BUILDING.acquire(timeout=10) and os._exit(0))
        got.start()
        got.join()
        os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0
    assert over.is_set()


# -- copies ------------------------------------------------------------------------------------------------------------


ONLY_HERE = {
    "Kernel": "machine code of a process",
    "Code": "machine code of a process",
    "Law": "made of functions; the controller travels in its place",
    "Basis": "may be made of a function",
    "Computed": "made of a function",
    "StateSpace": "python-control's",
    "Figure": "Matplotlib's",
    "ClosedLoop": "has a law",
    "Synthesis": "has systems of python-control",
    "MuSynthesis": "has systems of python-control",
    "LoopShaping": "has systems of python-control",
    "Reduction": "has systems of python-control",
    "Uncertain": "has systems of python-control",
}
"""What cannot always be sent to another process, and why."""


def alike(a, b):
    """Whether a copy says the same of itself as what it was made from."""
    assert type(a) is type(b)
    if isinstance(a, fa.Model):
        q = np.linspace(0.1, 0.4, len(a.coordinates))
        np.testing.assert_array_equal(a.tip(q), b.tip(q))
    elif isinstance(a, xarray.Dataset):
        assert a.identical(b)
    elif isinstance(a, Equations):
        assert a.latex() == b.latex()
    elif isinstance(a, Arm):
        assert a.canonical() == b.canonical()
    else:
        assert repr(a) == repr(b) or " object at " in repr(a) + str(vars(a))


SLOW = ("convergence",)


@pytest.mark.filterwarnings("ignore:.*not understood.*", "ignore::flexarm.errors.UncertainResult")
@pytest.mark.filterwarnings("ignore::flexarm.errors.SlowSampling")
def test_everything_public_can_be_copied_and_sent(tmp_path):
    """Whatever a public function gives, and every public class, found by introspection."""
    arm = "subudhi-morris-elastic"
    context = right.Context(arm, fa.Model(fa.load(arm)), tmp_path)
    names = set()
    for name, (owner, call) in calls.targets().items():
        if owner is not None or name in SLOW:
            continue
        given = {k: v for k, v in right.arguments(name, call, context).items() if v is not right.LEFT_OUT}
        try:
            made = calls.called(call, given)
        except fa.DescriptionError:  # not of this arm
            continue
        if type(made).__module__ in ("builtins", "numpy", "casadi.casadi", "pathlib", "types"):
            continue
        names.add(type(made).__name__)
        try:
            for copied in (copy.copy(made), copy.deepcopy(made)):
                alike(made, copied)
            if type(made).__name__ not in ONLY_HERE:
                alike(made, pickle.loads(pickle.dumps(made)))
        except Exception as error:
            error.add_note(f"{name} gave {made!r:.300}")
            raise
    assert len(names) > 40, sorted(names)


def test_what_belongs_to_a_process_says_so(model):
    kernel = model.kernel("tip")
    for thing in (kernel, kernel.code):
        with pytest.raises(TypeError, match="belongs to its process; pickle the model"):
            pickle.dumps(thing)
        assert copy.deepcopy(thing) is thing


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_errors_travel(copied, model):
    result = fa.simulate(model, 0.1, samples=3, progress=False)
    again = copied(fa.SimulationError("it stopped", result))
    assert str(again) == "it stopped" and again.result.identical(result)
    assert str(copied(fa.DescriptionError("is wrong", "link 'a'", "body"))) == "link 'a': body is wrong"


# -- memory ------------------------------------------------------------------------------------------------------------

MEMORY = """
import gc
import os
import sys
import numpy as np
import flexarm as fa
from flexarm.model import tracing
from flexarm.native.once import Recent

tracing.recent = Recent(0)  # the models of equal arms do not share their code
ARM = fa.load("canadarm")
kept = []

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def known(k):
    model = fa.Model(ARM)
    n = len(model.coordinates)
    model.forward_dynamics(np.zeros(n), np.zeros(n), np.zeros(len(model.inputs)))
    return model.kernel("forward_dynamics").code

def new(k):
    model = fa.Model(fa.Arm(name="arm", links=[fa.Link(name="rod", body=fa.Rigid(length=1.0 + k / 1000, mass=1.0))]))
    model.tip(np.zeros(1))
    return model.kernel("tip").code

def growth(made, models, keep):
    before = resident()
    for k in models:
        code = made(k)
        if keep:
            kept.append(code)
        if k % 10 == 9:
            gc.collect()  # a model and what it shares with others refer to one another
    return (resident() - before) / len(models)

for made in (known, new):
    growth(made, range(1000, 1020), False)  # what is needed once
    print(growth(made, range(120), False), growth(made, range(300, 340), True))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is counted as Linux tells it")
def test_the_code_of_models_that_are_gone_is_freed(tmp_path):
    """A model, found in the cache or compiled, takes less than a third of what one takes whose code is kept."""
    environment = {**os.environ, "FLEXARM_CACHE": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", MEMORY], env=environment, capture_output=True, text=True, check=True)
    for line in ended.stdout.splitlines():
        freed, kept = map(float, line.split())
        assert kept > 20e3, ended.stdout
        assert freed < kept / 3, ended.stdout
