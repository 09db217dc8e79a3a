"""The model: native code against CasADi, shapes and batches, errors at the door, linear models, frequencies."""

import inspect

import casadi as ca
import control
import numpy as np
import pytest
from quantities import taken
from random_arms import random_arm, random_state

import flexarm as fa
from flexarm.model import QUANTITIES
from flexarm.native import kernel as native
from flexarm.sensors import Accelerometer, Encoder, StrainGauge, Tachometer, TipDeflection, TipPosition, outputs

ROUNDING = 1e-12  # relative: the same program, its sums in another order
DIFFERENCES = 1e-6  # relative: sixth-order central differences with a step of 1e-3

ARM = random_arm(26, links=2, elastic=True)  # a rigid link, a beam that bends and twists, motors, payload, gravity
PUBLIC = [name for name in QUANTITIES if hasattr(fa.Model, name)]


@pytest.fixture(scope="module")
def model():
    return fa.Model(ARM)


def arguments(name, batch=(), seed=7):
    """General states of a batch, one array for each argument of a quantity."""
    q, qd, u = random_state(ARM, seed)
    rng = np.random.default_rng(seed)
    given = {"q": q, "qd": qd, "u": u, "qdd": rng.normal(size=len(q)), "v": qd[::-1]}
    return [given[a] * rng.uniform(0.5, 1.5, (*batch, len(given[a]))) for a in taken(name)]


def evaluated(model, name, *values):
    """What every public method calls; some quantities have no method."""
    return model.evaluate(name, *values)


def assert_close(actual, expected, tolerance=ROUNDING):
    scale = np.max(np.abs(expected), initial=0.0)
    assert np.shape(actual) == np.shape(expected)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


def interpreted(model, name, values):
    """A quantity by CasADi's virtual machine, in the shape that the model gives it."""
    found = np.array(model.function(name)(*values))
    if name == "frames":  # poses side by side
        return np.array(np.split(found, len(ARM.links) + 1, axis=1))
    if name.startswith("closure_"):  # of no closure, a column without rows
        return found.reshape(-1, QUANTITIES[name][1][1])
    return found if len(QUANTITIES[name][1]) > 1 else found.ravel()


# -- native code -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", QUANTITIES)
def test_native_code_is_the_casadi_function(model, name):
    values = arguments(name)
    assert_close(evaluated(model, name, *values), interpreted(model, name, values))
    for rows in (1, 7, 8, 9, 33):
        batch = arguments(name, (rows,), seed=rows)
        expected = np.array([interpreted(model, name, row) for row in zip(*batch, strict=True)])
        assert_close(evaluated(model, name, *batch), expected)


@pytest.mark.parametrize("name", PUBLIC)
def test_a_method_gives_its_quantity(model, name):
    values = arguments(name)
    found = getattr(model, name)(*values)
    if name in ("energy", "closure_gaps"):
        assert isinstance(found, tuple)
        found = np.stack(found, axis=-1)
    np.testing.assert_array_equal(found, evaluated(model, name, *values))


def test_every_public_quantity_has_its_method():
    inner = {"restoring_force", "state_rate", "prescribed_rate", "prescribed_force", "observed"}
    inner |= {"state_residual", "prescribed_residual", "power", "motors", "tension"}
    assert set(PUBLIC) == set(QUANTITIES) - inner
    for name in PUBLIC:
        more = [a for a in QUANTITIES[name][0] if a in ("s", "w")]
        assert tuple(inspect.signature(getattr(fa.Model, name)).parameters)[1:] == (*taken(name), "p", *more)


def test_what_a_result_shows(model):
    """Tip position, both energies, all deflections and the inputs' rates, as the methods give them."""
    q, qd = arguments("energy")
    rates = model.input_matrix(q).T @ qd
    expected = np.concatenate([model.tip(q)[:3, 3], model.energy(q, qd), model.deflections(q).ravel(), rates])
    assert_close(evaluated(model, "observed", q, qd), expected)


