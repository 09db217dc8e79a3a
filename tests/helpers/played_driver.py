"""Run in a process of its own, in which libcuda.so.1 is the one of `data/played_driver.c`: NVIDIA's cuda-core, as it is
installed, loads our PTX and launches it, and what it launches is computed line by line."""

import ctypes
import sys

import numpy as np
import ptx as emulated
import pytest
from thrown_masses import MASS, thrown

import flexarm as fa
from flexarm.gymnasium import ArmVectorEnv
from flexarm.native import cuda
from flexarm.simulation import gpu, gpu_cooperative
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
    usual, gpu_cooperative.SIZES = gpu_cooperative.SIZES, ((0, 2),)
    several = fa.simulate_many(model, 0.008, device="gpu", **given)
    gpu_cooperative.SIZES = usual
    assert several.attrs["threads_per_run"] == 2
    assert np.abs(several.q - expected.q).max() < 1e-15
    q = np.random.default_rng(1).random((130, 2))  # in two blocks
    np.testing.assert_allclose(evaluate_on_gpu(model, "mass_matrix", q), model.mass_matrix(q), rtol=1e-14)
    found = cuda.device().occupancy(
        *gpu.program(integrand(model, "state_rate", 0), Layout.of(model), "double"), "double"
    )
    assert found["threads"] == 2 * 128
    environments()
    short_contact()
    print("as the processor computes them")


def environments():
    """Actions of another library that lie on the device, as they are, for environments whose arrays stay there."""
    given = {
        "task": "Track",
        "arm": "rigid-two-link",
        "method": "rk45",
        "period": 0.02,
        "duration": 0.04,
        "spread": 0.1,
        "limit": 2.0,
    }
    here, there = ArmVectorEnv(3, **given), ArmVectorEnv(3, device="gpu", as_="dlpack", **given)
    seen, _ = here.reset(seed=1)
    found, _ = there.reset(seed=1)
    np.testing.assert_allclose(read(found), seen, rtol=1e-12, atol=1e-12)
    device = cuda.device()
    for a in np.random.default_rng(2).uniform(-1, 1, (3, 3, 2)):
        flat = np.array(a.T, order="C")  # the numbers of an environment need not lie side by side
        actions = device.array(device.put(flat), flat, (3, 2), (1, 3), 0)
        expected, found = here.step(a), there.step(actions)
        for x, y in zip(expected[:4], found[:4], strict=True):
            np.testing.assert_allclose(read(y), x, rtol=1e-12, atol=1e-12)
    assert expected[0].any()
    for wrong, message in ((a, "it must be an array there with DLPack"), (actions.view(dtype=np.dtype("i8")), "int64")):
        with pytest.raises(fa.DescriptionError, match=message):
            there.step(wrong)


def short_contact():
    """A mass that turns back 12 mm beyond a stop, between two stages of a step."""
    given = {"arm": thrown("stop").arm, "method": "rk45", "period": 0.4, "limit": 9.0 * MASS, "duration": 1.6}
    here, there = ArmVectorEnv(1, **given), ArmVectorEnv(1, device="gpu", as_="dlpack", **given)
    free = ArmVectorEnv(1, **given | {"arm": thrown("nothing").arm})
    for each in (here, there, free):
        each.reset(seed=1)
    device = cuda.device()
    for a in (np.array([[0.48]]), np.array([[-1.0]])):
        found = there.step(device.array(device.put(a), a, (1, 1), (1, 1), 0))
        expected, alone = here.step(a), free.step(a)
        np.testing.assert_allclose(read(found[0]), expected[0], rtol=0, atol=1e-6)
    assert abs(expected[0] - alone[0]).max() > 0.1


def read(there):
    """The numbers of an array on the played device, whose memory is this process's."""
    kind, apart = there.dtype, [each * there.dtype.itemsize for each in there.strides or (1,)]
    size = sum((n - 1) * each for n, each in zip(there.shape, apart, strict=True)) + kind.itemsize
    memory = np.frombuffer(ctypes.string_at(there.ptr, size), np.uint8)
    return np.ndarray(there.shape, kind, memory, 0, apart)


main(sys.argv[1])
