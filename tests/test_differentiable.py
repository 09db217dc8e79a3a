"""Quantities and runs as functions of JAX and PyTorch arrays, beside native code, CasADi's slopes and differences."""

import subprocess
import sys
import threading
from functools import cache, partial

import casadi as ca
import numpy as np
import pytest
from controlled import refused

import flexarm as fa
import flexarm.jax
import flexarm.torch
from flexarm.differentiable.namespace import Namespace, operations
from flexarm.differentiable.program import ArrayProgram
from flexarm.differentiable.quantity import Quantity
from flexarm.model.tracing import QUANTITIES

jax = pytest.importorskip("jax")
torch = pytest.importorskip("torch")
jax.config.update("jax_enable_x64", True)
jnp = jax.numpy
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script.:DeprecationWarning")  # of PyTorch, at import

NUMPY = Namespace(
    name="NumPy",
    functions=operations(np, np.where, lambda value, like=None: np.asarray(value, dtype=float)),
    array=lambda value, like=None: np.asarray(value, dtype=float),
    stack=partial(np.stack, axis=-1),
    concatenate=partial(np.concatenate, axis=-1),
    broadcast=np.broadcast_to,
    broadcast_shapes=lambda shapes: np.broadcast_shapes(*shapes),
)


@cache
def model():
    """Two links that bend, one elastic joint, a load."""
    beam = fa.Beam(length=0.8, mass_per_length=0.9, EI=12.0, modes={"y": 1, "z": 1}, damping=0.02)
    joint = fa.Revolute(axis=(0, 1, 0), stiffness=40.0, rotor_inertia=0.02)
    links = [fa.Link(name="a", body=beam), fa.Link(name="b", joint=joint, body=beam.replace(length=0.6))]
    made = fa.Arm(name="arm", links=links, payload=fa.Payload(mass=0.3), gravity=(0.0, -3.0, -9.0))
    return fa.Model(made, vary=["payload.mass", "b.EI"])


@cache
def small():
    """A beam, for which JAX compiles little."""
    beam = fa.Beam(length=0.8, mass_per_length=0.9, EI=12.0, modes={"y": 1}, damping=0.02)
    links = [fa.Link(name="a", body=beam), fa.Link(name="b", body=fa.Rigid(length=0.4, mass=0.7))]
    return fa.Model(fa.Arm(name="small", links=links, gravity=(0.0, -9.0, 0.0)), vary=["b.mass", "a.EI"])


@cache
def others():
    """A free base with a ball joint, friction and a contact; and a four-bar."""
    drive = {"link_friction": {"viscous": 0.3, "coulomb": 0.2, "creep_rate": 0.05}}
    rod = fa.Rigid(length=0.5, mass=1.3, inertia=(0.02, 0.03, 0.04))
    links = [
        fa.Link(name="a", joint=fa.Revolute(drive=drive), body=rod),
        fa.Link(name="b", joint=fa.Ball(damping=0.1), body=rod),
    ]
    base = fa.FreeBase(mass=5.0, inertia=(0.5, 0.6, 0.7))
    wall = fa.Contact(name="wall", link="b", normal=(1.0, 0.0, 0.0), point=(0.9, 0.0, 0.0), stiffness=1e4, friction=0.3)
    loop = [
        fa.Link(name="a", body=rod),
        fa.Link(name="b", joint=fa.Revolute(passive=True), body=rod),
        fa.Link(name="c", joint=fa.Revolute(passive=True), body=rod),
    ]
    pin = fa.Closure(name="pin", link="c", to="base", place=fa.Pose(xyz=(0.6, 0.0, 0.0)), joint="revolute")
    free = fa.Model(fa.Arm(name="free", base=base, links=links, contacts=[wall]))
    return free, fa.Model(fa.Arm(name="loop", links=loop, closures=[pin]))