def test_nothing_is_compiled_that_is_not_called(monkeypatch, tmp_path):
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path))
    compiled, compile_ = [], native._compile
    monkeypatch.setattr(native, "_compile", lambda *x: compiled.append(x[0]) or compile_(*x))
    model = fa.Model(ARM)
    model.function("forward_dynamics")
    assert len(compiled) == 0
    q, qd, u = random_state(ARM, 1)
    model.tip(q)
    model.tip(2 * q)
    assert len(compiled) == 1
    model.tip([q, q])
    assert len(compiled) == 2
    model.energy(q, qd)
    assert len(compiled) == 3
    fa.Model(ARM).tip([q, q])
    assert len(compiled) == 3


def test_other_arms_have_other_code(monkeypatch, tmp_path):
    """Any change of the description that changes the motion, and no renaming, is seen by the cache."""
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path))
    q, qd, u = random_state(ARM, 1)
    before = fa.Model(ARM).forward_dynamics(q, qd, u)
    other = ARM.replace(payload=fa.Payload(mass=ARM.payload.mass + 1e-9, inertia=ARM.payload.inertia))
    assert not fa.Model(other).kernel("forward_dynamics").code.was_cached
    assert np.any(fa.Model(other).forward_dynamics(q, qd, u) != before)
    assert fa.Model(random_arm(26, links=2, elastic=True)).kernel("forward_dynamics").code.was_cached


@pytest.mark.parametrize("name", ["canadarm", "satellite", "subudhi-morris", "subudhi-morris-elastic", "lin-lewis-rfr"])
def test_an_arm_with_another_payload_compiles_nothing(monkeypatch, tmp_path, name):
    """Its numbers differ and its equations do not, so that it finds the machine code of the first arm."""
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path))
    compiled, compile_ = [], native._compile
    monkeypatch.setattr(native, "_compile", lambda *x: compiled.append(x[0]) or compile_(*x))
    arm = fa.load(name).replace(payload=fa.Payload(mass=0.7913, inertia=0.0317))
    names = ("forward_dynamics", "inverse_dynamics", "mass_matrix", "energy")
    first = {each: fa.Model(arm).kernel(each) for each in names}
    x = {each: 0.1 + 0.1 * np.random.default_rng(1).random(k.code.facts["n_in"]) for each, k in first.items()}
    before = {each: first[each].one(x[each]) for each in names}
    count = len(compiled)
    other = fa.Model(arm.replace(payload=fa.Payload(mass=1.371, inertia=0.1)))
    for each in names:
        function = other.laid_out(each)
        parts = np.split(x[each], np.cumsum([function.nnz_in(i) for i in range(function.n_in())])[:-1])
        expected, found = np.array(function(*parts)).ravel(), other.kernel(each).one(x[each])
        assert np.abs(found - expected).max() <= 1e-11 * np.abs(expected).max()
        assert np.abs(found - before[each]).max() > 1e-6 * np.abs(expected).max()
    assert len(compiled) == count == len(names)


class Scaled:
    """The clamped-free shapes, each `factor` times as large."""

    def __init__(self, factor):
        self.factor = factor

    def basis(self, count):
        from flexarm.shapes import Basis, ClampedFree

        return Basis(count, lambda x, n: self.factor * ClampedFree().basis(count).values(x, n))


def test_a_family_object_counts_by_its_shapes(monkeypatch, tmp_path):
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path))

    def tip(shapes):
        body = fa.Beam(length=1.0, mass=1.0, EI=1.0, modes={"y": 1}, shapes=shapes)
        model = fa.Model(fa.Arm(name="one", links=[fa.Link(name="link", joint=fa.Fixed(), body=body)]))
        return model.tip([0.1])[1, 3], model.kernel("tip").code.was_cached

    assert tip(Scaled(1.0)) == (pytest.approx(0.1), False)
    shapes = Scaled(1.0)
    shapes.factor = 2.0
    assert tip(shapes) == (pytest.approx(0.2), False)
    assert tip(Scaled(2.0)) == (pytest.approx(0.2), True)


