"""Run in a process of its own, in which libcuda.so.1 is the one of `data/played_driver.c`: NVIDIA's cuda-core, as it is
installed, loads our PTX and launches it, and what it launches is computed line by line."""

import ctypes
import sys

import numpy as np
import ptx as emulated

import flexarm as fa
from flexarm.native import cuda
from flexarm.simulation import gpu
from flexarm.simulation.feedback import integrand
from flexarm.simulation.gpu_states import evaluate_on_gpu
from flexarm.simulation.layout import Layout

CALLED = ctypes.CFUNCTYPE(
    None, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint, ctypes.c_uint, ctypes.POINTER(ctypes.c_void_p)
)


@CALLED
def launched(text, name, blocks, threads, arguments):
    kernel = emulated.Kernel(text.decode(), name.decode())
    words = [ctypes.c_uint64.from_address(arguments[i]).value for i in range(kernel.parameters)]
    kernel(blocks * threads, words)


def main(library):
    ctypes.CDLL(library).when_launched(launched)
    model = fa.Model(fa.load("rigid-two-link"))
    given = {
        "method": "rk4",
        "solver": fa.Solver(step=2e-3),
        "samples": 3,
        "progress": False,
        "u": 0.1 * np.eye(3)[:, :2],
    }
    expected = fa.simulate_many(model, 0.008, **given)
    for real, error in (("double", 1e-15), ("float", 1e-7)):
        found = fa.simulate_many(model, 0.008, device="gpu", real=real, **given)
        assert found.attrs["device"] == "a played driver"
        assert np.abs(found.q - expected.q).max() < error, real
        there = fa.simulate_many(model, 0.008, device="gpu", real=real, as_="dlpack", **given)["qd"]
        kind = {"double": np.float64, "float": np.float32}[real]
        assert (there.shape, there.strides, there.dtype) == ((2, 2, 3), (18, 3, 1), kind)
        memory = np.frombuffer(ctypes.string_at(there.ptr, 30 * kind().itemsize), kind)  # as far as its last number
        qd = np.lib.stride_tricks.as_strided(memory, there.shape, [kind().itemsize * each for each in there.strides])
        assert np.abs(qd - expected.qd.values[:, 1:].transpose(1, 2, 0)).max() < error * 10, real
        assert there.__dlpack_device__()[0] == 2, "CUDA's"
    q = np.random.default_rng(1).random((130, 2))  # in two blocks
    np.testing.assert_allclose(evaluate_on_gpu(model, "mass_matrix", q), model.mass_matrix(q), rtol=1e-14)
    found = cuda.device().occupancy(
        *gpu.program(integrand(model, "state_rate", 0), Layout.of(model), "double"), "double"
    )
    assert found["threads"] == 2 * 128
    print("as the processor computes them")


main(sys.argv[1])
