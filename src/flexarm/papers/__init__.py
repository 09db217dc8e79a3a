"""The four papers, reproduced: one module each, with a function `reproduce(folder)` that draws its figures and checks its claims."""

from flexarm.papers.claims import Claim, Paper, papers

__all__ = ["Claim", "Paper", "papers"]