def state(of, seed=0, rows=()):
    """Random arguments by name, near rest; closures need not be closed for their formulas to hold."""
    rng = np.random.default_rng(seed)
    sizes = {a: len(of.signals_of(a)) for a in ("q", "qd", "qdd", "u", "s", "w", "v")}
    found = {a: 0.3 * rng.normal(size=(*rows, size)) for a, size in sizes.items()}
    return found | {"q": np.array(of.arm.rest) + 0.3 * found["q"]}


@pytest.mark.parametrize("which", [model, lambda: others()[0], lambda: others()[1]], ids=["bends", "free", "loop"])
def test_array_operations_give_every_quantity(which):
    """In NumPy, for three states at once, beside CasADi's own evaluation."""
    of = which()
    values = state(of, rows=(3,))
    p = [np.array(of.p)] if len(of.p) else []
    for name in QUANTITIES:
        function = of.laid_out(name)
        if not function.numel_out():
            continue
        given = [*(values[a] for a in of.arguments(name)), *p]
        found = ArrayProgram(function)(given, NUMPY)
        for i in range(3):
            expected = np.array(function(*(x[i] if x.ndim > 1 else x for x in given))).ravel()
            scale = 1e-12 * max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(found[i], expected, atol=scale, rtol=1e-10, err_msg=name)


def test_every_operation_has_its_form():
    """All operations that a description can bring in, in all three libraries, beside CasADi."""
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    made = [x + y, x - y, x * y, x / y, -x, ca.sin(x), ca.cos(x), ca.tan(x), ca.exp(x), ca.log(y), ca.sqrt(y), y**x,
            y**2.5, ca.asin(x), ca.acos(x), ca.atan(x), ca.atan2(x, y), ca.sinh(x), ca.cosh(x), ca.tanh(x), ca.fabs(x),
            ca.sign(x), ca.floor(x), ca.ceil(x), ca.fmin(x, y), ca.fmax(x, 0.1), ca.if_else(x < y, x, 3.0 * y),
            ca.if_else(ca.logic_and(x <= y, ca.logic_not(x == y)), 1.0, 2.0), ca.logic_or(x != 0.2, y < 0.1), 1.0 / x,
            ca.copysign(y, x), ca.hypot(x, 2.0), ca.log1p(y), ca.expm1(x), ca.SX(0.0), ca.SX(2.0)]  # fmt: skip
    function = ca.Function("f", [x, y], [ca.densify(ca.vertcat(*made))])
    program = ArrayProgram(function)
    a, b = np.array([[0.3], [-0.7]]), np.array([[1.3], [0.4]])
    expected = np.array([np.array(function(*each)).ravel() for each in zip(a, b, strict=True)])
    assert program([a, b], NUMPY) == pytest.approx(expected, rel=1e-14)
    assert np.asarray(program([jnp.array(a), jnp.array(b)], fa.jax.XP)) == pytest.approx(expected, rel=1e-14)
    assert program([torch.tensor(a), torch.tensor(b)], fa.torch.XP).numpy() == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("route", ["arrays", "native"])
