"""What Python does with a GPU: kernels of Numba, cuda.core, CuPy and PyTorch call Linux, and files
are read into device memory.

    python3 python/gpu_check.py [PART...]     all parts but the slow ones if none is named

One JSON line a result on the standard output; what the parts say besides goes to stderr. A part is
a process of its own, with a time limit: a kernel that fails takes no other part along. Exit: 0 all
passed or had no library, 1 one failed, 77 no GPU can be used here.

libk2k.so is K2K_LIBRARY, else that of build/gpu, else the package's own search.
"""

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from gpu_checks import kernels, memory
from gpu_checks.parts import PARTS, SLOW

ROOT = Path(__file__).resolve().parents[1]
PACK = ROOT / "build/gpu/lib"
SKIPPED = 77
LIMIT_S = 45
SLOW_LIMIT_S = 200
DECLARED = (kernels, memory)  # Their parts, in this order.
RESULTS = 1  # The descriptor that results are written to.


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, add_help=True)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--here", action="store_true", help="in this process, one part")
    given = parser.parse_args()
    unknown = [name for name in given.parts if name not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    if given.here:
        return run_here(given.parts[0])
    why = no_gpu()
    if why:
        print(f"gpu_check.py: {why}", file=sys.stderr)
        return SKIPPED
    names = given.parts or [name for name in PARTS if name not in SLOW]
    failed = [name for name in names if not run_part(name)]
    return 1 if failed else 0


def no_gpu() -> str:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return f"no GPU can be used: {error}"
    count = ctypes.c_int()
    result = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    return f"no GPU can be used: the driver answers {result}" if result or not count.value else ""


def run_part(name: str) -> bool:
    limit = SLOW_LIMIT_S if name in SLOW else LIMIT_S
    begin = time.monotonic()
    command = [sys.executable, "-B", __file__, "--here", name]
    try:
        code = subprocess.run(command, env=environment(), timeout=limit, check=False).returncode
    except subprocess.TimeoutExpired:
        code = -1
        tell(name, ok=False, error=f"no end within {limit} s")
    if code not in (0, 1, -1):
        tell(name, ok=False, error=f"the process ended with {code}")
    print(f"gpu_check.py: {name}: {time.monotonic() - begin:.1f} s", file=sys.stderr)
    return code == 0


def run_here(name: str) -> int:
    global RESULTS
    RESULTS = os.dup(1)
    os.dup2(2, 1)  # What kernels print is no result.
    with tempfile.TemporaryDirectory(prefix="k2k-gpu-") as place:
        folder = Path(place)
        (folder / "from").write_bytes(bytes(range(251)) * 3)
        try:
            for result in PARTS[name](folder):
                tell(name, ok=True, **result)
        except ModuleNotFoundError as error:
            tell(name, ok=None, error=f"{error}")
        except Exception as error:
            tell(name, ok=False, error=f"{type(error).__name__}: {error}")
            return 1
    return 0


def tell(name: str, **facts: Any) -> None:
    os.write(RESULTS, (json.dumps({"part": name, **facts}) + "\n").encode())


def environment() -> dict[str, str]:
    env = dict(os.environ)
    places = [str(ROOT / "python"), env.get("PYTHONPATH", "")]
    env["PYTHONPATH"] = os.pathsep.join(filter(None, places))
    env.setdefault("K2K_CONFIG", "/dev/null")
    if "K2K_LIBRARY" not in env and (PACK / "libk2k.so").exists():
        env["K2K_LIBRARY"] = str(PACK / "libk2k.so")
        places = [str(PACK), env.get("LD_LIBRARY_PATH", "")]
        env["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, places))
    return env


if __name__ == "__main__":
    sys.exit(main())
