"""Kernels of Numba, served by k2k.serve(), and tensors in device memory.

Runs where libk2k.so has the CUDA backend and a driver shows a device: on the emulated driver by
`./dev check --only emulated-cuda`, or on a GPU.
"""

import ctypes
import errno
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import k2k
from k2k import _cuda
from k2k_tests.fixture import Raw, environment, need_library, write

need_library()
cuda: Any = pytest.importorskip("numba.cuda")
if not cuda.is_available():
    pytest.skip("there is no CUDA device", allow_module_level=True)
try:
    k2k.serve().close()
except OSError as refused:
    pytest.skip(f"libk2k.so has no CUDA device: {refused}", allow_module_level=True)

from k2k import device  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def server() -> Iterator[k2k.Serving]:
    with k2k.serve() as served:
        yield served


def words(count: int) -> Any:
    return cuda.to_device(np.zeros(count, np.int64))


def run(kernel: Any, server: k2k.Serving, *arguments: Any, blocks: int = 1, items: Any = 1) -> None:
    kernel[blocks, items](server.context, *arguments)
    cuda.synchronize()


def test_every_thread_makes_calls_of_its_own(server: k2k.Serving, tmp_path: Path) -> None:
    @cuda.jit
    def kernel(context, path, rows, answers):  # type: ignore[no-untyped-def]
        device.begin(context)
        rank = cuda.grid(1)
        rows[rank, 0] = rank
        made = device.open(path, os.O_WRONLY)
        answers[rank] = device.pwrite(made, rows[rank], rank * 8)
        device.close(made)

    path = tmp_path / "rows"
    path.write_bytes(b"")
    name = cuda.to_device(np.frombuffer(os.fsencode(path) + b"\0", np.uint8))
    rows, answers = cuda.to_device(np.zeros((96, 1), np.int64)), words(96)
    run(kernel, server, name, rows, answers, blocks=3, items=32)
    assert set(answers.copy_to_host()) == {8}
    assert np.fromfile(path, np.int64).tolist() == list(range(96))


def test_answers_are_those_of_linux(server: k2k.Serving) -> None:
    @cuda.jit
    def kernel(context, answers):  # type: ignore[no-untyped-def]
        device.begin(context)
        answers[0] = device.open("/no/such/file", 0)
        answers[1] = device.close(-1)
        answers[2] = device.syscall(39)  # getpid
        answers[3] = device.read(-1, answers)
        answers[4] = device.write(-1, "text")

    answers = words(5)
    run(kernel, server, answers)
    assert answers.copy_to_host().tolist() == [
        -errno.ENOENT,
        -errno.EBADF,
        os.getpid(),
        -errno.EBADF,
        -errno.EBADF,
    ]


def test_a_block_makes_one_call_for_all_its_threads(server: k2k.Serving, tmp_path: Path) -> None:
    @cuda.jit
    def kernel(context, fd, rows, answers):  # type: ignore[no-untyped-def]
        device.begin(context)
        got = device.group_read(fd, rows[cuda.blockIdx.x])
        place = cuda.threadIdx.x + cuda.blockDim.x * cuda.threadIdx.y
        answers[cuda.blockIdx.x, place] = got
        device.group_print("{}\n", cuda.blockIdx.x)

    path = tmp_path / "data"
    path.write_bytes(bytes(range(200)))
    fd = os.open(path, os.O_RDONLY)
    rows = cuda.to_device(np.zeros((4, 50), np.uint8))
    answers = cuda.to_device(np.zeros((4, 64), np.int64))
    run(kernel, server, fd, rows, answers, blocks=4, items=(32, 2))
    os.close(fd)
    assert (answers.copy_to_host() == 50).all()
    assert sorted(rows.copy_to_host().ravel().tolist()) == list(range(200))


def test_prints_numbers_and_text(server: k2k.Serving, capfd: pytest.CaptureFixture[str]) -> None:
    @cuda.jit
    def kernel(context, count, share, answers):  # type: ignore[no-untyped-def]
        device.begin(context)
        answers[0] = device.print("no value\n")
        answers[1] = device.print("{} {:.3f} {} {:>6}|\n", count, share, count > 3, "text")
        answers[2] = device.print("{:x} {}\n", np.uint64(255), np.float32(0.5))
        answers[3] = device.print("{} {}\n", count)

    answers = words(4)
    run(kernel, server, -7, 0.25, answers)
    assert capfd.readouterr().out == "no value\n-7 0.250 false   text|\nff 0.5\n"
    assert answers.copy_to_host().tolist() == [9, 23, 7, -errno.EINVAL]


