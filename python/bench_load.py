"""Is read_into() as fast as the best plain method to read a file into memory, cold and cached?

Methods: k2k.read_into() into allocated memory, k2k.load_safetensors() of the file with a header,
numpy.fromfile(), and a copy out of mmap(2). All take turns within a round, each into fresh memory.
The result is the median over the rounds of the ratio to the fastest plain method of that round,
and its interval of 95 % (order statistics). The budget: at least 0.97 cached, at least 1 cold.

    PYTHONPATH=python .venv/bin/python python/bench_load.py [--rounds 11] [--mib 256] [--folder .]
"""

import argparse
import json
import math
import mmap
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import k2k
from k2k._load import allocate

PLAIN = ("numpy.fromfile", "mmap copy")
OURS = ("read_into", "load_safetensors")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--mib", type=int, default=256)
    parser.add_argument("--folder", type=Path, default=Path())
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        path = written(Path(folder) / "model.safetensors", chosen.mib << 20)
        for state in ("cold", "cached"):
            seconds = measured(path, state, chosen.rounds)
            for name in OURS:
                print(json.dumps(row(state, name, seconds, path.stat().st_size)))


def written(path: Path, count: int) -> Path:
    """A file of one tensor; its bytes are noise, so that no device finds them easy."""
    text = json.dumps({"x": {"dtype": "U8", "shape": [count], "data_offsets": [0, count]}}).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        block = random.Random(1).randbytes(1 << 20)
        for _ in range(count >> 20):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
    return path


def read_into(path: Path) -> None:
    size = path.stat().st_size
    assert k2k.read_into(allocate(0, size), path) == size


def load_safetensors(path: Path) -> None:
    k2k.load_safetensors(path)


def from_file(path: Path) -> None:
    np.fromfile(path, dtype=np.uint8)


def mmap_copy(path: Path) -> None:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as area:
        np.frombuffer(area, dtype=np.uint8).copy()


WAYS: dict[str, Callable[[Path], None]] = {
    "read_into": read_into,
    "load_safetensors": load_safetensors,
    "numpy.fromfile": from_file,
    "mmap copy": mmap_copy,
}


def measured(path: Path, state: str, rounds: int) -> dict[str, list[float]]:
    """Seconds of each way, one a round; the order changes from round to round."""
    seconds: dict[str, list[float]] = {name: [] for name in WAYS}
    order = list(WAYS)
    for turn in range(rounds + 1):  # The first round warms up.
        random.Random(turn).shuffle(order)
        for name in order:
            set_state(path, state)
            begin = time.perf_counter()
            WAYS[name](path)
            if turn > 0:
                seconds[name].append(time.perf_counter() - begin)
    return seconds


def set_state(path: Path, state: str) -> None:
    with path.open("rb") as file:
        if state == "cold":
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        else:
            while file.read(1 << 20):
                pass


def row(state: str, name: str, seconds: dict[str, list[float]], size: int) -> dict[str, object]:
    best_plain = [min(times) for times in zip(*(seconds[plain] for plain in PLAIN), strict=True)]
    ratios = sorted(plain / ours for plain, ours in zip(best_plain, seconds[name], strict=True))
    low, high = interval(len(ratios))
    return {
        "state": state,
        "way": name,
        "rounds": len(ratios),
        "of_best_plain": round(statistics.median(ratios), 3),
        "interval": [round(ratios[low], 3), round(ratios[high], 3)],
        "gbs": {
            way: round(size / statistics.median(seconds[way]) / 1e9, 2) for way in (name, *PLAIN)
        },
    }


def interval(count: int) -> tuple[int, int]:
    """Which order statistics enclose the median with at least 95 %, as far as `count` allows."""
    low, outside = 0, 2 * 0.5**count
    while low < (count - 1) // 2:
        outside += 2 * math.comb(count, low + 1) * 0.5**count
        if outside > 0.05:
            break
        low += 1
    return low, count - 1 - low


if __name__ == "__main__":
    main()
