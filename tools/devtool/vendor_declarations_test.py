"""Every declaration of src/io is compared with NVIDIA's headers."""

from devtool.vendor_declarations import (
    CUDA_CALLS,
    CUDA_NUMBERS,
    GPU_FILE_CALLS,
    GPU_FILE_NUMBERS,
    comparison,
    entries,
    unchecked_numbers,
)


def test_every_entry_is_compared() -> None:
    assert len(entries(CUDA_CALLS)) == 24
    assert len(entries(GPU_FILE_CALLS)) == 7
    source = comparison()
    assert 'static_assert(NAME(cuMemcpyHtoDAsync) == "cuMemcpyHtoDAsync_v2");' in source
    assert "decltype(&::cuFileHandleRegister), decltype(file::Calls::register_file)" in source


def test_every_number_is_compared() -> None:
    assert unchecked_numbers(CUDA_CALLS, CUDA_NUMBERS) == []
    assert unchecked_numbers(GPU_FILE_CALLS, GPU_FILE_NUMBERS) == []


def test_a_number_that_is_not_compared_is_named() -> None:
    assert unchecked_numbers(CUDA_CALLS, {**CUDA_NUMBERS, "not_ready": ""}) == []
    fewer = {name: theirs for name, theirs in CUDA_NUMBERS.items() if name != "not_ready"}
    assert unchecked_numbers(CUDA_CALLS, fewer) == [
        "src/io/memory/cuda_calls.hpp: not_ready is not compared"
    ]
