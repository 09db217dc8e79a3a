"""Exported controllers in real time against their simulated arms; no assertion depends on the speed of the machine."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

import numpy as np
import pytest
from boards import SAFE, Compiled
from browser import until
from command_line import caller
from compiled import CC, STRICT

import flexarm as fa
from flexarm.control import DesignedFor, JointPD, Observed, Sampled
from flexarm.errors import DescriptionError, FlexarmError
from flexarm.estimation import EKF
from flexarm.exports.controller import programs
from flexarm.exports.controller.library import board
from flexarm.exports.fmu import build
from flexarm.hardware import realtime, transports
from flexarm.hardware.watch import Watched

pytestmark = pytest.mark.skipif(CC is None, reason="no C compiler")
T = 0.01
SLEW = fa.Quintic(start=[0.1, 0.0], end=[0.5, -0.3], duration=0.2)
PD = Sampled(JointPD(SLEW, Kp=[9.0, 7.0], Kd=[3.0, 2.0]), T)


@pytest.fixture(scope="module")
def model():
    return fa.Model(fa.load("rigid-two-link"))


@pytest.mark.parametrize("transport", ["udp", "shared"])
def test_the_outputs_are_those_of_the_controller_for_the_readings_of_the_arm(model, tmp_path, transport):
    """Up to the first sample that the machine was too busy for; usually all of them."""
    found = fa.run_in_real_time(PD, model, until=0.25, misses=5, transport=transport)
    result, y = found.result, np.hstack([found.result.q.values, found.result.qd.values])
    good = np.cumprod((result.status.values == 0) & np.isfinite(result.latency.values)).astype(bool)
    compiled = Compiled(board(PD, model, misses=5), tmp_path)
    expected = np.array([compiled.step(row, k * T)[0] for k, row in enumerate(y)])
    np.testing.assert_allclose(result.u.values[good], expected[good], rtol=1e-12, atol=1e-14)
    assert found.samples == 25 and found.missed == np.isnan(result.latency.values).sum()
    assert found.safe == ((result.status.values & SAFE) > 0).sum()
    assert y[0].tolist() == [0.1, 0.0, 0.0, 0.0]  # on the reference
    if good.all():
        run = fa.simulate(model, until=0.24, u=PD, samples=25, progress=False)
        np.testing.assert_allclose(result.q.values, run.q.values, rtol=0, atol=1e-6)


def test_a_controller_that_ends_misses_all_deadlines(model, monkeypatch):
    """The arm keeps its inputs, zero at the start, and falls as it does alone."""
    monkeypatch.setattr(programs, "MAIN", programs.MAIN.replace("idle < $idle", "idle < 0"))
    found = fa.run_in_real_time(PD, model, until=0.1, q0=[0.3, 0.2], qd0=[1.0, 0.5])
    assert (found.missed, found.safe, found.samples) == (10, 0, 10)
    assert "missed deadlines: 10 (100 %); no outputs arrived" in repr(found)
    run = fa.simulate(model, until=0.09, q0=[0.3, 0.2], qd0=[1.0, 0.5], samples=10, progress=False)
    np.testing.assert_allclose(found.result.q.values, run.q.values, rtol=0, atol=1e-6)
    assert found.report()["latency_median"] is None


def test_a_program_of_the_arm_that_is_late_counts_as_an_overrun_and_not_as_a_miss(model, monkeypatch):
    """The clock of the run waits, and the controller's watchdog sees the gap."""

    class Slow:
        def __init__(self, *given, **more):
            self._plant, self._steps = fa.Stepper(*given, **more), 0

        state = property(lambda self: self._plant.state)
        reset = property(lambda self: self._plant.reset)

        def step(self, u):
            self._steps += 1
            if self._steps == 5:
                time.sleep(20 * T)
            return self._plant.step(u)

    monkeypatch.setattr(realtime, "Stepper", Slow)
    found = fa.run_in_real_time(PD, model, until=0.1, misses=0)
    assert found.overruns >= 1 and found.slipped >= 18 * T and found.safe >= 1
    assert found.result.late.values.max() >= 18 * T


def test_a_program_that_does_not_start_or_compile_is_an_error(model, monkeypatch):
    text = programs.MAIN
    monkeypatch.setattr(programs, "MAIN", text.replace("if (count != 2)", "if (count == 2)"))
    with pytest.raises(FlexarmError, match=r"did not start: it ended with status 2; a program of your own"):
        fa.run_in_real_time(PD, model, until=0.1)
    monkeypatch.setattr(programs, "MAIN", text.replace("return 0;", "return nothing;"))
    with pytest.raises(FlexarmError, match=r"^run_in_real_time: .*cc failed: .*nothing"):
        fa.run_in_real_time(PD, model, until=0.1)


