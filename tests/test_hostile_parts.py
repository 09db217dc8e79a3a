"""Finite element files that are made to harm: wrong indices, arrays that unpack to gigabytes, damaged bytes."""

import os
import re
import zlib

import numpy as np
import pytest
from part_files import matrices, solid_part
from scipy import sparse
from scipy.io import savemat

import flexarm as fa
from flexarm import child_process
from flexarm.description import finite_file, mat_process

SEED = int(os.environ.get("FLEXARM_SEED", "0"))
PART = solid_part(0.4, 0.03, 0.02, E=2e9, nu=0.35, density=1100.0, cells=(2, 1, 1), element="ElementHex2")
M, K, *_ = matrices(PART)
REST = {key: PART[key] for key in ("nodes", "dofs", "root", "tip")}


def said(path):
    """The one line of a refusal."""
    with pytest.raises(fa.DescriptionError) as caught:
        fa.FiniteElement(file=path)
    line = str(caught.value)
    assert line.isprintable()
    return line


def stored(path, K):
    savemat(path, {"M": sparse.csc_array(M), "K": K} | REST)
    return path


def sparse_copy():
    return sparse.csc_array(K).copy()


def wrong(change):
    """K with its structure changed after SciPy has checked it."""
    A = sparse_copy()
    change(A)
    return A


def test_one_wrong_index_is_refused(tmp_path):
    """A row index of 500 000 000 ended the process with SIGSEGV; SciPy's reader itself crashes on others."""

    def far(A):
        A.indices[7] = 500_000_000

    def before(A):
        A.indices[7] = -3

    assert "K is not a valid sparse matrix: it has the row index 500000000" in said(
        stored(tmp_path / "far.mat", wrong(far))
    )
    assert "K is not a valid sparse matrix: it has the row index -3" in said(
        stored(tmp_path / "before.mat", wrong(before))
    )

    def backwards(A):
        A.indptr[3] = A.indptr[4] + 1
        A.has_sorted_indices = True

    assert re.search(
        "K is not a valid sparse matrix|ends with status", said(stored(tmp_path / "start.mat", wrong(backwards)))
    )


@pytest.mark.parametrize(
    ("part", "change", "words"),
    [
        (
            "indices",
            lambda x: np.where(np.arange(len(x)) == 5, 5e8, x),
            "K is not a valid sparse matrix: it has the row index",
        ),
        ("indices", lambda x: np.where(np.arange(len(x)) == 5, 1e300, x), "has a number of size 1e+300"),
        ("indices", lambda x: x + 0.5, "its indices must be whole numbers"),
        ("indices", lambda x: x[:-4], "its indptr does not divide its indices into columns"),
        ("indptr", lambda x: x[::-1].copy(), "its indptr does not divide its indices into columns"),
        ("data", lambda x: x[:-4], "numbers for"),
    ],
)
def test_three_arrays_that_are_no_matrix_are_refused(part, change, words, tmp_path):
    A = sparse_copy()
    arrays = {f"K_{name}": getattr(A, name) for name in ("data", "indices", "indptr")}
    arrays[f"K_{part}"] = change(arrays[f"K_{part}"])
    np.savez(tmp_path / "part.npz", M=M, **REST, **arrays)
    assert words in said(tmp_path / "part.npz")


def with_zeros(first, count):
    """Compressed bytes that end with zeros: one block again and again, as compressing gigabytes takes long."""
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(bytes(100_000)) + packer.flush(zlib.Z_FULL_FLUSH)
    repeats, rest = divmod(count, 100_000)
    opened = zlib.compressobj(9, wbits=-15)
    begin = opened.compress(first + bytes(rest)) + opened.flush(zlib.Z_FULL_FLUSH)
    check = zlib.adler32(first + bytes(rest))
    low, high = check & 0xFFFF, check >> 16
    high = (high + repeats * 100_000 * low) % 65521
    return b"".join([b"\x78\xda", begin, *[block] * repeats, b"\x03\x00", (high << 16 | low).to_bytes(4, "big")])


