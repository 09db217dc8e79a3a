"""The four papers that define the ground flexarm covers, reproduced: what each says, and what comes out here."""

from flexarm.papers.verdicts import PAPERS, Paper, papers

__all__ = ["PAPERS", "Paper", "papers"]
