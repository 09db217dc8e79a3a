"""A damaged result is refused in one line, soon, and harms nobody; whatever its bytes are."""

import hashlib
import io
import os
import subprocess
import sys
import warnings

import h5py
import numpy as np
import pytest
import xarray as xr
from children import in_fork
from damage import damaged, hostile, zeroed

import flexarm as fa
from flexarm import child_process
from flexarm.plots import draw
from flexarm.simulation import netcdf, rewrite
from flexarm.simulation.results import lacking

CASES = int(os.environ.get("FLEXARM_ATTACKS", "300"))
"""Damaged copies; `FLEXARM_ATTACKS=10000 FLEXARM_SEED=7 make test` attacks longer, and elsewhere."""

SEED = int(os.environ.get("FLEXARM_SEED", "0"))


@pytest.fixture(scope="module")
def result():
    model = fa.Model(fa.load("subudhi-morris"))
    reference = fa.Cycloidal([0.1, 0.2], [1, 1])
    return fa.simulate(model, 0.05, u=[0.1, -0.2], reference=reference, samples=6, name="a run", progress=False)


@pytest.fixture(scope="module")
def content(result, tmp_path_factory):
    return fa.save_result(result, tmp_path_factory.mktemp("whole") / "run.nc").read_bytes()


@pytest.fixture(scope="module")
def unsealed(content):
    return content[: -netcdf.SEALED]


def refused(path, what="cannot be read as a result: "):
    with pytest.raises(fa.DescriptionError) as caught:
        fa.load_result(path)
    line = str(caught.value)
    assert line.startswith(f"{path}: {what}") and line.isprintable()
    return line.removeprefix(f"{path}: {what}")


# -- with its digest ---------------------------------------------------------------------------------------------------


def test_any_change_is_noticed(content, tmp_path):
    """Before the digest, or in it: no number comes out that was not written."""
    path = tmp_path / "run.nc"
    rng = np.random.default_rng([SEED, 1])
    body, seal = content[: -netcdf.SEALED], content[-netcdf.SEALED :]
    copies = [*zeroed(body), *(damaged(body, rng) for _ in range(CASES))]
    changed = [copy for copy in copies if copy != body]  # zeros may be there already
    assert len(changed) > 0.9 * len(copies)
    for copy in changed:
        path.write_bytes(copy + seal)
        assert refused(path) == "the file is damaged: its content does not match its checksum"
    for at in range(len(netcdf.SEAL), len(seal) - netcdf.DIGEST):
        path.write_bytes(body + seal[:at] + bytes([seal[at] ^ 1]) + seal[at + 1 :])
        refused(path)


def external(kind, secret, content):
    """A whole result whose note comes from another file, with a digest that fits."""

    def change(f):
        if kind == "storage":
            del f["q"]
            f.create_dataset("q", shape=(6, 6), dtype="f8", external=[(str(secret), 0, 288)])
        elif kind == "link":
            f["note"] = h5py.ExternalLink(str(secret), "/")
        else:
            layout = h5py.VirtualLayout(shape=(6,), dtype="f8")
            layout[:] = h5py.VirtualSource(str(secret), "time", shape=(6,))
            f.create_group("deep").create_virtual_dataset("view", layout)

    file = io.BytesIO(content)
    with h5py.File(file, "a") as f:
        change(f)
    body = file.getvalue()
    return body, netcdf.SEAL + hashlib.sha256(body).digest()


@pytest.mark.usefixtures("forked_readers")
@pytest.mark.parametrize("kind", ["storage", "link", "view"])
def test_bytes_of_other_files_do_not_reach_a_result(kind, unsealed, tmp_path, monkeypatch):
    """Whoever makes the file can make a digest that fits, but no signature: that takes this user's secret."""
    (tmp_path / "secret").write_bytes(b"secret! " * 36)
    path = tmp_path / "run.nc"
    body, seal = external(kind, tmp_path / "secret", unsealed)
    for signature in (b"", bytes(netcdf.DIGEST), b"\1" * netcdf.DIGEST):
        path.write_bytes(body + seal + signature)
        assert "another file; a result file must contain its numbers itself" in refused(path)


def test_a_result_of_another_user_is_read_with_care(content, result, tmp_path, monkeypatch):
    """The same bytes, and another secret: the digest is still checked."""
    path = tmp_path / "run.nc"
    path.write_bytes(content)
    used = []
    monkeypatch.setattr(netcdf, "_rewritten", lambda path, way=netcdf._rewritten: used.append(path) or way(path))
    xr.testing.assert_identical(fa.load_result(path), result)
    assert not used
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path / "other"))
    xr.testing.assert_identical(fa.load_result(path), result)
    assert used == [str(path)]
    path.write_bytes(content[:2000] + b"?" + content[2001:])
    assert "does not match its checksum" in refused(path)
    assert used == [str(path)]


def test_results_are_written_where_there_is_no_place_for_a_secret(result, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path / "file" / "cache"))
    path = fa.save_result(result, tmp_path / "run.nc")
    assert path.read_bytes().endswith(bytes(netcdf.DIGEST))
    xr.testing.assert_identical(fa.load_result(path), result)


