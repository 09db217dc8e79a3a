"""Messages of the package in Python's log."""

import logging

import numpy as np
import pytest

import flexarm as fa
from flexarm import progress
from flexarm.studies.bar import Bar

RUN = {"u": [0.1, 0.0], "samples": 5, "progress": False}


@pytest.fixture
def lines(caplog):
    """Messages of the log so far, with all levels switched on."""
    caplog.set_level(logging.DEBUG, logger="flexarm")
    return lambda: [(each.levelname, each.getMessage()) for each in caplog.records if each.name == "flexarm"]


def test_the_package_is_silent_and_has_a_handler_that_does_nothing(capfd):
    assert any(isinstance(each, logging.NullHandler) for each in logging.getLogger("flexarm").handlers)
    with progress.said("tracing"):
        progress.LOG.warning("a warning")
    assert capfd.readouterr() == ("", "")


def test_long_work_is_in_the_log_with_its_time_also_if_it_fails(lines):
    with pytest.raises(KeyError), progress.said("tracing %s of 100 % of them"):
        raise KeyError
    ((level, text),) = lines()
    assert level == "INFO" and text.startswith("tracing %s of 100 % of them took ") and text.endswith(" s")


def test_each_run_is_in_the_log(lines):
    run = fa.simulate("rigid-two-link", 0.1, name="line\nbreak", **RUN)
    fa.simulate_many("rigid-two-link", 0.1, runs=3, **RUN)
    one, many = [text for level, text in lines() if level == "DEBUG"]
    effort = f"{run.steps} steps, {run.evaluations} evaluations, {run.solve_seconds:.3g} s"
    assert one == f"simulate: line break, 0.1 s, {run.method}: {effort}, completed"
    assert many.startswith("simulate_many: rigid-two-link, runs 0 to 2, 0.1 s: ")


def test_a_run_without_a_log_makes_no_message(caplog):
    fa.simulate("rigid-two-link", 0.1, **RUN)
    assert not caplog.records


def test_a_study_counts_its_runs_in_the_log(lines):
    arm = fa.Model(fa.load("rigid-two-link"))
    keep = {"until": 0.1, "u": [0.1, 0.0], "samples": 5, "keep": ["largest_input"]}
    fa.study(arm, {"upper.mass": np.linspace(1.0, 2.0, 4)}, "grid", chunk=2, executor=1, progress=False, **keep)
    counts = [text for level, text in lines() if level == "INFO" and "finished" in text]
    assert counts == [f"rigid-two-link: {n} of 4 runs are finished" for n in (2, 4)]


@pytest.mark.parametrize("logged", [False, True])
def test_a_line_beside_a_bar_goes_to_the_log_or_to_the_terminal(logged, caplog, capsys):
    caplog.set_level(logging.INFO if logged else logging.WARNING, logger="flexarm")
    Bar(3, "study", wanted=True).say("Dask at\nan address")
    Bar(3, "study", wanted=False).say("quiet")
    texts = [each.getMessage() for each in caplog.records]
    assert texts == (["Dask at an address", "quiet"] if logged else [])
    assert capsys.readouterr().err == ("" if logged else "flexarm: Dask at an address\n")
