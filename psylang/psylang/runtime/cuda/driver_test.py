"""Drivers that fail: a library in their place answers as they would."""

from __future__ import annotations

import ctypes
import os
from typing import Any, ClassVar

import pytest

import psylang
from psylang.emit.gpu import Properties
from psylang.runtime.cuda import driver as driver_module
from psylang.runtime.cuda.driver import Device, Driver, driver
from psylang.runtime.cuda.gpu_fixture import gpu
from psylang.runtime.cuda.kernel import GpuKernel

__all__ = ["gpu"]

NUMBERS = {"cuDriverGetVersion": 13000, "cuDeviceGetCount": 1}
ATTRIBUTES = {16: 132, 75: 9, 76: 0}


class Function:
    """A function of the library: it stores a number at its first argument and returns a code."""

    def __init__(self, library: Library, name: str) -> None:
        self.library, self.name = library, name

    def __call__(self, *arguments: Any) -> int:
        library = self.library
        if self.name == "cuGetErrorName":
            name = library.names.get(arguments[0])
            if name is None:
                return 1
            arguments[1]._obj.value = name.encode()
            return 0
        if self.name in library.fails:
            return library.fails[self.name]
        if self.name == "cuDeviceGetName":
            arguments[0].value = b"A GPU"
        elif self.name == "cuDeviceGetAttribute":
            arguments[0]._obj.value = library.attributes[arguments[1]]
        elif self.name in library.numbers:
            arguments[0]._obj.value = library.numbers[self.name]
        return 0


class Library:
    """libcuda.so.1. fails: codes by function; lacks: functions that are not there."""

    names: ClassVar = {
        2: "CUDA_ERROR_OUT_OF_MEMORY",
        100: "CUDA_ERROR_NO_DEVICE",
        218: "CUDA_ERROR_INVALID_PTX",
    }

    def __init__(self, lacks: str = "", **fails: int) -> None:
        self.lacks, self.fails = lacks, fails
        self.numbers, self.attributes = dict(NUMBERS), dict(ATTRIBUTES)

    def __getattr__(self, name: str) -> Function:
        if name == self.lacks or not name.startswith("cu"):
            raise AttributeError(name)
        function = Function(self, name)
        setattr(self, name, function)
        return function


def test_a_driver_that_works() -> None:
    device = Driver(Library()).device(0)
    assert (device.name, device.capability, device.units) == ("A GPU", (9, 0), 132)


def test_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    driver_module.driver.cache_clear()
    try:
        with pytest.raises(psylang.GpuError) as caught:
            driver()
    finally:
        driver_module.driver.cache_clear()
    assert str(caught.value) == (
        "device='cuda' needs NVIDIA's driver, and libcuda.so.1 cannot be loaded (libcuda.so.1: "
        "cannot open shared object file); install the driver, or leave device out to compute on "
        "the CPU"
    )


def test_an_old_library() -> None:
    with pytest.raises(psylang.GpuError, match="has no cuMemAlloc_v2: the driver is too old"):
        Driver(Library(lacks="cuMemAlloc_v2"))


def test_an_old_driver() -> None:
    library = Library()
    library.numbers["cuDriverGetVersion"] = 9020
    text = r"the NVIDIA driver knows CUDA 9\.2, and Psylang needs 10\.0; install a newer driver"
    with pytest.raises(psylang.GpuError, match=text):
        Driver(library)


def test_no_device() -> None:
    text = r"GPU: CUDA_ERROR_NO_DEVICE by cuInit; nvidia-smi lists GPUs, and CUDA_VISIBLE_DEVICES"
    with pytest.raises(psylang.GpuError, match=text):
        Driver(Library(cuInit=100))
    library = Library()
    library.numbers["cuDeviceGetCount"] = 0
    with pytest.raises(psylang.GpuError, match="the NVIDIA driver finds no GPU; nvidia-smi lists"):
        Driver(library).device(0)


def test_a_device_with_another_number() -> None:
    with pytest.raises(psylang.ArgumentError, match="device is 'cuda:3'; this machine has cuda:0"):
        Driver(Library()).device(3)


def test_an_old_device() -> None:
    library = Library()
    library.attributes.update({75: 6, 76: 1})
    text = r"A GPU has compute capability 6\.1, and Psylang needs 7\.5; leave device out"
    with pytest.raises(psylang.GpuError, match=text):
        Driver(library).device(0)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (2, "GPU: CUDA_ERROR_OUT_OF_MEMORY by cuDevicePrimaryCtxRetain: A GPU; nvidia-smi tells"),
        (46, "GPU: error 46 by cuDevicePrimaryCtxRetain: A GPU; another process holds the GPU"),
        (804, "install a newer NVIDIA driver"),
    ],
)
def test_errors_have_names_and_remedies(code: int, text: str) -> None:
    with pytest.raises(psylang.GpuError, match=text):
        Driver(Library(cuDevicePrimaryCtxRetain=code)).device(0)


def test_a_forked_process_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Driver(Library())
    pid = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: pid + 1)
    text = "this process was forked from one that uses the GPU.*multiprocessing's 'spawn'"
    with pytest.raises(psylang.GpuError, match=text):
        made.device(0)


def test_refused_ptx_is_explained(gpu: Device) -> None:
    text = r"GPU: CUDA_ERROR_INVALID_PTX by cuModuleLoadDataEx: the kernels of `odd`.*; this is a"
    with pytest.raises(psylang.GpuError, match=text):
        GpuKernel(gpu, b".version 6.3\n.target sm_75\n.address_size 64\nnonsense\n", "odd")


def test_ptx_without_kernels_is_no_program(gpu: Device) -> None:
    with pytest.raises(psylang.CompileError, match="the GPU code of `odd` has no `psylang_trials`"):
        GpuKernel(gpu, b".version 6.3\n.target sm_75\n.address_size 64\n", "odd")


def test_a_launch_that_fails_is_explained(gpu: Device) -> None:
    ptx = (
        f"{Properties().heading()}.version 6.3\n.target sm_75\n.address_size 64\n"
        ".visible .entry psylang_trials() { ret; }"
    )
    kernel = GpuKernel(gpu, ptx.encode(), "odd")
    text = "GPU: CUDA_ERROR_INVALID_VALUE by cuLaunchKernel; nvidia-smi tells"
    with (
        gpu.current(),
        gpu.stream() as stream,
        pytest.raises(psylang.GpuError, match=text),
    ):
        kernel.launch(kernel.trials, (0, 32), [], [], stream)
