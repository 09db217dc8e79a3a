"""A public set of problems, in words and numbers, with converged trajectories against which files are scored."""

from flexarm.problems.described import Problem, names, problem
from flexarm.problems.exported import export
from flexarm.problems.scored import Score, score
from flexarm.problems.scoring import Column

__all__ = ["Column", "Problem", "Score", "export", "names", "problem", "score"]