def test_jax_transforms(route):
    """Jit, vmap, grad and jvp of accelerations beside the model's own slopes; the Hessian by array operations."""
    of, name = small() if route == "arrays" else model(), "forward_dynamics"
    q, qd, u = (state(of)[a] for a in ("q", "qd", "u"))
    f = flexarm.jax.function(of, name, route)
    expected = of.forward_dynamics(q, qd, u)
    assert np.asarray(jax.jit(f)(q, qd, u)) == pytest.approx(expected, rel=1e-11)
    p = np.array([0.8, 9.0])
    assert np.asarray(f(q, qd, u, p=p)) == pytest.approx(of.at(p).forward_dynamics(q, qd, u), rel=1e-11)
    many = state(of, 1, (4,))
    found = jax.vmap(f, in_axes=(0, None, 0))(many["q"], qd, many["u"])
    own = of.forward_dynamics(many["q"], np.broadcast_to(qd, (4, of.nv)), many["u"])
    assert np.asarray(found) == pytest.approx(own, rel=1e-10)
    weights = np.linspace(1.0, 2.0, of.nv)
    slopes = [np.array(of.slope(name, a)(q, qd, u)) for a in ("q", "qd", "u", "p")]
    gradients = jax.jit(jax.grad(lambda *x: (weights * f(*x[:3], p=x[3])).sum(), (0, 1, 2, 3)))(q, qd, u, of.p)
    for gradient, slope in zip(gradients, slopes, strict=True):
        assert np.asarray(gradient) == pytest.approx(weights @ slope, rel=1e-9, abs=1e-9)
    rates = [np.full(len(x), 0.3) for x in (q, qd, u)]
    _, along = jax.jvp(f, (q, qd, u), tuple(rates))
    assert np.asarray(along) == pytest.approx(sum(S @ r for S, r in zip(slopes, rates, strict=False)), rel=1e-9)
    if route == "native":
        for second in (jax.hessian, lambda f: jax.jacrev(jax.jacrev(f)), lambda f: jax.jit(jax.hessian(f))):
            with pytest.raises(fa.DescriptionError, match=r"^forward_dynamics: native code has no second d"):
                second(lambda q: (weights * f(q, qd, u)).sum())(q)
    if route == "arrays":
        h = 1e-5
        curved = jax.jit(jax.hessian(lambda q: (weights * f(q, qd, u)).sum()))(q)
        sides = [weights @ np.array(of.slope(name, "q")(q + s * h * np.eye(of.nq)[1], qd, u)) for s in (1, -1)]
        assert np.asarray(curved)[1] == pytest.approx((sides[0] - sides[1]) / (2 * h), rel=1e-5, abs=1e-3)


@pytest.mark.parametrize("route", ["arrays", "native"])
def test_torch_transforms(route):
    """Backward, vmap and jvp of accelerations beside the model's own slopes, and the poses of the tip."""
    of, name = model(), "forward_dynamics"
    given = [torch.tensor(state(of)[a], requires_grad=True) for a in ("q", "qd", "u")]
    p = torch.tensor(of.p, requires_grad=True)
    f = flexarm.torch.function(of, name, route)
    value, plain = f(*given, p=p), [x.detach().numpy() for x in given]
    assert value.detach().numpy() == pytest.approx(of.forward_dynamics(*plain), rel=1e-11)
    value.sum().backward()
    for name_, x in zip(("q", "qd", "u", "p"), (*given, p), strict=True):
        slope = np.array(of.slope(name, name_)(*plain))
        assert x.grad.numpy() == pytest.approx(slope.sum(axis=0), rel=1e-9, abs=1e-9), name_
    many = torch.tensor(state(of, 1, (3,))["q"])
    found = torch.func.vmap(lambda q: f(q, given[1].detach(), given[2].detach()))(many)
    expected = f(many, given[1].detach(), given[2].detach())
    assert found.detach().numpy() == pytest.approx(expected.detach().numpy(), rel=1e-12)
    _, along = torch.func.jvp(
        lambda q: f(q, *(x.detach() for x in given[1:])), (given[0].detach(),), (torch.ones(of.nq, dtype=float),)
    )
    if route == "native":
        with refused("forward_dynamics: native code has no second derivatives; use route='arrays'"):
            torch.func.hessian(lambda q: f(q, *(x.detach() for x in given[1:])).sum())(given[0].detach())
    assert along.detach().numpy() == pytest.approx(np.array(of.slope(name, "q")(*plain)).sum(axis=1), rel=1e-9)
    tip = flexarm.torch.function(of, "tip", route)(given[0])
    assert tip.shape == (4, 4) and tip.detach().numpy() == pytest.approx(of.tip(plain[0]), abs=1e-13)


