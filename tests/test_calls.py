"""Arrays that go to machine code as they are: the same numbers as the careful way gives, and the same refusals."""

import copy
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from quantities import taken
from random_arms import random_arm, random_state

import flexarm as fa
from flexarm.model import QUANTITIES
from flexarm.model.evaluation import argument
from flexarm.native import calls
from flexarm.sensors import TipPosition, outputs

ARM = random_arm(26, links=2, elastic=True)  # a rigid link, a beam that bends and twists, motors, payload, gravity
N, M = len(ARM.coordinates), len(ARM.inputs)
NAMES = ("forward_dynamics", "mass_matrix", "inverse_dynamics", "tip", "frames", "input_matrix", "state_residual")


@pytest.fixture(scope="module")
def model():
    return fa.Model(ARM)


@pytest.fixture
def threads(monkeypatch):
    """Sets how many cores there are; every row is then work enough for one."""

    def set_to(number):
        monkeypatch.setattr(calls, "cores", lambda: number)
        monkeypatch.setattr(calls, "SHARE", 1e-3)

    return set_to


def arguments(name, batch=(), seed=7):
    """General states of a batch, one array for each argument of a quantity."""
    q, qd, u = random_state(ARM, seed)
    rng = np.random.default_rng(seed)
    given = {"q": q, "qd": qd, "u": u, "qdd": rng.normal(size=len(q)), "v": qd[::-1]}
    return [given[a] * rng.uniform(0.5, 1.5, (*batch, len(given[a]))) for a in taken(name)]


def carefully(model, name, values):
    """A quantity at one state by its kernel, and the arguments laid end to end by hand."""
    laid = np.concatenate([np.asarray(x, dtype=float) for x in values])
    return model.kernel(name).one(laid)


def lists(values):
    return [x.tolist() for x in values]


# -- one state ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", QUANTITIES)
def test_one_state_is_what_lists_give_bit_for_bit(model, name):
    values = arguments(name)
    found = model.evaluate(name, *values)
    np.testing.assert_array_equal(found, model.evaluate(name, *lists(values)))
    np.testing.assert_array_equal(found.ravel(), carefully(model, name, values))


def a_subclass(x):
    return x.view(type("Own", (np.ndarray,), {}))


def with_metadata(x):
    return x.astype(np.dtype(float, metadata={"unit": "rad"}))


def unaligned(x):
    bytes_ = np.zeros(x.size * 8 + 1, dtype=np.uint8)
    y = bytes_[1:].view(float).reshape(x.shape)
    y[...] = x
    return y


def frozen(x):
    y = x.copy()
    y.flags.writeable = False
    return y


