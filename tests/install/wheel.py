"""Reads itself by the package k2k, whose library must be the one that the wheel brought along."""

from pathlib import Path

import k2k

HERE = Path(__file__)

buffer = bytearray(HERE.stat().st_size)
count = k2k.read_into(buffer, HERE)
if count != len(buffer) or buffer != HERE.read_bytes():
    raise SystemExit(f"k2k.read_into() read {count} bytes, and they are not those of {HERE.name}")
library = Path(k2k.__file__).with_name("libk2k.so")
if f" {library}\n" not in Path("/proc/self/maps").read_text():
    raise SystemExit(f"{library} is not the library that was loaded")
if not (library.parent / "include/k2k/foreign.hpp").exists() or k2k.get_include()[0] != str(
    library.parent / "include"
):
    raise SystemExit(f"the headers of kernels are not beside {library}: {k2k.get_include()}")