def test_a_file_with_its_signature_is_read_without_another_process(content, tmp_path, monkeypatch):
    monkeypatch.setattr(subprocess, "run", None)
    (tmp_path / "run.nc").write_bytes(content)
    fa.load_result(tmp_path / "run.nc")


@pytest.mark.usefixtures("forked_readers")
def test_another_program_may_change_a_result(content, result, tmp_path):
    """HDF5 cuts the digest off where it opens a file for writing, whatever it then does."""
    path = tmp_path / "run.nc"

    def opened(change):
        path.write_bytes(content)
        with h5py.File(path, "a") as file:
            change(file)
        assert netcdf.SEAL not in path.read_bytes()
        return fa.load_result(path)

    xr.testing.assert_identical(opened(lambda file: None), result)
    assert opened(lambda file: file["q"].__setitem__((0, 0), 7.0)).q[0, 0] == 7
    assert opened(lambda file: file.attrs.__setitem__("note", "mine")).attrs["note"] == "mine"
    path.write_bytes(content)
    xr.Dataset({"extra": ("time", result.time.values)}).to_netcdf(path, mode="a", engine="h5netcdf")
    np.testing.assert_array_equal(fa.load_result(path).extra, result.time)


@pytest.mark.usefixtures("forked_readers")
def test_a_result_compressed_by_another_program(result, tmp_path):
    encoding = {name: {"zlib": True, "complevel": 9} for name in ("q", "qd", "deflection")}
    result.to_netcdf(tmp_path / "run.nc", engine="h5netcdf", encoding=encoding)
    xr.testing.assert_identical(fa.load_result(tmp_path / "run.nc"), result)


@pytest.mark.usefixtures("forked_readers")
def test_a_digest_that_is_not_all_there_does_not_matter(content, result, tmp_path):
    (tmp_path / "run.nc").write_bytes(content[:-20])
    xr.testing.assert_identical(fa.load_result(tmp_path / "run.nc"), result)


# -- without it --------------------------------------------------------------------------------------------------------