KINDS = {
    "every second": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "backwards": lambda x: x[..., ::-1].copy()[..., ::-1],
    "rows backwards": lambda x: x[::-1].copy()[::-1],
    "columns first": np.asfortranarray,
    "a column of a table": lambda x: np.stack([0 * x, x], axis=-1)[..., 1],
    "read only": frozen,
    "not aligned": unaligned,
    "big endian": lambda x: x.astype(">f8"),
    "long": lambda x: x.astype(np.longdouble),
    "a subclass": a_subclass,
    "masked": np.ma.masked_array,
    "metadata": with_metadata,
    "a list": lambda x: x.tolist(),
    "a tuple": lambda x: tuple(x.tolist()),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch", [(), (11,), (2, 3)])
@pytest.mark.parametrize("name", ["forward_dynamics", "tip"])
def test_any_array_of_the_same_numbers_gives_the_same(model, name, batch, kind):
    values = arguments(name, batch)
    expected = model.evaluate(name, *values)
    kept = [x.copy() for x in values]
    others = [KINDS[kind](x) for x in values]
    for i in range(len(values)):
        mixed = [*values[:i], others[i], *values[i + 1 :]]
        found = model.evaluate(name, *mixed)
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(model.evaluate(name, *others), expected)
    for x, y, before in zip(values, others, kept, strict=True):
        np.testing.assert_array_equal(x, before)
        np.testing.assert_array_equal(np.asarray(y, dtype=float), before)


@pytest.mark.parametrize("kind", [int, bool, np.float32, np.float16, np.uint8, ">i2"])
@pytest.mark.parametrize("batch", [(), (9,)])
def test_numbers_of_any_kind(model, batch, kind):
    q = np.random.default_rng(3).integers(0, 2, (*batch, N)).astype(kind)
    np.testing.assert_array_equal(model.tip(q), model.tip(q.astype(float)))


@pytest.mark.parametrize("batch", [(), (1,), (3, 4)])
@pytest.mark.parametrize("name", NAMES)
def test_a_result_is_a_plain_array_of_the_callers_own(model, name, batch):
    values = arguments(name, batch)
    first = model.evaluate(name, *values)
    assert first.flags.c_contiguous and first.flags.writeable and first.flags.aligned
    assert not any(np.shares_memory(first, x) for x in values)
    kept = first.copy()
    others = [model.evaluate(name, *(1.1 * x for x in values)) for _ in range(3)]
    assert not any(np.shares_memory(first, other) for other in others)
    np.testing.assert_array_equal(first, kept)
    first[...] = 7.0
    np.testing.assert_array_equal(model.evaluate(name, *values), kept)


def test_matrices_have_their_rows_and_columns(model):
    """By an identity each, not by our own function: M qdd = ID(q, 0, qdd) - ID(q, 0, 0), poses are rotations."""
    q, _, qdd = arguments("inverse_dynamics")
    zero = 0 * q
    lifted = model.inverse_dynamics(q, zero, qdd) - model.inverse_dynamics(q, zero, zero)
    np.testing.assert_allclose(model.mass_matrix(q) @ qdd, lifted, rtol=1e-9, atol=1e-9 * np.abs(lifted).max())
    B, u = model.input_matrix(q), np.arange(1.0, M + 1)
    assert B.shape == (N, M)
    pushed = model.forward_dynamics(q, zero, u) - model.forward_dynamics(q, zero, 0 * u)
    np.testing.assert_allclose(model.mass_matrix(q) @ pushed, B @ u, rtol=0, atol=1e-9 * np.abs(B @ u).max())
    for T in (model.tip(q), *model.frames(q), *model.frames([q, q])[1]):
        np.testing.assert_array_equal(T[3], [0.0, 0.0, 0.0, 1.0])
    assert model.deflections(q).shape == (len(ARM.links), 6)
    np.testing.assert_array_equal(model.deflections(q)[0], 0.0)  # the first link is rigid


# -- what is refused ---------------------------------------------------------------------------------------------------


def refusal(call):
    with pytest.raises(fa.DescriptionError) as error:
        call()
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("batch", [(), (1,), (20,), (2, 3)])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_number_that_is_none_is_found_wherever_it_stands(model, batch, bad):
    """Also where the value does not depend on it."""
    for name in ("forward_dynamics", "mass_matrix", "tip"):
        names = taken(name)
        for i, wrong in enumerate(names):
            values = arguments(name, batch)
            for place in np.ndindex(values[i].shape):
                kept, values[i][place] = values[i][place], bad
                assert refusal(lambda: model.evaluate(name, *values)) == f"{wrong} contains NaN or infinity"  # noqa: B023
                values[i][place] = kept


def test_what_is_used_for_no_state_is_looked_at_too(model):
    q, qd, u = arguments("forward_dynamics")
    for batch in ((0,), (3, 0)):
        none = np.zeros((*batch, N))
        assert model.forward_dynamics(none, qd, u).shape == (*batch, N)
        assert refusal(lambda: model.forward_dynamics(none, np.inf * qd, u)) == "qd contains NaN or infinity"  # noqa: B023


def test_the_first_fault_is_the_one_that_is_told(model):
    """As before there was a quick way: argument after argument, its kind, its shape, its numbers; then the batch."""
    q, qd, u = arguments("forward_dynamics", (3,))
    bad = np.full((3, N), np.nan)
    for values, text in (
        ((bad, qd[:, 1:], u), "q contains NaN or infinity"),
        ((q[:, 1:], bad, u), "q has shape"),
        ((q, bad, u[:2]), "qd contains NaN or infinity"),
        ((q, "qd", u[:2]), "qd is not an array of numbers"),
        ((q, qd, u[:2]), "forward_dynamics: the axes before the last do not match"),
        ((bad, qd, [["u"]]), "q contains NaN or infinity"),
    ):
        assert refusal(lambda: model.forward_dynamics(*values)).startswith(text)  # noqa: B023


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros(N + 1),
        np.zeros(1),
        np.zeros(()),
        np.zeros((1, N - 1)),
        np.zeros((N, 1)),
        np.zeros(N, dtype=complex),
        np.zeros(N, dtype=object),
        np.zeros(N, dtype="U3"),
        np.zeros(N, dtype="m8[s]"),
        np.zeros(N, dtype="V8"),
        np.zeros(N, dtype=[("a", float)]),
        None,
        3.0,
    ],
)
def test_wrong_shapes_and_kinds_are_refused_as_the_argument_is(model, wrong):
    q, qd, u = arguments("forward_dynamics")
    expected = refusal(lambda: argument("qd", ARM.coordinates, wrong))
    assert refusal(lambda: model.forward_dynamics(q, wrong, u)) == expected
    assert refusal(lambda: model.forward_dynamics([q, q], wrong, u)) == expected