def test_sends_datagrams(server: k2k.Serving) -> None:
    @cuda.jit
    def kernel(context, address, answers):  # type: ignore[no-untyped-def]
        device.begin(context)
        made = device.socket(socket.AF_INET, socket.SOCK_DGRAM, 0)
        answers[0] = device.sendto(made, "from a kernel", 0, address)
        answers[1] = device.close(made)

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.settimeout(20)
        receiver.bind(("127.0.0.1", 0))
        port = receiver.getsockname()[1]
        raw = int(socket.AF_INET).to_bytes(2, "little") + port.to_bytes(2, "big")
        raw += socket.inet_aton("127.0.0.1") + bytes(8)
        answers = words(2)
        run(kernel, server, cuda.to_device(np.frombuffer(raw, np.uint8)), answers)
        assert answers.copy_to_host().tolist() == [13, 0]
        assert receiver.recv(100) == b"from a kernel"


@cuda.jit
def reads_a_descriptor(context, fd, buffer, answers):  # type: ignore[no-untyped-def]
    device.begin(context)
    answers[0] = device.read(fd, buffer)


def test_memory_is_registered_for_the_kernels_that_follow(tmp_path: Path) -> None:
    path = tmp_path / "data"
    want = np.random.default_rng(1).integers(0, 256, 100_000, np.uint8)
    want.tofile(path)
    buffer, answers = cuda.to_device(np.zeros(100_000, np.uint8)), words(1)
    address = buffer.device_ctypes_pointer.value
    with k2k.serve() as server:
        before = server.context
        assert server.context == before
        fd = os.open(path, os.O_RDONLY)
        run(reads_a_descriptor, server, fd, buffer, answers)
        assert 4096 <= answers.copy_to_host()[0] < 100_000, (
            "memory that is not registered is copied"
        )
        k2k.register_memory(address, 100_000)
        assert server.context != before
        os.lseek(fd, 0, os.SEEK_SET)
        run(reads_a_descriptor, server, fd, buffer, answers)
        assert answers.copy_to_host().tolist() == [100_000]
        # The context before that stays valid.
        os.lseek(fd, 0, os.SEEK_SET)
        reads_a_descriptor[1, 1](before, fd, buffer, answers)
        cuda.synchronize()
        assert 4096 <= answers.copy_to_host()[0] < 100_000
        os.close(fd)
        k2k.unregister_memory(address)
    assert (buffer.copy_to_host() == want).all()


def test_leaving_the_block_waits_for_kernels_and_serves_them() -> None:
    out, into = os.pipe()
    buffer, answers = cuda.to_device(np.zeros(8, np.uint8)), words(1)
    writer = threading.Timer(0.3, os.write, (into, b"late"))
    with k2k.serve() as server:
        reads_a_descriptor[1, 1](server.context, out, buffer, answers)
        writer.start()
    assert answers.copy_to_host().tolist() == [4]
    writer.join()
    os.close(out)
    os.close(into)


def test_an_exception_cancels_kernels_that_wait() -> None:
    out, into = os.pipe()
    buffer, answers = cuda.to_device(np.zeros(8, np.uint8)), words(1)
    begin = time.monotonic()

    def fails() -> None:
        with k2k.serve() as server:
            reads_a_descriptor[1, 1](server.context, out, buffer, answers)
            time.sleep(0.2)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert time.monotonic() - begin < 20
    assert answers.copy_to_host().tolist() == [0], "the thread left in its call"
    os.close(out)
    os.close(into)
    with k2k.serve() as server:  # And the device goes on.
        run(reads_a_descriptor, server, -1, buffer, answers)
    assert answers.copy_to_host().tolist() == [-errno.EBADF]


def test_cancelling_is_told_at_the_end() -> None:
    server = k2k.serve()
    server.cancel()
    with pytest.raises(OSError, match="were cancelled") as caught:
        server.close()
    assert caught.value.errno == errno.ECANCELED
    server.close()
    with pytest.raises(ValueError, match="closed"):
        _ = server.context


def test_a_runtime_that_serves_launches_nothing_and_two_may_serve(server: k2k.Serving) -> None:
    raw = server._library.k2k_serve(server._opened())
    assert raw == -errno.EBUSY
    answers = words(1)
    with k2k.serve() as other:
        assert other.context != server.context
        run(reads_a_descriptor, other, -1, answers, answers)
    run(reads_a_descriptor, server, -1, answers, answers)
    assert answers.copy_to_host().tolist() == [-errno.EBADF]