@pytest.mark.parametrize("direction", ["y", "z", "torsion", "axial"])
def test_a_family_object_counts_in_each_direction(monkeypatch, tmp_path, direction):
    """The digest of an object is that of its state; how its class makes shapes of it is told by the shapes alone."""
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path))

    def model():
        shapes = {"z": "polynomial", direction: Scaled(1.0)}
        modes = {"y": 1, "z": 1, "torsion": 1, "axial": 1}
        body = fa.Beam(length=1.0, mass=1.0, EI=1.0, GJ=1.0, EA=1.0, polar_inertia=0.1, modes=modes, shapes=shapes)
        return fa.Model(fa.Arm(name="one", links=[fa.Link(name="link", joint=fa.Fixed(), body=body)]))

    q, place = 0.1 * np.ones(4), ["y", "z", "torsion", "axial"].index(direction)
    before = model()
    force = before.stiffness_force(q)
    assert not before.kernel("stiffness_force").code.was_cached
    assert model().kernel("stiffness_force").code.was_cached

    def twice(self, count):
        from flexarm.shapes import Basis, ClampedFree

        return Basis(count, lambda x, n: 2 * ClampedFree().basis(count).values(x, n))

    monkeypatch.setattr(Scaled, "basis", twice)
    after = model()
    assert_close(after.stiffness_force(q)[place], 4 * force[place])
    assert not after.kernel("stiffness_force").code.was_cached


class Fitted:
    """A family that must be fitted to its beam before it has shapes."""

    def basis(self, count):
        raise NotImplementedError

    def fitted(self, beam, direction, load):
        from flexarm.shapes import ClampedMass

        return ClampedMass(mass_ratio=load.mass / beam.total_mass)


def test_a_family_object_may_depend_on_the_load():
    def frequencies(shapes):
        body = fa.Beam(length=1.0, mass=1.0, EI=1.0, modes={"y": 2}, shapes=shapes)
        link = fa.Link(name="link", joint=fa.Revolute(), body=body)
        return fa.Model(fa.Arm(name="one", links=[link], payload=fa.Payload(mass=0.7))).frequencies(np.zeros(3))

    np.testing.assert_array_equal(frequencies(Fitted()), frequencies("clamped-mass"))


# -- shapes and batches ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [(0,), (1,), (5,), (2, 3), (2, 0, 3), (1, 1, 1, 4)])
def test_axes_before_the_last_are_many_states(model, batch):
    for name in ("forward_dynamics", "mass_matrix", "frames", "deflections"):
        values = arguments(name, batch)
        found = evaluated(model, name, *values)
        single = evaluated(model, name, *arguments(name))
        assert found.shape == (*batch, *single.shape)
        for index in np.ndindex(*batch):
            assert_close(found[index], evaluated(model, name, *(value[index] for value in values)))
    T, V = model.energy(*arguments("energy", batch))
    assert T.shape == V.shape == batch


def test_arguments_with_fewer_axes_are_used_for_all(model):
    q, qd, u = arguments("forward_dynamics")
    many = arguments("forward_dynamics", (4, 1))[0]
    rates = arguments("forward_dynamics", (3,))[1]
    found = model.forward_dynamics(many, rates, u)
    assert found.shape == (4, 3, len(q))
    for i, j in np.ndindex(4, 3):
        assert_close(found[i, j], model.forward_dynamics(many[i, 0], rates[j], u))


def test_lists_integers_and_strides_will_do(model):
    n = len(model.coordinates)
    assert_close(model.tip(list(range(n))), model.tip(np.arange(n, dtype=float)))
    wide = np.random.default_rng(2).normal(size=(3, 2 * n))
    assert_close(model.tip(wide[:, ::2]), model.tip(wide[:, ::2].copy()))
    assert_close(model.tip(wide[0, ::2]), model.tip(wide[0, ::2].copy()))
    assert_close(model.tip(np.asfortranarray(wide[:, :n])), model.tip(wide[:, :n].copy()))
    assert_close(model.tip(wide[0, :n].astype(">f8")), model.tip(wide[0, :n]))