def test_arguments_that_would_fit_end_to_end_do_not_pass(model):
    q, qd, u = arguments("forward_dynamics")
    everything = np.concatenate([q, qd, u])
    for parts in ((N + 1, N - 1), (N - 1, N + 1), (M, N), (N, M)):
        values = np.split(everything, np.cumsum(parts))
        assert "its last axis must have" in refusal(lambda: model.forward_dynamics(*values))  # noqa: B023
    assert refusal(lambda: model.evaluate("bias", q)) == "bias takes q, qd, not 1 value"
    assert refusal(lambda: model.evaluate("bias", q, qd, u)) == "bias takes q, qd, not 3 values"


@pytest.mark.parametrize("huge", [1e160, 1.7e308, -1.7e308, 5e-324])
def test_any_finite_number_is_taken(model, huge):
    """Its square, or a sum of many, is infinite; it is not."""
    q, qd, u = arguments("forward_dynamics")
    for batch in ((), (9,)):
        large = np.full((*batch, M), huge)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = model.forward_dynamics(q, qd, large)
        assert found.shape == (*batch, N)
    np.testing.assert_array_equal(
        model.forward_dynamics(q, qd, np.full(M, huge)), model.forward_dynamics(q, qd, [huge] * M)
    )


def test_a_kernel_takes_what_is_no_number(model):
    """Only the model's door refuses it: a run that diverges is told by its state."""
    kernel = model.kernel("forward_dynamics")
    x = np.concatenate(arguments("forward_dynamics"))
    x[0] = np.nan
    assert np.isnan(kernel.one(x)).any()
    assert np.isnan(kernel.many(np.stack([x] * 9))).any(axis=1).all()


def test_rows_of_another_width_do_not_reach_machine_code(model):
    for wrong in (np.zeros((8, N + 1)), np.zeros((8, N - 1)), np.zeros((8, N), dtype=np.float32)):
        with pytest.raises(AssertionError):
            model.kernel("tip").many(wrong)
    with pytest.raises(ValueError, match="broadcast"):
        model.kernel("tip").one(np.zeros(N + 1))


# -- batches -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 2, 3, 16])
@pytest.mark.parametrize("rows", [0, 1, 7, 8, 9, 63, 500])
def test_threads_change_no_bit(model, threads, rows, number):
    values = arguments("forward_dynamics", (rows,))
    expected = model.forward_dynamics(*values)
    threads(number)
    np.testing.assert_array_equal(model.forward_dynamics(*values), expected)
    x = np.concatenate(values, axis=1)
    np.testing.assert_array_equal(model.kernel("forward_dynamics").many(x), expected)
    for wide in (x.repeat(2, axis=1)[:, ::2], np.asfortranarray(x), x[::-1].copy()[::-1]):
        np.testing.assert_array_equal(model.kernel("forward_dynamics").many(wide), expected)


@pytest.mark.parametrize("number", [1, 3])
def test_what_is_used_for_all_is_as_if_it_stood_there(model, threads, number):
    threads(number)
    q, qd, u = (
        arguments("forward_dynamics", (4, 1)),
        arguments("forward_dynamics", (1, 7)),
        arguments("bias", (5, 1, 1)),
    )
    for values in ((q[0], qd[1], qd[2]), (q[0], qd[1][0, 0], qd[2][0]), (u[0], q[1], qd[2])):
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in values))
        whole = [np.broadcast_to(x, (*batch, x.shape[-1])).copy() for x in values]
        np.testing.assert_array_equal(model.forward_dynamics(*values), model.forward_dynamics(*whole))


@pytest.mark.parametrize("place", [0, 57, 99])
def test_what_is_not_finite_is_found_by_whichever_thread(model, threads, place):
    threads(4)
    q, qd, u = arguments("forward_dynamics", (100,))
    qd[place, -1] = np.nan
    assert refusal(lambda: model.forward_dynamics(q, qd, u)) == "qd contains NaN or infinity"


