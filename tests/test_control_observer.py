"""A Kalman filter between sensors and a controller."""

from dataclasses import replace

import numpy as np
import pytest

import flexarm as fa
from flexarm.control import DesignedFor, JointPD, Observed, Sampled
from flexarm.sensors import Accelerometer, Encoder, StrainGauge
from flexarm.simulation.sampled import feedback

pytestmark = pytest.mark.filterwarnings("ignore:Sampled. period is")  # the fastest mode needs no control here
PERIOD = 2e-3
REFERENCE = fa.Quintic((0.0, 0.0), (0.8, 0.4), 1.0)


@pytest.fixture(scope="module")
def model():
    return fa.Model(fa.load("subudhi-morris-elastic"))


def sensors(noise=1e-4, **sampling):
    ends = [f"{link}.{part}" for link in ("upper", "fore") for part in ("motor", "joint")]
    encoders = [Encoder(coordinate=end, noise=noise, **sampling) for end in ends]
    return [*encoders, *(StrainGauge(link=link, noise=10 * noise, **sampling) for link in ("upper", "fore"))]


FAINT = 1e-6
"""So little of an estimate is put out that it moves nothing."""


class Estimates:
    """A controller of next to nothing, whose output is some of the state it is given."""

    def __init__(self, which):
        self.which = which

    def law(self, model, period=None):
        from casadi import vertcat

        from flexarm.simulation.law import Law

        return Law(lambda t, q, qd, z: (FAINT * vertcat(q, qd)[list(self.which)], []))


def test_the_estimate_of_an_arm_at_rest_stays(model):
    n = len(model.coordinates)
    law = feedback(Sampled(Observed(Estimates([0, n]), sensors(0.0 + 1e-9)), PERIOD), model)
    sampled = law.started()
    values = np.array([sampled(k * PERIOD, np.zeros(2 * n)) for k in range(50)])
    assert np.abs(values).max() < 1e-5 * FAINT


def test_a_wrong_start_is_forgotten_at_the_filter_s_poles(model):
    """The arm rests, the filter begins with a wrong estimate: that shrinks by the poles that the design reports."""
    n = len(model.coordinates)
    made = feedback(Sampled(Observed(Estimates([n, n + 1]), sensors()), PERIOD), model)
    wrong = 1e-6 * np.random.default_rng(3).normal(size=2 * n)  # so small that the arm is linear
    quiet = replace(made.law, memory=tuple(wrong), noise=tuple(0.0 for _ in made.law.noise))
    sampled = replace(made, law=quiet).started()
    found = np.array([np.abs(sampled(k * PERIOD, np.zeros(2 * n))).max() for k in range(600)]) / FAINT
    poles = np.array(made.law.facts["observer_poles"])
    assert (np.abs(poles) < 1).all()
    slowest = np.abs(poles[np.abs(np.angle(poles)) < 1]).max()  # the fastest mode the filter's own steps damp further
    windows = [found[k : k + 50].max() for k in (300, 500)]
    assert (windows[1] / windows[0]) ** (1 / 200) == pytest.approx(slowest, abs=3e-3)


@pytest.mark.parametrize("period", [None, 1e-3, 5e-3])
def test_joint_pd_works_with_estimates_as_with_the_state(model, period):
    """With good sensors the loop does what it does with the whole state, sampled at any period, stiff modes or not."""
    plain, observed = JointPD(REFERENCE, 5.0, 1.0), Observed(JointPD(REFERENCE, 5.0, 1.0), sensors())
    if period:
        plain, observed = Sampled(plain, period), Sampled(observed, period)
    runs = [fa.simulate(model, 2.0, u=u, method="auto", samples=201, progress=False) for u in (plain, observed)]
    away = np.abs(runs[1].q.values - runs[0].q.values).max()
    assert away < 5e-3
    assert runs[1].energy_drift < 1e-6


def test_the_gain_is_found_where_it_is_asked_for(model):
    """A configuration, or the joints alone."""
    n, pd = len(model.coordinates), JointPD(REFERENCE, 5.0, 1.0)
    there = np.zeros(n)
    there[list(model.arm.joints)] = there[list(model.arm.motors)] = (0.3, 1.2)
    found = [
        Observed(pd, sensors(), configuration=place).law(model, PERIOD).facts["observer_poles"]
        for place in ((0.3, 1.2), there, None)
    ]
    assert found[0] == found[1] != found[2]
    with pytest.raises(fa.DescriptionError, match=r"\Aq has shape \(3,\); it must have .*"):
        Observed(pd, sensors(), configuration=(0.1, 0.2, 0.3)).law(model, PERIOD)


