"""Studies: many runs of a scenario, or of a function, for values of parameters, on this machine or on a cluster."""

from flexarm.studies.designs import Grid, LatinHypercube, Random, Sensitivity, Sobol, WorstCase
from flexarm.studies.distributions import Choice, LogNormal, Normal, Uniform
from flexarm.studies.entry import study

__all__ = [
    "Choice",
    "Grid",
    "LatinHypercube",
    "LogNormal",
    "Normal",
    "Random",
    "Sensitivity",
    "Sobol",
    "Uniform",
    "WorstCase",
    "study",
]