@pytest.mark.parametrize("library", ["jax", "torch"])
@pytest.mark.parametrize("route", ["arrays", "native"])
def test_runs_and_their_gradients(library, route):
    """Steps are those of `flexarm.simulate`; gradients agree with differences; two runs at once."""
    of, steps, h = small(), 12, 5e-3
    array = jnp.asarray if library == "jax" else partial(torch.tensor, dtype=torch.float64)
    simulate = getattr(flexarm, library).simulate
    u = 0.5 * np.random.default_rng(3).normal(size=(steps, 2))
    q0 = state(of)["q"]
    run = partial(simulate, of, steps * h, steps=steps, route=route)
    held = fa.Piecewise(h * np.arange(steps), u)
    own = fa.simulate(
        of, steps * h, held, q0, solver=fa.Solver(method="rk4", step=h), samples=steps + 1, progress=False
    )
    mine = run(array(u), q0)
    assert np.asarray(mine.q) == pytest.approx(own.q.values, rel=1e-10, abs=1e-12)
    assert np.asarray(mine.qd) == pytest.approx(own.qd.values, rel=1e-9, abs=1e-11)
    assert tuple(mine.t.shape) == (steps + 1,) and tuple(mine.u.shape) == (steps, 2) and tuple(mine.s.shape)[-1] == 0
    both = run(array(u), np.stack([q0, q0 + 0.1]))
    assert np.asarray(both.q)[:, 0] == pytest.approx(np.asarray(mine.q), rel=1e-12)

    def cost(u, p):
        return (simulate(of, steps * h, u, q0, p=p, steps=steps, route=route).qd[-1] ** 2).sum()

    if library == "jax":
        both_of = jax.jit(jax.value_and_grad(cost, (0, 1)))
        gradients = both_of(array(u), array(of.p))[1]
    else:
        given = [torch.tensor(x, requires_grad=True) for x in (u, of.p)]
        cost(*given).backward()
        gradients = [x.grad for x in given]
    for k, (i, x) in enumerate((((4, 1), u), ((1,), np.array(of.p)))):
        e = 1e-5 * max(1.0, abs(x[i]))
        ends = []
        for sign in (1.0, -1.0):
            moved = x.copy()
            moved[i] += sign * e
            at = [array(moved if j == k else y) for j, y in enumerate((u, np.array(of.p)))]
            ends.append(float(both_of(*at)[0] if library == "jax" else cost(*at)))
        assert float(gradients[k][i]) == pytest.approx((ends[0] - ends[1]) / (2 * e), rel=1e-5, abs=1e-7)


def test_a_law_acts_at_each_stage():
    """A damper as a function of t, q and qd is the arm with that damping, and a torque of t has an exact integral."""
    rod = fa.Rigid(length=0.5, mass=1.3)
    arms = [fa.Arm(name="rod", links=[fa.Link(name="rod", joint=fa.Revolute(damping=d), body=rod)]) for d in (0.0, 0.4)]
    free, damped = map(fa.Model, arms)
    expected = fa.simulate(
        damped, 0.5, qd0=[1.0], solver=fa.Solver(method="rk4", step=0.01), samples=51, progress=False
    )
    inertia = free.mass_matrix([0.0])[0, 0]

    def timed_law(library):
        """cos(9 t), whose integral is sin(9 t) / 9: stages must have their own times."""
        return lambda t, q, qd: (jnp if library is flexarm.jax else torch).cos(9.0 * t) * (0.0 * qd + 1.0)

    for library in (flexarm.jax, flexarm.torch):
        for route in ("arrays", "native"):
            found = library.simulate(free, 0.5, lambda t, q, qd: -0.4 * qd, qd0=[1.0], steps=50, route=route)
            assert np.asarray(found.q) == pytest.approx(expected.q.values, rel=1e-12)
            timed = library.simulate(free, 0.5, timed_law(library), steps=20, route=route, method="dop853")
            assert np.asarray(timed.qd)[-1, 0] == pytest.approx(np.sin(4.5) / 9.0 / inertia, rel=1e-9)
    checked = flexarm.jax.simulate(free, 0.5, qd0=[1.0], steps=5, remember=False)
    assert np.asarray(checked.q)[-1] == pytest.approx([0.5], rel=1e-12)