def test_results_are_the_callers_own(model):
    q, qd, u = arguments("forward_dynamics")
    first = model.forward_dynamics(q, qd, u)
    kept = first.copy()
    model.forward_dynamics(2 * q, qd, u)
    np.testing.assert_array_equal(first, kept)


def test_an_arm_without_actuators():
    body = fa.Beam(length=1.0, mass=1.0, EI=1.0, modes={"y": 2})
    model = fa.Model(fa.Arm(name="mast", links=[fa.Link(name="mast", joint=fa.Fixed(), body=body)]))
    q, qd = np.array([0.1, 0.0]), np.zeros(2)
    assert model.inputs == ()
    assert model.input_matrix(q).shape == (2, 0)
    assert model.input_matrix([q] * 9).shape == (9, 2, 0)
    omega = model.frequencies(q)
    assert_close(omega, model.frequencies(q, locked=False))
    assert_close(model.forward_dynamics(q, qd, []), [-(omega[0] ** 2) * 0.1, 0.0])
    assert model.linearize(q, qd, []).ninputs == 0


# -- at the door -------------------------------------------------------------------------------------------------------


def refused(match):
    """A one-line DescriptionError."""
    return pytest.raises(fa.DescriptionError, match=rf"\A{match}\Z")


COORDINATES = ", ".join(ARM.coordinates).replace(".", r"\.")
INPUTS = ", ".join(ARM.inputs).replace(".", r"\.")
N, M = len(ARM.coordinates), len(ARM.inputs)


@pytest.mark.parametrize("wrong", [N - 1, N + 1, 1, 0, (3, N + 1), (N, 1), ()])
def test_a_wrong_length(model, wrong):
    q, qd, u = arguments("forward_dynamics")
    shape = np.zeros(wrong).shape
    written = rf"{shape}".replace("(", r"\(").replace(")", r"\)")
    with refused(rf"qd has shape {written}; its last axis must have {N} numbers: {COORDINATES}"):
        model.forward_dynamics(q, np.zeros(wrong), u)


def test_a_wrong_number_of_inputs(model):
    q, qd, u = arguments("forward_dynamics")
    with refused(rf"u has shape \({M + 1},\); its last axis must have {M} numbers: {INPUTS}"):
        model.forward_dynamics(q, qd, np.zeros(M + 1))
    with refused(rf"u has shape \({N},\); its last axis must have {M} numbers: {INPUTS}"):
        model.linearize(q, qd, np.zeros(N))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_a_number(model, bad):
    q, qd, u = arguments("forward_dynamics")
    q[-1] = bad
    for call in (model.forward_dynamics, model.linearize):
        with refused("q contains NaN or infinity"):
            call(q, qd, u)
    with refused("q contains NaN or infinity"):
        model.frequencies(q)
    with refused("qdd contains NaN or infinity"):
        model.inverse_dynamics(qd, qd, [np.zeros(N), q])


@pytest.mark.parametrize("wrong", ["upper", None, ["a"] * N, ["1.0"] * N, [[0.0] * N, [0.0]], {"a": 1.0}, [1j] * N])
def test_not_an_array_of_numbers(model, wrong):
    with refused("q is not an array of numbers"):
        model.tip(wrong)


def test_symbols_are_for_the_function(model):
    with refused("q is not an array of numbers"):
        model.tip(ca.SX.sym("q", N))


def test_batches_that_do_not_fit(model):
    q, qd, u = (np.zeros((rows, size)) for rows, size in ((2, N), (3, N), (1, M)))
    message = "forward_dynamics: the axes before the last do not match: q is (2, {0}), qd is (3, {0}), u is (1, {1})"
    with pytest.raises(fa.DescriptionError) as error:
        model.forward_dynamics(q, qd, u)
    assert str(error.value) == message.format(N, M)


