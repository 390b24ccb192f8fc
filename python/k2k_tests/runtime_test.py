"""Kernels call functions of Python: typed both ways, and a mistake is an errno and one line."""

import ctypes
import errno
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import k2k
from k2k._functions import Parameter, parameters_of
from k2k_tests.fixture import environment, need_library

need_library()

ROOT = Path(__file__).resolve().parents[2]

KERNELS = r"""
#include <k2k/k2k.h>

struct weighing { long code; double weight; float doubled[3]; };
void weigh(void* argument) {
  struct weighing* out = argument;
  float values[3] = {1, 2, 3.5f};
  float doubled[3] = {9, 9, 9};
  int64_t factor = -2;
  k2k_buffer buffers[2] = {{values, sizeof(values)}, {doubled, sizeof(doubled)}};
  out->code = k2k_dev_host_call("weigh", "f64(i32,in f32,out f32)", buffers, &factor, &out->weight);
  for (int index = 0; index < 3; ++index) out->doubled[index] = doubled[index];
}
void call(void* argument) {
  *(long*)argument = k2k_dev_host_call("call", "void()", 0, 0, 0);
}
void number(void* argument) {
  int64_t value = (int64_t)k2k_dev_global_rank();
  long* codes = argument;
  codes[value] = k2k_dev_host_call("number", "void(u64)", 0, &value, 0);
}
void mix(void* argument) {
  struct { char name[11]; char pad[5]; uint64_t flag; double real; } values = {"abcdefghij", "", 1,
                                                                               -0.5};
  uint16_t both[2] = {7, 8};
  k2k_buffer buffers[1] = {{both, sizeof(both)}};
  char reply[11] = {0};
  long* out = argument;
  out[0] = k2k_dev_host_call("mix", "s11(s11,u8,inout u16,f64)", buffers, &values, reply);
  out[1] = both[0] * 1000 + both[1];
  out[2] = reply[0];
}
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "kernels.c").write_text(KERNELS)
    # Its k2k_dev_ functions are those of the library that the package has loaded.
    subprocess.run(
        [
            "gcc",
            "-shared",
            "-fPIC",
            "-O1",
            f"-I{ROOT}/include",
            "-o",
            folder / "kernels.so",
            folder / "kernels.c",
        ],
        check=True,
        capture_output=True,
    )
    ctypes.CDLL(k2k._library.load()._name, mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(folder / "kernels.so"))


@pytest.fixture
def runtime() -> Iterator[k2k.Runtime]:
    with k2k.Runtime({"device.compute_units": 1, "device.strict": True}) as made:
        yield made


class Weighing(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_long),
        ("weight", ctypes.c_double),
        ("doubled", ctypes.c_float * 3),
    )


def test_values_and_arrays_go_both_ways(runtime: k2k.Runtime, kernels: ctypes.CDLL) -> None:
    kept: list[Any] = []

    def weigh(factor: int, values: Any, doubled: Any) -> float:
        kept.append(values)
        assert not values.flags.writeable
        doubled[:] = values * 2
        return float(factor * values.sum())

    runtime.provide("weigh", weigh, "f64(i32, in f32, out f32)")
    out = Weighing()
    runtime.launch(kernels.weigh, out)
    assert (out.code, out.weight, list(out.doubled)) == (0, -13.0, [2.0, 4.0, 7.0])
    assert kept[0].tolist() == [1.0, 2.0, 3.5]  # Still valid.


def test_structures_are_bytes_and_arrays_change(runtime: k2k.Runtime, kernels: ctypes.CDLL) -> None:
    seen: list[Any] = []

    def mix(name: bytes, flag: int, both: Any, real: float) -> bytes:
        seen.extend([name, flag, both.tolist(), real])
        both += 10
        return name[::-1]

    runtime.provide("mix", mix, "s11(s11,u8,inout u16,f64)")
    out = (ctypes.c_long * 3)()
    runtime.launch(kernels.mix, out)
    assert seen == [b"abcdefghij\0", 1, [7, 8], -0.5]
    assert list(out) == [0, 17018, 0]


def test_every_work_item_calls(runtime: k2k.Runtime, kernels: ctypes.CDLL) -> None:
    numbers: list[int] = []
    runtime.provide("number", numbers.append, "void(u64)")
    codes = (ctypes.c_long * 64)(*[1] * 64)
    runtime.launch(kernels.number, codes, groups=2, group_items=32)
    assert sorted(numbers) == list(range(64))
    assert list(codes) == [0] * 64


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ValueError("planted\nin two lines"), errno.EIO),
        (OSError(errno.ENOLINK, "planted"), errno.ENOLINK),
        (OSError("without a number"), errno.EIO),
        (MemoryError(), errno.ENOMEM),
        (SystemExit(0), errno.EIO),
    ],
)
def test_an_exception_is_an_errno_and_a_line(
    runtime: k2k.Runtime,
    kernels: ctypes.CDLL,
    capfd: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
) -> None:
    def call() -> None:
        raise error

    runtime.provide("call", call, "void()")
    answer = ctypes.c_long(1)
    runtime.launch(kernels.call, answer)
    assert answer.value == -code
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"k2k: host function 'call' raised {type(error).__name__}")


def test_a_reply_of_another_type_is_an_error(
    runtime: k2k.Runtime, kernels: ctypes.CDLL, capfd: pytest.CaptureFixture[str]
) -> None:
    runtime.provide("weigh", lambda *_: "text", "f64(i32,in f32,out f32)")
    out = Weighing()
    runtime.launch(kernels.weigh, out)
    assert out.code == -errno.EIO
    assert "required argument is not a float" in capfd.readouterr().err


def test_a_withdrawn_function_is_unknown(runtime: k2k.Runtime, kernels: ctypes.CDLL) -> None:
    runtime.provide("call", lambda: None, "void()")
    with pytest.raises(FileExistsError, match="'call' is provided already: withdraw it first"):
        runtime.provide("call", lambda: None, "void()")
    runtime.withdraw("call")
    answer = ctypes.c_long(1)
    runtime.launch(kernels.call, answer)
    assert answer.value == -errno.ENOSYS
    with pytest.raises(FileNotFoundError, match="no host function 'call' is provided"):
        runtime.withdraw("call")


def test_mistakes_are_named(runtime: k2k.Runtime) -> None:
    with pytest.raises(OSError, match="has an error at character 5: expected a type such as"):
        runtime.provide("call", lambda: None, "i32(i33)")
    with pytest.raises(OSError, match="a host function needs a name"):
        runtime.provide("", lambda: None, "void()")
    with pytest.raises(ValueError, match=r"device\.stric"):
        k2k.Runtime({"device.stric": True})


def test_a_function_may_not_wait_for_itself(runtime: k2k.Runtime, kernels: ctypes.CDLL) -> None:
    codes: list[int | None] = []

    def call() -> None:
        for use in (runtime.drain, lambda: runtime.withdraw("call")):
            try:
                use()
            except OSError as error:
                codes.append(error.errno)

    runtime.provide("call", call, "void()")
    runtime.launch(kernels.call, ctypes.c_long())
    assert codes == [errno.EDEADLK] * 2


def test_a_closed_runtime_says_so(kernels: ctypes.CDLL) -> None:
    runtime = k2k.Runtime()
    runtime.close()
    runtime.close()
    with pytest.raises(ValueError, match="the runtime is closed"):
        runtime.launch(kernels.call, ctypes.c_long())


def test_a_cancelled_launch_leaves_a_function_that_hangs(
    runtime: k2k.Runtime, kernels: ctypes.CDLL
) -> None:
    inside, may_end = threading.Event(), threading.Event()

    def call() -> None:
        inside.set()
        may_end.wait()

    def cancel() -> None:
        inside.wait()
        runtime.cancel()

    runtime.provide("call", call, "void()")
    canceller = threading.Thread(target=cancel)
    canceller.start()
    with pytest.raises(OSError, match="cancel") as caught:
        runtime.launch(kernels.call, ctypes.c_long())
    assert caught.value.errno == errno.ECANCELED
    canceller.join()
    may_end.set()
    runtime.withdraw("call")


def test_the_interpreter_ends_although_a_function_hangs(
    tmp_path: Path, kernels: ctypes.CDLL
) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import ctypes, sys, threading, time\n"
        "import k2k\n"
        "ctypes.CDLL(k2k._library.load()._name, mode=ctypes.RTLD_GLOBAL)\n"
        f"kernels = ctypes.CDLL({kernels._name!r})\n"
        "runtime = k2k.Runtime({'server.shutdown_ms': 50})\n"
        "inside = threading.Event()\n"
        "def call():\n"
        "    inside.set()\n"
        "    time.sleep(0.5)\n"  # It wakes while the interpreter ends, or never.
        "runtime.provide('call', call, 'void()')\n"
        "threading.Thread(target=lambda: (inside.wait(), runtime.cancel())).start()\n"
        "try:\n"
        "    runtime.launch(kernels.call, ctypes.c_long())\n"
        "except OSError as error:\n"
        "    print(error.errno)\n"
    )
    done = subprocess.run(
        [sys.executable, program],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"{errno.ECANCELED}\n"), done.stderr


def test_a_signature_is_read() -> None:
    reply, parameters = parameters_of(" f64 ( i32 , in f32,inout  s24 ) ")
    assert reply == Parameter("f64")
    assert parameters == [Parameter("i32"), Parameter("f32", "in"), Parameter("s24", "inout")]
    assert parameters[2].dtype == np.dtype("V24")
    assert parameters_of("void()") == (None, [])
