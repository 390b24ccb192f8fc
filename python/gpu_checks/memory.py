"""Files are read into device memory: tensors of PyTorch, safetensors, rates."""

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from gpu_checks.parts import Result, expect, part, pattern

RATE_BYTES = 512 << 20  # A multiple of 8 bytes.
ROUNDS = 3


@part
def torch_read_into(folder: Path) -> Iterator[Result]:
    import torch

    import k2k

    want = pattern(9_000_001)
    path = folder / "data"
    path.write_bytes(want)
    cases = 0
    for registered in (False, True):
        tensor = torch.zeros(9 << 20, dtype=torch.uint8, device="cuda")
        if registered:
            k2k.register_memory(tensor.data_ptr(), tensor.nbytes)
        for cold in (True, False):
            for at, offset, count in ((0, 0, 9_000_001), (13, 4097, 5_000_000), (1, 8_999_999, 9)):
                if cold:
                    drop(path)
                tensor.zero_()
                torch.cuda.synchronize()
                done = k2k.read_into(tensor[at : at + count], path, offset)
                part_of = want[offset : offset + count]
                expect(done == len(part_of), f"{done} bytes were read")
                found = tensor.cpu().numpy().tobytes()
                expect(found[at : at + done] == part_of, "other bytes came")
                around = found[:at] + found[at + done :]
                expect(around.count(0) == len(around), "bytes around were written")
                cases += 1
        if registered:
            k2k.unregister_memory(tensor.data_ptr())
    halves = torch.zeros((1000, 50), dtype=torch.bfloat16, device="cuda")
    expect(k2k.read_into(halves, path, 7) == 100_000, "a short read")
    expect(halves.view(torch.uint8).cpu().numpy().tobytes() == want[7:100_007], "bfloat16 differs")
    yield {"cases": cases + 1}


def drop(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def write_safetensors(path: Path, tensors: dict[str, tuple[str, list[int], bytes]]) -> None:
    header, at = {}, 0
    for name, (dtype, shape, content) in tensors.items():
        end = at + len(content)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    content = b"".join(content for _, _, content in tensors.values())
    path.write_bytes(len(text).to_bytes(8, "little") + text + content)


@part
def safetensors(folder: Path) -> Iterator[Result]:
    import torch

    import k2k

    path = folder / "model.safetensors"
    tensors = {
        "bytes": ("U8", [3, 7], pattern(21)),  # What follows is not aligned.
        "weights": ("F32", [300, 1000], pattern(1_200_000)),
        "halves": ("BF16", [500, 64], pattern(64_000)),
        "flags": ("BOOL", [5], b"\0\1\1\0\1"),
        "small": ("F8_E4M3", [9], pattern(9)),
        "counts": ("I64", [1 << 18], pattern(2 << 20)),
        "empty": ("F32", [0, 4], b""),
    }
    write_safetensors(path, tensors)
    for threads in (1, 4):
        drop(path)
        loaded = k2k.load_safetensors(path, device="cuda", threads=threads)
        expect(list(loaded) == list(tensors), "other names")
        for name, (_, shape, content) in tensors.items():
            tensor = loaded[name].torch()
            expect(tensor.is_cuda and list(tensor.shape) == shape, f"{name}: {tensor.shape}")
            found = tensor.contiguous().view(-1).view(torch.uint8) if content else tensor
            expect(found.cpu().numpy().tobytes() == content, f"{name}: other bytes")
        del loaded
    yield {"tensors": len(tensors)}


@part
def rates(folder: Path) -> Iterator[Result]:
    """GB/s of a file into device memory, the page cache full and empty; the best of some rounds."""
    import torch

    import k2k

    path = folder / "model.safetensors"
    content = torch.arange(RATE_BYTES // 8, dtype=torch.int64)
    write_safetensors(path, {"all": ("I64", [content.numel()], content.numpy().tobytes())})
    skip = path.stat().st_size - RATE_BYTES
    target = torch.empty(RATE_BYTES, dtype=torch.uint8, device="cuda")
    want = content.cuda().view(torch.uint8)
    whole = path.stat().st_size
    host = torch.empty(RATE_BYTES, dtype=torch.uint8, pin_memory=True)

    def from_file() -> Any:
        mapped = torch.from_file(str(path), shared=True, size=whole, dtype=torch.uint8)
        return mapped.cuda()[skip:]

    def read_into() -> Any:
        k2k.read_into(target, path, skip)
        return target

    def load() -> Any:
        return k2k.load_safetensors(path, device="cuda")["all"].torch().view(torch.uint8)

    def pinned() -> Any:
        k2k.read_into(host, path, skip)
        return host.cuda()

    k2k.register_memory(target.data_ptr(), target.nbytes)
    ways: dict[str, Callable[[], Any]] = {
        "torch.from_file().cuda()": from_file,
        "k2k.read_into(cuda)": read_into,
        "k2k.load_safetensors(cuda)": load,
        "k2k.read_into(pinned).cuda()": pinned,
    }
    for cold in (False, True):
        for name, way in ways.items():
            best = float("inf")
            for _ in range(1 if cold else ROUNDS):
                if cold:
                    drop(path)
                target.zero_()
                torch.cuda.synchronize()
                begin = time.perf_counter()
                result = way()
                torch.cuda.synchronize()
                best = min(best, time.perf_counter() - begin)
                expect(bool(torch.equal(result, want)), f"{name}: other bytes")
                del result
            yield {
                "way": name,
                "cold": cold,
                "gigabytes_per_second": round(RATE_BYTES / best / 1e9, 2),
            }
    k2k.unregister_memory(target.data_ptr())
    yield {"stats": k2k.stats()}