def test_an_unknown_quantity(model):
    with refused(rf"unknown quantity 'inertia'; known quantities are {', '.join(QUANTITIES)}"):
        model.function("inertia")


def test_an_arm_in_which_nothing_moves():
    post = fa.Arm(name="post", links=[fa.Link(name="post", joint=fa.Fixed(), body=fa.Rigid(length=1.0, mass=1.0))])
    with refused("arm 'post': nothing moves; give it a joint or a link with modes"):
        fa.Model(post)


def test_frequencies_of_a_batch(model):
    with refused(r"\w+: q has more than one axis; give one configuration"):
        model.frequencies(np.zeros((2, N)))


# -- names -------------------------------------------------------------------------------------------------------------


def test_a_model_shows_its_size(model):
    assert repr(model) == f"Model('{ARM.name}': {N} coordinates, {M} inputs)"
    assert (model.coordinates, model.inputs) == (ARM.coordinates, ARM.inputs)


def test_a_function_has_the_names_of_its_method(model):
    function = model.function("forward_dynamics")
    assert function is model.function("forward_dynamics")
    assert (function.name_in(), function.name_out()) == (["q", "qd", "u"], ["forward_dynamics"])


# -- linear models -----------------------------------------------------------------------------------------------------


def slopes(f, x, h=1e-3):
    """df/dx by sixth-order central differences."""
    weights = [(1, 3 / 4), (2, -3 / 20), (3, 1 / 60)]
    columns = [sum(c * (f(x + i * h * e) - f(x - i * h * e)) for i, c in weights) / h for e in np.eye(len(x))]
    return np.column_stack(columns)


@pytest.mark.parametrize("seed", [2, 7, 11])
def test_a_linear_model_has_the_slopes_of_the_motion(seed):
    arm = random_arm(seed, links=2)
    model = fa.Model(arm)
    q, qd, u = random_state(arm, seed)
    n = len(q)
    linear = model.linearize(q, qd, u)
    state = np.append(q, qd)
    A = slopes(lambda x: np.append(x[n:], model.forward_dynamics(x[:n], x[n:], u)), state)
    B = slopes(lambda v: np.append(qd, model.forward_dynamics(q, qd, v)), u)
    assert isinstance(linear, control.StateSpace)
    for found, expected in ((linear.A, A), (linear.B, B)):
        for rows in (slice(n), slice(n, None)):
            assert_close(found[rows], expected[rows], DIFFERENCES)
    np.testing.assert_array_equal(linear.C, np.eye(2 * n))
    np.testing.assert_array_equal(linear.D, 0.0)


def test_the_signals_of_a_linear_model_have_names(model):
    linear = model.linearize(*arguments("forward_dynamics"))
    plain = [name.replace(".", "_") for name in ARM.coordinates]
    assert linear.state_labels == linear.output_labels == [*plain, *(f"{name}_rate" for name in plain)]
    assert linear.input_labels == ["u_" + name.replace(".", "_") for name in ARM.inputs]


def everything_measured(arm):
    """A sensor of every kind, wherever it fits."""
    some = [Accelerometer(), Accelerometer(frame="base", gravity=False, name="base"), TipPosition()]
    for link in arm.links:
        if link.joint.type != "fixed":
            some += [Encoder(coordinate=f"{link.name}.drive"), Tachometer(coordinate=f"{link.name}.hub")]
        if link.body.type == "beam":
            some.append(TipDeflection(link=link.name, axis="slope_y"))
            some += [StrainGauge(link=link.name, at=0.3, plane=d) for d in "yz" if link.body.counts[d]]
    return some