def test_without_more_threads_one_does_it(model, threads, monkeypatch):
    values = arguments("forward_dynamics", (100,))
    expected = model.forward_dynamics(*values)
    threads(4)
    started, start = [], threading.Thread.start

    def one_more(thread):
        if started:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", one_more)
    np.testing.assert_array_equal(model.forward_dynamics(*values), expected)
    assert len(started) == 1


def test_as_many_threads_as_pay(model, monkeypatch):
    """A small batch is not shared; the more there is to do the more share it, up to the cores."""
    started, start = [], threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda thread: started.append(thread) or start(thread))
    many = model.kernel("forward_dynamics").many
    x = np.concatenate(arguments("forward_dynamics", (1,)), axis=1)
    facts = model.kernel("forward_dynamics").vector_code.facts
    a_row = calls.OPERATION * (facts["multiplications"] + facts["additions"]) + calls.NUMBER * (2 * N + M + N)
    for cores, work, more in ((1, 9.5, 0), (4, 1.5, 0), (4, 2.5, 1), (4, 3.5, 2), (4, 9.5, 3)):
        started.clear()
        monkeypatch.setattr(calls, "cores", lambda cores=cores: cores)
        many(np.broadcast_to(x, (int(work * calls.SHARE / a_row), x.shape[1])))
        assert len(started) == more
    assert not any(thread.is_alive() for thread in started)


def test_a_long_batch_stops_for_ctrl_c(model, threads, monkeypatch):
    """It is done in blocks, and between two of them an interrupt is heard; the other threads stop with it."""
    threads(3)
    monkeypatch.setattr(calls, "PATIENCE", 1.0)
    many = calls.ManyStates(model.kernel("tip").vector_code)
    done, batch, alive, here = [], many._batch, threading.active_count(), threading.Event()

    def interrupted(address):
        if threading.current_thread() is threading.main_thread():
            here.set()
            if done.count(threading.main_thread()) == 1:
                signal.raise_signal(signal.SIGINT)
        else:  # or the others may have done all of it before
            here.wait(60.0)
            time.sleep(1e-3)
        done.append(threading.current_thread())
        return batch(address)

    many._batch = interrupted
    x = np.zeros((200_000, N))
    with pytest.raises(KeyboardInterrupt):
        many([x])
    assert 1 <= done.count(threading.main_thread()) <= 2 and len(done) < 200_000 // 8
    assert threading.active_count() == alive


def test_a_block_is_no_longer_than_one_may_wait(model, monkeypatch):
    monkeypatch.setattr(calls, "cores", lambda: 1)
    many = calls.ManyStates(model.kernel("tip").vector_code)
    jobs, batch = [], many._batch
    many._batch = lambda address: jobs.append(address) or batch(address)
    x = np.broadcast_to(np.zeros(N), (int(3.5 * calls.PATIENCE / many._row), N))
    assert len(many([x])[0]) == len(x)
    assert len(jobs) == 4


# -- threads, processes, copies ----------------------------------------------------------------------------------------


def test_many_threads_call_several_models_at_once(model):
    """One state each and batches; every result is what the thread would have got alone."""
    other = fa.Model(fa.load("rigid-two-link"))
    rng = np.random.default_rng(5)
    jobs = []
    for _ in range(8):
        values = [rng.uniform(0.5, 1.5, x.shape) * x for x in arguments("forward_dynamics")]
        q = rng.normal(size=2)
        jobs.append((values, model.forward_dynamics(*values), q, other.mass_matrix(q), other.tip(np.tile(q, (30, 1)))))
    wrong, ready = [], threading.Barrier(8)

    def call(values, qdd, q, inertia, pose):
        ready.wait()
        for _ in range(300):
            wrong.extend(
                name
                for name, found, expected in (
                    ("forward_dynamics", model.forward_dynamics(*values), qdd),
                    ("mass_matrix", other.mass_matrix(q), inertia),
                    ("tip", other.tip(np.tile(q, (30, 1))), pose),
                )
                if not np.array_equal(found, expected)
            )

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        running = [threading.Thread(target=call, args=each) for each in jobs]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert wrong == []


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer")
def test_the_handler_of_a_signal_may_call_what_it_interrupts(model):
    q, qd, u = arguments("forward_dynamics")
    expected, inner, found = model.forward_dynamics(q, qd, u), model.forward_dynamics(2 * q, qd, u), []
    before = signal.signal(signal.SIGALRM, lambda *_: found.append(model.forward_dynamics(2 * q, qd, u)))
    signal.setitimer(signal.ITIMER_REAL, 1e-3, 1e-4)
    try:
        for _ in range(100_000):
            if len(found) >= 200:
                break
            np.testing.assert_array_equal(model.forward_dynamics(q, qd, u), expected)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert len(found) >= 200
    for each in found:
        np.testing.assert_array_equal(each, inner)


