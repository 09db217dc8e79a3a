"""Scenarios of satellites: controllers that follow no motion, and what they say of what is wrong."""

import numpy as np
import pytest

import flexarm as fa

TURNED = {"base.qw": float(np.cos(0.35)), "base.qx": float(np.sin(0.35))}
WHEELS = ["wheel-x.joint", "wheel-y.joint", "wheel-z.joint"]
PD = {"type": "attitude-pd", "Kp": 8.0, "Kd": 150.0, "actuators": WHEELS}


def scenario(**changes):
    given = {"name": "turn", "arm": "satellite", "until": 60.0, "samples": 61, "initial": {"q": TURNED}}
    return fa.Scenario(**given, **changes)


@pytest.mark.parametrize("name", ["satellite-pd", "satellite-lqr"])
def test_wheels_turn_a_satellite_back(name):
    result = fa.load_scenario(name).run(progress=False)
    angle = 2.0 * np.arccos(np.clip(np.abs(result.q.sel(coordinate="base.qw").values), 0.0, 1.0))
    assert angle[0] == pytest.approx(np.radians(40.0), rel=1e-9)
    assert angle[-1] < 1e-3
    assert result.attrs["angular_momentum_drift"] < 1e-10 and result.attrs["energy_drift"] < 1e-8


def test_an_attitude_is_held_while_joints_follow_a_motion():
    """An inner controller follows the reference; without one there is nothing for it to follow."""
    inner = {"type": "joint-pd", "Kp": 1.0, "Kd": 1.0}
    with pytest.raises(fa.DescriptionError, match="reference is missing; the controller 'joint-pd' needs it"):
        scenario(controller={**PD, "controller": inner})
    still = {"type": "quintic", "start": [0.0] * 3, "end": [0.0] * 3, "duration": 1.0}
    result = scenario(controller={**PD, "controller": inner}, reference=still).run(progress=False)
    assert result.attrs["status"] == "completed"


@pytest.mark.parametrize(
    ("controller", "says"),
    [
        ({**PD, "type": "attitude"}, "controller.type is 'attitude'; did you mean 'attitude-pd'"),
        ({**PD, "controller": {"type": "joint-p"}}, "controller.controller.type is 'joint-p'; did you mean 'joint-pd'"),
        ({**PD, "controller": {"type": "joint-pd", "Kp": 1.0}}, "controller.controller.Kd is missing"),
        ({"type": "lqr"}, "reference is missing; the controller 'lqr' needs it"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(controller, says):
    with pytest.raises(fa.DescriptionError) as caught:
        scenario(controller=controller)
    assert says in str(caught.value) and str(caught.value).isprintable()
