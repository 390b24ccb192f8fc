"""Finds libk2k.so and declares its functions (include/k2k/k2k.h).

Search order: $K2K_LIBRARY (then no other place), the folder of this package, the build tree of this
package, the dynamic linker's search path (LD_LIBRARY_PATH, ldconfig).
"""

import ctypes
import os
from pathlib import Path

VARIABLE = "K2K_LIBRARY"
NAMES = ("libk2k.so", "libk2k.so.0")
PACKAGE = Path(__file__).resolve().parent
FIX = (
    f"Install the package with it (`pip install ./python` in K2K's sources), build it there with"
    f" `./dev build`, install it with `cmake --install build/release`"
    f" (then ldconfig), or name the file in {VARIABLE}."
)


class LibraryError(ImportError):
    """There is no libk2k.so, it cannot be loaded, or it is older than this package."""


def load(package: Path = PACKAGE) -> ctypes.CDLL:
    """The library with its functions declared. LibraryError: not found; lists the places."""
    named = os.environ.get(VARIABLE)
    if named:
        return _declared(_opened(named, f"{VARIABLE} names {named}, which"), named)
    for path in candidates(package):
        if path.exists():
            return _declared(_opened(str(path), str(path)), str(path))
    for name in reversed(NAMES):
        try:
            return _declared(ctypes.CDLL(name), name)
        except OSError as error:
            if "cannot open shared object file" not in str(error):
                raise LibraryError(f"{name} cannot be loaded: {error}. {FIX}") from None
    looked = ", ".join(str(path.parent) for path in candidates(package)[:: len(NAMES)])
    raise LibraryError(f"libk2k.so was not found in {looked}, nor by the dynamic linker. {FIX}")


def last_error(library: ctypes.CDLL) -> str:
    """The message of this thread's last failed call."""
    text: bytes = library.k2k_last_error()
    return text.decode(errors="replace")


def raise_if(library: ctypes.CDLL, code: int) -> None:
    """OSError: the call answered a negative errno."""
    if code < 0:
        raise OSError(-code, last_error(library))


def path_of(library: ctypes.CDLL) -> str:
    """The file that the library was loaded from: its name may be one that the linker searched."""
    found = _Found()
    own = ctypes.CDLL(None)
    address = ctypes.cast(library.k2k_last_error, ctypes.c_void_p)
    if own.dladdr(address, ctypes.byref(found)) == 0 or found.file is None:
        return str(library._name)
    return os.fsdecode(found.file)


class _Found(ctypes.Structure):
    """Dl_info of <dlfcn.h>."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def candidates(package: Path) -> list[Path]:
    """Where the library may lie, given where the package lies."""
    tree = package.parent.parent
    folders = [package]
    if (tree / "CMakeLists.txt").exists() and (tree / "include/k2k/k2k.h").exists():
        folders.append(tree / "build/release")
    return [folder / name for folder in folders for name in NAMES]


def _opened(path: str, what: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise LibraryError(f"{what} cannot be loaded: {error}. {FIX}") from None


def _declared(library: ctypes.CDLL, path: str) -> ctypes.CDLL:
    handle, count, text = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
    functions = {
        "k2k_last_error": (ctypes.c_char_p, []),
        "k2k_options_create": (ctypes.c_int, [ctypes.POINTER(handle)]),
        "k2k_options_set": (ctypes.c_int, [handle, text, text]),
        "k2k_options_destroy": (None, [handle]),
        "k2k_runtime_create": (ctypes.c_int, [handle, ctypes.POINTER(handle)]),
        "k2k_runtime_destroy": (None, [handle]),
        "k2k_launch": (
            ctypes.c_int,
            [handle, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p, text],
        ),
        "k2k_drain": (ctypes.c_int, [handle]),
        "k2k_cancel": (ctypes.c_int, [handle]),
        "k2k_provide": (
            ctypes.c_int,
            [handle, text, text, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p],
        ),
        "k2k_withdraw": (ctypes.c_int, [handle, text]),
        "k2k_serve": (ctypes.c_int, [handle]),
        "k2k_serve_context": (ctypes.c_int, [handle, ctypes.POINTER(ctypes.c_uint64)]),
        "k2k_serve_end": (ctypes.c_int, [handle]),
        "k2k_files_create": (ctypes.c_int, [handle, ctypes.POINTER(handle)]),
        "k2k_files_destroy": (None, [handle]),
        "k2k_files_pread": (
            ctypes.c_int64,
            [handle, ctypes.c_int, ctypes.c_void_p, count, ctypes.c_int64],
        ),
        "k2k_memory_register": (ctypes.c_int, [handle, count, ctypes.c_int]),
        "k2k_memory_unregister": (ctypes.c_int, [handle]),
        "k2k_memory_registered": (ctypes.c_int, [handle, count]),
        "k2k_files_closing": (ctypes.c_int, [handle, ctypes.c_int]),
        "k2k_files_stats_json": (
            ctypes.c_int,
            [handle, ctypes.c_char_p, count, ctypes.POINTER(count)],
        ),
    }
    for name, (result, arguments) in functions.items():
        function = getattr(library, name, None)
        if function is None:
            raise LibraryError(f"{path} has no {name}: it is older than this package. {FIX}")
        function.restype = result
        function.argtypes = arguments
    return library
