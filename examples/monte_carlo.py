"""Monte Carlo: how far an arm's numbers and a controller's gain may be off before a slew gets worse than wanted."""

import numpy as np

import flexarm as fa
from flexarm.plots import save_figure
from flexarm.studies.figure import draw
from flexarm.studies.result import save

scenario = fa.Scenario(
    name="slew",
    arm="subudhi-morris-elastic",
    until=2.5,
    samples=251,
    reference={"type": "quintic", "start": [0.0, 0.0], "end": [0.8, 0.5], "duration": 1.5},
    controller={"type": "composite", "Kp": [5.0, 5.0], "Kd": [2.0, 2.0], "period": 0.001},
)
parameters = {
    "payload.mass": {"type": "uniform", "low": "-30 %", "high": "30 %"},
    "*.EI": {"type": "normal", "deviation": "5 %"},
    "*.stiffness": {"type": "lognormal", "deviation": "10 %"},
    "controller.Kd.0": [1.5, 2.0, 2.5],
}


def main():
    result = fa.study(scenario, parameters, "latin-hypercube", runs=16, seed=1, folder="slews", executor=1)
    print(f"{result.sizes['run']} runs of {', '.join(result.attrs['parameters'])}")
    ended = result.status == "completed"
    residual = 1e3 * result.residual.values[ended]
    print(f"residual vibration: {np.median(residual):.1f} mm in half of the runs, {residual.max():.1f} mm at most")
    worst = result.isel(run=int(np.nanargmax(result.residual.values)))
    print("the worst:", ", ".join(f"{name} {float(worst[name]):.3g}" for name in result.attrs["parameters"]))

    # everything lies there already: nothing is computed again
    again = fa.study(scenario, parameters, "latin-hypercube", runs=16, seed=1, folder="slews", executor=1)
    assert again.attrs["runs_found"] == 16 and (again.residual.values[ended] == result.residual.values[ended]).all()

    # any function of samples will do in place of a scenario
    share = fa.study(frequencies, {"payload.mass": parameters["payload.mass"] | {"low": 0.05, "high": 0.2}}, executor=1)
    print(f"first frequency: {share['first'].values.min():.1f} to {share['first'].values.max():.1f} rad/s")
    print("written:", save(result, "slews.nc"), save_figure(draw(result), "slews.png"))


def frequencies(samples):
    """The lowest frequency of the arm at rest for each payload."""
    model = fa.Model(fa.load("subudhi-morris-elastic"), vary=["payload.mass"])
    q = np.zeros(len(model.coordinates))
    return {"first": [model.at([mass]).frequencies(q)[0] for mass in samples["payload.mass"]]}


if __name__ == "__main__":  # where the runs go to other processes (executor=None), these read this file again
    main()