@pytest.mark.parametrize(("seed", "options"), [(2, {}), (7, {"elastic": True}), (6, {"telescope": True})])
def test_a_linear_model_has_the_slopes_of_its_outputs(seed, options):
    arm = random_arm(seed, links=2, **options)
    model = fa.Model(arm)
    q, qd, u = random_state(arm, seed)
    n = len(q)
    sensors = everything_measured(arm)
    linear = model.linearize(q, qd, u, outputs=sensors)
    measured = outputs(model, sensors)
    C = slopes(lambda x: measured.values(x[:n], x[n:], u), np.append(q, qd))
    D = slopes(lambda v: measured.values(q, qd, v), u)
    assert tuple(linear.output_labels) == measured.names
    for row in range(len(C)):
        assert_close(np.append(linear.C[row], linear.D[row]), np.append(C[row], D[row]), DIFFERENCES)
    plain = model.linearize(q, qd, u)
    np.testing.assert_array_equal(linear.A, plain.A)
    np.testing.assert_array_equal(linear.B, plain.B)
    felt_at_once = np.abs(linear.D[:6]).max() > 1e-3
    assert felt_at_once != ("elastic" in options)  # a motor first has to wind its spring


def test_a_linear_model_follows_small_motions():
    """A pulse of torque at both joints; the error is of second order in it, relative to what it moves of first."""
    model = fa.Model(fa.load("subudhi-morris"))
    n = len(model.coordinates)
    sensors = [
        TipPosition(axes="xy"),
        StrainGauge(link="upper"),
        Encoder(coordinate="fore.drive"),
        Accelerometer(axes="y"),
    ]
    q = np.zeros(n)
    q[:2] = 0.3, 0.9
    linear = model.linearize(q, np.zeros(n), np.zeros(2), outputs=sensors)
    start = outputs(model, sensors).values(q, np.zeros(n), np.zeros(2))
    t = np.linspace(0.0, 0.5, 2001)
    pulse = np.where(t < 0.2, np.sin(np.pi * t / 0.2) ** 2, 0.0)[:, None] * [1.0, -0.6]
    errors = []
    for size in (1e-2, 1e-3, 1e-4):
        drive = fa.Table(t, size * pulse, kind="linear")
        run = fa.simulate(
            model, 0.5, drive, q0=q, samples=len(t), solver=fa.Solver(rtol=1e-11, atol=1e-15), progress=False
        )
        y = outputs(model, sensors).values(run.q.values, run.qd.values, run.u.values) - start
        linear_y = control.forced_response(linear, t, size * pulse.T).outputs.T
        errors.append(np.abs(y - linear_y).max(axis=0) / np.abs(linear_y).max(axis=0))
    assert np.max(errors[0]) < 0.1
    assert np.max(errors[2]) < 1e-3
    for less, more in ((1, 0), (2, 1)):
        assert np.all(errors[less] < 0.15 * errors[more])


def test_outputs_at_the_door(model):
    state = arguments("forward_dynamics")
    with refused(r"outputs is 'tip'; it must be a list of sensors"):
        model.linearize(*state, outputs="tip")
    with refused("outputs: two signals are called 'tip_x'; give one of the sensors a name"):
        model.linearize(*state, outputs=[TipPosition(), TipPosition(axes="x")])


def test_signals_are_identifiers():
    link = fa.Link(name="1-a", body=fa.Rigid(length=1.0, mass=1.0))
    model = fa.Model(fa.Arm(name="odd", links=[link]))
    linear = model.linearize([0.0], [0.0], [0.0])
    assert linear.state_labels == ["_1_a_joint", "_1_a_joint_rate"]
    assert linear.input_labels == ["u_1_a_joint"]


def test_a_linear_model_of_an_undamped_arm_vibrates_at_its_frequencies():
    arm = random_arm(26, links=2, elastic=True, damping=False, gravity=False)
    model = fa.Model(arm)
    q, _, u = random_state(arm, 7)
    q[list(map(arm.coordinates.index, arm.inputs))] = q[: len(arm.inputs)]  # no spring is wound,
    q[len(arm.inputs) : -len(arm.inputs)] = 0.0  # no link is bent
    poles = np.linalg.eigvals(model.linearize(q, 0 * q, 0 * u).A)
    omega = model.frequencies(q, locked=False)
    assert np.all(omega[: len(arm.inputs)] == 0.0)
    found = np.sort(np.abs(poles.imag))[2 * len(arm.inputs) :: 2]
    np.testing.assert_allclose(found, omega[len(arm.inputs) :], rtol=1e-6)


