"""The places of things in the repository, and the list of our own files."""

import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
VENV = ROOT / ".venv"

CPP_SUFFIXES = frozenset({".hpp", ".cpp", ".h", ".c", ".cu", ".cuh", ".inl"})
SKIPPED_FOLDERS = frozenset({"build", "__pycache__"})


def files(*suffixes: str, under: str = ".") -> Iterator[Path]:
    """Yields our own files with one of the suffixes, sorted."""
    found: list[Path] = []
    for folder, folders, names in os.walk(ROOT / under):
        folders[:] = [f for f in folders if f not in SKIPPED_FOLDERS and not f.startswith(".")]
        found += [Path(folder) / name for name in names if Path(name).suffix in suffixes]
    yield from sorted(found)


def shown(path: Path) -> str:
    """The path as the user would type it from the root."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