def test_a_small_file_that_unpacks_to_gigabytes_is_refused(tmp_path):
    """An array of 4.2 GB of zeros in 4 MB: a MAT file is a header of 128 bytes and compressed variables."""
    savemat(tmp_path / "small.mat", {"K": np.zeros((2, 2))})
    header = (tmp_path / "small.mat").read_bytes()[:128]
    side = 23_000
    tags = np.array([14, 56 + 8 * side**2, 6, 8, 6, 0, 5, 8, side, side, 1 | 1 << 16, ord("K"), 9, 8 * side**2], "<u4")
    packed = with_zeros(tags.tobytes(), 8 * side**2)
    assert zlib.decompress(with_zeros(b"abc", 1_000_000)) == b"abc" + bytes(1_000_000)
    path = tmp_path / "large.mat"
    path.write_bytes(header + np.array([15, len(packed)], "<u4").tobytes() + packed)
    assert path.stat().st_size < 5e6
    assert re.search("is not a readable MATLAB file: it (takes more memory|is larger) than 2048 MiB", said(path))


def test_an_array_of_too_many_numbers_is_refused_before_it_is_copied(tmp_path, monkeypatch):
    """Bytes become numbers of eight bytes."""
    monkeypatch.setattr(finite_file, "MOST_UNPACKED", 800_000)
    np.savez_compressed(tmp_path / "bytes.npz", K=np.zeros((400, 400), np.int8))
    assert "K has 160000 numbers; at most 100000 are allowed" in said(tmp_path / "bytes.npz")


def test_damaged_files_become_a_part_or_one_line(tmp_path):
    """Bytes changed anywhere, compressed or not; the process that reads may crash, this one does not."""
    rng = np.random.default_rng([SEED, 31])
    outcomes = set()
    for compressed in (False, True):
        savemat(
            tmp_path / "whole.mat",
            {"M": sparse.csc_array(M), "K": sparse.csc_array(K)} | REST,
            do_compression=compressed,
        )
        whole = (tmp_path / "whole.mat").read_bytes()
        for _ in range(8):
            raw = bytearray(whole)
            for at in rng.integers(0, len(raw), 3):
                raw[at] ^= 1 << int(rng.integers(8))
            (tmp_path / "part.mat").write_bytes(raw)
            try:
                fa.FiniteElement(file=tmp_path / "part.mat")
                outcomes.add("part")
            except fa.DescriptionError as error:
                outcomes.add("line" if str(error).isprintable() else str(error))
    assert {"line"} <= outcomes <= {"part", "line"}


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import os; os.kill(os.getpid(), 11)", "it may be damaged, because its reader ends with status -11"),
        (
            f"import os; os.kill(os.getpid(), {-child_process.TOO_LONG})",
            "it may be damaged, because its reader does not finish",
        ),
        ("import time; time.sleep(60)", "it may be damaged, because its reader does not finish"),
        ("print('why\\x1b[2J'); raise SystemExit(3)", r"is not a readable MATLAB file: why"),
        ("print('no arrays')", "is not an NPZ file of arrays of numbers"),
    ],
)
def test_whatever_becomes_of_the_process_that_reads(program, words, tmp_path, monkeypatch):
    (tmp_path / "program.py").write_text(program)
    monkeypatch.setattr(mat_process, "__file__", str(tmp_path / "program.py"))
    monkeypatch.setattr(child_process, "PATIENCE", 2)
    assert words in said(stored(tmp_path / "part.mat", sparse.csc_array(K)))


def test_names_of_variables_do_not_collide(tmp_path):
    """Names that the answer of the reading process uses for itself."""
    savemat(tmp_path / "part.mat", {"file": 1.0, "arr_0": 2.0, "allow_pickle": 1.0, "K": K})
    assert "has the unknown key" in said(tmp_path / "part.mat")
