"""Removes an installation: exactly the files and folders of its manifest, nothing else."""

from collections.abc import Iterator
from pathlib import Path

from devtool.console import Refused

MANIFEST = Path("share/k2k/manifest.txt")


def uninstall(prefix: Path) -> int:
    """Returns the number of files removed. Folders go only when they are empty and were ours."""
    manifest = prefix / MANIFEST
    if not manifest.is_file():
        raise Refused(
            f"no K2K is installed in {prefix} ({manifest} is not there). Name the prefix that "
            "`cmake --install` was given: ./dev uninstall PREFIX"
        )
    entries = list(_entries(manifest))
    try:
        removed = _remove_files(prefix, [path for kind, path in entries if kind == "file"])
        for kind, path in entries:
            folder = prefix / path
            if kind == "folder" and folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
    except PermissionError as error:
        raise Refused(f"{error.filename}: no permission to remove it; run as its owner") from error
    return removed


def _entries(manifest: Path) -> Iterator[tuple[str, Path]]:
    for number, line in enumerate(manifest.read_text().splitlines(), start=1):
        kind, _, text = line.partition(" ")
        path = Path(text)
        if kind not in {"file", "folder"} or not text or path.is_absolute() or ".." in path.parts:
            raise Refused(
                f"{manifest}:{number}: `{line}` is no entry of a K2K manifest; nothing was removed"
            )
        yield kind, path


def _remove_files(prefix: Path, paths: list[Path]) -> int:
    removed = 0
    # The manifest goes last: an interrupted removal can be run again.
    for path in sorted(paths, key=lambda path: path == MANIFEST):
        target = prefix / path
        if target.is_symlink() or target.is_file():
            target.unlink()
            removed += 1
    return removed