def test_what_is_missing_is_an_error_before_anything_runs(model, monkeypatch):
    for given, message in (
        ((PD, model), "until is missing; give the end of the run in seconds"),
        ((PD,), "model is missing; give the Model of the arm, which a Sampled does not have"),
    ):
        with pytest.raises(DescriptionError, match=f"^run_in_real_time: {message}$"):
            fa.run_in_real_time(*given)
    for given, said in (
        ({"q0": [0.1]}, r"q0 has shape \(1,\); it must have 2 numbers: .*"),
        ({"qd0": np.zeros((2, 2))}, r"qd0 has shape \(2, 2\); it must have 2 numbers: .*"),
        ({"q0": "x"}, "q0 is not an array of numbers"),
    ):
        with pytest.raises(DescriptionError, match=f"^run_in_real_time: {said}$"):
            fa.run_in_real_time(PD, model, until=0.1, **given)
    with pytest.raises(DescriptionError, match=r"until is -1.0 s; it must be positive"):
        fa.run_in_real_time(PD, model, until=-1.0)
    with pytest.raises(DescriptionError, match=r"^run_in_real_time: until is 1e\+09 s, .* at most 10000000$"):
        fa.run_in_real_time(PD, model, until=1e9)
    with pytest.raises(DescriptionError, match=r"^run_in_real_time: misses is -1; it must be a whole number"):
        fa.run_in_real_time(PD, model, until=0.1, misses=-1)
    monkeypatch.setattr(build, "COMPILERS", ("no-such-cc",))
    with pytest.raises(DescriptionError, match="no C compiler is installed; install no-such-cc"):
        fa.run_in_real_time(PD, model, until=0.1)


def test_the_command_runs_a_scenario(monkeypatch, capsys):
    call = caller(monkeypatch, capsys)
    said = call("realtime", "subudhi-morris-elastic-shaped", "--until", "0.05").out
    assert said.startswith("50 samples every 1 ms in real time\nmissed deadlines: ")
    found = json.loads(call("realtime", "satellite-pd", "--until", "0.1", "--period", "0.02", "--json").out)
    assert found["samples"] == 5 and 0 <= found["missed"] <= 5
    assert {*found["units"]} == {"period", "latency_median", "latency_largest", "late_largest", "slipped"}
    ended = call("realtime", "satellite-pd", "--until", "0.1")
    assert ended.status == 2 and "the controller is continuous; give a sampling period" in ended.err


# -- shared memory


@pytest.fixture(scope="module")
def bridge(model, tmp_path_factory):
    """The functions that read and write shared memory, and the folder with their header."""
    folder = tmp_path_factory.mktemp("bridge")
    return realtime._bridge(board(PD, model), folder, CC), folder


WRITER = """#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "NAME_shared.h"
int main(int count, char **words)
{
    uint64_t block[BIG_SHARED_NU + 2];
    const int file = open(words[count - 1], O_RDWR);
    uint64_t *const memory = mmap(NULL, 8 * BIG_WORDS, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if ((memory == MAP_FAILED) || (memory[0] != BIG_MAGIC)) {
        return 1;
    }
    for (uint64_t k = 0u; memory[BIG_READINGS + 1] != BIG_STOP; k++) {
        for (int i = 0; i < (BIG_SHARED_NU + 2); i++) {
            block[i] = k;
        }
        NAME_publish(&memory[BIG_OUTPUTS], block, BIG_SHARED_NU + 2);
    }
    return 0;
}
"""


