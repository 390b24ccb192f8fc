"""Files are read into registered memory of CUDA, and every mistake is named.

The driver is the tests' own (src/io/memory/vendor_fixture), where it is built: its memory faults
when the CPU touches it, and it is found as libcuda.so.1 by a Python of its own.
"""

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import k2k
from k2k import _library
from k2k_tests.fixture import environment, need_library, pattern
from k2k_tests.read_into_test import Exporter

need_library()

PROGRAM = """
import concurrent.futures, ctypes, errno, os, sys
import numpy as np
import k2k
from k2k import _registered

driver = ctypes.CDLL("libcuda.so.1")
driver.cudaMemcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
place = ctypes.c_ulonglong()
room = 3 << 20
assert driver.cuMemAlloc_v2(ctypes.byref(place), ctypes.c_size_t(room)) == 0
address = place.value


class Array:
    def __init__(self, first, count, strides=None, read_only=False):
        self.__cuda_array_interface__ = {
            "data": (first, read_only), "shape": (count // 4, 2), "typestr": "<u2",
            "strides": strides, "version": 3}


def device(count, at=0):
    host = np.zeros(count, np.uint8)
    assert driver.cudaMemcpy(host.ctypes.data, address + at, count, 2) == 0
    return host.tobytes()


path, size = sys.argv[1], 2_500_000
want = open(path, "rb").read()
# Unregistered memory is registered for the time of the read, by any number of readers at once.
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    reads = [pool.submit(k2k.read_into, Array(address, size), path, 4) for _ in range(32)]
    reads += [pool.submit(k2k.read_into, Array(address + 4, size - 8), path, 8) for _ in range(32)]
    assert {read.result() for read in reads[:32]} == {size}
    assert {read.result() for read in reads[32:]} == {size - 8}
assert device(size) == want[4 : 4 + size]
assert not _registered.is_registered(address, 1)
k2k.register_memory(address, room)
before = k2k.stats()["reads"]
for cold in True, False:
    if cold:
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    assert k2k.read_into(Array(address, size), path, 1001) == size
    assert device(size) == want[1001 : 1001 + size]
assert k2k.stats()["reads"] > before
assert k2k.read_into(Array(address + 40, 1000, strides=(4, 2)), path, len(want) - 10) == 10
assert device(10, 40) == want[-10:]
assert k2k.read_into(Array(address, 0), path) == 0
wrongs = Array(address, room + 4), Array(address, 1000, (8, 2)), Array(address, 1000, None, True)
for wrong in wrongs:
    try:
        k2k.read_into(wrong, path)
    except ValueError:
        pass
    else:
        raise AssertionError("not refused")
try:
    k2k.register_memory(address + 100, 10)
except OSError as error:
    assert error.errno == errno.EEXIST, error
k2k.unregister_memory(address)
try:
    k2k.unregister_memory(address)
except OSError as error:
    assert error.errno == errno.ENOENT, error
print("done")
"""


def test_memory_of_cuda_is_read_into_registered_or_not(tmp_path: Path) -> None:
    driver = Path(os.environ.get(_library.VARIABLE, "")).parent / "shim" / "vendor"
    if not (driver / "libcuda.so.1").exists():
        pytest.skip("the driver of the tests' own is not built beside libk2k.so")
    path = tmp_path / "data"
    path.write_bytes(pattern(2_700_000))
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path)],
        env=environment() | {"LD_LIBRARY_PATH": str(driver)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout == "done\n", ended.stderr


def test_arrays_of_cuda_that_cannot_be_registered_are_named_and_not_touched(tmp_path: Path) -> None:
    class Numba:
        def __init__(self, memory: np.ndarray[Any, Any]) -> None:
            self.__cuda_array_interface__ = {
                "data": (memory.ctypes.data, False),
                "shape": memory.shape,
                "typestr": memory.dtype.str,
            }

    class Torch(Exporter):
        def __dlpack__(self, **options: Any) -> Any:
            return self.inner.__dlpack__(**options)

    path = tmp_path / "data"
    path.write_bytes(b"x" * 100)
    memory = np.zeros(4)
    for array in (Numba(memory), Torch(memory, versioned=True, device=2)):
        with pytest.raises(ValueError, match="lies in memory of CUDA that cannot be registered"):
            k2k.read_into(array, path)
    assert not memory.any()


def test_names_memory_that_cannot_be_registered() -> None:
    with pytest.raises(ValueError, match="kind is 'tpu'; permitted are 'cuda', 'hip'"):
        k2k.register_memory(4096, 10, "tpu")
    for address, nbytes, what in (0, 10, "address is 0"), (4096, 0, "nbytes is 0"):
        with pytest.raises(ValueError, match=what):
            k2k.register_memory(address, nbytes)
    with pytest.raises(ValueError, match="nbytes is"):
        k2k.register_memory(4096, 2**64)
    with pytest.raises(OSError, match="no registered memory begins at 0x1000") as caught:
        k2k.unregister_memory(4096)
    assert caught.value.errno == errno.ENOENT