def test_a_batch_lets_other_threads_run(model, monkeypatch):
    """Another thread sees results of which the first is there and the last is not."""
    monkeypatch.setattr(calls, "cores", lambda: 1)
    monkeypatch.setattr(calls, "PATIENCE", np.inf)
    results, seen, over = [], threading.Event(), threading.Event()

    def shown(parts, y, job=calls.job):
        y.fill(np.nan)
        results.append(y)
        return job(parts, y)

    def look():
        while not over.is_set():
            for y in results[-1:]:
                if np.isfinite(y[0, 0]) and np.isnan(y[-1, -1]):
                    seen.set()

    monkeypatch.setattr(calls, "job", shown)
    x = np.broadcast_to(np.concatenate(arguments("forward_dynamics")), (300_000, 2 * N + M))
    looking = threading.Thread(target=look)
    looking.start()
    try:
        for _ in range(50):
            model.kernel("forward_dynamics").many(x)
            results.clear()
            if seen.is_set():
                break
    finally:
        over.set()
        looking.join()
    assert seen.is_set()


def test_only_what_takes_long_lets_other_threads_run_at_one_state(model, monkeypatch):
    code = model.kernel("tip").code
    for limit, kind in ((0, calls.BATCH), (calls.LONG, calls.BATCH_ALONE)):
        monkeypatch.setattr(calls, "LONG", limit)
        assert type(calls.OneState(code, [N], (4, 4))._batch) is kind


AT_THE_END = """
import atexit
import os
import numpy as np
import flexarm as fa
from flexarm.native import calls
from flexarm.sensors import TipPosition, outputs

calls.cores, calls.SHARE = lambda: 4, 1.0
model = fa.Model(fa.load("rigid-two-link"))
q = np.linspace(0, 1, 400).reshape(200, 2)
expected = model.tip(q)
if hasattr(os, "fork"):
    child = os.fork()
    if child == 0:
        same = np.array_equal(model.tip(q), expected) and np.array_equal(model.tip(q[0]), model.tip(q[0].tolist()))
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0
atexit.register(lambda: print(np.array_equal(model.tip(q), expected)))
"""


def test_batches_in_a_forked_process_and_when_python_ends():
    ended = subprocess.run([sys.executable, "-c", AT_THE_END], capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "True\n", "")


def test_copies_evaluate_too(model):
    values = arguments("forward_dynamics")
    expected = model.forward_dynamics(*values)
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.forward_dynamics(*values), expected)


def test_an_evaluation_belongs_to_its_process(model):
    made = model.evaluation("outputs", model.kernel("tip"), ("q",), (4, 4))
    assert copy.deepcopy(made) is made
    with pytest.raises(TypeError, match="an evaluation cannot be pickled; pickle the model instead"):
        pickle.dumps(made)


def test_parameters_are_none_of_an_evaluation_without_constants(model):
    made, q = model.evaluation("outputs", model.kernel("tip"), ("q",), (4, 4)), arguments("tip")[0]
    np.testing.assert_array_equal(made([q], np.array([1.3])), made([q]))


def test_a_thread_beside_others_uses_the_cores_that_it_is_allowed():
    before = calls.cores()
    token = calls.ALLOWED.set(before + 3)
    try:
        assert calls.cores() == before + 3
    finally:
        calls.ALLOWED.reset(token)
    assert calls.cores() == before


def test_measured_outputs_are_called_the_same_way(model):
    measured = outputs(model, [TipPosition()])
    q, qd = arguments("energy")
    np.testing.assert_allclose(measured.values(q, qd), model.tip(q)[:3, 3], rtol=1e-12)
    again = copy.deepcopy(measured)
    np.testing.assert_array_equal(again.values([q] * 9, qd), measured.values([q] * 9, qd))
    assert refusal(lambda: measured.values(q, np.full(N, np.nan))) == "qd contains NaN or infinity"
