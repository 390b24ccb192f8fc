"""The exported symbols of the shared libraries, compared with the lists in cmake/abi/.

A line of a list is a symbol, with `@VERSION` if it has one, and its name in C++.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from devtool import build
from devtool.process import capture
from devtool.tree import ROOT

PRESET = "release"
RENEW = "./dev abi"


@dataclass(frozen=True)
class Library:
    target: str
    path: str  # In the folder of the build.

    @property
    def name(self) -> str:
        return Path(self.path).name

    @property
    def list(self) -> Path:
        return ROOT / "cmake/abi" / f"{self.name}.txt"


LIBRARIES = (
    Library("k2k", "libk2k.so"),
    Library("k2k_shim", "shim/libk2k_io.so"),
    Library("k2k_shim_router", "shim/libk2k_io_router.so"),
)


def changed_exports() -> list[str]:
    """Returns a line for each symbol that a library lost or gained, and the remedy."""
    offered = _built()
    lines = _differences(offered)
    if lines:
        lines.append(f"mark what is meant to be offered K2K_API; to accept this: {RENEW}")
    return lines


def renew_lists() -> list[str]:
    """Writes the lists anew. Returns the lists that changed."""
    offered = _built()
    lines = _differences(offered)
    for one in LIBRARIES:
        one.list.parent.mkdir(parents=True, exist_ok=True)
        one.list.write_text(text_of(offered[one]))
    return lines


def _differences(offered: Mapping[Library, Mapping[str, str]]) -> list[str]:
    return [
        line
        for library, symbols in offered.items()
        for line in differences(library.name, _listed(library), symbols)
    ]


def differences(name: str, listed: Mapping[str, str], offered: Mapping[str, str]) -> list[str]:
    gone = [f"{name} no longer offers {listed[one]}" for one in sorted(listed.keys() - offered)]
    new = [f"{name} newly offers {offered[one]}" for one in sorted(offered.keys() - listed)]
    return gone + new


def text_of(symbols: Mapping[str, str]) -> str:
    """Symbols whose name is the same in C stand alone."""
    return "".join(
        f"{symbol} {shown}\n" if shown != symbol else f"{symbol}\n"
        for symbol, shown in sorted(symbols.items())
    )


def parsed(text: str) -> dict[str, str]:
    """A list → each symbol, and its name in C++."""
    symbols: dict[str, str] = {}
    for line in text.splitlines():
        symbol, _, shown = line.partition(" ")
        symbols[symbol] = shown or symbol
    return symbols


def exported(listing: str, demangled: str) -> dict[str, str]:
    """The output of `nm`, without and with -C, line by line the same → as parsed()."""
    symbols: dict[str, str] = {}
    for line, readable in zip(listing.splitlines(), demangled.splitlines(), strict=True):
        _, kind, symbol = line.split(" ", 2)
        if kind != "A":  # The name of a version.
            symbols[symbol] = readable.split(" ", 2)[2]
    return symbols


def _built() -> dict[Library, dict[str, str]]:
    build.build(PRESET, [library.target for library in LIBRARIES])
    return {library: _exported_by(build.folder(PRESET) / library.path) for library in LIBRARIES}


def _exported_by(library: Path) -> dict[str, str]:
    nm = ["nm", "--dynamic", "--defined-only", "--with-symbol-versions", "--no-sort"]
    return exported(capture([*nm, library]), capture([*nm, "--demangle", library]))


def _listed(library: Library) -> dict[str, str]:
    return parsed(library.list.read_text()) if library.list.exists() else {}
