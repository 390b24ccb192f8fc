"""Kernels of Numba, cuda.core, CuPy and PyTorch call Linux."""

import ctypes
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpu_checks.parts import SMALLER, Result, expect, part, pattern, slow, text_of

SOURCE = r"""
#include <k2k/foreign.hpp>

// Each block reads the file, and appends what it read to another.
__device__ void copy_file(unsigned long long context, const char* from, const char* to,
                          long* answers) {
  k2k::begin(context);
  __shared__ char buffer[4096];
  const int file = k2k::open(k2k::work_group, from, 0).fd();
  const long bytes = k2k::pread(k2k::work_group, file, buffer, sizeof(buffer), 0);
  k2k::close(k2k::work_group, file);
  const int made = k2k::open(k2k::work_group, to, 1 | 64 | 1024, 0644).fd();
  const long written = k2k::write(k2k::work_group, made, buffer, bytes > 0 ? bytes : 0);
  k2k::close(k2k::work_group, made);
  if (k2k::item_rank() == 0) {
    answers[k2k::group_rank()] = written;
    k2k::print_to(k2k::work_item, 2, "block {} of {}: {} bytes\n", k2k::group_rank(),
                  k2k::group_count(), written);
  }
}

extern "C" __global__ void copies(unsigned long long context, const char* from, const char* to,
                                  long* answers) {
  copy_file(context, from, to, answers);
}
// For a caller that passes no integer of 64 bits.
extern "C" __global__ void copies_with(const unsigned long long* context, const char* from,
                                       const char* to, long* answers) {
  copy_file(*context, from, to, answers);
}
"""
BLOCKS = 6


@contextmanager
def serving() -> Iterator[Any]:
    import k2k

    with k2k.serve() as server:
        yield server


def check_copies(folder: Path, answers: list[int]) -> Result:
    want = (folder / "from").read_bytes()
    expect(answers == [len(want)] * BLOCKS, f"the answers are {answers}")
    found = (folder / "to").read_bytes()
    expect(found == want * BLOCKS, f"the copy has {len(found)} other bytes")
    return {"blocks": BLOCKS, "bytes": len(found)}


def numba_cuda() -> Any:
    """numba.cuda. Numba asks for names that a newer NumPy than it knows has given up."""
    import numpy as np

    for gone, stays in (("row_stack", "vstack"), ("trapz", "trapezoid"), ("in1d", "isin")):
        if not hasattr(np, gone):
            setattr(np, gone, getattr(np, stays))
    from numba import cuda

    return cuda


@part
def numba(folder: Path) -> Iterator[Result]:
    import numpy as np

    cuda = numba_cuda()

    import k2k.device as k2k_device

    @cuda.jit
    def copies(context, buffers, out, answers):  # type: ignore[no-untyped-def]
        k2k_device.begin(context)
        block = cuda.blockIdx.x
        file = k2k_device.group_open("from", 0)
        count = k2k_device.group_pread(file, buffers[block], 0)
        k2k_device.group_close(file)
        if cuda.threadIdx.x == 0:
            made = k2k_device.open(out, 1 | 64 | 1024, 0o644)
            answers[block] = k2k_device.write(made, buffers[block, :count])
            k2k_device.close(made)
            k2k_device.print("block {} of {}: {} bytes\n", block, cuda.gridDim.x, answers[block])

    os.chdir(folder)
    answers = cuda.to_device(np.zeros(BLOCKS, np.int64))
    buffers = cuda.to_device(np.zeros((BLOCKS, 4096), np.uint8))
    out = cuda.to_device(np.frombuffer(b"to\0", np.uint8))
    begin = time.perf_counter()
    with serving() as server:
        copies[BLOCKS, 64](server.context, buffers, out, answers)
        cuda.synchronize()
    yield check_copies(folder, answers.copy_to_host().tolist()) | {
        "seconds_with_compilation": round(time.perf_counter() - begin, 2)
    }