def client(folder, text, name):
    """A small program in C that knows the memory from the generated header alone."""
    text = text.replace("NAME", name).replace("BIG", name.upper())
    (folder / "client.c").write_text(text)
    done = subprocess.run([CC, *STRICT, "-O2", "client.c", "-o", "client"], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "client"


def test_values_of_two_samples_are_never_read_together(model, bridge, tmp_path):
    """Another process writes blocks of equal words as fast as it can."""
    functions, folder = bridge
    found = board(PD, model)
    memory = transports.SharedMemory(found, functions, tmp_path)
    _, outputs, _ = programs.offsets(found)
    writer = subprocess.Popen([client(folder, WRITER, found.name), memory.address])
    got, seen, last = np.zeros(2 + len(model.inputs), dtype=np.uint64), 0, programs.NOTHING
    where, block = transports.address(got), transports.address(memory._words, outputs)
    for _ in range(100_000):
        if not functions.flexarm_await(block, where, len(got), last, 5.0):
            break
        assert len(set(got.tolist())) == 1
        seen, last = seen + 1, int(got[0])
    memory.stop()
    assert writer.wait(20.0) == 0
    assert seen > 1000


def test_a_reader_waits_for_an_odd_sequence_and_gives_up_on_a_writer_that_stays_there(model, bridge, tmp_path):
    functions, _ = bridge
    memory = transports.SharedMemory(board(PD, model), functions, tmp_path)
    _, outputs, _ = programs.offsets(board(PD, model))
    memory._words[outputs + 1] = 7
    memory._words[outputs] = 3
    assert memory.answer(7, 0.0) is None  # the time is over
    memory._words[outputs] = 4
    u, status = memory.answer(7, 1e18)
    assert u.tolist() == [0.0, 0.0] and status == 0


def test_the_exported_program_runs_in_place_of_the_compiled_one(model, tmp_path):
    """It compiles with every warning an error, and knows memory of another controller by its size."""
    fa.export_controller(PD, tmp_path, model, targets=["shared"], misses=1000)
    name = board(PD, model).name
    command = [CC, *STRICT, "-O1", f"{name}.c", f"{name}_shared.c", "-o", "own", "-lm"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    found = fa.run_in_real_time(PD, model, until=0.2, transport="shared", program=tmp_path / "own")
    assert found.samples == 20 and found.invalid == 0
    compiled = Compiled(board(PD, model, misses=1000), tmp_path / "again")
    good = np.cumprod((found.result.status.values == 0) & np.isfinite(found.result.latency.values)).astype(bool)
    y = np.hstack([found.result.q.values, found.result.qd.values])
    expected = np.array([compiled.step(row, k * T)[0] for k, row in enumerate(y)])
    np.testing.assert_allclose(found.result.u.values[good], expected[good], rtol=1e-12, atol=1e-14)
    other = tmp_path / "other"
    other.write_bytes(bytes(8))
    assert subprocess.run([tmp_path / "own", other]).returncode == 1


# -- programs that misbehave


PEER = """#!{python}
import socket, struct, sys, time
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
line.connect(("127.0.0.1", int(sys.argv[1])))
answer = struct.Struct("=QddQ")
def send(k, a, b, status): line.send(answer.pack(k, a, b, status))
{hello}
while True:
    k = struct.unpack("=Q", line.recv(4096)[:8])[0]
    if k == 2**64 - 2:
        break
    {then}
"""
HELLO = "send(2**64 - 1, 0, 0, 0)"


def peer(tmp_path, then, hello=HELLO):
    path = tmp_path / "peer"
    path.write_text(PEER.format(python=sys.executable, hello=hello, then=then))
    path.chmod(0o755)
    return path


def test_an_accelerometer_before_a_filter_reads_the_acceleration_of_the_arm(model, tmp_path, monkeypatch):
    """The filter assumes an arm with another payload."""
    felt = [fa.Encoder(coordinate=name, resolution=1e-5) for name in model.coordinates]
    felt += [fa.Accelerometer(link=model.arm.links[0].name, resolution=1e-4)]
    nominal = fa.Model(model.arm.replace(payload=fa.Payload(mass=0.3)))
    law = DesignedFor(Observed(JointPD(SLEW, 9.0, 3.0), felt, estimator=EKF()), nominal)
    seen, send = [], transports.Udp.send
    monkeypatch.setattr(transports.Udp, "send", lambda line, k, y: seen.append(y) or send(line, k, y))
    found = fa.run_in_real_time(Sampled(law, T), model, until=0.05, program=peer(tmp_path, "send(k, 0.7, -0.4, 0)"))
    q, qd, u = (found.result[name].values for name in ("q", "qd", "u"))
    before = np.vstack([np.zeros(2), u[:-1]])
    expected = [fa.outputs(model, felt).values(*row) for row in zip(q, qd, before, strict=True)]
    assert np.array(seen[: len(u)]) == pytest.approx(np.array(expected), abs=6e-5)
    assert np.abs(np.array(expected)[:, 2:]).max() > 0.1


@pytest.mark.parametrize(
    ("then", "invalid"),
    [
        ("pass", 0),  # silent
        ("send(k - 1 if k else 0, 9.0, 9.0, 0) if k else None", 0),  # late by a sample
        ("line.send(b'garbage')", 1),
        ("line.send(b'')", 1),
        ("send(k, float('nan'), 0.0, 0)", 1),
        ("send(k, float('inf'), 0.0, 0)", 1),
        ("send(k, 0.0, 0.0, 2**63)", 1),  # an unknown status
        ("send(k + 5, 9.0, 9.0, 0)", 1),  # a sample that has not been
    ],
)
def test_answers_that_are_none_leave_the_arm_with_its_inputs(model, tmp_path, then, invalid):
    found = fa.run_in_real_time(PD, model, until=0.05, program=peer(tmp_path, then))
    assert (found.missed, found.samples) == (5, 5)
    assert found.result.u.values.tolist() == [[0.0, 0.0]] * 5
    assert (found.invalid > 0) == bool(invalid) and ("invalid answers" in repr(found)) == bool(invalid)


def test_programs_that_cannot_be_used_are_one_line(model, tmp_path, monkeypatch):
    def message(program, kind=FlexarmError):
        with pytest.raises(kind) as caught:
            fa.run_in_real_time(PD, model, until=0.1, program=program)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    plain = tmp_path / "plain"
    plain.write_text("no program")
    assert "which is not a file" in message(tmp_path / "nothing", DescriptionError)
    assert "which is not executable" in message(plain, DescriptionError)
    assert "program is of type int" in message(3, DescriptionError)
    plain.chmod(0o755)
    assert "cannot be started: Exec format error" in message(plain)
    monkeypatch.setattr(realtime, "PATIENCE", 0.3)
    assert "it sent no message within 0.3 s; " in message(peer(tmp_path, "pass", "line.send(b'x')"))
    with pytest.raises(DescriptionError, match="transport is 'tcp'; it must be udp or shared"):
        fa.run_in_real_time(PD, model, until=0.1, transport="tcp")
    with pytest.raises(DescriptionError, match="watch is 1; it must be a bool"):
        fa.run_in_real_time(PD, model, until=0.1, watch=1)


def test_ctrl_c_leaves_no_process_and_no_file(tmp_path):
    start = "from pathlib import Path; from flexarm.hardware import transports; transports.MEMORY = Path('nowhere'); "
    start += "from flexarm.cli import main; main()"
    command = [sys.executable, "-c", start, "realtime", "subudhi-morris-elastic-shaped", "--until", "500"]
    more = ["--transport", "shared", "--watch"]
    child = subprocess.Popen(
        [*command, *more], stderr=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": str(tmp_path)}
    )
    url = child.stderr.readline().split()[1]
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert child.returncode != 0 and "Traceback" not in said
    assert [*tmp_path.iterdir()] == []
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url, timeout=5)


# -- plots in a browser


def read(url, path, host=None):
    request = urllib.request.Request(url + path, headers={"Host": host} if host else {})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.read()


def watched(model, bridge, tmp_path, count, monkeypatch):
    functions, folder = bridge
    monkeypatch.setattr("flexarm.hardware.watch.has_windows", lambda: False)
    (tmp_path / "bridge.so").write_bytes((folder / "bridge.so").read_bytes())
    return Watched(board(PD, model), count, 4 + 2 + 3, tmp_path, functions)


def test_the_server_sends_the_rows_that_are_finished(model, bridge, tmp_path, monkeypatch, capfd):
    with watched(model, bridge, tmp_path, 1200, monkeypatch) as page:
        page.rows[:] = np.arange(1200 * 9).reshape(1200, 9)
        page.rows[:, 6], page.rows[:, 7], page.rows[:, 8] = 1e-4, 0.0, 0
        page.rows[1, 6], page.rows[2, 7], page.rows[0, 8] = np.nan, 2 * T, 17
        assert json.loads(read(page.url, "rows?from=0"))["rows"] == []
        page.published(3)
        found = json.loads(read(page.url, "rows?from=1"))
        assert found["rows"] == [
            [k, *row] for k, row in ((1, [*range(9, 15), None, 0, 0]), (2, [*range(18, 24), 1e-4, 2 * T, 0]))
        ]
        assert [found[x] for x in ("count", "finished", "missed", "overruns", "safe")] == [3, False, 1, 1, 1]
        page.published(1200)
        assert [row[0] for row in json.loads(read(page.url, "rows?from=3"))["rows"]] == [*range(3, 1200, 3)]
        for wrong, host in (
            ("rows?from=-1", None),
            ("rows?from=x", None),
            ("../layout.json", None),
            ("", "evil.example"),
        ):
            with pytest.raises(urllib.error.HTTPError, match=r"40[34]"):
                read(page.url, wrong, host)
        url = page.url
        assert f"plots: {url}" in capfd.readouterr().err
    with pytest.raises(urllib.error.URLError):
        read(url, "")


def test_the_page_draws_each_value_in_its_plot(model, bridge, tmp_path, monkeypatch, browser):
    """Columns of rows: two coordinates, two rates, two inputs, latency, lateness, status."""
    with watched(model, bridge, tmp_path, 3, monkeypatch) as page:
        page.rows[:] = [[1, 2, 3, 4, 5, 6, 7e-5, 8e-5, 0]] * 3
        page.published(2)
        tab = browser.new_page()
        errors = []
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.goto(page.url)
        until(tab, "page.counts.count === 2")
        drawn = tab.evaluate("flexarm.page.strips.map((x) => [x.time, ...x.values])")
        page.published(3)
        until(tab, "page.counts.count === 3")
    until(tab, "page.state === 'finished' || page.state === 'ended early'")
    tab.close()
    expected = [[1, 2], [5, 6], [70], [80]]
    for (times, *values), numbers in zip(drawn, expected, strict=True):
        assert times == [0, T]
        np.testing.assert_allclose(values, [[x, x] for x in numbers], rtol=1e-12)
    assert errors == []
