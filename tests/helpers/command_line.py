"""The command `flexarm` in this process."""

import sys
from dataclasses import dataclass

import pytest

from flexarm import cli


@dataclass(frozen=True)
class Said:
    """What a command has left: its status, and what it printed."""

    status: int
    out: str
    err: str


def caller(monkeypatch, capsys):
    """A function that calls it."""

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["flexarm", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return Said(ended.value.code or 0, *capsys.readouterr())

    return call