# A fault ends the context of the whole process.
FAULTS = """
import ctypes, errno, sys
import numpy as np
import k2k
from k2k import device
from numba import cuda

@cuda.jit
def begins(context):
    device.begin(context)

@cuda.jit
def faults(context):
    device.begin(context)
    device.pread(0, cuda.local.array(4, np.uint8), 0)
    cuda.syncthreads()
    device.begin(8)

answer = 0
server = k2k.serve()
context = server.context
begins[2, 8](context)
cuda.synchronize()
if sys.argv[1] == "layout":  # As if the kernel were compiled from other headers.
    driver = ctypes.CDLL("libcuda.so.1")
    other = ctypes.c_uint64(1)
    assert driver.cuMemcpyHtoD_v2(ctypes.c_uint64(context), ctypes.byref(other), 8) == 0
    begins[2, 8](context)
else:
    faults[1, 1](context)
try:
    server.close()
except OSError as error:
    assert error.errno == errno.EIO and "wait for the kernels of other libraries" in str(error)
    answer = error.errno
server.close()
print("ended", answer, flush=True)
"""


@pytest.mark.parametrize("how", ["layout", "address"])
def test_a_kernel_that_fails_is_told_and_the_host_goes_on(how: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FAULTS, how],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout == f"ended {errno.EIO}\n", ended.stderr


def test_a_runtime_that_ends_at_once_answers_waiting_kernels() -> None:
    out, into = os.pipe()
    buffer, answers = cuda.to_device(np.zeros(8, np.uint8)), words(1)
    server = k2k.serve({"server.shutdown_ms": 200})
    reads_a_descriptor[1, 1](server.context, out, buffer, answers)
    time.sleep(0.2)
    k2k.Runtime.close(server)  # Without k2k_serve_end().
    cuda.synchronize()
    assert answers.copy_to_host().tolist() == [-errno.ECANCELED]
    os.close(out)
    os.close(into)


def test_a_forked_child_serves_nothing() -> None:
    server = k2k.serve()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            _ = server.context
        except OSError as error:
            code = 0 if error.errno == errno.EPERM else 2
        server.close()
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    server.close()


CALLS_PYTHON = r"""
#include <k2k/foreign.hpp>
extern "C" __global__ void kernel(unsigned long long context, long* answers) {
  k2k::begin(context);
  K2K_LOCAL(long, sum);
  const auto reply = k2k::host_call<long>(k2k::work_item, "double", 20 + long(threadIdx.y));
  k2k::AtomicRef(sum).fetch_add(reply.value(), k2k::memory_order_relaxed,
                                k2k::memory_scope_work_group);
  k2k::barrier();
  answers[k2k::global_rank()] = reply.ok() ? sum : reply.error();
}
"""


def test_kernels_in_cpp_call_functions_of_python(server: k2k.Serving) -> None:
    core: Any = pytest.importorskip("cuda.core")
    server.provide("double", lambda value: value * 2, "i64(i64)")
    options = core.ProgramOptions(
        std="c++17", arch=f"sm_{core.Device().arch}", include_path=k2k.get_include()
    )
    # Machine code for a GPU, PTX for the emulated one.
    kind = "ptx" if "emulated" in core.Device().name else "cubin"
    kernel = core.Program(CALLS_PYTHON, "c++", options).compile(kind).get_kernel("kernel")
    answers = words(12)
    stream = core.Device().create_stream()
    shape = core.LaunchConfig(grid=(1, 3), block=(2, 2))
    for _ in range(2):  # Local memory is fresh for each launch.
        address = int(answers.device_ctypes_pointer.value)
        core.launch(stream, shape, kernel, server.context, address)
        stream.sync()
        assert answers.copy_to_host().tolist() == [2 * (40 + 42)] * 12