def test_without_a_digest_reading_ends_and_gives_a_result_or_a_reason(unsealed, tmp_path):
    """What comes out of the process that reads is whole. Damage of a number itself cannot be seen there."""
    path = tmp_path / "run.nc"
    rng = np.random.default_rng([SEED, 2])
    statuses = []
    for _ in range(CASES // 2):
        path.write_bytes(damaged(unsealed, rng))
        status, said = in_fork(rewrite.__file__, str(path), patience=60, seconds=1)
        statuses.append(status)
        if status == 0:
            (tmp_path / "out.nc").write_bytes(said)
            usable(tmp_path / "out.nc")
    assert {*statuses} >= {0, rewrite.REFUSED}
    assert all(status < 0 for status in {*statuses} - {0, rewrite.REFUSED}), "ended by the system"


def usable(path):
    """A rewritten file is a result that can be drawn, or refused; xarray finds attributes that it cannot interpret."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with xr.open_dataset(path, engine="h5netcdf", decode_times=False) as found:
                found.load()
        except Exception:
            return
        if not lacking(found):
            draw(found)


@pytest.mark.parametrize("block", [0, 4, -1])
def test_zeroed_blocks_without_a_digest(unsealed, block, tmp_path, forked_readers):
    """The way that users go. Block 4 sent HDF5 in circles when this was written."""
    forked_readers(seconds=1)
    (tmp_path / "run.nc").write_bytes([*zeroed(unsealed)][block])
    refused(tmp_path / "run.nc")


@pytest.mark.usefixtures("forked_readers")
def test_hostile_files(unsealed, result, tmp_path):
    """HDF5 takes them for whole. Strange things beside a result do no harm; what lies about its size is refused."""
    path = tmp_path / "run.nc"
    said = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for name, content in hostile(unsealed):
            path.write_bytes(content)
            try:
                fa.load_result(path)
                said[name] = ""
            except fa.DescriptionError as error:
                said[name] = str(error)
                assert said[name].startswith(f"{path}: ") and said[name].isprintable()
    for name in ("a variable never written", "a variable without chunks"):
        assert "the file declares" in said[name]
    assert said["a long attribute"] == ""
    for name in (
        "a link to a device",
        "a variable in a device",
        "a variable of another file",
        "a variable of this file",
    ):
        assert "another file; a result file must contain its numbers itself" in said[name]


# -- what the process that reads may take ------------------------------------------------------------------------------


def ran(code, *arguments):
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=100)


def test_limits_end_a_process_that_goes_astray():
    begin = f"import sys; sys.path.insert(0, {os.path.dirname(rewrite.__file__)!r})\n"
    begin += "import rewrite; rewrite.SECONDS = 1; rewrite.limit(1000)\n"
    assert ran(begin + "while True: pass").returncode == child_process.TOO_LONG
    assert "MemoryError" in ran(begin + "bytearray(3 << 30)").stderr
    assert ran(begin + "bytearray(1 << 28)").returncode == 0


def test_limits_that_are_lower_already_stay():
    code = """
import resource
from flexarm.simulation import rewrite
resource.setrlimit(resource.RLIMIT_CPU, (2, 3))
rewrite.limit(10**9)
assert resource.getrlimit(resource.RLIMIT_CPU) == (2, 3)
"""
    assert ran(code).returncode == 0


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGXCPU)", "the file is damaged: reading it does not end"),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
            "the file is damaged: reading it ends with status -11",
        ),
        ("print('why\x1b[2J\\nnot'); raise SystemExit(3)", r"why\x1b[2J not"),
        ("import time; time.sleep(60)", "reading takes too long"),
        ("print('no file')", "is not the signature of a valid netCDF4 file"),
    ],
)
def test_whatever_becomes_of_the_process_that_reads(script, said, unsealed, tmp_path, monkeypatch):
    (tmp_path / "run.nc").write_bytes(unsealed)
    (tmp_path / "script.py").write_text(script)
    monkeypatch.setattr(rewrite, "__file__", str(tmp_path / "script.py"))
    monkeypatch.setattr(netcdf, "PATIENCE", 3)
    assert said in refused(tmp_path / "run.nc")


def test_too_much_memory_is_a_reason(tmp_path, monkeypatch, capfdbinary):
    def much(*_):
        raise MemoryError

    (tmp_path / "run.nc").write_bytes(b"")
    monkeypatch.setattr(rewrite, "rewritten", much)
    monkeypatch.setattr(rewrite, "limit", lambda size: None)
    with open(1, "w", closefd=False) as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert rewrite.main(str(tmp_path / "run.nc")) == rewrite.REFUSED
    assert capfdbinary.readouterr().out == b"it takes too much memory"


def test_where_python_cannot_be_started(unsealed, tmp_path, monkeypatch):
    (tmp_path / "run.nc").write_bytes(unsealed)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert "No such file" in refused(tmp_path / "run.nc")


def test_the_process_that_reads_imports_little():
    script = f"import runpy, sys; runpy.run_path({rewrite.__file__!r}); import h5netcdf; print(*sys.modules)"
    loaded = ran(script).stdout.split()
    assert "h5netcdf" in loaded and not {"xarray", "pandas", "casadi", "flexarm", "scipy"} & {*loaded}


# -- whole, but no result ----------------------------------------------------------------------------------------------


CHANGES = {
    "it has no variable qd": lambda r: r.drop_vars("qd"),
    "it has no variable coordinate": lambda r: r.drop_vars("coordinate"),
    "it has no variable joint": lambda r: r.drop_vars("joint"),
    "q must have the dimensions time, coordinate": lambda r: r.assign(q=r.q.T),
    "u must contain numbers": lambda r: r.assign(u=r.u.astype(str)),
    "role must contain texts": lambda r: r.assign_coords(role=("coordinate", range(6))),
    "it has no attribute arm that is a text": lambda r: r.assign_attrs(arm=1.0),
    "it has no attribute energy_drift that is a number": lambda r: r.assign_attrs(energy_drift="little"),
    "its times must increase": lambda r: r.isel(time=[0, 2, 1]),
    "axis must be x, y, z": lambda r: r.isel(axis=[0, 1]),
    "angle must be slope_y, slope_z, torsion": lambda r: r.isel(angle=[0, 2, 1]),
    "the owner of a coordinate is not among its links": lambda r: r.assign_coords(link=["upper", "four"]),
    "two coordinates have the same name": lambda r: r.isel(coordinate=[0, 0, 1, 2, 3, 4]),
    "the joints of q_ref are not those of q": lambda r: r.isel(joint=[1, 0]),
}
CHANGES["its times must increase "] = lambda r: r.isel(time=[])
CHANGES["it has no attribute status that is a text"] = lambda r: r.drop_attrs().assign_attrs(
    {name: x for name, x in r.attrs.items() if name != "status"}
)


@pytest.mark.usefixtures("forked_readers")
@pytest.mark.parametrize("said", CHANGES)
def test_what_is_no_result_is_refused_by_what_it_lacks(said, result, tmp_path):
    """When it is saved, and when another program wrote it."""
    changed = CHANGES[said](result)
    with pytest.raises(fa.DescriptionError) as caught:
        fa.save_result(changed, tmp_path / "run.nc")
    said = said.strip()
    assert str(caught.value) == f"{tmp_path / 'run.nc'}: the object to write is not a result of flexarm: {said}"
    changed.to_netcdf(tmp_path / "run.nc", engine="h5netcdf")
    assert refused(tmp_path / "run.nc", "a NetCDF file, but not a result of flexarm: ") == said


@pytest.mark.parametrize("thing", [None, {}, "run.nc"])
def test_what_is_no_dataset_is_not_saved(thing, tmp_path):
    with pytest.raises(TypeError, match=r"a result is an xarray\.Dataset; this is "):
        fa.save_result(thing, tmp_path / "run.nc")
    assert os.listdir(tmp_path) == []
