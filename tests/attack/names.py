"""Links with odd names, which look like patterns or differ in their punctuation alone, wherever names are taken."""

import numpy as np

import flexarm as fa
from flexarm import control

from .arms import finite
from .judge import Found

LETTERS = "ab1[]*?!-_+(){}$%&/\\'\"<>:;,~^|é٣µ"
ODD = (
    "a[1]",
    "a1",
    "a*",
    "a?",
    "[a]",
    "a[",
    "]",
    "**",
    "a-b",
    "a_b",
    "a+b",
    "1",
    "_1",
    "é",
    "e",
    "<a>",
    "base",
    "payload",
)


def case(rng, folder, note):
    names = [
        rng.choice(ODD) if rng.random() < 0.6 else "".join(rng.choices(LETTERS, k=rng.randint(1, 4))) for _ in "123"
    ]
    note(f"links {names}")
    joint = fa.Revolute(axis=(0.0, 0.0, 1.0), damping=0.1)
    links = [fa.Link(name=name, joint=joint, body=fa.Rigid(length=1.0, mass=1.0 + i)) for i, name in enumerate(names)]
    arm = fa.Arm(name="odd", links=links)
    chosen = rng.randrange(3)
    name = f"{names[chosen]}.mass"
    model = fa.Model(arm, vary=[name])
    if [x.name for x in model.varied] != [name]:
        raise Found("wrong", "a name stands for other numbers")
    q, qd, u = np.array([0.1, -0.2, 0.3]), np.ones(3), np.zeros(3)
    heavy = [link.model_copy(update={"body": fa.Rigid(length=1.0, mass=7.0)}) for link in links]
    other = fa.Model(fa.Arm(name="odd", links=[*links[:chosen], heavy[chosen], *links[chosen + 1 :]]))
    found, wanted = model.at({name: 7.0}).mass_matrix(q), other.mass_matrix(q)
    if np.abs(found - wanted).max() > 1e-12 * np.abs(wanted).max():
        raise Found("wrong", "another link has become heavier")
    linear = model.linearize(q, qd, u)
    for labels in (linear.state_labels, linear.input_labels, linear.output_labels):
        if len({*labels}) != len(labels):
            raise Found("wrong", "two signals have one name")
    what = rng.choice(("run", "fmu", "modelica", "c", "mjcf", "simulink", "equations", "pd", "studies", "toml"))
    note(what)
    USES[what](arm, model, folder, name)
    return what


def _run(arm, model, folder, name):
    path = fa.save_result(fa.simulate(model, 0.01, samples=3, progress=False), folder / "run.nc")
    fa.load_result(path)


def _pd(arm, model, folder, name):
    law = control.JointPD([0.1] * 3, Kp=1.0, Kd=0.1)
    fa.simulate(model, 0.01, u=law, samples=3, progress=False)


def _studies(arm, model, folder, name):
    found = fa.study(
        lambda p: {"m": p[name]},
        {name: fa.studies.Uniform(low=1.0, high=2.0)},
        "random",
        runs=2,
        seed=1,
        progress=False,
    )
    finite("a study", found["m"].values)


USES = {
    "run": _run,
    "fmu": lambda arm, model, folder, name: fa.export_fmu(model, folder / "x.fmu", binary=False),
    "modelica": lambda arm, model, folder, name: fa.export_modelica(model, folder / "Odd.mo"),
    "c": lambda arm, model, folder, name: fa.export_c(model, folder / "c"),
    "mjcf": lambda arm, model, folder, name: fa.export_mjcf(arm, folder / "x.xml"),
    "simulink": lambda arm, model, folder, name: fa.export_simulink(model, folder / "sim"),
    "equations": lambda arm, model, folder, name: fa.equations(arm).latex(),
    "pd": _pd,
    "studies": _studies,
    "toml": lambda arm, model, folder, name: fa.Arm.from_json(arm.canonical()),
}