@part
def numba_streams(folder: Path) -> Iterator[Result]:
    """A kernel waits in read(2) of a pipe until one on another stream writes to it."""
    import numpy as np

    cuda = numba_cuda()

    import k2k.device as k2k_device

    @cuda.jit
    def reads(context, fd, buffer, answers):  # type: ignore[no-untyped-def]
        k2k_device.begin(context)
        if cuda.grid(1) == 0:
            answers[0] = k2k_device.read(fd, buffer)

    @cuda.jit
    def writes(context, fd, buffer, answers):  # type: ignore[no-untyped-def]
        k2k_device.begin(context)
        if cuda.grid(1) == 0:
            answers[1] = k2k_device.write(fd, buffer)

    answers = cuda.to_device(np.zeros(2, np.int64))
    sent = cuda.to_device(np.arange(100, dtype=np.uint8))
    taken = cuda.to_device(np.zeros(1000, np.uint8))
    one, other = cuda.stream(), cuda.stream()
    out, into = os.pipe()
    with serving() as server:
        context = server.context
        # Loaded before a kernel waits: loading may wait for it.
        for kernel in (reads, writes):
            kernel[1, 1, one](context, -1, sent, answers)
        one.synchronize()
        expect(answers.copy_to_host().tolist() == [-9, -9], "EBADF is the answer for -1")
        begin = time.perf_counter()
        reads[1, 32, one](context, out, taken, answers)
        writes[1, 32, other](context, into, sent, answers)
        cuda.synchronize()
        seconds = time.perf_counter() - begin
    found = answers.copy_to_host().tolist()
    expect(found == [100, 100], f"the answers are {found}")
    expect(bytes(taken.copy_to_host()[:100]) == bytes(range(100)), "other bytes came")
    yield {"microseconds": round(seconds * 1e6)}


