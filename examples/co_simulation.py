"""An arm and its law under a master that is not ours: libcosim, from one file of SSP, beside `simulate`.

Needs libcosimpy (pip install libcosimpy). libcosim steps all FMUs first and carries values over afterwards, so the law
is given what was measured a sample ago; the same law in Python says so.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from libcosimpy.CosimExecution import CosimExecution
from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
from libcosimpy.CosimObserver import CosimObserver

import flexarm as fa
from flexarm.control import JointPD, Sampled

PERIOD, SAMPLES = 1e-3, 500
goal, Kp, Kd = np.array([0.4, -0.3]), 20.0, 5.0
model = fa.Model(fa.load("subudhi-morris"))
joints = list(model.arm.joints)
law = Sampled(JointPD(goal, Kp=Kp, Kd=Kd), PERIOD, limit=10.0)
start = {"q0": np.zeros(model.nq), "qd0": np.zeros(model.nv)}

with TemporaryDirectory() as folder:
    file = fa.export_ssp(law, model, Path(folder, "loop.ssp"), tolerance=1e-10, **start)
    log_output_level(CosimLogLevel.ERROR)
    execution = CosimExecution.from_ssp_file(str(file), step_size=round(1e9 * PERIOD))  # its times are nanoseconds
    last = CosimObserver.create_last_value()
    execution.add_observer(last)
    arm = {each.name: each.index for each in execution.slave_infos()}[b"arm"]
    reference = {each.name.decode(): each.reference for each in execution.slave_variables(arm)}
    wanted = [reference[name] for name in ("upper_joint", "fore_joint")]
    theirs = []
    for _ in range(SAMPLES):
        execution.step()
        theirs.append(last.last_real_values(arm, wanted))

read = []


def late(t, q, qd):
    """What was measured a sample ago; at the first one what is measured now."""
    read.append((q[joints], qd[joints]))
    angles, rates = read[max(len(read) - 2, 0)]
    return np.clip(Kp * (goal - angles) - Kd * rates, -10.0, 10.0)


ours = fa.simulate(
    model, SAMPLES * PERIOD, Sampled(late, PERIOD), **start, samples=SAMPLES + 1, method="dop853", rtol=1e-11
)
angles = ours.q.values[:, joints]
apart = np.abs(np.array(theirs) - angles[1:]).max()
print(f"{SAMPLES} samples of libcosim: the joints turn by {np.ptp(angles, axis=0).max():.3f} rad")
print(f"beside simulate: {'the same to 1e-8 rad' if apart < 1e-8 else f'{apart:.1e} rad apart'}")
