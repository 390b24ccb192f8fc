"""Compiled objects on disk: so that the second process starts in milliseconds.

A file an object: a header with the checksum, then the object. Files are written beside and renamed,
so readers see all or nothing, and any number of processes may write the same one; what is damaged
is told by the checksum, removed and made anew. The folder is bounded: what was used longest ago
goes first. If it cannot be used (full, read-only, not ours) there is one warning, and no cache.

$XDG_CACHE_HOME/psylang (~/.cache/psylang), or $PSYLANG_CACHE_DIR. PSYLANG_CACHE_BYTES bounds it
(256 MiB); 0 switches it off.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from psylang.runtime.errors import ArgumentError, CacheWarning

BYTES_MAX = 256 << 20
MAGIC = b"psylang object 1\n"
SUFFIX = ".object"
UNFINISHED = ".part"
# A file that somebody still writes is younger; one whose writer was killed is older.
UNFINISHED_AGE_S_MAX = 600.0
# After pruning this part of the bound is in use, so that not every write prunes.
PRUNED_TO = 0.8


@dataclass
class ObjectCache:
    """A folder of objects by key. Safe to share among threads and processes.

    folder: None if there is none. bytes_max: of all files together, 0 or less for no cache.
    """

    folder: Path | None
    bytes_max: int = BYTES_MAX
    _warned: bool = field(default=False, repr=False)

    def get(self, key: str) -> bytes | None:
        """The object, or None if it is not there; a damaged one is removed first."""
        path = self._path(key)
        if path is None or not self._is_ours():
            return None
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn(error)
            return None
        with contextlib.suppress(OSError):  # When it was used last: the oldest goes first.
            os.utime(path)
        payload = _unwrapped(content, key)
        if payload is None:
            with contextlib.suppress(OSError):
                path.unlink()
        return payload

    def put(self, key: str, payload: bytes) -> None:
        """Keeps the object. That it cannot is a warning, once."""
        path = self._path(key)
        if path is None or len(payload) > self.bytes_max:
            return
        part = path.with_name(f"{path.name}.{secrets.token_hex(6)}{UNFINISHED}")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._is_ours():
                return
            try:
                _write(part, _wrapped(payload, key))
                part.replace(path)
            except BaseException:
                with contextlib.suppress(OSError):
                    part.unlink()
                raise
            self._prune()
        except OSError as error:
            self._warn(error)

    def _path(self, key: str) -> Path | None:
        if self.folder is None or self.bytes_max <= 0:
            return None
        return self.folder / f"{key}{SUFFIX}"

    def _is_ours(self) -> bool:
        """Machine code is run from there: nobody else may be able to write it."""
        assert self.folder is not None
        try:
            found = self.folder.stat()
        except FileNotFoundError:
            return False
        except OSError as error:
            self._warn(error)
            return False
        if found.st_uid != os.geteuid():
            self._warn("it belongs to somebody else")
            return False
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            self._warn("others may write to it; run chmod go-w on it")
            return False
        return True

    def _prune(self) -> None:
        """Removes what was used longest ago until the folder is within its bound."""
        assert self.folder is not None
        now = time.time()
        kept: list[tuple[float, int, Path]] = []
        with os.scandir(self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    found = entry.stat()
                    if entry.name.endswith(SUFFIX):
                        kept.append((found.st_mtime, found.st_size, Path(entry.path)))
                    elif (
                        entry.name.endswith(UNFINISHED)
                        and now - found.st_mtime > UNFINISHED_AGE_S_MAX
                    ):
                        Path(entry.path).unlink()
        total = sum(size for _, size, _ in kept)
        if total <= self.bytes_max:
            return
        for _, size, path in sorted(kept):
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size
            if total <= self.bytes_max * PRUNED_TO:
                return

    def _warn(self, why: OSError | str) -> None:
        if self._warned:
            return
        self._warned = True
        reason = why if isinstance(why, str) else why.strerror or type(why).__name__
        warnings.warn(
            f"compiled models are not kept in {self.folder}: {reason}. Everything works, but each "
            "process compiles again; PSYLANG_CACHE_DIR names another folder, "
            "PSYLANG_CACHE_BYTES=0 asks for none",
            CacheWarning,
            stacklevel=2,
        )


def user_cache() -> ObjectCache:
    """That of the environment. ArgumentError: PSYLANG_CACHE_BYTES is no number."""
    return ObjectCache(_folder(), _bytes_max())


def _folder() -> Path | None:
    named = os.environ.get("PSYLANG_CACHE_DIR")
    if named:
        return Path(named).absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    if base and Path(base).is_absolute():  # The specification: a relative one is ignored.
        return Path(base) / "psylang"
    try:
        return Path.home() / ".cache" / "psylang"
    except RuntimeError:  # There is no home.
        return None


def _bytes_max() -> int:
    text = os.environ.get("PSYLANG_CACHE_BYTES", "")
    try:
        return int(text) if text else BYTES_MAX
    except ValueError:
        raise ArgumentError(
            f"PSYLANG_CACHE_BYTES={text} is no number of bytes; give one like {BYTES_MAX}, or 0"
        ) from None


def _wrapped(payload: bytes, key: str) -> bytes:
    return MAGIC + _checksum(payload, key) + payload


def _unwrapped(content: bytes, key: str) -> bytes | None:
    begin = len(MAGIC) + hashlib.sha256().digest_size
    payload = content[begin:]
    if content[:begin] != MAGIC + _checksum(payload, key):
        return None
    return payload


def _checksum(payload: bytes, key: str) -> bytes:
    return hashlib.sha256(key.encode() + b"\n" + payload).digest()


def _write(path: Path, content: bytes) -> None:
    """Not synced: what a power cut leaves behind is told by the checksum."""
    with path.open("xb") as file:
        file.write(content)
