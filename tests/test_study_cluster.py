"""Studies on a real Dask cluster of this machine: workers and clients killed, nothing lost, nothing computed twice."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import programs
import pytest
from distributed import Client
from study_tasks import allow, log, sick, squared, until

import flexarm as fa
from flexarm.studies.result import load, save

ROOT = Path(__file__).parents[1]
X = {"x": {"type": "uniform", "low": 0.0, "high": 1.0}}

CLIENT = """
import sys, warnings
from study_tasks import steered
import flexarm as fa
from flexarm.studies.result import save
if __name__ == "__main__":
    where, folder, out = sys.argv[1:]
    where = int(where) if where.isdigit() else where
    X = {"x": {"type": "uniform", "low": 0.0, "high": 1.0}}
    save(fa.study(steered, X, "random", runs=40, seed=3, chunk=4, executor=where, folder=folder), out)
"""


def environment(folder):
    paths = [str(ROOT / "src"), str(ROOT / "tests" / "helpers")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "STUDY_TEST": str(folder), "OMP_NUM_THREADS": "1"}


class Processes:
    """Processes of a test, all of which end with it."""

    def __init__(self, folder):
        self.folder, self.started, self.forked = folder, [], []

    def start(self, *arguments):
        name = self.folder / f"output-{len(self.started)}"
        with open(name, "wb") as output:
            process = subprocess.Popen(
                [sys.executable, *map(str, arguments)],
                env=environment(self.folder),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        process.output = name
        self.started.append(process)
        return process

    def fork(self, *arguments):
        """`python -m ARGUMENTS` without the seconds of its imports."""
        place = self.folder / f"fork-{len(self.forked)}"
        place.mkdir()
        process = programs.begun("-m", *arguments, folder=self.folder, place=place, **environment(self.folder))
        self.forked.append(process)
        return process

    def client(self, where, out):
        program = self.folder / "client.py"
        program.write_text(CLIENT)
        return self.start(program, where, self.folder / "kept", out)

    def end(self):
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(60)
        for process in self.forked:
            process.kill()
            process.join(60)


@pytest.fixture
def processes(tmp_path):
    found = Processes(tmp_path)
    yield found
    found.end()


@pytest.fixture
def cluster(processes, monkeypatch):
    """A scheduler, and a function that starts a worker; ports are whichever are free."""
    monkeypatch.setenv("STUDY_TEST", str(processes.folder))
    file = processes.folder / "scheduler.json"
    command = ["dask", "scheduler", "--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0"]
    scheduler = processes.fork(*command, "--scheduler-file", file)
    until(lambda: file.exists() and file.read_text().endswith("}"), "the scheduler")
    address = json.loads(file.read_text())["address"]

    def worker():
        command = ["dask", "worker", address, "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny"]
        return processes.fork(*command, "--no-dashboard", "--local-directory", processes.folder)

    return address, scheduler, worker


def chunks(folder):
    """Files of the chunks that are done."""
    return {path.name: path.read_bytes() for path in (folder / "kept").glob("*.nc")}


def here(folder, monkeypatch):
    """The same study in this process alone."""
    from study_tasks import steered

    other = folder / "here"
    other.mkdir()
    allow(other, 10)
    monkeypatch.setenv("STUDY_TEST", str(other))
    return fa.study(steered, X, "random", runs=40, seed=3, chunk=4, executor=1)


def killed_and_started_again(where, processes, kill_a_worker):
    """A study from which a worker, then the client is killed; then again to its end. Returns its result."""
    folder = processes.folder
    allow(folder, 3)
    first = processes.client(where, folder / "first.nc")
    until(lambda: len(chunks(folder)) == 3 or first.poll() is not None, "the first chunks")
    until(lambda: len(log(folder)) >= 2 * 3 + 2, "both workers at their next chunk")
    kill_a_worker(first)
    allow(folder, 5)
    until(lambda: len(chunks(folder)) >= 4 or first.poll() is not None, "a chunk after a worker's death")
    assert first.poll() is None, first.output.read_text()
    first.kill()
    first.wait()
    done = chunks(folder)
    assert 4 <= len(done) < 10

    allow(folder, 1000)
    second = processes.client(where, folder / "second.nc")
    assert second.wait(300) == 0, second.output.read_text()
    after = chunks(folder)
    assert len(after) == 10
    assert {name: after[name] for name in done} == done  # not written again
    result = load(folder / "second.nc")
    assert result.attrs["runs_found"] == 4 * len(done)
    kept = {fa.studies.result.netcdf.read(folder / "kept" / name)["square"].values[0] for name in done}
    ends = [float(x) ** 2 for what, _, x in log(folder) if what == "end"]
    # Computed once, whoever was killed; but Dask computes once more what the dead worker held and the client had not
    # yet let go of.
    assert sorted(ends.count(square) for square in kept) in ([1] * len(kept), [1] * (len(kept) - 1) + [2])
    return result


def assert_same(found, expected):
    assert (found.status == "completed").all()
    for name in ("x", "square", "sine"):
        np.testing.assert_array_equal(found[name].values, expected[name].values)


def test_a_worker_and_then_the_client_are_killed(cluster, processes, monkeypatch):
    address, _, worker = cluster
    workers = [worker(), worker()]

    def kill(_):
        workers[0].kill()

    result = killed_and_started_again(address, processes, kill)
    assert workers[1].is_alive()
    assert_same(result, here(processes.folder, monkeypatch))


def test_a_process_of_the_pool_and_then_the_client_are_killed(processes, monkeypatch):
    def kill(client):
        pid = int(log(processes.folder)[-1][1])
        assert pid != client.pid
        os.kill(pid, signal.SIGKILL)

    result = killed_and_started_again(2, processes, kill)
    assert_same(result, here(processes.folder, monkeypatch))
    workers = {int(pid) for _, pid, _ in log(processes.folder)}
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers), "the end of the killed client's processes")


def test_a_chunk_that_fails_is_tried_on_another_worker_then_reported(cluster, processes):
    address, _, worker = cluster
    _ = worker(), worker()
    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)  # with one alone a chunk has no other place
    x = np.linspace(0.0, 1.0, 8)
    result = fa.study(sick, {"x": x}, "grid", chunk=2, executor=address, folder=processes.folder / "kept")
    tries = {}
    for _, who, value in log(processes.folder):
        tries.setdefault(value, []).append(who)
    assert len(tries) == 4 and all(len(who) == 2 and who[0] != who[1] for who in tries.values())
    assert result.attrs["runs_lost"] == 2 and result.attrs["runs_failed"] == 2
    assert result.run_lost.values.tolist() == [False] * 6 + [True] * 2
    np.testing.assert_array_equal(result["value"].values[:6], x[:6] ** 2)
    assert np.isnan(result["value"].values[6:]).all()
    assert result.status.values[6:].tolist() == ["ArithmeticError: no root here"] * 2
    np.testing.assert_array_equal(result.x.values, x)
    save(result, processes.folder / "result.nc")
    assert load(processes.folder / "result.nc").attrs["parameters"] == ["x"]


def test_a_scheduler_that_dies_is_one_line_and_nothing_is_lost(cluster, processes):
    address, scheduler, worker = cluster
    worker()
    folder = processes.folder
    allow(folder, 3)
    first = processes.client(address, folder / "first.nc")
    until(lambda: len(chunks(folder)) == 3 or first.poll() is not None, "the first chunks")
    os.kill(scheduler.pid, signal.SIGKILL)
    assert first.wait(300) == 1
    lines = first.output.read_text().splitlines()
    assert lines[-1].startswith("flexarm.errors.SimulationError: study: the scheduler has ended")
    assert f"12 of 40 runs are in {folder / 'kept'}; start again to continue" in lines[-1]


def test_no_scheduler(processes, monkeypatch):
    monkeypatch.setattr("flexarm.studies.cluster.PATIENCE", 1.0)
    with pytest.raises(fa.DescriptionError, match=r"study: no Dask scheduler answers at 'tcp://127\.0\.0\.1:1'"):
        fa.study(squared, X, executor="tcp://127.0.0.1:1")
    with pytest.raises(fa.DescriptionError, match='give its address, or "local"'):
        fa.study(squared, X, executor="somewhere")


def test_a_local_cluster_by_one_word(capsys):
    result = fa.study(squared, X, runs=12, chunk=3, executor="local")
    np.testing.assert_array_equal(result["value"].values, result.x.values**2)
    # Dask may add lines of its own
    ours = [line for line in capsys.readouterr().err.splitlines() if line.startswith("flexarm: ")]
    assert len(ours) == 1, ours
    assert ours[0].startswith("flexarm: Dask at tcp://127.0.0.1:") and "; dashboard http://127.0.0.1:" in ours[0]