def test_states_of_drives_and_parameters_of_each_run():
    """The current of a motor is integrated as in `flexarm.simulate`; each of two runs has its own parameters."""
    motor = fa.Motor(input="voltage", torque_constant=0.45, resistance=1.4, inductance=0.02)
    joint = fa.Revolute(rotor_inertia=0.03, damping=0.1, drive=fa.Drive(motor=motor))
    rod = fa.Rigid(length=0.5, mass=1.3)
    arm = fa.Arm(name="rod", links=[fa.Link(name="rod", joint=joint, body=rod)], payload=fa.Payload(mass=0.4))
    of, p = fa.Model(arm, vary=["payload.mass"]), np.array([[0.4], [0.9]])
    assert of.states
    u, solver = np.full((20, 1), 6.0), fa.Solver(method="rk4", step=0.01)
    for library in (flexarm.jax, flexarm.torch):
        found = library.simulate(of, 0.2, u, steps=20, p=p, route="native")
        assert found.q.shape == (21, 2, 1)
        for i in range(2):
            own = fa.simulate(of.at(p[i]), 0.2, fa.Piecewise([0.0], u[:1]), solver=solver, samples=21, progress=False)
            assert np.asarray(found.q)[:, i] == pytest.approx(own.q.values, rel=1e-10, abs=1e-13)
        q, qd, s, v = (np.full((1,), x) for x in (0.2, 0.3, 0.4, 5.0))
        values = np.asarray(library.function(of, "state_rate", "native")(q, qd, s, v, p=p))
        assert values[1] == pytest.approx(of.at(p[1]).evaluate("state_rate", q, qd, s, v), rel=1e-12)


def test_what_is_refused():
    of, (free, loop) = model(), others()
    for library in (flexarm.jax, flexarm.torch):
        where = library.__name__
        with refused("unknown quantity 'mass'.*"):
            library.function(of, "mass")
        with refused(rf"{where}.function: route is 'gpu'; it must be arrays or native"):
            library.function(of, "tip", "gpu")
        with refused(rf"{where}.function: model is 3; it must be a Model"):
            library.function(3, "tip")
        with refused(r"tip: q has shape \(3,\); its last axis must be 7"):
            library.function(of, "tip")(np.zeros(3))
        with refused("tip takes q, not 2 arguments"):
            library.function(of, "tip")(np.zeros(7), np.zeros(7))
        with refused(r"simulate: u has shape \(3, 2\); it must be \(4, ..., 2\): a row for each step"):
            library.simulate(of, 1.0, np.zeros((3, 2)), steps=4)
        with refused(r"simulate: q0 has shape \(2,\); its last axis must be 7"):
            library.simulate(of, 1.0, q0=np.zeros(2), steps=4)
        with refused("simulate: method is 'radau5'; it must be .*"):
            library.simulate(of, 1.0, steps=4, method="radau5")
        with refused("simulate: steps is 0; .*"):
            library.simulate(of, 1.0, steps=0)
        with refused("simulate: closures are not supported in differentiable runs; use flexarm.simulate"):
            library.simulate(loop, 1.0, steps=4)
    assert len(free.arm.quaternions) == 2


