"""The arms of the two measured rigs, and a motor and a load on a spring by a formula of their own."""

import numpy as np

import flexarm as fa

NUMBERS = {
    "load.rotor_inertia": 4.9e-3,
    "load.inertia": 4.7e-3,
    "load.stiffness": 550.0,
    "load.damping": 0.1,
    "load.spring_damping": 0.02,
}


def two_inertias(numbers=NUMBERS):
    """A motor and a load on an elastic shaft, the axis vertical."""
    joint = fa.Revolute(
        rotor_inertia=numbers["load.rotor_inertia"],
        stiffness=numbers["load.stiffness"],
        damping=numbers["load.damping"],
        spring_damping=numbers["load.spring_damping"],
    )
    body = fa.Rigid(length=0.1, mass=1.0, com=(0, 0, 0), inertia=numbers["load.inertia"])
    return fa.Arm(name="two inertias", gravity=(0, 0, 0), links=[fa.Link(name="load", joint=joint, body=body)])


def by_hand(frequency, numbers=NUMBERS):
    """Motor's and load's angle by the torque (f, 2, 1): J_m s^2 x = u - c (x - y), J_l s^2 y + d s y = c (x - y)."""
    s = 2j * np.pi * np.asarray(frequency)
    c = numbers["load.stiffness"] + numbers["load.spring_damping"] * s
    motor = numbers["load.rotor_inertia"] * s**2 + c
    load = numbers["load.inertia"] * s**2 + numbers["load.damping"] * s + c
    return np.stack([load, c], axis=-1)[..., None] / (motor * load - c**2)[..., None, None]


ENCODERS = [fa.Encoder(coordinate="load.motor", name="motor"), fa.Encoder(coordinate="load.joint", name="load")]


def multisine(lines, period, periods, rate, seed=0, amplitude=1.0):
    """Random phases, (T,), and its times."""
    phase = 2 * np.pi * np.random.default_rng(seed).random(len(lines))
    t = np.arange(round(period * periods * rate)) / rate
    return t, amplitude * np.cos(2 * np.pi * np.outer(t, lines) / period + phase).sum(axis=1)


def through(u, response, rate, periods):
    """The periodic answer (T, p) of a system with the response (lines of the FFT, p) to whole periods of u."""
    n = len(u) // periods
    one = np.fft.irfft(np.fft.rfft(u[:n])[:, None] * response, n, axis=0)
    return np.tile(one, (periods, 1))
