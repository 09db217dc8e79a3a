"""Reproductions of the four papers that set flexarm's scope, with the verdict on each of their claims.

`published` compares single numbers of other sources.
"""

from flexarm_papers.verdicts import PAPERS, Paper, papers

__all__ = ["PAPERS", "Paper", "papers"]
