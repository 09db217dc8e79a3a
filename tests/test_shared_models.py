"""Models of equal arms share what is traced and compiled, and nothing else."""

import gc
import os
import pickle
import threading
import weakref

import casadi as ca
import numpy as np
import pytest
from alone import alone
from forked import exit_of
from part_files import beam_part

import flexarm as fa
from flexarm.mechanics import dynamics
from flexarm.mechanics.quantities import mass_matrix
from flexarm.mechanics.spatial import entries
from flexarm.model import tracing
from flexarm.model.tracing import QUANTITIES
from flexarm.native.once import Recent

VARY = ["payload.mass", "fore.*"]
SENSOR = fa.Accelerometer(axes="xy")


def arm(mass=0.7):
    return fa.load("subudhi-morris-elastic").replace(payload=fa.Payload(mass=mass))


@pytest.fixture
def empty():
    """A cache of the test's own, of the usual size."""
    with pytest.MonkeyPatch.context() as patch:
        own = Recent(tracing.LARGEST, lambda shared: shared.size)
        patch.setattr(tracing, "recent", own)
        yield own


def state(model, seed=3):
    rng = np.random.default_rng(seed)
    sizes = (model.nq, model.nv, len(model.inputs))
    return [0.2 * rng.normal(size=size) for size in sizes]


@pytest.mark.parametrize("vary", [[], VARY])
def test_equal_arms_are_traced_and_loaded_once(empty, vary):
    one, other = fa.Model(arm(), vary), fa.Model(fa.Arm.from_json(arm().canonical()), [*vary])
    x = state(one)
    np.testing.assert_array_equal(one.forward_dynamics(*x), other.forward_dynamics(*x))
    assert one.kernel("forward_dynamics").code is other.kernel("forward_dynamics").code
    assert one.function("state_rate") is other.function("state_rate")
    assert one.output_function([SENSOR]) is other.output_function([SENSOR])
    assert one.chain is other.chain


@pytest.mark.parametrize("name", ["subudhi-morris-elastic", "satellite", "theodore-ghosal"])
def test_the_order_in_which_quantities_are_traced_changes_nothing(name):
    """They share the results of recursions at one state. Each alone, and after all others, it is the same program."""

    def traced(names):
        model = fa.Model(fa.load(name))
        return {each: model.function(each).serialize() for each in names}

    with alone():
        forward, backward = traced(QUANTITIES), traced(reversed(QUANTITIES))
        assert forward == backward
        for each in ("mass_matrix", "state_residual", "observed"):
            assert traced([each])[each] == forward[each]


def test_quantities_share_recursions(monkeypatch):
    calls, moving = [], dynamics.moving
    monkeypatch.setattr(dynamics, "moving", lambda *given: calls.append(given) or moving(*given))
    model = fa.Model(arm())
    model.function("forward_dynamics")
    assert len(calls) == len(model.chain.bodies)
    for each in ("state_rate", "power", "state_rate"):
        model.function(each)
    assert len(calls) == len(model.chain.bodies)
    mass_matrix(model.chain, entries(ca.SX.sym("q", model.nq)))
    assert model.chain.known is None, "other symbols are not kept"


def test_every_difference_separates(empty):
    base = arm()
    others = [
        (base.replace(name="other"), []),
        (base.replace(description="other words"), []),
        (base.replace(payload=fa.Payload(mass=np.nextafter(0.7, 1.0))), []),
        (base.replace(gravity=(0.0, -0.0, 0.0)), []),
        (base, ["payload.mass"]),
        (base, ["fore.*"]),
        (base, ["payload.mass", "fore.*"]),
        (base, ["fore.*", "payload.mass"]),
    ]
    models = [fa.Model(base), *(fa.Model(*each) for each in others)]
    assert len({id(model.function("mass_matrix")) for model in models}) == len(models)
    assert all(model.arm is made for model, made in zip(models[1:], [made for made, _ in others], strict=True))


def test_parameters_belong_to_each_model(empty):
    """Models of equal arms at other parameters, used in turn, have the values of models that are traced alone."""

    def values(p):
        model = fa.Model(arm(), VARY).at(p)
        x = state(model)
        slope = model.slope("bias", "p")(*x[:2])
        return [model.forward_dynamics(*x), model.frequencies(), np.array(slope), model.p]

    nominal = fa.Model(arm(), VARY).p
    given = [nominal * scale for scale in (0.5, 1.0, 1.7)]
    together = [values(p) for p in given + given[::-1]]
    with alone():
        apart = [values(p) for p in given + given[::-1]]
    for found, expected in zip(together, apart, strict=True):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
    assert fa.Model(arm(), VARY).p.tolist() == nominal.tolist()


@pytest.mark.parametrize("vary", [[], VARY])
def test_what_is_shared_keeps_no_model_alive(empty, vary):
    """Nor anything that is kept with a model: functions are traced for the arm, whoever asked first."""
    model = fa.Model(arm(), vary)
    if vary:
        model = model.at(1.1 * model.p)
    x = state(model)
    fa.simulate(model, 0.05, u=[0.1, 0.1], samples=3, progress=False)
    model.output_kernel([SENSOR]).one(np.concatenate([x[0], x[1], x[1]]))
    model.forward_dynamics(*x)
    model.linearize()
    gone, function = weakref.ref(model), model.function("forward_dynamics")
    del model
    gc.collect()
    assert gone() is None
    assert fa.Model(arm(), vary).function("forward_dynamics") is function


