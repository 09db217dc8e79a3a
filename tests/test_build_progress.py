"""What is seen of a long build, and Ctrl-C in one."""

import io
import os
import signal
import threading
import time
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

import flexarm as fa
from flexarm import progress
from flexarm.native import kernel as native
from flexarm.native import llvm, sincos

ARM = fa.Arm(
    name="one",
    links=[fa.Link(name="a", joint=fa.Revolute(axis=(0, 0, 1)), body=fa.Beam(length=1.0, mass=1.0, EI=10.0))],
)


class Terminal(io.StringIO):
    """A stderr that is a terminal, and may be gone."""

    gone = False

    def isatty(self):
        return True

    def write(self, text):
        if self.gone:
            raise OSError("gone")
        return super().write(text)

    @property
    def lines(self):
        """What has stood in the line, one after the other."""
        return [text.strip() for text in self.getvalue().split("\r") if text]


@pytest.fixture
def terminal(monkeypatch):
    found = Terminal()
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=found))  # pytest puts back its own in sys itself
    return found


def until(found):
    """Wait until it is so; against hangs no longer than half a minute."""
    deadline = time.monotonic() + 30
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_line_says_what_goes_on_and_goes_away(terminal):
    with progress.said("tracing"):
        until(lambda: "flexarm: tracing ..." in terminal.lines)
        with progress.said("compiling energy"):
            until(lambda: "flexarm: compiling energy ..." in terminal.lines)
        until(lambda: terminal.lines[-1] == "flexarm: tracing ...")
    assert terminal.lines[-1] == ""
    assert "\n" not in terminal.getvalue()
    assert "flexarm:  ..." not in terminal.lines


def test_what_is_done_at_once_says_nothing(terminal, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 30.0)
    with progress.said("tracing"), progress.said("compiling"):
        pass
    assert terminal.getvalue() == ""


def test_without_a_terminal_nothing_is_said(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    for stream in (io.StringIO(), None):
        monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
        before = threading.active_count()
        with progress.said("tracing"):
            assert threading.active_count() == before
        assert stream is None or stream.getvalue() == ""


def test_another_thread_says_nothing(terminal):
    def work():
        with progress.said("tracing"):
            time.sleep(0.3)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert terminal.getvalue() == ""


def test_the_line_goes_away_with_an_error_too(terminal):
    def interrupted():
        with progress.said("tracing"):
            until(lambda: terminal.lines)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert terminal.lines[-1] == ""
    with progress.said("again"):
        until(lambda: terminal.lines[-1] == "flexarm: again ...")


def test_a_terminal_that_has_gone_stops_nothing(terminal):
    terminal.gone = True
    with progress.said("tracing"):
        time.sleep(0.3)
    assert terminal.getvalue() == ""


def test_names_are_not_obeyed_by_the_terminal(terminal):
    with progress.said("tracing \x1b[2Jname\n"):
        until(lambda: terminal.lines)
    assert terminal.lines[0] == "flexarm: tracing ?[2Jname? ..."
    assert "\x1b" not in terminal.getvalue()


def test_a_long_text_stays_in_one_line(terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    with progress.said("x" * 200):
        until(lambda: terminal.lines)
    assert max(map(len, terminal.getvalue().split("\r"))) == 39


def test_a_build_says_which_quantity_is_traced_and_compiled(monkeypatch, tmp_path):
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path))
    heard = []
    said = progress.said
    monkeypatch.setattr(progress, "said", lambda what: heard.append(what) or said(what))
    model = fa.Model(ARM)
    q = np.zeros(len(model.coordinates))
    model.energy(q, q)
    assert heard == ["tracing", "tracing energy", "compiling energy"]
    model.energy(q, q)
    fa.Model(ARM).energy(q, q)
    assert len(heard) == 3  # what is known, or kept on disk, is not built


def long_program():
    q = ca.SX.sym("q", 6)
    terms = [q[i] for i in range(6)]
    for k in range(60):
        terms.append(ca.sin(terms[k]) * terms[-1] + terms[k // 2])
    return ca.Function("f", [q], [ca.vertcat(*terms[-6:])])


@pytest.fixture
def split(monkeypatch, tmp_path):
    """Programs are written in many small modules, and nothing is kept."""
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path))
    monkeypatch.setattr(llvm, "PIECE", 20)
    monkeypatch.setattr(llvm, "SHARE", 5000)
    return tmp_path


def right(kernel):
    rows = np.random.default_rng(3).uniform(-1, 1, (5, 6))
    expected = np.array([np.array(long_program()(row)).ravel() for row in rows])
    np.testing.assert_allclose([kernel.one(row) for row in rows], expected, rtol=1e-12)
    np.testing.assert_allclose(kernel.many(rows), expected, rtol=1e-12)


def test_modules_change_nothing(split, monkeypatch):
    texts, compile_ = [], native._compile
    monkeypatch.setattr(native, "_compile", lambda ir, effort: texts.append(ir) or compile_(ir, effort))
    right(native.Kernel("modules", long_program))
    assert len(texts) == 2
    assert all(text.count(sincos.BORDER) >= 2 for text in texts)
    right(native.Kernel("modules", None))  # from disk
    assert len(texts) == 2


def test_ctrl_c_between_two_modules_ends_the_build_and_the_next_call_builds_again(split, monkeypatch):
    class Machine:
        emitted = 0

        def __init__(self, effort):
            pass

        def emit_object(self, module):
            Machine.emitted += 1
            os.kill(os.getpid(), signal.SIGINT)
            return machine.emit_object(module)

    machine, found = native.target_machine(), native.target_machine
    kernel = native.Kernel("stopped", long_program)
    monkeypatch.setattr(native, "target_machine", Machine)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored where tests run unattended
    try:
        with pytest.raises(KeyboardInterrupt):
            kernel.one(np.zeros(6))
    finally:
        signal.signal(signal.SIGINT, before)
    assert Machine.emitted == 1
    assert not list(split.iterdir())
    monkeypatch.setattr(native, "target_machine", found)
    right(kernel)