# -- frequencies -------------------------------------------------------------------------------------------------------


def test_frequencies_solve_the_eigenvalue_problem():
    """K x = omega^2 M x with K the slope of all restoring forces; locked: without the actuated rows and columns."""
    from scipy.linalg import eigh

    model = fa.Model(ARM)
    q, _, _ = random_state(ARM, 7)
    K = slopes(lambda x: model.stiffness_force(x) + model.gravity_force(x), q)
    mass = model.mass_matrix(q)
    free = [i for i, name in enumerate(ARM.coordinates) if name not in ARM.inputs]
    for locked, kept in ((True, free), (False, list(range(N)))):
        omega2 = eigh(K[np.ix_(kept, kept)], mass[np.ix_(kept, kept)], eigvals_only=True)
        omega = model.frequencies(q, locked=locked)
        assert np.all(np.diff(omega) >= 0)
        assert_close(np.sign(omega) * omega**2, omega2, 1e-9)


def test_a_pendulum_hangs_and_stands():
    link = fa.Link(name="rod", joint=fa.Revolute(axis=(0, 0, 1)), body=fa.Rigid(length=0.8, mass=2.0))
    model = fa.Model(fa.Arm(name="pendulum", links=[link], gravity=(0, -9.81, 0)))
    omega = np.sqrt(3 * 9.81 / (2 * 0.8))
    assert model.frequencies([-np.pi / 2], locked=False) == pytest.approx([omega])
    assert model.frequencies([np.pi / 2], locked=False) == pytest.approx([-omega])
    assert model.frequencies([0.3]).shape == (0,)


def test_a_motor_and_a_joint_on_their_spring():
    """Held motor: sqrt(k / I); free: sqrt(k (1/I + 1/J)) and 0."""
    k, I, J = 90.0, 3.0 * 1.0**2 / 3, 0.02 * 2.0**2
    joint = fa.Revolute(axis=(0, 0, 1), rotor_inertia=0.02, gear_ratio=2.0, stiffness=k)
    model = fa.Model(fa.Arm(name="x", links=[fa.Link(name="rod", joint=joint, body=fa.Rigid(length=1.0, mass=3.0))]))
    assert model.frequencies([0.4, 0.5]) == pytest.approx([np.sqrt(k / I)])
    assert model.frequencies([0.4, 0.5], locked=False) == pytest.approx([0, np.sqrt(k * (1 / I + 1 / J))], abs=1e-9)


def test_modes_of_an_arm_without_inertia():
    rod = fa.Rigid(length=0.0, mass=1.0)  # turns about an axis through its own mass point
    model = fa.Model(fa.Arm(name="point", links=[fa.Link(name="point", body=rod)]))
    with pytest.raises(fa.DescriptionError, match="arm 'point': no inertia resists the acceleration"):
        model.modes([0.0], locked=False)


def test_torsion_without_inertia_of_its_own_has_no_damping_of_its_own():
    """A ratio of critical damping, 2 sqrt(k m), of no mass: as with ever less polar inertia."""
    given = {"length": 1.0, "mass": 0.5, "EI": 10.0, "GJ": 1.0, "modes": {"y": 1, "torsion": 1}, "damping": 0.02}
    arms = [
        fa.Arm(
            name="a", links=[fa.Link(name="b", body=fa.Beam(**given, **more))], payload=fa.Payload(mass=1, inertia=0.1)
        )
        for more in ({}, {"polar_inertia": 1e-18})
    ]
    q, qd = np.array([0.1, 0.02, 0.3]), np.array([0.5, 1.0, 2.0])
    none, little = (fa.Model(arm).damping_force(q, qd) for arm in arms)
    assert none[1] > 0 and none[2] == 0
    np.testing.assert_allclose(none, little, atol=1e-9)  # 2 zeta sqrt(k m) of the little there is