@part
def numba_many(folder: Path) -> Iterator[Result]:
    """Every thread reads its part of a file into registered memory."""
    import numpy as np

    cuda = numba_cuda()

    import k2k
    import k2k.device as k2k_device

    blocks, threads, each = max(32 // SMALLER, 1), 128, 4096

    @cuda.jit
    def reads(context, fd, rows, answers):  # type: ignore[no-untyped-def]
        k2k_device.begin(context)
        rank = cuda.grid(1)
        answers[rank] = k2k_device.pread(fd, rows[rank], rank * each)

    count = blocks * threads
    want = pattern(count * each)
    (folder / "data").write_bytes(want)
    fd = os.open(folder / "data", os.O_RDONLY)
    answers = cuda.to_device(np.zeros(count, np.int64))
    rows = cuda.to_device(np.zeros((count, each), np.uint8))
    with serving() as server:
        for registered in (False, True):
            if registered:
                k2k.register_memory(rows.device_ctypes_pointer.value, count * each)
            for _warm in (False, True):
                context = server.context
                begin = time.perf_counter()
                reads[blocks, threads](context, fd, rows, answers)
                cuda.synchronize()
                seconds = time.perf_counter() - begin
            found = answers.copy_to_host()
            expect(bool((found == each).all()), f"answers {np.unique(found).tolist()}")
            expect(rows.copy_to_host().tobytes() == want, "other bytes came")
            yield {
                "calls": count,
                "registered": registered,
                "calls_per_second": round(count / seconds),
                "gigabytes_per_second": round(count * each / seconds / 1e9, 3),
            }
        k2k.unregister_memory(rows.device_ctypes_pointer.value)
    os.close(fd)


def cuda_core_module() -> Any:
    try:
        from cuda import core

        core.Program  # noqa: B018
    except (ImportError, AttributeError):  # Before 0.5.
        from cuda.core import experimental as core
    return core


def run_copies(core: Any, stream: Any, kernel: Any, folder: Path) -> Result:
    """The kernel `copies` of SOURCE or LINKED, launched by cuda.core."""
    from cuda.bindings import driver

    def given(content: bytes) -> Any:
        error, place = driver.cuMemAlloc(len(content))
        expect(error == 0, str(error))
        driver.cuMemcpyHtoD(place, content, len(content))
        return place

    names = given(text_of(folder / "from")), given(text_of(folder / "to"))
    answers = given(bytes(8 * BLOCKS))
    with serving() as server:
        config = core.LaunchConfig(grid=BLOCKS, block=(16, 4))
        core.launch(stream, config, kernel, server.context, *map(int, names), int(answers))
        stream.sync()
    found = (ctypes.c_int64 * BLOCKS)()
    driver.cuMemcpyDtoH(ctypes.addressof(found), answers, 8 * BLOCKS)
    return check_copies(folder, list(found))


def takes_text(device: Any) -> bool:
    """A driver older than NVRTC takes machine code; an emulated device takes PTX."""
    return "emulated" in device.name.lower()


@part
def cuda_core(folder: Path) -> Iterator[Result]:
    import k2k

    core = cuda_core_module()
    device = core.Device()
    device.set_current()
    stream = device.create_stream()
    options = core.ProgramOptions(
        std="c++17", arch=f"sm_{device.arch}", include_path=k2k.get_include()
    )
    begin = time.perf_counter()
    code = "ptx" if takes_text(device) else "cubin"
    kernel = core.Program(SOURCE, "c++", options).compile(code).get_kernel("copies")
    compiled = time.perf_counter() - begin
    yield run_copies(core, stream, kernel, folder) | {"seconds_of_nvrtc": round(compiled, 2)}


# By the C functions of the device library, as another language calls them.
LINKED = r"""
typedef unsigned long long Word;
extern "C" {
__device__ void k2k_dev_begin(Word context);
__device__ long k2k_dev_group_open(const char* path, int flags, unsigned mode);
__device__ long k2k_dev_group_close(int descriptor);
__device__ long k2k_dev_group_pread(int descriptor, void* buffer, Word bytes, long offset);
__device__ long k2k_dev_group_write(int descriptor, const void* buffer, Word bytes);

__global__ void copies(Word context, const char* from, const char* to, long* answers) {
  k2k_dev_begin(context);
  __shared__ char buffer[4096];
  const int file = (int)k2k_dev_group_open(from, 0, 0);
  const long bytes = k2k_dev_group_pread(file, buffer, sizeof(buffer), 0);
  k2k_dev_group_close(file);
  const int made = (int)k2k_dev_group_open(to, 1 | 64 | 1024, 0644);
  const long written = k2k_dev_group_write(made, buffer, bytes > 0 ? bytes : 0);
  k2k_dev_group_close(made);
  if (threadIdx.x + threadIdx.y == 0) answers[blockIdx.x] = written;
}
}
"""


def link(inputs: dict[str, bytes], architecture: str, text: bool) -> bytes:
    """Links LTO-IR by nvJitLink: PTX if `text`, else machine code. ModuleNotFoundError."""
    try:
        from cuda.bindings import nvjitlink as linker

        linker.version()
    except Exception as missing:
        raise ModuleNotFoundError(f"install nvidia-nvjitlink: {missing}") from None
    options = [f"-arch={architecture}", "-lto", *(["-ptx"] if text else [])]
    handle = linker.create(len(options), options)
    try:
        for name, code in inputs.items():
            linker.add_data(handle, linker.InputType.LTOIR, code, len(code), name)
        linker.complete(handle)
        size = linker.get_linked_ptx_size if text else linker.get_linked_cubin_size
        linked = bytearray(size(handle))
        (linker.get_linked_ptx if text else linker.get_linked_cubin)(handle, linked)
    except linker.nvJitLinkError as failure:
        log = bytearray(linker.get_error_log_size(handle))
        linker.get_error_log(handle, log)
        raise AssertionError(f"{failure}: {log.decode(errors='replace')}") from None
    finally:
        linker.destroy(handle)
    return bytes(linked)


@part
def lto(folder: Path) -> Iterator[Result]:
    """A kernel by NVRTC and the device library, both LTO-IR, are optimised together."""
    import k2k

    core = cuda_core_module()
    device = core.Device()
    device.set_current()
    stream = device.create_stream()
    architecture = f"sm_{device.arch}"
    options = core.ProgramOptions(
        std="c++17",
        arch=architecture,
        link_time_optimization=True,
        relocatable_device_code=True,
    )
    inputs = {
        "kernel": bytes(core.Program(LINKED, "c++", options).compile("ltoir").code),
        "k2k_device.ltoir": Path(k2k.device_library("ltoir")).read_bytes(),
    }
    text = takes_text(device)
    begin = time.perf_counter()
    linked = link(inputs, architecture, text)
    seconds = time.perf_counter() - begin
    # Linked as PTX, the library's functions would stay; here they are part of the kernel.
    expect(not text or b"k2k_dev_" not in linked, "K2K's functions were not inlined")
    made = core.ObjectCode.from_ptx(linked) if text else core.ObjectCode.from_cubin(linked)
    yield run_copies(core, stream, made.get_kernel("copies"), folder) | {
        "seconds_of_link": round(seconds, 2),
        "linked_bytes": len(linked),
    }


@part
def cupy(folder: Path) -> Iterator[Result]:
    import cupy
    import numpy as np

    import k2k

    options = ("-std=c++17", *(f"-I{place}" for place in k2k.get_include()))
    kernel = cupy.RawKernel(SOURCE, "copies", options=options)
    names = [
        cupy.asarray(np.frombuffer(text_of(folder / name), np.uint8)) for name in ("from", "to")
    ]
    answers = cupy.zeros(BLOCKS, cupy.int64)
    with serving() as server:
        kernel((BLOCKS,), (64,), (np.uint64(server.context), *names, answers))
        cupy.cuda.get_current_stream().synchronize()
    yield check_copies(folder, answers.get().tolist())
    want = pattern(100_001)
    (folder / "data").write_bytes(want)
    array = cupy.zeros(100_000, cupy.uint8)
    expect(k2k.read_into(array, folder / "data", 1) == 100_000, "a short read")
    expect(array.get().tobytes() == want[1:], "read_into() brought other bytes")
    yield {"read_into": array.nbytes}


@part
def torch_kernel(folder: Path) -> Iterator[Result]:
    import torch

    import k2k

    kernel = torch.cuda._compile_kernel(
        SOURCE, "copies_with", cuda_include_dirs=k2k.get_include(), nvcc_options=["-std=c++17"]
    )
    names = [
        torch.frombuffer(bytearray(text_of(folder / name)), dtype=torch.uint8).cuda()
        for name in ("from", "to")
    ]
    answers = torch.zeros(BLOCKS, dtype=torch.int64, device="cuda")
    with serving() as server:
        context = torch.tensor([server.context], dtype=torch.int64, device="cuda")
        kernel((BLOCKS, 1, 1), (64, 1, 1), [context, *names, answers])
        torch.cuda.synchronize()
    yield check_copies(folder, answers.tolist())


@slow
def torch_inline(folder: Path) -> Iterator[Result]:
    import torch
    from torch.utils.cpp_extension import load_inline

    import k2k

    launcher = """
void launch(int64_t context, torch::Tensor from, torch::Tensor to, torch::Tensor answers) {
  copies<<<answers.numel(), 64>>>(context, reinterpret_cast<const char*>(from.data_ptr()),
      reinterpret_cast<const char*>(to.data_ptr()), answers.data_ptr<int64_t>());
}
"""
    begin = time.perf_counter()
    module = load_inline(
        "k2k_copies",
        cpp_sources="void launch(int64_t, torch::Tensor, torch::Tensor, torch::Tensor);",
        cuda_sources=SOURCE + launcher,
        functions=["launch"],
        extra_include_paths=k2k.get_include(),
        build_directory=str(folder),
    )
    compiled = time.perf_counter() - begin
    names = [
        torch.frombuffer(bytearray(text_of(folder / name)), dtype=torch.uint8).cuda()
        for name in ("from", "to")
    ]
    answers = torch.zeros(BLOCKS, dtype=torch.int64, device="cuda")
    with serving() as server:
        module.launch(server.context, *names, answers)
        torch.cuda.synchronize()
    yield check_copies(folder, answers.tolist()) | {"seconds_of_nvcc": round(compiled, 1)}
