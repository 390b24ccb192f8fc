"""Part of ./dev check --only cuda: src/io declares CUDA and cuFile exactly as NVIDIA does.

io/ is compiled without a vendor's header and finds the libraries by name. Here the header is there:
a source is written that compares names (with their versions), numbers, structures and the sizes of
all arguments, and the compiler says what differs.
"""

import re
from pathlib import Path

from devtool.process import capture, run
from devtool.tree import BUILD, ROOT, shown

CUDA_CALLS = ROOT / "src/io/memory/cuda_calls.hpp"
GPU_FILE_CALLS = ROOT / "src/io/gpu/gpu_file_calls.hpp"

CUDA_NUMBERS = {
    "success": "CUDA_SUCCESS",
    "invalid_value": "CUDA_ERROR_INVALID_VALUE",
    "out_of_memory": "CUDA_ERROR_OUT_OF_MEMORY",
    "not_initialized": "CUDA_ERROR_NOT_INITIALIZED",
    "deinitialized": "CUDA_ERROR_DEINITIALIZED",
    "no_device": "CUDA_ERROR_NO_DEVICE",
    "not_ready": "CUDA_ERROR_NOT_READY",
    "illegal_address": "CUDA_ERROR_ILLEGAL_ADDRESS",
    "host_alloc_portable": "CU_MEMHOSTALLOC_PORTABLE",
    "stream_non_blocking": "CU_STREAM_NON_BLOCKING",
    "event_disable_timing": "CU_EVENT_DISABLE_TIMING",
}
GPU_FILE_NUMBERS = {
    "not_initialized": "DRIVER_NOT_INITIALIZED",
    "platform_not_supported": "PLATFORM_NOT_SUPPORTED",
    "io_not_supported": "IO_NOT_SUPPORTED",
    "device_not_supported": "DEVICE_NOT_SUPPORTED",
    "driver_error": "NVFS_DRIVER_ERROR",
    "device_error": "CUDA_DRIVER_ERROR",
    "pointer_invalid": "CUDA_POINTER_INVALID",
    "invalid_mapping_range": "INVALID_MAPPING_RANGE",
    "invalid_file_type": "INVALID_FILE_TYPE",
    "invalid_open_flag": "INVALID_FILE_OPEN_FLAG",
    "direct_not_set": "DIO_NOT_SET",
    "invalid_value": "INVALID_VALUE",
    "memory_already_registered": "MEMORY_ALREADY_REGISTERED",
    "memory_not_registered": "MEMORY_NOT_REGISTERED",
    "permission_denied": "PERMISSION_DENIED",
    "already_open": "DRIVER_ALREADY_OPEN",
    "handle_not_registered": "HANDLE_NOT_REGISTERED",
    "handle_already_registered": "HANDLE_ALREADY_REGISTERED",
    "device_not_found": "DEVICE_NOT_FOUND",
    "internal_error": "INTERNAL_ERROR",
    "no_new_descriptor": "GETNEWFD_FAILED",
    "setup_error": "NVFS_SETUP_ERROR",
    "io_disabled": "IO_DISABLED",
    "pinning_failed": "GPU_MEMORY_PINNING_FAILED",
}

PREAMBLE = """
#include <cuda.h>
#include <cufile.h>

#include <cstddef>
#include <string_view>
#include <type_traits>

#include "io/memory/cuda_calls.hpp"
#include "io/gpu/gpu_file_calls.hpp"

#define TEXT(name) #name
#define NAME(name) std::string_view(TEXT(name))
template <class T> constexpr std::size_t size_of = sizeof(T);
template <> constexpr std::size_t size_of<void> = 0;
template <class, class> struct Same : std::false_type {};
template <class R, class... A, class S, class... B>
  requires(sizeof...(A) == sizeof...(B))
struct Same<R (*)(A...), S (*)(B...)>
    : std::bool_constant<size_of<R> == size_of<S> &&
                         ((size_of<A> == size_of<B> &&
                           std::is_pointer_v<A> == std::is_pointer_v<B>) && ...)> {};
namespace cuda = k2k::io::cuda;
namespace file = k2k::io::gpu_file;
static_assert(sizeof(file::Answer) == sizeof(CUfileError_t));
static_assert(offsetof(file::Answer, device) == offsetof(CUfileError_t, cu_err));
static_assert(sizeof(file::Description) == sizeof(CUfileDescr_t));
static_assert(offsetof(file::Description, descriptor) == offsetof(CUfileDescr_t, handle));
static_assert(offsetof(file::Description, operations) == offsetof(CUfileDescr_t, fs_ops));
static_assert(file::Description{}.type == CU_FILE_HANDLE_TYPE_OPAQUE_FD);
static_assert(NAME(cuFileDriverClose) == "cuFileDriverClose_v2");
"""


def comparison() -> str:
    """The source whose assertions hold if the declarations agree."""
    lines = [PREAMBLE]
    for member, name in entries(CUDA_CALLS):
        vendors = name.removesuffix("_v2")
        lines.append(f'static_assert(NAME({vendors}) == "{name}");')
        lines.append(same(f"::{vendors}", f"cuda::Calls::{member}"))
    for member, name in entries(GPU_FILE_CALLS):
        lines.append(same(f"::cuFile{name}", f"file::Calls::{member}"))
    for ours, theirs in CUDA_NUMBERS.items():
        lines.append(f"static_assert(cuda::{ours} == static_cast<int>({theirs}));")
    for ours, theirs in GPU_FILE_NUMBERS.items():
        lines.append(f"static_assert(file::{ours} == static_cast<int>(CU_FILE_{theirs}));")
    return "\n".join(lines) + "\n"


def same(theirs: str, ours: str) -> str:
    return f"static_assert(Same<decltype(&{theirs}), decltype({ours})>::value);"


def entries(header: Path) -> list[tuple[str, str]]:
    """Members and names of the functions that a header looks up."""
    gap = r"[\s\\]*"  # A macro goes on behind a backslash.
    return re.findall(rf"entry\({gap}(\w+),{gap}\"(\w+)\"", header.read_text())


def unchecked_numbers(header: Path, checked: dict[str, str]) -> list[str]:
    """Numbers of a header that no assertion compares."""
    declared = re.findall(r"^inline constexpr \w+ (\w+) = \d", header.read_text(), re.MULTILINE)
    return [f"{shown(header)}: {name} is not compared" for name in declared if name not in checked]


def check_declarations(toolkit: Path) -> list[str]:
    """The problems found."""
    problems = unchecked_numbers(CUDA_CALLS, CUDA_NUMBERS)
    problems += unchecked_numbers(GPU_FILE_CALLS, GPU_FILE_NUMBERS)
    source = BUILD / "cuda" / "vendor_declarations.cpp"
    source.write_text(comparison())
    done = run(
        [
            *("g++", "-std=c++20", "-fsyntax-only", "-I", ROOT / "src"),
            *("-isystem", toolkit / "include", source),
        ]
    )
    if done.returncode != 0:
        problems.append(f"what src/io declares is not NVIDIA's:\n{done.stdout}")
    return problems


def check_library(toolkit: Path, test: Path) -> list[str]:
    """NVIDIA's libcufile is loaded by our own code, as far as it goes without a GPU."""
    library = toolkit / "lib/libcufile.so.0"
    report = capture(
        [test, "--gtest_filter=NvidiaLibrary.*"],
        cwd=test.parent,
        env={"K2K_CUFILE_LIBRARY": str(library)},
    )
    if "[  PASSED  ] 1 test" in report or "there is a GPU here" in report:
        return []
    return [f"libcufile of the wheel was not looked up:\n{report}"]
