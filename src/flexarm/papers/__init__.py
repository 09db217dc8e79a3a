"""The four papers, reproduced: a module each, whose `reproduce(folder)` draws the figures and checks the claims."""

from flexarm.papers.claims import Claim, Paper, markdown, papers, table

__all__ = ["Claim", "Paper", "markdown", "papers", "table"]
