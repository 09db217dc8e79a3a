"""An optimal motion as its search has it: without the times that are given between those of its grid."""

from types import SimpleNamespace


def on_its_grid(motion):
    """The same attributes; multipliers of the inputs are those of whole intervals."""
    N = motion.report["intervals"]
    part = (len(motion.times) - 1) // N
    rows = {name: getattr(motion, name)[::part] for name in ("times", "q", "qd", "u")}
    on_inputs = rows["u"] * 0.0
    on_inputs[:-1] = motion.on_inputs[:-1].reshape(N, part, -1).sum(axis=1)
    on_inputs[-1] = motion.on_inputs[-1]
    on_limits = {name: each[::part] for name, each in motion.on_limits.items()}
    same = {name: getattr(motion, name) for name in ("duration", "report", "linear", "torques")}
    return SimpleNamespace(**rows, on_inputs=on_inputs, on_limits=on_limits, **same)