def test_recent_arms_are_kept_and_no_more(empty):
    rigid = fa.load("rigid-two-link")
    arms = [rigid.replace(payload=fa.Payload(mass=0.1 + 0.01 * i)) for i in range(40)]
    kept = [(weakref.ref(model.chain), weakref.ref(model.kernel("tip").code)) for model in map(fa.Model, arms)]
    gc.collect()
    alive = [[each() is not None for each in both] for both in kept]
    assert alive == [[False] * 2] * 9 + [[True] * 2] * 31


def test_an_arm_with_many_functions_leaves_when_the_next_model_comes(empty):
    """Functions without end of one arm do not stay for ever, such as those of other sensors in each turn of a loop."""
    model = fa.Model(arm())
    function, chain = model.function("state_rate"), weakref.ref(model.chain)
    count = tracing.LARGEST // function.n_instructions()
    for i in range(count):
        model.traced(f"function {i}", lambda: function)
    assert [fa.Model(arm()).chain is model.chain for _ in range(2)] == [True, False]
    other = fa.Model(arm(0.8))
    del model
    gc.collect()
    assert chain() is None and count > 10
    assert other.chain is fa.Model(arm(0.8)).chain


class Heavy:
    """Shapes of a user. A description contains only their digest."""

    factor = 1.0

    def basis(self, count):
        from flexarm.shapes import Basis, ClampedFree

        return Basis(count, lambda x, n: self.factor * ClampedFree().basis(count).values(x, n))


def test_arms_with_parts_of_users_are_not_shared(empty):
    """A class may change while its description stays the same."""

    def stiffness():
        body = fa.Beam(length=1.0, mass=1.0, EI=1.0, modes={"y": 1}, shapes=Heavy())
        model = fa.Model(fa.Arm(name="one", links=[fa.Link(name="link", joint=fa.Fixed(), body=body)]))
        return float(model.stiffness_force([0.1])[0])

    before = stiffness()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Heavy, "factor", 2.0)
        assert stiffness() == pytest.approx(4.0 * before, rel=1e-12)
    assert stiffness() == before


def test_a_fault_is_reported_by_every_model(empty):
    """The check of the code raises, and nothing wrong is kept."""
    for _ in range(3):
        with pytest.raises(fa.DescriptionError, match="not finite at rest; check its most extreme number"):
            fa.Model(arm(1e30)).forward_dynamics(np.zeros(8), np.zeros(8), np.zeros(2))
    for _ in range(2):
        with pytest.raises(fa.DescriptionError, match="unknown parameter 'nobody'"):
            fa.Model(arm(), ["nobody"])


def test_threads_that_make_models_of_equal_arms_share_them(empty):
    found, together = [], threading.Barrier(8, timeout=60)

    def work():
        together.wait()
        model = fa.Model(arm(0.9), VARY)
        found.append((model.function("state_rate"), model.forward_dynamics(*state(model))))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 8 and len({id(function) for function, _ in found}) == 1
    for _, value in found:
        np.testing.assert_array_equal(value, found[0][1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
def test_a_child_has_the_functions_of_its_parent(empty):
    model = fa.Model(arm(), VARY)
    x, p = state(model), 1.2 * model.p
    expected, function = model.forward_dynamics(*x, p=p), model.function("forward_dynamics")

    def child():
        own = fa.Model(arm(), VARY).at(p)
        assert own.function("forward_dynamics") is function
        assert np.array_equal(own.forward_dynamics(*x), expected)
        assert np.isfinite(fa.Model(arm(0.3)).mass_matrix(x[0])).all()

    assert exit_of(child) == 0


def test_a_pickled_model_finds_its_functions_again(empty):
    model = fa.Model(arm(), ["payload.mass"]).at([0.3])
    again = pickle.loads(pickle.dumps(model))
    assert again.function("mass_matrix") is model.function("mass_matrix")
    assert again.p.tolist() == [0.3] and fa.Model(arm(), ["payload.mass"]).p.tolist() == [0.7]


def test_an_equal_part_from_another_file_has_models_of_its_own(empty, tmp_path):
    """The file is part of the arm that `arm_at` gives, and no part of the description."""
    part = beam_part(length=1.0, mass=0.8, EI_y=20.0, EI_z=30.0, GJ=9.0, EA=1e4, polar=0.002, elements=2)
    arms = []
    for name in ("a.npz", "b.npz"):
        np.savez(tmp_path / name, **part)
        body = fa.FiniteElement(file=tmp_path / name, modes=2, shapes="clamped-free")
        arms.append(fa.Arm(name="part", links=[fa.Link(name="part", body=body)]))
    assert arms[0].canonical() == arms[1].canonical()
    for made in (*arms, *arms):
        model = fa.Model(made, ["part.hub_mass"])
        assert model.arm_at().links[0].body.file == made.links[0].body.file
