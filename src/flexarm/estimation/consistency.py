"""Checks of a filter's own statistics: innovations and errors against their chi-square bounds."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import Fault, checked_instance, checked_number, refused
from flexarm.errors import DescriptionError

if TYPE_CHECKING:
    from xarray import Dataset

NEEDED = ("nis", "innovation", "innovation_deviation")
"""Variables of an estimate that the check needs."""


def consistency(estimates: "Dataset | Sequence[Dataset]", probability: float = 0.95) -> "Dataset":
    """Compare the innovations and errors of one estimate or of several runs with what the filter expects of them.

    For a consistent filter the normalized squares of the innovation (NIS) and of the error (NEES) have chi-square
    distributions, and innovations are white. (Bar-Shalom, Li & Kirubarajan, Estimation with Applications to Tracking
    and Navigation, 2001, section 5.4.2.)

    Parameters
    ----------
    estimates : xarray.Dataset or list of them
        Results of `estimate` with equal times and signals, such as runs with different noise.
    probability : float
        Probability of the bounds for a consistent filter, between 0 and 1.

    Returns
    -------
    xarray.Dataset
        `nis` (time), the mean over the runs, with its bounds in the attribute `bounds`, the share of times within them
        in `inside`, the mean over all times in `mean`, and the bounds of this mean in `mean_bounds`. `nees` (time)
        likewise, if the runs have it, but without bounds of the mean, because errors at different times are correlated.
        `correlation` (signal): correlation of each innovation with the next one, with `bounds`.
    """
    import xarray as xr
    from scipy.stats import chi2, norm
    from xarray import Dataset

    runs: list[Any] = list(estimates) if isinstance(estimates, list | tuple) else [estimates]
    if not runs:
        raise DescriptionError("consistency: estimates is empty; it must be a result of estimate, or a list of them")
    with refused("consistency"):
        probability = checked_number(probability, "", part="probability")
        if not 0.0 < probability < 1.0:
            raise Fault("probability", f"is {probability:g}; it must be between 0 and 1")
        for each in runs:
            if missing := [name for name in NEEDED if name not in checked_instance(each, Dataset, "estimates")]:
                raise Fault("estimates", f"has no {missing[0]!r}; it must be a result of estimate, or a list of them")
    if any(each.innovation.shape != runs[0].innovation.shape for each in runs):
        raise DescriptionError("consistency: estimates have different numbers of times or signals; they must be equal")
    count, (times, signals) = len(runs), runs[0].innovation.shape
    tails = np.array([(1 - probability) / 2, (1 + probability) / 2])

    def square(name: str, freedom: int) -> tuple[str, Array, dict]:
        mean = np.mean([each[name].values for each in runs], axis=0)
        low, high = (chi2.ppf(tails, count * freedom) / count).tolist()
        inside = float(np.mean((mean >= low) & (mean <= high)))
        return "time", mean, {"bounds": [low, high], "inside": inside, "mean": float(mean.mean()), "states": freedom}

    nis = square("nis", signals)
    nis[2]["mean_bounds"] = (chi2.ppf(tails, count * times * signals) / (count * times)).tolist()
    variables: dict = {"nis": nis}
    if all("nees" in each for each in runs):
        variables["nees"] = square("nees", runs[0].nees.attrs["states"])
    scaled = np.array([each.innovation.values / each.innovation_deviation.values for each in runs])
    with np.errstate(all="ignore"):  # NaN of innovations that are all zero
        pairs = (scaled[:, 1:] * scaled[:, :-1]).sum(axis=(0, 1)) / np.square(scaled).sum(axis=(0, 1))
    far = norm.ppf(tails) / np.sqrt(count * times)
    variables["correlation"] = ("signal", pairs, {"bounds": far.tolist()})
    return xr.Dataset(variables, coords={"time": runs[0].time, "signal": runs[0].signal})