def test_the_program_of_the_guide_runs() -> None:
    guide = Path(__file__).resolve().parents[2] / "docs/guides/python-kernels.md"
    program = re.search(r"^## Numba.*?^```python\n(.*?)^```", guide.read_text(), re.M | re.S)
    assert program is not None
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program[1]],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    name = len(Path("/etc/hostname").read_bytes())
    assert ended.stdout == f"read {name} bytes\n[{name}]\n", ended.stderr


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda strided: device.read(0, strided[::2]), "not C-contiguous"),
        (lambda strided: device.read(0, "text"), "pass an array"),
        (lambda strided: device.read(strided, strided), "is no integer"),
        (lambda strided: device.open(strided.view(np.int32), 0), "pass an array of bytes"),
        (lambda strided: device.print(strided), "no literal of text"),
        (lambda strided: device.print("{}", strided), "cannot print"),
    ],
)
def test_names_arguments_that_cannot_be_passed(server: k2k.Serving, call: Any, what: str) -> None:
    inner = cuda.jit(call)

    @cuda.jit
    def kernel(context, strided):  # type: ignore[no-untyped-def]
        device.begin(context)
        inner(strided)

    with pytest.raises(Exception, match=what):
        kernel[1, 1](server.context, cuda.to_device(np.zeros(8, np.uint8)))


def test_calls_are_made_in_kernels_alone() -> None:
    with pytest.raises(NotImplementedError):
        device.close(1)


def bytes_of(tensor: k2k.DeviceTensor) -> bytes:
    if tensor.nbytes == 0:
        return b""
    assert tensor.memory is not None
    return tensor.memory.copy_out(tensor.address - tensor.memory.address, tensor.nbytes)


def test_tensors_are_loaded_into_device_memory(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    random = np.random.default_rng(2)
    wanted = {
        "odd": ("U8", (3,), random.bytes(3)),
        "weights": ("F32", (1000, 30), random.bytes(120_000)),
        "halves": ("BF16", (7, 11), random.bytes(154)),
        "flags": ("BOOL", (4,), b"\1\0\0\1"),
        "large": ("F64", (1 << 18,), random.bytes(2 << 20)),
        "none": ("F32", (0, 2), b""),
    }
    write(path, {name: Raw(*facts) for name, facts in wanted.items()})
    loaded = k2k.load_safetensors(path, device="cuda")
    assert list(loaded) == list(wanted)
    for name, (dtype, shape, content) in wanted.items():
        tensor = loaded[name]
        assert (tensor.dtype, tensor.shape) == (dtype, shape)
        assert bytes_of(tensor) == content
    assert repr(loaded["flags"]) == "DeviceTensor('flags', BOOL, shape (4,))"
    # By the interface of arrays, with the type where that has it and the bytes are aligned.
    odd = loaded["odd"].__cuda_array_interface__
    assert (odd["typestr"], odd["shape"], odd["data"][1]) == ("|u1", (3,), False)
    assert loaded["weights"].__cuda_array_interface__["shape"] in ((1000, 30), (120_000,))
    assert loaded["halves"].__cuda_array_interface__["shape"] == (154,)
    assert loaded["none"].__cuda_array_interface__["data"] == (0, False)
    view = cuda.as_cuda_array(loaded["odd"])
    assert view.copy_to_host().tobytes() == wanted["odd"][2]
    assert not k2k._registered.is_registered(loaded["odd"].address, 1)
    only = k2k.load_safetensors(path, device="cuda", names=["large"])
    assert bytes_of(only["large"]) == wanted["large"][2]


def test_names_mistakes_of_tensors_for_the_device(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    write(path, {"flags": Raw("BOOL", (3,), b"\0\2\1")})
    with pytest.raises(k2k.SafetensorsError, match="'flags' of BOOL has bytes other than 0 and 1"):
        k2k.load_safetensors(path, device="cuda")
    with pytest.raises(ValueError, match="device is 'tpu'; permitted are 'cpu', 'cuda'"):
        k2k.load_safetensors(path, device="tpu")  # type: ignore[call-overload]


def test_device_memory_that_is_not_there_is_an_error() -> None:
    with pytest.raises(OSError, match=r"could not allocate .* CUDA_ERROR_OUT_OF_MEMORY") as caught:
        _cuda.DeviceMemory(1 << 60)
    assert caught.value.errno == errno.ENOMEM


def test_files_are_read_into_arrays_of_numba(tmp_path: Path) -> None:
    path = tmp_path / "data"
    want = np.random.default_rng(3).bytes(300_001)
    path.write_bytes(want)
    array = cuda.to_device(np.zeros((3, 100_000), np.uint8))
    assert k2k.read_into(array, path, 1) == 300_000
    assert array.copy_to_host().tobytes() == want[1:]
    part = ctypes.c_uint64(array.device_ctypes_pointer.value).value
    assert not k2k._registered.is_registered(part, 1)