def test_noise_is_seeded(model):
    def last(seed):
        u = Sampled(Observed(JointPD(REFERENCE, 5.0, 1.0), sensors(1e-3)), PERIOD, seed=seed)
        return fa.simulate(model, 0.2, u=u, method="auto", samples=11, progress=False).u.values[-1]

    np.testing.assert_array_equal(last(1), last(1))
    assert np.abs(last(1) - last(2)).max() > 1e-6


def test_readings_are_whole_multiples_of_the_resolution(model):
    """A coarse encoder makes the estimate of an arm that does not move stay where rounding puts it."""
    n = len(model.coordinates)
    coarse = [
        Encoder(coordinate=f"{link}.{part}", resolution=0.01)
        for link in ("upper", "fore")
        for part in ("motor", "joint")
    ]
    coarse += [StrainGauge(link=link, noise=1e-9) for link in ("upper", "fore")]
    law = feedback(Sampled(Observed(Estimates([0, n - 1]), coarse), PERIOD), model)
    x = np.zeros(2 * n)
    x[[0, 1, n - 2, n - 1]] = 0.0149
    sampled = law.started()
    values = [sampled(k * PERIOD, x)[1] / FAINT for k in range(4000)]
    assert values[-1] == pytest.approx(0.01, abs=2e-3), "0.0149 reads as 0.01"


def test_the_payload_may_be_half_heavier_and_the_links_a_fifth_softer(model):
    """The filter knows the nominal arm; what it tolerates stands in docs/do/control/observer.md.

    Against the same loop with the whole state: what the filter adds to the error is small beside what is there.
    """
    arm = model.arm
    softer = [link.replace(body=link.body.replace(EI=0.8 * link.body.EI)) for link in arm.links]
    for changed in (arm.replace(payload=arm.payload.replace(mass=0.15)), arm.replace(links=softer)):
        plain = JointPD(REFERENCE, 5.0, 1.0)
        runs = [
            fa.simulate(
                fa.Model(changed),
                6.0,
                u=Sampled(DesignedFor(c, model), PERIOD),
                method="auto",
                samples=601,
                progress=False,
            )
            for c in (plain, Observed(plain, sensors()))
        ]
        alone, filtered = (np.abs(run.q.values[300:, :2] - (0.8, 0.4)).max() for run in runs)
        assert filtered < 1.2 * alone


def test_an_arm_whose_drives_have_states_is_refused():
    rubs = fa.Friction(coulomb=0.5, model="lugre", bristle_stiffness=1e3)
    joint = fa.Revolute(axis=(0, 0, 1), drive=fa.Drive(friction=rubs))
    link = fa.Link(name="l", joint=joint, body=fa.Rigid(length=1.0, mass=1.0))
    model = fa.Model(fa.Arm(name="rubs", links=[link]))
    observed = Observed(JointPD(0.0, 5.0, 1.0), [Encoder(coordinate="l.drive", noise=1e-3)])
    for given in (observed, Sampled(observed, PERIOD)):
        with pytest.raises(
            fa.DescriptionError, match=r"\AObserved: arm 'rubs': its drives have states, l.friction.br.*"
        ):
            fa.simulate(model, 0.1, u=given, progress=False)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ([Encoder(coordinate="upper.motor")], "Encoder has neither noise nor resolution"),
        ([Accelerometer(noise=1e-3)], "an Accelerometer is among the sensors"),
        ([StrainGauge(link="upper", noise=1e-3)], "no steady filter"),
        ([Encoder(coordinate="upper.motor", noise=1e-3, sample_time=0.1)], "samples every 0.1 s, the controller every"),
        ([], "must be a list of sensors"),
    ],
)
def test_what_no_filter_can_do_is_refused(model, given, line):
    with pytest.raises(fa.DescriptionError, match=line):
        Sampled(Observed(JointPD(REFERENCE, 5.0, 1.0), given), PERIOD).feedback(model)