def test_nothing_imports_the_libraries_otherwise():
    code = (
        "import sys, flexarm as fa; fa.Model('rigid-two-link').frequencies(); print({'jax', 'torch'} & {*sys.modules})"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_compiled_programs_of_jax_call_native_code_themselves():
    """One state and many, with one set of parameters or one for each, and rows that are not finite."""
    of, name, rng, rows = model(), "forward_dynamics", np.random.default_rng(7), 19
    f = flexarm.jax.function(of, name, route="native")
    given = [0.1 * rng.normal(size=(rows, len(of.signals_of(a)))) for a in of.arguments(name)]
    p = of.p * (1.0 + 0.2 * rng.random((rows, len(of.p))))
    text = jax.jit(f).lower(*given, p=p).as_text()
    assert "flexarm_" in text and "callback" not in text

    def check(found, given, p):
        np.testing.assert_allclose(found, of.evaluate(name, *given, p=p), rtol=1e-12, atol=1e-12)

    check(jax.jit(jax.vmap(lambda x, p: f(*x, p=p)))(given, p), given, p)
    check(jax.vmap(lambda x: f(*x, p=p[0]))(given), given, p[0])
    check(f(*given, p=p[1]), given, p[1])
    check(f(*[x[2] for x in given], p=p[2]), [x[2] for x in given], p[2])
    check(f(*[x[:3] for x in given], p=p[:3]), [x[:3] for x in given], p[:3])
    assert f(*[x[:0] for x in given]).shape == (0, of.nv)
    slopes = jax.vmap(jax.jacfwd(lambda p, x: f(*x, p=p)), in_axes=(None, 0))(p[0], given)
    own = of.at(p[0]).slope(name, "p")
    assert np.array(slopes[4]) == pytest.approx(np.array(own(*[x[4] for x in given])), rel=1e-9)
    given[1][5, 1], p[8, 0] = np.nan, np.inf
    wrong = np.isnan(np.array(f(*given, p=p)))
    assert wrong[[5, 8]].all() and not np.delete(wrong, [5, 8], axis=0).any()
    nothing = np.full(len(of.inputs), np.nan)
    assert np.isnan(np.array(jax.vmap(lambda q, qd: f(q, qd, nothing))(*given[:2]))).all()


def test_threads_register_native_code_once():
    """XLA refuses a second registration under a name, and would call code that is no longer in memory."""
    of, found, ready = small(), [], threading.Barrier(8)
    q = state(of)["q"]

    def work():
        ready.wait()
        for _ in range(20):
            found.append(np.array(flexarm.jax.function(of, "gravity_force", "native")(q)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 160
    np.testing.assert_allclose(found, np.tile(of.gravity_force(q), (160, 1)), rtol=1e-12)


# -- memory


def test_native_code_reads_and_writes_the_memory_of_tensors(monkeypatch):
    """Doubles that are contiguous: PyTorch's addresses are those that native code gets, and returns."""
    rng, seen = np.random.default_rng(4), []
    natively = Quantity.natively

    def noted(self, *arrays):
        found = natively(self, *arrays)
        seen.append([x.ctypes.data for x in (*arrays, found)])
        return found

    monkeypatch.setattr(Quantity, "natively", noted)
    of = flexarm.torch.function(small(), "forward_dynamics", route="native")
    sizes = [len(small().signals_of(name)) for name in small().arguments("forward_dynamics")]
    given = [torch.tensor(rng.uniform(0.5, 1.5, size=(40, size))) for size in (*sizes, 2)]
    found = of(*given[:-1], p=given[-1])
    assert seen == [[x.data_ptr() for x in (*given, found)]]


def test_arrays_of_other_libraries_are_shared():
    """PyTorch takes the memory of arrays of JAX and of NumPy, and JAX takes tensors, also those with a graph."""
    x, y, tensor = jnp.arange(6.0).reshape(2, 3), np.arange(6.0), torch.arange(512.0, dtype=torch.float64)
    assert flexarm.torch.XP.array(x).data_ptr() == x.unsafe_buffer_pointer()
    assert flexarm.torch.XP.array(y).data_ptr() == y.ctypes.data
    y.flags.writeable = False
    assert flexarm.torch.XP.array(y).data_ptr() != y.ctypes.data  # a tensor could be written
    np.testing.assert_array_equal(flexarm.jax.XP.array(tensor.requires_grad_()), np.arange(512.0))
    q0 = np.array([[0.1, 0.0, 0.2], [0.3, 0.01, -0.1]])
    runs = [
        library.simulate(small(), 0.01, q0=like(q0), steps=2, route="native").q
        for library, like in ((flexarm.torch, jnp.asarray), (flexarm.jax, torch.tensor), (flexarm.jax, jnp.asarray))
    ]
    for each in runs[:2]:
        np.testing.assert_allclose(np.asarray(each), np.asarray(runs[2]), rtol=1e-12)
